"""Settings of the service: environment before TOML file before default.

The only place that reads or sets the environment. Every setting says what it does and whether it changes answers or
only operation; the table of docs/reference/settings.md is made of these sentences.

Some may change while a service runs (`RELOADED`). How its processes learn of them:

    server, on SIGHUP     file -> load_settings -> publish_settings -> settings.json
    other processes       settings.json -> PublishedSettings.newer -> CurrentSettings.change -> on_change
"""

import difflib
import os
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, get_origin

import msgspec

from penchant.errors import InvalidSettings
from penchant.model import BUILT_IN_PLANS, Feature, PieceLimits, Plan, Role

ENVIRONMENT_PREFIX = "PENCHANT_"
SETTINGS_FILE = "penchant.toml"

MAX_PORT = 65_535
MAX_WORKERS = 256
"""More than the cores of any one machine that this runs on: a guard against slips of the keyboard."""
METRICS_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
"""By this prometheus-client keeps a process's metrics in files that others can sum up."""
CLIENT_KEY_VARIABLE = "PENCHANT_KEY"
"""Where a command that asks a server finds its key: arguments are seen by everybody on the machine."""

Count = Annotated[int, msgspec.Meta(ge=0)]
PositiveCount = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
_HOST = r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::[1-9][0-9]{0,4})?"
Host = Annotated[str, msgspec.Meta(pattern=f"^{_HOST}$")]
"""A host with its port, if that is not the usual one; nothing else may get into the policy of a page."""


MAX_IMAGE_ADDRESS = 1_000
"""Characters of the address of a picture: those that are signed have some hundreds."""
_CLOSED_HOSTS = 3
_OWN_HOSTS = frozenset({"localhost", "127.0.0.1"})
"""Hosts that are spoken to by HTTP as well: nobody is in between."""
# No user, no backslash, no space: of these browsers and other readers make different hosts.
_ADDRESS = re.compile(rf"(https?)://({_HOST})(?:[/?#][^\s\\]*)?", re.ASCII | re.IGNORECASE)


def image_host(address: str) -> str | None:
    """Return the host of a picture as ``image-hosts`` would name it; ``None`` where no page may show the picture.

    That is by HTTPS, from the own machine by HTTP too.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None or len(address) > MAX_IMAGE_ADDRESS or not address.isprintable():
        return None
    host = match[2].lower()
    return host if match[1].lower() == "https" or host.partition(":")[0] in _OWN_HOSTS else None


def closed_image_hosts(addresses: Iterable[str], allowed: Collection[str]) -> list[str]:
    """Return hosts of pictures that ``image-hosts`` does not allow yet, at most three, those of most pictures first."""
    counts = Counter(image_host(address) for address in addresses)
    return [host for host, _ in counts.most_common() if host is not None and host not in allowed][:_CLOSED_HOSTS]


class PlanSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """A plan as the settings file describes it; a limit left out is no limit."""

    features: tuple[Feature, ...] = ()
    """Of ``filters``, ``personalized``, ``profile``, ``interactionsListing``, ``lists``, ``placements``."""
    requests_per_second: PositiveCount | None = None
    """Requests of a key in a second."""
    sources: Count | None = None
    """Sources of an account."""
    pieces_per_source: Count | None = None
    """Pieces in a source; replacing is always possible."""
    recommendations_per_month: Count | None = None
    """Answers with similar or recommended pieces, of an account in a UTC month."""


HeaderName = Annotated[str, msgspec.Meta(pattern="^[A-Za-z][A-Za-z0-9-]{0,99}$")]
"""No underscore: some proxies make one name of both, and then remove a client's header by one of them only."""
GroupName = Annotated[str, msgspec.Meta(pattern=r"^[^\s,|](?:[^,|]{0,198}[^\s,|])?$")]
"""Without what separates groups in a header."""


class GroupSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """What people of a group may do at the dashboard, and with which plan; admins are of no account."""

    group: GroupName
    """The group's name, exactly as the proxy writes it."""
    role: Role
    """``viewer`` looks at an account, ``editor`` changes it too, ``admin`` manages keys and plans of all accounts, and
    sees no source."""
    account: Annotated[str, msgspec.Meta(min_length=1, max_length=500)] | None = None
    """The account, for viewers and editors."""
    plan: str = "full"
    """The plan by which the account is served there."""


class NodeSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """All settings of one node. Names in the file are in kebab-case, in the environment in upper case."""

    data: str = "penchant-data"
    """Folder of the SQLite file and of caches; made if missing."""
    database: str | None = None
    """``postgresql://`` address; without one SQLite in the data folder."""
    database_connections: PositiveCount = 16
    """Most connections of each worker, and of the helper, to PostgreSQL."""
    database_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 10
    """Longest wait of a request for one, before 503."""
    allow_unsynced_commits: bool = False
    """Use a PostgreSQL with ``synchronous_commit`` or ``fsync`` off, where a crash may lose a 202."""
    redis: Annotated[str, msgspec.Meta(pattern=r"^rediss?://")] | None = None
    """``redis://`` or ``rediss://`` address through which rates of keys hold for all nodes; while it is away each
    counts for itself; needs ``penchant[redis]``."""
    host: str = "127.0.0.1"
    """Address to listen on."""
    port: Annotated[int, msgspec.Meta(ge=1, le=MAX_PORT)] = 8080
    """Port to listen on."""
    workers: Annotated[int, msgspec.Meta(ge=1, le=MAX_WORKERS)] = 1
    """Processes that answer, at most 256."""
    base_path: Annotated[str, msgspec.Meta(pattern=r"^(/[A-Za-z0-9._~-]+)*$")] = ""
    """Path that all routes stand below."""
    body_limit_bytes: PositiveCount = 32 * 1024 * 1024
    """Largest body, with content, before and after decompression (32 MiB); more is 413."""
    interactions_limit_bytes: PositiveCount = 16 * 1024 * 1024
    """Largest body with interactions (16 MiB)."""
    list_limit_bytes: PositiveCount = 2 * 1024 * 1024
    """Largest body with a list, ids, likings or a preview (2 MiB)."""
    settings_limit_bytes: PositiveCount = 256 * 1024
    """Largest body with settings or preferences, for the administration or agents (256 KiB)."""
    source_creations_per_minute: Count = 100
    """New sources of an account in a minute and worker, before 429; 0: any."""
    piece_keywords: PositiveCount = 10_000
    """Most keywords of a piece; more is 422."""
    piece_bytes: PositiveCount = 1024 * 1024
    """Largest piece as JSON; more is 422."""
    body_timeout_s: Seconds = 30
    """Longest pause of a client that sends a body, before 408."""
    body_memory_bytes: PositiveCount = 256 * 1024 * 1024
    """Memory of each worker for bodies under way and what is made of them; beyond it 503."""
    answer_memory_bytes: Annotated[int, msgspec.Meta(ge=0)] = 16 * 1024 * 1024
    """Memory of each worker for lists and profiles that are asked for again, and what they carry of pieces; 0: none."""
    person_memory_bytes: Annotated[int, msgspec.Meta(ge=0)] = 32 * 1024 * 1024
    """Memory of each worker for people who asked lately (some 15 KB for 150 interactions); 0: none."""
    longest_delay_s: Seconds = 0.025
    """Longest expected wait where 32 others wait, before 503; 0: any."""
    header_timeout_s: Annotated[float, msgspec.Meta(gt=0)] = 10
    """Longest time without a whole request head before a connection is closed."""
    trusted_proxies: tuple[str, ...] = ()
    """Addresses or networks (``10.0.0.0/8``) of proxies whose ``x-forwarded-for`` and ``x-forwarded-proto`` are
    believed."""
    send_timeout_s: Seconds = 60
    """Longest pause of a client that reads, before it is cut."""
    send_rate_bytes: Count = 64 * 1024
    """Bytes a second that a client must read of a stream, over 30 seconds, or it is cut; 0: any."""
    min_version_timeout_s: Seconds = 5
    """Longest wait of a read for its version, before 503."""
    stale_reads_s: Seconds = 60
    """How long lists are served while the database is away; 0: not at all."""
    index_memory_bytes: Count = 0
    """Memory of each worker, and of the helper, for loaded sources, mapped files included; 0: half of the machine's
    memory over the workers."""
    audit_retention_days: Count = 396
    """How long entries of the audit log, and keys that have ended, are kept; 0: for good."""
    kernel_folder: str | None = None
    """Folder of the compiled kernels, by default ``penchant/kernels`` in the user's cache folder (``XDG_CACHE_HOME``,
    else ``~/.cache``), or ``kernels`` in the data folder. Others may not write it."""
    metrics_public: bool = True
    """Answer ``/-/metrics`` without a key; otherwise with the admin role."""
    dashboard: bool = True
    """Serve the dashboard."""
    dashboard_proxy_header: HeaderName | None = None
    """Header in which a proxy names the person; needs ``trusted-proxies`` and the next setting."""
    dashboard_proxy_groups_header: HeaderName | None = None
    """Header with the person's groups, by commas or vertical bars."""
    dashboard_proxy_sign_out: Annotated[str, msgspec.Meta(pattern=r"^(?:https?://|/)[!-~]*$")] | None = None
    """Address of *Sign out* for these people."""
    dashboard_groups: tuple[GroupSettings, ...] = ()
    """What groups of people whom a proxy names may do."""
    administration: bool = True
    """Serve ``/-/admin``."""
    hsts_max_age_s: Count = 0
    """How long browsers that came over TLS are told to use TLS alone; 0: not at all."""
    image_hosts: tuple[Host, ...] = ()
    """Hosts (``img.example:8443``) of pictures at the dashboard."""
    cors_origins: tuple[str, ...] = ()
    """Origins whose pages may call the service."""
    mcp: bool = False
    """Serve tools for agents at ``/-/mcp``."""
    legacy_paths: bool = False
    """Serve the paths of the interface's beta too: ``POST /{source}`` and ``POST /{source}/`` as ``…/content``, ``GET
    /{source}/`` as ``…/ids``, ``POST /{source}/users/{userID}/{type}/{contentID}`` as
    ``…/interactions/{type}/content/{contentID}``."""
    tls_certificate: str | None = None
    """PEM file; with ``tls-key`` the service speaks TLS."""
    tls_key: str | None = None
    """PEM file of the certificate's key."""
    log_level: Annotated[str, msgspec.Meta(pattern="^(debug|info|warning|error)$")] = "info"
    """``debug``, ``info``, ``warning`` or ``error``."""
    log_format: Annotated[str, msgspec.Meta(pattern="^(text|json)$")] = "text"
    """``text``, or ``json``: an object a line."""
    log_requests: bool = False
    """A line for each request, without ids."""
    cluster: Annotated[str, msgspec.Meta(pattern=r"^[^\s/@]+:[0-9]+$")] | None = None
    """Address of a Ray cluster; needs ``penchant-batch[ray]``."""
    tracing_endpoint: str | None = None
    """Address for spans, such as ``http://127.0.0.1:4318/v1/traces``; needs ``penchant[tracing]``."""
    plans: dict[str, PlanSettings] = {}
    """Plans beside ``full`` and ``basic``, which they may redefine."""

    @property
    def origin(self) -> str:
        """The scheme, host and port that the service listens on, as pages and clients write them."""
        return self._origin_of(self.host)

    @property
    def address(self) -> str:
        """Where all routes stand below."""
        return f"{self.origin}{self.base_path}"

    @property
    def own_address(self) -> str:
        """Where the service is reached from its own machine: one that listens everywhere, on loopback."""
        return f"{self._origin_of(self.own_host)}{self.base_path}"

    @property
    def own_host(self) -> str:
        """By which host the service is reached from its own machine."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104  # looked for, not listened on

    def _origin_of(self, host: str) -> str:
        scheme = "http" if self.tls_certificate is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"

    @property
    def piece_limits(self) -> PieceLimits:
        """How large a submitted piece may be."""
        return PieceLimits(keywords=self.piece_keywords, piece_bytes=self.piece_bytes)

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


RELOADED = frozenset(
    {
        "audit_retention_days",
        "body_limit_bytes",
        "cors_origins",
        "dashboard_groups",
        "image_hosts",
        "interactions_limit_bytes",
        "list_limit_bytes",
        "piece_bytes",
        "piece_keywords",
        "settings_limit_bytes",
        "source_creations_per_minute",
        "body_timeout_s",
        "index_memory_bytes",
        "log_format",
        "log_level",
        "log_requests",
        "longest_delay_s",
        "metrics_public",
        "min_version_timeout_s",
        "plans",
        "send_rate_bytes",
        "send_timeout_s",
        "stale_reads_s",
    }
)
"""The settings that may change while the service runs; all others want a restart."""
IN_FILE_ALONE = frozenset({"dashboard_groups", "plans"})
"""The settings that are tables, which no variable of the environment can hold."""
_UNKNOWN = re.compile(r"unknown field `([^`]+)`")
_PATH = re.compile(r" - at `\$\.([^`]+)`")
PUBLISHED_FILE = "settings.json"
"""Where these stand for the processes of a service, in the folder where they count together."""


class CurrentSettings:
    """The settings that a process goes by; those of `RELOADED` may be other ones the next time."""

    def __init__(self, settings: NodeSettings) -> None:
        self.now = settings
        self._told: list[Callable[[NodeSettings], None]] = []

    def on_change(self, tell: Callable[[NodeSettings], None]) -> None:
        """Have a function called with the new settings whenever they change, in the thread that changes them."""
        self._told.append(tell)

    def change(self, settings: NodeSettings) -> None:
        """Go by these settings from now on."""
        self.now = settings
        for tell in self._told:
            tell(settings)


def load_settings(
    overrides: Mapping[str, Any] | None = None,
    *,
    file: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> NodeSettings:
    """Return the settings: ``overrides`` (the command line) before environment before file before default.

    Without ``file`` the file named by ``PENCHANT_SETTINGS`` is read, or else ``penchant.toml`` in the working
    folder where there is one.

    Raises:
        InvalidSettings: the file cannot be read, or a value is not accepted.
    """
    environment = os.environ if environment is None else environment
    path = _settings_file(file, environment)
    # Each of these overrides what came before it.
    given = {name.replace("_", "-"): value for name, value in (overrides or {}).items() if value is not None}
    set_there = _read_environment(environment)
    values = _read_file(path) | set_there | given
    try:
        # Not strict, since the environment has numbers as texts.
        settings = msgspec.convert(values, NodeSettings, strict=False)
        for proxy in settings.trusted_proxies:
            # Checked here: a malformed one would fail with the first request otherwise.
            _check_network(proxy)
        _check_certificate(settings)
        _check_signing_in(settings)
    except ValueError as error:
        place = _place_of(str(error), path, set_there, given)
        raise InvalidSettings(
            f"A setting is not accepted: {place}{_hinted(str(error))} See docs/reference/settings.md."
        ) from error
    return settings


def _check_network(proxy: str) -> None:
    try:
        ip_network(proxy)
    except ValueError as error:
        raise ValueError(f"trusted-proxies: {error}") from error


def _check_certificate(settings: NodeSettings) -> None:
    if (settings.tls_certificate is None) != (settings.tls_key is None):
        raise ValueError("tls-certificate and tls-key need each other")


def _place_of(fault: str, path: Path | None, set_there: Mapping[str, Any], given: Mapping[str, Any]) -> str:
    """Return where the setting of which a fault tells was set: the option, the variable, or the line of the file."""
    unknown, path_in = _UNKNOWN.search(fault), _PATH.search(fault)
    # Of a path the innermost name that the file has; other faults begin with the setting's name.
    names = re.findall(r"[a-z]+(?:-[a-z]+)+", fault)
    if path_in is not None:
        names = re.findall(r"[\w-]+", path_in[1])[::-1]
    if unknown is not None:
        names = [unknown[1]]
    for name in names:
        if name in given:
            return f"--{name}: "
        if name in set_there:
            return f"{ENVIRONMENT_PREFIX}{name.replace('-', '_').upper()}: "
    if path is None:
        return ""
    lines = path.read_text(encoding="utf-8").splitlines()
    for name in names:
        is_set = re.compile(rf"""\s*(\[+\s*)?["']?{re.escape(name)}["']?\s*[=.\]]""")
        for number, line in enumerate(lines, start=1):
            if is_set.match(line):
                return f"{path}, line {number}: "
    return f"{path}: "


def _hinted(fault: str) -> str:
    """Return a fault, with the known name that is nearest to one that is not."""
    unknown = _UNKNOWN.search(fault)
    if unknown is None:
        return f"{fault}."
    kinds = (NodeSettings, PlanSettings, GroupSettings)
    known = [field.encode_name for kind in kinds for field in msgspec.structs.fields(kind)]
    near = difflib.get_close_matches(unknown[1].replace("_", "-").lower(), known, n=1)
    return f"there is no setting `{unknown[1]}`" + (f"; did you mean `{near[0]}`?" if near else ".")


def _check_signing_in(settings: NodeSettings) -> None:
    """Raise `ValueError` where what is said of people whom a proxy names does not go together."""
    headers = settings.dashboard_proxy_header, settings.dashboard_proxy_groups_header
    if headers == (None, None):
        if settings.dashboard_groups or settings.dashboard_proxy_sign_out is not None:
            raise ValueError(
                "dashboard-groups and dashboard-proxy-sign-out need dashboard-proxy-header and "
                "dashboard-proxy-groups-header, in which a proxy names people and their groups"
            )
        return
    if None in headers:
        raise ValueError(
            "dashboard-proxy-header and dashboard-proxy-groups-header need each other: one names the person, the "
            "other the groups, which say what the person may do"
        )
    if len({str(header).lower() for header in headers}) == 1:
        raise ValueError("dashboard-proxy-header and dashboard-proxy-groups-header are the same header")
    if not settings.trusted_proxies:
        raise ValueError(
            "dashboard-proxy-header needs trusted-proxies, the addresses of the proxies that set it: of anybody else "
            "it is not believed"
        )
    if any(ip_network(proxy).prefixlen == 0 for proxy in settings.trusted_proxies):
        raise ValueError("with dashboard-proxy-header not every address can be among trusted-proxies")
    for row in settings.dashboard_groups:
        _check_group(settings, row)


def _check_group(settings: NodeSettings, row: GroupSettings) -> None:
    if (row.role is Role.ADMIN) != (row.account is None):
        raise ValueError(
            f"the group {row.group!r} of dashboard-groups needs an account, since it is not of admins"
            if row.account is None
            else f"the group {row.group!r} of dashboard-groups has the role admin, which is for keys and plans of all "
            "accounts and the sources of none; leave the account out, or give the role editor"
        )
    if settings.plan(row.plan) is None:
        raise ValueError(f"the group {row.group!r} of dashboard-groups has the unknown plan {row.plan!r}")


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


def count_alone() -> None:
    """Let this process count alone from now on: one that lives for a build would leave its files behind."""
    os.environ.pop(METRICS_VARIABLE, None)


def start_with_one_thread() -> None:
    """Let processes that are started from now on do linear algebra by one thread each, so that sums have one order."""
    os.environ.update({"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"})


def _settings_file(file: Path | None, environment: Mapping[str, str]) -> Path | None:
    named = file or environment.get(ENVIRONMENT_PREFIX + "SETTINGS")
    path = Path(named or SETTINGS_FILE)
    return None if named is None and not path.exists() else path


def _read_file(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise InvalidSettings(f"The settings file {path} cannot be read: {error}.") from error


def _read_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for field in msgspec.structs.fields(NodeSettings):
        text = environment.get(ENVIRONMENT_PREFIX + field.name.upper())
        if text is None or field.name in IN_FILE_ALONE:
            continue
        is_list = get_origin(field.type) is tuple
        values[field.encode_name] = [part.strip() for part in text.split(",") if part.strip()] if is_list else text
    return values


def merge_settings(running: NodeSettings, read: NodeSettings) -> NodeSettings:
    """Return what is in force once settings were read anew: those of `RELOADED` as read, the others as they run."""
    return msgspec.structs.replace(running, **{name: getattr(read, name) for name in RELOADED})


def changed_settings(one: NodeSettings, other: NodeSettings) -> list[str]:
    """Return the names, as in the file, of the settings that differ."""
    fields = msgspec.structs.fields(NodeSettings)
    return [field.encode_name for field in fields if getattr(one, field.name) != getattr(other, field.name)]


def publish_settings(folder: Path, settings: NodeSettings) -> None:
    """Let all processes that count together in a folder go by the settings of `RELOADED`; no other is written.

    Raises:
        OSError: the folder cannot be written.
    """
    fields = msgspec.structs.fields(NodeSettings)
    published = {field.encode_name: getattr(settings, field.name) for field in fields if field.name in RELOADED}
    # In one step: whoever reads meanwhile gets the old file or the new one, never a part.
    path = folder / PUBLISHED_FILE
    written = path.with_name(f"{path.name}.new")
    with os.fdopen(os.open(written, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(msgspec.json.encode(published))
    written.replace(path)


class PublishedSettings:
    """The settings of `RELOADED` as they were last published in a folder, over those of the start."""

    def __init__(self, settings: NodeSettings, folder: Path | None) -> None:
        self._settings = settings
        self._path = None if folder is None else folder / PUBLISHED_FILE
        self._seen: tuple[int, int] | None = None

    def newer(self) -> NodeSettings | None:
        """Return what was published since the last look, if anything was; in some microseconds.

        Raises:
            OSError, ValueError: it cannot be read, which is told once.
        """
        content = self._newer_content()
        if content is None:
            return None
        published = msgspec.json.decode(content)
        settings = msgspec.convert(msgspec.to_builtins(self._settings) | published, NodeSettings)
        return merge_settings(self._settings, settings)

    def _newer_content(self) -> bytes | None:
        if self._path is None:
            return None
        try:
            status = self._path.stat()
            # Of two files one after the other the number may be the same, the time of the change is not.
            seen = status.st_ino, status.st_mtime_ns
            if seen == self._seen:
                return None
            self._seen = seen
            return self._path.read_bytes()
        except FileNotFoundError:
            return None
