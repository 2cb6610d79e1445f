"""Hooks: a package that a stranger wrote, found by its entry point, in processes of the service."""

import inspect
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server, free_port
from penchant import __version__
from penchant.hooks import Hooks

SAMPLE = Path(__file__).parent / "sample"
BRINGING = "from penchant.hooks import implementation\n@implementation\ndef {}"
UNDESCRIBED = """operations():
    from penchant.web.operations import NOBODY, Operation

    return [Operation("GET", "/{source}/others", about=NOBODY, public=True, answer="Others")]
"""
IMPORTING = "from penchant.cli.importing import import_files; import_files()"
UNFORGETTING = """
from sqlalchemy import Column, MetaData, Table, Text

from penchant.hooks import implementation
from penchant.storage import StoragePart

@implementation
def tables():
    return StoragePart(name="other", tables=(Table("seen", MetaData(), Column("user_id", Text)),))
"""
HOOKS = {name for name, value in vars(Hooks).items() if inspect.isfunction(value)}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(tmp_path_factory.mktemp("hooks") / "data") as running:
            running.client.post("/films/content", json=[{"id": "alien", "categories": {"genre": ["horror"]}}])
            yield running


def command(*words: str, env: Mapping[str, str] = MappingProxyType({})) -> subprocess.CompletedProcess[str]:
    """Run ``penchant`` in a process that looks at its own path for packages."""
    return subprocess.run(
        [sys.executable, "-m", "penchant", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, **env},
    )


def brought(tmp_path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Install a package whose module has this text."""
    (tmp_path / "penchant_other.py").write_text(text)
    info = tmp_path / "penchant_other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: penchant-other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[penchant]\nother = penchant_other\n")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{SAMPLE}")


def test_the_sample_uses_every_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(SAMPLE)

    assert {name for name in vars(import_module("penchant_hello.plugin")) if name in HOOKS} == HOOKS


def test_an_operation_of_a_package_is_checked_and_described_as_any_other(server: Server) -> None:
    assert server.client.get("/films/hello").json() | {"counted": True} == {
        "hello": "films",
        "pieces": 1,
        "counted": True,
        "greeted": 0,
    }
    assert server.client.get("/other/hello").json()["code"] == "unknown-source"
    assert server.client.get("/films/hello", headers={"x-api-key": "no"}).status_code == 401
    assert server.client.post("/films/hello").headers["allow"] == "GET, HEAD"
    described = server.client.get("/-/openapi.json").json()["paths"]["/{source}/hello"]["get"]
    assert described["summary"] == "Greet a source, with the count of its pieces."


def test_a_task_of_a_package_runs_in_the_background(server: Server) -> None:
    wait_until(lambda: server.client.get("/films/hello").json()["counted"])


def test_a_setting_of_a_package_is_read_checked_and_kept_where_the_package_is_gone(tmp_path: Path) -> None:
    refused = [{"greeting": 5}, {"greetings": "Moin"}]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(tmp_path / "data") as server:
            key = server.key
            server.client.post("/films/content", json=[])
            for settings in refused:
                assert server.client.put("/films/settings", json=settings).status_code == 422
            kept = server.client.put("/films/settings", json={"greeting": "Moin", "halfLifeDays": 7}).json()
            assert kept["greeting"] == "Moin"
            assert server.client.get("/films/hello").json()["Moin"] == "films"
            assert "greeting" in server.client.get("/-/openapi.json").text
        patched.delenv("PYTHONPATH")
        with Server(tmp_path / "data") as server:
            server.client.headers["x-api-key"] = key
            assert server.client.get("/films/settings").json() == kept
            assert server.client.put("/films/settings", json={"greeting": "Servus"}).status_code == 422
            assert server.client.put("/films/settings", json=kept | {"halfLifeDays": 9}).json()["greeting"] == "Moin"
            assert server.client.put("/films/settings", json={"halfLifeDays": 8}).json()["greeting"] == "Moin"


def test_keywords_of_packages_count_in_lists_and_rest_while_their_package_is_gone(tmp_path: Path) -> None:
    pieces: list[dict[str, object]] = [
        {"id": each, "label": "Sea", "categories": {}} for each in ("alien", "aliens", "heat")
    ]
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(tmp_path / "data") as server:
            key = server.key
            server.client.post("/films/content?words=auto", json=pieces)
            settings = server.client.get("/films/settings").json()
            server.client.put("/films/settings", json=settings | {"greeting": "Moin"})
            both = server.client.get("/films/content/alien/similar?include=hello,words").json()["content"]
            assert [each["hello"] for each in both] == [["a"], ["h"]]
            assert [each["words"] for each in both] == [["sea"]] * 2
        patched.delenv("PYTHONPATH")
        with Server(tmp_path / "data") as server:
            server.client.headers["x-api-key"] = key
            one = server.client.get("/films/content/alien/similar?include=words").json()["content"]
            assert [each["words"] for each in one] == [["sea"]] * 2
            assert {each["score"] for each in one} == {0}
            assert server.client.get("/films/content/alien/similar?include=hello").status_code == 422
            kept = server.client.put("/films/settings", json=settings | {"words": {"keep": 5}}).json()
            assert kept["greeting"] == "Moin"
            server.client.post("/films/content", json=[pieces[2] | {"id": "alp"}])
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(tmp_path / "data") as server:
            server.client.headers["x-api-key"] = key
            again = server.client.get("/films/content/alien/similar?include=hello").json()["content"]
            assert {each["id"]: each["hello"] for each in again} == {"aliens": ["a"], "alp": ["a"], "heat": ["h"]}


def test_a_table_of_a_package_is_seen_by_views_erased_and_kept_where_the_package_is_gone(tmp_path: Path) -> None:
    data, file = tmp_path / "data", str(tmp_path / "backup")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(data) as server:
            key = server.key
            server.client.post("/films/content", json=[])
            for person in ("kim", "lee"):
                assert server.client.post(f"/films/users/{person}/hello").status_code == 200
            assert server.client.get("/films/hello").json()["greeted"] == 2
            assert server.client.delete("/films/users/kim").status_code == 202
        patched.delenv("PYTHONPATH")
        told = json.loads(command("doctor", "--data", str(data), "--json").stdout)["database"]
        assert told["tablesOfPluginsThatAreMissing"] == "hello_people"
        command("backup", "--data", str(data), file)
        restored = command("restore", "--data", str(tmp_path / "restored"), file)
        assert (restored.returncode, "not installed: hello_people" in restored.stdout) == (0, True)
        moved = command("move", "--data", str(data), "--to", str(tmp_path / "moved"))
        assert (moved.returncode, "hello_people: left behind" in moved.stderr) == (0, True)
        patched.setenv("PYTHONPATH", str(SAMPLE))
        with Server(tmp_path / "restored") as server:
            server.client.headers["x-api-key"] = key
            server.client.post("/films/users/ann/hello")
            assert server.client.get("/films/hello").json()["greeted"] == 2


def test_what_a_package_keeps_of_a_person_is_exported_and_described(server: Server) -> None:
    exported = [server.client.get("/films/users/ann/export").json()]
    server.client.post("/films/users/ann/hello")
    exported.append(server.client.get("/films/users/ann/export").json())

    own = {"source": "films", "userId": "ann", "interactions": []}
    assert exported == [own, own | {"greeted": True}]
    members = server.client.get("/-/openapi.json").json()["components"]["schemas"]["UserExport"]["properties"]
    assert list(members)[-2:] == ["greeted", "impressions"]


def test_a_list_that_an_interaction_names_is_read_by_the_package_that_made_it(server: Server) -> None:
    done = {"userId": "kim", "type": "Watch", "contentId": "alien", "listId": "AGkidY2wDEcKbSvlRFGTyWNhb21lAGhvbWU"}

    refused = server.client.post("/films/interactions", json=[done]).json()

    assert refused["errors"][0]["pointer"] == "/0/listId"
    assert "no list id of this source" in refused["errors"][0]["detail"]


def test_lines_of_a_package_are_exported_and_imported(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONPATH", str(SAMPLE))
    server.client.post("/films/users/kim/hello")
    exporting = ("export", "--data", str(server.data), "--source", "films", "--with")
    lines = command(*exporting, "greetings").stdout
    (tmp_path / "films.ndjson").write_text(lines)

    # The package penchant-import brings another command of this name.
    words = ("--data", str(server.data), str(tmp_path / "films.ndjson"), "--source")
    imported = subprocess.run([sys.executable, "-c", IMPORTING, *words, "copy"], check=False, timeout=120)

    assert (lines.splitlines()[-1], imported.returncode) == ('{"greeted":"kim"}', 0)
    assert "of packages stored" in command("import", *words, "other").stderr
    for copy in ("copy", "other"):
        assert server.client.get(f"/{copy}/hello").json()["greeted"] == lines.count("greeted")
    refused = command("import", *words, "third", env={"PYTHONPATH": ""})
    assert "No installed package has lines of greeted" in refused.stderr
    assert command(*exporting, "all").stdout.splitlines()[-1] == '{"greeted":"kim"}'
    brought(tmp_path, "from penchant_hello.plugin import lines", monkeypatch)
    assert "Two packages bring lines of greeted" in command(*exporting, "all").stderr


def test_an_application_of_a_package_gets_what_the_checks_of_all_let_through(server: Server) -> None:
    greeted = server.client.post("/-/hello", content=b"films")
    below = server.client.post("/-/hello/below", content=b"films", headers={"x-request-id": "mine"})

    assert (greeted.status_code, greeted.text) == (200, "hello films, with 1 pieces")
    assert (below.text, below.headers["x-request-id"]) == (greeted.text, "mine")
    assert server.client.post("/-/hello", content=b"films", headers={"x-api-key": "no"}).status_code == 401
    assert server.client.post("/-/hello", content=bytes(2_200_000)).json()["code"] == "body-too-large"
    assert server.client.post("/-/hello", content=b"none").json()["code"] == "internal"
    assert server.client.post("/-/hellos", content=b"films").status_code == 404
    assert 'route="/-/hello"' in server.client.get("/-/metrics").text


def test_an_application_of_a_package_may_get_posts_that_a_key_was_let_in_for(server: Server) -> None:
    client, path = server.client, "/-/hello-by-key"

    assert client.post(path, json="films").text == "hello films, with 1 pieces"
    assert client.post(path, json="films", headers={"x-api-key": "no"}).json()["code"] == "unauthenticated"
    assert client.post(path, content="films").json()["code"] == "unsupported-media-type"
    assert client.post(path, json="films", headers={"origin": "https://x"}).json()["code"] == "origin-not-allowed"
    assert (client.get(path).headers["allow"], client.post(f"{path}/x", json="films").status_code) == ("POST", 404)


def test_what_is_installed_is_named(server: Server) -> None:
    installed = server.client.get("/-/version").json()
    told = json.loads(command("doctor", "--data", str(server.data), "--quick", "--json").stdout)["versions"]

    assert installed["version"] == __version__
    assert {"penchant-rows", "penchant-hello"} <= installed["packages"].keys()
    assert installed["packages"]["penchant-hello"] == "1.2" == told["penchant-hello"]


@pytest.mark.parametrize(
    ("text", "reason"),
    (
        ("import no_such_module", "No module named 'no_such_module'"),
        ("from penchant.hooks import implementation\n@implementation\ndef wishes(): ...", "wishes"),
        ("from penchant_hello.plugin import operations", "Two packages bring the operation GET /{source}/hello"),
        ("from penchant_hello.plugin import enrich", "Two packages bring the category hello of keywords"),
        (
            "from penchant_hello.plugin import tables",
            "Two packages bring the table alembic_version_hello, hello_people",
        ),
        ("from penchant_hello.plugin import mount", "No package can mount /-/hello"),
        (
            BRINGING.format("operations(): raise KeyError('x')"),
            "hook operations of penchant_other fails: KeyError: 'x' (",
        ),
        (
            BRINGING.format("operations(): return object"),
            "hook operations of penchant_other returns one; several are due",
        ),
        (BRINGING.format(UNDESCRIBED), "The operation GET /{source}/others names Others; no InterfacePart has it"),
    ),
)
def test_a_package_that_cannot_be_used_stops_the_start_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, reason: str
) -> None:
    brought(tmp_path, text, monkeypatch)

    ended = command("serve", "--data", str(tmp_path / "data"), "--port", str(free_port()))

    assert ended.returncode == 1
    assert "other" in ended.stderr or "hello" in ended.stderr
    assert reason in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_table_that_names_people_without_a_way_to_forget_them_stops_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought(tmp_path, UNFORGETTING, monkeypatch)

    ended = command("serve", "--data", str(tmp_path / "data"), "--port", str(free_port()))

    assert ended.returncode == 2
    assert "The plugin other keeps people in the table seen and has no `erase`" in ended.stderr
