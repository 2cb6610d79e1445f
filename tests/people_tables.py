"""Catalogues and people at random, as tables of the index: what lists of many people are tried with."""

import numpy as np

from penchant.model import SourceSettings
from penchant_engine.index import Snapshot, Strings
from penchant_engine.index.building import build_segment
from penchant_engine.index.people.item_item import ItemItemModel, fit_item_item
from penchant_engine.index.people.likes import like_matrix
from penchant_engine.index.people.order import order_of
from penchant_engine.index.people.table import PeopleEvents, PeopleTable, people_table
from penchant_engine.model import DAY_MS, IndexedPiece, InteractionType, Term

TODAY, CODES = 20_000, [kind.code for kind in InteractionType]


def made(n: int, random: np.random.Generator, greatest: int) -> Snapshot:
    pieces = [
        IndexedPiece(
            id=f"{place:06}",
            weights={
                Term("ab"[term % 2], f"{term:02}"): int(random.integers(1, greatest + 1))
                for term in random.choice(40, random.integers(0, 9), replace=False).tolist()
            },
            available_from=int(random.choice([0, 30_000 * DAY_MS], p=[0.9, 0.1])),
        )
        for place in range(n)
    ]
    return Snapshot.of_segment(build_segment(pieces))


def table_of(snapshot: Snapshot, random: np.random.Generator, chosen: SourceSettings, *, many: int = 12) -> PeopleTable:
    """Return so many people, from one who did nothing to one who did much, also with pieces that do not exist."""
    count = 40 * many
    people = (random.random(count) ** 3 * (many - 1)).astype(np.int64)
    events = PeopleEvents(
        people=people,
        rows=random.integers(-1, snapshot.piece_count, count),
        codes=random.choice(CODES, count),
        moments=(TODAY - random.integers(0, 300, count)) * DAY_MS,
        versions=np.arange(count),
    )
    ids = Strings.of([f"u{number:02}" for number in range(many)])
    return people_table(ids, events, snapshot.parts[0].segment, chosen, TODAY)


def weights_of(table: PeopleTable, snapshot: Snapshot, chosen: SourceSettings) -> ItemItemModel:
    people = np.repeat(np.arange(len(table)), np.diff(table.starts))
    liked = table.grades > 0
    # Moments in the order that ranks have.
    order = order_of(people[liked], -table.ranks[liked].astype(np.int64))
    rows = table.rows[liked].astype(np.int64)
    likes = like_matrix(people[liked], rows, table.grades[liked], snapshot.piece_count, order)
    return fit_item_item(likes, snapshot.parts[0].segment, chosen.category_weights)
