"""Pulls against a server of ours that plays a shop, a blog and a Jellyfin: what is brought, kept, deleted and told."""

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import msgspec
import pytest

from databases import opened_file
from penchant.errors import Refused
from penchant.importing import ImportOptions, KeywordColumn
from penchant.service.pulling import LEASE_MS, Puller, PullOutcome, PullRun, PullSpec, list_runs, read_spec
from penchant.settings import NodeSettings
from penchant.storage import DeleteSource, InteractionQuery, Storage, source_id
from penchant_engine.model import InteractionType

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


@pytest.fixture
def storage(tmp_path: Path) -> Iterator[Storage]:
    with closing(opened_file(tmp_path / "data")) as opened:
        yield opened


@pytest.fixture
def puller(storage: Storage, sites: Sites) -> Puller:
    return Puller(storage, NodeSettings(pull_hosts=(sites.host,), pull_limit_bytes=1 << 20))


def add(puller: Puller, sites: Sites, path: str = "/shop.csv", format_name: str = "shopify", **more: Any) -> None:
    """Add a pull that is called as its format."""
    address = f"http://user:secret@{sites.host}{path}?token=secret"
    name, source = more.pop("name", format_name), more.pop("source", "s")
    spec = PullSpec(format=format_name, address=address, every_s=900, **more)
    puller.add(name, spec, account="default", source=source, actor="test")


def pieces(storage: Storage, source: str = "s") -> dict[str, Any]:
    with storage.pieces.open_page(storage.accounts.ensure("default"), source) as listing:
        return {each.id: json.loads(each.body) for batch in listing.batches for each in batch}


def version(storage: Storage, source: str = "s") -> int:
    head = storage.sources.read_head(storage.accounts.ensure("default"), source)
    assert head is not None
    return head.version


def many(count: int, but: int = -1) -> list[str]:
    return [f"p{number}" for number in range(count) if number != but]


def numbers(run: PullRun) -> tuple[PullOutcome, int, int, int]:
    return run.outcome, run.created, run.replaced, run.deleted


def test_a_shop_brings_what_is_new_or_changed_and_nothing_else(puller: Puller, sites: Sites, storage: Storage) -> None:
    add(puller, sites)
    sites.sell("a", "b", "c")
    assert numbers(puller.run("shopify")) == (STORED, 3, 0, 0)
    first = version(storage)
    assert numbers(puller.run("shopify")) == (UNCHANGED, 0, 0, 0)
    sites.files["/shop.csv"] += b"\nd,The d,Other,Table,oak,active"

    assert numbers(puller.run("shopify")) == (STORED, 1, 0, 0)

    assert version(storage) == first + 1
    assert sites.statuses == [200, 304, 200]
    sites.sell("a", "b", "c", "d", vendor="New")
    assert numbers(puller.run("shopify")) == (STORED, 0, 4, 0)
    assert pieces(storage)["d"]["categories"]["brand"] == ["New"]


def test_a_server_without_etags_is_known_by_the_file_itself(puller: Puller, sites: Sites, storage: Storage) -> None:
    sites.tags = False
    add(puller, sites)
    sites.sell("a")
    puller.run("shopify")
    before = version(storage)

    assert numbers(puller.run("shopify")) == (UNCHANGED, 0, 0, 0)
    assert (sites.statuses, version(storage)) == ([200, 200], before)


def test_a_blog_and_a_merchant_s_feed_are_pulled(puller: Puller, sites: Sites, storage: Storage) -> None:
    posts = "".join(f"<item><guid>{key}</guid><title>Post {key}</title></item>" for key in "ab")
    goods = "<item><id>g</id><title>Mug</title><link>https://shop.example/g</link></item>"
    sites.files["/feed"] = f'<rss version="2.0"><channel><title>Blog</title>{posts}</channel></rss>'.encode()
    sites.files["/goods.xml"] = f"<rss><channel>{goods}</channel></rss>".encode()
    add(puller, sites, "/feed", "feed", source="blog")
    add(puller, sites, "/goods.xml", "merchant", source="goods")

    assert [numbers(run) for run in puller.run_due()] == [(STORED, 2, 0, 0), (STORED, 1, 0, 0)]
    assert list(puller.run_due()) == []
    assert (sorted(pieces(storage, "blog")), sorted(pieces(storage, "goods"))) == (["a", "b"], ["g"])


def test_a_jellyfin_brings_what_its_person_has_played_once(puller: Puller, sites: Sites, storage: Storage) -> None:
    seen = {"Played": True, "LastPlayedDate": "2026-11-02T06:41:00.0Z"}
    item = {"Name": "Heat", "Id": "aa", "Type": "Movie", "Genres": ["Crime"], "UserData": seen}
    sites.files["/Items"] = json.dumps({"Items": [item]}).encode()
    add(puller, sites, "/Items", "jellyfin", options=ImportOptions(user="ann"))
    puller.run("jellyfin")
    other = item | {"Id": "bb", "Name": "Ronin", "UserData": {}}
    sites.files["/Items"] = json.dumps({"Items": [item, other]}).encode()

    assert numbers(puller.run("jellyfin")) == (STORED, 1, 0, 0)

    source = source_id(storage.accounts.ensure("default"), "s")
    rows = storage.people.read(source, InteractionQuery(user_id="ann", since=0, limit=10))
    assert len(rows.interactions) == 1


def test_a_piece_that_was_away_twice_is_deleted_and_one_that_came_back_is_not(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    add(puller, sites)
    sites.sell(*many(20))
    puller.run("shopify")
    sites.sell(*many(20, but=3))
    assert (numbers(run := puller.run("shopify")), run.away) == ((STORED, 0, 0, 0), 1)
    sites.sell(*many(20, but=4))
    assert (numbers(run := puller.run("shopify")), run.away) == ((STORED, 0, 0, 0), 1)
    assert len(pieces(storage)) == 20

    # The same file once more: the piece is away in it, whether the server sends it or not.
    assert numbers(puller.run("shopify")) == (STORED, 0, 0, 1)

    assert sites.statuses[-1] == 304
    assert sorted(pieces(storage)) == sorted(many(20, but=4))
    assert numbers(puller.run("shopify")) == (UNCHANGED, 0, 0, 0)


def feed_of(newest: int, count: int = 10) -> bytes:
    """Return a feed of the newest posts, counted from 1."""
    posts = (f"<item><guid>{number}</guid></item>" for number in range(newest, max(0, newest - count), -1))
    return f"<rss><channel>{''.join(posts)}</channel></rss>".encode()


@pytest.mark.parametrize("said", ({}, {"delete_missing": False}))
def test_what_has_left_the_window_of_a_feed_stays(
    said: dict[str, bool], puller: Puller, sites: Sites, storage: Storage
) -> None:
    add(puller, sites, "/feed", "feed", **said)
    for newest in range(10, 17):
        sites.files["/feed"] = feed_of(newest)
        run = puller.run("feed")
        assert (numbers(run), run.away) == ((STORED, 10 if newest == 10 else 1, 0, 0), 0)

    assert len(pieces(storage)) == 16
    assert numbers(puller.run("feed")) == (UNCHANGED, 0, 0, 0)
    # One that comes back is submitted again, and is the same.
    sites.files["/feed"] = feed_of(16, 16)
    assert numbers(puller.run("feed")) == (STORED, 0, 6, 0)


def test_what_is_missing_is_deleted_where_that_is_asked_for(puller: Puller, sites: Sites, storage: Storage) -> None:
    add(puller, sites, "/feed", "feed", delete_missing=True)
    add(puller, sites, source="kept", delete_missing=False)
    sites.sell("a", "b")
    sites.files["/feed"] = feed_of(10)
    list(puller.run_due())
    sites.sell("a")
    sites.files["/feed"] = feed_of(11)
    for name in ("feed", "shopify"):
        puller.run(name)

    assert numbers(puller.run("feed")) == (STORED, 0, 0, 1)
    assert numbers(puller.run("shopify")) == (UNCHANGED, 0, 0, 0)

    assert (len(pieces(storage)), sorted(pieces(storage, "kept"))) == (10, ["a", "b"])


def test_nothing_is_away_from_a_page_that_says_that_there_are_others(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    item = {"Name": "Heat", "Id": "a", "Type": "Movie"}
    add(puller, sites, "/Items", "jellyfin", delete_missing=True)
    for key in "ab":
        sites.files["/Items"] = json.dumps({"Items": [item | {"Id": key}], "TotalRecordCount": 2}).encode()
        puller.run("jellyfin")

    assert numbers(puller.run("jellyfin", force=True)) == (UNCHANGED, 0, 0, 0)
    assert sorted(pieces(storage)) == ["a", "b"]


def test_a_pull_of_before_this_was_asked_goes_on_as_its_format_says() -> None:
    old = b'{"format":"%s","address":"https://a.example/","every_s":900}'

    deletes = {name: msgspec.json.decode(old % name, type=PullSpec).deletes for name in (b"shopify", b"feed", b"xmltv")}

    assert deletes == {b"shopify": True, b"feed": False, b"xmltv": False}


def test_more_than_a_tenth_of_the_source_waits_for_somebody_to_say_so(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    add(puller, sites)
    sites.sell(*many(20))
    puller.run("shopify")
    sites.sell(*many(17))
    puller.run("shopify")

    run = puller.run("shopify")
    assert (numbers(run), run.withheld) == ((WITHHELD, 0, 0, 0), 3)
    assert "--force" in run.detail
    assert (storage.pulls.count_failing(), len(pieces(storage))) == (1, 20)

    assert numbers(puller.run("shopify", force=True)) == (STORED, 0, 0, 3)
    assert (storage.pulls.count_failing(), len(pieces(storage))) == (0, 17)


def test_only_what_a_pull_has_brought_and_no_other_brings_is_deleted(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    sites.sell("a", "b")
    add(puller, sites)
    add(puller, sites, "/second.csv", name="second")
    sites.files["/second.csv"] = sites.files["/shop.csv"] + b"\nc,The c,Acme,Table,oak,active"
    list(puller.run_due())
    sites.sell("a")
    puller.run("shopify")

    assert numbers(puller.run("shopify", force=True))[3] == 0
    assert sorted(pieces(storage)) == ["a", "b", "c"]


def test_rows_with_faults_bring_nothing_or_are_left_out_and_then_nothing_counts_as_away(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    sites.files["/x.ndjson"] = b'{"id":"a","categories":{}}\n{"id":"b","categories":{}}\n'
    add(puller, sites, "/x.ndjson", "ndjson", name="strict", source="strict")
    add(puller, sites, "/x.ndjson", "ndjson", skip_invalid=True)
    list(puller.run_due())
    sites.files["/x.ndjson"] = b'{"id":"c","categories":{}}\n{"id":"b","categories":7}\n'

    strict, run = puller.run("strict"), puller.run("ndjson")

    assert (strict.outcome, "line 2" in strict.detail, sorted(pieces(storage, "strict"))) == (FAILED, True, ["a", "b"])
    assert (numbers(run), run.away, sorted(pieces(storage))) == ((STORED, 1, 0, 0), 0, ["a", "b", "c"])


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
    content: bytes | None, told: str, puller: Puller, sites: Sites, storage: Storage
) -> None:
    add(puller, sites)
    sites.sell("a")
    puller.run("shopify")
    before = version(storage)
    del sites.files["/shop.csv"]
    if content is not None:
        sites.files["/shop.csv"] = content

    run = puller.run("shopify")

    assert (run.outcome, told in run.detail, version(storage)) == (FAILED, True, before)
    assert "penchant-pull-" not in run.detail
    sites.sell("a")
    assert numbers(puller.run("shopify")) == (UNCHANGED, 0, 0, 0)


def test_a_log_has_report_and_verdict_and_no_secret(puller: Puller, sites: Sites, storage: Storage) -> None:
    add(puller, sites)
    sites.sell("a", "b")
    puller.run("shopify")
    sites.server_close()
    puller.run("shopify")

    failed, stored = list_runs(storage, "shopify")
    assert stored.report is not None
    assert stored.report.verdict is not None
    assert (stored.report.pieces, stored.report.verdict.pieces) == (2, 2)
    assert failed.outcome is FAILED
    assert sites.host in failed.detail
    assert b"secret" not in msgspec.json.encode([failed, stored])


def test_one_pull_runs_once_at_a_time_and_one_that_is_removed_stores_nothing_more(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    add(puller, sites)
    sites.sell("a")
    met: list[object] = []

    def meanwhile() -> None:
        met.append(list(puller.run_due()))
        with pytest.raises(Refused, match="under way in another process"):
            puller.run("shopify")
        storage.pulls.remove("shopify", actor="test")

    sites.meet = meanwhile
    with pytest.raises(Refused, match="no pull of the name"):
        puller.run("shopify")

    assert met == [[]]
    assert storage.sources.list_of(storage.accounts.ensure("default")) == []


def test_a_process_that_was_killed_is_followed_once_its_lease_is_over(
    puller: Puller, sites: Sites, storage: Storage
) -> None:
    add(puller, sites)
    sites.sell("a")
    assert storage.pulls.claim("shopify", "killed", lease_ms=0, due=True)

    assert [numbers(run) for run in puller.run_due()] == [(STORED, 1, 0, 0)]
    assert storage.pulls.claim("shopify", "alive", lease_ms=LEASE_MS, due=False)


@pytest.mark.slow
def test_a_source_that_was_deleted_is_brought_as_a_whole_again(puller: Puller, sites: Sites, storage: Storage) -> None:
    add(puller, sites)
    sites.sell("a", "b")
    puller.run("shopify")
    command = DeleteSource(account_id=storage.accounts.ensure("default"), source="s")
    storage.submit(command).result()

    assert numbers(puller.run("shopify")) == (STORED, 2, 0, 0)
    assert numbers(puller.run("shopify", anew=True)) == (STORED, 0, 2, 0)


def test_what_a_format_leaves_open_is_kept(puller: Puller, sites: Sites, storage: Storage) -> None:
    options = ImportOptions(
        id_column="Key",
        keywords=(KeywordColumn(column="Tags", category="tag", separator="|"),),
        types={"seen": InteractionType.WATCH},
        words=("label",),
    )
    sites.files["/t.csv"] = b"Key,Tags\na,x|y\n"
    add(puller, sites, "/t.csv", "csv", options=options)

    puller.run("csv")

    (record,) = storage.pulls.list_all()
    assert read_spec(record).options == options
    assert pieces(storage)["a"]["categories"] == {"tag": ["x", "y"]}


@pytest.mark.parametrize(
    ("name", "source", "address", "every_s"),
    (
        ("", "s", "https://a.example/", 900),
        ("A", "s", "https://a.example/", 900),
        ("a", "-", "https://a.example/", 900),
        ("a", "s", "http://a.example/", 900),
        ("a", "s", "https://a.example/", 59),
        ("a", "s", "https://a.example/", 40 * 86_400),
    ),
)
def test_a_pull_that_cannot_be_is_refused_when_it_is_added(
    name: str, source: str, address: str, every_s: int, puller: Puller, storage: Storage
) -> None:
    spec = PullSpec(format="csv", address=address, every_s=every_s)

    with pytest.raises(Refused):
        puller.add(name, spec, account="default", source=source, actor="test")

    assert storage.pulls.list_all() == []
