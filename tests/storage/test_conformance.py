"""What every database must do, the same on SQLite and on PostgreSQL."""

import itertools
import re
import threading
import traceback
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from penchant.errors import (
    PenchantError,
    StorageUnavailable,
    TooManyEntries,
    TooManyPieces,
    TooManySources,
    UnknownSource,
)
from penchant.model import MAX_LIST_LENGTH, ListKind, NewInteraction
from penchant.storage import (
    ClearPieces,
    Command,
    DeletePieces,
    DeleteSource,
    Erasure,
    FeedCursor,
    InteractionChange,
    InteractionQuery,
    RecordInteractions,
    ReplaceList,
    ReplaceSettings,
    SourceHead,
    Storage,
)
from penchant.storage.hashing import user_key
from penchant_engine.model import InteractionType
from storage.commands import changes, cursor, done, editing, erasing, head, listed, of_user, submitting, watching
from storage.conftest import Opening
from strategies import examples


def test_a_source_begins_with_its_first_submission(storage: Storage, account: int) -> None:
    assert storage.sources.read_head(account, "s") is None

    outcome = done(storage, submitting(account, "b", "a"))

    assert (outcome.created, outcome.replaced, outcome.version) == (2, 0, 2)
    assert (head(storage, account).piece_count, head(storage, account).version) == (2, 2)
    assert storage.sources.read_head(storage.accounts.ensure("two"), "s") is None
    assert [source.name for source in storage.sources.list_of(account)] == ["s"]


def test_accounts_with_a_source_of_a_name_are_found(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, submitting(other := storage.accounts.ensure("zoe"), "a"))
    done(storage, DeleteSource(account_id=other, source="s", actor="test"))

    assert len(storage.sources.accounts_with("s")) == 1
    assert storage.sources.accounts_with("t") == []


def test_a_database_tells_its_version_and_a_server_its_size(storage: Storage) -> None:
    version, size = storage.upkeep.describe()

    assert re.fullmatch(r"(sqlite|postgresql) \d+(\.\d+)+", version)
    assert (size is None) == version.startswith("sqlite")


def test_replacing_keeps_the_first_submission_and_deleting_forgets_it(storage: Storage, account: int) -> None:
    def first_submission() -> int:
        with storage.sources.follow_content(account, "s", None) as feed:
            return next(row.first_submitted_at for batch in feed.batches for row in batch)

    done(storage, submitting(account, "a"))
    first = first_submission()
    assert done(storage, submitting(account, "a", body=b"[]")).replaced == 1
    assert first_submission() == first
    done(storage, DeletePieces(account_id=account, source="s", ids=["a", "no"]))
    assert done(storage, submitting(account, "a")).created == 1
    assert first_submission() >= first


def test_the_feed_after_a_cursor_has_the_changes_since(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a", "b"))
    before = head(storage, account)
    done(storage, submitting(account, "b", "c"))
    done(storage, DeletePieces(account_id=account, source="s", ids=["a"]))

    assert changes(storage, account, cursor(before)) == (False, {"a": True, "b": False, "c": False})
    assert changes(storage, account, None) == (True, {"b": False, "c": False})
    assert changes(storage, account, cursor(head(storage, account))) == (False, {})


def test_a_cursor_past_what_the_database_holds_makes_followers_rebuild(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a", "b"))
    done(storage, watching(account, "u"))
    now = head(storage, account)

    assert changes(storage, account, cursor(now, now.version + 1)) == (True, {"a": False, "b": False})
    with storage.sources.follow_interactions(account, "s", cursor(now, now.interactions_version + 1)) as feed:
        assert feed.complete
        assert sum(len(batch) for batch in feed.batches) == 1


@pytest.mark.parametrize("command", (ClearPieces, DeleteSource))
def test_clearing_is_right_at_once_and_makes_cursors_rebuild(
    storage: Storage, account: int, command: type[ClearPieces] | type[DeleteSource]
) -> None:
    done(storage, submitting(account, "a", "b"))
    before = head(storage, account)
    done(storage, command(account_id=account, source="s"))
    assert done(storage, submitting(account, "b")).created == 1

    now = head(storage, account)
    assert now.version > before.version
    assert (now.incarnation > before.incarnation) == (command is DeleteSource)
    assert listed(storage, account) == ["b"]
    assert storage.pieces.read(account, "s", "a")[1] is None
    assert changes(storage, account, cursor(before)) == (True, {"b": False})
    storage.upkeep.purge(lambda _: 396)
    assert storage.upkeep.check() == []
    assert changes(storage, account, None) == (True, {"b": False})


def test_a_deleted_source_is_unknown_and_comes_back_empty(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, ReplaceList(account_id=account, source="s", kind=ListKind.WHITELIST, ids=["a"]))
    done(storage, ReplaceSettings(account_id=account, source="s", settings=b"{}"))
    done(storage, watching(account, "u", event="e"))
    done(storage, DeleteSource(account_id=account, source="s"))

    commands: list[Command[Any]] = [
        DeletePieces(account_id=account, source="s", ids=[]),
        ReplaceList(account_id=account, source="s", kind=ListKind.BLACKLIST, ids=[]),
        watching(account, "u"),
        erasing(account, "u"),
    ]
    for command in commands:
        with pytest.raises(UnknownSource):
            done(storage, command)
    done(storage, submitting(account))
    _, curation = storage.sources.read_curation(account, "s")
    assert (curation.whitelist, curation.settings) == ((), b"")
    assert of_user(storage, account, "u") == []
    assert done(storage, watching(account, "u", event="e")).duplicates == 0


def test_a_list_is_edited_by_one_piece_whatever_else_is_on_it(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    done(storage, ReplaceList(account_id=account, source="s", kind=ListKind.BLACKLIST, ids=["x", "y"]))

    added = done(storage, editing(account, "a", is_listed=True))
    again = done(storage, editing(account, "a", is_listed=True))
    done(storage, editing(account, "x", is_listed=False))

    assert storage.sources.read_curation(account, "s")[1].blacklist == ("y", "a")
    assert again.version == added.version


def test_a_list_is_edited_up_to_its_longest(storage: Storage, account: int) -> None:
    ids = [str(number) for number in range(MAX_LIST_LENGTH)]
    done(storage, submitting(account, "a"))
    done(storage, ReplaceList(account_id=account, source="s", kind=ListKind.BLACKLIST, ids=ids))

    with pytest.raises(TooManyEntries):
        done(storage, editing(account, "a", is_listed=True))
    done(storage, editing(account, "7", is_listed=False))
    done(storage, editing(account, "a", is_listed=True))

    assert storage.sources.read_curation(account, "s")[1].blacklist[-1] == "a"


def test_every_change_raises_the_version(storage: Storage, account: int) -> None:
    commands: list[Command[Any]] = [
        submitting(account),
        submitting(account, "a", "b"),
        DeletePieces(account_id=account, source="s", ids=["no"]),
        ReplaceList(account_id=account, source="s", kind=ListKind.WHITELIST, ids=[]),
        ReplaceSettings(account_id=account, source="s", settings=b"{}"),
        ClearPieces(account_id=account, source="s"),
        DeleteSource(account_id=account, source="s"),
        submitting(account),
    ]

    versions = [done(storage, command).version for command in commands]

    assert versions == [1, 3, 4, 5, 6, 7, 8, 9]


def test_interactions_do_not_raise_the_content_s_version(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    before = head(storage, account)

    done(storage, watching(account, "u", "v"))

    assert head(storage, account).version == before.version
    assert head(storage, account).interactions_version == before.interactions_version + 2


def test_limits_are_decided_inside_the_transaction(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a", "b", max_pieces=2, max_sources=1))

    with pytest.raises(TooManyPieces):
        done(storage, submitting(account, "a", "c", max_pieces=2))
    with pytest.raises(TooManySources):
        done(storage, submitting(account, "a", source="t", max_sources=1))
    assert done(storage, submitting(account, "a", "b", max_pieces=1)).replaced == 2
    assert storage.sources.read_head(account, "t") is None


def test_a_refused_first_submission_makes_no_source(storage: Storage, account: int) -> None:
    with pytest.raises(TooManyPieces):
        done(storage, submitting(account, "a", "b", max_pieces=1))

    assert storage.sources.read_head(account, "s") is None
    assert done(storage, submitting(account, "a", max_pieces=1, max_sources=1)).created == 1


@pytest.mark.slow
def test_a_failing_command_does_not_fail_its_group(storage: Storage, account: int) -> None:
    futures = [storage.submit(submitting(account, str(number), source=f"s{number % 7}")) for number in range(60)]
    bad = [storage.submit(DeletePieces(account_id=account, source="no", ids=["x"])) for _ in range(10)]
    futures += [storage.submit(submitting(account, str(number), source="s")) for number in range(60)]

    assert all(future.result(timeout=120).created == 1 for future in futures)
    assert all(isinstance(future.exception(timeout=120), UnknownSource) for future in bad)


@pytest.mark.slow
def test_commands_of_a_source_keep_their_order(storage: Storage, account: int) -> None:
    futures = [storage.submit(submitting(account, "a", body=str(number).encode())) for number in range(80)]

    assert [future.result(timeout=120).version for future in futures] == list(range(1, 81))
    assert storage.pieces.read(account, "s", "a")[1] == b"79"


def test_interactions_are_stored_however_many_come_at_once(storage: Storage, account: int) -> None:
    done(storage, submitting(account, "a"))
    new = [
        NewInteraction(f"u{number % 3}", InteractionType.WATCH, f"p{number}", number, event_id, None, number % 101)
        for number in range(2_300)
        for event_id in [f"e{number}" if number % 2 else None]
    ]

    receipt = done(storage, RecordInteractions(account_id=account, source="s", interactions=new))

    queries = [InteractionQuery(user_id=f"u{number}", since=0, limit=None) for number in range(3)]
    read = [storage.people.list_interactions(head(storage, account).source_id, query) for query in queries]
    stored = sorted(itertools.chain(*read), key=lambda each: each.version)
    assert tuple(stored) == receipt.interactions
    assert [(each.event_id, each.portion) for each in stored] == [(each.event_id, each.portion) for each in new]


def test_a_person_s_interactions_are_read_newest_first(storage: Storage, account: int) -> None:
    done(storage, submitting(account))
    for piece, at in (("a", 3), ("b", 1), ("c", 3), ("d", 2)):
        done(storage, watching(account, "u", piece=piece, at=at))

    assert of_user(storage, account, "u") == ["c", "a", "d", "b"]
    assert of_user(storage, account, "u", until=2) == ["d", "b"]
    assert of_user(storage, account, "u", skip=1, limit=2) == ["a", "d"]
    assert of_user(storage, account, "u", piece_id="d") == ["d"]
    assert of_user(storage, account, "u", type=InteractionType.CLICK) == []


def test_an_erasure_is_a_record_of_the_feed_without_an_id(storage: Storage, account: int) -> None:
    done(storage, submitting(account))
    done(storage, watching(account, "u", "v", event=None))
    done(storage, watching(account, "u", event="e"))
    done(storage, erasing(account, "u"))

    with storage.sources.follow_interactions(account, "s", None) as feed:
        rows = [row for batch in feed.batches for row in batch]
    others, erasure = rows
    assert isinstance(others, InteractionChange)
    assert (others.type, others.piece_id) == (InteractionType.WATCH, "a")
    assert erasure == Erasure(version=4, user_key=user_key(head(storage, account).source_id, "u"))
    assert of_user(storage, account, "u") == []
    assert done(storage, watching(account, "u", event="e")).duplicates == 0


def test_sources_are_busy_by_what_was_recorded_whatever_became_of_it(storage: Storage, account: int) -> None:
    def busy(minimum: int) -> list[SourceHead]:
        return [found for found in storage.sources.list_busy(minimum) if found.account_id == account]

    done(storage, submitting(account))
    assert busy(1) == []
    done(storage, watching(account, "u", "v"))
    done(storage, erasing(account, "u"))
    assert busy(3) == [head(storage, account)]
    assert busy(4) == []

    done(storage, DeleteSource(account_id=account, source="s"))
    assert busy(0) == []
    done(storage, submitting(account))
    assert busy(1) == []


def test_lists_page_by_code_point(storage: Storage, account: int) -> None:
    ids = ["b", "B", "a", "é", "😀", "\uffee", "10", "9"]
    done(storage, submitting(account, *ids))

    assert listed(storage, account) == sorted(ids)
    assert listed(storage, account, skip=2, limit=3) == sorted(ids)[2:5]


def test_long_and_strange_ids_are_kept(storage: Storage, account: int) -> None:
    ids = ["😀" * 500, "a/b%", "'; DROP TABLE pieces; --"]
    done(storage, submitting(account, *ids))
    done(storage, watching(account, *ids, piece=ids[0]))

    assert sorted(listed(storage, account)) == sorted(ids)
    assert all(of_user(storage, account, user) == [ids[0]] for user in ids)


@pytest.mark.slow
def test_a_reader_never_sees_half_a_submission(storage: Storage, account: int) -> None:
    names = [str(number) for number in range(50)]
    done(storage, submitting(account, *names, body=b"0"))
    ended = threading.Event()

    def write() -> None:
        for number in range(1, 40):
            done(storage, submitting(account, *names, body=str(number).encode()))
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    while not ended.is_set():
        with storage.sources.follow_content(account, "s", None) as feed:
            bodies = {row.body for batch in feed.batches for row in batch}
        assert len(bodies) == 1
        assert feed.head.version % 50 == 0
    writer.join()


def test_an_error_of_the_driver_holds_nothing_of_what_was_bound(
    opening: Opening, storage: Storage, account: int
) -> None:
    person, event = "very-secret-person", "very-secret-event"
    done(storage, submitting(account, "a"))
    with opening.beside() as connection:
        connection.execute(text("ALTER TABLE interactions RENAME TO taken_away"))

    with pytest.raises(StorageUnavailable) as caught:
        done(storage, watching(account, person, event=event))

    told = "".join(traceback.format_exception(caught.value))
    assert "interactions" in told
    assert "secret" not in told


COMMANDS = st.lists(
    st.one_of(
        st.tuples(st.just("submit"), st.sets(st.sampled_from("abcde"), max_size=4)),
        st.tuples(st.just("delete"), st.sets(st.sampled_from("abcdez"), max_size=3)),
        st.tuples(st.just("clear"), st.just(set())),
        st.tuples(st.just("drop"), st.just(set())),
    ),
    max_size=10,
)


@given(COMMANDS)
@settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_sequence_of_commands_is_a_dictionary(storage: Storage, commands: list[tuple[str, set[str]]]) -> None:
    account = storage.accounts.ensure("one")
    done(storage, submitting(account))
    done(storage, ClearPieces(account_id=account, source="s"))
    held: dict[str, bytes] = {}
    followed: dict[str, bytes] = {}
    at: FeedCursor | None = None
    for number, (kind, ids) in enumerate(commands):
        body = str(number).encode()
        before = storage.sources.read_head(account, "s")
        try:
            if kind == "submit":
                outcome = done(storage, submitting(account, *sorted(ids), body=body))
                assert outcome.created == len(ids - held.keys())
                held |= dict.fromkeys(ids, body)
            elif kind == "delete":
                done(storage, DeletePieces(account_id=account, source="s", ids=sorted(ids)))
                held = {key: value for key, value in held.items() if key not in ids}
            else:
                command = ClearPieces if kind == "clear" else DeleteSource
                done(storage, command(account_id=account, source="s"))
                held = {}
        except PenchantError:
            assert before is None
        if storage.sources.read_head(account, "s") is None:
            continue
        with storage.sources.follow_content(account, "s", at) as feed:
            followed = {} if feed.complete else followed
            for row in (row for batch in feed.batches for row in batch):
                followed.pop(row.id, None)
                if not row.deleted:
                    followed[row.id] = row.body
        at = cursor(feed.head)
        assert followed == held
        assert feed.head.piece_count == len(held)
    assert storage.upkeep.check() == []
