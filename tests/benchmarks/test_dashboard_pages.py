"""How long does the server take for each page of the dashboard, and what does it weigh, on 10,000 books?

Prints figures (``pytest -s``) and holds the weight only: times are the machine's.
"""

import gzip
import os
import re
import statistics
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from acceptance.servers import Server, command
from visitors import HOME, fields_of

pytestmark = pytest.mark.slow

TIMES = 30
WARM_UP = 3
MAX_PAGE_BYTES = 100_000
INTERACTIONS = 50_000
SOURCE = "goodbooks"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = os.environ.get("PENCHANT_DATASETS")
    if folder is None:
        pytest.skip("PENCHANT_DATASETS does not say where the data sets are")
    books = Path(folder) / "goodbooks"
    data = tmp_path_factory.mktemp("pages") / "data"
    newest = tmp_path_factory.mktemp("newest") / "interactions.ndjson"
    with gzip.open(books / "interactions.ndjson.gz", "rb") as stored:
        newest.write_bytes(b"".join(deque(stored, INTERACTIONS)))
    files = ("--pieces", str(books / "pieces.ndjson.gz"), "--interactions", str(newest))
    loaded = command("import", "--data", str(data), "--source", SOURCE, *files, "--shift-times", timeout_s=300)
    assert loaded.returncode == 0, loaded.stderr
    started = Server(data)
    yield started
    assert started.stop() == 0


def signed_in(server: Server) -> Any:
    """Return a client that is signed in at the dashboard."""
    client = server.client
    del client.headers["x-api-key"]
    form = client.get(f"{HOME}/sign-in")
    fields = dict(fields_of(form.text, f"{HOME}/sign-in")) | {"key": server.key}
    answer = client.post(f"{HOME}/sign-in", data=fields, headers={"origin": server.url})
    assert answer.status_code == 303
    return client


@pytest.mark.timeout(600)
def test_pages_of_ten_thousand_books(server: Server) -> None:
    client = signed_in(server)
    source = {"source": SOURCE}
    pages: dict[str, tuple[str, dict[str, str]]] = {
        "overview": ("", {}),
        "pieces": ("/pieces", source),
        "pieces by id": ("/pieces", source | {"q": "1"}),
        "pieces by label": ("/pieces", source | {"by": "label", "q": "the"}),
        "pieces by a rare label": ("/pieces", source | {"by": "label", "q": "no such book"}),
        "keywords": ("/pieces", source | {"by": "keyword", "q": "f"}),
        "a piece": ("/piece", source | {"id": "1"}),
        "a person": ("/user", source | {"id": "1"}),
        "lists": ("/lists", source),
        "settings": ("/settings", source),
        "health": ("/health", source),
    }
    print(f"\n{'page':<24} {'p50 ms':>8} {'p90 ms':>8} {'HTML':>9} {'all':>9}")
    for name, (page, query) in pages.items():
        times = []
        for number in range(TIMES + WARM_UP):
            started = time.perf_counter()
            answer = client.get(HOME + page, params=query)
            if number >= WARM_UP:
                times.append((time.perf_counter() - started) * 1000)
        assert answer.status_code == 200, (name, answer.text)
        files = set(re.findall(r'(?:src|href)="([^"]+/static/[^"]+)"', answer.text))
        weight = len(answer.content) + sum(len(client.get(path).content) for path in files)
        tenths = statistics.quantiles(times, n=10)
        median = statistics.median(times)
        print(f"{name:<24} {median:>8.1f} {tenths[-1]:>8.1f} {len(answer.content):>9,} {weight:>9,}")
        assert weight <= MAX_PAGE_BYTES, name
