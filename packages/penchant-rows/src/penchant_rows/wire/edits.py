"""Edits of a draft: each member as its own route takes it, checked by the very reader of that route."""

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from penchant.errors import BodyTooLarge, InvalidInput, TooManyEntries
from penchant.model import MAX_LIST_LENGTH, EncodedPiece, Feature, ListChange, ListKind, PieceLimits, SourceSettings
from penchant.wire.fields import (
    BOOLEAN,
    Body,
    Description,
    Example,
    Json,
    Record,
    Shape,
    described,
    integer,
    nullable,
    ref,
    text,
)
from penchant.wire.lists import TAKE, decode_list, ids
from penchant.wire.pieces import DEFAULT_LIMITS, Piece, decode_submission
from penchant.wire.settings import Settings, decode_imported_settings, decode_settings, encode_settings
from penchant.wire.syntax import UNREADABLE, Faults, decode, decode_object, encode, kind_of, pointer, require_utf8
from penchant.wire.text import label_problem
from penchant.wire.times import parse_sent_timestamp
from penchant_rows.wire.placements import (
    MAX_PLACEMENTS,
    PLACEMENT,
    Placement,
    PlacementSpec,
    decode_placement,
    decode_stored_placement,
    encode_placement,
    placement_problem,
)

MAX_TITLE_LENGTH = 200
MAX_NOTE_LENGTH = 2_000
MAX_OTHER_BYTES = 2 * 1024 * 1024
"""Bytes of a draft beside its pieces: as much as the body of a list."""
EFFECT_TAKE = 10
"""How long its lists are if nothing is said: what a page shows."""
MAX_DRAFTS = 100
"""Open drafts of a source."""
MAX_EFFECT = 100
"""People, and pieces, whose lists an effect shows (interface, section 10)."""
ANSWERED = frozenset({"name", "revision", "state", "by", "changedAt", "due", "writers", "steps", "changes"})
"""Members of an answer that an edit may hold and that say nothing there: so what was read can be sent back."""


def _read_moment(value: Any, where: str, faults: Faults) -> Any:
    if value is None:
        return None
    try:
        return parse_sent_timestamp(value if isinstance(value, str) else "")
    except ValueError as error:
        return faults.refuse(where, str(error))


_MOMENT = Shape(_read_moment, {"type": ["string", "null"], "format": "date-time"})

Part = TypeVar("Part")
_split = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


class DraftEdits(msgspec.Struct, frozen=True, kw_only=True):
    """What a draft says and edits; ``None`` of a placement removes it, other members of ``None`` are not edited.

    ``changes`` are what lists had added and removed when the draft was stored; one whose order it changes has none.
    """

    title: str | None = None
    note: str | None = None
    placements: Mapping[str, PlacementSpec | None] | None = None
    settings: SourceSettings | None = None
    lists: Mapping[ListKind, tuple[str, ...]]
    changes: Mapping[ListKind, ListChange] = msgspec.field(default_factory=dict)
    content: tuple[EncodedPiece, ...] | None = None

    @property
    def subjects(self) -> list[str]:
        """What it edits, as `penchant_rows.storage.drafts` names it."""
        subjects = [] if self.settings is None else ["settings"]
        subjects += [kind.value for kind in self.lists]
        subjects += [f"placements/{name}" for name in self.placements or ()]
        return subjects + [f"content/{piece.id}" for piece in self.content or ()]

    def listed(self, kind: ListKind, current: Sequence[str]) -> tuple[str, ...] | None:
        """Return a list as the draft would have it, given how it stands; `None` where the draft does not edit it."""
        change = self.changes.get(kind)
        return self.lists.get(kind) if change is None else tuple(change.applied(current))

    @property
    def features(self) -> list[Feature]:
        """The features of a plan that the routes of what it edits need."""
        features = [Feature.LISTS] if self.lists else []
        return features + ([] if self.placements is None else [Feature.PLACEMENTS])


def _words(most: int, problem_of: Callable[[str], str | None], accepted: str) -> Shape:
    def problem(given: str) -> str | None:
        if len(given) > most:
            return f"Found {len(given)} characters; up to {most} are accepted."
        return problem_of(given)

    return text(problem, accepted, {"type": "string", "maxLength": most})


TITLE = _words(MAX_TITLE_LENGTH, label_problem, "a title")
NOTE = _words(MAX_NOTE_LENGTH, label_problem, "a note")


class DraftMembers(Record, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    """What a draft says and edits, each member as its own route takes it; ``None`` of a placement removes it."""

    title: Annotated[str | UnsetType, TITLE, Example("Crime in spring")] = UNSET
    note: Annotated[str | UnsetType, NOTE, Example("For the weeks of the festival.")] = UNSET
    placements: Annotated[
        Mapping[str, Placement | None] | UnsetType,
        described(
            {
                "type": "object",
                "description": "Placements by name; null removes one.",
                "maxProperties": MAX_PLACEMENTS,
                "additionalProperties": nullable(ref("Placement")),
            }
        ),
        # Without a removal: OpenAPI 3.0 takes null for no value of what is referred to.
        Example({"home": PLACEMENT.sample()}),
    ] = UNSET
    settings: Annotated[Settings | UnsetType, described(ref("Settings")), Example({"halfLifeDays": 60})] = UNSET
    blacklist: Annotated[Sequence[str] | UnsetType, ids(unique=True, listed=MAX_LIST_LENGTH), Example(["alien"])] = (
        UNSET
    )
    whitelist: Annotated[Sequence[str] | UnsetType, ids(unique=True, listed=MAX_LIST_LENGTH)] = UNSET
    content: Annotated[Sequence[Piece] | UnsetType, described(ref("Submission"))] = UNSET


DRAFT = Body(DraftMembers, is_closed=False, description="What a draft edits, each member as its own route takes it.")


def decode_edits(body: bytes, limits: PieceLimits = DEFAULT_LIMITS, *, is_stored: bool = False) -> DraftEdits:
    """Return the edits in a body; those that are stored may need packages that are not installed any more.

    Raises:
        InvalidSyntax: not JSON.
        TooManyEntries: more pieces or ids than their routes take.
        BodyTooLarge: all but the pieces is larger than it may be.
        InvalidInput: a member is unknown or not acceptable; every fault has its pointer.
    """
    members, faults = _members(body), Faults()
    faults.only(members, (*DRAFT.members, *ANSWERED), "")
    given = {key: raw for key, raw in members.items() if key in DRAFT.members and bytes(raw) != b"null"}
    size = sum(len(raw) for key, raw in given.items() if key != "content")
    if size > MAX_OTHER_BYTES:
        raise BodyTooLarge(f"Found {size} bytes beside the pieces; up to {MAX_OTHER_BYTES} are accepted.")
    shown = {key: DRAFT.members[key].shape for key in ("title", "note")}
    texts = {key: shape.read(decode(given[key]), f"/{key}", faults) for key, shape in shown.items() if key in given}
    content = _part(given.get("content"), "/content", faults, lambda raw: decode_submission(raw, limits))
    lists = {kind: _part(given.get(kind.value), f"/{kind.value}", faults, decode_list) for kind in ListKind}
    read_placement = decode_stored_placement if is_stored else decode_placement
    read_settings = decode_imported_settings if is_stored else decode_settings
    edits = DraftEdits(
        **texts,
        placements=_placements(given.get("placements"), faults, read_placement),
        settings=_part(given.get("settings"), "/settings", faults, read_settings),
        lists={kind: listed for kind, listed in lists.items() if listed is not None},
        content=None if content is None else content.pieces,
    )
    faults.raise_any()
    return edits


def decode_stored_edits(body: bytes, limits: PieceLimits) -> DraftEdits:
    """Return the edits of a stored draft, with the changes of its lists; those of before have none."""
    changes = _decode_changes(body).changes
    return replace(
        decode_edits(body, limits, is_stored=True), changes={ListKind(kind): each for kind, each in changes.items()}
    )


class _StoredChanges(msgspec.Struct):
    changes: dict[str, ListChange] = {}


_decode_changes = msgspec.json.Decoder(_StoredChanges).decode


def _members(body: bytes) -> dict[str, bytes]:
    """Return the members of an object, each as it came."""
    require_utf8(body)
    try:
        return {key: bytes(raw) for key, raw in _split(body).items()}
    except UNREADABLE:
        # No JSON, no object, or with names that msgspec does not take: this says what, and where.
        return {key: encode(value) for key, value in decode_object(body).items()}


def _part(raw: bytes | None, where: str, faults: Faults, read: Callable[[bytes], Part]) -> Part | None:
    """Return a member as the reader of its route has it, whose faults are noted at its place."""
    if raw is None:
        return None
    try:
        return read(raw)
    except InvalidInput as error:
        for fault in error.faults:
            faults.add(where + (fault.pointer or ""), fault.detail)
    except TooManyEntries as error:
        raise TooManyEntries(f"{where}: {error.detail}") from None
    return None


def _placements(
    raw: bytes | None, faults: Faults, read: Callable[[bytes], PlacementSpec]
) -> Mapping[str, PlacementSpec | None] | None:
    members = _part(raw, "/placements", faults, _members)
    if members is None:
        return None
    if len(members) > MAX_PLACEMENTS:
        raise TooManyEntries(f"/placements: Found {len(members)} entries; up to {MAX_PLACEMENTS} are accepted.")
    specs: dict[str, PlacementSpec | None] = {}
    for name, body in members.items():
        where = f"/placements{pointer(name)}"
        problem = placement_problem(name)
        if problem:
            faults.add(where, f"No placement can be called so: {problem}")
        specs[name] = None if body == b"null" else _part(body, where, faults, read)
    return specs


def encode_edits(edits: DraftEdits) -> bytes:
    """Return edits as JSON, as they are stored and answered."""
    members: dict[str, Any] = {"title": edits.title, "note": edits.note}
    if edits.placements is not None:
        members["placements"] = {
            name: None if spec is None else msgspec.Raw(encode_placement(spec))
            for name, spec in edits.placements.items()
        }
    if edits.settings is not None:
        members["settings"] = msgspec.Raw(encode_settings(edits.settings))
    members |= {kind.value: edits.lists.get(kind) for kind in (ListKind.BLACKLIST, ListKind.WHITELIST)}
    members["changes"] = {kind.value: change for kind, change in edits.changes.items()} or None
    if edits.content is not None:
        members["content"] = [msgspec.Raw(piece.body) for piece in edits.content]
    return encode({key: value for key, value in members.items() if value is not None})


class ExportedDraft(msgspec.Struct, frozen=True, kw_only=True):
    """A draft that waits, with its name."""

    name: str
    edits: DraftEdits


def encode_exported_draft(name: str, body: bytes) -> bytes:
    """Return the value of a line ``{"draft":…}`` from a draft as it is stored."""
    return encode({"name": name, "edits": msgspec.Raw(body)})


def decode_exported_draft(body: bytes) -> ExportedDraft:
    """Return the draft in the value of a line; raises as `decode_edits`."""
    members, faults = _members(body), Faults()
    faults.only(members, ("name", "edits"), "")
    name = decode(members.get("name", b"null"))
    problem = placement_problem(name) if isinstance(name, str) else f"Found {kind_of(name)}; a name is accepted."
    if problem:
        faults.add("/name", problem)
    edits = _part(members.get("edits", b"null"), "/edits", faults, decode_edits)
    faults.raise_any()
    return ExportedDraft(name=name, edits=edits or DraftEdits(lists={}))


class DraftNote(msgspec.Struct, frozen=True, kw_only=True):
    """What is said with a step of a draft."""

    note: Annotated[str, NOTE, Example("Quieter evenings, please look.")] = ""


DRAFT_NOTE = Body(DraftNote)


class DraftSchedule(msgspec.Struct, frozen=True, kw_only=True):
    """When a draft is to be published, in ms since 1970 UTC; ``None``: not any more."""

    at: Annotated[int | None, _MOMENT, Example("2099-03-01T06:00:00Z")]


DRAFT_SCHEDULE = Body(DraftSchedule)


class EffectWish(msgspec.Struct, frozen=True, kw_only=True):
    """Whose lists an effect shows, and how long; without ``users`` or ``pieces`` those of the ``most`` active ones."""

    users: Annotated[tuple[str, ...] | None, ids(listed=MAX_EFFECT), Example(["kim"])] = None
    pieces: Annotated[tuple[str, ...] | None, ids(listed=MAX_EFFECT), Example(["alien"])] = None
    take: Annotated[int, TAKE, Example(10)] = EFFECT_TAKE
    most: Annotated[int, integer(1, MAX_EFFECT), Description("How many of the most active ones at most.")] = MAX_EFFECT
    reach: Annotated[bool, BOOLEAN, Description("Whether all pieces are looked at.")] = True


EFFECT_WISH = Body(EffectWish)


def decode_effect_wish(body: bytes) -> EffectWish:
    """Return whose lists a body wishes to see.

    Raises:
        InvalidSyntax, TooManyEntries, InvalidInput: it is not acceptable.
    """
    wish = EFFECT_WISH.decode(body)
    for name, ids_given in (("users", wish.users), ("pieces", wish.pieces)):
        if ids_given is not None and len(ids_given) > MAX_EFFECT:
            raise TooManyEntries(f"Found {len(ids_given)} {name}; up to {MAX_EFFECT} are accepted.")
    return wish


_CHANGES_SCHEMA: Json = {
    "type": "object",
    "description": "What lists have added, each id with the one before which it stands (null: the end), and removed.",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "added": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
            "removed": {"type": "array", "items": {"type": "string"}},
        },
        "required": ["added", "removed"],
    },
}


def draft_schemas(summary: Json) -> dict[str, Json]:
    """Return the schemas of drafts by name; ``summary`` is that of where one stands."""
    stands = {key: value for key, value in summary["properties"].items() if key != "title"}
    edits = DRAFT.schema()["properties"]
    return {
        "DraftEdits": {"type": "object", "properties": edits},
        "SourceDraft": {
            "type": "object",
            "properties": edits | {"changes": _CHANGES_SCHEMA} | stands,
            "required": list(summary["required"]),
        },
        "DraftNote": DRAFT_NOTE.schema(),
        "DraftSchedule": DRAFT_SCHEDULE.schema(),
        "EffectWish": EFFECT_WISH.schema(),
    }
