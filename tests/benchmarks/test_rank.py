"""What does it cost to rank 500 given pieces of 10,000? Prints figures (``pytest -s``): of a core, all of a request."""

import json
import statistics
import time

import numpy as np
import pytest

from kernel_cache import KERNELS
from penchant_engine.compiling import load_kernels
from penchant_engine.index.compiled import engine
from penchant_engine.index.compiled.samples import KINDS
from penchant_lab.bench import catalogue
from serving import Service, ok

pytestmark = pytest.mark.slow

PIECES = 10_000
REQUESTS = 200
RANK = "/s/users/u/rank"
JSON = {"content-type": "application/json"}


@pytest.mark.parametrize("share_seen", (0.0, 0.1, 1.0))
def test_rank_of_500_pieces(service: Service, share_seen: float) -> None:
    engine.use({kind: load_kernels(KERNELS, kind) for kind in KINDS})
    ids = submit(service)
    random = np.random.default_rng(1)
    given = [ids[place] for place in random.permutation(PIECES)[:500]]
    seen = [given[place] for place in range(int(500 * share_seen))] + [ids[place] for place in range(0, 1_000, 20)]
    ok(service.post("/s/interactions", json=[{"userId": "u", "type": "Watch", "contentId": each} for each in seen]))

    def cpu_ms(method: str, path: str, content: bytes = b"") -> float:
        taken = []
        for _ in range(REQUESTS):
            started = time.process_time()
            answer = service.request(method, path, content=content, headers=JSON if content else {})
            taken.append((time.process_time() - started) * 1_000)
            assert answer.status_code == 200, answer.text
        return statistics.median(taken)

    body, half = (json.dumps({"content": given, "weight": weight}).encode() for weight in (1, 0.5))
    # The client of the tests works in the same process: what a request for nothing takes is not the service's.
    nothing, sent = cpu_ms("GET", "/-/health/live"), cpu_ms("GET", "/-/health/live", body)
    listed = cpu_ms("GET", "/s/users/u/recommendation") - nothing
    ranked, mixed = cpu_ms("POST", RANK, body) - sent, cpu_ms("POST", RANK, half) - sent
    left = len(ok(service.post(RANK, content=body, headers=JSON))["left"])
    print(
        f"\n  500 of {PIECES}, {left} left out: {ranked:.2f} ms CPU, with weight 0.5 {mixed:.2f}; a recommendation "
        f"{listed:.2f}; taken off for the client {nothing:.2f}, with ids {sent:.2f}"
    )
    engine.use({})


def submit(service: Service) -> list[str]:
    """Submit a made catalogue, and return its ids."""
    for batch in catalogue.made(PIECES):
        answer = service.post("/s/content", content=b"[" + b",".join(batch) + b"]", headers=JSON)
        assert answer.status_code == 202, answer.text
    return list(ok(service.get("/s/ids"))["content"])
