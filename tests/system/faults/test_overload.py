"""Ten times what the service can take, and mixed load for long: bounded, alive, and nothing lost."""

import os
import statistics
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from faults.campaign import is_full, require_clean, say, seconds_to_service, under_load
from faults.client import Client, Unanswered
from faults.load import Load, Size, Target, preload
from faults.node import Node
from faults.pressure import Pressure, press
from penchant.live.builder import SMALLEST_FILE

pytestmark = [pytest.mark.stress, pytest.mark.timeout(7_200)]

OVERLOAD_S = 60.0 if is_full() else 4.0
SOAK_S = float(os.environ.get("PENCHANT_FAULTS_SOAK_S", "1200" if is_full() else "10"))
NORMAL = 32
"""Connections without pauses that keep two workers busy."""
OVERLOAD = 10 * NORMAL
GROWTH_BYTES = 512 << 20
"""How much overload may add: the queues of changes, and 320 requests under way."""
SOAK_GROWTH = 0.2
SOAK_GROWTH_BYTES = 150 << 20
"""What a soak may grow by after its first third: the share, or this where it is more."""
SAMPLE_S = 0.25


class Watch:
    """Looks now and then at the memory, at the health, and at how soon a change is read."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._ended = threading.Event()
        self.memory: list[int] = []
        self.live_ms: list[float] = []
        self.unanswered = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        client = Client([self._node.port], self._node.key)
        while not self._ended.wait(SAMPLE_S):
            self.memory.append(self._node.memory_bytes())
            began = time.monotonic()
            try:
                assert client.ask("GET", "/-/health/live").status == 200
            except Unanswered:
                self.unanswered += 1
            self.live_ms.append((time.monotonic() - began) * 1000)
        client.close()

    def end(self) -> None:
        self._ended.set()
        self._thread.join(30)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    running = Node(tmp_path / "data")
    preload(Target([running.port], running.key), "s0", SMALLEST_FILE + 500)
    yield running
    running.kill()


def mb(size: float) -> str:
    return f"{size / (1 << 20):.0f} MiB"


def test_overload_loses_nothing_and_stays_bounded(node: Node) -> None:
    target = Target([node.port], node.key)
    press(Pressure(node.port, node.key, NORMAL, 2))
    normal = press(Pressure(node.port, node.key, NORMAL, 3))
    before = node.memory_bytes()
    watch = Watch(node)
    with under_load(target, Size(writers=2, readers=1)) as load:
        pressed = press(Pressure(node.port, node.key, OVERLOAD, OVERLOAD_S))
        watch.end()
        seconds = seconds_to_service(target, time.monotonic())
        load.audit()
        require_clean(load)
    growth = max(watch.memory) - before
    say(f"normal: {normal.count(200) / 3:.0f} answers/s, p99 {normal.p99_ms(200):.0f} ms")
    say(f"{OVERLOAD} connections: {pressed.count(200) / OVERLOAD_S:.0f} answers/s, p99 {pressed.p99_ms(200):.0f} ms")
    say(f"that is {pressed.p99_ms(200) / normal.p99_ms(200):.1f} times the p99 of {NORMAL} connections")
    say(f"refused {pressed.count(429, 503)} (p99 {pressed.p99_ms(429, 503):.0f} ms), no answer {pressed.count(0)}")
    say(f"memory {mb(before)}, at most {mb(growth)} more; live p50 {statistics.median(watch.live_ms):.0f} ms,")
    say(f"at most {max(watch.live_ms):.0f} ms; service after {seconds:.2f} s; {load.ledger.changes} changes checked")
    assert growth < GROWTH_BYTES
    assert watch.unanswered == 0
    assert pressed.without_retry_after == 0
    assert set(pressed.seconds) <= {200, 429, 503}
    assert node.stop() == 0


def test_mixed_load_for_long_grows_and_fails_nowhere(node: Node) -> None:
    target = Target([node.port], node.key)
    lags = []
    with under_load(target) as load:
        time.sleep(2)
        watch = Watch(node)
        ending = time.monotonic() + SOAK_S
        while time.monotonic() < ending:
            lags.append(seconds_to_service(target, time.monotonic()))
            time.sleep(1)
        watch.end()
        load.audit()
        _report(load, watch, lags)
        require_clean(load)
        assert load.findings.counts["refused"] == load.findings.counts["unanswered"] == 0
    third = len(watch.memory) // 3
    first, last = statistics.mean(watch.memory[third // 2 : third]), statistics.mean(watch.memory[-third // 2 :])
    assert last - first < max(first * SOAK_GROWTH, SOAK_GROWTH_BYTES)
    assert watch.unanswered == 0
    node.check()
    assert node.stop() == 0


def _report(load: Load, watch: Watch, lags: list[float]) -> None:
    counts = load.findings.counts
    say(f"soak of {SOAK_S:g} s: {load.ledger.changes:,} changes, {counts['reads']:,} reads,")
    say(f"refused {counts['refused']}, unanswered {counts['unanswered']}, lost {counts['lost']},")
    say(f"torn {counts['torn']}, wrong {counts['wrong']}; memory {mb(watch.memory[0])} to {mb(watch.memory[-1])},")
    say(f"at most {mb(max(watch.memory))}; a change was read after {statistics.median(lags) * 1000:.0f} ms,")
    say(f"at most {max(lags) * 1000:.0f} ms; live at most {max(watch.live_ms):.0f} ms")
