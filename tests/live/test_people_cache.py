"""Remembered people: whatever happens in between, a list is that of what is stored."""

import asyncio
import gc
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from clocks import DAY_CLOCK, SetClock
from factories import piece
from penchant.bootstrap import open_services
from penchant.live import counting, people_cache, recent_changes
from penchant.live.counting import AudienceRequest, Audiences, StoredLikes
from penchant.live.heads import SourceWatch
from penchant.live.people_cache import PeopleCache
from penchant.live.recent_changes import RecentChanges
from penchant.live.views import View
from penchant.model import FULL_PLAN, ListKind, NewInteraction, SourceSettings
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.curation import Curation
from penchant.service.lists import inputs
from penchant.service.lists.answer_cache import ENTRY_BYTES, AnswerBasis, AnswerCache, holding_time
from penchant.service.lists.answers import content_of
from penchant.service.lists.inputs import LiveInputs
from penchant.settings import CurrentSettings, NodeSettings
from penchant.telemetry import Metrics
from penchant.wire import decode_preferences, decode_submission, encode
from penchant.wire.settings import stored_retention_days
from penchant_engine.index import snapshot
from penchant_engine.index.people import person
from penchant_engine.lists.personal import PersonalRanking
from penchant_engine.lists.requests import ListRequest
from penchant_engine.model import DAY_MS, InteractionType
from strategies import CATEGORY_WEIGHTS, PIECE_IDS, PIECES, SAID, examples

USERS = ("kim", "lee", "é")
MOST = 6
"""Interactions of a person that count, so that a few are too many."""
MOST_KEYWORDS = 8
"""Keywords of pieces that make a taste, as well."""
PORTIONS = {"p3": 0, "p4": 1, "p5": 60, "p6": 100}
"""What part of them is watched of some pieces; of the others it is not told."""
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(USERS), st.sampled_from(list(InteractionType)), PIECE_IDS, st.sampled_from([0, 1, 5, 29, 200])
    ),
    min_size=1,
    max_size=4,
)
SETTINGS = st.builds(
    SourceSettings,
    category_weights=CATEGORY_WEIGHTS,
    interaction_weights=st.sampled_from(
        [
            SourceSettings().interaction_weights,
            {kind: number - 2.25 for number, kind in enumerate(InteractionType)},
        ]
    ),
    half_life_days=st.sampled_from([0, 1, 90]),
    retention_days=st.sampled_from([3, 30, 396]),
    exclude_seen=st.booleans(),
)
STEPS = st.one_of(
    st.tuples(st.just("record"), EVENTS),
    st.tuples(st.just("record"), EVENTS),
    st.tuples(st.just("prefer"), st.tuples(st.sampled_from(USERS), SAID)),
    st.tuples(st.just("erase"), st.sampled_from(USERS)),
    st.tuples(st.just("set"), SETTINGS),
    st.tuples(st.just("submit"), st.lists(PIECES, min_size=1, max_size=3)),
    st.tuples(st.just("delete"), st.lists(PIECE_IDS, min_size=1, max_size=2)),
    st.tuples(st.just("wait"), st.sampled_from([1, 4, 40])),
    st.tuples(st.just("purge"), st.none()),
    st.tuples(st.just("restart"), st.none()),
)
REQUESTS = st.builds(
    ListRequest,
    user_id=st.sampled_from(USERS),
    include_seen=st.sampled_from([None, True]),
    fill=st.booleans(),
    exclude=st.sampled_from([frozenset(), frozenset({"p0"})]),
    take=st.sampled_from([1, 30]),
)
CATALOGUE = [piece("p0", "a", "b"), piece("p1", "a"), piece("p2", "b", "c"), piece("é", "c", "d"), piece("p8", "e")]


class Scene:
    """A service's source, a clock that the test sets, and the people that are remembered of the source."""

    def __init__(self, services: Services, clock: SetClock, limit_bytes: int = 1 << 20) -> None:
        account_id = services.database.storage.accounts.ensure("one")
        self.services, self.clock = services, clock
        self.access = Access(key_id="k", account_id=account_id, plan=FULL_PLAN, admin=False)
        self.remember(limit_bytes)
        self.inputs = LiveInputs(services.database, services.views, people=self.people, clock=clock)

    def remember(self, limit_bytes: int) -> None:
        """Begin anew with caches of people and their lists, which read what the audience is counted from."""
        services = self.services
        recent = services.views.recent_changes
        self.people = PeopleCache(services.database, limit_bytes=limit_bytes, recent_changes=recent)
        self.lists = AnswerCache(limit_bytes=limit_bytes)

    async def step(self, name: str, value: Any) -> None:
        """Carry out a step of the test."""
        services, access, now = self.services, self.access, int(self.clock() * 1000)
        if name == "record":
            events = [
                NewInteraction(user_id=u, type=t, piece_id=p, occurred_at=now - a * DAY_MS, portion=PORTIONS.get(p))
                for u, t, p, a in value
            ]
            await services.people.record(access, "s", events)
        elif name == "prefer":
            user, said = value
            await services.people.replace_preferences(access, "s", user, decode_preferences(msgspec.json.encode(said)))
        elif name == "erase":
            await services.people.erase(access, "s", value)
        elif name == "set":
            await services.of(Curation).replace_settings(access, "s", value)
        elif name == "submit":
            await services.content.submit_pieces(access, "s", decode_submission(msgspec.json.encode(value)))
        elif name == "delete":
            await services.content.delete(access, "s", value)
        elif name == "wait":
            self.clock.now += value * DAY_MS / 1000
        elif name == "purge":
            services.database.storage.upkeep.purge(stored_retention_days, now=now)
        else:
            await services.content.delete_source(access, "s", "s")
            await self.step("submit", CATALOGUE)

    async def view(self) -> View:
        return await self.services.views.view(self.access.account_id, "s")

    async def both(self, request: ListRequest) -> tuple[Any, Any]:
        """Return the entries of a list as they are remembered or follow from that, and from what is stored."""
        view, now = await self.view(), int(self.clock() * 1000)
        # In the order of a request: what was read for the person is counted for all.
        figures = await self.people.figures(view, request.user_id, now // DAY_MS)
        audience = await self.services.views.audience(view, now // DAY_MS)
        history = await self.inputs.history(view, request, now)
        stored = history.figures(view, now // DAY_MS)
        remembered, anew = (PersonalRanking(view, request, now, each, audience) for each in (figures, stored))
        head, basis = view.head, AnswerBasis(*holding_time(view.snapshot, now, by_day=True), figures, audience)
        place = (head.incarnation, request.include_seen, request.fill, request.exclude, request.take)
        found = self.lists.find(place, head.version, now, figures, audience)
        if found is None:
            found = encode(content_of(remembered)), remembered.next_marks
            self.lists.keep(place, head.version, basis, found, len(found[0]))
        return found, (encode(content_of(anew)), anew.next_marks)

    async def counts(self) -> tuple[list[list[float]], list[list[float]]]:
        """Return how many people like each piece as it was counted step by step, and out of all that is stored."""
        view, today = await self.view(), int(self.clock()) // 86_400
        audience = await self.services.views.audience(view, today)
        counted = audience.counts
        alone = Audiences(self.services.database.storage, StoredLikes(Metrics()), lambda: 0.0)
        anew = alone.count(None, AudienceRequest(head=view.head, settings=view.settings, today=today)).counts
        assert counted is not None
        parts = view.snapshot.parts
        now, then = (each.by_part(parts, audience.figures.grades) for each in (counted, anew))
        return [each.tolist() for each in now], [each.tolist() for each in then]


@asynccontextmanager
async def opened(settings: NodeSettings, *, limit_bytes: int = 1 << 20) -> AsyncIterator[Scene]:
    """Open a service with a few pieces, whose clock is ahead of the real one: a source's own never goes back."""
    clock = SetClock(DAY_CLOCK())
    async with open_services(CurrentSettings(settings), clock=clock) as services:
        scene = Scene(services, clock, limit_bytes)
        await scene.step("submit", CATALOGUE)
        yield scene


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """Run all examples of a test in one event loop."""
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def scene(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Scene]:
    """Open one service for all examples, with small segments and few interactions that count."""
    with pytest.MonkeyPatch.context() as patching:
        patching.setattr(snapshot, "SMALL_SEGMENT", 0)
        patching.setattr(snapshot, "MERGE_RATIO", 2)
        patching.setattr(people_cache, "MAX_PROFILE_INTERACTIONS", MOST)
        patching.setattr(inputs, "MAX_PROFILE_INTERACTIONS", MOST)
        patching.setattr(person, "MAX_PROFILE_KEYWORDS", MOST_KEYWORDS)
        # What is counted step by step is compared with all that is stored, and so must not be half a second late.
        patching.setattr(counting, "REST_RATIO", 0)
        opening = opened(NodeSettings(data=str(tmp_path_factory.mktemp("people")), source_creations_per_minute=0))
        yield runner.run(opening.__aenter__())
        runner.run(opening.__aexit__(None, None, None))


@pytest.mark.slow
@budget(deadline=None, max_examples=examples(40))
@given(st.lists(st.tuples(STEPS, st.lists(REQUESTS, max_size=3)), max_size=12), st.sampled_from([0, 9_000, 1 << 20]))
def test_whatever_happens_a_remembered_list_is_that_of_what_is_stored(
    runner: asyncio.Runner,
    scene: Scene,
    steps: list[tuple[tuple[str, Any], list[ListRequest]]],
    limit_bytes: int,
) -> None:
    async def run() -> None:
        scene.remember(limit_bytes)
        await scene.step("restart", None)
        for (name, value), requests in steps:
            await scene.step(name, value)
            for request in requests:
                remembered, stored = await scene.both(request)
                assert remembered == stored
                counted, anew = await scene.counts()
                assert counted == anew
            assert scene.people.nbytes <= limit_bytes

    runner.run(run())


async def test_what_others_do_leaves_a_person_remembered(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        for user in ("kim", "lee", "kim"):
            await scene.step("record", [(user, InteractionType.WATCH, "p1", 0)])
            await scene.both(ListRequest(user_id="kim"))

        assert (scene.people.hits, scene.people.misses) == (2, 1)


async def test_strangers_share_what_lists_take_of_them_as_long_as_a_snapshot_lasts(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        view, today = await scene.view(), int(scene.clock()) // 86_400
        kim, lee = [await scene.people.figures(view, user, today) for user in USERS[:2]]
        await scene.step("submit", [piece("p9", "a")])
        later = await scene.people.figures(await scene.view(), "kim", today)

        assert kim is lee is not later


async def test_an_interaction_through_another_process_is_in_the_next_list(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        request = ListRequest(user_id="kim")
        async with open_services(CurrentSettings(settings), clock=scene.clock) as services:
            other = Scene(services, scene.clock)
            for name, value in (
                ("record", [("kim", InteractionType.WATCH, "p1", 0)]),
                ("record", [("kim", InteractionType.WATCH, "p8", 3)]),
                ("prefer", ("kim", {"hidden": ["p0"]})),
                ("prefer", ("kim", {})),
                ("erase", "kim"),
                ("record", [("kim", InteractionType.WATCH, "p2", 0)]),
            ):
                before = await scene.both(request)
                await other.step(name, value)
                after = await scene.both(request)

                assert after[0] == after[1] != before[0]
        assert scene.people.hits > 0


async def test_what_housekeeping_removed_does_not_come_back_with_the_old_settings(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        request = ListRequest(user_id="kim")
        await scene.step("record", [("kim", InteractionType.WATCH, "p1", 100)])
        before = await scene.both(request)
        for name, value in (
            ("set", SourceSettings(retention_days=30)),
            ("purge", None),
            ("set", SourceSettings()),
        ):
            await scene.step(name, value)
        after = await scene.both(request)

        assert after[0] == after[1] != before[0]


@pytest.mark.slow
@pytest.mark.parametrize("quick", (0, people_cache.QUICK_READ))
async def test_an_interaction_while_a_person_is_read_is_in_the_next_list(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch, quick: int
) -> None:
    # Those who did no more are read within the event loop, where nothing happens meanwhile.
    monkeypatch.setattr(people_cache, "QUICK_READ", quick)

    async with opened(settings) as scene:
        request = ListRequest(user_id="kim")
        events = [[("kim", InteractionType.WATCH, f"p{number}", number)] for number in (1, 2, 8)]

        async def record() -> None:
            for each in events:
                await scene.step("record", each)
                await scene.both(ListRequest(user_id="lee"))

        for _ in range(3):
            await asyncio.gather(record(), *(scene.both(request) for _ in range(5)))
            remembered, stored = await scene.both(request)
            assert remembered == stored
            await scene.step("restart", None)


@pytest.mark.parametrize("most", (0, 1))
async def test_after_more_than_is_followed_people_are_read_again(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(people_cache, "MAX_FOLLOWED", most)

    async with opened(settings) as scene:
        request = ListRequest(user_id="kim")
        for number in (1, 2, 8):
            await scene.both(request)
            await scene.step("record", [("kim", InteractionType.WATCH, f"p{number}", 0)])
        remembered, stored = await scene.both(request)

        assert remembered == stored
        assert scene.people.misses == (1 if most else 4)


@pytest.mark.parametrize(("most", "after", "pieces"), ((9, 0, ["p0", "p1"]), (1, 0, None), (1, 1, ["p1"])))
async def test_what_several_people_did_is_remembered_for_a_later_count(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch, most: int, after: int, pieces: list[str] | None
) -> None:
    monkeypatch.setattr(recent_changes, "MAX_REMEMBERED", most)

    async with opened(settings) as scene:
        recent = RecentChanges(scene.services.database)
        for number, user in enumerate(USERS[:2]):
            await scene.step("record", [(user, InteractionType.WATCH, f"p{number}", 0)])
            head = (await scene.view()).head
            await recent.read(head, number)
        found = recent.remembered(head, after)

        assert pieces == (None if found is None else [each.piece_id for each in found])


async def test_who_is_erased_through_another_process_is_forgotten_without_a_request(settings: NodeSettings) -> None:
    async with opened(settings) as scene, open_services(CurrentSettings(settings), clock=scene.clock) as services:
        other, watch = Scene(services, scene.clock), SourceWatch(scene.services.database, [scene.people])
        for name, value in (("erase", "kim"), ("restart", None)):
            await scene.step("record", [("kim", InteractionType.WATCH, "p1", 0)])
            await scene.people.figures(await scene.view(), "kim", int(scene.clock()) // 86_400)
            await watch.look()
            assert scene.people.nbytes
            await other.step(name, value)
            await watch.look()
            assert not scene.people.nbytes


async def test_an_erased_person_is_forgotten_at_once(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        cache = PeopleCache(scene.services.database, limit_bytes=1 << 20)
        view = await scene.view()
        await cache.figures(view, "kim", int(scene.clock()) // 86_400)
        assert cache.nbytes
        cache.forget_person(scene.access.account_id, "s", "kim")

        assert not cache.nbytes


@pytest.mark.parametrize(
    ("name", "value"),
    (
        ("record", [("kim", InteractionType.WATCH, "p8", 0)]),
        ("record", [("lee", InteractionType.WATCH, "p8", 0)]),
        ("prefer", ("kim", {"hidden": ["p0"]})),
        ("erase", "kim"),
        ("set", SourceSettings(exclude_seen=False)),
        ("submit", [piece("p9", "a")]),
        ("wait", 1),
    ),
)
async def test_a_list_is_remembered_until_something_changes_that_it_was_made_of(
    settings: NodeSettings, monkeypatch: pytest.MonkeyPatch, name: str, value: Any
) -> None:
    monkeypatch.setattr(counting, "REST_RATIO", 0)

    async with opened(settings) as scene:
        request = ListRequest(user_id="kim")
        await scene.step("record", [("kim", InteractionType.WATCH, "p1", 0)])
        for _ in range(3):
            remembered, stored = await scene.both(request)
            assert remembered == stored
        assert (scene.lists.hits, scene.lists.misses) == (2, 1)
        await scene.step(name, value)
        remembered, stored = await scene.both(request)

        assert remembered == stored
        assert (scene.lists.hits, scene.lists.misses) == (2, 2)


async def test_a_list_ends_with_the_window_of_a_piece(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        opens = scene.clock() + 60
        window = {"availableFrom": datetime.fromtimestamp(opens, UTC).isoformat()}
        await scene.step("submit", [piece("p9", "a", filters=window)])
        lists = []
        for moment in (opens - 30, opens - 1, opens + 1, opens + 2):
            scene.clock.now = moment
            remembered, stored = await scene.both(ListRequest(user_id="kim"))
            assert remembered == stored
            lists.append([each["id"] for each in msgspec.json.decode(remembered[0])])

        assert ["p9" in each for each in lists] == [False, False, True, True]
        assert (scene.lists.hits, scene.lists.misses) == (2, 2)


async def test_people_of_whom_nothing_is_stored_share_their_list(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        kim, lee = [(await scene.both(ListRequest(user_id=user)))[0] for user in USERS[:2]]
        assert kim == lee
        assert (scene.lists.hits, scene.lists.misses) == (1, 1)
        # No new snapshot, and so the same figures.
        await scene.services.of(Curation).replace_list(scene.access, "s", ListKind.BLACKLIST, ["p0"])
        remembered, stored = await scene.both(ListRequest(user_id="kim"))

        assert remembered == stored != kim


async def test_a_source_without_pieces_has_an_empty_list(settings: NodeSettings) -> None:
    async with opened(settings) as scene:
        await scene.step("delete", [each["id"] for each in CATALOGUE])
        for _ in range(2):
            remembered, stored = await scene.both(ListRequest(user_id="kim"))
            assert remembered == stored == (b"[]", None)


async def test_lists_are_bounded_and_go_with_the_person(settings: NodeSettings) -> None:
    limit_bytes = 20 * ENTRY_BYTES
    async with opened(settings, limit_bytes=limit_bytes) as scene:
        await scene.step("record", [("kim", InteractionType.WATCH, "p1", 0)])
        sizes = []
        for take in range(1, 31):
            await scene.both(ListRequest(user_id="kim", take=take))
            sizes.append(scene.lists.nbytes)
        scene.people.forget_person(scene.access.account_id, "s", "kim")
        gc.collect()

        assert sizes[0] < sizes[1] < max(sizes) <= limit_bytes
        # That somebody asked so is no secret.
        assert scene.lists.nbytes % ENTRY_BYTES == 0
