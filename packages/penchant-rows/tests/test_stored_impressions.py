"""What was shown, as both databases keep it: restarts, erasures, deleted sources, age, moves, and several processes."""

import dataclasses
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from msgspec.structs import replace

from penchant.clock import Clock
from penchant.model import NewInteraction
from penchant.storage import DeleteSource, MoveSide, RecordInteractions, Storage
from penchant_engine.model import DAY_MS, PIN, QUOTA, InteractionType
from penchant_rows.model import ListIdentity, NewImpression
from penchant_rows.service.impressions import ListIds
from penchant_rows.storage.impression_ledger import LISTS_A_DAY, RecordImpressions
from penchant_rows.storage.impressions import ImpressionStore
from penchant_rows.storage.placement_counts import LISTS, PINNED_STAGE, RAISED, SHOWN, SUCCEEDED
from storage.commands import done, erasing, head, putting, submitting
from storage.conftest import Opening
from storage.sides import moved, moved_so_far, opened
from storage.test_forgetting import count_rows, purge_all

NOW = time.time()
NOW_MS = int(NOW * 1000)
HOUR_MS = 3_600_000


@pytest.fixture
def account(storage: Storage) -> int:
    account = storage.accounts.ensure("one")
    done(storage, submitting(account, "a", "b"))
    return account


def identity(storage: Storage, account: int, user: str | None = "kim", *, days_ago: float = 0) -> ListIdentity:
    ids = ListIds(storage.list_secret(), clock=Clock(seconds=lambda: NOW - days_ago * 86_400))
    of = head(storage, account)
    return ids.read(of, ids.make(of, placement="home", variant="a", user_id=user, pieces=("a", "b")))


def seeing(account: int, shown: ListIdentity, *pieces: str, at: int | None = None) -> RecordImpressions:
    seen = [
        NewImpression(identity=shown, piece_id=piece, position=place, shown_at=shown.made_at if at is None else at)
        for place, piece in enumerate(pieces, 1)
    ]
    return RecordImpressions(account_id=account, source="s", impressions=seen, window_ms=24 * HOUR_MS)


def naming(shown: ListIdentity, piece: str) -> NewImpression:
    return NewImpression(identity=shown, piece_id=piece, position=1, shown_at=shown.made_at)


def clicking(account: int, *pieces: str, at: int = NOW_MS, shown_in: ListIdentity | None = None) -> RecordInteractions:
    new = [
        NewInteraction(
            user_id="kim",
            type=InteractionType.CLICK,
            piece_id=piece,
            occurred_at=at,
            shown_in=None if shown_in is None else naming(shown_in, piece),
        )
        for piece in pieces
    ]
    return RecordInteractions(account_id=account, source="s", interactions=new)


def counted(storage: Storage, account: int) -> dict[int, int]:
    """Return how many are counted of each kind."""
    of = head(storage, account)
    rows = storage.store(ImpressionStore).read_counts(of.source_id, of.incarnation, "home", (0, 100_000)).table
    found: dict[int, int] = {}
    assert rows.positions.sum() == rows.groups.sum()
    for kind, positions in zip(rows.kinds.tolist(), rows.positions, strict=True):
        found[kind] = found.get(kind, 0) + int(positions.sum())
    return found


def test_what_was_seen_and_done_is_there_after_a_restart(opening: Opening, storage: Storage, account: int) -> None:
    shown = identity(storage, account)
    done(storage, seeing(account, shown, "a", "b"))
    done(storage, clicking(account, "b", "gone"))

    with_restart = opening()
    try:
        assert counted(with_restart, account) == {SHOWN: 2, LISTS: 1, 1: 1, SUCCEEDED: 1}
        of = head(with_restart, account)
        (first, second) = with_restart.store(ImpressionStore).list_of_person(of.source_id, of.incarnation, "kim", 0)
        assert (first.piece_id, first.position, first.led_to) == ("a", 1, ())
        assert (second.piece_id, second.made_at, second.led_to) == ("b", shown.made_at, (InteractionType.CLICK,))
        assert done(with_restart, seeing(account, shown, "b")).duplicates == 1
        assert with_restart.upkeep.check() == []
    finally:
        with_restart.close()


def test_the_newest_lists_of_a_person_are_read_alone(storage: Storage, account: int) -> None:
    lists = [identity(storage, account, days_ago=days) for days in (2, 0, 1)]
    for each in (*lists, identity(storage, account, "lee")):
        done(storage, seeing(account, each, "a", "b"))
    of = head(storage, account)

    found = storage.store(ImpressionStore).list_of_person(of.source_id, of.incarnation, "kim", 0, lists=2)

    assert [(each.made_at, each.piece_id) for each in found] == [
        (lists[place].made_at, piece) for place in (1, 2) for piece in "ab"
    ]


def test_groups_of_several_nodes_count_once(opening: Opening, storage: Storage, account: int) -> None:
    lists = [identity(storage, account, f"u{number}") for number in range(20)]
    nodes = [storage, opening()]
    try:
        with ThreadPoolExecutor(8) as threads:
            futures = [
                threads.submit(done, node, seeing(account, shown, "a", "b")) for shown in lists for node in nodes
            ]
        assert sum(future.result().created for future in futures) == 40
    finally:
        nodes[1].close()
    assert counted(storage, account) == {SHOWN: 40, LISTS: 20}


def test_days_are_those_on_which_pieces_were_shown(storage: Storage, account: int) -> None:
    yesterday = NOW_MS - DAY_MS
    done(storage, seeing(account, identity(storage, account, days_ago=1.0), "a", at=yesterday))
    done(storage, clicking(account, "a", at=yesterday + HOUR_MS))
    done(storage, clicking(account, "b", shown_in=identity(storage, account)))
    of = head(storage, account)

    def kinds(day: int) -> set[int]:
        rows = storage.store(ImpressionStore).read_counts(of.source_id, of.incarnation, "home", (day, day))
        return set(rows.table.kinds.tolist())

    assert kinds(yesterday // DAY_MS) == kinds(NOW_MS // DAY_MS) == {SHOWN, LISTS, 1, SUCCEEDED}
    assert kinds(NOW_MS // DAY_MS - 2) == set()
    assert storage.store(ImpressionStore).read_counts(of.source_id, of.incarnation, "home", (0, 10**6)).pieces == {
        "a": 2
    }


def test_an_erasure_leaves_counts_and_no_row(opening: Opening, storage: Storage, account: int) -> None:
    done(storage, seeing(account, identity(storage, account), "a"))
    done(storage, seeing(account, identity(storage, account, "lee"), "a"))

    done(storage, erasing(account, "kim"))

    of = head(storage, account)
    assert storage.store(ImpressionStore).list_of_person(of.source_id, of.incarnation, "kim", 0) == []
    assert len(storage.store(ImpressionStore).list_of_person(of.source_id, of.incarnation, "lee", 0)) == 1
    assert counted(storage, account)[SHOWN] == 2
    assert count_rows(opening)["impressions"] == 1


def test_housekeeping_removes_what_is_old_and_what_was_deleted(
    opening: Opening, storage: Storage, account: int
) -> None:
    done(storage, seeing(account, identity(storage, account, days_ago=31), "a", "b"))
    done(storage, seeing(account, identity(storage, account, days_ago=29), "a"))
    done(storage, seeing(account, replace(identity(storage, account), placement="end"), "a"))

    purge_all(storage, NOW_MS, chunk=1)
    assert count_rows(opening)["impressions"] == 2
    assert counted(storage, account)[SHOWN] == 3
    purge_all(storage, NOW_MS + 775 * DAY_MS, chunk=1)
    assert counted(storage, account) == {}
    rows = count_rows(opening)
    assert "impressions" not in rows
    assert (rows["placement_counts"], rows["placement_pieces"]) == (2, 1)
    done(storage, DeleteSource(account_id=account, source="s"))
    purge_all(storage, NOW_MS, chunk=1)
    assert not {"impressions", "placement_counts", "placement_pieces"} & set(count_rows(opening))


def test_a_move_takes_what_was_shown_after_its_first_pass_too(sides: tuple[MoveSide, MoveSide]) -> None:
    old, new = sides
    with closing(opened(old)) as storage:
        account = storage.accounts.ensure("one")
        done(storage, submitting(account, "a", "b"))
        shown = identity(storage, account)
        done(storage, seeing(account, shown, "a"))
    moved_so_far(old, new)
    with closing(opened(old)) as storage:
        done(storage, seeing(account, shown, "b"))

    moved(old, new)

    with closing(opened(new)) as storage:
        assert counted(storage, account) == {SHOWN: 2, LISTS: 1}
        done(storage, clicking(account, "a"))
        assert counted(storage, account)[SUCCEEDED] == 1


def test_what_was_passed_over_is_counted_until_it_leads_to_something(storage: Storage, account: int) -> None:
    def passed_over(placement: str = "home") -> dict[str, int]:
        of = head(storage, account)
        oldest = NOW_MS - 9 * DAY_MS
        return dict(
            storage.store(ImpressionStore).passed_over(
                of.source_id, of.incarnation, "kim", placement, since=oldest, limit=9
            )
        )

    lists = [identity(storage, account, days_ago=days) for days in (20, 3, 2)]
    for each in lists:
        done(storage, seeing(account, each, "a", "b"))
    done(storage, seeing(account, identity(storage, account, "robin"), "a"))
    assert passed_over() == {"a": 2, "b": 2}
    assert passed_over("other") == {}

    done(storage, clicking(account, "a", shown_in=lists[2]))
    assert passed_over() == {"b": 2}
    done(storage, seeing(account, identity(storage, account), "a"))
    assert passed_over() == {"a": 1, "b": 2}
    done(storage, erasing(account, "kim"))
    assert passed_over() == {}


def test_what_was_shown_before_people_had_parts_goes_on_to_count(
    opening: Opening, storage: Storage, account: int
) -> None:
    shown = identity(storage, account)
    done(storage, seeing(account, shown, "a"))
    storage.close()
    with opening.beside() as connection:
        connection.exec_driver_sql("DROP TABLE placement_people")
        for column in ("stage", "by_page", "repeated"):
            connection.exec_driver_sql(f"ALTER TABLE impressions DROP COLUMN {column}")
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '0009'")
        connection.commit()

    with closing(opening()) as again:
        done(again, clicking(account, "a", shown_in=shown))
        done(again, seeing(account, shown, "a", "b"))

        assert counted(again, account) == {SHOWN: 2, LISTS: 1, 1: 1, SUCCEEDED: 1}
        assert again.upkeep.check() == []


@pytest.mark.slow
def test_of_a_person_twenty_lists_of_a_day_count(storage: Storage, account: int) -> None:
    lists = [identity(storage, account) for _ in range(LISTS_A_DAY + 2)]

    outcomes = [done(storage, seeing(account, each, "a")) for each in lists]
    done(storage, clicking(account, "b", shown_in=lists[0]))
    done(storage, clicking(account, "b", shown_in=lists[-1]))
    done(storage, seeing(account, identity(storage, account, "lee"), "a"))

    assert [outcome.created for outcome in outcomes] == [1] * LISTS_A_DAY + [0, 0]
    assert [outcome.beyond for outcome in outcomes] == [0] * LISTS_A_DAY + [1, 1]
    assert counted(storage, account) == {SHOWN: 22, LISTS: 21, 1: 1, SUCCEEDED: 1}


@pytest.mark.slow
def test_the_next_day_has_lists_of_its_own_and_no_day_before_it_has(storage: Storage, account: int) -> None:
    for days_ago in (3, 2, 3):
        lists = [identity(storage, account, days_ago=days_ago) for _ in range(LISTS_A_DAY)]
        for each in lists:
            done(storage, seeing(account, each, "a"))

    assert counted(storage, account)[LISTS] == 2 * LISTS_A_DAY


def test_a_piece_succeeds_once_a_day(storage: Storage, account: int) -> None:
    lists = [identity(storage, account, days_ago=days) for days in (1, 0, 0, 0)]
    for each in lists:
        done(storage, clicking(account, "a", shown_in=each, at=each.made_at))
    purchase = clicking(account, "a", shown_in=lists[3]).interactions[0]._replace(type=InteractionType.PURCHASE)
    done(storage, RecordInteractions(account_id=account, source="s", interactions=[purchase]))

    assert counted(storage, account) == {SHOWN: 4, LISTS: 4, 1: 2, 6: 1, SUCCEEDED: 2}
    of = head(storage, account)
    found = storage.store(ImpressionStore).list_of_person(of.source_id, of.incarnation, "kim", 0)
    assert sorted(len(each.led_to) for each in found) == [1, 1, 2, 2]


def parts(storage: Storage, account: int, kind: int) -> dict[tuple[int, bool], int]:
    """Return how many are counted of a kind, by stage, and by whether pages alone have reported it."""
    of = head(storage, account)
    table = storage.store(ImpressionStore).read_counts(of.source_id, of.incarnation, "home", (0, 100_000)).table
    rows = table.only(table.kinds == kind)
    keys = zip(rows.stages.tolist(), rows.by_page.tolist(), strict=True)
    return {key: int(count) for key, count in zip(keys, rows.positions.sum(1), strict=True) if count}


def test_what_a_person_was_shown_is_counted_in_stages_of_each_version(storage: Storage, account: int) -> None:
    def show_lists(count: int) -> None:
        for _ in range(count):
            done(storage, seeing(account, identity(storage, account), *"abcdefgh"))

    show_lists(5)
    assert parts(storage, account, SHOWN) == {(0, False): 16, (1, False): 16, (2, False): 8}
    done(storage, putting(account, "home", b"{}"))
    show_lists(1)

    assert parts(storage, account, SHOWN) == {(0, False): 24, (1, False): 16, (2, False): 8}


def test_what_a_pin_showed_has_a_stage_of_its_own_and_is_of_no_part(storage: Storage, account: int) -> None:
    for number in range(3):
        shown = identity(storage, account)
        pins = [replace(naming(shown, f"{each}{number}"), rule=PIN) for each in "abcdefgh"]
        done(storage, dataclasses.replace(seeing(account, shown), impressions=pins))
    clicked = clicking(account, "a2", shown_in=shown)
    done(storage, clicked)
    done(storage, seeing(account, identity(storage, account), "x"))

    assert parts(storage, account, SHOWN) == {(PINNED_STAGE, False): 24, (0, False): 1}
    assert parts(storage, account, SUCCEEDED) == {(PINNED_STAGE, False): 1}
    assert counted(storage, account)[LISTS] == 4


def test_what_a_quota_raised_counts_as_all_else_and_once_more_apart(storage: Storage, account: int) -> None:
    shown = identity(storage, account)
    raised = replace(naming(shown, "a"), rule=QUOTA)
    done(storage, dataclasses.replace(seeing(account, shown), impressions=[raised, naming(shown, "b")]))
    # Attributed to the row as it is stored: it names no list.
    done(storage, clicking(account, "a"))

    of = head(storage, account)
    apart = storage.store(ImpressionStore).read_counts(of.source_id, of.incarnation, "home", (0, 100_000)).table.raised
    assert dict(zip(apart.kinds.tolist(), apart.positions.sum(1).tolist(), strict=True)) == {
        SHOWN: 1,
        1: 1,
        SUCCEEDED: 1,
    }
    assert parts(storage, account, SHOWN) == {(0, False): 2}
    assert max(each.code for each in InteractionType) < RAISED


def test_what_a_page_has_said_is_apart_until_a_server_says_it(storage: Storage, account: int) -> None:
    shown = identity(storage, account)
    seen, clicked = seeing(account, shown, "a", "b"), clicking(account, "a", shown_in=shown)

    done(storage, dataclasses.replace(seen, by_page=True))
    done(storage, dataclasses.replace(clicked, by_page=True))
    assert parts(storage, account, SHOWN) == {(0, True): 2}
    assert parts(storage, account, SUCCEEDED) == {(0, True): 1}
    done(storage, seen)
    assert parts(storage, account, SHOWN) == {(0, False): 2}
    assert parts(storage, account, SUCCEEDED) == {(0, True): 1}
    done(storage, clicked)

    assert parts(storage, account, SUCCEEDED) == parts(storage, account, 1) == {(0, False): 1}
    assert counted(storage, account) == {SHOWN: 2, LISTS: 1, 1: 1, SUCCEEDED: 1}


def test_a_person_s_part_is_erased_with_the_person_and_with_time(
    opening: Opening, storage: Storage, account: int
) -> None:
    done(storage, seeing(account, identity(storage, account), "a"))
    done(storage, seeing(account, identity(storage, account, "lee", days_ago=29), "a"))

    done(storage, erasing(account, "kim"))
    assert count_rows(opening)["placement_people"] == 1
    purge_all(storage, NOW_MS + 2 * DAY_MS, chunk=1)

    assert "placement_people" not in count_rows(opening)
