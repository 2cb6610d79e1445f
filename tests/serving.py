"""The service under test, and how it is asked."""

from contextlib import closing
from typing import Any

import httpx

from penchant.bootstrap import storage_of
from penchant.cli.keys import make_key
from penchant.settings import Settings


class Service:
    """The service under test, and keys to ask it with; ``account`` is what "default" stands for."""

    def __init__(self, client: httpx.Client, settings: Settings, *, account: str = "default") -> None:
        self.client = client
        self.settings = settings
        self.account = account
        self.key = self.new_key()

    def new_key(self, *, account: str = "default", plan: str = "full", admin: bool = False) -> str:
        """Make a key as the command line does."""
        account = self.account if account == "default" else account
        with closing(storage_of(self.settings)) as storage:
            return make_key(storage, account=account, plan=plan, admin=admin)[1]

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
