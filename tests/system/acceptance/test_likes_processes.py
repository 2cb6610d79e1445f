"""Likes files between real processes: whatever happens to them, workers recommend as from SQL alone."""

import shutil
import time
from pathlib import Path

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, command
from penchant.live.counting import LEAST_INTERACTIONS, SMALLEST_LIKES

pytestmark = pytest.mark.stress

PATIENCE_S = 500
PIECES = 300
PEOPLE = 3_000
BATCH = 2_000
Lists = dict[str, list[tuple[str, float]]]


def submit(server: Server) -> None:
    body = [{"id": f"p{number}", "categories": {"genre": [f"g{number % 7}"]}} for number in range(PIECES)]
    assert server.client.post("/s/content", json=body).status_code == 202


def record(server: Server, start: int, end: int) -> None:
    for first in range(start, end, BATCH):
        entries = [
            {
                "userId": f"u{number % PEOPLE}",
                "contentId": f"p{number * number % 7919 % PIECES}",
                "type": ["Watch", "RateLike", "RateDislike"][number % 3],
            }
            for number in range(first, min(first + BATCH, end))
        ]
        answer = server.client.post("/s/interactions", json=entries)
        assert answer.status_code in {200, 202}, answer.text


def files(data: Path) -> list[Path]:
    return list(data.glob("index/*/*.likes"))


def version(data: Path) -> int:
    """Return up to which version of the interactions the file reaches."""
    return max((int(path.stem.rpartition("-")[2]) for path in files(data)), default=0)


def recommended(server: Server, audience: int = SMALLEST_LIKES) -> Lists:
    """Return the lists of some people, asked for often enough that every worker answers some.

    They know what people like as of a version of the interactions, which may come later than a request waits for.
    """
    found = {}
    headers = {"x-penchant-min-audience-version": str(audience)}
    deadline = time.monotonic() + PATIENCE_S
    for number in (*range(0, PEOPLE, PEOPLE // 20), "unknown"):
        path = f"/s/users/u{number}/recommendation?take=30"
        while (answer := server.client.get(path, headers=headers)).status_code == 503:
            assert time.monotonic() < deadline, answer.text
        assert answer.status_code == 200, answer.text
        found[str(number)] = [(each["id"], each["score"]) for each in answer.json()["content"]]
    return found


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Lists]:
    """A folder of a service of two workers that has ended, with a source that has a likes file, and its last lists."""
    folder = tmp_path_factory.mktemp("filled") / "data"
    with Server(folder, "--workers", "2") as server:
        submit(server)
        record(server, 0, SMALLEST_LIKES)
        wait_until(lambda: version(folder) == SMALLEST_LIKES, patience_s=PATIENCE_S)
        lists = recommended(server)
    return folder, lists


@pytest.fixture
def data(tmp_path: Path, filled: tuple[Path, Lists]) -> Path:
    """A copy of that folder."""
    return Path(shutil.copytree(filled[0], tmp_path / "data"))


@pytest.fixture
def wanted(filled: tuple[Path, Lists]) -> Lists:
    """The lists that were answered from it, by workers that had seen every interaction come in."""
    return filled[1]


def test_workers_start_from_a_file_and_go_over_to_newer_ones(data: Path, wanted: Lists) -> None:
    with Server(data, "--workers", "2") as again:
        assert recommended(again) == wanted
        before = again.metric("penchant_likes_mapped_total")
        assert 1 <= before <= 2
        record(again, SMALLEST_LIKES, SMALLEST_LIKES + LEAST_INTERACTIONS)
        wait_until(lambda: version(data) == SMALLEST_LIKES + LEAST_INTERACTIONS, patience_s=PATIENCE_S)
        audience = SMALLEST_LIKES + LEAST_INTERACTIONS
        wanted = recommended(again, audience)
        wait_until(lambda: again.metric("penchant_likes_mapped_total") > before, patience_s=PATIENCE_S)
        assert recommended(again, audience) == wanted
        assert command("check", "--data", str(data)).returncode == 0

    for path in files(data):
        path.unlink()
    with Server(data) as alone:
        assert recommended(alone, audience) == wanted
