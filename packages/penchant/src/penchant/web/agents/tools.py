"""Tools: what agents may call, each a request to an operation of the interface, with the checks of that operation.

Their arguments are records, of which follow the schema that agents see and the check of what they send.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

import msgspec

from penchant.errors import InvalidInput
from penchant_engine.model import MAX_TAKE

TAKEN = 10
"""Pieces of a list, unless a call says otherwise."""


def _said(description: str, **limits: Any) -> msgspec.Meta:
    return msgspec.Meta(description=description, **limits)


_Id = Annotated[str, _said("Id of a piece, exactly as it is stored.", min_length=1)]
_User = Annotated[str, _said("Id of a person, exactly as it is stored.", min_length=1)]
_Take = Annotated[int, _said("How many pieces at most.", ge=1, le=MAX_TAKE)]
_Catalogs = Annotated[Sequence[str], _said("Only pieces of one of these catalogs.")]
_Filter = Annotated[dict[str, Any], _said("Only pieces whose attributes match: must, should, mustNot.")]


class SourceArguments(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What every call names."""

    source: Annotated[str, _said("Name of the source, the catalogue.", min_length=1)]


class FindArguments(SourceArguments, kw_only=True):
    """What pieces are looked for by."""

    text: Annotated[str, _said("Words of the title, id, keyword or any text of a piece.", min_length=1)]
    after: Annotated[str, _said("The `after` of an answer before, to look further.", min_length=1)] | None = None


class ListArguments(SourceArguments, kw_only=True):
    """What lists are chosen by."""

    take: _Take = TAKEN
    catalogs: _Catalogs = ()
    filter: _Filter | None = None


class SimilarArguments(ListArguments, kw_only=True):
    """The piece that others are similar to."""

    id: _Id
    by: Annotated[str, _said("content (keywords), audience (who likes it) or both.")] = "content"


class RecommendArguments(ListArguments, kw_only=True):
    """The person to whom pieces are recommended."""

    user: _User
    explain: Annotated[bool, _said("Whether to say why each piece is in the list.")] = False


class RankArguments(SourceArguments, kw_only=True):
    """The pieces to put in order, and the person."""

    user: _User
    ids: Annotated[Sequence[str], _said("Ids of the pieces to put in order.", min_length=1, max_length=100)]


class WhyArguments(SourceArguments, kw_only=True):
    """The piece, and whose list or which piece's list it is or is not in."""

    id: _Id
    user: _User | None = None
    beside: Annotated[str, _said("Id of the piece whose similar ones are meant.", min_length=1)] | None = None


class ProfileArguments(SourceArguments, kw_only=True):
    """The person whose taste it is."""

    user: _User


class PreviewArguments(SourceArguments, kw_only=True):
    """A piece that is not stored, or what somebody likes."""

    take: _Take = TAKEN
    piece: Annotated[dict[str, Any], _said("A piece as it would be submitted: categories, label.")] | None = None
    liked: Annotated[Sequence[str], _said("Ids of pieces that somebody likes.", max_length=100)] = ()
    disliked: Annotated[Sequence[str], _said("Ids of pieces that somebody dislikes.", max_length=100)] = ()


class PlacementsArguments(SourceArguments, kw_only=True):
    """Which placement, for whom and beside what; all of them without a name."""

    name: Annotated[str, _said("The placement whose list is made.", min_length=1)] | None = None
    user: _User | None = None
    beside: Annotated[str, _said("Id of the piece beside which the list stands.", min_length=1)] | None = None


class DraftArguments(SourceArguments, kw_only=True):
    """Which draft, and what it is to edit."""

    name: Annotated[str, _said("Name of the draft.", min_length=1)]
    edits: (
        Annotated[
            dict[str, Any],
            _said("All that the draft edits: title, note, placements, settings, blacklist, whitelist, content."),
        ]
        | None
    ) = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRequest:
    """A request to the operation of a name: what its path, its query and its body say."""

    operation: str
    path: Mapping[str, str]
    query: Sequence[tuple[str, str]] = ()
    body: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool; ``asks`` makes of its arguments what is requested, or raises `InvalidInput`.

    ``has_pieces`` answers name pieces, whose labels are added.
    """

    name: str
    description: str
    arguments: type[SourceArguments]
    asks: Callable[[Any], ToolRequest] = field(repr=False)
    writes: bool = False
    has_pieces: bool = True

    def described(self) -> dict[str, Any]:
        """Return what agents see of it."""
        _, components = msgspec.json.schema_components((self.arguments,))
        schema = components[self.arguments.__name__]
        schema.pop("title")
        schema.pop("description")
        hints = {"readOnlyHint": not self.writes, "destructiveHint": self.writes, "openWorldHint": False}
        return {"name": self.name, "description": self.description, "inputSchema": schema, "annotations": hints}

    def request(self, given: object) -> ToolRequest:
        """Return what a call with these arguments requests.

        Raises:
            InvalidInput: they are not acceptable.
        """
        try:
            arguments = msgspec.convert(given, self.arguments)
        except msgspec.ValidationError as error:
            raise InvalidInput(f"The arguments are not acceptable: {error}.") from None
        return self.asks(arguments)


def _narrowed(given: ListArguments) -> list[tuple[str, str]]:
    """Return the query of a list."""
    query = [("limit", str(given.take)), *(("catalogs[]", each) for each in given.catalogs)]
    return query if given.filter is None else [*query, ("filter", msgspec.json.encode(given.filter).decode())]


def _find(given: FindArguments) -> ToolRequest:
    query = [("q", given.text)] + ([] if given.after is None else [("after", given.after)])
    return ToolRequest(operation="findContent", path={"source": given.source}, query=query)


def _similar(given: SimilarArguments) -> ToolRequest:
    path = {"source": given.source, "contentID": given.id}
    return ToolRequest(operation="similarContent", path=path, query=[*_narrowed(given), ("by", given.by)])


def _recommend(given: RecommendArguments) -> ToolRequest:
    path = {"source": given.source, "userID": given.user}
    query = [*_narrowed(given), ("explain", str(given.explain))]
    return ToolRequest(operation="recommend", path=path, query=query)


def _rank(given: RankArguments) -> ToolRequest:
    path = {"source": given.source, "userID": given.user}
    return ToolRequest(operation="rank", path=path, body={"content": given.ids})


def _why(given: WhyArguments) -> ToolRequest:
    if given.user is not None and given.beside is None:
        path = {"source": given.source, "userID": given.user, "contentID": given.id}
        return ToolRequest(operation="whyRecommended", path=path)
    if given.beside is not None and given.user is None:
        path = {"source": given.source, "contentID": given.beside, "other": given.id}
        return ToolRequest(operation="whySimilar", path=path)
    raise InvalidInput("Name either user or beside: whose list, or the piece whose similar ones are meant.")


def _profile(given: ProfileArguments) -> ToolRequest:
    return ToolRequest(operation="getProfile", path={"source": given.source, "userID": given.user})


def _health(given: SourceArguments) -> ToolRequest:
    return ToolRequest(operation="catalogueHealth", path={"source": given.source})


def _preview(given: PreviewArguments) -> ToolRequest:
    query = [("limit", str(given.take))]
    if given.piece is not None and not (given.liked or given.disliked):
        return ToolRequest(operation="previewSimilar", path={"source": given.source}, query=query, body=given.piece)
    if given.piece is None and (given.liked or given.disliked):
        body = {"liked": given.liked, "disliked": given.disliked}
        return ToolRequest(operation="previewRecommendation", path={"source": given.source}, query=query, body=body)
    raise InvalidInput("Give either piece, or liked and disliked.")


def _placements(given: PlacementsArguments) -> ToolRequest:
    if given.name is None:
        return ToolRequest(operation="listPlacements", path={"source": given.source})
    query = [(name, each) for name, each in (("user", given.user), ("content", given.beside)) if each is not None]
    return ToolRequest(operation="placementList", path={"source": given.source, "name": given.name}, query=query)


def _draft(given: DraftArguments) -> ToolRequest:
    path = {"source": given.source, "name": given.name}
    if given.edits is None:
        return ToolRequest(operation="getDraft", path=path)
    return ToolRequest(operation="putDraft", path=path, body=given.edits)


TOOLS = (
    Tool(
        name="find_pieces",
        description="Find pieces of a source by words of their title, id, keywords or texts.",
        arguments=FindArguments,
        asks=_find,
    ),
    Tool(
        name="similar",
        description="Pieces similar to one, nearest first; score is the distance, 0 the same.",
        arguments=SimilarArguments,
        asks=_similar,
    ),
    Tool(
        name="recommend",
        description="What a person may like, best first; score is lower for better ones.",
        arguments=RecommendArguments,
        asks=_recommend,
    ),
    Tool(
        name="rank",
        description="Put given pieces into the order in which they suit a person; left tells which may not be shown.",
        arguments=RankArguments,
        asks=_rank,
    ),
    Tool(
        name="why",
        description=(
            "Why a piece is in a person's recommendations (user) or among those similar to another (beside), "
            "or why it is not, and what would bring it in."
        ),
        arguments=WhyArguments,
        asks=_why,
    ),
    Tool(
        name="profile",
        description="A person's taste: keywords by category with scores from -1000 to 1000.",
        arguments=ProfileArguments,
        asks=_profile,
        has_pieces=False,
    ),
    Tool(
        name="health",
        description="What is wrong with a catalogue's keywords, and how much is known of what people like.",
        arguments=SourceArguments,
        asks=_health,
    ),
    Tool(
        name="preview",
        description=(
            "The neighbours that a piece would have (piece), or what somebody may like who likes and dislikes "
            "some pieces (liked, disliked). Nothing is stored."
        ),
        arguments=PreviewArguments,
        asks=_preview,
    ),
    Tool(
        name="placements",
        description="The placements of a source, or the list that one shows (name) to a person and beside a piece.",
        arguments=PlacementsArguments,
        asks=_placements,
    ),
    Tool(
        name="draft",
        description=(
            "Read a draft, or write it (edits): what is to be changed, for people to look at. Nothing of it is in "
            "force before somebody publishes it, which no tool does."
        ),
        arguments=DraftArguments,
        asks=_draft,
        writes=True,
    ),
)
