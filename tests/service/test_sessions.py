"""What the token of a session is, and is not."""

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from penchant.cli.keys import make_key
from penchant.errors import Unauthenticated
from penchant.live.database import AsyncStorage
from penchant.service.access import AccessControl
from penchant.service.rates import NodeCounts
from penchant.service.sessions import IDLE_S, RENEWED_AFTER_S, SESSION_S, Session, Sessions
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import Storage, open_storage
from penchant.telemetry import Metrics


class Clock:
    """A clock that stands where it is set."""

    now = 1_000_000.5

    def __call__(self) -> float:
        return self.now


@contextmanager
def sessions(storage: Storage, folder: Path, clock: Clock) -> Iterator[Sessions]:
    with closing(AsyncStorage(storage, Metrics())) as database, closing(NodeCounts.open(folder)) as rates:
        yield Sessions(AccessControl(database, CurrentSettings(NodeSettings()), rates), clock=clock)


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    with closing(open_storage(folder=tmp_path)) as opened:
        yield opened


def begun(storage: Storage, folder: Path, key: str, clock: Clock) -> Session:
    with sessions(storage, folder, clock) as made:
        return asyncio.run(made.begin(key))


def test_a_token_is_understood_by_every_process(storage: Storage, tmp_path: Path) -> None:
    record, key = make_key(storage, account="a", plan="full", admin=False)
    clock = Clock()
    session = begun(storage, tmp_path, key, clock)

    with sessions(storage, tmp_path, clock) as another:
        read = asyncio.run(another.read(session.token))

    assert read == session
    assert read.access.key_id == record.key_id


def test_two_sessions_of_a_key_have_nothing_in_common(storage: Storage, tmp_path: Path) -> None:
    _, key = make_key(storage, account="a", plan="full", admin=False)

    one, other = (begun(storage, tmp_path, key, Clock()) for _ in range(2))

    assert one.proof != other.proof
    assert one.token.split(".")[4] != other.token.split(".")[4]


def test_a_session_is_over_after_a_working_day_however_busy(storage: Storage, tmp_path: Path) -> None:
    _, key = make_key(storage, account="a", plan="full", admin=False)
    clock = Clock()
    token = begun(storage, tmp_path, key, clock).token

    async def scene() -> None:
        nonlocal token
        with sessions(storage, tmp_path, clock) as made:
            for _ in range(SESSION_S // IDLE_S * 2 - 1):
                clock.now += IDLE_S / 2
                token = (await made.read(token)).renewed or token
            clock.now += IDLE_S / 2
            with pytest.raises(Unauthenticated, match="over"):
                await made.read(token)

    asyncio.run(scene())


def test_a_session_is_over_after_an_idle_hour(storage: Storage, tmp_path: Path) -> None:
    _, key = make_key(storage, account="a", plan="full", admin=False)
    clock = Clock()
    session = begun(storage, tmp_path, key, clock)

    with sessions(storage, tmp_path, clock) as made:
        clock.now += IDLE_S - 1
        assert asyncio.run(made.read(session.token)).access == session.access
        clock.now += 1
        with pytest.raises(Unauthenticated, match="over"):
            asyncio.run(made.read(session.token))


def test_a_renewed_token_keeps_forms_good_and_ends_with_its_session(storage: Storage, tmp_path: Path) -> None:
    _, key = make_key(storage, account="a", plan="full", admin=False)
    clock = Clock()
    first = begun(storage, tmp_path, key, clock)
    clock.now += RENEWED_AFTER_S

    with sessions(storage, tmp_path, clock) as made:
        renewed = asyncio.run(made.read(first.token)).renewed
        assert renewed is not None
        second = asyncio.run(made.read(renewed))
        assert (second.proof, second.renewed) == (first.proof, None)
        asyncio.run(made.end(second))

    for token in (first.token, second.token):
        with sessions(storage, tmp_path, clock) as another, pytest.raises(Unauthenticated, match="ended"):
            asyncio.run(another.read(token))


def test_who_reads_the_database_can_make_no_token(storage: Storage, tmp_path: Path) -> None:
    record, key = make_key(storage, account="a", plan="full", admin=False)
    clock = Clock()
    salt, until, seen = begun(storage, tmp_path, key, clock).token.split(".")[1:4]

    with sessions(storage, tmp_path, clock) as made:
        for hidden in (record.secret_hash.hex(), bytes(32).hex()):
            with pytest.raises(Unauthenticated):
                asyncio.run(made.read(f"{record.key_id}.{salt}.{until}.{seen}.{hidden}"))
