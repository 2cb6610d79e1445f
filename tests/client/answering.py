"""A small server of sockets that answers as a test tells it, and notes what it was asked."""

import contextlib
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

CUT = 0
"""A status for an answer that never comes: the connection is closed."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What is answered: a status, headers, a body."""

    status: int
    body: bytes = b"[]"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Asked:
    """What came in."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Script(ThreadingHTTPServer):
    """Gives one answer after the other, and the last again and again."""

    daemon_threads = True

    def __init__(self, answers: Sequence[Answer]) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answers = list(answers)
        self.asked: list[Asked] = []
        self.address = f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Script

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append(Asked(self.command, self.path, headers, body))
        answer = self.server.answers.pop(0) if len(self.server.answers) > 1 else self.server.answers[0]
        if answer.status == CUT:
            self.close_connection = True
            return
        self.send_response(answer.status)
        headers = {"content-length": str(len(answer.body))} | answer.headers
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.body)
        self.close_connection = "content-length" in answer.headers

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815  # the standard library asks for these names

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextlib.contextmanager
def answering(*answers: Answer) -> Iterator[Script]:
    """Serve a script on loopback."""
    with Script(answers) as script:
        thread = threading.Thread(target=script.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield script
        finally:
            script.shutdown()
            thread.join()


def problem(status: int, code: str, **headers: str) -> Answer:
    """Return the answer of a problem."""
    body = {"type": "about:blank", "title": "No", "status": status, "detail": "Not now.", "code": code}
    return Answer(status, json.dumps(body).encode(), {name.replace("_", "-"): text for name, text in headers.items()})
