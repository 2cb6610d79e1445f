"""Asks the service over a connection that is kept, and made anew after any failure."""

import http.client
import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TIMEOUT_S = 15.0
"""Longer than any answer of the service may take: its own limits are 5 seconds and less."""


class Unanswered(Exception):
    """No answer came: refused, cut, or too late."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the decoded body."""
        return json.loads(self.body)

    @property
    def version(self) -> int:
        """The version that it was served from, or that a change has made; -1 where it names none."""
        return int(self.headers.get("x-penchant-version", "-1"))

    @property
    def is_stale(self) -> bool:
        """Whether it tells that it may be older than what is stored."""
        return self.headers.get("x-penchant-stale") == "true"


class Client:
    """A connection to each of several nodes, of which any is asked; for one thread."""

    def __init__(self, ports: Sequence[int], key: str, *, timeout_s: float = TIMEOUT_S) -> None:
        self._ports = ports
        self._key = key
        self._timeout_s = timeout_s
        self._connections: dict[int, http.client.HTTPConnection] = {}

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> Answer:
        """Send a request.

        Raises:
            Unanswered: there was no whole answer; a change may be stored all the same.
        """
        sent = {"x-api-key": self._key} | {name.replace("_", "-"): value for name, value in headers.items()}
        content = None
        if body is not None:
            content = json.dumps(body).encode()
            sent["content-type"] = "application/json"
        port = random.choice(self._ports)
        connection = self._connections.get(port)
        if connection is None:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=self._timeout_s)
            self._connections[port] = connection
        try:
            connection.request(method, path, content, sent)
            got = connection.getresponse()
            named = {name.lower(): value for name, value in got.getheaders()}
            return Answer(got.status, named, got.read())
        except (OSError, http.client.HTTPException) as error:
            self._connections.pop(port).close()
            raise Unanswered(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Close all connections; the next request makes another one."""
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()
