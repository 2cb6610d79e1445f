"""The service under test, and how it is asked."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import httpx
import msgspec
from starlette.testclient import TestClient

from databases import new_database
from penchant.bootstrap import storage_of, web_application
from penchant.cli.keys import KeyLimits, make_key
from penchant.service.administration import roll_secret
from penchant.settings import NodeSettings


class Service:
    """The service under test, and keys to ask it with; ``account`` is what "default" stands for."""

    def __init__(self, client: httpx.Client, settings: NodeSettings, *, account: str = "default") -> None:
        self.client = client
        self.settings = settings
        self.account = account
        self.key = self.new_key()

    def new_key(self, *, account: str = "default", plan: str = "full", admin: bool = False, **limits: Any) -> str:
        """Make a key as the command line does; ``limits`` are scopes and origins."""
        account = self.account if account == "default" else account
        with closing(storage_of(self.settings)) as storage:
            return make_key(storage, account=account, plan=plan, admin=admin, limits=KeyLimits(**limits))[1]

    def new_secret(self, *, account: str = "default") -> str:
        """Make the signing secret of an account, or replace it."""
        account = self.account if account == "default" else account
        with closing(storage_of(self.settings)) as storage:
            return roll_secret(storage, account, actor="test").secret

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

    def submit(self, source: str, *pieces: dict[str, Any], key: str | None = None) -> Any:
        """Submit pieces and return the receipt."""
        answer = self.post(f"/{source}/content", json=list(pieces), key=key)
        assert answer.status_code == 202, answer.text
        return answer.json()


@contextmanager
def service_in_process(
    settings: NodeSettings, *, server: str | None, through: str, clock: Callable[[], float] = time.time
) -> Iterator[Service]:
    """Return the service in this process, on its file or a fresh database of a PostgreSQL server.

    It is asked by plain HTTP or (``through``) by our own client wherever that has words for a request.
    """
    if server is not None:
        settings = msgspec.structs.replace(settings, database=new_database(server))
    with TestClient(web_application(settings, clock=clock), raise_server_exceptions=False) as client:
        if through == "http":
            yield Service(client, settings)
        else:
            from client.through import ClientService

            yield ClientService(client, settings, is_async=through == "async-client")
