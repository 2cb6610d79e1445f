"""Stored pieces as the index needs them: terms with their effective weights, catalogs and window."""

import functools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, TypeVar

import msgspec

from penchant.enrichment import decode_keywords, enrichments, keys_of, split_rule
from penchant.model import EncodedPiece, SourceSettings
from penchant.vocabulary import NO_VOCABULARY, Vocabulary
from penchant.wire.attributes import marks_in
from penchant.wire.syntax import encode, pointer
from penchant_engine.attributes import Attribute
from penchant_engine.model import IndexedPiece, PieceFilters, Term, effective_weights
from penchant_engine.moments import parse_timestamp

T = TypeVar("T")
TermsIn = Callable[[str], Callable[[str], T]]
"""Returns by category what makes a term of a keyword: asked once for all keywords of a piece in a category."""
Enriched = Mapping[str, Sequence[str]]
"""Keywords that packages make of a piece, by their category."""


class _StoredKeyword(msgspec.Struct, gc=False):
    key: str | None = None
    weight: int | float | None = None


_Level = dict[str, list[str | _StoredKeyword] | dict[str, Any]]
"""Categories; those that hold others are objects, read when they are gone over."""


class _StoredPiece(msgspec.Struct):
    id: str
    categories: _Level
    filters: msgspec.Raw = msgspec.Raw(b"{}")


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
_own_decoder = msgspec.json.Decoder(list[str | _StoredKeyword] | dict[str, Any])
_members_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


def public_body(body: bytes, settings: SourceSettings, moment: int) -> bytes | None:
    """Return what pages may read of a stored piece: the public members of extras; ``None`` outside its window.

    ``moment`` is in milliseconds since 1970 UTC. The window of a piece that names no start began when it was stored.
    """
    members = _members_decoder.decode(body)
    if not _is_available(members, moment):
        return None
    # As they are written: a number of an extra may have more digits than any type of ours.
    extras = _members_decoder.decode(members.get("extras", b"{}"))
    public = {name: value for name, value in extras.items() if settings.is_public_extra(name)}
    return encode(members | {"extras": public})


def is_public(body: bytes, moment: int) -> bool:
    """Return whether pages may know of a stored piece: only within its window."""
    return _is_available(_members_decoder.decode(body), moment)


def _is_available(members: Mapping[str, msgspec.Raw], moment: int) -> bool:
    shown = decode_stored_filters(members.get("filters", msgspec.Raw(b"{}")))
    has_begun = shown.available_from is None or moment >= shown.available_from
    return has_begun and (shown.available_until is None or moment < shown.available_until)


class PieceReading(msgspec.Struct, frozen=True):
    """How keywords of stored pieces are read: with those of packages by a rule, and by a vocabulary."""

    rule: bytes = b""
    vocabulary: Vocabulary = NO_VOCABULARY

    @property
    def name(self) -> str:
        """A text that no other reading has; empty where pieces are read as they were submitted."""
        key = b",".join(keys_of(self.rule).values()).decode()
        return f"{key}/{self.vocabulary.digest}" if key or self.vocabulary else ""

    def keywords_of(self, body: bytes, stored: bytes | None) -> Enriched:
        """Return a piece's keywords of packages, as they stand beside it, or anew where it was stored without them."""
        if not self.rule:
            return {}
        kept = {name: decode_keywords(stored or b"", key) for name, key in keys_of(self.rule).items()}
        return {name: self._made(name, body) if each is None else each for name, each in kept.items()}

    def keywords_of_unstored(self, body: bytes) -> Enriched:
        """Return the keywords that packages make of a piece that is not stored, as its body would be."""
        return {name: self._made(name, body) for name in keys_of(self.rule)} if self.rule else {}

    def _made(self, category: str, body: bytes) -> Sequence[str]:
        return enrichments()[category].keywords(body, split_rule(self.rule)[category])

    def terms(self, terms_in: TermsIn[T]) -> TermsIn[T | None]:
        """Return what makes terms of what categories and keywords count as; ``None`` where that is nothing."""
        if not self.vocabulary:
            return terms_in
        read = self.vocabulary.read

        @functools.cache
        def counted_in(category: str) -> Callable[[str], T | None]:
            @functools.cache
            def found(keyword: str) -> T | None:
                counted = read(category, keyword)
                return None if counted is None else terms_in(counted[0])(counted[1])

            return found

        return counted_in


AS_SUBMITTED = PieceReading()


class KeywordWeights(NamedTuple):
    """What a piece says of its keywords: the effective weight of each, and whether one was submitted with a weight.

    ``filters`` are its filters as they are stored, which mostly many pieces share.
    """

    weights: Mapping[Any, int]
    weighted: bool
    filters: bytes


def decode_stored_keywords(
    body: bytes, terms_in: TermsIn[Any], keywords: Enriched = MappingProxyType({})
) -> KeywordWeights:
    """Return the keywords of a stored piece by the terms that they make, ``keywords`` of packages among them.

    Of many pieces these are read.
    """
    stored = _decoder.decode(body)
    return KeywordWeights(*_effective_weights(stored.categories, keywords, terms_in), bytes(stored.filters))


def decode_stored_piece(
    body: bytes,
    first_submitted_at: int,
    attributes: Sequence[Attribute] = (),
    *,
    reading: PieceReading = AS_SUBMITTED,
    keywords: Enriched = MappingProxyType({}),
) -> IndexedPiece:
    """Return a piece as the index sees it, from the bytes that storage keeps, and its keywords of packages.

    ``first_submitted_at``, in milliseconds since 1970 UTC, is where its window begins if it names no start.
    ``attributes`` are those of the source, in the order of their numbers.
    """
    stored = _extended_decoder.decode(body) if attributes else _decoder.decode(body)
    weights, weighted = _effective_weights(stored.categories, keywords, reading.terms(_terms_in))
    shown = decode_stored_filters(stored.filters)
    return IndexedPiece(
        id=stored.id,
        weights=weights,
        weighted=weighted,
        catalogs=shown.catalogs,
        available_from=first_submitted_at if shown.available_from is None else shown.available_from,
        available_until=shown.available_until,
        marks=marks_in(stored.extras, attributes) if isinstance(stored, _ExtendedPiece) else (),
    )


def decode_stored_filters(filters: bytes | msgspec.Raw) -> PieceFilters:
    """Return the filters of a piece from what storage keeps of them."""
    members = _filters_decoder.decode(filters)
    begins, ends = members.get("availableFrom"), members.get("availableUntil")
    return PieceFilters(
        catalogs=frozenset(members.get("catalogs", ())),
        available_from=None if begins is None else parse_timestamp(begins),
        available_until=None if ends is None else parse_timestamp(ends),
    )


INCLUDED = ("label", "extras", "catalogs", "available")
"""What entries of lists can carry of their pieces; of extras also single members, as ``extras.NAME``.

Keywords of packages, too, by their category."""
_EXTRAS = "extras."


def include_problem(name: str) -> str | None:
    """Return what is wrong with a name of what is to be included, or ``None``."""
    included = (*INCLUDED, *enrichments())
    if name in included or (name.startswith(_EXTRAS) and len(name) > len(_EXTRAS)):
        return None
    return f"Found another member; accepted are {', '.join(included)} and extras.NAME."


def piece_members(
    piece: EncodedPiece, reading: PieceReading, included: Collection[str], public_by: SourceSettings | None = None
) -> dict[str, Any]:
    """Return the wanted members of a piece by the names that entries of lists give them, as they are stored.

    With ``public_by`` only those members of extras that are public by these settings.
    """
    stored = _members_decoder.decode(piece.body)
    members: dict[str, Any] = {}
    if "label" in included and "label" in stored:
        members["label"] = stored["label"]
    named = {name.removeprefix(_EXTRAS) for name in included if name.startswith(_EXTRAS)}
    if "extras" in included or named:
        extras = _members_decoder.decode(stored.get("extras", b"{}"))
        members["extras"] = {
            name: value
            for name, value in extras.items()
            if ("extras" in included or name in named) and (public_by is None or public_by.is_public_extra(name))
        }
    if "catalogs" in included or "available" in included:
        filters = _members_decoder.decode(stored.get("filters", b"{}"))
        wanted = ["catalogs"] if "catalogs" in included else []
        wanted += ["availableFrom", "availableUntil"] if "available" in included else []
        members |= {name: filters[name] for name in wanted if name in filters}
    for name in enrichments():
        if name in included and (keywords := _keywords_of(name, piece, stored, reading)) is not None:
            members[name] = keywords
    return members


def body_with(piece: EncodedPiece, reading: PieceReading, included: Collection[str]) -> bytes:
    """Return the body of a piece, byte for byte as it is stored, with members as `piece_members` has them."""
    members = piece_members(piece, reading, included)
    return piece.body.removesuffix(b"}") + b"," + encode(members)[1:] if members else piece.body


def _keywords_of(
    category: str, piece: EncodedPiece, stored: Mapping[str, msgspec.Raw], reading: PieceReading
) -> list[str] | None:
    """Return a piece's keywords of a package's category, or those that it was submitted with; ``None`` for neither."""
    own = _members_decoder.decode(stored.get("categories", b"{}")).get(category)
    if own is None:
        keywords = reading.keywords_of(piece.body, piece.words).get(category)
        return None if keywords is None else list(keywords)
    given: dict[str, Any] = {}
    _gather({category: _own_decoder.decode(own)}, "", _keywords_in, given)
    return list(given)


def decode_stored_label(body: bytes) -> str | None:
    """Return the label of a piece from the bytes that storage keeps; the rest is passed over."""
    return _label_decoder.decode(body).label


def decode_stored_texts(body: bytes) -> PieceTexts:
    """Return what is written in a piece, from the bytes that storage keeps."""
    stored = _texts_decoder.decode(body)
    given: dict[Term, Any] = {}
    _gather(stored.categories, "", _terms_in, given)
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


def _terms_in(category: str) -> Callable[[str], Term]:
    return functools.partial(Term, category)


def _keywords_in(_category: str) -> Callable[[str], str]:
    return str


def _effective_weights(
    categories: _Level, keywords: Enriched, terms_in: TermsIn[T | None]
) -> tuple[dict[T, int], bool]:
    """Return the effective weights of a piece's keywords, its own and packages', and whether one has a weight."""
    given: dict[T, Any] = {}
    _gather(categories, "", terms_in, given)
    for category, several in keywords.items():
        if several:
            _gather({category: list(several)}, "", terms_in, given)
    return effective_weights(given)


def _gather(level: _Level, path: str, terms_in: TermsIn[T | None], given: dict[T, Any]) -> None:
    """Collect the keywords of a level and those below it; a repeated one counts once, with its weight.

    A weight of 0 is none: typed clients write it where a keyword has no weight.
    """
    for name, value in level.items():
        category = path + name
        if isinstance(value, dict):
            _gather(msgspec.convert(value, _Level), category + "/", terms_in, given)
            continue
        term_of = terms_in(category)
        for item in value:
            if isinstance(item, str):
                # A weight that an earlier item gave the same keyword stays.
                if (term := term_of(item)) is not None:
                    given.setdefault(term, None)
            elif (keyword := item.key) is not None:
                term, weight = term_of(keyword), item.weight or None
                if term is not None and (weight is not None or term not in given):
                    given[term] = weight
