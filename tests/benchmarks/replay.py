"""Replay: two thousand requests of all kinds, each sent twice, and what one revision of the service answers to them.

    python tests/benchmarks/replay.py CHECKOUT ANSWERS     once for the checkout of each revision, with any Python that
    cmp BEFORE AFTER                                       has the dependencies of both

The answers are those of the demo's films with what is added here: settings, lists, preferences and placements. For the
service it is always the same moment. Names that are drawn are written as ``*``.
"""

import contextlib
import gzip
import http.client
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

COUNT = 2_000
STARTING_S = 120.0
SOURCE = "films"
NOW = datetime(2013, 9, 1, 12, tzinfo=UTC)
"""After the last interaction of the demo."""
CLOCK = f"""
import itertools, time
time.time = lambda: {NOW.timestamp()}
time.time_ns = itertools.count({int(NOW.timestamp())} * 10**9).__next__
"""
DRAWN = re.compile(rb'"(?:listId|keyId|history|instance|next)":"[^"]*"')
HEADERS = ("content-type", "x-penchant-ignored", "x-penchant-version", "x-penchant-audience-version", "retry-after")
SETTINGS = {
    "categoryWeights": {"genre": 2, "decade": 0.5},
    "halfLifeDays": 0,
    "attributes": {"year": {"pointer": "/year", "type": "integer"}},
    "maxPerValue": {"decade": 12},
    "newPieceHalfLifeDays": 30,
}
PLACEMENTS: Mapping[str, Any] = {
    "home": {"kind": "recommendations", "blend": {"content": 1, "audience": 2, "popularity": 0.5}, "diversity": 0.3},
    "top": {"kind": "popular", "halfLifeDays": 7, "filter": {"key": "year", "gte": 1980}},
    "fresh": {"kind": "new", "boosts": [{"key": "year", "gte": 2000, "factor": 1.5}]},
    "again": {"kind": "again", "fallback": "popular"},
    "near": {"kind": "similar", "algorithm": "both"},
    "trial": {"kind": "recommendations", "variants": [{"name": "mixed", "share": 0.5, "diversity": 0.6}]},
}


class Request(NamedTuple):
    """A request: method, path with its parameters, and a body to be sent as JSON."""

    method: str
    path: str
    body: Any = None


class Answers:
    """Asks one service, and writes what it answers in a form that another run can be compared with."""

    def __init__(self, port: int, key: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        self._key = key

    def send(self, request: Request) -> tuple[int, Mapping[str, str], bytes]:
        """Return status, headers and body of an answer."""
        body = None if request.body is None else json.dumps(request.body).encode()
        self._connection.request(
            request.method, request.path, body, {"x-api-key": self._key, "content-type": "application/json"}
        )
        answer = self._connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def line(self, request: Request) -> bytes:
        """Return a request with its answer as a line."""
        status, headers, body = self.send(request)
        while status == 503:
            time.sleep(1)
            status, headers, body = self.send(request)
        told = [f"{name}={headers[name]}" for name in HEADERS if name in headers]
        asked = f"{request.method} {request.path} {json.dumps(request.body)}"
        return f"{asked} -> {status} {' '.join(told)} ".encode() + DRAWN.sub(b"*", body) + b"\n"


class Wishes:
    """Makes requests for lists of the films, out of a generator of random numbers."""

    def __init__(self, pieces: Sequence[str], people: Sequence[str]) -> None:
        self._random = random.Random(28)  # the same in each run
        self._pieces = pieces
        self._people = people
        self._kinds: list[Callable[[], Request]] = [
            self._similar,
            self._recommendation,
            self._why_similar,
            self._why_recommended,
            self._plain,
            self._many,
            self._previews,
            self._placement,
            self._page,
            self._person,
            self._pieces_of_source,
            self._faults,
        ]

    def all(self, count: int) -> Iterator[Request]:
        """Yield requests of each kind in turn."""
        for number in range(count):
            yield self._kinds[number % len(self._kinds)]()

    def _piece(self) -> str:
        return self._random.choice(self._pieces)

    def _user(self) -> str:
        # One in twenty is known to nobody.
        return "nobody" if self._random.random() < 0.05 else self._random.choice(self._people)

    def _request(self, path: str, names: Sequence[str], body: Any = None) -> Request:
        chosen = {name: self._values[name](self) for name in names if self._random.random() < 0.25}
        query = urlencode(chosen, doseq=True)
        method = "GET" if body is None else "POST"
        return Request(method, f"/{SOURCE}/{path}" + (f"?{query}" if query else ""), body)

    def _day(self) -> str:
        return (NOW + timedelta(days=self._random.randrange(-300, 100))).date().isoformat()

    _values: Mapping[str, Callable[["Wishes"], Any]] = {
        "take": lambda self: self._random.randint(1, 30),
        "catalogs": lambda self: self._random.choice(["library", "library,other", "other"]),
        "filter": lambda self: json.dumps({"key": "year", "gte": self._random.randint(1950, 2010)}),
        "boost": lambda self: json.dumps({"key": "year", "gte": self._random.randint(1990, 2012), "factor": 2}),
        "algo": lambda self: self._random.choice(["jaccard", "cosine"]),
        "by": lambda self: self._random.choice(["content", "audience", "both"]),
        "at": lambda self: self._day(),
        "exclude": lambda self: [self._piece() for _ in range(3)],
        "explain": lambda _: "true",
        "include-seen": lambda self: self._random.choice(["true", "false"]),
        "fill": lambda self: self._random.choice(["true", "false"]),
        "diversity": lambda self: self._random.choice(["0.2", "0.7", "1"]),
        "halfLifeDays": lambda self: self._random.choice(["1", "30"]),
        "include": lambda self: self._random.choice(["label", "extras,available", "catalogs", "label,words"]),
    }
    _near = ("take", "catalogs", "filter", "boost", "algo", "at", "exclude", "include")
    _suited = (*_near, "include-seen", "fill", "diversity")

    def _similar(self) -> Request:
        return self._request(f"content/{self._piece()}/similar", (*self._near, "by", "explain"))

    def _recommendation(self) -> Request:
        return self._request(f"users/{self._user()}/recommendation", (*self._suited, "explain"))

    def _why_similar(self) -> Request:
        return self._request(f"content/{self._piece()}/why/{self._piece()}", (*self._near, "by"))

    def _why_recommended(self) -> Request:
        return self._request(f"users/{self._user()}/why/{self._piece()}", self._suited)

    def _plain(self) -> Request:
        names = ("take", "catalogs", "filter", "boost", "at", "exclude", "include")
        if self._random.random() < 0.4:
            return self._request(f"users/{self._user()}/again", names)
        return self._request(self._random.choice(["popular", "new"]), (*names, "halfLifeDays"))

    def _many(self) -> Request:
        if self._random.random() < 0.5:
            pieces = [self._piece() for _ in range(5)]
            return self._request("similar", (*self._near, "by", "explain"), pieces)
        return self._request("recommendations", self._suited, sorted({self._user() for _ in range(5)}))

    def _previews(self) -> Request:
        draft = {"categories": {"genre": ["Drama", "Crime"], "decade": ["1990s"]}}
        likings = {"liked": [self._piece(), self._piece()], "dislikedKeywords": {"genre": ["Drama"]}}
        settings = {"settings": {"categoryWeights": {"genre": 3}}, "pieces": [self._piece()], "users": [self._user()]}
        placement = {"name": "home", "placement": PLACEMENTS["home"] | {"diversity": 0}, "users": [self._user()]}
        return self._random.choice(
            [
                self._request("preview/similar", self._near, draft),
                self._request("preview/recommendation", (*self._suited, "explain"), likings),
                self._request("preview/settings", (), settings),
                self._request("preview/placement", (), placement),
            ]
        )

    def _placement(self) -> Request:
        name = self._random.choice(sorted(PLACEMENTS))
        query = f"?user={self._user()}" + (f"&content={self._piece()}" if name == "near" else "")
        return Request(
            "GET", f"/{SOURCE}/placements/{name}/list{query}&explain={self._random.choice(['true', 'false'])}"
        )

    def _page(self) -> Request:
        names = self._random.sample(sorted(PLACEMENTS), 3)
        rows = [
            {"placement": name, "take": 8} | ({"content": self._piece()} if name == "near" else {}) for name in names
        ]
        wanted = {"include": self._random.choice([[], ["label"]])}
        return self._request(
            "lists", ("explain",), {"user": self._user(), "exclude": [self._piece()], "lists": rows} | wanted
        )

    def _person(self) -> Request:
        path = self._random.choice(
            ["recommendation/profile", "segments?category=genre", "interactions", "preferences", "export"]
        )
        return Request("GET", f"/{SOURCE}/users/{self._user()}/{path}")

    def _pieces_of_source(self) -> Request:
        skip = self._random.randrange(4_000)
        path = self._random.choice(
            [
                f"content/{self._piece()}",
                f"content/{self._piece()}/audience?take=20",
                f"content?skip={skip}&limit=5",
                f"ids?skip={skip}&limit=20",
                *("settings", "", "placements", "placements/trial/results", "whitelist"),
            ]
        )
        return Request("GET", f"/{SOURCE}/{path}".rstrip("/"))

    def _faults(self) -> Request:
        return self._random.choice(
            [
                Request("GET", f"/{SOURCE}/content/none/similar"),
                Request("GET", f"/{SOURCE}/content/{self._piece()}/similar?take=31&algo=x&at=yesterday"),
                Request("GET", f"/{SOURCE}/users/u/recommendation?filter=" + quote('{"key":"yeer"}')),
                Request("POST", f"/{SOURCE}/content", [{"id": "", "label": 1, "categories": {"a": [2]}, "b": 0}]),
                Request("POST", f"/{SOURCE}/interactions", [{"userId": "u", "type": "Sleep", "contentId": 1}, {}]),
                Request("PUT", f"/{SOURCE}/settings", {"halfLifeDays": -1, "blend": {"content": "x"}, "nothing": 1}),
                Request("PUT", f"/{SOURCE}/placements/x", {"kind": "none", "variants": [{"share": 2}], "rotation": 9}),
                Request("PUT", f"/{SOURCE}/users/u/preferences", {"keywords": {"genre": {"a": 7}}, "hidden": "x"}),
                Request("POST", f"/{SOURCE}/impressions", [{"placement": 1, "pieces": "x"}]),
                Request("POST", f"/{SOURCE}/preview/settings", {"settings": {"blend": 0}, "pieces": [1]}),
                Request("DELETE", f"/{SOURCE}"),
                Request("GET", "/none/popular"),
            ]
        )


def main(checkout: str, out: str) -> None:
    """Write what the service of a revision answers."""
    with tempfile.TemporaryDirectory() as folder, _served(Path(checkout), Path(folder)) as answers:
        pieces, people = _load(answers, next(Path(checkout).glob("**/src/penchant/demo/films")))
        with Path(out).open("wb") as file:
            for request in Wishes(pieces, people).all(COUNT):
                # Twice: what is remembered is answered as what is made.
                file.writelines((answers.line(request), answers.line(request)))


def _load(answers: Answers, films: Path) -> tuple[list[str], list[str]]:
    """Load the films and what is added to them; return the ids of pieces and of people."""
    pieces, events = (
        list(map(json.loads, gzip.decompress((films / name).read_bytes()).splitlines()))
        for name in ("pieces.ndjson.gz", "interactions.ndjson.gz")
    )
    for number, piece in enumerate(pieces):
        day = NOW - timedelta(days=(number * 37) % 900)
        piece["filters"] = piece.get("filters", {}) | {"availableFrom": day.isoformat()}
    ids, people = sorted(each["id"] for each in pieces), sorted({each["userId"] for each in events})
    writes = [Request("POST", f"/{SOURCE}/content", pieces[at : at + 2_000]) for at in range(0, len(pieces), 2_000)]
    writes += [Request("PUT", f"/{SOURCE}/settings", SETTINGS)]
    writes += [
        Request("POST", f"/{SOURCE}/interactions", events[at : at + 10_000]) for at in range(0, len(events), 10_000)
    ]
    writes += [Request("PUT", f"/{SOURCE}/whitelist", ids[5:8]), Request("PUT", f"/{SOURCE}/blacklist", ids[20:30])]
    for number, user_id in enumerate(people[::7]):
        said = {"keywords": {"genre": {"Drama": 1.0, "Horror": -0.5}}, "hidden": [ids[number]]}
        writes.append(Request("PUT", f"/{SOURCE}/users/{user_id}/preferences", said))
    writes += [Request("PUT", f"/{SOURCE}/placements/{name}", spec) for name, spec in PLACEMENTS.items()]
    for request in writes:
        status, _, body = answers.send(request)
        if status >= 300:
            raise SystemExit(f"{request.method} {request.path}: {status} {body[:500]!r}")
    # What people like is weighed in the background: all of it, before anything is asked.
    path, version = f"/{SOURCE}/users/{people[0]}/recommendation", "0"
    for _ in range(int(STARTING_S)):
        before, version = version, answers.send(Request("GET", path))[1]["x-penchant-audience-version"]
        if version == before != "0":
            return ids, people
        time.sleep(1)
    raise SystemExit(f"What people like was not weighed within {STARTING_S:.0f} seconds.")


@contextlib.contextmanager
def _served(checkout: Path, folder: Path) -> Iterator[Answers]:
    """Serve an empty data folder by the code of a revision meanwhile."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PENCHANT_")}
    (folder / "sitecustomize.py").write_text(CLOCK)
    sources = [*checkout.resolve().glob("packages/*/src")] or [checkout.resolve() / "src"]
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [*sources, folder]))
    words = [sys.executable, "-m", "penchant"]
    where = ["--data", str(folder / "data")]
    server = subprocess.Popen(  # our own
        [*words, "serve", *where, "--port", str(port)], env=environment, stderr=subprocess.DEVNULL
    )
    try:
        _wait(server, port)
        made = subprocess.run(  # our own
            [*words, "keys", "create", *where], env=environment, capture_output=True, text=True, check=True
        )
        yield Answers(port, made.stdout.strip())
    finally:
        server.terminate()
        server.wait()


def _wait(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + STARTING_S
    while time.monotonic() < deadline and server.poll() is None:
        with contextlib.suppress(OSError):
            probe = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
            probe.request("GET", "/-/health/ready")
            if probe.getresponse().status == 200:
                return
        time.sleep(0.2)
    raise SystemExit("The service did not start.")


if __name__ == "__main__":
    main(*sys.argv[1:3])
