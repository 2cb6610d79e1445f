"""Messages of the Model Context Protocol over streamable HTTP, without sessions: JSON-RPC in, JSON-RPC out.

Two ways of beginning, told apart by the header ``mcp-protocol-version``: up to 2025-11-25 a client says `initialize`
first, which commits nobody to anything here; from 2026-07-28 on every request carries what it needs, twice: in its
``_meta`` and in headers that have to agree with the body, for those in between who read headers alone.
"""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from penchant.web.query import RequestHeaders
from penchant.wire import encode

PARSE_ERROR, INVALID_REQUEST, UNKNOWN_METHOD, INVALID_PARAMS = -32700, -32600, -32601, -32602
HEADER_MISMATCH, UNSUPPORTED_VERSION = -32020, -32022
"""Codes of errors, the last two of MCP's own."""
VERSION_HEADER = "mcp-protocol-version"
STATELESS_VERSION = "2026-07-28"
"""The version whose requests stand for themselves."""
BATCH_VERSION = "2025-03-26"
"""The one version with batches; and what a request without the header is of."""
HANDSHAKE_VERSIONS = (BATCH_VERSION, "2025-06-18", "2025-11-25")
VERSIONS = (*HANDSHAKE_VERSIONS, STATELESS_VERSION)
MAX_BATCH = 10
"""Messages of a batch: each of them counts as a request."""
_METHOD_HEADER, _NAME_HEADER = "mcp-method", "mcp-name"
_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
_BASE64 = "=?base64?"


class MessageError(Exception):
    """A message cannot be answered but by an error; ``request_id`` is that of the request, if it has one."""

    def __init__(self, code: int, message: str, *, data: Any = None, request_id: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.data = data
        self.request_id = request_id

    def answer(self) -> dict[str, Any]:
        """Return the message that tells of it."""
        error = {"code": self.code, "message": str(self)} | ({} if self.data is None else {"data": self.data})
        return {"jsonrpc": "2.0", "id": self.request_id, "error": error}


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A message that may be answered: a request, or a notification, which has no ``id``."""

    method: str
    params: Mapping[str, Any]
    id: str | int | None = None

    def error(self, code: int, message: str, *, data: Any = None) -> MessageError:
        """Return an error that answers this message."""
        return MessageError(code, message, data=data, request_id=self.id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """What a request to the address holds: messages of a version; several of them only in a batch."""

    messages: tuple[Message | MessageError, ...]
    version: str
    is_batch: bool = False

    @property
    def is_stateless(self) -> bool:
        """Whether its request stands for itself."""
        return self.version == STATELESS_VERSION

    def status(self, error: MessageError) -> int:
        """Return the status of an answer that is an error alone; 200 where it is one of a method."""
        if error.code in {UNKNOWN_METHOD, INVALID_PARAMS}:
            return {UNKNOWN_METHOD: 404, INVALID_PARAMS: 400}[error.code] if self.is_stateless else 200
        return 400


def read_post(headers: RequestHeaders, body: bytes) -> Post:
    """Return the messages of a body.

    Raises:
        MessageError: it is no JSON, no message, or of another version than the service speaks.
    """
    try:
        read = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise MessageError(PARSE_ERROR, "The body is no JSON.") from None
    begins = isinstance(read, dict) and read.get("method") == "initialize"
    version = headers.get(VERSION_HEADER, BATCH_VERSION)
    if version not in VERSIONS and not begins:
        data = {"supported": VERSIONS, "requested": version[:100]}
        raise MessageError(UNSUPPORTED_VERSION, "Unsupported protocol version", data=data, request_id=_id_of(read))
    if not isinstance(read, list):
        message = _read(read)
        if isinstance(message, MessageError):
            raise message
        if version == STATELESS_VERSION and message.id is not None:
            _check_envelope(headers, message)
        return Post(messages=(message,), version=version)
    if version != BATCH_VERSION or not 0 < len(read) <= MAX_BATCH:
        raise MessageError(
            INVALID_REQUEST, f"The body has to be one message; version {BATCH_VERSION} takes 1 to {MAX_BATCH} of them."
        )
    return Post(messages=tuple(map(_read, read)), version=version, is_batch=True)


def _id_of(read: Any) -> str | int | None:
    found = read.get("id") if isinstance(read, dict) else None
    return found if isinstance(found, str | int) and not isinstance(found, bool) else None


def _read(read: Any) -> Message | MessageError:
    """Return a message; one that answers a request of ours, which sends none, counts as a notification."""
    found = _id_of(read)
    if not isinstance(read, dict) or read.get("jsonrpc") != "2.0":
        return MessageError(INVALID_REQUEST, 'A message is an object with "jsonrpc": "2.0".', request_id=found)
    if "method" not in read and ("result" in read or "error" in read):
        return Message(method="", params={})
    method, params = read.get("method"), read.get("params", {})
    if not isinstance(method, str) or not isinstance(params, dict) or ("id" in read and found is None):
        return MessageError(
            INVALID_REQUEST,
            "A message has a method, params that are an object, and an id that is text or an integer.",
            request_id=found,
        )
    return Message(method=method, params=params, id=found)


def _check_envelope(headers: RequestHeaders, message: Message) -> None:
    """Check that a request says what it needs, and that headers say the same.

    Raises:
        MessageError: something is missing, or headers say otherwise.
    """
    meta = message.params.get("_meta")
    missing = [key for key in (_VERSION_KEY, _CAPABILITIES_KEY) if not isinstance(meta, dict) or key not in meta]
    if not isinstance(meta, dict) or missing:
        raise message.error(INVALID_PARAMS, f"params._meta has no {', '.join(missing)}.")
    expected = {VERSION_HEADER: meta[_VERSION_KEY], _METHOD_HEADER: message.method}
    if message.method == "tools/call":
        expected[_NAME_HEADER] = message.params.get("name")
    for name, value in expected.items():
        given = [_decoded(text) for text in headers.getlist(name)]
        if given != [value]:
            raise message.error(HEADER_MISMATCH, f"The header {name} has to say once what the body says.")


def _decoded(text: str) -> str:
    """Return what a header says that may be written in base64, as what is no ASCII has to be."""
    if not (text.startswith(_BASE64) and text.endswith("?=")):
        return text
    try:
        return base64.b64decode(text[len(_BASE64) : -2], validate=True).decode()
    except (binascii.Error, UnicodeDecodeError):
        return text


def encode_answers(post: Post, answers: list[dict[str, Any]]) -> bytes:
    """Return the body of the answers to a post."""
    return encode(answers if post.is_batch else answers[0])
