"""The service under test, and how it is asked."""

import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any

import httpx
import msgspec
from starlette.testclient import TestClient

from acceptance.processes import waited_for
from databases import prepare_file, prepared_database
from penchant.bootstrap import storage_of, web_application
from penchant.cli.keys import make_key
from penchant.service.administration import roll_secret
from penchant.settings import NodeSettings
from penchant.storage import Storage

if sys.modules.get("httpx2", ...) is None:
    # Starlette's test client is imported, by httpx: what serves agents may have the other one (`conftest.py`).
    del sys.modules["httpx2"]


class Service:
    """The service under test, and keys to ask it with; ``account`` is what "default" stands for.

    ``storage`` is its database, opened beside it; without one it is opened for each key.
    """

    def __init__(
        self, client: httpx.Client, settings: NodeSettings, *, account: str = "default", storage: Storage | None = None
    ) -> None:
        self.client = client
        self.settings = settings
        self.account = account
        self._storage = storage
        self.key = self.new_key()

    def new_key(self, *, account: str = "default", plan: str = "full", admin: bool = False, **limits: Any) -> str:
        """Make a key as the command line does; ``limits`` are scopes and origins."""
        name = self.name_of(account)
        with self.opened_storage() as storage:
            return make_key(storage, account=name, plan=plan, admin=admin, **limits)[1]

    def new_secret(self, *, account: str = "default") -> str:
        """Make the signing secret of an account, or replace it."""
        with self.opened_storage() as storage:
            return roll_secret(storage, self.name_of(account), actor="test").secret

    def name_of(self, account: str) -> str:
        """Return what an account is called: where services are shared no two tests mean the same by a name."""
        if account == "default":
            return self.account
        return account if self.account == "default" else f"{self.account}-{account}"

    def opened_storage(self) -> AbstractContextManager[Storage]:
        """Return the database of the service, to read what no answer tells, or to change what no request does."""
        return closing(storage_of(self.settings)) if self._storage is None else nullcontext(self._storage)

    def request(self, method: str, path: str, *, key: str | None = None, **options: Any) -> Any:
        """Send a request with a key."""
        headers = {"x-api-key": key or self.key} | options.pop("headers", {})
        return self.client.request(method, path, headers=headers, **options)

    def get(self, path: str, **options: Any) -> Any:
        return self.request("GET", path, **options)

    def post(self, path: str, **options: Any) -> Any:
        return self.request("POST", path, **options)

    def put(self, path: str, **options: Any) -> Any:
        return self.request("PUT", path, **options)

    def delete(self, path: str, **options: Any) -> Any:
        return self.request("DELETE", path, **options)

    def findings(self, source: str = "s") -> Any:
        """Return what is found about a source once all of it is."""

        def read() -> Any:
            answer = self.get(f"/{source}/health")
            assert answer.status_code == 200, answer.text
            return answer.json()

        return waited_for(read, lambda found: bool(found["done"]))

    def submit(self, source: str, *pieces: dict[str, Any], key: str | None = None) -> Any:
        """Submit pieces and return the receipt."""
        answer = self.post(f"/{source}/content", json=list(pieces), key=key)
        assert answer.status_code == 202, answer.text
        return answer.json()


def ok(answer: Any) -> Any:
    """Return what an answer holds, which has to be a success."""
    assert answer.status_code == 200, answer.text
    return answer.json()


class PromptTransport(httpx.BaseTransport):
    """Takes a request to an application in one step of the thread of its event loop; a test client's own takes seven.

    The answer is there as a whole: whoever is to leave before its end asks by a plain `TestClient`.
    """

    def __init__(self, client: TestClient, peer: str = "127.0.0.1") -> None:
        self._client = client
        self._application = httpx.ASGITransport(client.app, raise_app_exceptions=False, client=(peer, 1))

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Return what the application answers."""
        assert self._client.portal is not None
        return self._client.portal.call(self._answer, request)

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._application.handle_async_request(request)
        assert isinstance(answer.stream, httpx.AsyncByteStream)
        content = b"".join([part async for part in answer.stream])
        return httpx.Response(answer.status_code, headers=answer.headers, stream=httpx.ByteStream(content))


class PromptClient(TestClient):
    """A client of an application in this process, for tests that send many requests."""

    def __init__(self, application: Any, *, peer: str = "127.0.0.1", **options: Any) -> None:
        super().__init__(application, raise_server_exceptions=False, **options)
        self._transport = PromptTransport(self, peer)

    def of_peer(self, peer: str) -> "PromptClient":
        """Return a client of the same application that asks from another address."""
        client = PromptClient(self.app, peer=peer)
        client.portal = self.portal
        return client


class Applications:
    """Services in this process, on files or on databases of a PostgreSQL server; tests that want the same share one."""

    def __init__(self, server: str | None) -> None:
        self._server = server
        self._running = ExitStack()
        self._shared: dict[tuple[bytes, Callable[[], float]], tuple[TestClient, NodeSettings, Storage]] = {}

    def close(self) -> None:
        """End those that were shared."""
        self._running.close()

    @contextmanager
    def service(self, settings: NodeSettings, clock: Callable[[], float] = time.time) -> Iterator[Service]:
        """Return a service that nobody has asked before."""
        with ExitStack() as running:
            client, settings, storage = self._start(running, settings, clock)
            yield Service(client, settings, storage=storage)

    def shared_service(self, settings: NodeSettings, clock: Callable[[], float]) -> Service:
        """Return an account of its own at the service of these settings, in the data folder of the first who asks."""
        wanted = msgspec.json.encode(msgspec.structs.replace(settings, data="")), clock
        if wanted not in self._shared:
            self._shared[wanted] = self._start(self._running, settings, clock)
        running, settings, storage = self._shared[wanted]
        # A client of its own, so that no cookie of another test is sent, on the loop in which the service runs.
        client = PromptClient(running.app)
        client.portal = running.portal
        return Service(client, settings, account=f"test-{uuid.uuid4().hex}", storage=storage)

    def _start(
        self, running: ExitStack, settings: NodeSettings, clock: Callable[[], float]
    ) -> tuple[TestClient, NodeSettings, Storage]:
        if self._server is not None:
            settings = msgspec.structs.replace(settings, database=prepared_database(self._server))
        elif settings.database is None:
            prepare_file(Path(settings.data))
        application = web_application(settings, clock=clock)
        client = running.enter_context(PromptClient(application))
        return client, settings, running.enter_context(closing(storage_of(settings)))
