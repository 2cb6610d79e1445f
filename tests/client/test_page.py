"""The page about the client is complete; tests/documents runs its examples."""

import inspect
import re
from pathlib import Path

import penchant_client as client
from penchant_client.methods import Methods

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "client.md"


def test_the_page_names_every_method_and_every_class_of_a_kind() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))

    assert {name for name, _ in inspect.getmembers(Methods, inspect.isfunction)} <= named
    assert {family.__name__ for family in client.ServiceError.__subclasses__() if family.__subclasses__()} <= named
