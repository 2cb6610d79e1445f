"""Tools: what agents may call. The parameters of a function are what they send, what it returns is asked for them.

From the parameters follow the schema that agents see, and the check of what they send.
"""

import inspect
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Any, cast

import msgspec

from penchant_client import ClientError, InvalidArgument, ServiceError
from penchant_client.requests import Flow, Request, encode, request_of

TAKEN, MAX_TAKE, MAX_IDS = 10, 30, 100
"""Pieces of a list, unless a call says otherwise, the most, and the most ids that a call may name."""
MAX_SOURCES = 100
"""Sources that are told at once."""
_JSON = cast("type[Any]", Any)
"""What answers are: any JSON, handed on as it comes."""


class DraftOfOthers(ClientError):
    """Somebody else wrote this draft last."""


def _said(description: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=description, **limits)


Source = Annotated[str, _said("Name of the source, the catalogue.", min_length=1)]
Id = Annotated[str, _said("Id of a piece, exactly as it is stored.", min_length=1)]
User = Annotated[str, _said("Id of a person, exactly as it is stored.", min_length=1)]
Take = Annotated[int, _said("How many pieces at most.", ge=1, le=MAX_TAKE)]
Catalogs = Annotated[Sequence[str], _said("Only pieces of one of these catalogs.")]
Filter = (
    Annotated[dict[str, Any], _said("Only pieces that match: {category, any} or {catalogs}, in must, should, mustNot.")]
    | None
)
Skip = Annotated[int, _said("How many to leave out, to see further ones.", ge=0)]
Text = Annotated[str, _said("Words of the title, id, keyword or any text of a piece.", min_length=1)]
After = Annotated[str, _said("The `after` of an answer before, to look further.", min_length=1)] | None
By = Annotated[str, _said("content (keywords), audience (who likes it) or both.")]
Explain = Annotated[bool, _said("Whether to say why each piece is in the list.")]
RankedIds = Annotated[Sequence[str], _said("Ids of the pieces to put in order.", min_length=1, max_length=MAX_IDS)]
SimilarTo = Annotated[str, _said("Id of the piece whose similar ones are meant.", min_length=1)] | None
NewPiece = Annotated[dict[str, Any], _said("A piece as it would be submitted: categories, label.")] | None
Liked = Annotated[Sequence[str], _said("Ids of pieces that somebody likes, or dislikes.", max_length=MAX_IDS)]
PlacementName = Annotated[str, _said("The placement whose list is made.", min_length=1)] | None
Beside = Annotated[str, _said("Id of the piece beside which the list stands.", min_length=1)] | None
DraftName = Annotated[str, _said("Name of the draft.", min_length=1)]
_EDITS = "All that the draft edits: title, note, placements, settings, blacklist, whitelist, content."
Edits = Annotated[dict[str, Any], _said(_EDITS)] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool: the record of its arguments with its schema, and what it asks for them."""

    name: str
    description: str
    arguments: type[msgspec.Struct]
    schema: dict[str, Any]
    asks: Callable[..., Any]
    writes: bool

    def requested(self, given: object, key_id: str) -> Request[Any] | Flow[Any]:
        """Return what a call with these arguments asks for, by the key of this id.

        Raises:
            InvalidArgument: they are not acceptable.
        """
        try:
            arguments = msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as error:
            raise InvalidArgument(f"The arguments are not acceptable: {error}.") from None
        own = {"key_id": key_id} if self.writes else {}
        asked: Request[Any] | Flow[Any] = self.asks(**msgspec.structs.asdict(arguments), **own)
        return asked


TOOLS: dict[str, Tool] = {}
"""All tools by their names."""


def _tool(description: str, *, writes: bool = False) -> Callable[[Callable[..., Any]], None]:
    """Return a decorator that makes a tool of a function; that of one that writes has the key's id, behind a star."""

    def add(asks: Callable[..., Any]) -> None:
        name, parameters = asks.__name__.strip("_"), inspect.signature(asks).parameters.values()
        fields = [
            (each.name, each.annotation, msgspec.NODEFAULT if each.default is each.empty else each.default)
            for each in parameters
            if each.kind is not each.KEYWORD_ONLY
        ]
        arguments = msgspec.defstruct(name, fields, kw_only=True, forbid_unknown_fields=True)
        schema = msgspec.json.schema_components((arguments,))[1][name]
        del schema["title"]
        TOOLS[name] = Tool(
            name=name, description=description, arguments=arguments, schema=schema, asks=asks, writes=writes
        )

    return add


def _request(method: str, path: str, *places: str, body: Any = None, **options: Any) -> Request[Any]:
    """Return a request for JSON below a source; options that are nothing are left out."""
    given = {name: value for name, value in options.items() if value not in ((), [], None)}
    content = None if body is None else encode(body)
    return request_of(method, f"/{{source}}/{path}", _JSON, *places, options=given, body=content)


def list_sources(**page: int) -> Request[Any]:
    """Return the request for the sources of the key's account, ascending by name: a page of them, or all."""
    return request_of("GET", "/-/account", _JSON, options=page)


def read_pieces(source: str, ids: Sequence[str]) -> Request[Any]:
    """Return the request for the pieces with these ids."""
    return _request("POST", "content/read", source, body=ids)


@_tool("Which sources, catalogues, there are: the names that other tools take, with how many pieces each has.")
def _sources(skip: Skip = 0) -> Flow[Any]:
    own = yield list_sources(skip=skip, limit=MAX_SOURCES)
    names = [{"source": each["source"], "pieces": each["pieces"]} for each in own["sources"]]
    return {"count": own["count"], "sources": names}


@_tool("Find pieces of a source by words of their title, id, keywords or texts.")
def _find_pieces(source: Source, text: Text, after: After = None) -> Request[Any]:
    return _request("GET", "search", source, q=text, kind="piece", after=after)


@_tool("Pieces similar to one, nearest first; score is the distance, 0 the same.")
def _similar(
    source: Source, id: Id, by: By = "content", take: Take = TAKEN, catalogs: Catalogs = (), filter: Filter = None
) -> Request[Any]:
    return _request("GET", "content/{id}/similar", source, id, by=by, limit=take, catalogs=catalogs, filter=filter)


@_tool("What a person may like, best first; score is lower for better ones.")
def _recommend(
    source: Source,
    user: User,
    explain: Explain = False,
    take: Take = TAKEN,
    catalogs: Catalogs = (),
    filter: Filter = None,
) -> Request[Any]:
    narrowed = {"limit": take, "catalogs": catalogs, "filter": filter}
    return _request("GET", "users/{user}/recommendation", source, user, explain=explain, **narrowed)


@_tool("Put given pieces into the order in which they suit a person; left tells which may not be shown.")
def _rank(source: Source, user: User, ids: RankedIds) -> Request[Any]:
    return _request("POST", "users/{user}/rank", source, user, body={"content": ids})


@_tool(
    "Why a piece is in a person's recommendations (user) or among those similar to another (beside), "
    "or why it is not, and what would bring it in."
)
def _why(source: Source, id: Id, user: User | None = None, beside: SimilarTo = None) -> Request[Any]:
    if user is not None and beside is None:
        return _request("GET", "users/{user}/why/{id}", source, user, id)
    if beside is not None and user is None:
        return _request("GET", "content/{beside}/why/{id}", source, beside, id)
    raise InvalidArgument("Name either user or beside: whose list, or the piece whose similar ones are meant.")


@_tool("A person's taste: keywords by category with scores from -1000 to 1000.")
def _profile(source: Source, user: User) -> Request[Any]:
    return _request("GET", "users/{user}/recommendation/profile", source, user)


@_tool("What is wrong with a catalogue's keywords, and how much is known of what people like.")
def _health(source: Source) -> Request[Any]:
    return _request("GET", "health", source)


@_tool(
    "The neighbours that a piece would have (piece), or what somebody may like who likes and dislikes some pieces "
    "(liked, disliked). Nothing is stored."
)
def _preview(
    source: Source, take: Take = TAKEN, piece: NewPiece = None, liked: Liked = (), disliked: Liked = ()
) -> Request[Any]:
    if piece is not None and not (liked or disliked):
        return _request("POST", "preview/similar", source, body=piece, limit=take)
    if piece is None and (liked or disliked):
        likings = {"liked": liked, "disliked": disliked}
        return _request("POST", "preview/recommendation", source, body=likings, limit=take)
    raise InvalidArgument("Give either piece, or liked and disliked.")


@_tool("The placements of a source, or the list that one shows (name) to a person and beside a piece.")
def _placements(
    source: Source, name: PlacementName = None, user: User | None = None, beside: Beside = None
) -> Request[Any]:
    if name is None:
        return _request("GET", "placements", source)
    return _request("GET", "placements/{name}/list", source, name, user=user, content=beside)


@_tool(
    "Read a draft, or write it (edits): what is to be changed, for people to look at. Nothing of it is in force "
    "before somebody publishes it, which no tool does.",
    writes=True,
)
def _draft(source: Source, name: DraftName, edits: Edits = None, *, key_id: str) -> Flow[Any]:
    if edits is None:
        return (yield _request("GET", "drafts/{name}", source, name))
    old = None
    with suppress(ServiceError):
        old = yield _request("GET", "drafts/{name}", source, name)
    # Of a draft nothing older is kept: none is written over but one of the same key.
    if old is not None and old["by"] != key_id:
        raise DraftOfOthers("Somebody else wrote this draft last, and no tool writes over it. Take another name.")
    return (yield _request("PUT", "drafts/{name}", source, name, body=edits, revision=old and old["revision"]))
