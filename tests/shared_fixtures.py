"""Fixtures that all tests share: the service in this process, and servers of databases.

What they need is imported when one is first used: pure parts are tested without a service, and begin at once.
"""

import gc
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

from clocks import DAY_CLOCK
from penchant.settings import NodeSettings
from sharing_out import FileScheduler, in_order

if TYPE_CHECKING:
    from pytest_timeout import Settings as Timeouts

    from faults.cluster import Cluster
    from nodes import Nodes
    from serving import Applications, Service

# The official client of agents brings httpx2 along, which Starlette's test client would take: all else speaks httpx.
sys.modules["httpx2"] = None  # type: ignore[assignment]  # until `agent_clients` wants it

MIN_VERSION_TIMEOUT_S = 0.2
RETRY_TIMEOUT_S = 30
FETCHING = ("clients", "generators")
"""Folders whose tests fetch packages."""
ALL_SLOW = re.compile(r"^pytestmark = .*mark\.(slow|stress)", re.MULTILINE)
"""What a file says whose tests are all slow."""
OF_PROCESSES = Path(__file__).with_name("system")
"""The folder whose tests start processes."""
_STARTING = r"^(from|import) (acceptance|documents\.reading|multiprocessing|subprocess)\b"
STARTS_PROCESSES = re.compile(_STARTING, re.MULTILINE)
"""What a file of another folder says whose tests start processes."""

# Properties take their time on a busy machine; how many examples are tried is for whoever waits for them.
for _profile, _examples in (("fast", 5), ("quick", 10), ("usual", 30), ("long", 100)):
    hypothesis.settings.register_profile(_profile, deadline=None, max_examples=_examples)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the tests of the interface be asked of something else than a file in this process."""
    parser.addoption("--on", choices=("file", "postgresql", "nodes"), default="file")


def pytest_configure(config: pytest.Config) -> None:
    """Let nodes, which are processes, go by the real clock."""
    hypothesis.settings.load_profile(config.getoption("--hypothesis-profile") or "usual")
    config.pluginmanager.register(FailuresAtOnce(config))
    DAY_CLOCK.is_real = config.getoption("--on") == "nodes"


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Import no file that has slow tests alone where none of them is run: each process would import it."""
    is_left_out = config.option.markexpr.startswith("not slow") and collection_path.suffix == ".py"
    return True if is_left_out and ALL_SLOW.search(collection_path.read_text()) else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark what starts a PostgreSQL server, and what is slow, and choose and order what is run.

    Where another service than usual is asked (``--on``), tests that ask none are left out, and for nodes those that are
    not marked. A test that starts processes depends on what else the machine does: one that fails is run once more
    (D241 of docs/decisions.md).
    """
    of_processes = {path for path in {item.path for item in items} if starts_processes(path)}
    for item in items:
        if item.path in of_processes or uses_server(item):
            item.add_marker(pytest.mark.flaky(reruns=1))
        if uses_postgresql(item):
            item.add_marker("postgresql")
        if uses_postgresql(item) or is_asked_property(item) or item.get_closest_marker("stress"):
            item.add_marker("slow")
    if config.getoption("--on") != "file":
        elsewhere = [item for item in items if not is_asked_elsewhere(item)]
        config.hook.pytest_deselected(items=elsewhere)
        items[:] = [item for item in items if is_asked_elsewhere(item)]
    items[:] = in_order(items)


def pytest_collection() -> None:
    """Search for no garbage among what is collected, which stays."""
    gc.disable()


def pytest_collection_finish() -> None:
    """Leave what was collected out of the search for garbage, which would go over thousands of tests each time."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="module", autouse=True)
def compiled() -> None:
    """Search by kernels, as a service does once they are compiled."""
    from kernel_cache import use_kernels

    use_kernels()


@pytest.hookimpl(wrapper=True)
def pytest_timeout_set_timer(settings: "Timeouts") -> Generator[None, object, object]:
    """Stop a test that is out of time again and again: Hypothesis tries once more what failed, without an end."""
    result = yield
    if settings.method == "signal":
        signal.setitimer(signal.ITIMER_REAL, settings.timeout, RETRY_TIMEOUT_S)
    return result


class FailuresAtOnce:
    """Prints failures at once, in the process that prints: a run that is stopped from outside has no summary.

    The first failure of a test that is run once more, too: both of its results are printed.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._plugins = config.pluginmanager

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        terminal = self._plugins.get_plugin("terminalreporter")
        if terminal is None or report.outcome not in ("failed", "rerun"):
            return
        what = "failed" if report.failed else "failed, and is run once more"
        terminal.write_line(f"\n{report.nodeid} ({report.when}) {what}:\n{report.longreprtext[-4_000:]}")


def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FileScheduler:
    """Share tests out by our own rule, whatever ``--dist`` says."""
    return FileScheduler(config, log)


def fixtures_of(item: pytest.Item) -> list[str]:
    """Return the names of the fixtures that a test uses."""
    return item.fixturenames if isinstance(item, pytest.Function) else []


def starts_processes(file: Path) -> bool:
    """Return whether tests of a file start processes, by its folder or by what it imports."""
    return OF_PROCESSES in file.parents or STARTS_PROCESSES.search(file.read_text()) is not None


def is_asked_elsewhere(item: pytest.Item) -> bool:
    """Return whether a test asks a service that may be another one (``--on``): on nodes those that are marked so."""
    is_on_nodes = item.config.getoption("--on") == "nodes"
    return "applications" in fixtures_of(item) and (not is_on_nodes or item.get_closest_marker("nodes") is not None)


def uses_server(item: pytest.Item) -> bool:
    """Return whether a test asks a database server or nodes."""
    is_elsewhere = item.config.getoption("--on") != "file" and "applications" in fixtures_of(item)
    return is_elsewhere or uses_postgresql(item) or not {"cluster", "nodes"}.isdisjoint(fixtures_of(item))


def uses_postgresql(item: pytest.Item) -> bool:
    """Return whether a test asks for a PostgreSQL server, by a fixture or by a parameter."""
    return "postgresql" in fixtures_of(item) or "postgresql" in item.name.partition("[")[2]


def is_asked_property(item: pytest.Item) -> bool:
    """Return whether a test asks a service anew for each example of Hypothesis."""
    is_property = isinstance(item, pytest.Function) and hypothesis.is_hypothesis_test(item.obj)
    return is_property and "applications" in fixtures_of(item)


@pytest.fixture(autouse=True, scope="module")
def no_authorities(request: pytest.FixtureRequest) -> Iterator[None]:
    """Have no client read the certificates of the system's authorities, which takes each of them 20 ms.

    Tests speak plain HTTP, or TLS by certificates of their own; what packages are fetched by keeps them.
    """
    with pytest.MonkeyPatch.context() as patch:
        if request.path.parent.name not in FETCHING:
            patch.delenv("SSL_CERT_FILE", raising=False)
            patch.setenv("SSL_CERT_DIR", str(Path(__file__).parent))
        yield


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The event loop of tests that are coroutines."""
    return "asyncio"


@pytest.fixture
def settings(tmp_path: Path) -> NodeSettings:
    """Settings of a service in a folder of its own; tests may override it by their own fixture."""
    return NodeSettings(data=str(tmp_path / "data"), min_version_timeout_s=MIN_VERSION_TIMEOUT_S)


@pytest.fixture
def clock() -> Callable[[], float]:
    """What the service takes for the present; modules whose tests count in days override it by `DAY_CLOCK`."""
    return time.time


@pytest.fixture
def service(applications: "Applications", settings: NodeSettings, clock: Callable[[], float]) -> "Iterator[Service]":
    """A running service without any source, in this process."""
    with applications.service(settings, clock) as service:
        yield service


@pytest.fixture(scope="session")
def applications(request: pytest.FixtureRequest) -> "Iterator[Applications]":
    """Services in this process, on a file or (``--on``) a PostgreSQL, beside nodes as well."""
    from serving import Applications

    server = None if request.config.getoption("--on") == "file" else request.getfixturevalue("postgresql")
    applications = Applications(server)
    yield applications
    applications.close()


@pytest.fixture(scope="session")
def nodes(postgresql: str, tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Nodes]":
    """Nodes that all tests share, each test with an account of its own."""
    from nodes import running_nodes

    with running_nodes(postgresql, tmp_path_factory.mktemp("nodes"), MIN_VERSION_TIMEOUT_S) as nodes:
        yield nodes


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The address of a PostgreSQL server that all tests share, each with databases of its own."""
    from databases import started_postgresql

    with started_postgresql() as server:
        yield server.get_uri()


@pytest.fixture(scope="session")
def system_postgresql(postgresql: str) -> Iterator[str]:
    """The address of the system's own PostgreSQL, older than the bundled one; skip where there is none."""
    from faults.cluster import Cluster

    assert postgresql  # its start has made the user that servers run as
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("the system has no PostgreSQL of its own")
    cluster = Cluster(Path(tempfile.mkdtemp(prefix="pg-data-")), found[0].parent)
    cluster.initialise()
    cluster.start()
    yield cluster.url
    cluster.remove()


@pytest.fixture
def cluster() -> "Iterator[Cluster]":
    """A PostgreSQL server of the test's own, which it may stop."""
    from faults.cluster import new_cluster

    made = new_cluster()
    yield made
    made.remove()


@pytest.fixture(scope="session")
def client_of() -> Callable[..., Any]:
    """The official client of agents, `agent_clients.client_of`, which takes two seconds to import."""
    from agent_clients import client_of

    return client_of


@pytest.fixture
def today(clock: Callable[[], float]) -> str:
    """Today's UTC date."""
    return time.strftime("%Y-%m-%d", time.gmtime(clock()))
