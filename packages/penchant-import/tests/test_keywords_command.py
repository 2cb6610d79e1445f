"""``penchant keywords`` and ``import --vocabulary``, also while a service runs on the same data."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.conftest import Running
from factories import piece
from penchant.cli import commands
from serving import Service

PIECES = [
    {"id": "a", "label": "Shark", "categories": {"genre": ["Film-Noir", "war"], "tag": ["-"]}},
    {"id": "b", "label": "Shark", "categories": {"genre": ["film noir", "wars"]}},
    {"id": "c", "label": "Sharks", "categories": {"genre": ["Film-Noir", "Élan, vital"]}},
    {"id": "d", "categories": {"genre": ["elan, vital"], "other": ["war", "wars "]}},
]


def run(service: Service, *words: str) -> Result:
    result = CliRunner().invoke(commands, [*words, "--data", service.settings.data])
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture
def varied(service: Service) -> Service:
    """A source of films whose keywords are written in several ways, with words of their labels."""
    service.post("/s/content?words=auto", json=PIECES)
    return service


def settings_of(service: Service) -> Any:
    return service.get("/s/settings").json()


def test_variants_are_written_to_look_over_and_put_in_force(varied: Service, tmp_path: Path) -> None:
    file = tmp_path / "variants.csv"
    listed = run(varied, "keywords", "variants", "--source", "s", "--output", str(file))

    assert "s: keywords written in several ways: 4, saying nothing: 1\n" in listed.stderr
    assert file.read_text(encoding="utf-8").splitlines() == [
        "from,to,pieces",
        "genre/film noir,genre/Film-Noir,1",
        '"genre/Élan, vital","genre/elan, vital",1',
        "genre/wars,genre/war,1",
        "other/wars ,other/war,1",
        "tag/-,,1",
    ]
    applied = run(varied, "keywords", "apply", "--source", "s", str(file))
    assert applied.stderr == "s: keywords that count as others: 4, for nothing: 1\n"
    assert varied.get("/s/content/b/similar").json()["content"][0] == {"id": "a", "score": 0.0}
    assert "words" in settings_of(varied)
    assert run(varied, "keywords", "variants", "--source", "s").stdout == "from,to,pieces\n"


def test_a_file_is_added_or_takes_the_place_of_what_there_is(varied: Service, tmp_path: Path) -> None:
    first, second = tmp_path / "1.csv", tmp_path / "2.csv"
    first.write_text("from,to\ngenre/wars,genre/war\n")
    second.write_text("from,to\ngenre/war,genre/conflict\n")
    run(varied, "keywords", "apply", "--source", "s", str(first))

    run(varied, "keywords", "apply", "--source", "s", str(second))
    both = [{"from": ["genre/wars", "genre/war"], "to": "genre/conflict"}]
    assert settings_of(varied)["vocabulary"] == {"aliases": both}
    run(varied, "keywords", "apply", "--source", "s", "--replace", str(second))
    assert settings_of(varied)["vocabulary"] == {"aliases": [{"from": ["genre/war"], "to": "genre/conflict"}]}
    entries = [json.loads(line) for line in run(varied, "audit", "--json").stdout.splitlines()]
    assert [each["count"] for each in entries if each["action"] == "settings.replace"] == [3]


def test_what_cannot_be_is_told_and_changes_nothing(varied: Service, refused: Running, tmp_path: Path) -> None:
    file = tmp_path / "v.csv"
    file.write_text("from,to\nwars,genre/war\n")
    data = ("--data", varied.settings.data)

    code, told = refused("keywords", "apply", "--source", "s", str(file), *data)

    assert (code, "vocabulary" in settings_of(varied)) == (1, False)
    assert f"{file}, line 2: Found another text" in told
    file.write_text("from,to\n")
    for words in (("apply", str(file)), ("variants",)):
        assert refused("keywords", *words, "--source", "nobody", *data)[0] == 1


@pytest.mark.slow
def test_an_import_brings_a_vocabulary_along(service: Service, tmp_path: Path) -> None:
    rows, thesaurus = tmp_path / "p.ndjson", tmp_path / "v.ttl"
    rows.write_text("\n".join((json.dumps(piece("a", "noir")), json.dumps(piece("b", "film noir")))))
    label = '<urn:noir> <http://www.w3.org/2004/02/skos/core#{}> "{}" .'
    thesaurus.write_text("\n".join((label.format("prefLabel", "film noir"), label.format("altLabel", "noir"))))
    words = ("import", "--source", "s", "--vocabulary", str(thesaurus), "--vocabulary-category", "genre", str(rows))

    dry = run(service, *words, "--dry-run")
    assert "s: keywords that count as others: 1, for nothing: 0" in dry.stderr
    assert service.get("/s").status_code == 404
    run(service, *words)
    assert service.get("/s/content/a/similar").json()["content"] == [{"id": "b", "score": 0.0}]


def test_an_import_with_a_vocabulary_that_cannot_be_stores_nothing(
    service: Service, refused: Running, tmp_path: Path
) -> None:
    rows, table = tmp_path / "p.ndjson", tmp_path / "v.csv"
    rows.write_text(json.dumps(piece("a", "x")))
    table.write_text("from,to\na,b\n")

    data = ("--data", service.settings.data)
    code, told = refused("import", "--source", "s", "--vocabulary", str(table), str(rows), *data)

    assert (code, "line 2" in told) == (1, True)
    assert service.get("/s").status_code == 404
