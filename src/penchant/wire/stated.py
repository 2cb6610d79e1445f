"""Stated members: ids and categories, as bodies name them that say what somebody likes."""

from collections.abc import Iterator, Mapping
from typing import Any

from penchant.wire.fields import is_category
from penchant.wire.lists import check_ids
from penchant.wire.syntax import Faults, kind_of, pointer


def read_ids(value: Mapping[str, Any], name: str, faults: Faults) -> tuple[str, ...]:
    """Return the distinct ids of a member, in order: one that is named twice counts once, and is no fault."""
    given = _entries(value, name, "ids", faults)
    check_ids(given, f"/{name}", faults, unique=False)
    return tuple(dict.fromkeys(each for each in given if isinstance(each, str)))


def read_names(value: Mapping[str, Any], name: str, faults: Faults) -> tuple[str, ...]:
    """Return the distinct names of categories of a member, in order."""
    found = []
    for place, entry in enumerate(_entries(value, name, "categories", faults)):
        where = f"/{name}/{place}"
        if not isinstance(entry, str):
            faults.add(where, f"Found {kind_of(entry)}; the name of a category is accepted.")
        elif is_category(entry, where, faults):
            found.append(entry)
    return tuple(dict.fromkeys(found))


def read_categories(value: Mapping[str, Any], name: str, faults: Faults) -> Iterator[tuple[str, str, Any]]:
    """Yield the categories of a member with their pointers and values; nested ones are named by their path."""
    given = value.get(name)
    if given is None:
        return
    if not isinstance(given, dict):
        faults.add(f"/{name}", f"Found {kind_of(given)}; an object of categories is accepted.")
        return
    for category, keywords in given.items():
        where = f"/{name}{pointer(category)}"
        if is_category(category, where, faults):
            yield where, category, keywords


def _entries(value: Mapping[str, Any], name: str, kind: str, faults: Faults) -> list[Any]:
    given = value.get(name)
    if given is None or isinstance(given, list):
        return given or []
    faults.add(f"/{name}", f"Found {kind_of(given)}; an array of {kind} is accepted.")
    return []
