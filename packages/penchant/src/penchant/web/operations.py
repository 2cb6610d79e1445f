"""Operations of the interface: address, what goes in and out, whom they are about; the call and its answer.

A row stands beside its handler; `penchant.web.routes` gathers all of them.
"""

import contextlib
import dataclasses
import hashlib
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.datastructures import Headers
from starlette.types import Scope as RequestScope

from penchant.errors import InvalidInput, MalformedPath, NotInBrowsers, invalid_parameter
from penchant.hooks import AGENTS_PATH
from penchant.live.views import View
from penchant.model import BROWSER_SCOPES, Feature, Scope, SourceSettings
from penchant.service import Services
from penchant.service.access import Access
from penchant.service.decoding import BodyDecoder
from penchant.service.lists.answer_cache import AnswerBasis
from penchant.storage import SourceHead
from penchant.web.bodies import JSON, LIST_BODY, BodyKind
from penchant.web.exchange import RequestExchange
from penchant.web.parameters import AT, MIN_VERSION
from penchant.web.problems import ProblemKind
from penchant.web.query import (
    Parameter,
    ParameterPlan,
    PathParameters,
    QueryParameters,
    RequestHeaders,
    Values,
    integer,
    parse_query,
)
from penchant.wire.fields import Record
from penchant.wire.schemas import InterfacePart

KEY_HEADER = "x-api-key"
RAW_KEY_HEADER = KEY_HEADER.encode()
USER_HEADER = "x-penchant-user"
KEY_PARAMETER = "key"
USER_PARAMETER = "user"
"""Where a browser key and its signed person come from where a page can set no headers."""
Decoded = TypeVar("Decoded")
P = ParamSpec("P")

MIN_VERSION_HEADER = "x-penchant-min-version"
RAW_MIN_VERSION_HEADER = MIN_VERSION_HEADER.encode()
_MIN_VERSION_PLAN = ParameterPlan((MIN_VERSION,))
MIN_AUDIENCE_VERSION_HEADER = "x-penchant-min-audience-version"
AUDIENCE_VERSION_HEADER = "x-penchant-audience-version"
CHANGE_ERRORS = ("storage-unavailable", "overloaded")
"""Codes of errors of every operation that changes something."""
BODY_ERRORS = ("unsupported-media-type", "body-too-large", "invalid-syntax", "invalid-input", "request-timeout")
"""Codes of errors of every operation with a body."""


def bearer_keys(headers: Headers) -> list[str]:
    """Return the keys in the headers of a request that may bring one as a bearer."""
    given = headers.getlist("authorization")
    bearers = [text[len(_BEARER) :].strip() for text in given if text.lower().startswith(_BEARER)]
    return bearers + headers.getlist(KEY_HEADER)


def keys_of(scope: RequestScope, headers: RequestHeaders) -> list[str]:
    """Return the keys that a request brings, wherever they may be: in the header, for agents as a bearer, in the query.

    The query counts where there is no header, for pages that can set none. A query that cannot be read has none.
    """
    # No route has these segments but that of agents, whatever stands before them.
    if _AGENTS in scope["raw_path"]:
        return bearer_keys(headers)
    key = headers.first.get(RAW_KEY_HEADER)
    if key is not None:
        return headers.getlist(KEY_HEADER) if headers.has_repeated else [key.decode("latin-1")]
    if _KEY_QUERY not in scope["query_string"]:
        return []
    with contextlib.suppress(MalformedPath):
        return [*parse_query(scope["query_string"]).values(KEY_PARAMETER)]
    return []


_KEY_QUERY, _BEARER = f"{KEY_PARAMETER}=".encode(), "bearer "
_AGENTS = AGENTS_PATH.encode()


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """An answer of a handler: a body, a stream of parts or a result, and what the headers must say of it.

    A ``result`` becomes the body when the members of pieces that the request includes are in it; the tag is then that
    of the body, where the operation has any. ``etag`` marks an answer that may be asked for again conditionally,
    ``headers`` are further ones. ``close`` ends a stream that is not sent after all. With a ``basis`` the answer is
    kept for who asks the same again; ``cursor`` then says where a list goes on.
    """

    body: bytes | AsyncIterator[bytes] = b""
    result: Record | Sequence[Record] | None = None
    status: int = 200
    media_type: str = JSON
    version: int | None = None
    etag: str | None = None
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    close: Callable[[], Awaitable[None]] | None = None
    basis: AnswerBasis | None = None
    cursor: "Callable[[Call, View], str] | None" = None


class AdmittedCaller(msgspec.Struct, frozen=True, kw_only=True):
    """The sender of a request that was let in, and the source's head of that moment where the source must exist."""

    access: Access
    head: SourceHead | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A request as a handler gets it: let in, its path and query decoded, its body read.

    ``caller`` is ``None`` for public operations; ``body`` and ``media_type`` are empty where the operation's row
    announces no body, ``decoded`` is what its ``reader`` makes of the body.
    """

    exchange: RequestExchange
    operation: "Operation"
    path: PathParameters
    query: QueryParameters
    caller: AdmittedCaller | None = None
    media_type: str = ""
    body: bytes = b""
    decoded: Any = None

    @property
    def services(self) -> Services:
        """The use cases."""
        return self.exchange.services

    @property
    def headers(self) -> Headers:
        """The request's headers."""
        return self.exchange.headers

    @property
    def access(self) -> Access:
        """The key, its account and plan; only operations that need a key have one."""
        if self.caller is None:
            raise TypeError("this operation needs no key")
        return self.caller.access

    @property
    def source(self) -> str:
        """The source's name."""
        return self.path["source"]

    @property
    def raw_query(self) -> bytes:
        """The query as it came."""
        raw: bytes = self.exchange.scope["query_string"]
        return raw

    @property
    def tag_key(self) -> bytes:
        """What keys the ETags of the account, so that they tell others nothing and are another account's never."""
        return self.services.access.tag_secret + self.access.account_id.to_bytes(8, "big", signed=True)

    async def decode_body(self, decode: Callable[[bytes], Decoded]) -> Decoded:
        """Return what the body holds, and raise what ``decode`` raises; large ones are decoded in a thread.

        Raises:
            Overloaded: too many large bodies are being decoded.
        """
        return await self.services.of(BodyDecoder).decode(self.access.account_id, decode, self.body)

    def values(self) -> Values:
        """Return the parameters' values, the path's lengths checked as well.

        Raises:
            InvalidInput: with a fault for every parameter that is not acceptable.
            NotInBrowsers: a page asks for another moment, at which pieces may be shown that are not yet.
        """
        if self.exchange.values is not None:
            return self.exchange.values
        if self.path.faults:
            self.check_path()
        values = self.operation.plan.read(self.query)
        if AT.name in values.given and self.is_in_browser:
            raise NotInBrowsers("A browser key sees what may be shown now; the parameter at is for other keys.")
        self.exchange.values = values
        return values

    def check_path(self) -> None:
        """Raise `InvalidInput` where an id in the path is longer than ids are."""
        if faults := self.path.faults:
            raise InvalidInput(f"The path is not acceptable: {faults[0].detail}", faults=list(faults))

    def min_version(self) -> int:
        """Return the version that the read asks for, the greater where it is given both ways.

        Raises:
            InvalidInput: not a number.
        """
        # Most reads ask for no version: they skip the parsing.
        if RAW_MIN_VERSION_HEADER not in self.exchange.headers.first and MIN_VERSION.name not in self.query.given:
            return 0
        in_query: int = _MIN_VERSION_PLAN.read(self.query)[MIN_VERSION.name]
        return max(in_query, self._greatest_of(MIN_VERSION_HEADER))

    def min_audience_version(self) -> int:
        """Return the version of the interactions that what people like is to be of at least.

        Raises:
            InvalidInput: not a number.
        """
        return self._greatest_of(MIN_AUDIENCE_VERSION_HEADER)

    def _greatest_of(self, header: str) -> int:
        """Return the greatest number that a header gives, 0 for none."""
        if header.encode() not in self.exchange.headers.first:
            return 0
        versions = [0]
        for text in self.headers.getlist(header):
            try:
                versions.append(integer(text.strip(), least=0))
            except ValueError as error:
                raise invalid_parameter(header, str(error)) from error
        return max(versions)

    async def view(self) -> View:
        """Return the source as it is committed now, at the version asked for at least."""
        found, self.exchange.view = self.exchange.view, None
        if found is not None:
            return found
        min_version = self.min_version()
        access, services = self.access, self.exchange.services
        # The checks have read the head a moment ago: another read would say the same, unless more is asked for.
        known = None if self.caller is None else self.caller.head
        view = await services.views.view(access.account_id, self.path["source"], min_version=min_version, known=known)
        # Shown by a header of whatever answer follows, also of an error that is the caller's.
        self.exchange.is_stale = view.stale
        # Whoever reads a page has its key: it knows of no piece that may not be shown now.
        return replace(view, known_at=services.lists.now(view)) if access.is_browser else view

    def without_head(self) -> "Call":
        """Return the request without the head that the checks have read, where the source has changed since."""
        return (
            self
            if self.caller is None
            else msgspec.structs.replace(self, caller=msgspec.structs.replace(self.caller, head=None))
        )

    @property
    def is_in_browser(self) -> bool:
        """Whether a page sends this, with a key that everybody has who reads the page."""
        return self.caller is not None and self.caller.access.is_browser

    def filter_settings(self, view: View) -> SourceSettings:
        """Return the settings by which the caller may filter: pages by those attributes alone that they may read."""
        settings = view.settings
        if not self.is_in_browser:
            return settings
        public = {key: each for key, each in settings.attributes.items() if settings.is_public_extra(each.steps[0])}
        return dataclasses.replace(settings, attributes=public)

    def ignored(self) -> list[str]:
        """Return the query's names that neither the operation knows nor a browser key's requests may have."""
        names = self.operation.plan.ignored(self.query)
        # A browser key in the query was read before the operation was asked for its parameters.
        if names and self.is_in_browser:
            return [name for name in names if name not in {KEY_PARAMETER, USER_PARAMETER}]
        return names


def signed_users(headers: Headers, query: QueryParameters) -> Sequence[str]:
    """Return the signed people of a request: of its header or, where that cannot be set, of its query."""
    return headers.getlist(USER_HEADER) or query.values(USER_PARAMETER)


Handler = Callable[[Call], Awaitable[Answer]]
Reader = Callable[[Call], Awaitable[Any]]
"""Decodes the body of a call, for `Call.decoded`; raises what the operation's answer to a bad body is."""


def _nobody(_: Any) -> Collection[str]:
    return ()


def _as_it_is(_: Any, user_id: str) -> str:
    return user_id


class About(msgspec.Struct, frozen=True, kw_only=True):
    """Whom an operation is about, as the OpenAPI document names it: nobody, one person, or everybody.

    ``in_request`` are the people whom path and query name, ``in_body`` those whom the decoded body names; a browser key
    is answered where all of them are the person who is signed. ``mark`` makes of an id, given what was decoded with
    it, the name by which ``in_body`` knows people. Where people are named, a key needs ``scope`` beside the
    operation's own.
    """

    name: str
    in_request: Callable[[Mapping[str, str], QueryParameters], Collection[str]] | None = None
    in_body: Callable[[Any], Collection[str]] = _nobody
    mark: Callable[[Any, str], str] = _as_it_is
    scope: Scope | None = None


NOBODY = About(name="nobody")
EVERYBODY = About(name="everybody")
IN_PATH = About(name="person", in_request=lambda path, _: (path["userID"],))
IN_QUERY = About(name="person", in_request=lambda _, query: query.values(USER_PARAMETER), scope=Scope.PERSONAL)
"""The person is the query's ``user``, or there is none."""


def in_body(
    people: Callable[[Any], Collection[str]],
    *,
    mark: Callable[[Any, str], str] = _as_it_is,
    scope: Scope | None = None,
) -> About:
    """Return that an operation is about the person whom its body names, if any."""
    return About(name="person", in_body=people, mark=mark, scope=scope)


def everybody_in_body(people: Callable[[Any], Collection[str]]) -> About:
    """Return that an operation tells of all the people whom its body names, if any."""
    return About(name="everybody", in_body=people, scope=Scope.PERSONAL)


def read_by(decode: Callable[[bytes], Any]) -> Reader:
    """Return the reader of bodies that say by themselves what they hold."""
    return lambda call: call.decode_body(decode)


async def _unserved(call: Call) -> Answer:
    raise TypeError(f"the operation {call.operation.name} has no handler")


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the interface: one row of the routing table and of the OpenAPI document.

    ``about`` says whom it is about; browser keys are answered where ``in_browsers`` says so, and never about everybody.
    ``body`` and ``answer`` name schema components. A body is of one of ``media_types``; an ``optional_body`` is the
    handler's to read. ``reader`` decodes the body before the handler is called: it must where the body says whom the
    call is about, or how many ``answers`` it has, which is one otherwise.
    ``creates_source`` tells that the source need not exist, ``finds_source`` that the handler itself finds out whether
    it does: it is looked for apart only to tell which of two errors goes first.
    ``admin`` ones need a key with that role, and are about no source.
    ``scope`` is what a key needs for it; all but public and ``admin`` operations have one.
    ``changes_interactions`` answers tell the version that the interactions then have.
    ``has_etag`` answers can be asked for again conditionally, ``has_lines`` ones come as NDJSON, too.
    ``counted`` answers count against the monthly quota. ``personal`` answers are never stored by caches.
    ``remembered`` ones may be kept here for who asks the same again; those that go by what people like say so
    (``follows_audience``).
    Browser keys without its scope are told so where it ``names_scope``. A decoded body ``includes`` these members of
    pieces. ``headers`` are those of answers that do not follow from all this, ``errors`` the codes of such errors.
    ``part`` has the components and ``problems`` the codes that it names, where these are none of the service's.
    """

    method: str
    path: str
    _: KW_ONLY
    about: About
    name: str = ""
    summary: str = ""
    handler: Handler = _unserved
    tag: str = ""
    in_browsers: bool = False
    status: int = 200
    parameters: tuple[Parameter, ...] = ()
    feature: Feature | None = None
    scope: Scope | None = None
    public: bool = False
    admin: bool = False
    creates_source: bool = False
    finds_source: bool = False
    counted: bool = False
    answers: Callable[[Any], int] | None = None
    personal: bool = False
    remembered: bool = False
    follows_audience: bool = False
    media_types: tuple[str, ...] = (JSON,)
    body_kind: BodyKind = LIST_BODY
    body: str | None = None
    optional_body: bool = False
    reader: Reader | None = None
    includes: Callable[[Any], Sequence[str]] | None = None
    names_scope: bool = True
    has_etag: bool = False
    has_lines: bool = False
    deletes_pieces: bool = False
    changes_interactions: bool = False
    answer: str | None = None
    answer_media_type: str = JSON
    headers: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    part: InterfacePart | None = None
    problems: Mapping[str, ProblemKind] = field(default_factory=dict)
    plan: ParameterPlan = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Refuse an operation that says contradictory things of whom it is for and whom it is about."""
        object.__setattr__(self, "plan", ParameterPlan(self.parameters))
        if (self.scope is None) != (self.public or self.admin):
            raise TypeError(f"the operation {self.method} {self.path} needs a scope, or is open to have none")
        if ("{userID}" in self.path) != (self.about is IN_PATH):
            raise TypeError(
                f"the operation {self.method} {self.path} is about the person in its path, or has none there"
            )
        if self.in_browsers and (self.scope not in BROWSER_SCOPES or self.about.name == EVERYBODY.name):
            raise TypeError(
                f"the operation {self.method} {self.path} is not for pages: it writes, or is about everybody"
            )
        if self.reader is None and (self.answers is not None or self.about.in_body is not _nobody):
            raise TypeError(f"the operation {self.method} {self.path} needs a reader: its body is asked first")

    @property
    def reads_body(self) -> bool:
        """Whether its body is read before its handler is called."""
        return self.body is not None and not self.optional_body

    @property
    def has_source(self) -> bool:
        """Whether it is about a source, which its path names."""
        return "{source}" in self.path

    @property
    def stores(self) -> bool:
        """Whether it changes what is stored: all do that do not read, preview, nor make lists, which count."""
        return self.method != "GET" and self.scope is not None and not self.counted and "/preview/" not in self.path


class OperationTable(Generic[P]):
    """The operations of a module, in the interface's order: each is a row that decorates its handler.

    The handler's name and its documentation are the operation's name and summary, unless the row has others. ``row`` is
    `Operation`, whose members are the decorator's arguments; ``part`` describes what they take and answer, ``problems``
    errors of theirs.
    """

    def __init__(
        self,
        row: Callable[P, Operation],
        tag: str,
        part: InterfacePart | None = None,
        problems: Mapping[str, ProblemKind] | None = None,
    ) -> None:
        self._row = row
        self._tag = tag
        self._described: dict[str, Any] = {"part": part, "problems": problems or {}}
        self._operations: list[Operation] = []

    def __iter__(self) -> Iterator[Operation]:
        return iter(self._operations)

    def operation(self, *args: P.args, **members: P.kwargs) -> Callable[[Handler], Handler]:
        """Return a decorator that has its function handle an operation."""
        row = self._row(*args, **members)

        def add(handler: Handler) -> Handler:
            first, *words = handler.__name__.split("_")
            name = row.name or first + "".join(map(str.capitalize, words))
            summary = row.summary or inspect.getdoc(handler) or ""
            tag = row.tag or self._tag
            added = dataclasses.replace(row, name=name, summary=summary, handler=handler, tag=tag, **self._described)
            self._operations.append(added)
            return handler

        return add


_TAG_BYTES = 12
"""Length of a tag's hash: 96 bits, so that two answers never share one by chance (D10 of docs/decisions.md)."""


def body_tag(body: bytes, key: bytes = b"") -> str:
    """Return the tag of a body itself, for what changes without a new version, or not with every one.

    What belongs to an account has its key (`Call.tag_key`): equal bodies of two accounts have different tags, and by
    no tag anybody finds out what else has which body.
    """
    return hashlib.blake2b(body, digest_size=_TAG_BYTES, key=key).hexdigest()


def version_tag(head: SourceHead, key: bytes, *more: object) -> str:
    """Return the tag of what follows from a source's version and the request alone, for streamed lists."""
    parts = (head.source_id, head.incarnation, head.epoch, head.version, *more)
    return body_tag("-".join(map(str, parts)).encode(), key)
