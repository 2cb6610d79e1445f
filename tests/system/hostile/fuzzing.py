"""Fuzzing: requests from the service's own OpenAPI document and forms, with values that no proper client sends.

``python -m hostile.fuzzing --minutes N --seed N`` (from ``tests``) starts a service and prints what it found.
"""

import argparse
import collections
import json
import random
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import schemathesis
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.core.result import Ok
from schemathesis.generation import GenerationMode

from acceptance.processes import workers_of
from acceptance.servers import Server, new_key
from hostile.attacks import cpu_s
from visitors import HOME, Visitor, fields_of

CPU_S = 1.0
"""CPU seconds of the worker that no answer may take."""
REQUESTED_STATUS = "not-yet-visible"
"""The problem that a request may ask for: 503 for a version that is still to come."""
EXAMPLES = 4
"""Requests of an operation in a round: valid ones, others, and both with values put in their place."""
FORMS_A_ROUND = 12
NUMBERS = (
    *(
        "0",
        "-0",
        "-0.0",
        "-1",
        "--5",
        "1e308",
        "-1e308",
        "1e309",
        "1e-400",
        "5e-324",
        "1E+2",
        "0.1e1",
        "00",
        "+1",
        "1.",
    ),
    *("9007199254740993", "18446744073709551616", "-9223372036854775809", "1" * 400, f"0.{'3' * 400}", f"1e{'9' * 30}"),
    *("NaN", "Infinity", "-Infinity", "null", "true", "1_000", "٣", "0x10"),
)
TEXTS = (
    *("", " ", "a" * 501, "é" * 500, "\x00", "\ud800", "\u202e", "..", "%2F", "%", "a/b", "__proto__", "-", "{}", "[]"),
    *("'; DROP TABLE pieces; --", "<script>", "{{7*7}}", "\r\nx: y", "2026-02-30T00:00:00Z", "9999-12-31T23:59:60Z"),
    *("0001-01-01T00:00:00+23:59", "-1", "k" * 20_000, "😀" * 600, "a\u0301", "\uffff"),
)
SHAPES = ("[" * 2_000 + "]" * 2_000, '{"a":' * 500 + "1" + "}" * 500, "[]", "{}", "[null]", '{"id":"a","id":"b"}', '""')
HEADERS = (
    "accept-encoding",
    "if-none-match",
    "range",
    "x-penchant-min-version",
    "x-penchant-min-audience-version",
    "x-penchant-user",
    "x-request-id",
    "content-encoding",
    "origin",
)
PAGES = ("", "pieces", "piece", "user", "try", "lists", "settings", "health", "keys", "usage", "audit")
POSTED = frozenset({"try", "lists", "settings", "keys"})
"""The pages that have forms which change something."""
FIELDS = ("source", "id", "q", "after", "category", "start", "kind", "take", "algo", "by", "month", "said", "catalogs")
BUTTONS = (
    *(("do", "save"), ("do", "save"), ("do", "try"), ("save", "1"), ("up", "1"), ("down", "0"), ("first", "0")),
    *(("remove", "0"), ("add", "a"), ("draft", "{}"), ("days", "3"), ("account", "default"), ("pieces", "a\nb")),
    *(("revoke", "0"), ("change", "0"), ("secret", "default"), ("category", "c"), ("weight", "--5")),
)
"""Fields of buttons, and of areas that are empty at first."""
_HOLE = re.compile(r'"hole-(\d+)"')


@dataclass(slots=True)
class Findings:
    """What was sent and what came of it."""

    statuses: collections.Counter[int] = field(default_factory=collections.Counter)
    faults: list[str] = field(default_factory=list)
    worst_cpu_s: float = 0.0

    def __str__(self) -> str:
        """Return the findings as lines."""
        counts = ", ".join(f"{status}: {count}" for status, count in sorted(self.statuses.items()))
        head = f"{self.statuses.total()} requests ({counts}), at most {self.worst_cpu_s:.2f} s CPU"
        return "\n".join((head, *(f"FAULT {fault}" for fault in self.faults), "" if self.faults else "no fault\n"))


class Fuzzer:
    """Sends requests, one at a time, and measures what each costs the worker.

    Of all operations, or those of these names, and from forms of these pages; ``number`` is the seed.
    """

    def __init__(
        self, server: Server, number: int, *, operations: Collection[str] = (), pages: Sequence[str] = PAGES
    ) -> None:
        self.findings = Findings()
        self._server = server
        self._number = number
        schema = schemathesis.openapi.from_dict(server.client.get("/-/openapi.json").json())
        described = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
        chosen = operations or {each.definition.raw["operationId"] for each in described}
        self._operations = [each for each in described if each.definition.raw["operationId"] in chosen]
        self._pages = pages
        self._chance = random.Random(number)
        self._admin_key = new_key(server.data, admin=True)
        (self._worker,) = workers_of(server.process.pid)
        pieces = [{"id": each, "label": each, "categories": {"c": ["x", each]}} for each in "abc"]
        assert server.client.post("/s/content", json=pieces).is_success
        assert server.client.post("/s/users/kim/interactions/Play/content/a").is_success

    def run(self, seconds: float) -> Findings:
        """Send requests of all operations and forms in turn for so long; return what was found."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            self._chance.shuffle(self._operations)
            for operation in self._operations:
                if time.monotonic() < until:
                    self._fuzz_operation(operation)
            for _ in range(FORMS_A_ROUND):
                if time.monotonic() < until:
                    self._fuzz_form()
        return self.findings

    def _fuzz_operation(self, operation: Any) -> None:
        mode = self._chance.choice(list(GenerationMode))
        self._number += 1

        @seed(self._number)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(generation_mode=mode))
        def send(case: Any) -> None:
            self._send_case(case)

        # Of some operations there is nothing that is not valid.
        with suppress(Unsatisfiable):
            send()

    def _send_case(self, case: Any) -> None:
        made = case.as_transport_kwargs(base_url=self._server.url)
        headers = {str(name): str(value) for name, value in (made.get("headers") or {}).items()}
        headers["x-api-key"] = self._admin_key if "/-/admin" in case.path else self._server.key
        if self._chance.random() < 0.2:
            headers[self._chance.choice(HEADERS)] = self._chance.choice((*NUMBERS, *TEXTS))
        query = dict(made.get("params") or {})
        if query and self._chance.random() < 0.3:
            query[self._chance.choice(list(query))] = self._chance.choice((*NUMBERS, *TEXTS))
        body = self._body(case, made)
        if body is not None:
            headers["content-type"] = case.media_type or "application/json"
        self._send(case.method, self._path(case, made["url"]), headers, query, body)

    def _path(self, case: Any, url: str) -> str:
        """Return the address of a case, often of the source that is there."""
        path = url.removeprefix(self._server.url)
        return case.path.format_map(_Names(self._chance)) if self._chance.random() < 0.6 else path

    def _body(self, case: Any, made: dict[str, Any]) -> bytes | None:
        if case.media_type is None:
            return None
        if self._chance.random() < 0.05:
            return self._chance.choice(SHAPES).encode()
        if "json" in made and self._chance.random() < 0.6:
            return self._mutated(made["json"])
        if "json" in made:
            return json.dumps(made["json"]).encode()
        data = made.get("data")
        return data if isinstance(data, bytes) else str(data or "").encode("utf-8", "surrogatepass")

    def _mutated(self, body: Any) -> bytes:
        """Return a body as JSON in which some values are replaced by extreme ones."""
        holes = self._chance.randint(1, 3)
        leaves = max(1, _count(body))
        picked = {self._chance.randrange(leaves) for _ in range(holes)}
        text = json.dumps(_with_holes(body, picked, iter(range(leaves))))
        return _HOLE.sub(lambda _: self._replacement(), text).encode()

    def _replacement(self) -> str:
        chosen = self._chance.random()
        if chosen < 0.6:
            return self._chance.choice(NUMBERS)
        return self._chance.choice(SHAPES) if chosen < 0.7 else json.dumps(self._chance.choice(TEXTS))

    def _fuzz_form(self) -> None:
        """Open a page of the dashboard as somebody signed in, and send a form of it with other values."""
        page = self._chance.choice(self._pages)
        is_admin = page in {"keys", "usage", "audit"}
        visitor = Visitor(self._server, self._admin_key if is_admin else self._server.key)
        query = {"source": "s", "id": "a"}
        for _ in range(self._chance.randint(0, 3)):
            query[self._chance.choice(FIELDS)] = self._chance.choice((*NUMBERS, *TEXTS, "a", "whitelist", "blacklist"))
        path = f"{HOME}/{page}" if page else HOME
        cookies = "; ".join(f"{name}={value}" for name, value in visitor.cookies.items())
        shown = self._send("GET", path, {"cookie": cookies}, query, None)
        if shown is None or shown.status_code != 200 or page not in POSTED:
            return
        actions = [action for action in re.findall(r'action="([^"?#]+)', shown.text) if "sign-out" not in action]
        fields = fields_of(shown.text, self._chance.choice(actions)) if actions else []
        sent = [*self._filled(fields), self._chance.choice(BUTTONS)]
        form = httpx.QueryParams([(name, value.encode("utf-8", "replace").decode()) for name, value in sent])
        headers = {"cookie": cookies, "origin": self._server.url, "content-type": "application/x-www-form-urlencoded"}
        self._send("POST", path, headers, query, str(form).encode())

    def _filled(self, fields: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the fields of a form as somebody fills them in, some of them with extreme values."""
        extreme = {self._chance.randrange(len(fields)) for _ in range(self._chance.randint(0, 2)) if fields}
        for number, (name, value) in enumerate(fields):
            if number in extreme and name != "proof":
                yield name, self._chance.choice((*NUMBERS, *TEXTS))
            else:
                yield name, value or self._chance.choice(("", "", "1"))

    def _send(
        self, method: str, path: str, headers: dict[str, str], query: dict[str, Any], body: bytes | None
    ) -> httpx.Response | None:
        """Send a request and judge its answer; what no client can put into a request is left out."""
        raw = {
            name.encode("latin-1", "replace"): re.sub(rb"[\x00\r\n]", b"?", value.encode("utf-8", "replace"))
            for name, value in headers.items()
        }
        values = {name: _sendable(value) for name, value in query.items()}
        before = cpu_s(self._worker)
        try:
            answer = self._server.client.request(method, path, headers=list(raw.items()), params=values, content=body)
        except (httpx.InvalidURL, httpx.LocalProtocolError, UnicodeError):
            return None
        except httpx.TransportError as error:
            self.findings.faults.append(f"{method} {path}: {error!r}")
            return None
        self._judge(answer, cpu_s(self._worker) - before, body)
        return answer

    def _judge(self, answer: httpx.Response, cost_s: float, body: bytes | None) -> None:
        self.findings.statuses[answer.status_code] += 1
        self.findings.worst_cpu_s = max(self.findings.worst_cpu_s, cost_s)
        failed = answer.status_code >= 500 and REQUESTED_STATUS not in answer.text
        if failed or cost_s > CPU_S:
            what = f"{answer.status_code} after {cost_s:.2f} s CPU: {answer.request.method} {answer.request.url}"
            sent = f"{answer.request.headers.raw!r} {(body or b'')[:2_000]!r}"
            self.findings.faults.append(f"{what} {sent} {answer.text[:300]}")


class _Names(dict[str, str]):
    """Names of what is there, and some that cannot be, for the parts of a path."""

    def __init__(self, chance: random.Random) -> None:
        super().__init__()
        self._chance = chance

    def __missing__(self, name: str) -> str:
        if self._chance.random() < 0.1:
            text = self._chance.choice((*NUMBERS, *TEXTS))[:600]
            return str(httpx.QueryParams({"": _sendable(text)}))[1:]
        return {"source": "s", "userID": "kim", "type": "Play", "other": "b"}.get(name, "a")


def _sendable(value: Any) -> Any:
    """Return a value as a query may have it: half of a character pair is none."""
    if isinstance(value, list | tuple):
        return [_sendable(each) for each in value]
    return str(value).encode("utf-8", "replace").decode()


def _count(value: Any) -> int:
    """Return the number of values in a body that are no list and no object."""
    if isinstance(value, dict):
        return sum(map(_count, value.values()))
    return sum(map(_count, value)) if isinstance(value, list) else 1


def _with_holes(value: Any, picked: set[int], numbers: Iterator[int]) -> Any:
    """Return a body in which the values of these numbers are marked, to be replaced in its text."""
    if isinstance(value, dict):
        return {name: _with_holes(each, picked, numbers) for name, each in value.items()}
    if isinstance(value, list):
        return [_with_holes(each, picked, numbers) for each in value]
    number = next(numbers, -1)
    return f"hole-{number}" if number in picked else value


def fuzzed_server(folder: Path) -> Server:
    """Return a service that is quick to say that a version is not there yet."""
    settings = "min-version-timeout-s = 0.02\nsource-creations-per-minute = 0\nlongest-delay-s = 0\n"
    return Server(folder / "data", settings=settings)


def main() -> None:
    """Fuzz a service for some minutes; exit with 1 where something was found."""
    parser = argparse.ArgumentParser(description="Send requests that nobody should; no answer may be a 5xx, or slow.")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="what is sent follows from it")
    chosen = parser.parse_args()
    warnings.simplefilter("ignore")
    sys.stdout.write(f"seed {chosen.seed}\n")
    with tempfile.TemporaryDirectory() as folder, fuzzed_server(Path(folder)) as server:
        found = Fuzzer(server, chosen.seed).run(chosen.minutes * 60)
        tracebacks = server.log() if "Traceback" in server.log() else ""
    sys.stdout.write(f"{found}{tracebacks[-20_000:]}")
    sys.exit(bool(found.faults or tracebacks))


if __name__ == "__main__":
    main()
