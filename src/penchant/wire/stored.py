"""Stored pieces as the index needs them: terms with their effective weights, catalogs and window."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import msgspec

from penchant.attributes import Attribute
from penchant.model import IndexedPiece, PieceFilters, SourceSettings, Term
from penchant.wire.attributes import marks_in
from penchant.wire.syntax import encode, pointer
from penchant.wire.times import parse_timestamp


class _StoredPiece(msgspec.Struct):
    id: str
    categories: dict[str, Any]
    filters: dict[str, Any] = {}


class _ExtendedPiece(_StoredPiece):
    extras: dict[str, Any] = {}


class _PieceLabel(msgspec.Struct):
    label: str | None = None


class _WrittenPiece(_ExtendedPiece):
    label: str | None = None


class PieceTexts(NamedTuple):
    """What is written in a piece: its label, its terms, and the texts of its extras, each with its JSON pointer."""

    label: str | None
    terms: Sequence[Term]
    extras: Sequence[tuple[str, str]]


_decoder = msgspec.json.Decoder(_StoredPiece)
_extended_decoder = msgspec.json.Decoder(_ExtendedPiece)
_texts_decoder = msgspec.json.Decoder(_WrittenPiece)
_filters_decoder = msgspec.json.Decoder(dict[str, Any])
_label_decoder = msgspec.json.Decoder(_PieceLabel)


_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def public_body(body: bytes, settings: SourceSettings, moment: int) -> bytes | None:
    """Return what pages may read of a stored piece: the public members of extras; ``None`` outside its window.

    ``moment`` is in milliseconds since 1970 UTC. The window of a piece that names no start began when it was stored.
    """
    filters = _decoder.decode(body).filters
    begins, ends = (filters.get(name) for name in ("availableFrom", "availableUntil"))
    if begins is not None and moment < parse_timestamp(begins):
        return None
    if ends is not None and moment >= parse_timestamp(ends):
        return None
    # As they are written: a number of an extra may have more digits than any type of ours.
    members = _members_decoder.decode(body)
    extras = _members_decoder.decode(members.get("extras", b"{}"))
    public = {name: value for name, value in extras.items() if settings.is_public_extra(name)}
    return encode(members | {"extras": public})


STORED_FORM = (b'{"id":"', b'","label":"', b'","categories":{', b'":[', b'{"key":"', b'","weight":', b',"filters":')
"""What stands in a stored body before its id, its label (it may have none), its categories, the keywords of a category,
the name of a keyword with a weight, that weight, and its filters: what `encode` makes of a piece."""


def decode_stored_piece(body: bytes, first_submitted_at: int, attributes: Sequence[Attribute] = ()) -> IndexedPiece:
    """Return a piece as the index sees it, from the bytes that storage keeps.

    ``first_submitted_at``, in milliseconds since 1970 UTC, is where its window begins if it names no start.
    ``attributes`` are those of the source, in the order of their numbers.
    """
    if not attributes:
        stored = _decoder.decode(body)
        return piece_of(stored.id, stored.categories, stored.filters, first_submitted_at)
    extended = _extended_decoder.decode(body)
    piece = piece_of(extended.id, extended.categories, extended.filters, first_submitted_at)
    return replace(piece, marks=marks_in(extended.extras, attributes))


def decode_stored_filters(filters: bytes) -> PieceFilters:
    """Return the filters of a piece from what storage keeps of them."""
    return _filters_of(_filters_decoder.decode(filters))


def decode_stored_label(body: bytes) -> str | None:
    """Return the label of a piece from the bytes that storage keeps; the rest is passed over."""
    return _label_decoder.decode(body).label


def decode_stored_texts(body: bytes) -> PieceTexts:
    """Return what is written in a piece, from the bytes that storage keeps."""
    stored = _texts_decoder.decode(body)
    given: dict[Term, int | None] = {}
    _gather(stored.categories, "", given)
    return PieceTexts(stored.label, list(given), list(_texts_below(stored.extras, "")))


def _texts_below(value: Any, where: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield where, value
    elif isinstance(value, dict):
        for name, member in value.items():
            yield from _texts_below(member, where + pointer(name))
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from _texts_below(member, f"{where}/{number}")


def piece_of(
    piece_id: str, categories: Mapping[str, Any], filters: Mapping[str, Any], first_submitted_at: int
) -> IndexedPiece:
    """Return the piece that these valid categories and filters describe."""
    given: dict[Term, int | None] = {}
    _gather(categories, "", given)
    # Keywords without a weight count as much as the mean of those that have one in the same piece.
    weights = [weight for weight in given.values() if weight is not None]
    # Rounded half up, in integers: floor(mean + 1/2), at least 1; 1 where no keyword has a weight.
    mean = max(1, (2 * sum(weights) + len(weights)) // (2 * len(weights))) if weights else 1
    found = _filters_of(filters)
    return IndexedPiece(
        id=piece_id,
        weights={term: mean if weight is None else weight for term, weight in given.items()},
        weighted=bool(weights),
        catalogs=found.catalogs,
        available_from=first_submitted_at if found.available_from is None else found.available_from,
        available_until=found.available_until,
    )


def _filters_of(filters: Mapping[str, Any]) -> PieceFilters:
    begins, ends = filters.get("availableFrom"), filters.get("availableUntil")
    return PieceFilters(
        catalogs=frozenset(filters.get("catalogs", ())),
        available_from=None if begins is None else parse_timestamp(begins),
        available_until=None if ends is None else parse_timestamp(ends),
    )


def _gather(level: Mapping[str, Any], path: str, given: dict[Term, int | None]) -> None:
    """Collect the terms of a level and those below it; a repeated keyword counts once, with its weight.

    A weight of 0 is none: typed clients write it where a keyword has no weight.
    """
    for name, value in level.items():
        category = path + name
        if isinstance(value, dict):
            _gather(value, category + "/", given)
            continue
        for item in value:
            if isinstance(item, str):
                # A weight that an earlier item gave the same keyword stays.
                given.setdefault(Term(category, item), None)
            elif "key" in item:
                term = Term(category, item["key"])
                weight = item.get("weight") or None
                if weight is not None or term not in given:
                    given[term] = weight
