"""Pulls against a server of ours that plays a shop, a blog and a Jellyfin: what is brought, kept, deleted and told."""

import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from acceptance.processes import wait_until
from acceptance.servers import Server
from penchant.errors import Refused
from penchant_engine.model import InteractionType
from penchant_import.commands.pulling import pull_options, read_interval, read_pull
from penchant_import.options import ImportOptions, KeywordColumn
from penchant_import.pulling import Pull, PullOutcome, PullRun, PullSpec, StateFile, run_line

STORED, UNCHANGED, WITHHELD, FAILED = PullOutcome
HEADING = "Handle,Title,Vendor,Type,Tags,Status"


class Sites(ThreadingHTTPServer):
    """Has a file at each path, with an ETag where it has ``tags``; ``meet`` is called before each answer."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _SiteHandler)
        self.files: dict[str, bytes] = {}
        self.tags = True
        self.meet: Callable[[], None] = lambda: None
        self.statuses: list[int] = []
        self.host = f"127.0.0.1:{self.server_address[1]}"

    def sell(self, *names: str, vendor: str = "Acme") -> None:
        """Have the shop sell these products."""
        lines = [HEADING, *(f"{name},The {name},{vendor},Table,oak,active" for name in names)]
        self.files["/shop.csv"] = "\n".join(lines).encode()


class _SiteHandler(BaseHTTPRequestHandler):
    server: Sites

    def do_GET(self) -> None:  # the standard library asks for this name
        """Answer with a file, or that it is the same."""
        self.server.meet()
        content = self.server.files.get(self.path.partition("?")[0])
        tag = f'"{hashlib.sha256(content or b"").hexdigest()}"'
        status = 404 if content is None else 304 if self.headers.get("if-none-match") == tag else 200
        self.server.statuses.append(status)
        self.send_response(status)
        if self.server.tags:
            self.send_header("etag", tag)
        self.end_headers()
        if status == 200:
            self.wfile.write(content or b"")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def sites() -> Iterator[Sites]:
    with Sites() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("service") / "data") as running:
        yield running


class Puller:
    """Makes pulls into a source that no other test has, each with a state of its own."""

    def __init__(self, server: Server, sites: Sites, folder: Path) -> None:
        self.server, self.sites, self.folder = server, sites, folder
        self.source = folder.name

    def add(self, path: str = "/shop.csv", format_name: str = "shopify", **more: Any) -> Pull:
        """Return a pull of a file of the sites."""
        address = f"http://user:secret@{self.sites.host}{path}?token=secret"
        state = StateFile(self.folder / f"{more.pop('name', format_name)}.state")
        options = more.pop("options", ImportOptions())
        source = more.pop("source", self.source)
        more |= {"format": format_name, "address": address, "url": self.server.url, "source": source}
        spec = PullSpec(**more, hosts=[self.sites.host], limit_bytes=1 << 20)
        return Pull(spec, options, self.server.key, state)

    def pieces(self, source: str | None = None) -> dict[str, Any]:
        """Return the pieces of a source."""
        path = f"/{self.source if source is None else source}/content"
        return {each["id"]: each for each in self.server.client.get(path).json()["content"]}

    def version(self) -> int:
        """Return the version of the source."""
        return int(self.server.client.get(f"/{self.source}").json()["version"])


@pytest.fixture
def puller(server: Server, sites: Sites, tmp_path: Path) -> Puller:
    return Puller(server, sites, tmp_path)


def many(count: int, but: int = -1) -> list[str]:
    return [f"p{number}" for number in range(count) if number != but]


def numbers(run: PullRun) -> tuple[PullOutcome, int, int, int]:
    return run.outcome, run.created, run.replaced, run.deleted


def test_a_shop_brings_what_is_new_or_changed_and_nothing_else(puller: Puller, sites: Sites) -> None:
    shop = puller.add()
    sites.sell("a", "b", "c")
    assert numbers(shop.run()) == (STORED, 3, 0, 0)
    first = puller.version()
    assert numbers(shop.run()) == (UNCHANGED, 0, 0, 0)
    sites.files["/shop.csv"] += b"\nd,The d,Other,Table,oak,active"

    assert numbers(shop.run()) == (STORED, 1, 0, 0)

    assert puller.version() == first + 1
    assert sites.statuses == [200, 304, 200]
    sites.sell("a", "b", "c", "d", vendor="New")
    assert numbers(shop.run()) == (STORED, 0, 4, 0)
    assert puller.pieces()["d"]["categories"]["brand"] == ["New"]


def test_a_server_without_etags_is_known_by_the_file_itself(puller: Puller, sites: Sites) -> None:
    sites.tags = False
    shop = puller.add()
    sites.sell("a")
    shop.run()
    before = puller.version()

    assert numbers(shop.run()) == (UNCHANGED, 0, 0, 0)
    assert (sites.statuses, puller.version()) == ([200, 200], before)


def test_a_jellyfin_brings_what_its_person_has_played_once(puller: Puller, sites: Sites) -> None:
    seen = {"Played": True, "LastPlayedDate": "2026-11-02T06:41:00.0Z"}
    item = {"Name": "Heat", "Id": "aa", "Type": "Movie", "Genres": ["Crime"], "UserData": seen}
    sites.files["/Items"] = json.dumps({"Items": [item]}).encode()
    films = puller.add("/Items", "jellyfin", options=ImportOptions(user="ann"))
    films.run()
    other = item | {"Id": "bb", "Name": "Ronin", "UserData": {}}
    sites.files["/Items"] = json.dumps({"Items": [item, other]}).encode()

    assert numbers(films.run()) == (STORED, 1, 0, 0)

    told = puller.server.client.get(f"/{puller.source}/users/ann/interactions").json()
    assert len(told) == 1


def test_a_piece_that_was_away_twice_is_deleted_and_one_that_came_back_is_not(puller: Puller, sites: Sites) -> None:
    shop = puller.add(delete_missing=True)
    sites.sell(*many(20))
    shop.run()
    sites.sell(*many(20, but=3))
    assert (numbers(run := shop.run()), run.away) == ((STORED, 0, 0, 0), 1)
    sites.sell(*many(20, but=4))
    assert (numbers(run := shop.run()), run.away) == ((STORED, 0, 0, 0), 1)
    assert len(puller.pieces()) == 20

    # The same file once more: the piece is away in it, whether the server sends it or not.
    assert numbers(shop.run()) == (STORED, 0, 0, 1)

    assert sites.statuses[-1] == 304
    assert sorted(puller.pieces()) == sorted(many(20, but=4))
    assert numbers(shop.run()) == (UNCHANGED, 0, 0, 0)


def feed_of(newest: int, count: int = 10) -> bytes:
    """Return a feed of the newest posts, counted from 1."""
    posts = (f"<item><guid>{number}</guid></item>" for number in range(newest, max(0, newest - count), -1))
    return f"<rss><channel>{''.join(posts)}</channel></rss>".encode()


def test_what_has_left_the_window_of_a_feed_stays(puller: Puller, sites: Sites) -> None:
    blog = puller.add("/feed", "feed")
    for newest in range(10, 17):
        sites.files["/feed"] = feed_of(newest)
        run = blog.run()
        assert (numbers(run), run.away) == ((STORED, 10 if newest == 10 else 1, 0, 0), 0)

    assert len(puller.pieces()) == 16
    assert numbers(blog.run()) == (UNCHANGED, 0, 0, 0)
    # One that comes back is submitted again, and is the same.
    sites.files["/feed"] = feed_of(16, 16)
    assert numbers(blog.run()) == (STORED, 0, 6, 0)


def test_nothing_is_away_from_a_page_that_says_that_there_are_others(puller: Puller, sites: Sites) -> None:
    item = {"Name": "Heat", "Id": "a", "Type": "Movie"}
    films = puller.add("/Items", "jellyfin", delete_missing=True)
    for key in "ab":
        sites.files["/Items"] = json.dumps({"Items": [item | {"Id": key}], "TotalRecordCount": 2}).encode()
        films.run()

    assert numbers(films.run(force=True)) == (UNCHANGED, 0, 0, 0)
    assert sorted(puller.pieces()) == ["a", "b"]


def test_more_than_a_tenth_of_the_source_waits_for_somebody_to_say_so(puller: Puller, sites: Sites) -> None:
    shop = puller.add(delete_missing=True)
    sites.sell(*many(20))
    shop.run()
    sites.sell(*many(17))
    shop.run()

    run = shop.run()
    assert (numbers(run), run.withheld) == ((WITHHELD, 0, 0, 0), 3)
    assert "--force" in run.detail
    assert len(puller.pieces()) == 20

    assert numbers(shop.run(force=True)) == (STORED, 0, 0, 3)
    assert len(puller.pieces()) == 17


def test_rows_with_faults_bring_nothing_or_are_left_out_and_then_nothing_counts_as_away(
    puller: Puller, sites: Sites
) -> None:
    sites.files["/x.ndjson"] = b'{"id":"a","categories":{}}\n{"id":"b","categories":{}}\n'
    strict = puller.add("/x.ndjson", "ndjson", name="strict", source=f"{puller.source} strict")
    lax = puller.add("/x.ndjson", "ndjson", skip_invalid=True, delete_missing=True)
    strict.run()
    lax.run()
    sites.files["/x.ndjson"] = b'{"id":"c","categories":{}}\n{"id":"b","categories":7}\n'

    failed, run = strict.run(), lax.run()

    # What the server alone finds wrong: the first of its batch names it, and nothing of the batch is stored.
    assert (failed.outcome, "/1/categories" in failed.detail) == (FAILED, True)
    assert sorted(puller.pieces(f"{puller.source} strict")) == ["a", "b"]
    assert (numbers(run), run.away, sorted(puller.pieces())) == ((STORED, 1, 0, 0), 0, ["a", "b", "c"])


@pytest.mark.parametrize(
    ("content", "told"),
    (
        (None, "answered 404"),
        (b"", "shop.csv"),
        (b"<html>Sold out</html>", "shop.csv"),
        (HEADING.encode() + b"\na,\xff,x,y,z,active", "not UTF-8"),
        (bytes(2 << 20), "larger than 1048576 bytes"),
    ),
)
def test_what_is_no_file_of_the_format_is_a_failure_that_changes_nothing(
    content: bytes | None, told: str, puller: Puller, sites: Sites
) -> None:
    shop = puller.add()
    sites.sell("a")
    shop.run()
    before = puller.version()
    del sites.files["/shop.csv"]
    if content is not None:
        sites.files["/shop.csv"] = content

    run = shop.run()

    assert (run.outcome, told in run.detail, puller.version()) == (FAILED, True, before)
    assert "penchant-pull-" not in run.detail
    assert "secret" not in run_line(run)
    sites.sell("a")
    assert numbers(shop.run()) == (UNCHANGED, 0, 0, 0)


def test_one_pull_runs_once_at_a_time(puller: Puller, sites: Sites) -> None:
    shop = puller.add()
    sites.sell("a")
    met: list[str] = []

    def meanwhile() -> None:
        with pytest.raises(Refused, match="Another process is at this pull") as refused:
            puller.add().run()
        met.append(refused.value.detail)

    sites.meet = meanwhile

    assert shop.run().outcome is STORED
    assert len(met) == 1


def test_a_source_that_was_deleted_is_brought_as_a_whole_again(puller: Puller, sites: Sites) -> None:
    shop = puller.add()
    sites.sell("a", "b")
    shop.run()
    assert puller.server.client.delete(f"/{puller.source}", params={"confirm": puller.source}).status_code == 202

    assert numbers(shop.run()) == (STORED, 2, 0, 0)
    assert numbers(shop.run(anew=True)) == (STORED, 0, 2, 0)


def test_a_state_that_is_none_is_told(puller: Puller, sites: Sites) -> None:
    sites.sell("a")
    (puller.folder / "shopify.state").write_bytes(b"something else")

    with pytest.raises(Refused, match="is no state of a pull"):
        puller.add().run()


FILE = """
address = "http://{host}/t.csv"
from = "csv"
url = "{url}"
source = "{source}"
every = "1h"
hosts = ["{host}"]
[options]
id-column = "Key"
keywords = ["tag=Tags:|"]
type = ["seen=Watch"]
words = "label"
"""


def written(puller: Puller) -> Path:
    path = puller.folder / "table.toml"
    path.write_text(FILE.format(host=puller.sites.host, url=puller.server.url, source=puller.source))
    return path


def test_a_file_says_what_the_options_of_an_import_say(puller: Puller) -> None:
    assert pull_options(read_pull(written(puller))) == ImportOptions(
        id_column="Key",
        keywords=(KeywordColumn(column="Tags", category="tag", separator="|"),),
        types={"seen": InteractionType.WATCH},
        words=("label",),
    )


def test_the_command_pulls_until_it_is_told_to_end(puller: Puller, sites: Sites) -> None:
    sites.files["/t.csv"] = b"Key,Tags\na,x|y\n"
    environment = {"PENCHANT_KEY": puller.server.key, "PATH": "/usr/bin:/bin"}
    words = [str(Path(sys.executable).parent / "penchant-import"), "pull", str(written(puller))]
    process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, text=True)

    wait_until((puller.folder / "table.state").exists)
    process.send_signal(signal.SIGTERM)

    told, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "\tstored\t1 new; " in told
    assert puller.pieces()["a"]["categories"] == {"tag": ["x", "y"]}
    again = subprocess.run([*words, "--once"], env=environment, capture_output=True, text=True, check=True)
    assert "\tunchanged\t" in again.stdout


@pytest.mark.parametrize(
    ("line", "told"),
    (
        ('source = "-"', "cannot be called"),
        ('address = "http://a.example/"', "plain HTTP"),
        ('from = "cvs"', "is no format"),
        ("more = 1", "more"),
        ("= 1", "table.toml"),
    ),
)
def test_a_file_that_says_what_cannot_be_is_refused(puller: Puller, line: str, told: str) -> None:
    path = written(puller)
    name = line.partition(" =")[0]
    lines = [each for each in path.read_text().splitlines() if not each.startswith(f"{name} =")]
    path.write_text("\n".join([line, *lines]))

    with pytest.raises(Refused, match=told):
        read_pull(path)


@pytest.mark.parametrize("text", ("", "5", "59s", "40d", "1w"))
def test_an_interval_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="every = "):
        read_interval(text)
