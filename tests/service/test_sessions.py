"""Sessions at the dashboard: who has one, and until when."""

import hashlib
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from clocks import SetClock
from databases import opened_file
from penchant.cli.keys import make_key
from penchant.clock import Clock
from penchant.errors import Unauthenticated
from penchant.live.database import AsyncStorage
from penchant.service.access import IDLE_S, SEEN_AFTER_S, SESSION_S, AccessControl, Sessions
from penchant.service.rates import NodeCounts
from penchant.settings import CurrentSettings, NodeSettings
from penchant.storage import Storage
from penchant.storage.accounts import MOST_OF_KEY
from penchant.telemetry import Metrics


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    with closing(opened_file(tmp_path)) as opened:
        yield opened


@pytest.fixture
def key(storage: Storage) -> str:
    return make_key(storage, account="a", plan="full", admin=False)[1]


def hash_of(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


def contents(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


@pytest.fixture
def clock() -> SetClock:
    return SetClock(1_000_000.5)


@pytest.fixture
def sessions(storage: Storage, tmp_path: Path, clock: SetClock) -> Iterator[Sessions]:
    with closing(AsyncStorage(storage, Metrics())) as database, closing(NodeCounts.open(tmp_path)) as rates:
        access = AccessControl(database, CurrentSettings(NodeSettings()), rates, clock=Clock(seconds=clock))
        yield Sessions(database, access, clock=Clock(seconds=clock))


async def test_a_session_is_found_by_its_id_alone(sessions: Sessions, key: str) -> None:
    one, other = [await sessions.begin(key) for _ in range(2)]

    assert await sessions.read(one.token) == one
    assert one.access.key_id == key.split("_")[1]
    assert (one.token, one.proof) != (other.token, other.proof)
    assert one.token not in one.proof
    for token in ("", "x", one.proof, one.token[:-1], one.token.upper(), "\N{LATIN SMALL LETTER E WITH ACUTE}"):
        with pytest.raises(Unauthenticated):
            await sessions.read(token)


async def test_who_reads_the_database_has_no_session(sessions: Sessions, tmp_path: Path, key: str) -> None:
    token = (await sessions.begin(key)).token
    stored = contents(tmp_path)

    assert hash_of(token) in stored
    assert token.encode() not in stored
    assert bytes.fromhex(token) not in stored
    with pytest.raises(Unauthenticated):
        await sessions.read(hash_of(token).hex())


async def test_a_session_is_over_after_a_working_day_however_busy(
    sessions: Sessions, clock: SetClock, key: str
) -> None:
    token = (await sessions.begin(key)).token
    for _ in range(SESSION_S // IDLE_S * 2 - 1):
        clock.now += IDLE_S / 2
        await sessions.read(token)
    clock.now += IDLE_S / 2
    with pytest.raises(Unauthenticated, match="over"):
        await sessions.read(token)


@pytest.mark.parametrize(("seen_s", "lasts_s"), ((SEEN_AFTER_S - 1, IDLE_S), (SEEN_AFTER_S, SEEN_AFTER_S + IDLE_S)))
async def test_a_session_is_over_after_an_idle_hour(
    *, storage: Storage, sessions: Sessions, clock: SetClock, key: str, seen_s: int, lasts_s: int
) -> None:
    """A request soon after the last one that was noted is not noted itself."""
    token, begun_at = (await sessions.begin(key)).token, clock.now
    clock.now = begun_at + seen_s
    await sessions.read(token)
    record = storage.sessions.find(hash_of(token))

    assert record is not None
    assert record.seen_at + IDLE_S * 1000 == int((begun_at + lasts_s) * 1000)
    clock.now = begun_at + lasts_s
    with pytest.raises(Unauthenticated, match="over"):
        await sessions.read(token)


async def test_a_session_that_was_ended_is_over_and_its_forms_are_its_own(
    sessions: Sessions, clock: SetClock, key: str
) -> None:
    one, other = [await sessions.begin(key) for _ in range(2)]
    clock.now += SEEN_AFTER_S
    assert (await sessions.read(one.token)).proof == one.proof
    await sessions.end(one.token)
    await sessions.end(one.token)

    with pytest.raises(Unauthenticated, match="over"):
        await sessions.read(one.token)
    assert await sessions.read(other.token) == other


async def test_of_too_many_sessions_of_a_key_the_oldest_end(
    storage: Storage, sessions: Sessions, clock: SetClock, key: str
) -> None:
    begun = []
    for _ in range(MOST_OF_KEY + 2):
        clock.now += 1
        begun.append(await sessions.begin(key))

    assert [storage.sessions.find(hash_of(each.token)) is None for each in begun[:4]] == [True, True, False, False]
