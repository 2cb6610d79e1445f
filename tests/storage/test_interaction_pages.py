"""Pages of interactions, as columns, are the rows of the feed: the same on SQLite and on PostgreSQL."""

import pytest

from penchant.model import NewInteraction
from penchant.storage import InteractionChange, RecordInteractions, Storage, interaction_pages
from penchant.storage.hashing import piece_key
from penchant.storage.interaction_pages import BLOCK_VERSIONS
from penchant.storage.schema import TYPES
from penchant_engine.model import TYPE_BITS, TYPE_MASK, WHOLE, InteractionType
from storage.commands import done, erasing, submitting

MOMENTS = {
    "u": 0,
    "gone": 1,
    "v": -1,
    "w": 1_790_000_000_000,
    "early": -62_135_596_800_000,
    "late": 253_402_300_799_999,
}
MANY = 2 * BLOCK_VERSIONS


def test_pages_have_the_interactions_of_the_batches_without_erasures(
    storage: Storage, account: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interaction_pages, "BLOCKS", 2)
    kinds = list(InteractionType)
    done(storage, submitting(account, "a"))
    for place, (person, moment) in enumerate(MOMENTS.items()):
        new = NewInteraction(user_id=person, type=kinds[place], piece_id=f"p-{person}", occurred_at=moment)
        done(storage, RecordInteractions(account_id=account, source="s", interactions=[new]))
        if person == "w":
            done(storage, erasing(account, "gone"))
    # More than a page has, which ends within them.
    many = [NewInteraction(user_id="many", type=kinds[0], piece_id=f"p-{n}", occurred_at=n) for n in range(MANY)]
    done(storage, RecordInteractions(account_id=account, source="s", interactions=many))

    with storage.sources.follow_interactions(account, "s", None) as feed:
        expected = [row for batch in feed.batches for row in batch if isinstance(row, InteractionChange)]
        pages = list(feed.pages(feed.after, feed.head.interactions_version))
        some = list(feed.pages(expected[0].version, expected[1].version))
        ids = feed.piece_ids([row.version for row in expected])
    rows = [row for page in pages for row in zip(*page, strict=True)]
    found = [(v, person.tobytes(), ids[v], TYPES[int(code)], at, WHOLE) for person, _, code, at, v in rows]

    assert found == expected
    moments = [at for person, at in MOMENTS.items() if person != "gone"]
    assert [row.occurred_at for row in expected] == [*moments, *range(MANY)]
    assert [piece.tobytes() for _, piece, *_ in rows] == [
        piece_key(feed.head.source_id, row.piece_id) for row in expected
    ]
    # Without the erased person's interaction and the row of the erasure.
    assert [len(page.versions) for page in pages] == [2 * BLOCK_VERSIONS - 2, len(rows) - 2 * BLOCK_VERSIONS + 2]
    assert [page.versions.tolist() for page in some] == [[expected[1].version]]


def test_pages_and_batches_tell_portions_but_of_nothing_and_of_ratings(storage: Storage, account: int) -> None:
    portions = [None, 0, 1, 60, WHOLE]
    kinds = [InteractionType.WATCH, InteractionType.RATE_DISLIKE]
    new = [NewInteraction(user_id="u", type=kind, piece_id="a", portion=each) for kind in kinds for each in portions]
    done(storage, submitting(account, "a"))
    done(storage, RecordInteractions(account_id=account, source="s", interactions=new))

    with storage.sources.follow_interactions(account, "s", None) as feed:
        batches = [row for batch in feed.batches for row in batch if isinstance(row, InteractionChange)]
        (page,) = feed.pages(feed.after, feed.head.interactions_version)
        recorded = storage.people.list_recorded(feed.head.source_id, after=0, until=len(new))
    codes = page.codes.tolist()

    assert [(row.type, row.portion) for row in batches] == [
        *((InteractionType.WATCH, portion) for portion in (WHOLE, 1, 60, WHOLE)),
        *[(InteractionType.RATE_DISLIKE, WHOLE)] * len(portions),
    ]
    assert [(TYPES[code & TYPE_MASK], WHOLE - (code >> TYPE_BITS)) for code in codes] == [
        (row.type, row.portion) for row in batches
    ]
    assert (recorded.interactions, recorded.is_whole) == (batches, True)
