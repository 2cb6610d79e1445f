"""``penchant completion``: what a shell needs to complete commands and options."""

import click
from click.shell_completion import get_completion_class

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> None:
    """Print the script with which a shell completes commands and their options, to be read when the shell starts.

    \b
    bash   echo 'eval "$(penchant completion bash)"' >> ~/.bashrc
    zsh    echo 'eval "$(penchant completion zsh)"' >> ~/.zshrc    (after compinit)
    fish   penchant completion fish > ~/.config/fish/completions/penchant.fish
    """  # noqa: D301  # a paragraph that click does not wrap begins with the character itself
    scripts = get_completion_class(shell)
    assert scripts is not None  # noqa: S101  # click has these three
    root = click.get_current_context().find_root().command
    click.echo(scripts(root, {}, "penchant", "_PENCHANT_COMPLETE").source())
