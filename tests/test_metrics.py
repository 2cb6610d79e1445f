"""What the metrics tell of queues, connections, the index and its builder."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from databases import prepared_database
from factories import piece
from penchant.model import EncodedPiece
from penchant.settings import METRICS_VARIABLE, count_alone
from penchant.storage import Command, SubmitPieces, open_storage
from penchant.storage.group_commit import Lane
from penchant.telemetry import SECONDS_BUCKETS, Metrics, SecondsCount
from serving import Service


def value(registry: CollectorRegistry, name: str, **labels: str) -> float:
    found = registry.get_sample_value(name, labels)
    assert found is not None, name
    return found


def submission(account: int = 1, name: str = "a", body: bytes = b"{}") -> SubmitPieces:
    return SubmitPieces(account_id=account, source="s", pieces=[EncodedPiece(id=name, body=body)])


def test_a_lane_tells_what_waits_and_how_long_it_did() -> None:
    metrics = Metrics()
    held, may_go_on = threading.Event(), threading.Event()

    def carry_out(commands: Sequence[Command[Any]]) -> list[Any]:
        held.set()
        assert may_go_on.wait(60)
        return [None for _ in commands]

    lane = Lane("content", carry_out, metrics)
    futures = [lane.submit(submission())]
    assert held.wait(60)
    futures += [lane.submit(submission(body=b"x" * 100)) for _ in range(3)]

    assert lane.queued == (3, 300)
    time.sleep(0.05)
    may_go_on.set()
    for future in futures:
        future.result(60)
    lane.close()

    assert lane.queued == (0, 0)
    assert value(metrics.registry, "penchant_group_changes_count", lane="content") == 2
    assert value(metrics.registry, "penchant_group_changes_sum", lane="content") == 4
    assert value(metrics.registry, "penchant_queue_seconds_sum", lane="content") >= 0.05


def test_connections_in_use_are_counted_and_those_made(tmp_path: Path, postgresql: str) -> None:
    metrics = Metrics()
    opened = open_storage(folder=tmp_path, database_url=prepared_database(postgresql), metrics=metrics)
    with closing(opened) as storage:
        account = storage.accounts.ensure("one")
        storage.submit(submission(account)).result(120)
        listings = [storage.pieces.open_ids(account, "s") for _ in range(10)]
        before = storage.upkeep.connections

        for listing in listings:
            listing.__enter__()
        taken = storage.upkeep.connections
        for listing in listings:
            listing.__exit__(None, None, None)

        assert (before, taken, storage.upkeep.connections) == (0, 10, 0)
        assert value(metrics.registry, "penchant_database_connections_opened_total") >= 9


def test_a_request_is_measured_where_it_went(service: Service) -> None:
    service.submit("s", piece("a", "x"), piece("b", "x"))
    service.get("/s/content/a/similar")
    service.submit("s", piece("c", "x"))
    service.get("/s/content/a/similar")
    service.get("/s/ids", key="pk_unknown_key")

    told = service.client.get("/-/metrics").text.splitlines()

    counted = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in told if not line.startswith("#")}
    # The first submission is tried once more: it makes the source.
    assert counted['penchant_group_changes_count{lane="content"}'] == 3
    assert counted['penchant_queued_changes{lane="content"}'] == 0
    assert counted["penchant_merge_seconds_count"] >= 1
    assert counted["penchant_read_wait_seconds_count"] >= 1
    assert counted["penchant_index_lag_versions"] == 0
    assert counted["penchant_database_connections_opened_total"] >= 2
    assert counted['penchant_key_checks_total{cache="hit"}'] + counted['penchant_key_checks_total{cache="miss"}'] == 5
    assert counted['penchant_key_checks_total{cache="miss"}'] >= 2
    assert counted['penchant_problems_total{code="unauthenticated"}'] == 1


def test_seconds_are_counted_as_the_library_would() -> None:
    times = Metrics().commit_seconds
    counting = SecondsCount(times.labels("ours"))

    for seconds in (0.0, *SECONDS_BUCKETS, *(each * 1.01 for each in SECONDS_BUCKETS)):
        counting.count(seconds)
        times.labels("theirs").observe(seconds)

    def counted(lane: str) -> dict[str, float]:
        samples = [sample for metric in times.collect() for sample in metric.samples if sample.labels["lane"] == lane]
        return {
            f"{sample.name} {sample.labels.get('le')}": sample.value
            for sample in samples
            if "created" not in sample.name
        }

    assert len(counted("ours")) > len(SECONDS_BUCKETS)
    assert counted("ours") == counted("theirs")


def test_a_process_that_is_to_count_alone_does(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(METRICS_VARIABLE, "somewhere")

    count_alone()

    assert METRICS_VARIABLE not in os.environ


@pytest.mark.slow
def test_what_ended_processes_counted_stays_in_one_set_of_files(tmp_path: Path) -> None:
    program = """
import sys
from pathlib import Path
from penchant.telemetry import SECONDS_BUCKETS, Metrics, SecondsCount
metrics = Metrics(Path(sys.argv[1]))
metrics.requests.labels("/{source}", "GET", "200").inc()
metrics.loaded_sources.set(5)
metrics.last_build.set(float(sys.argv[2]))
print(metrics.render().decode())
"""
    for moment in ("7", "9", "8"):
        words = [sys.executable, "-c", program, str(tmp_path), moment]
        environment = os.environ | {METRICS_VARIABLE: str(tmp_path)}
        done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=300)

    lines = done.stdout.splitlines()
    assert 'penchant_requests_total{method="GET",route="/{source}",status="200"} 3.0' in lines
    assert "penchant_loaded_sources 5.0" in lines
    assert any(line.startswith("penchant_last_build") and line.endswith(" 9.0") for line in lines)
    assert len({path.stem.rpartition("_")[2] for path in tmp_path.glob("*.db")}) == 2
