"""What do attributes and filters cost? Prints figures (``pytest -s``), by default of 10,000 pieces in a real database.

``PENCHANT_BENCHMARK_PIECES=100000`` measures so many instead.
"""

import functools
import itertools
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant.live.following import apply_feed
from penchant.model import EncodedPiece, SourceSettings
from penchant.storage import FeedCursor, ReplaceSettings, Storage, SubmitPieces, open_storage
from penchant.wire import encode_settings
from penchant.wire.filters import decode_boosts, decode_filter
from penchant_engine.attributes import Attribute, AttributeFilter, AttributeType, Boost, numbered
from penchant_engine.compiling import load_kernels
from penchant_engine.index import Filter, Snapshot
from penchant_engine.index.boosting import Booster
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import KINDS, WIDE_KINDS
from penchant_engine.index.layout import DISTANCE_SCALE
from penchant_lab.bench import catalogue

pytestmark = pytest.mark.slow

PIECES = int(os.environ.get("PENCHANT_BENCHMARK_PIECES", "10000"))
NAMED = {
    "language": Attribute(AttributeType.KEYWORD, "/language"),
    "tags": Attribute(AttributeType.KEYWORDS, "/tags"),
    "age": Attribute(AttributeType.INTEGER, "/age"),
    "price": Attribute(AttributeType.NUMBER, "/price"),
    "free": Attribute(AttributeType.BOOLEAN, "/free"),
    "added": Attribute(AttributeType.TIME, "/added"),
}
BOOSTS: dict[str, Any] = {
    "one": {"key": "language", "any": ["l0"], "factor": 1.5},
    "four, of which a piece has one": [
        {"key": "language", "any": [f"l{n}"], "factor": (11 + n) / 10} for n in range(4)
    ],
    "four, of which pieces have any": [
        {"key": "language", "any": ["l0"], "factor": 1.5},
        {"key": "age", "lte": 12, "factor": 1.2},
        {"key": "free", "any": [True], "factor": 0.8},
        {"key": "added", "gte": "2015-01-01", "factor": 2},
    ],
}
FILTERS: dict[str, Any] = {
    "a category's keyword (more than a third)": {"category": "genre", "any": ["genre 0"]},
    "a catalog (a tenth)": {"catalogs": ["tenth"]},
    "one keyword (a third)": {"key": "language", "any": ["l0"]},
    "a range of times, all distinct (a half)": {"key": "added", "gte": "2015-01-01"},
    "three conditions in groups": {
        "must": [{"key": "age", "lte": 12}, {"should": [{"key": "free", "any": [True]}, {"key": "price", "lt": 5}]}],
        "mustNot": [{"key": "tags", "any": ["t1", "t2"]}],
    },
    "one piece in a thousand": {"must": [{"key": "price", "lt": 0.1}]},
    "100 conditions": {"should": [{"key": "price", "gte": n, "lt": n + 0.5} for n in range(100)]},
}


def bodies() -> Iterator[list[EncodedPiece]]:
    random = np.random.default_rng(1)
    for batch in catalogue.made(PIECES):
        pieces = []
        for body in batch:
            language = f"l{min(29, int(random.exponential(2.5)))}"
            extras = {
                "language": language,
                "tags": [f"t{n}" for n in np.unique(random.zipf(1.3, 4) % 5_000).tolist()],
                "age": int(random.choice([0, 6, 12, 16, 18])),
                "price": round(float(random.random() * 100), 2),
                "free": bool(random.random() < 0.1),
                "added": f"{random.integers(2005, 2025)}-{random.integers(1, 13):02}-{random.integers(1, 29):02}"
                f"T{random.integers(24):02}:{random.integers(60):02}:{random.integers(60):02}"
                f".{random.integers(1000):03}Z",
                "blurb": "x" * 200,
            }
            whole = msgspec.json.decode(body) | {"extras": extras}
            pieces.append(EncodedPiece(id=whole["id"], body=msgspec.json.encode(whole)))
        yield pieces


@pytest.fixture(scope="module")
def storage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Storage]:
    engine.use({kind: load_kernels(KERNELS, kind) for kind in (*KINDS, *WIDE_KINDS)})
    opened = open_storage(folder=tmp_path_factory.mktemp("filters") / "data", database_url=None)
    account = opened.accounts.ensure("one")
    started = time.perf_counter()
    for pieces in bodies():
        opened.submit(SubmitPieces(account_id=account, source="s", pieces=pieces)).result(timeout=60)
    print(f"\n{PIECES} pieces stored in {time.perf_counter() - started:.1f} s")
    yield opened
    opened.close()
    engine.use({})


def followed(storage: Storage, snapshot: Snapshot | None, version: int) -> tuple[Snapshot, int, float]:
    """Return the snapshot of now, its version, and how long it took to get there."""
    account = storage.accounts.ensure("one")
    head = storage.sources.read_head(account, "s")
    assert head is not None
    cursor = FeedCursor(incarnation=head.incarnation, epoch=head.epoch, version=version) if snapshot else None
    started = time.perf_counter()
    with storage.sources.follow_content(account, "s", cursor) as feed:
        now = apply_feed(snapshot or Snapshot.empty(), feed)
    return now, head.version, time.perf_counter() - started


def configure(storage: Storage, attributes: dict[str, Attribute]) -> None:
    settings = encode_settings(SourceSettings(attributes=attributes))
    account = storage.accounts.ensure("one")
    storage.submit(ReplaceSettings(account_id=account, source="s", settings=settings)).result(timeout=60)


def median_ms(work: Callable[[], object], times: int = 15) -> float:
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        work()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken) * 1000


@pytest.mark.timeout(1800)
def test_what_attributes_and_filters_cost(storage: Storage) -> None:
    plain, version, seconds = followed(storage, None, 0)
    print(f"built without attributes in {seconds:.2f} s, {plain.nbytes / PIECES:.0f} bytes a piece")
    marked = plain
    for count in (1, len(NAMED)):
        configure(storage, dict(list(NAMED.items())[:count]))
        marked, version, seconds = followed(storage, marked, version)
        print(f"marked anew with {count} attributes in {seconds:.2f} s")
    _, _, seconds = followed(storage, None, 0)
    print(f"built with {len(NAMED)} attributes in {seconds:.2f} s")
    print_columns(marked)
    print_filters(plain, marked)
    print_boosts(marked)


def print_columns(snapshot: Snapshot) -> None:
    for number, attribute in enumerate(numbered(NAMED.values())):
        own = size = 0
        for part in snapshot.parts:
            segment = part.segment
            begin, end = (segment.marks.position(chr(ord("0") + number + each)) for each in (0, 1))
            own += end - begin
            text = int(segment.marks.starts[end] - segment.marks.starts[begin])
            size += text + 16 * (end - begin) + 4 * int(segment.mark_starts[end] - segment.mark_starts[begin])
        print(f"  {attribute}: {own} distinct values, {size / PIECES:.1f} bytes a piece")


def mask(snapshot: Snapshot, filters: Iterator[Filter]) -> list[Any]:
    shown = next(filters)
    return [part.allowed(shown) for part in snapshot.parts]


def print_filters(plain: Snapshot, marked: Snapshot) -> None:
    ids = [marked.parts[0].segment.ids[n] for n in range(0, len(marked.parts[0].segment), PIECES // 40)]

    def similar(snapshot: Snapshot, shown: Filter) -> Callable[[], object]:
        asked = iter(ids * 100)
        return lambda: snapshot.nearest(next(asked), shown, algorithm=None, category_weights={}, take=30)

    def shown_by(matching: AttributeFilter | None) -> Filter:
        return Filter(moment=2 * 10**12, matching=matching)

    def cpu_ms(piece_id: str, matching: AttributeFilter | None) -> float:
        started = time.thread_time()
        marked.nearest(piece_id, shown_by(matching), algorithm=None, category_weights={}, take=30)
        return (time.thread_time() - started) * 1000

    print(f"  a list without a filter: {median_ms(similar(plain, shown_by(None)), 200):.3f} ms")
    for name, clause in FILTERS.items():
        text = json.dumps(clause)
        matching = decode_filter(text, SourceSettings(attributes=NAMED))
        matched = sum(int(part.allowed(shown_by(matching)).sum()) for part in marked.parts)
        # Another text each time, so that none is remembered.
        fresh = (shown_by(AttributeFilter(f"{text} {n}", matching.clause)) for n in itertools.count())
        masks = median_ms(functools.partial(mask, marked, fresh))
        again = median_ms(functools.partial(mask, marked, itertools.repeat(shown_by(matching))), 200)
        listed = median_ms(similar(marked, shown_by(matching)), 200)
        read = median_ms(functools.partial(decode_filter, text, SourceSettings(attributes=NAMED)))
        print(
            f"  {name}: {matched} pieces; read {read:.3f} ms, mask made {masks:.3f} ms, remembered {again:.4f} ms, "
            f"list {listed:.3f} ms"
        )
        # In turns, so that what else the machine does falls on both.
        taken = [(cpu_ms(piece_id, None), cpu_ms(piece_id, matching)) for piece_id in ids * 10]
        without, filtered = (statistics.median(each) for each in zip(*taken, strict=True))
        print(f"    CPU {filtered:.3f} ms beside {without:.3f} without, {filtered / without:.2f} times")


def print_boosts(marked: Snapshot) -> None:
    ids = [marked.parts[0].segment.ids[n] for n in range(0, len(marked.parts[0].segment), PIECES // 40)]
    shown = Filter(moment=2 * 10**12)

    def cpu_ms(boosts: tuple[Boost, ...], piece_id: str) -> float:
        started = time.thread_time()
        asked = marked.asked(piece_id, None, {})
        booster = Booster(boosts, DISTANCE_SCALE, marked)
        booster.best(lambda inside: marked.nearest_to(asked, inside, 30), shown, 30)
        return (time.thread_time() - started) * 1000

    for name, boosts in BOOSTS.items():
        held = decode_boosts(json.dumps(boosts), SourceSettings(attributes=NAMED))
        # In turns, so that what else the machine does falls on both.
        taken = [(cpu_ms((), piece_id), cpu_ms(held, piece_id)) for piece_id in ids * 5]
        without, boosted = (statistics.median(each) for each in zip(*taken, strict=True))
        classes = len(Booster(held, DISTANCE_SCALE, marked).classes(shown))
        print(
            f"  boosts, {name}: {classes} classes, CPU {boosted:.3f} ms beside {without:.3f} without, "
            f"{boosted / without:.1f} times"
        )
