"""How many people a second and core get their lists, one by one and together? Prints figures (``pytest -s``).

Of movielens-small in ``PENCHANT_DATASETS``, as it is and with 16 times as many people: copies of everybody, in which a
quarter of the interactions is with other pieces, each as likely as it is met by anybody. Nothing is too old.
"""

import asyncio
import os
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant.live.views import View
from penchant.model import SourceSettings
from penchant.settings import NodeSettings
from penchant.storage import SourceHead
from penchant.wire.answers import RecommendedPiece
from penchant_batch.inputs import BulkContext, BulkInputs
from penchant_batch.lists import lines_of
from penchant_batch.placement_facts import PlacementFacts
from penchant_engine.compiling import load_kernels
from penchant_engine.index import IntArray, Snapshot, Strings
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import LISTS, SERVED
from penchant_engine.index.people.table import PeopleEvents, PeopleTable, people_table
from penchant_engine.lists.plain_lists import PlainLists
from penchant_engine.model import DAY_MS, MAX_TAKE
from penchant_lab.commands.histories import HistoryOrigin
from penchant_lab.histories import TYPES, Knowledge, SourceHistory
from penchant_lab.served import audience_of, snapshot_of

pytestmark = pytest.mark.slow

HEAD = SourceHead(0, 0, "s", 0, 0, 0, 0, 0, 0, 0)
ROUNDS, PEOPLE = 5, 2_000
OTHER = 0.25


class _OneByOne(PlainLists[RecommendedPiece]):
    """Leaves every list to be made alone."""

    def contents(self, people: IntArray, *_: object) -> list[None]:  # type: ignore[override]
        return [None] * len(people)


@pytest.fixture(scope="module")
def history() -> SourceHistory:
    datasets = os.environ.get("PENCHANT_DATASETS")
    if datasets is None:
        pytest.skip("PENCHANT_DATASETS does not say where the data sets are")
    engine.use({kind: load_kernels(KERNELS, kind) for kind in (*SERVED, *LISTS)})
    pieces, interactions = (
        Path(datasets) / "movielens-small" / f"{name}.ndjson.gz" for name in ("pieces", "interactions")
    )
    return HistoryOrigin(settings=NodeSettings(), account="", pieces=pieces, interactions=interactions).read()


def grown(history: SourceHistory, times: int) -> SourceHistory:
    """Return a history with so many times as many people."""
    events, random, count = history.events, np.random.default_rng(times), history.person_count
    others = [random.permutation(events.pieces) for _ in range(times)]
    pieces = [
        np.where(random.random(len(events)) < (OTHER if copy else 0), other, events.pieces)
        for copy, other in enumerate(others)
    ]
    copied = events.take(np.tile(np.arange(len(events)), times))
    people = copied.people + np.repeat(np.arange(times), len(events)) * count
    names = [f"{name}-{copy}" for copy in range(times) for name in history.people]
    return replace(history, events=replace(copied, people=people, pieces=np.concatenate(pieces)), people=names)


def table_of(history: SourceHistory, snapshot: Snapshot, today: int) -> PeopleTable:
    events, segment = history.events, snapshot.parts[0].segment
    columns = PeopleEvents(
        people=events.people,
        rows=segment.ids.find_all(Strings.of(history.ids))[events.pieces],
        codes=np.asarray([kind.code for kind in TYPES])[events.types],
        moments=events.times,
        versions=np.arange(len(events)),
    )
    return people_table(Strings.of(map(str, history.people)), columns, segment, history.settings, today)


def inputs_of(history: SourceHistory) -> BulkInputs:
    knowledge = Knowledge.of(history, np.ones(len(history.events), dtype=np.bool_), SourceSettings())
    snapshot = Snapshot.of_segment(snapshot_of(knowledge).merged())
    view, audience = View(head=HEAD, snapshot=snapshot, settings=SourceSettings()), audience_of(knowledge, snapshot)
    context = BulkContext(
        head=view.head,
        now=knowledge.moment,
        take=MAX_TAKE,
        settings=msgspec.Raw(b"{}"),
        whitelist=(),
        blacklist=(),
        kernels="",
    )
    return BulkInputs(
        context=context,
        view=view,
        weights=audience.weights,
        audience=audience,
        people=table_of(history, snapshot, knowledge.moment // DAY_MS),
        said={},
        facts=PlacementFacts.none(),
    )


@pytest.mark.timeout(1_800)
@pytest.mark.parametrize("times", (1, 16))
def test_lists_of_everybody(history: SourceHistory, times: int) -> None:
    inputs = inputs_of(grown(history, times))
    table, count = inputs.people, min(PEOPLE, len(inputs.people))

    def maker(kind: type[PlainLists[RecommendedPiece]]) -> Callable[[], list[bytes]]:
        plain = kind(inputs.view, table, inputs.audience, inputs.context.now, RecommendedPiece)
        return lambda: asyncio.run(lines_of(inputs, plain, 0, count))

    makers = {"one by one": maker(_OneByOne), "together": maker(PlainLists)}
    rates: dict[str, list[float]] = {name: [] for name in makers}
    lines = {name: make() for name, make in makers.items()}
    for _ in range(ROUNDS):
        for name, make in makers.items():
            used = time.process_time()
            make()
            rates[name].append(count / (time.process_time() - used))

    assert lines["one by one"] == lines["together"]
    figures = ", ".join(
        f"{name} {statistics.median(each):,.0f} ({min(each):,.0f} to {max(each):,.0f})" for name, each in rates.items()
    )
    print(f"\n{len(table):,} people, {len(table.rows):,} pairs, people a second and core: {figures}")
