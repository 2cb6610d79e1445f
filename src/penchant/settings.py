"""The settings of the service: environment before TOML file before default.

The only place that reads or sets the environment. Every setting says what it does and whether it changes answers or
only operation; ``docs/settings.md`` is checked against this file by a test.
"""

import contextlib
import os
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec

from penchant.errors import InvalidSettings
from penchant.model import BUILT_IN_PLANS, Feature, Plan

ENVIRONMENT_PREFIX = "PENCHANT_"
SETTINGS_FILE = "penchant.toml"

MAX_WORKERS = 256
"""More than the cores of any one machine that this runs on: a guard against slips of the keyboard."""
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""By this, set before its import, prometheus-client keeps a process's metrics in files that others can sum up."""
CLIENT_KEY_VARIABLE = "PENCHANT_KEY"
"""Where a command that asks a server finds its key: arguments are seen by everybody on the machine."""

RELOADED = frozenset(
    {
        "body_limit_bytes",
        "body_timeout_s",
        "index_memory_bytes",
        "log_format",
        "log_level",
        "log_requests",
        "longest_delay_s",
        "metrics_public",
        "min_version_timeout_s",
        "plans",
        "send_timeout_s",
        "stale_reads_s",
    }
)
"""The settings that may change while the service runs; all others want a restart."""
PUBLISHED_FILE = "settings.json"
"""Where these stand for the processes of a service, in the folder where they count together."""

Count = Annotated[int, msgspec.Meta(ge=0)]
PositiveCount = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]


class PlanSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A plan as the settings file describes it; a limit left out is no limit."""

    features: tuple[Feature, ...] = ()
    requests_per_second: PositiveCount | None = None
    sources: Count | None = None
    pieces_per_source: Count | None = None
    recommendations_per_month: Count | None = None


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """All settings of one node. Names in the file are in kebab-case, in the environment in upper case."""

    data: str = "penchant-data"
    """Folder of the SQLite file and of caches; made if missing."""
    database: str | None = None
    """Address of a PostgreSQL database; without one the data folder holds an SQLite file."""
    database_connections: PositiveCount = 16
    """Connections to PostgreSQL that each worker may hold; requests that need one wait for it."""
    database_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 10
    """How long a request waits for a connection to PostgreSQL, before 503."""
    redis: Annotated[str, msgspec.Meta(pattern=r"^rediss?://")] | None = None
    """Address of a Redis through which the rates of keys hold for all nodes together."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, msgspec.Meta(ge=1, le=65535)] = 8080
    """Port to listen on."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKERS)] = 1
    """Processes that answer requests, all of them the same; about one for each core."""
    base_path: Annotated[str, msgspec.Meta(pattern=r"^(/[A-Za-z0-9._~-]+)*$")] = ""
    """Path that all routes stand below, such as ``/recommendations``."""
    body_limit_bytes: PositiveCount = 32 * 1024 * 1024
    """Largest request body, counted after decompression; more is 413."""
    body_timeout_s: Seconds = 30
    """How long a client may pause while it sends a body, before 408."""
    body_memory_bytes: PositiveCount = 256 * 1024 * 1024
    """What the bodies of requests under way may take together in each worker; beyond it 503."""
    longest_delay_s: Seconds = 0.025
    """How long a request may have to wait for its turn in a worker while 32 others wait, before it is turned away with
    503; 0: any."""
    send_timeout_s: Seconds = 60
    """How long a client may pause while it reads a streamed list, before it is cut."""
    min_version_timeout_s: Seconds = 5
    """How long a read waits for the version that it asks for, before 503."""
    stale_reads_s: Seconds = 60
    """How long reads go on from the index while the database is away; 0: not at all."""
    index_memory_bytes: Count = 0
    """What all loaded sources may take in each worker, mapped files included; those asked for least recently are let
    go. 0: half of the machine's memory, divided by the workers."""
    kernel_folder: str | None = None
    """Folder of the compiled kernels; by default one in the data folder."""
    metrics_public: bool = True
    """Whether ``/-/metrics`` answers without a key; otherwise it wants one with the admin role."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the service; none by default."""
    tls_certificate: str | None = None
    """PEM file of the server's certificate; with ``tls-key`` the service speaks TLS."""
    tls_key: str | None = None
    """PEM file of the certificate's private key."""
    log_level: Annotated[str, msgspec.Meta(pattern="^(debug|info|warning|error)$")] = "info"
    """Least severity that is logged."""
    log_format: Annotated[str, msgspec.Meta(pattern="^(text|json)$")] = "text"
    """``text`` for people, or ``json``: one object a line."""
    log_requests: bool = False
    """Whether every request is logged, with its route's template, never with ids or names."""
    tracing_endpoint: str | None = None
    """Address that spans are sent to by OTLP over HTTP; needs the extra ``tracing``."""
    plans: dict[str, PlanSettings] = {}
    """Plans beside the built-in ``full`` and ``basic``, which they may also redefine."""

    def plan(self, name: str) -> Plan | None:
        """Return the plan of this name, configured or built in."""
        configured = self.plans.get(name)
        if configured is None:
            return BUILT_IN_PLANS.get(name)
        return Plan(
            name=name,
            features=frozenset(configured.features),
            requests_per_second=configured.requests_per_second,
            sources=configured.sources,
            pieces_per_source=configured.pieces_per_source,
            recommendations_per_month=configured.recommendations_per_month,
        )

    def plan_names(self) -> list[str]:
        """Return the names of all plans, ascending."""
        return sorted({*BUILT_IN_PLANS, *self.plans})


class CurrentSettings:
    """The settings that a process goes by; those of `RELOADED` may be other ones the next time."""

    def __init__(self, settings: Settings) -> None:
        self.now = settings
        self._told: list[Callable[[Settings], None]] = []

    def on_change(self, tell: Callable[[Settings], None]) -> None:
        """Have a function called with the new settings whenever they change, in the thread that changes them."""
        self._told.append(tell)

    def change(self, settings: Settings) -> None:
        """Go by these settings from now on."""
        self.now = settings
        for tell in self._told:
            tell(settings)


def merge_settings(running: Settings, read: Settings) -> Settings:
    """Return what is in force once settings were read anew: those of `RELOADED` as read, the others as they run."""
    return msgspec.structs.replace(running, **{name: getattr(read, name) for name in RELOADED})


def changed_settings(one: Settings, other: Settings) -> list[str]:
    """Return the names, as in the file, of the settings that differ."""
    fields = msgspec.structs.fields(Settings)
    return [field.encode_name for field in fields if getattr(one, field.name) != getattr(other, field.name)]


def publish_settings(folder: Path, settings: Settings) -> None:
    """Let all processes that count together in a folder go by the settings of `RELOADED`; no other is written.

    Raises:
        OSError: the folder cannot be written.
    """
    fields = msgspec.structs.fields(Settings)
    published = {field.encode_name: getattr(settings, field.name) for field in fields if field.name in RELOADED}
    written = folder / f"{PUBLISHED_FILE}.new"
    written.write_bytes(msgspec.json.encode(published))
    written.replace(folder / PUBLISHED_FILE)


class PublishedSettings:
    """The settings of `RELOADED` as they were last published in a folder, over those of the start."""

    def __init__(self, settings: Settings, folder: Path | None) -> None:
        self._settings = settings
        self._path = None if folder is None else folder / PUBLISHED_FILE
        self._seen: tuple[int, int] | None = None

    def newer(self) -> Settings | None:
        """Return what was published since the last look, if anything was; in some microseconds.

        Raises:
            OSError, ValueError: it cannot be read.
        """
        if self._path is None:
            return None
        try:
            status = self._path.stat()
            # Of two files one after the other the number may be the same, the time of the change is not.
            seen = status.st_ino, status.st_mtime_ns
            if seen == self._seen:
                return None
            published = msgspec.json.decode(self._path.read_bytes())
        except FileNotFoundError:
            return None
        self._seen = seen
        settings = msgspec.convert(msgspec.to_builtins(self._settings) | published, Settings)
        return merge_settings(self._settings, settings)


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    """Return the settings: ``overrides`` (the command line) before environment before file before default.

    Without ``file`` the file named by ``PENCHANT_SETTINGS`` is read, or else ``penchant.toml`` in the working
    folder where there is one.

    Raises:
        InvalidSettings: the file cannot be read, or a value is not accepted.
    """
    environment = os.environ if environment is None else environment
    values = _read_file(file, environment)
    values |= _read_environment(environment)
    values |= {_kebab(name): value for name, value in (overrides or {}).items() if value is not None}
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise InvalidSettings(f"A setting is not accepted: {error}. See docs/settings.md.") from error


def environment_without_settings() -> dict[str, str]:
    """Return the environment for a service that must not know what is set for another one."""
    return {name: value for name, value in os.environ.items() if not name.startswith(ENVIRONMENT_PREFIX)}


def client_key() -> str | None:
    """Return the key with which this process asks a server, as the environment has it."""
    return os.environ.get(CLIENT_KEY_VARIABLE)


def metrics_folder() -> Path | None:
    """Return the folder where this process counts together with others; ``None``: it counts alone."""
    named = os.environ.get(METRICS_VARIABLE)
    return None if named is None else Path(named)


def set_metrics_folder(folder: Path) -> None:
    """Let the processes that this one starts from now on count together in a folder."""
    os.environ[METRICS_VARIABLE] = str(folder)


@contextlib.contextmanager
def counting_alone() -> Iterator[None]:
    """Let a process that is started meanwhile count alone: one that lives for a build would leave its files behind."""
    named = os.environ.pop(METRICS_VARIABLE, None)
    try:
        yield
    finally:
        if named is not None:
            os.environ[METRICS_VARIABLE] = named


def _read_file(file: Path | None, environment: Mapping[str, str]) -> dict[str, Any]:
    named = file or environment.get(ENVIRONMENT_PREFIX + "SETTINGS")
    path = Path(named or SETTINGS_FILE)
    if named is None and not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"The settings file {path} cannot be read: {error}.") from error


def _read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(Settings):
        text = environment.get(ENVIRONMENT_PREFIX + field.name.upper())
        if text is None or field.name == "plans":
            continue
        values[field.encode_name] = _split(text) if field.type == tuple[str, ...] else text
    return values


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _kebab(name: str) -> str:
    return name.replace("_", "-")
