"""Churn: everything that tenants and strangers can make is made, read and deleted, and the service stays as it was.

``python -m hostile.churn --minutes N`` (from ``tests``) starts a service and prints a line for each round.
"""

import argparse
import contextlib
import sqlite3
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from acceptance.servers import Server, new_key
from hostile.attacks import MIB
from kernel_cache import KERNELS
from penchant.bootstrap import storage_of
from penchant.settings import NodeSettings
from penchant.wire.settings import stored_retention_days
from penchant_engine.model import DAY_MS
from visitors import HOME, Visitor, fields_of

SOURCES = 6
PEOPLE = 16
PIECES = 100
HEADERS = 16
SESSIONS = 2
KEYS = 1
LASTING = "lasting"
"""The source that stays, in which pieces and people come and go."""
SIGN_OUT = f"{HOME}/sign-out"
WARMING_ROUNDS = 3
"""Rounds before the first that counts, or a third of all: connections, templates and compiled kernels take a while."""
PURGE_AHEAD_MS = 8 * DAY_MS
"""Housekeeping is told that it is so much later, past the life of deletions and erasures."""
AUDIT_DAYS = 1
"""How long it is told to keep the audit log, and keys that were revoked."""
MEMORY_SHARE = 0.08
MEMORY_BYTES = 24 * MIB
"""What memory may grow by: the share, or this where it is more, as in a soak; bounded caches fill slowly."""
DESCRIPTORS = 8
"""What open files may grow by: threads of a pool that was never full open a connection each."""
FILE_BYTES = 8 * MIB
"""What files may grow by, for the database's log, whose length comes and goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What a service takes at a moment, all its processes together."""

    memory_bytes: int
    descriptors: int
    files: int
    file_bytes: int
    rows: Mapping[str, int]

    def __str__(self) -> str:
        """Return the sample as a line."""
        rows = " ".join(f"{table}={count}" for table, count in self.rows.items())
        sizes = f"{self.memory_bytes / MIB:.1f} MiB memory, {self.file_bytes / MIB:.1f} MiB in {self.files} files"
        return f"{sizes}, {self.descriptors} descriptors, {rows}"


class Churn:
    """Rounds of making, reading and deleting, each with names that were never there before."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._admin = {"x-api-key": new_key(server.data, admin=True)}
        self._round = 0
        self._ask("POST", f"/{LASTING}/content", json=[piece(each, "always") for each in ("stays", "too")])

    def run(self) -> Sample:
        """Make, read and delete everything once, keep house, and return what the service takes then."""
        self._round += 1
        for number in range(SOURCES):
            self._churn_source(f"churn-{self._round}-{number}")
        self._churn_pieces()
        self._churn_people()
        self._churn_headers()
        self._churn_wrong_keys()
        self._churn_keys()
        for _ in range(SESSIONS):
            visitor = Visitor(self._server, self._server.key)
            fields = fields_of(visitor.get("sources").text, SIGN_OUT)
            assert visitor.send(SIGN_OUT, fields).status_code == 303
        self._keep_house()
        return sample(self._server)

    def _churn_source(self, name: str) -> None:
        pieces = [piece(f"{name}-{number}", name) for number in range(3)]
        done = [{"userId": f"{name}-kim", "type": "Watch", "contentId": pieces[0]["id"]}]
        self._ask("POST", f"/{name}/content", json=pieces)
        self._ask("POST", f"/{name}/interactions", json=done)
        self._ask("PUT", f"/{name}/blacklist", json=[pieces[2]["id"]])
        self._ask("GET", f"/{name}/content/{name}-0/similar")
        self._ask("GET", f"/{name}/users/{name}-kim/recommendation")
        self._ask("GET", f"/{name}/ids")
        self._ask("DELETE", f"/{name}?confirm={name}")

    def _churn_pieces(self) -> None:
        ids = [f"piece-{self._round}-{number}" for number in range(PIECES)]
        self._ask("POST", f"/{LASTING}/content", json=[piece(each, f"keyword-{each}") for each in ids])
        self._ask("GET", f"/{LASTING}/content/{ids[0]}/similar?explain=true")
        self._ask("DELETE", f"/{LASTING}/content", json=ids)
        self._ask("GET", f"/{LASTING}/content/stays/similar")

    def _churn_people(self) -> None:
        people = [f"person-{self._round}-{number}" for number in range(PEOPLE)]
        done = [
            {"userId": person, "type": "Watch", "contentId": "stays", "eventId": f"event-{person}"} for person in people
        ]
        self._ask("POST", f"/{LASTING}/interactions", json=done)
        for person in people:
            self._ask("GET", f"/{LASTING}/users/{person}/recommendation")
            self._ask("DELETE", f"/{LASTING}/users/{person}")

    def _churn_headers(self) -> None:
        for number in range(HEADERS):
            word = f"w{self._round}-{number}"
            headers = {
                "accept-encoding": f"gzip;q=0.{self._round}{number}, {word}",
                "accept-language": word,
                "if-none-match": f'"{word}"',
                "origin": f"https://{word}.example",
                "user-agent": word,
                "x-forwarded-for": word,
                "x-penchant-user": f"{word}.1.{word}",
                "x-request-id": word,
            }
            self._ask("GET", f"/{LASTING}/content/stays/similar?exclude={word}", headers=headers)
            self._ask("GET", f"/-/openapi.json?{word}={word}", headers=headers)
            self._ask("GET", f"/{word}/content/{word}", 4, headers=headers)

    def _churn_wrong_keys(self) -> None:
        """Send wrong keys, of an address that was not seen before."""
        address = f"127.{1 + self._round // 62500 % 250}.{self._round // 250 % 250}.{1 + self._round % 250}"
        with httpx.Client(base_url=self._server.url, transport=httpx.HTTPTransport(local_address=address)) as client:
            for number in range(5):
                wrong = {"x-api-key": f"pn_{self._round:012}_{number:032}"}
                assert client.get("/s/ids", headers=wrong).status_code == 401

    def _churn_keys(self) -> None:
        for _ in range(KEYS):
            made = self._ask("POST", "/-/admin/keys", json={"account": "default"}, headers=self._admin).json()
            self._ask("GET", f"/{LASTING}/ids", headers={"x-api-key": made["key"]})
            self._ask("DELETE", f"/-/admin/keys/{made['keyId']}", headers=self._admin)

    def _keep_house(self) -> None:
        """Remove what no answer will need in eight days, beside the running service."""
        now = int(time.time() * 1000) + PURGE_AHEAD_MS
        with contextlib.closing(storage_of(NodeSettings(data=str(self._server.data)))) as storage:
            while storage.upkeep.purge(stored_retention_days, audit_days=AUDIT_DAYS, now=now):
                pass

    def _ask(self, method: str, path: str, kind: int = 2, **options: Any) -> httpx.Response:
        """Return the answer, whose status is of a kind: 2 for 200 to 299."""
        answer = self._server.client.request(method, path, **options)
        assert answer.status_code // 100 == kind, (method, path, answer.text)
        return answer


def piece(piece_id: str, keyword: str) -> dict[str, Any]:
    """Return a piece with a keyword of its own and one that all have."""
    return {"id": piece_id, "categories": {"c": [keyword, "shared"]}}


def processes_of(process: int) -> list[int]:
    """Return a process and all that it has started, theirs included."""
    found = [process]
    with contextlib.suppress(OSError):
        for child in Path(f"/proc/{process}/task/{process}/children").read_text().split():
            found += processes_of(int(child))
    return found


def own_bytes(process: int) -> int:
    """Return the memory of a process (PSS) but pages of files, whose share strange processes change.

    The files of a service are counted by themselves.
    """
    lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))


def rows_by_table(database: Path) -> dict[str, int]:
    """Return the number of rows of each table of a database."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        tables = [name for (name,) in named if not name.startswith("sqlite_")]
        return {table: connection.execute(f'SELECT COUNT(*) FROM "{table}"').fetchone()[0] for table in tables}


def sample(server: Server) -> Sample:
    """Return what a service takes now."""
    memory = descriptors = 0
    for process in processes_of(server.process.pid):
        # One that builds files of the index may end meanwhile.
        with contextlib.suppress(OSError):
            memory += own_bytes(process)
            descriptors += len(list(Path(f"/proc/{process}/fd").iterdir()))
    sizes = [path.stat().st_size for path in server.data.rglob("*") if path.is_file()]
    return Sample(
        memory_bytes=memory,
        descriptors=descriptors,
        files=len(sizes),
        file_bytes=sum(sizes),
        rows=rows_by_table(server.data / "penchant.db"),
    )


def growth_of(samples: Sequence[Sample]) -> list[str]:
    """Return what grew over the rounds though it has a bound; the first ones warm the service up."""
    counted = samples[max(WARMING_ROUNDS, len(samples) // 3) :]
    first, last = counted[0], counted[-1]
    found = []
    for table, count in last.rows.items():
        if count != first.rows[table]:
            found.append(f"{count} rows of {table} instead of {first.rows[table]}")
    allowed = max(MEMORY_BYTES, int(first.memory_bytes * MEMORY_SHARE))
    for name, before, after, more in (
        ("bytes of memory", first.memory_bytes, last.memory_bytes, allowed),
        ("descriptors", first.descriptors, last.descriptors, DESCRIPTORS),
        ("files", first.files, last.files, 0),
        ("bytes of files", first.file_bytes, last.file_bytes, FILE_BYTES),
    ):
        if after > before + more:
            found.append(f"{after} {name} after {before}")
    return found


def churned_server(folder: Path, kernels: Path = KERNELS) -> Server:
    """Return a service that lets sources be made as fast as they can."""
    settings = "source-creations-per-minute = 0\nlongest-delay-s = 0\n"
    return Server(folder / "data", settings=settings, kernels=kernels)


def main() -> None:
    """Churn for some minutes and print each round; exit with 1 where something grew."""
    parser = argparse.ArgumentParser(description="Make, read and delete everything; nothing may grow.")
    parser.add_argument("--minutes", type=float, default=5)
    until = time.monotonic() + parser.parse_args().minutes * 60
    samples: list[Sample] = []
    with tempfile.TemporaryDirectory() as folder, churned_server(Path(folder)) as server:
        churn = Churn(server)
        while time.monotonic() < until or len(samples) < WARMING_ROUNDS + 2:
            samples.append(churn.run())
            sys.stdout.write(f"{len(samples)}: {samples[-1]}\n")
            sys.stdout.flush()
    grown = growth_of(samples)
    sys.stdout.write("".join(f"grew: {line}\n" for line in grown) or "level\n")
    sys.exit(bool(grown))


if __name__ == "__main__":
    main()
