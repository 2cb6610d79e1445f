"""People columns: all that people of a source did and said, read at once, as whole columns."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from penchant.errors import UnknownSource
from penchant.live.views import View
from penchant.storage import InteractionPage, SourceHead, Storage
from penchant_engine.index import IntArray, Strings
from penchant_engine.index.people.event_pages import KeyColumn, least_values, no_words, number_keys, words_of_keys
from penchant_engine.index.people.likes import Words
from penchant_engine.index.people.table import PeopleEvents


class PeopleColumns(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """The interactions of a source as columns, with numbers of people and pieces by id; and what people have said.

    ``keys`` (u, 2) are those of the people, by number. ``table`` (5, n) has person, piece,
    code (`penchant.model.event_code`), moment and version of each, in no order.
    """

    head: SourceHead
    people: dict[str, int]
    pieces: dict[str, int]
    keys: Words
    table: IntArray
    said: dict[str, bytes]

    def ids(self, until: int | None = None) -> list[str]:
        """Return the people who did something, up to a moment if one is given, or have preferences, ascending."""
        if until is None:
            return sorted(self.people.keys() | self.said)
        numbers, _, _, moments, _ = self.table
        early = set(np.unique(numbers[moments <= until]).tolist())
        return sorted({name for name, number in self.people.items() if number in early} | self.said.keys())


class _Page(NamedTuple):
    """A page of interactions: what people and pieces are known by, and code, moment and version of each, (3, n)."""

    people: KeyColumn
    pieces: KeyColumn
    facts: IntArray

    @classmethod
    def of(cls, page: InteractionPage, oldest: int) -> "_Page":
        """Return those of a page from a moment on."""
        kept = page.moments >= oldest
        people, pieces = (number_keys(words_of_keys(keys[kept])) for keys in (page.people, page.pieces))
        return cls(people, pieces, np.stack((page.codes[kept], page.moments[kept], page.versions[kept])))


def read_columns(
    storage: Storage, view: View, oldest: int, check: Callable[[int, int], None] = lambda _people, _count: None
) -> PeopleColumns:
    """Return the interactions that count, from a moment on, and preferences.

    ``check`` hears again and again how many people and interactions there are at least, and raises what ends it.

    Raises:
        UnknownSource: the source was deleted meanwhile.
    """
    with storage.sources.open_export(view.head.account_id, view.head.name) as export:
        if not view.is_of(export.head):
            raise UnknownSource("The source was made again meanwhile.")
        pages = list[_Page]()
        for each in export.columns.pages:
            pages.append(_Page.of(each, oldest))
            check(len(pages[-1].people.words), sum(page.facts.shape[1] for page in pages))
        facts = np.concatenate([np.zeros((3, 0), dtype=np.int64), *(page.facts for page in pages)], axis=1)
        people = _joined([page.people for page in pages])
        check(len(people.words), facts.shape[1])
        pieces = _joined([page.pieces for page in pages])
        user_ids = _ids(people, facts[2], export.columns.user_ids)
        piece_ids = _ids(pieces, facts[2], export.columns.piece_ids)
        said = dict[str, bytes]()
        for stored in export.preferences:
            said.update(stored)
            check(len(said), facts.shape[1])
    return PeopleColumns(
        head=export.head,
        people={each: number for number, each in enumerate(user_ids)},
        pieces={each: number for number, each in enumerate(piece_ids)},
        keys=people.words,
        table=np.concatenate((np.stack((people.numbers, pieces.numbers)).astype(np.int64), facts)),
        said=said,
    )


def events_of(columns: PeopleColumns, catalogue: Strings, ids: Sequence[str]) -> PeopleEvents:
    """Return the interactions of these people, numbered in their order."""
    table = columns.table
    numbers = np.full(len(columns.people), -1, dtype=np.int64)
    for number, user_id in enumerate(ids):
        known = columns.people.get(user_id)
        if known is not None:
            numbers[known] = number
    rows = catalogue.find_all(Strings.of(columns.pieces))
    people = numbers[table[0]] if len(numbers) else table[0]
    events = PeopleEvents(
        people=people,
        rows=rows[table[1]] if len(rows) else table[1],
        codes=table[2],
        moments=table[3],
        versions=table[4],
    )
    return events.take(people >= 0)


def _joined(columns: Sequence[KeyColumn]) -> KeyColumn:
    """Return columns as one, one behind the other."""
    keys = number_keys(np.concatenate([no_words(), *(each.words for each in columns)]))
    cuts = np.cumsum([len(each.words) for each in columns])
    own = zip(np.split(keys.numbers, cuts)[:-1], columns, strict=True)
    none = np.zeros(0, dtype=np.uint32)
    return KeyColumn(keys.words, np.concatenate([none, *(numbers[each.numbers] for numbers, each in own)]))


def _ids(keys: KeyColumn, versions: IntArray, ids_of: Callable[[Sequence[int]], Mapping[int, str]]) -> list[str]:
    """Return the id of each distinct key, of one of its interactions: the first, as these lie side by side."""
    firsts = least_values(keys, versions)
    known = ids_of(np.sort(firsts).tolist())
    return [known[version] for version in firsts.tolist()]
