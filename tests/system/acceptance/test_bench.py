"""The bench runs to its end on a small catalogue, and every figure has a unit and, where promised, a baseline."""

import json
from pathlib import Path

import pytest

from acceptance.servers import command
from penchant.live.builder import SMALLEST_FILE

pytestmark = pytest.mark.stress

PIECES = SMALLEST_FILE + 1_000
EXPECTED = {
    "first start to compiled kernels": None,
    "ingest, 2,000 pieces a request": "decode, compress and insert in one process",
    "similar, cosine, 32 connections": None,
    "202 to visible, under 200 submissions/s": None,
    "interactions, one a request, 32 connections": None,
    "restart to first answer": None,
    "memory a piece, all processes": None,
    "cost, memory of an idle service, all processes": None,
    "cost, installed packages": None,
    "cost, loading a source from SQL": None,
    "nearest, jaccard": "numpy",
    "nearest, cosine, a hundredth of the pieces": "all pieces",
    "nearest, cosine, a fifth in a delta": "clean",
    "recommendation, profile of 200 terms": None,
    "interactions, 10,000 a request": None,
    "audience part of all, after the last interaction": None,
    "recommendation, 32 connections": None,
    "recommendation, right after an own interaction": "otherwise",
}


KINDS = {
    "similar, remembered",
    "similar, each another",
    "recommendation, remembered",
    "recommendation, each another",
    "profile, remembered",
    "interaction",
    "submission of a piece",
}


def test_each_kind_of_request_stands_beside_a_fixed_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "figures.json"
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    done = command("bench", "--limit", "--pieces", "500", "--seconds", "0.5", "--json", str(file))

    assert done.returncode == 0, done.stderr
    figures = {figure["name"]: figure for figure in json.loads(file.read_text())["figures"]}
    assert set(figures) == KINDS
    for figure in figures.values():
        assert (figure["unit"], figure["baseline"]) == ("req/s", "the same answer, fixed")
        assert figure["value"] > 0
        assert figure["ratio"] == pytest.approx(figure["value"] / figure["baselineValue"], abs=0.001)
    assert list(tmp_path.iterdir()) == [file]


def test_it_measures_the_service_and_the_engine_beside_baselines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "figures.json"
    monkeypatch.setenv("TMPDIR", str(tmp_path))

    done = command("bench", "--pieces", str(PIECES), "--interactions", "20000", "--seconds", "0.5", "--json", str(file))

    assert done.returncode == 0, done.stderr
    report = json.loads(file.read_text())
    assert (report["pieces"], report["workers"]) == (PIECES, 1)
    figures = {figure["name"]: figure for figure in report["figures"]}
    assert set(figures) >= set(EXPECTED)
    for what, baseline in EXPECTED.items():
        assert figures[what]["value"] > 0
        if baseline is not None:
            assert figures[what]["baseline"] == baseline
            assert figures[what]["ratio"] > 0
        assert what.split(",")[0] in done.stdout
    assert list(tmp_path.iterdir()) == [file]
