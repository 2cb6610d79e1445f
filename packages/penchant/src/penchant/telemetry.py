"""Telemetry: counters and histograms in the Prometheus form, and structured log lines.

Labels hold route templates, methods, statuses, codes and ids of browser keys only: never a source, an account or a
person.
"""

import contextlib
import errno
import fcntl
import logging
import operator
import os
import sys
import time
import traceback
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal, TypeVar

import msgspec
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, Metric, generate_latest, values
from prometheus_client.mmap_dict import MmapedDict
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

from penchant.errors import ConnectionLost, NoRoom, StorageUnavailable

SECONDS_BUCKETS = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
"""Upper bounds of the latency histograms: from a list out of the index to a full submission."""

GROUP_BUCKETS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000)
"""Upper bounds of the histogram of how many changes share a commit."""

BUILD_BUCKETS = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600)
"""Upper bounds of the histogram of builds: from 5,000 pieces to many millions."""

METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
"""Methods that are counted by name; a client may invent others without end."""
MAX_LABELLED_KEYS = 100
"""Browser keys that a process counts by their ids; more are counted together, so that files stay small."""
FILE_BYTES = 1 << 20
"""Room for some 4,000 series of a kind, more than the routes, methods, statuses and buckets can make."""
GAUGE_BYTES = 1 << 16
"""Room for some 250 series: gauges have a lane as their label, or none."""
_FILES = {"counter": FILE_BYTES, "histogram": FILE_BYTES, "gauge_livesum": GAUGE_BYTES, "gauge_max": GAUGE_BYTES}
"""Room in a process's files by the prefixes that prometheus-client gives to their names."""

KEPT_ERROR_BYTES = 64 * 1024
"""How large the file of the last errors may become."""
SHOWN_ERRORS = 20
"""How many of them are told."""
REPEATED_S = 60.0
"""How often a line is logged that tells of what goes on."""
MAX_TOLD = 100
_told_at: dict[str, float] = {}
_PACKAGE = Path(__file__).parent

_ENDED = 0
"""The number, no process's, under which the files of those that have ended are added up."""

logger = logging.getLogger("penchant")
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
"""The id of the request that is being answered, for the log lines that it leads to."""
Kind = TypeVar("Kind")


class Metrics:
    """The metrics of one process, in a registry of its own so that tests do not share state.

    With ``folder`` (that of ``settings.metrics_folder``, since prometheus-client looks at the same variable) they
    are kept in files there, and `render` sums up those of all processes: counts of processes that have ended
    stay, gauges are of those that live.

    Raises:
        OSError: ``folder`` has no room for the files.
    """

    def __init__(self, folder: Path | None = None) -> None:
        """Make the metrics, in files of ``folder`` or in this process alone."""
        self._folder = folder
        self._requests: dict[tuple[str, str, int], _RequestCount] = {}
        self._refused_keys: set[str] = set()
        if folder is not None:
            with _alone(folder):
                _add_up_the_dead(folder)
            # Before the first metric: prometheus-client maps the files as soon as one is made.
            _reserve_files(folder, os.getpid())
        _keep_values(in_files=folder is not None)
        self.registry = CollectorRegistry()
        self._brought: dict[Any, Any] = {}
        self._add_request_metrics()
        self._add_storage_metrics()
        self._add_index_metrics()
        self._add_feed_metrics()

    def of(self, kind: Callable[["Metrics"], Kind]) -> Kind:
        """Return the metrics of a package, an object of a class that makes them of these when it is first asked for."""
        if kind not in self._brought:
            self._brought[kind] = kind(self)
        metrics: Kind = self._brought[kind]
        return metrics

    def counter(self, name: str, text: str, *labels: str) -> Counter:
        """Return a new counter."""
        return Counter(name, text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str, mode: Literal["livesum", "max"] = "livesum") -> Gauge:
        """Return a gauge whose values of all live processes are added up, or of which the greatest counts."""
        return Gauge(name, text, labels, registry=self.registry, multiprocess_mode=mode)

    def _histogram(self, name: str, text: str, *labels: str, buckets: Sequence[float] = SECONDS_BUCKETS) -> Histogram:
        return Histogram(name, text, labels, buckets=buckets, registry=self.registry)

    def _add_request_metrics(self) -> None:
        """Make the metrics of requests, changes, and what runs beside them."""
        counter, histogram = self.counter, self._histogram
        self.requests = counter("penchant_requests", "Answered requests.", "route", "method", "status")
        self.request_seconds = histogram(
            "penchant_request_seconds", "Time from a request's first byte to the end of its answer.", "route", "method"
        )
        self.problems = counter("penchant_problems", "Refused requests, by code.", "code")
        self.relayed_requests = counter(
            "penchant_relayed_requests", "Requests that the helper answered, of accounts that used most of a worker."
        )
        self.browser_key_refusals = counter(
            "penchant_browser_key_refusals", "Errors answered to browser keys, by key and code.", "key_id", "code"
        )
        self.failures = counter(
            "penchant_failures", "Unexpected exceptions; each is logged with its traceback.", "where"
        )
        self.background_seconds = counter(
            "penchant_background_seconds", "Time that tasks beside requests have taken, by task.", "task"
        )
        self.pieces_submitted = counter("penchant_pieces_submitted", "Pieces accepted in submissions.")
        self.interactions_recorded = counter("penchant_interactions_recorded", "Interactions stored.")
        self.preferences_replaced = counter("penchant_preferences_replaced", "Preferences stored or removed.")
        self.commit_seconds = histogram(
            "penchant_commit_seconds", "Time from a change's arrival to its commit.", "lane"
        )
        self.follow_seconds = histogram(
            "penchant_follow_seconds", "Time to bring a source's snapshot up to date.", "feed"
        )
        self.rows_purged = counter("penchant_rows_purged", "Rows removed by housekeeping.")
        self.erased_log_bytes = self._gauge(
            "penchant_erased_log_bytes", "Size of SQLite's write-ahead log while it may hold what was erased."
        )
        self.erased_log_seconds = self._gauge("penchant_erased_log_seconds", "How long it has.")

    def _add_storage_metrics(self) -> None:
        """Make the metrics of the database: queues, groups, connections, reads, and keys and lists that were cached."""
        counter, gauge, histogram = self.counter, self._gauge, self._histogram
        self.queued_changes = gauge("penchant_queued_changes", "Changes that wait for their commit.", "lane")
        self.queued_bytes = gauge("penchant_queued_bytes", "Bodies of changes that wait.", "lane")
        self.group_changes = histogram(
            "penchant_group_changes", "Changes that share a commit.", "lane", buckets=GROUP_BUCKETS
        )
        self.queue_seconds = histogram("penchant_queue_seconds", "How long the first change of a group waited.", "lane")
        self.full_disk = gauge("penchant_full_disk", "Workers that find the disk of the database full.")
        self.connections = gauge("penchant_database_connections", "Database connections in use.")
        self.connections_opened = counter("penchant_database_connections_opened", "Database connections made.")
        self.read_wait_seconds = histogram("penchant_read_wait_seconds", "How long reads waited for a thread.")
        self.key_checks = counter("penchant_key_checks", "Keys remembered (hit) or read (miss).", "cache")
        self.answers = counter("penchant_answers", "Lists and profiles, remembered (hit) or made (miss).", "cache")
        self.filtered_lists = counter("penchant_filtered_lists", "Lists with a filter or boosts.", "parameter")
        self.agent_calls = counter(
            "penchant_agent_calls", "Calls of tools by agents: ok, or the code of the error.", "tool", "outcome"
        )
        self.remembered_people = counter(
            "penchant_remembered_people",
            "People who asked for recommendations, remembered (hit) or read (miss).",
            "cache",
        )
        self.remembered_people_bytes = gauge(
            "penchant_remembered_people_bytes", "Memory of what people did who asked for recommendations lately."
        )

    def _add_feed_metrics(self) -> None:
        """Make the metrics of the change feed."""
        counter, gauge = self.counter, self._gauge
        self.changes_sent = counter("penchant_changes_sent", "Changes of pieces sent to followers.")
        self.waiting_followers = gauge("penchant_waiting_followers", "Requests that wait for a change.")

    def _add_index_metrics(self) -> None:
        """Make the metrics of the index: what is loaded, merged, weighed, built, mapped and unloaded."""
        counter, gauge, histogram = self.counter, self._gauge, self._histogram
        self.loaded_sources = gauge(
            "penchant_loaded_sources", "Sources with a snapshot in memory, counted in each worker."
        )
        self.loaded_pieces = gauge(
            "penchant_loaded_pieces", "Pieces in the snapshots in memory, counted in each worker."
        )
        self.loaded_bytes = gauge(
            "penchant_loaded_bytes", "Memory of the snapshots, mapped files included, counted in each worker."
        )
        self.index_lag = gauge(
            "penchant_index_lag_versions", "Versions that loaded sources stood behind the database when last asked for."
        )
        self.merge_seconds = histogram("penchant_merge_seconds", "Merges of index segments within a worker.")
        self.weigh_seconds = histogram(
            "penchant_weigh_seconds", "Making of the weights of what people like within a worker."
        )
        self.build_seconds = histogram(
            "penchant_build_seconds", "How long builds of files of the index took.", buckets=BUILD_BUCKETS
        )
        self.last_build = gauge(
            "penchant_last_build_timestamp_seconds", "When a file of the index was last built.", mode="max"
        )
        self.sources_unloaded = counter(
            "penchant_sources_unloaded", "Snapshots let go to keep within the memory budget."
        )
        self.segments_built = counter("penchant_segments_built", "Segment files built.")
        self.segments_mapped = counter("penchant_segments_mapped", "Segment files mapped.")
        self.likes_built = counter("penchant_likes_built", "Likes files built.")
        self.weights_built = counter("penchant_weights_built", "Weights files built.")
        self.weights_mapped = counter("penchant_weights_mapped", "Weights files mapped.")
        self.likes_mapped = counter("penchant_likes_mapped", "Likes files mapped.")

    def count_browser_refusal(self, key_id: str, code: str) -> None:
        """Count an error that was answered to a browser key."""
        if len(self._refused_keys) < MAX_LABELLED_KEYS:
            self._refused_keys.add(key_id)
        self.browser_key_refusals.labels(key_id if key_id in self._refused_keys else "others", code).inc()

    def files_built(self, kind: str) -> Counter:
        """Return the counter of built index files, by kind."""
        return {"segment": self.segments_built, "likes": self.likes_built, "weights": self.weights_built}[kind]

    def count_request(self, route: str, method: str, status: int, seconds: float) -> None:
        """Count an answered request; methods that the interface does not have count as one.

        It is among the metrics after the next `add_requests`: to change three of them takes 6 us.
        """
        method = method if method in METHODS else "other"
        place = (route, method, status)
        counted = self._requests.get(place)
        if counted is None:
            requests = self.requests.labels(route, method, str(status))
            counted = self._requests[place] = _RequestCount(requests, self.request_seconds.labels(route, method))
        counted.note(seconds)

    def add_requests(self) -> None:
        """Add the requests that were counted since, as often as somebody asks; for the thread that counts them."""
        for counted in self._requests.values():
            counted.add()

    def render(self) -> bytes:
        """Return all metrics in the Prometheus text form; in a few milliseconds where files are summed up."""
        with self._collected() as registry:
            return generate_latest(registry)

    def counts(self, name: str, *labels: str) -> dict[tuple[str, ...], int]:
        """Return what a counter has by some of its labels, of all processes; costs as much as `render`."""
        counts: dict[tuple[str, ...], int] = {}
        with self._collected() as registry:
            samples = [sample for metric in registry.collect() for sample in metric.samples]
        for sample in samples:
            if sample.name == f"{name}_total":
                values = tuple(sample.labels[label] for label in labels)
                counts[values] = counts.get(values, 0) + int(sample.value)
        return counts

    @contextlib.contextmanager
    def _collected(self) -> Iterator[CollectorRegistry]:
        """Give the metrics of all processes, which no other process adds up meanwhile."""
        if self._folder is None:
            yield self.registry
            return
        registry = CollectorRegistry()
        registry.register(_FilesCollector(self._folder))
        # Two that add up the same ended process at once would count it twice.
        with _alone(self._folder):
            _add_up_the_dead(self._folder)
            yield registry


class SecondsCount:
    """What adds to the values behind a histogram with `SECONDS_BUCKETS`, its labels given.

    To look labelled metrics up, and to pass their checks, takes three times as long as to count.
    """

    def __init__(self, times: Histogram) -> None:
        # They have these under no other name.
        self.seconds: Callable[[float], None] = times._sum.inc  # noqa: SLF001  # as above
        self.buckets: Sequence[Callable[[float], None]] = [each.inc for each in times._buckets]  # noqa: SLF001  # as above

    def count(self, seconds: float) -> None:
        """Count what took so long."""
        self.seconds(seconds)
        self.buckets[bisect_left(SECONDS_BUCKETS, seconds)](1)


class _RequestCount(SecondsCount):
    """Requests that were answered alike: how many there were since they were added last, and how long they took."""

    def __init__(self, requests: Counter, times: Histogram) -> None:
        super().__init__(times)
        self._requests = requests
        self._sum_s = 0.0
        self._in_buckets = [0] * len(self.buckets)

    def note(self, seconds: float) -> None:
        """Note one that took so long."""
        self._sum_s += seconds
        self._in_buckets[bisect_left(SECONDS_BUCKETS, seconds)] += 1

    def add(self) -> None:
        """Add what was noted to the values behind the metrics."""
        number = sum(self._in_buckets)
        if not number:
            return
        self._requests.inc(number)
        self.seconds(self._sum_s)
        for add, counted in zip(self.buckets, self._in_buckets, strict=True):
            if counted:
                add(counted)
        self._sum_s, self._in_buckets = 0.0, [0] * len(self.buckets)


class _FilesCollector(Collector):
    """Sums up the files of a folder; prometheus-client's own takes ``[`` and ``*`` in its name for a pattern."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def collect(self) -> Iterable[Metric]:
        """Return the metrics of all processes."""
        files = [str(path) for path in self._folder.glob("*.db")]
        return MultiProcessCollector.merge(files, accumulate=True)  # type: ignore[no-any-return,no-untyped-call]


def _keep_values(*, in_files: bool) -> None:
    """Let prometheus-client choose again where it keeps values: at its import there may have been no folder."""
    if values.ValueClass._multiprocess != in_files:  # noqa: SLF001  # it has no other sign
        values.ValueClass = values.get_value_class()  # type: ignore[no-untyped-call]


def _reserve_files(folder: Path, process: int) -> None:
    """Make a process's files at their whole size: on a full disk, growing a mapped one would be fatal."""
    for kind, room in _FILES.items():
        path = folder / f"{kind}_{process}.db"
        try:
            with path.open("ab") as file:
                file.write(bytes(room - file.tell()))
        except OSError:
            # A file without a beginning is none that can be read.
            path.unlink(missing_ok=True)
            raise


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no other process add up, or read, meanwhile."""
    descriptor = os.open(folder / "adding-up.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _add_up_the_dead(folder: Path) -> None:
    """Put what ended processes have counted into one set of files; else each that dies leaves 2 MB on the disk."""
    ended = [path for path in folder.glob("*_*.db") if _has_ended(int(path.stem.rpartition("_")[2]))]
    if not ended:
        return
    _reserve_files(folder, _ENDED)
    for path in ended:
        kind = path.stem.rpartition("_")[0]
        # Such a gauge says how things stand in a living process: it goes with it.
        if not kind.startswith("gauge_live"):
            _add_file(path, folder / f"{kind}_{_ENDED}.db", max if kind == "gauge_max" else operator.add)
        # In this order a process that is killed here leaves counts that appear twice, never counts that are lost.
        path.unlink()


def _add_file(path: Path, total: Path, join: Callable[[float, float], float]) -> None:
    totals = MmapedDict(str(total))  # type: ignore[no-untyped-call]
    try:
        for key, value, moment, _ in MmapedDict.read_all_values_from_file(str(path)):  # type: ignore[no-untyped-call]
            known, _ = totals.read_value(key)  # type: ignore[no-untyped-call]
            totals.write_value(key, join(known, value), moment)  # type: ignore[no-untyped-call]
    finally:
        totals.close()  # type: ignore[no-untyped-call]


def _has_ended(process: int) -> bool:
    if process == _ENDED:
        return False
    try:
        # Signal 0 only asks whether there is such a process.
        os.kill(process, 0)
    except (ProcessLookupError, PermissionError):
        # Its number may belong to a process of somebody else by now.
        return True
    return False


class _PeopleFormatter(logging.Formatter):
    """One line for people: time, level, message, then names with values; a traceback on lines of its own."""

    def format(self, record: logging.LogRecord) -> str:
        words = [_moment(record), record.levelname, record.getMessage()]
        fields = _fields(record)
        if fields["request_id"] is None:
            del fields["request_id"]
        words += [f"{name}={_shown(value)}" for name, value in fields.items()]
        if record.exc_info:
            words[-1] += "\n" + self.formatException(record.exc_info)
        return " ".join(words)


class _JsonFormatter(logging.Formatter):
    """One JSON object a line, all of which have time, level, message and request_id."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": _moment(record),
            "level": record.levelname.lower(),
            "message": record.getMessage(),
        }
        line |= _fields(record)
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line).decode()


def _moment(record: logging.LogRecord) -> str:
    return datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _fields(record: logging.LogRecord) -> dict[str, Any]:
    """Return the request that the line belongs to, ``None`` where to none, and what ``extra={"fields": …}`` holds."""
    return {"request_id": request_id.get(), **getattr(record, "fields", {})}


def _shown(value: Any) -> str:
    plain = isinstance(value, str) and value.isprintable() and " " not in value
    return str(value) if plain else msgspec.json.encode(value).decode()


def log_failure(text: str, *words: object, metrics: Metrics | None = None, where: str = "") -> None:
    """Log the error that is being handled, of what is tried again later, with its traceback, and count it by ``where``.

    Where the database is away or full storage tells of that: nothing is added. What else is known to be unavailable
    is told in a line a minute.
    """
    error = sys.exception()
    if isinstance(error, ConnectionLost | NoRoom):
        logger.debug(text, *words)
        return
    is_full = isinstance(error, OSError) and error.errno in {errno.ENOSPC, errno.EDQUOT}
    if is_full or isinstance(error, StorageUnavailable):
        line = f"{text % words}: {getattr(error, 'reason', error)}"
        now = time.monotonic()
        if now - _told_at.get(line, -REPEATED_S) >= REPEATED_S:
            if len(_told_at) >= MAX_TOLD:
                _told_at.clear()
            _told_at[line] = now
            logger.warning("%s", line)
        return
    if metrics is not None:
        metrics.failures.labels(where).inc()
    logger.error(text, *words, exc_info=error)


class LoggedError(msgspec.Struct, frozen=True, omit_defaults=True):
    """An error as `last_errors` has it: the message without its values, the kind of exception, and where it was raised.

    Nothing of it can be about a person or hold a key, so that it may be sent with a request for support.
    """

    time: str
    message: str
    kind: str = ""
    place: str = ""


class _ErrorKeeper(logging.Handler):
    """Keeps the last errors in a file, some tens of them, of all processes of a service."""

    def __init__(self, path: Path) -> None:
        super().__init__(logging.ERROR)
        self._path = path

    def emit(self, record: logging.LogRecord) -> None:
        kind, place = "", ""
        if record.exc_info and record.exc_info[0] is not None:
            kind = f"{record.exc_info[0].__module__}.{record.exc_info[0].__qualname__}"
            frames = [
                each for each in traceback.extract_tb(record.exc_info[2]) if _PACKAGE in Path(each.filename).parents
            ]
            place = f"{Path(frames[-1].filename).relative_to(_PACKAGE)}:{frames[-1].lineno}" if frames else ""
        line = msgspec.json.encode(LoggedError(_moment(record), str(record.msg), kind, place)) + b"\n"
        # What could not be kept stands in the log all the same.
        with contextlib.suppress(OSError):
            self._keep(line)

    def _keep(self, line: bytes) -> None:
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "r+b", buffering=0) as file:
            # One write at the end, which those of other processes never mix with.
            file.write(line)
            if file.seek(0, os.SEEK_END) > KEPT_ERROR_BYTES:
                file.seek(0)
                newest = file.read().splitlines(keepends=True)[-SHOWN_ERRORS:]
                file.truncate(0)
                file.write(b"".join(newest))


def last_errors(path: Path) -> list[LoggedError]:
    """Return the last errors that were kept in a file, oldest first; none where there is no such file."""
    errors = []
    with contextlib.suppress(OSError):
        for line in path.read_bytes().splitlines()[-SHOWN_ERRORS:]:
            # A line that a full disk has cut.
            with contextlib.suppress(msgspec.DecodeError):
                errors.append(msgspec.json.decode(line, type=LoggedError))
    return errors


def start_logging(level: str, form: str, *, errors: Path | None = None) -> None:
    """Send the project's log lines to standard error from this severity on, as ``text`` or ``json``; again is fine.

    The last errors are kept in the file ``errors`` as well.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter({"text": _PeopleFormatter, "json": _JsonFormatter}[form]())
    # Replaced, not added: this is called again when settings change.
    logger.handlers = [handler] if errors is None else [handler, _ErrorKeeper(errors)]
    logger.setLevel(level.upper())
    # A program that embeds the service and logs by itself would write each line twice.
    logger.propagate = False
