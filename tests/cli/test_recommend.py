"""``penchant recommend``: the lists that the service answers with, for everybody, in one file."""

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet
import pytest

from acceptance.servers import command
from cli.conftest import Running
from clocks import DAY_CLOCK
from kernel_cache import KERNELS
from serving import Service

pytestmark = pytest.mark.slow

KINDS = ("Click", "Play", "Watch", "Bookmark", "Purchase", "RateLike", "RateDislike")
Lists = Callable[..., list[dict[str, Any]]]


@pytest.fixture(autouse=True)
def shared_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PENCHANT_KERNEL_FOLDER", str(KERNELS))


@pytest.fixture
def lists(service: Service, tmp_path: Path) -> Lists:
    """A function that runs the command beside the service and returns the lists that it wrote."""

    def run(*words: str, out: str = "lists.ndjson", read: bool = True) -> list[dict[str, Any]]:
        path = tmp_path / out
        ran = command("recommend", "--data", service.settings.data, "--source", "s", "--out", str(path), *words)
        assert ran.returncode == 0, ran.stderr
        if not read:
            return []
        content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        return [json.loads(line) for line in content.splitlines()]

    return run


def fill(service: Service, *, people: int = 60, pieces: int = 200) -> None:
    """Make a source with people of whom little and much is known, and pieces that come, go and change."""
    random = np.random.default_rng(7)
    made = [
        {
            "id": f"p{number:03d}",
            "categories": {
                "genre": [f"g{each}" for each in random.choice(12, 1 + number % 4, replace=False)],
                "tag": [
                    {"key": f"t{each}", "weight": int(random.integers(1, 300))}
                    for each in random.choice(40, 5, replace=False)
                ],
            },
        }
        for number in range(pieces)
    ]
    service.submit("s", *made)
    events = [
        {
            "userId": f"u{person:02d}",
            "contentId": f"p{int(pieces * random.random() ** 2):03d}",
            "type": str(random.choice(KINDS)),
            "timestamp": DAY_CLOCK.midnight(30 * (1 + int(random.integers(10)))),
        }
        for person in range(people)
        for _ in range(person)
    ]
    for begin in range(0, len(events), 1000):
        answer = service.post("/s/interactions", json=events[begin : begin + 1000])
        assert answer.status_code in {200, 202}, answer.text
    # Pieces that are gone, come later or are the same in other words: several segments, and rows of nobody.
    for number in range(0, 20, 5):
        service.delete(f"/s/content/p{number:03d}")
    later = {"id": "later", "categories": {"genre": ["g1"]}, "filters": {"availableFrom": "2099-01-01T00:00:00Z"}}
    service.submit("s", later, {**made[7], "categories": {"genre": ["g3"]}}, {"id": "new", "categories": {"x": ["y"]}})
    service.put("/s/blacklist", json=["p030", "p031"])
    assert service.delete("/s/users/u55").status_code == 202


def served(service: Service, user: str, query: str = "") -> Any:
    answer = service.get(f"/s/users/{user}/recommendation{query}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_everybody_gets_the_list_that_the_service_answers_with(service: Service, lists: Lists) -> None:
    fill(service)
    said = {"keywords": {"genre": {"g1": 1, "g2": -0.5}}, "hidden": ["p001", "p002"], "unusedCategories": ["tag"]}
    for user in ("u07", "u30", "u58", "who only said something"):
        assert service.put(f"/s/users/{user}/preferences", json=said).status_code == 200
    assert service.put("/s/users/u08/preferences", json=said | {"personal": False}).status_code == 200

    found = lists("--workers", "2")

    # Nobody is called u00, who did nothing, and u55 was erased.
    ids = [f"u{person:02d}" for person in range(1, 60) if person != 55] + ["who only said something"]
    assert [each["id"] for each in found] == sorted(ids)
    assert all(len(each["content"]) == 30 for each in found)
    assert [each for each in found if each != served(service, each["id"])] == []


def test_settings_lists_and_users_count_as_in_a_request(service: Service, lists: Lists, tmp_path: Path) -> None:
    fill(service)
    settings = {"categoryWeights": {"tag": 0.5}, "halfLifeDays": 0, "maxPerValue": {"genre": 3}, "excludeSeen": False}
    assert service.put("/s/settings", json=settings).status_code == 200
    assert service.put("/s/whitelist", json=["p090", "p003"]).status_code in {200, 202}
    users = tmp_path / "users.txt"
    users.write_text("u40\nstranger ü\nu07\nu40\n", encoding="utf-8")

    found = lists("--users", str(users), "--take", "7", out="some.ndjson.gz")

    assert [each["id"] for each in found] == ["u40", "stranger ü", "u07"]
    assert [each for each in found if each != served(service, each["id"], "?take=7")] == []


def test_a_table_has_a_row_for_each_entry(service: Service, tmp_path: Path) -> None:
    fill(service, people=5, pieces=20)
    out = tmp_path / "lists.parquet"

    ran = command("recommend", "--data", service.settings.data, "--source", "s", "--out", str(out), "--take", "3")

    assert ran.returncode == 0, ran.stderr
    rows = pyarrow.parquet.read_table(out).to_pylist()
    expected = served(service, "u04", "?take=3")["content"]
    assert [(row["rank"], row["contentId"], row["score"]) for row in rows if row["userId"] == "u04"] == [
        (rank, each["id"], each["score"]) for rank, each in enumerate(expected, start=1)
    ]
    assert len(rows) == 4 * 3


def test_lists_of_a_placement_are_those_of_each_persons_variant(service: Service, lists: Lists, tmp_path: Path) -> None:
    fill(service, people=12, pieces=40)
    mixed = {"name": "mixed", "share": 0.5, "diversity": 0.5}
    placement = {"kind": "recommendations", "blacklist": ["p001"], "variants": [mixed]}
    assert service.put("/s/placements/home", json=placement).status_code == 200

    found = lists("--placement", "home", "--take", "4", "--workers", "1")
    lists("--placement", "home", "--take", "4", "--workers", "1", out="lists.parquet", read=False)

    answers = [service.get(f"/s/placements/home/list?user={each['userId']}&take=4").json() for each in found]
    assert (found, {each["variant"] for each in found}) == (answers, {"base", "mixed"})
    rows = pyarrow.parquet.read_table(tmp_path / "lists.parquet").to_pylist()
    assert [(row["userId"], row["variant"], row["kind"], row["contentId"]) for row in rows] == [
        (each["userId"], each["variant"], "recommendations", entry["id"]) for each in found for entry in each["content"]
    ]
    manifest = json.loads((tmp_path / "lists.parquet.manifest.json").read_text())
    assert manifest["about"]["placement"] == "home"


def test_what_is_wrong_is_told(service: Service, refused: Running, tmp_path: Path) -> None:
    service.submit("s", {"id": "a", "categories": {}})
    where = ("recommend", "--data", service.settings.data, "--out", str(tmp_path / "lists.ndjson"))
    users = tmp_path / "users.txt"
    users.write_text("u1\nu\x012\n")

    assert refused(*where, "--source", "other")[1].endswith("has no source 'other'.")
    assert "no placement 'home'" in refused(*where, "--source", "s", "--placement", "home")[1]
    assert "--placement" in refused(*where, "--source", "s", "--content", "a")[1]
    assert "users.txt, line 2: Found a control character" in refused(*where, "--source", "s", "--users", str(users))[1]
    code, told = refused(*where[:3], "--source", "s", "--out", "lists.csv")
    assert (code, "ends with .ndjson.gz, .ndjson or .parquet" in told) == (2, True)
