"""Remote target: a server elsewhere, reached by the requests of any client, which are sent again where one fails.

A batch that is sent twice changes nothing: pieces go by id, interactions by event id.
"""

import http.client
import json
import re
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from penchant_engine.errors import Fault, InvalidInput, Refused
from penchant_import import __version__
from penchant_import.drafts import CheckedInteraction, interaction_members
from penchant_import.hosting import BatchResult, Settings
from penchant_import.rules import DEFAULT_WORDS, encode

MAX_ATTEMPTS = 6
"""How often a request is sent before an import gives up; it can be run again."""
TIMEOUT_S = 120
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 30.0
_ENTRY = re.compile(r"/(\d+)(?:/|\Z)")
_ACCEPTED = "--url takes an address such as https://example.org/base."


class RemoteTarget:
    """A source of a server, by its address and a key.

    With ``skips_refused`` what the server refuses of a batch is left out, and noted in ``refused``.
    """

    def __init__(self, url: str, *, key: str, source: str, pause: Callable[[float], None] = time.sleep) -> None:
        parts = urlsplit(url)
        try:
            port = parts.port
        except ValueError:
            raise Refused(_ACCEPTED) from None
        if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
            raise Refused(_ACCEPTED)
        self.address = f"{url.rstrip('/')} {source}"
        self._path = f"{parts.path.rstrip('/')}/{quote(source, safe='')}"
        self._headers = {"x-api-key": key, "user-agent": f"penchant-import/{__version__}"}
        connection = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = connection(parts.hostname, port, timeout=TIMEOUT_S)
        self._pause = pause
        self._deleted = 0
        self.skips_refused = False
        self.refused: list[Fault] = []

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def created_at(self) -> str:
        """Return when the source was made; empty where there is none."""
        answer = self._ask("GET", "", missing=True)
        return "" if answer is None else str(answer["createdAt"])

    def create(self, settings: Settings) -> None:
        """Make the source with words as a submission can, and put in force what else differs from its defaults."""
        words = settings.get("words") == DEFAULT_WORDS
        self._ask("POST", "/content?words=auto" if words else "/content", b"[]")
        if any(value for name, value in settings.items() if not (words and name == "words")):
            self.put("settings", [encode(settings)])

    def settings(self) -> Settings:
        """Return the source's settings, the defaults where there is none."""
        return self._ask("GET", "/settings", missing=True) or {}

    def submit(self, pieces: Sequence[Any]) -> BatchResult:
        """Submit pieces."""
        bodies = [piece.body for piece in pieces]
        receipt = self._send_all(bodies, lambda body: self._ask("POST", "/content", body))
        return BatchResult(created=receipt["created"], replaced=receipt["replaced"])

    def record(self, interactions: Sequence[CheckedInteraction]) -> BatchResult:
        """Send interactions."""
        bodies = [encode(interaction_members(item)) for item in interactions]
        receipt = self._send_all(bodies, lambda body: self._change("POST", "/interactions", body))
        return BatchResult(duplicates=receipt["duplicates"], unstored=receipt.get("unstored", 0))

    def put(self, kind: str, bodies: Sequence[bytes]) -> None:
        """Replace a list or the settings, put placements or drafts as they are, or replace people's preferences.

        The server decides anew who sees which variant of a placement; a draft is as written by the key.
        """
        for body in bodies:
            members = msgspec.json.decode(body)
            match kind:
                case "placement":
                    self._put_new(f"/placements/{quote(members['name'], safe='')}", members["placement"])
                case "draft":
                    self._put_new(f"/drafts/{quote(members['name'], safe='')}", members["edits"])
                case "preferences":
                    user_id = members.pop("userId")
                    self._change("PUT", f"/users/{quote(user_id, safe='')}/preferences", encode(members))
                case _:
                    self._change("PUT", f"/{kind}", body)

    def count_pieces(self) -> int:
        """Return how many pieces the source has."""
        answer = self._ask("GET", "", missing=True)
        return 0 if answer is None else int(answer["pieces"])

    def delete(self, ids: Sequence[str]) -> int:
        """Delete pieces; return how many there were."""
        self._deleted = 0
        self._ask("DELETE", "/content", encode(list(ids)))
        return self._deleted

    def _send_all(self, bodies: list[bytes], send: Callable[[bytes], Any]) -> Any:
        """Send entries of an array; where some are refused and that is to be passed over, the others."""
        while True:
            try:
                return send(b"[" + b",".join(bodies) + b"]")
            except InvalidInput as error:
                places = {int(match[1]) for fault in error.faults if (match := _ENTRY.match(fault.pointer or ""))}
                if not (places and self.skips_refused):
                    raise
                self.refused += error.faults
                bodies = [body for place, body in enumerate(bodies) if place not in places]

    def _put_new(self, path: str, members: dict[str, Any]) -> None:
        """Put what is not there like this yet."""
        known = self._ask("GET", path, missing=True) or {}
        if {name: known.get(name) for name in members} != members:
            self._change("PUT", path, encode(members))

    def _change(self, method: str, path: str, body: bytes) -> Any:
        """Ask for a change, making the source first where it is missing."""
        answer = self._ask(method, path, body, missing=True)
        if answer is None:
            self.submit(())
            answer = self._ask(method, path, body)
        return answer

    def _ask(self, method: str, path: str, body: bytes | None = None, *, missing: bool = False) -> Any:
        """Return the answer; ``None`` of an unknown source where ``missing`` allows it.

        Raises:
            InvalidInput, Refused: the server does not do it, or does not answer.
        """
        reason = ""
        for attempt in range(MAX_ATTEMPTS):
            # A connection on which anything failed is not used again: the rest of an answer may still be in it.
            if attempt:
                self._connection.close()
            try:
                status, wait_s, text = self._send(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                reason, wait_s = f"{type(error).__name__}: {error}", 0.0
            else:
                if status in {200, 202}:
                    return json.loads(text)
                if missing and status == 404:
                    return None
                if status not in {429, 502, 503, 504}:
                    raise _refusal(status, text)
                reason = f"answered {status}"
            if attempt < MAX_ATTEMPTS - 1:
                self._pause(min(MAX_PAUSE_S, max(wait_s, FIRST_PAUSE_S * 2**attempt)))
        raise Refused(
            f"The server did not do it in {MAX_ATTEMPTS} attempts ({reason}). Run the same command again to go on."
        )

    def _send(self, method: str, path: str, body: bytes | None) -> tuple[int, float, bytes]:
        headers = self._headers | ({} if body is None else {"content-type": "application/json"})
        self._connection.request(method, self._path + path, body=body, headers=headers)
        answer = self._connection.getresponse()
        # To its end, so that the connection can carry the next request.
        text = answer.read()
        self._deleted = int(answer.headers.get("x-penchant-deleted") or 0)
        after = answer.headers.get("retry-after") or ""
        return answer.status, float(after) if after.isdecimal() else 0.0, text


def _refusal(status: int, text: bytes) -> Refused | InvalidInput:
    # A proxy in between may answer with anything: then the status is all that can be said.
    try:
        problem = json.loads(text)
        faults = [Fault(detail=str(item["detail"]), pointer=item.get("pointer")) for item in problem.get("errors", [])]
        detail = f"The server answered {status}: {problem['detail']}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return Refused(f"The server answered {status}.")
    return InvalidInput(detail, faults=faults) if faults else Refused(detail)
