"""Saved answers in which anything may stand in an entry: what else they hold is read."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penchant_import.drafts import Draft, DraftKind
from penchant_import.files import Files, gather
from penchant_import.formats import read_drafts
from penchant_import.options import ImportOptions
from penchant_import.report import Notes
from test_jellyfin import ITEMS
from test_watching import TRAKT

SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
OBJECTS = st.dictionaries(st.sampled_from(["Name", "a"]), SCALARS, max_size=2)
ANYTHING = SCALARS | st.lists(SCALARS | OBJECTS, max_size=2) | OBJECTS


def paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return where in a JSON value others stand."""
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(inner for key, member in members for inner in paths(member, (*path, key)))]


def replaced(value: Any, path: tuple[Any, ...], other: Any) -> Any:
    """Return a JSON value that has another one at a path."""
    if not path:
        return other
    copy = value.copy()
    copy[path[0]] = replaced(value[path[0]], path[1:], other)
    return copy


def read(name: str, answer: Any) -> list[Draft]:
    """Return what a format makes of an answer of one person."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "watchlist.json").write_text(json.dumps(answer), encoding="utf-8")
        return list(read_drafts(name, Files(gather([Path(folder)])), ImportOptions(user="ann"), Notes()))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "answer"), (("jellyfin", {"Items": ITEMS}), ("trakt", TRAKT)))
@given(data=st.data())
def test_whatever_stands_in_an_entry_others_are_read(name: str, answer: dict[str, Any], data: st.DataObject) -> None:
    inside = [path for path in paths(answer) if len(path) > 1]
    odd = replaced(answer, data.draw(st.sampled_from(inside)), data.draw(ANYTHING))

    assert any(draft.kind is DraftKind.PIECE and not draft.problem for draft in read(name, odd))
