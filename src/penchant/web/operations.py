"""What is an operation of the interface? Its address, what it takes and gives, and who may use it."""

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Receive

from penchant.errors import Fault, InvalidInput, invalid_parameter
from penchant.live.views import View
from penchant.model import Feature
from penchant.service import Services
from penchant.service.access import Access
from penchant.storage import SourceHead
from penchant.web.bodies import JSON
from penchant.web.parameters import MIN_VERSION, Parameter, Values, ignored_names, integer, read_parameters
from penchant.web.raw import Query
from penchant.wire import id_problem, source_problem

MIN_VERSION_HEADER = "x-penchant-min-version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a handler gives: a body or a stream of parts, and what the headers must say of it.

    ``etag`` marks an answer that may be asked for again conditionally, ``headers`` are further ones. ``close`` ends a
    stream that is not sent after all.
    """

    body: bytes | AsyncIterator[bytes] = b""
    status: int = 200
    media_type: str = JSON
    version: int | None = None
    etag: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    close: Callable[[], Awaitable[None]] | None = None


@dataclass(slots=True, kw_only=True)
class Call:
    """One request on its way through an operation: authenticated, its path decoded, its body read."""

    services: Services
    operation: "Operation"
    path: Mapping[str, str]
    query: Query
    headers: Headers
    receive: Receive
    hold: Callable[[int], None]
    """Takes room for a part of the body, until the request is over."""
    caller: Access | None = None
    head: SourceHead | None = None
    """Where the source stood when the request was let in."""
    body: bytes = b""
    media_type: str = ""
    is_stale: bool = False
    """Whether what it was answered from may be older than what is stored: errors say so as well."""

    @property
    def access(self) -> Access:
        """Who is asking; only operations that need a key have someone."""
        if self.caller is None:
            raise TypeError("this operation needs no key")
        return self.caller

    @property
    def source(self) -> str:
        """The source's name."""
        return self.path["source"]

    def values(self) -> Values:
        """Return the parameters' values, the path's lengths checked as well.

        Raises:
            InvalidInput: with a fault for every parameter that is not acceptable.
        """
        self.check_path()
        return read_parameters(self.operation.parameters, self.query)

    def check_path(self) -> None:
        """Raise `InvalidInput` where an id in the path is longer than ids are."""
        faults = [
            Fault(parameter=name, detail=problem)
            for name, text in self.path.items()
            if name not in {"source", "type", "code"} and (problem := id_problem(text))
        ]
        if faults:
            raise InvalidInput(f"The path is not acceptable: {faults[0].detail}", faults=faults)

    def check_source(self) -> None:
        """Raise `InvalidInput` where the source's name can be none."""
        problem = source_problem(self.source)
        if problem:
            raise invalid_parameter("source", problem)

    def min_version(self) -> int:
        """Return the version that the read asks for, the greater where it is given both ways.

        Raises:
            InvalidInput: not a number.
        """
        if not self.query.pairs and MIN_VERSION_HEADER not in self.headers:
            return 0
        asked: list[int] = [read_parameters([MIN_VERSION], self.query)[MIN_VERSION.name]]
        for text in self.headers.getlist(MIN_VERSION_HEADER):
            try:
                asked.append(integer(text.strip(), least=0))
            except ValueError as error:
                raise invalid_parameter(MIN_VERSION_HEADER, str(error)) from error
        return max(asked)

    async def view(self) -> View:
        """Return the source as it is committed now, at the version asked for at least."""
        min_version = self.min_version()
        known = self.head if self.head is not None and self.head.version >= min_version else None
        view = await self.services.views.view(self.access.account_id, self.source, min_version=min_version, known=known)
        self.is_stale = view.stale
        return view

    async def count_more(self, answers: int) -> Callable[[], None]:
        """Count answers beyond the one that is counted already; call what is returned if they are not given.

        Raises:
            QuotaExceeded: the month's answers are used up.
        """
        return await self.services.usage.reserve(self.access, answers) if answers > 0 else _nothing

    def ignored(self) -> tuple[str, ...]:
        """Return the query's names that the operation does not know."""
        return ignored_names(self.operation.parameters, self.query)


def _nothing() -> None:
    """Take back what was not counted."""


Handler = Callable[[Call], Awaitable[Answer]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """An operation of the interface: one row of the routing table and of the OpenAPI document.

    ``body`` and ``answer`` name schema components. ``creates_source`` tells that the source need not exist,
    ``finds_source`` that the handler itself finds out whether it does: it is looked for apart only to tell which of
    two errors goes first.
    ``admin`` ones need a key with that role, and are about no source.
    ``counted`` answers count against the monthly quota. ``personal`` answers are never stored by caches.
    """

    method: str
    path: str
    name: str
    summary: str
    handler: Handler
    tag: str
    status: int = 200
    parameters: tuple[Parameter, ...] = ()
    feature: Feature | None = None
    public: bool = False
    admin: bool = False
    creates_source: bool = False
    finds_source: bool = False
    counted: bool = False
    personal: bool = False
    media_types: tuple[str, ...] = ()
    body: str | None = None
    optional_body: bool = False
    answer: str | None = None
    answer_media_type: str = JSON
    errors: tuple[str, ...] = ()
