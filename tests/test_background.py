"""What runs in a process beside requests."""

import asyncio
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from penchant.bootstrap import open_services, services
from penchant.bootstrap.services import background_tasks
from penchant.errors import StorageUnavailable
from penchant.live import background
from penchant.live.background import Background, BackgroundTask
from penchant.live.election import Election
from penchant.settings import CurrentSettings, NodeSettings
from penchant.telemetry import Metrics

HOUSE = Path(__file__).parents[1] / "ARCHITECTURE.md"


async def run_until(ended: asyncio.Event, task: BackgroundTask, metrics: Metrics) -> None:
    background = Background([task], metrics)
    background.start()
    async with asyncio.timeout(30):
        await ended.wait()
    await background.close()


@pytest.mark.parametrize(("error", "failures"), ((OSError("no"), 1), (StorageUnavailable("away"), None)))
async def test_a_task_goes_on_after_a_failure_which_counts_unless_the_database_is_away(
    error: Exception, failures: float | None
) -> None:
    metrics, ended, runs = Metrics(), asyncio.Event(), []

    async def work() -> None:
        runs.append(1)
        if len(runs) == 1:
            raise error
        ended.set()

    await run_until(ended, BackgroundTask(name="work", interval_s=0.01, work=work), metrics)

    assert metrics.registry.get_sample_value("penchant_failures_total", {"where": "work"}) == failures
    assert metrics.registry.get_sample_value("penchant_background_seconds_total", {"task": "work"}) is not None


async def test_an_elected_task_runs_once_the_one_that_did_it_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "ELECTION_INTERVAL_S", 0.01)
    ended, looks = asyncio.Event(), []
    with closing(Election(tmp_path / "lock")) as other, closing(Election(tmp_path / "lock")) as own:
        assert other.try_win()

        class Candidate(Election):
            def try_win(self) -> bool:
                looks.append(1)
                if len(looks) == 3:
                    other.close()
                return own.try_win()

        candidate = Candidate(tmp_path / "lock")
        task = BackgroundTask(name="work", interval_s=600, work=ended.set, elected=candidate)
        await run_until(ended, task, Metrics())

    assert len(looks) == 3


def test_a_process_tells_by_name_what_runs_in_it(settings: NodeSettings) -> None:
    async def scene() -> None:
        async with open_services(CurrentSettings(settings)) as opened:
            tasks = background_tasks(opened, Election(Path(settings.data) / "lock"))
            names = {name for (name,) in opened.metrics.counts("penchant_background_seconds", "task")}
            while names != {task.name for task in tasks}:
                await asyncio.sleep(0.01)
                names = {name for (name,) in opened.metrics.counts("penchant_background_seconds", "task")}

            assert len(names) == len(tasks)

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_a_new_task_is_what_one_round_does_and_its_row(settings: NodeSettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Follow the recipe of CONTRIBUTING: a method, and its row in the table; a round that fails is tried again."""
    rung, rounds = asyncio.Event(), list[str]()

    class Doorbell:
        async def ring(self) -> None:
            rounds.append("begun")
            if len(rounds) == 1:
                raise OSError("nobody there")
            rung.set()

    def longer(*given: Any) -> list[BackgroundTask]:
        return [*background_tasks(*given), BackgroundTask(name="doorbell", interval_s=0.01, work=Doorbell().ring)]

    monkeypatch.setattr(services, "background_tasks", longer)

    async def scene() -> None:
        async with open_services(CurrentSettings(settings)) as opened:
            await rung.wait()
            assert opened.metrics.counts("penchant_failures", "where")[("doorbell",)] == 1
            assert "doorbell" in {task.get_name() for task in asyncio.all_tasks()}
        assert "doorbell" not in {task.get_name() for task in asyncio.all_tasks()}

    asyncio.run(asyncio.wait_for(scene(), 30))


def test_what_runs_beside_requests_is_described_by_its_name(settings: NodeSettings) -> None:
    section = HOUSE.read_text().partition("## What happens in the background?")[2].partition("\n## ")[0]

    async def scene() -> list[BackgroundTask]:
        async with open_services(CurrentSettings(settings)) as opened:
            return background_tasks(opened, Election(Path(settings.data) / "lock"))

    assert [task.name for task in asyncio.run(scene()) if f"`{task.name}`" not in section] == []
