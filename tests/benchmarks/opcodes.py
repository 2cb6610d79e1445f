"""Opcodes: through how many files, functions and instructions of the interpreter a request goes, by kind of request.

    python tests/benchmarks/opcodes.py [--files NAME] [--record | --json]

A service in this process, on SQLite, with 500 pieces, and numpy in the place of compiled kernels; each request is
counted when it was sent before and nothing has changed since, in the thread of the event loop. Ours is what lies in
packages of penchant. With ``--files`` the files of one kind of request are listed, with what each of them takes;
``--record`` stores the figures to which `tests/web/test_opcodes.py` compares what ``--json`` prints. Each is the least
of several counts: what else the process does meanwhile, such as to look a key up again, is in some of them only.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from penchant.bootstrap import storage_of, web_application
from penchant.cli.keys import make_key
from penchant.settings import NodeSettings

PIECES = 500
"""As many as numpy weighs what people like of: where that is never done, each list looks whether it may begin."""
WARMED = 3
"""How often a request is sent before it is counted."""
COUNTS = 5
"""How often it is counted."""
RECORDED = Path(__file__).with_name("opcodes.json")
"""Opcodes of ours by kind of request, as they were last recorded, and the Python that ran them: others have others."""


class Asked(NamedTuple):
    """A request; of a ``new`` one the query differs each time, so that nothing of its answer is remembered."""

    method: str
    path: str
    body: Any = None
    new: bool = False


REQUESTS: Mapping[str, Asked] = {
    "similar, new": Asked("GET", "/s/content/p7/similar", new=True),
    "similar": Asked("GET", "/s/content/p7/similar"),
    "similar, labels": Asked("GET", "/s/content/p7/similar?include=label"),
    "recommendation, unknown": Asked("GET", "/s/users/stranger/recommendation"),
    "recommendation, new": Asked("GET", "/s/users/u3/recommendation", new=True),
    "recommendation": Asked("GET", "/s/users/u3/recommendation"),
    "popular": Asked("GET", "/s/popular"),
    "profile": Asked("GET", "/s/users/u3/recommendation/profile"),
    "segments": Asked("GET", "/s/users/u3/segments?category=tag"),
    # Last: what people like is weighed anew after them.
    "content": Asked("POST", "/s/content", [{"id": "p1", "label": "P", "categories": {"tag": ["t1", "t2"]}}]),
    "interaction": Asked("POST", "/s/users/u4/interactions/Play/content/p9"),
}


class Counted:
    """What one request ran: opcodes by file and function, and the calls among these."""

    def __init__(self) -> None:
        self.opcodes: Counter[str] = Counter()
        self.functions: set[tuple[str, str]] = set()
        self.calls = 0

    @property
    def ours(self) -> Counter[str]:
        """Opcodes by the files of our packages."""
        return Counter({file: number for file, number in self.opcodes.items() if is_ours(file)})

    def trace(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        """Count an event of the interpreter."""
        file = frame.f_code.co_filename
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
            if is_ours(file):
                self.calls += 1
                self.functions.add((file, frame.f_code.co_qualname))
        elif event == "opcode":
            self.opcodes[file] += 1
        return self.trace


def is_ours(file: str) -> bool:
    """Return whether a file is one of penchant's packages."""
    return "/src/penchant" in file


class Sender:
    """Sends requests to an application in this process."""

    def __init__(self, application: Any, key: str) -> None:
        self._application = application
        self._key = key
        self._number = 0

    async def send(self, asked: Asked) -> None:
        """Send a request, and see that it is answered."""
        self._number += 1
        path, _, query = asked.path.partition("?")
        query = f"take={self._number % 30 + 1}&exclude=none-{self._number}" if asked.new else query
        body = b"" if asked.body is None else json.dumps(asked.body).encode()
        headers = [(b"host", b"localhost"), (b"x-api-key", self._key.encode()), (b"accept-encoding", b"identity")]
        if body:
            headers += [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": asked.method,
            "scheme": "http",
            "root_path": "",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "headers": headers,
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            sent.append(message)

        await self._application(scope, receive, send)
        if sent[0]["status"] >= 300:
            raise SystemExit(f"{asked.method} {asked.path}: {sent[0]['status']} {sent[1]['body']!r}")

    async def count(self, asked: Asked) -> Counted:
        """Return the least of several counts of what a request runs that was sent before."""
        return min([await self._count(asked) for _ in range(COUNTS)], key=lambda each: each.ours.total())

    async def _count(self, asked: Asked) -> Counted:
        for _ in range(WARMED):
            await self.send(asked)
        # The turn of the event loop in which they were sent ends before.
        await asyncio.sleep(0)
        counted = Counted()
        sys.settrace(counted.trace)
        try:
            await asyncio.create_task(self.send(asked))
        finally:
            sys.settrace(None)
        return counted


async def count_all(folder: str) -> dict[str, Counted]:
    """Return what each kind of request runs."""
    settings = NodeSettings(data=folder)
    application = web_application(settings)
    async with application.opened():
        storage = storage_of(settings)
        key = make_key(storage, account="default", plan="full")[1]
        storage.close()
        sender = Sender(application, key)
        pieces = [
            {"id": f"p{n}", "label": f"P{n}", "categories": {"tag": [f"t{n % 7}", f"t{n % 11}"], "by": [f"a{n % 40}"]}}
            for n in range(PIECES)
        ]
        await sender.send(Asked("POST", "/s/content", pieces))
        events = [{"userId": f"u{n % 20}", "type": "Play", "contentId": f"p{n * 7 % PIECES}"} for n in range(400)]
        await sender.send(Asked("POST", "/s/interactions", events))
        await sender.send(REQUESTS["recommendation"])
        await asyncio.sleep(2)
        return {name: await sender.count(asked) for name, asked in REQUESTS.items()}


def count_requests() -> dict[str, Counted]:
    """Return what each kind of request runs, in a service of its own."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(count_all(folder))


def main() -> None:
    """Print what requests run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", metavar="NAME")
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    counted = count_requests()
    opcodes = {name: each.ours.total() for name, each in counted.items()}
    if options.json:
        print(json.dumps(opcodes))
        return
    if options.record:
        recorded = {"python": list(sys.version_info[:2]), "opcodes": opcodes}
        RECORDED.write_text(json.dumps(recorded, indent=1) + "\n")
    print(f"{'request':26} {'files':>6} {'functions':>10} {'calls':>6} {'ours':>7} {'others':>7} {'all':>7}")
    for name, each in counted.items():
        all_of, own = each.opcodes.total(), each.ours.total()
        print(
            f"{name:26} {len(each.ours):6} {len(each.functions):10} {each.calls:6} {own:7} {all_of - own:7} {all_of:7}"
        )
    if options.files is not None:
        for file, number in counted[options.files].opcodes.most_common():
            print(f"{number:7} {'/'.join(Path(file).parts[-4:])}")


if __name__ == "__main__":
    main()
