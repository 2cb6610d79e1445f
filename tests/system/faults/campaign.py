"""One fault after the other under load, an audit after each, and a line for the table of docs/lab/faults.md."""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from faults.client import Answer, Client, Unanswered
from faults.load import Load, Size, Target

TIMES = int(os.environ.get("PENCHANT_FAULTS_TIMES", "0"))
"""How often each fault is tried; 0 is the short form that all tests run in: once, for a few seconds."""
WARMING_S = 1.0 if TIMES else 0.5
AFTERWARDS_S = 1.0 if TIMES else 0.5
"""How long the load runs before a fault and after full service: long enough for a hundred changes."""
RECOVERY_S = 90.0
PROBED = "probe"


def times() -> int:
    """Return how often a fault is tried in this run."""
    return max(1, TIMES)


def is_full() -> bool:
    """Return whether this is the full form."""
    return TIMES > 0


@dataclass(slots=True)
class Row:
    """What came of a fault: seconds from it to full service, and to the last request that failed."""

    name: str
    service_s: list[float] = field(default_factory=list)
    failing_s: list[float] = field(default_factory=list)

    def tell(self, load: Load) -> None:
        """Print the row of the table."""
        counts = load.findings.counts
        cells = [
            self.name,
            str(len(self.service_s)),
            *(str(counts[kind]) for kind in ("lost", "torn", "wrong")),
            f"{load.ledger.changes:,}",
            f"{counts['reads']:,}",
            *(str(counts[kind]) for kind in ("refused", "unanswered", "stale")),
            f"{statistics.median(self.service_s):.2f}",
            f"{max(self.service_s):.2f}",
            f"{max(self.failing_s):.2f}",
        ]
        say("| " + " | ".join(cells) + " |")


def say(line: str) -> None:
    """Print a line; pytest shows it with -s, as scripts/faults does."""
    sys.stdout.write(f"\n{line}")
    sys.stdout.flush()


def seconds_to_service(target: Target, since: float) -> float:
    """Return the seconds from a moment until a write and then a read of it have succeeded, through every node."""
    asking = [Client([port], target.key, timeout_s=2) for port in target.ports]
    pieces: list[dict[str, object]] = [{"id": name, "categories": {"probe": ["x"]}} for name in ("a", "b")]
    said: object = None
    try:
        while time.monotonic() - since < RECOVERY_S:
            try:
                refusals = [refusal for client in asking if (refusal := _refusal(client, pieces)) is not None]
                if not refusals:
                    return time.monotonic() - since
                said = refusals
            except Unanswered as error:
                said = error
            time.sleep(0.02)
    finally:
        for client in asking:
            client.close()
    raise AssertionError(f"no full service in time, but {said!r}")


def _refusal(client: Client, pieces: list[dict[str, object]]) -> Answer | None:
    """Return what is answered instead of a write and then a read of it."""
    answer = client.ask("POST", f"/{PROBED}/content", pieces)
    if answer.status != 202:
        return answer
    version = str(answer.json()["version"])
    read = client.ask("GET", f"/{PROBED}/content/a/similar", x_penchant_min_version=version)
    return None if read.status == 200 and not read.is_stale else read


@contextmanager
def under_load(target: Target, size: Size | None = None) -> Iterator[Load]:
    """Run the load while the block lasts; afterwards nothing may be lost, torn or wrong."""
    load = Load(target, size)
    try:
        yield load
    finally:
        load.close()


def try_fault(load: Load, row: Row, fault: Callable[[], None], mend: Callable[[], None] | None = None) -> None:
    """Make a fault happen under load, wait for full service, and audit.

    ``fault`` returns once it has happened; where ``mend`` is given it takes the fault away, and the time counts
    from then on.
    """
    time.sleep(WARMING_S)
    load.findings.failed_at = 0.0
    began = time.monotonic()
    fault()
    if mend is not None:
        mend()
        began = time.monotonic()
    row.service_s.append(seconds_to_service(load.target, began))
    time.sleep(AFTERWARDS_S)
    row.failing_s.append(max(0.0, load.findings.failed_at - began))
    load.audit()


def require_clean(load: Load) -> None:
    """Nothing was lost, torn or wrong, and there was something to lose."""
    assert load.findings.faults == 0, "\n".join(load.findings.examples)
    assert load.ledger.changes > 0
    assert load.findings.counts["reads"] > 0
