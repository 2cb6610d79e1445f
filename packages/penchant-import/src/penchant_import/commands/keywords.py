"""``penchant keywords``: which keywords are likely meant as one, and putting a file in force that says so."""

import io
import sys
from pathlib import Path
from typing import Any

import click

from penchant_import.commands.importing import existing_file, new_file, place_options, require_host
from penchant_import.hosting import DataPlace
from penchant_import.rules import MAX_ALIASES
from penchant_import.vocabularies import (
    VariantRow,
    apply_vocabulary,
    keyword_name,
    read_vocabulary_file,
    summarize_vocabulary,
    write_table,
)

account_option = click.option("--account", default="default", help="Account of the source.")
_category_option = click.option("--category", help="Category that a thesaurus' labels are keywords of (SKOS).")
_language_option = click.option(
    "--language",
    "languages",
    multiple=True,
    metavar="CODE",
    help="Language of labels that count; repeatable, the first one names (SKOS; default all).",
)


class FullHelpGroup(click.Group):
    """Commands that its help tells of in whole sentences: the first paragraph of each one's own help."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """Write the list of commands."""
        paragraphs = {name: (item.help or "").partition("\n\n")[0] for name, item in self.commands.items()}
        with formatter.section("Commands"):
            formatter.write_dl([(name, " ".join(text.split())) for name, text in paragraphs.items()])


@click.group(cls=FullHelpGroup)
def keywords() -> None:
    """Find keywords that are written in several ways, and have them count as one."""


@keywords.command(name="variants")
@place_options
@account_option
@click.option("--source", required=True, help="Source to look through.")
@click.option("--output", type=new_file, help="File; default stdout.")
@click.pass_context
def list_variants(context: click.Context, *, place: DataPlace, account: str, source: str, output: Path | None) -> None:
    """Write a table of keywords that differ in case, accents, blanks, hyphens or an English plural only.

    Each stands beside that of its group which most pieces have. Those that say nothing have no second keyword: they are
    to be ignored. Look the table over, delete what is wrong, and put it in force by `penchant keywords apply`.
    """
    host = require_host(context)
    alike = host.variants(place, account, source)
    rows = _rows(alike)
    table = io.StringIO(newline="")
    write_table(rows, table)
    if output is None:
        sys.stdout.write(table.getvalue())
    else:
        host.write(output, table.getvalue().encode())
    groups, useless = len(alike.groups), len(alike.useless)
    click.echo(f"{source}: keywords written in several ways: {groups}, saying nothing: {useless}", err=True)
    if not alike.complete:
        click.echo("There are more keywords than are looked at; the rest is left out.", err=True)
    if len(rows) > MAX_ALIASES:
        click.echo(f"A vocabulary has up to {MAX_ALIASES} keywords; keep those that most pieces have.", err=True)


def _rows(alike: Any) -> list[VariantRow]:
    """Return the rows of a table: what stands for the first of its group, and what is to be ignored."""
    rows = []
    for first, *others in alike.groups:
        target = keyword_name(*first.term)
        rows += [VariantRow(keyword_name(*item.term), target, item.pieces) for item in others]
    return rows + [VariantRow(keyword_name(*item.term), "", item.pieces) for item in alike.useless]


@keywords.command()
@place_options
@account_option
@click.option("--source", required=True, help="Source whose keywords they are.")
@click.argument("path", type=existing_file, metavar="FILE")
@_category_option
@_language_option
@click.option("--replace", "replaces", is_flag=True, help="Instead of the vocabulary in force, not beside it.")
@click.pass_context
def apply(
    context: click.Context,
    /,
    *,
    place: DataPlace,
    account: str,
    source: str,
    path: Path,
    category: str | None,
    languages: tuple[str, ...],
    replaces: bool,
) -> None:
    """Have keywords count as others, and some for nothing, as a file says, also while a server runs on the same data.

    A table has the columns from and to, keywords with their categories (genre/Noir); those without a second one count
    for nothing. Of a thesaurus in SKOS (RDF/XML, Turtle; penchant-import[skos]) other labels stand for the preferred
    one.
    """
    host = require_host(context)
    file = read_vocabulary_file(host, path, category=category, languages=languages)
    with host.known(place, account, source) as target:
        in_force = apply_vocabulary(host, target, file, replaces=replaces)
    for remark in file.remarks:
        click.echo(remark, err=True)
    click.echo(f"{source}: {summarize_vocabulary(in_force)}", err=True)
