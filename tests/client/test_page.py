"""The page about the client names the kinds of errors; tests/documents runs its examples."""

import re
from pathlib import Path

import penchant_client as client

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "client.md"


def test_the_page_names_every_class_of_a_kind() -> None:
    named = set(re.findall(r"`(\w+)`", PAGE.read_text(encoding="utf-8")))

    assert {family.__name__ for family in client.ServiceError.__subclasses__() if family.__subclasses__()} <= named
