"""What does a page of a list cost, what a page of rows, and what members of pieces? Prints figures (``pytest -s``)."""

import json
import statistics
import time
from collections.abc import Mapping
from typing import Any

import pytest

from benchmarks.test_rank import JSON, PIECES, submit
from kernel_cache import KERNELS
from penchant_engine.compiling import load_kernels
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import KINDS
from serving import Service, ok

pytestmark = pytest.mark.slow

ROUNDS = 200
OTHERS = 8
"""People who take turns: of each the last list is forgotten when the next one is asked for."""
LIST = "/s/users/u/recommendation"
HEALTH = "/-/health/live"
ROWS = {"popular": {}, "new": {}, "recommendations": {}, "keyword": {"rows": 2, "fallback": "popular"}}


def test_pages_rows_and_members(service: Service) -> None:
    engine.use({kind: load_kernels(KERNELS, kind) for kind in KINDS})
    ids = submit(service)
    people = ["u", *(f"v{number}" for number in range(OTHERS))]
    watched = [{"userId": user, "type": "Watch", "contentId": each} for user in people for each in ids[::200]]
    ok(service.post("/s/interactions", json=watched))
    for kind, members in ROWS.items():
        ok(service.put(f"/s/placements/{kind}", json={"kind": kind} | members))
    second, tenth = (cursor(service, pages) for pages in (1, 9))
    page = {"user": "u", "include": ["label"], "lists": [{"placement": each, "take": 12} for each in ROWS]}
    asked: dict[str, tuple[str, str, Mapping[str, Any]]] = {
        "first page of another": ("GET", "/s/users/v{}/recommendation", {}),
        "first page": ("GET", LIST, {}),
        "second page": ("GET", LIST, {"params": {"after": second}}),
        "tenth page": ("GET", LIST, {"params": {"after": tenth, "take": 29}}),
        "with members": ("GET", f"{LIST}?include=label,extras", {}),
        "rows with labels": ("POST", "/s/lists", {"content": json.dumps(page).encode(), "headers": JSON}),
    }
    # The client works in the same process, and a cursor in an address takes it half a millisecond: the same is sent
    # for nothing, and taken off.
    asked |= {f"{name} for nothing": ("GET", HEALTH, options) for name, (_, _, options) in asked.items()}
    taken: dict[str, list[float]] = {name: [] for name in asked}
    for number in range(ROUNDS):
        # In turn: what else the machine does falls on all of them alike.
        for name, (method, path, options) in asked.items():
            started = time.process_time()
            answer = service.request(method, path.format(number % OTHERS), **options)
            taken[name].append((time.process_time() - started) * 1_000)
            assert answer.status_code == 200, answer.text

    medians = {name: statistics.median(each) for name, each in taken.items()}
    pairs = {name: (medians[name], medians[f"{name} for nothing"]) for name in asked if f"{name} for nothing" in asked}
    figures = ", ".join(f"{name} {own - nothing:.2f} (off {nothing:.2f})" for name, (own, nothing) in pairs.items())
    print(f"\n  of {PIECES} pieces, ms CPU: {figures}")
    engine.use({})


def cursor(service: Service, pages: int) -> str:
    """Return where a list goes on after some pages."""
    after: dict[str, str] = {}
    for _ in range(pages):
        after = {"after": service.get(LIST, params=after).headers["x-penchant-next"]}
    return after["after"]
