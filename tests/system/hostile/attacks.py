"""Attacks by one tenant, each cheap for who makes it, and what they cost the service in CPU and memory.

``python -m hostile.attacks URL KEY NAME...`` (from ``tests``) makes those attacks until its input ends;
`hostile.neighbour` measures what another tenant sees of them.
"""

import contextlib
import functools
import gzip
import json
import random
import re
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx

MIB = 1024 * 1024
ROWS = 5
GZIPPED = {"content-type": "application/json", "content-encoding": "gzip"}
SOURCE = "attacks"
WIDE = "attacks-wide"
"""A source as large as lists may be that are made in the event loop."""
WIDE_PIECES = 20_000
CROWDED = "attacks-crowded"
"""A source all of whose pieces share a keyword, with a row that allows it once and has quotas that cannot be met."""
PAGE_ROWS = 20
MARKS = 1_900
"""Combining characters in a row, in a label: of those beyond the thirtieth nothing is normalised."""
ATTACK_S = 12.0
THREADS = 4
"""Connections that make the same attack at once, but for `MANY`."""
MANY = 30
HOME = "/-/dashboard"


_of_thread = threading.local()


@dataclass(frozen=True, slots=True)
class Target:
    """A service under attack, and the key of who attacks."""

    url: str
    key: str

    @contextlib.contextmanager
    def client(self) -> Iterator[httpx.Client]:
        """Give the attacker's client of this thread; to make one costs more than most attacks."""
        client = getattr(_of_thread, "client", None)
        if client is None or client.base_url != self.url:
            client = httpx.Client(base_url=self.url, headers={"x-api-key": self.key}, timeout=120)
            _of_thread.client = client
        yield client


def wrong_shape(size: int) -> bytes:
    """Return the body that cost 26 seconds: an even period that looks like digits, and a number past doubles."""
    return b"[[" + b"0," * (size // 2) + b"0]," + b"1" * 400 + b"]"


@functools.cache
def packed(size: int) -> bytes:
    """Return such a body as gzip, made once, so that to attack costs nothing."""
    return gzip.compress(wrong_shape(size))


@functools.cache
def empty_members(size: int) -> bytes:
    """Return gzip members that unpack to nothing."""
    member = gzip.compress(b"")
    return member * (size // len(member))


def long_piece(piece_id: str, keywords: int) -> dict[str, Any]:
    """Return a piece with so many keywords."""
    return {"id": piece_id, "categories": {"c": [f"keyword-{number}" for number in range(keywords)]}}


def prepare(target: Target) -> None:
    """Make what the attacks are made on: a source of large pieces, with some interactions."""
    chance = random.Random(7)
    with httpx.Client(base_url=target.url, headers={"x-api-key": target.key}, timeout=120) as client:
        for part in range(2):
            large = [
                {
                    "id": f"p{part}-{number}",
                    "categories": {"c": [f"k{chance.randrange(80)}" for _ in range(9)]},
                    "extras": {"text": "x" * 20_000},
                }
                for number in range(500)
            ]
            assert client.post(f"/{SOURCE}/content", json=large).status_code == 202
        done = [
            {"userId": f"u{number % 40}", "type": "Watch", "contentId": f"p0-{chance.randrange(500)}"}
            for number in range(1_000)
        ]
        assert client.post(f"/{SOURCE}/interactions", json=done).status_code == 200
        many = [long_piece(f"long-{number}", 10_000) for number in range(4)]
        assert client.post(f"/{SOURCE}-long/content", json=many).status_code == 202
        settings = {"words": {"from": ["label"]}}
        assert client.put(f"/{SOURCE}/settings", json=settings).status_code == 200
        prepare_wide(client, chance)
        prepare_crowded(client)


def prepare_wide(client: httpx.Client, chance: random.Random) -> None:
    """Make a source of many pieces and people, with attributes, placements and a draft."""
    for part in range(0, WIDE_PIECES, 2_000):
        pieces = [
            {
                "id": f"w{number}",
                "categories": {"c": [f"k{chance.randrange(400)}" for _ in range(12)], "d": [f"d{number % 40}"]},
                "extras": {"year": 1900 + number % 120, "shelf": f"s{number % 50}"},
            }
            for number in range(part, part + 2_000)
        ]
        assert client.post(f"/{WIDE}/content", json=pieces).status_code == 202
    done = [
        {"userId": f"u{number % 500}", "type": "Watch", "contentId": f"w{chance.randrange(WIDE_PIECES)}"}
        for number in range(10_000)
    ]
    assert client.post(f"/{WIDE}/interactions", json=done).status_code == 200
    attributes = {"year": {"pointer": "/year", "type": "integer"}, "shelf": {"pointer": "/shelf", "type": "keyword"}}
    assert client.put(f"/{WIDE}/settings", json={"attributes": attributes}).status_code == 200
    for row in range(ROWS):
        placement = {"kind": "recommendations", "diversity": 0.3}
        assert client.put(f"/{WIDE}/placements/row-{row}", json=placement).status_code == 200
    draft = {"settings": {"halfLifeDays": 3, "attributes": attributes}}
    assert client.put(f"/{WIDE}/drafts/spring", json=draft).status_code == 200


def prepare_crowded(client: httpx.Client) -> None:
    """Make a source of pieces that share a keyword, and the row whose quotas find no two of them."""
    pieces = [
        {
            "id": f"c{number}",
            "categories": {"g": ["x"], "d": [f"d{number // 2}"]},
            "extras": {"shelf": f"s{number % 4}"},
        }
        for number in range(2_000)
    ]
    assert client.post(f"/{CROWDED}/content", json=pieces).status_code == 202
    attributes = {"shelf": {"pointer": "/shelf", "type": "keyword"}}
    assert client.put(f"/{CROWDED}/settings", json={"attributes": attributes}).status_code == 200
    quotas = [{"filter": {"key": "shelf", "any": [f"s{shelf}"]}, "atLeast": 5, "of": 10} for shelf in range(3)]
    row = {"kind": "new", "maxPerValue": {"g": 1, "d": 1}, "quotas": quotas}
    assert client.put(f"/{CROWDED}/placements/row", json=row).status_code == 200


def plain_reads(target: Target) -> None:
    """Read a piece: no attack, but what busy connections do to others by themselves."""
    with target.client() as client:
        client.get(f"/{SOURCE}/content/p0-1")


def json_bomb(target: Target) -> None:
    """Send 32 KB of gzip that are 31 MiB of JSON of a wrong shape."""
    with target.client() as client:
        client.post(f"/{SOURCE}/similar", content=packed(31 * MIB), headers=GZIPPED)


def list_bomb(target: Target) -> None:
    """Send 2 MiB of JSON of a wrong shape, which the route takes in."""
    with target.client() as client:
        client.put(f"/{SOURCE}/whitelist", content=packed(2 * MIB - 500), headers=GZIPPED)


def content_bomb(target: Target) -> None:
    """Submit what has a wrong shape to the route of the largest bodies."""
    with target.client() as client:
        client.post(f"/{SOURCE}/content", content=packed(31 * MIB), headers=GZIPPED)


def gzip_members(target: Target) -> None:
    """Send gzip members that unpack to nothing."""
    with target.client() as client, contextlib.suppress(httpx.TransportError):
        client.post(f"/{SOURCE}/content", content=empty_members(8 * MIB), headers=GZIPPED)


def slow_listing(target: Target) -> None:
    """Read a listing at some KB a second."""
    address = urlsplit(target.url)
    with socket.create_connection((address.hostname, address.port), timeout=300) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        request = f"GET /{SOURCE}/content HTTP/1.1\r\nHost: x\r\nx-api-key: {target.key}\r\n\r\n"
        connection.sendall(request.encode())
        until = time.monotonic() + ATTACK_S
        with contextlib.suppress(OSError):
            while time.monotonic() < until and connection.recv(2048):
                time.sleep(0.25)


def previews(target: Target) -> None:
    """Preview settings for twenty lists."""
    wish = {
        "settings": {"halfLifeDays": 3},
        "pieces": [f"p0-{n}" for n in range(10)],
        "users": [f"u{n}" for n in range(10)],
    }
    with target.client() as client:
        client.post(f"/{SOURCE}/preview/settings", json=wish)


def explanations(target: Target) -> None:
    """Ask for reasons of pieces with many keywords."""
    with target.client() as client:
        client.get(f"/{SOURCE}-long/content/long-0/similar?explain=true")


def metrics(target: Target) -> None:
    """Read the metrics."""
    with target.client() as client:
        client.get("/-/metrics")


def sources(target: Target) -> None:
    """Make sources, read them and delete them."""
    name = f"churn-{random.randrange(10**9)}"
    with target.client() as client:
        client.post(f"/{name}/content", json=[long_piece("a", 3), long_piece("b", 3)])
        client.get(f"/{name}/content/a/similar")
        client.delete(f"/{name}?confirm={name}")


@functools.cache
def many_pieces() -> bytes:
    """Return a submission of 2,000 pieces of 60 keywords, made once."""
    categories = {"c": [{"key": f"key-{number}", "weight": number} for number in range(60)]}
    return json.dumps([{"id": f"s{number}", "categories": categories} for number in range(2_000)]).encode()


def submissions(target: Target) -> None:
    """Submit as many pieces as a request may have, as an import does."""
    with target.client() as client:
        client.post(f"/{SOURCE}-imported/content", content=many_pieces(), headers={"content-type": "application/json"})


def small_submissions(target: Target) -> None:
    """Submit what is just small enough to be decoded at once."""
    pieces = [long_piece(f"small-{random.randrange(100)}", 4_000)]
    with target.client() as client:
        client.post(f"/{SOURCE}-imported/content", json=pieces)


def lists(target: Target) -> None:
    """Ask for similar pieces and recommendations in turn, each another one."""
    with target.client() as client:
        client.get(f"/{WIDE}/content/w{random.randrange(WIDE_PIECES)}/similar?limit=30&by=both")
        client.get(f"/{WIDE}/users/u{random.randrange(500)}/recommendation?limit=30")


def ranks(target: Target) -> None:
    """Have 500 pieces ranked for a person."""
    wish = {"content": [f"w{number}" for number in random.sample(range(WIDE_PIECES), 500)], "weight": 0.5}
    with target.client() as client:
        client.post(f"/{WIDE}/users/u{random.randrange(500)}/rank?explain=true", json=wish)
        client.post(f"/{WIDE}/users/u{random.randrange(500)}/rank", json=wish)


def pages_of_rows(target: Target) -> None:
    """Ask for the five rows of a page."""
    rows = [{"placement": f"row-{row}", "take": 30} for row in range(ROWS)]
    with target.client() as client:
        client.post(f"/{WIDE}/lists", json={"user": f"u{random.randrange(500)}", "lists": rows})


def unmeetable_rows(target: Target) -> None:
    """Ask for a page of rows whose quotas cannot be met."""
    with target.client() as client:
        client.post(f"/{CROWDED}/lists", json={"lists": [{"placement": "row", "take": 30}] * PAGE_ROWS})


def marked_texts(target: Target) -> None:
    """Ask for what goes with a draft whose texts are combining characters in a row."""
    marks = "a" + "\u0301\u0316" * (MARKS // 2)
    draft = {"id": "draft", "label": marks, "categories": {"c": ["k1"]}, "extras": {"a": marks, "b": marks}}
    with target.client() as client:
        client.post(f"/{SOURCE}/preview/similar", json=draft)


def whys(target: Target) -> None:
    """Ask why a piece is recommended or not."""
    with target.client() as client:
        client.get(f"/{WIDE}/users/u{random.randrange(500)}/why/w{random.randrange(WIDE_PIECES)}")
        client.get(f"/{WIDE}/content/w{random.randrange(WIDE_PIECES)}/why/w{random.randrange(WIDE_PIECES)}")


def effects(target: Target) -> None:
    """Ask what a draft would do."""
    wish = {"users": [f"u{number}" for number in range(20)], "pieces": [f"w{number}" for number in range(20)]}
    with target.client() as client:
        client.post(f"/{WIDE}/drafts/spring/effect", json=wish)


def exports(target: Target) -> None:
    """Read a whole source."""
    with target.client() as client:
        client.get(f"/{WIDE}/content", headers={"accept": "application/x-ndjson"})
        client.get(f"/{WIDE}/ids")


def filters(target: Target) -> None:
    """Ask for lists under filters of 100 conditions at eight levels, each another one."""
    clause: dict[str, Any] = {
        "should": [{"key": "year", "gte": 1900 + number, "lt": 1901 + number} for number in range(90)]
    }
    for _ in range(6):
        clause = {"must": [clause], "mustNot": [{"key": "shelf", "any": [f"s{random.randrange(50)}"]}]}
    with target.client() as client:
        given = {"filter": json.dumps(clause, separators=(",", ":")), "limit": "30"}
        client.get(f"/{WIDE}/content/w1/similar", params=given)
        client.get(f"/{WIDE}/users/u1/recommendation", params=given)


def pages(target: Target) -> None:
    """Open pages of the dashboard, as somebody who is signed in."""
    with target.client() as client:
        if not (cookies := getattr(_of_thread, "cookies", "")):
            cookies = _of_thread.cookies = signed_in(client, target.key)
        if not cookies:
            return
        for page in (
            f"search?source={WIDE}&q=w1",
            f"pieces?source={WIDE}",
            f"piece?source={WIDE}&id=w1",
            f"user?source={WIDE}&id=u1",
            f"map?source={WIDE}",
            f"health?source={WIDE}",
            f"history?source={WIDE}",
            f"front?source={WIDE}",
            f"desk?source={WIDE}",
            f"placements?source={WIDE}",
            f"placement?source={WIDE}&name=row-1",
        ):
            client.get(f"{HOME}/{page}", headers={"cookie": cookies})


def signed_in(client: httpx.Client, key: str) -> str:
    """Sign in at the dashboard, and return the cookie of the session, "" where that is refused."""
    form = client.get(f"{HOME}/sign-in")
    proof = "".join(re.findall(r'name="proof"[^>]* value="([0-9a-f]+)"', form.text))
    headers = {"origin": str(client.base_url).rstrip("/"), "cookie": f"penchant-form={proof}"}
    answer = client.post(f"{HOME}/sign-in", data={"key": key, "proof": proof, "next": ""}, headers=headers)
    client.cookies.clear()
    return str(answer.headers.get("set-cookie", "")).partition(";")[0]


def long_polls(target: Target) -> None:
    """Wait for changes of a source."""
    with target.client() as client:
        version = client.get(f"/{SOURCE}/content/p0-1").headers.get("x-penchant-version", "0")
        client.get(f"/{SOURCE}/changes?since={version}&wait=5")


def cold_people(target: Target) -> None:
    """Record what a new person did, and ask for the person's list at once."""
    person = f"new-{random.randrange(10**9)}"
    done = [{"userId": person, "type": "Watch", "contentId": f"w{random.randrange(WIDE_PIECES)}"} for _ in range(30)]
    with target.client() as client:
        client.post(f"/{WIDE}/interactions", json=done)
        client.get(f"/{WIDE}/users/{person}/recommendation?limit=30")


ATTACKS: Sequence[Callable[[Target], None]] = (
    json_bomb,
    list_bomb,
    content_bomb,
    gzip_members,
    slow_listing,
    previews,
    explanations,
    metrics,
    sources,
    submissions,
    small_submissions,
    lists,
    ranks,
    pages_of_rows,
    unmeetable_rows,
    marked_texts,
    whys,
    effects,
    exports,
    filters,
    pages,
    long_polls,
    cold_people,
)


def cpu_s(process: int) -> float:
    """Return the CPU seconds that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def resident_bytes(process: int) -> int:
    """Return the memory of a process."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * 4096


def make(attacks: Sequence[Callable[[Target], None]], target: Target, stopping: threading.Event) -> None:
    """Repeat each of these attacks in some threads until it is time to stop."""

    def repeat(attack: Callable[[Target], None]) -> None:
        while not stopping.is_set():
            with contextlib.suppress(httpx.TransportError):
                attack(target)

    threads = [
        threading.Thread(target=repeat, args=(attack,), daemon=True)
        for attack in attacks
        for _ in range(MANY if attack is lists else THREADS)
    ]
    for thread in threads:
        thread.start()
    sys.stdout.write("begun\n")
    sys.stdout.flush()
    stopping.wait()


def main(url: str, key: str, *names: str) -> None:
    """Make the attacks of these names until the input ends; what is under way then is cut."""
    stopping = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        stopping.set()

    threading.Thread(target=listen, daemon=True).start()
    make([attack for attack in (plain_reads, *ATTACKS) if attack.__name__ in names], Target(url, key), stopping)


if __name__ == "__main__":
    main(*sys.argv[1:])
