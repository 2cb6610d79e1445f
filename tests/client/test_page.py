"""The page about the client says what it does: its examples are executed, its tables are complete."""

import doctest
import inspect
import re
from pathlib import Path

import pytest

from acceptance.servers import Server
from penchant import client
from penchant.client.methods import Methods

PAGE = Path(__file__).parents[2] / "docs" / "client.md"


@pytest.mark.slow
def test_every_example_gives_what_is_printed(tmp_path: Path) -> None:
    server = Server(tmp_path / "data")
    text = PAGE.read_text(encoding="utf-8").replace("http://127.0.0.1:8080", server.url)
    text = text.replace("pk_your_key", server.key).replace("```\n", "\n")
    said: list[str] = []
    names: dict[str, object] = {}
    examples = doctest.DocTestParser().get_doctest(text, names, PAGE.name, str(PAGE), 0)

    failed, tried = doctest.DocTestRunner(verbose=False).run(examples, out=said.append, clear_globs=False)

    for made in examples.globs.values():
        if isinstance(made, client.Client):
            made.close()
    examples.globs["http"].close()
    assert server.stop() == 0
    assert failed == 0, "".join(said)
    assert tried == text.count(">>> ") > 20


def test_the_page_names_every_method_and_every_class_of_a_kind() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))

    assert {name for name, _ in inspect.getmembers(Methods, inspect.isfunction)} <= named
    assert {family.__name__ for family in client.ServiceError.__subclasses__() if family.__subclasses__()} <= named
