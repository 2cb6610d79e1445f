"""Drafts: what rows of foreign files become, as it would be sent in a request, not yet checked.

A piece's draft is put together by `penchant_import.pieces`; those of interactions, and what makes an interaction the
same when it is imported again, are here.
"""

import enum
import functools
import hashlib
import re
from collections.abc import Mapping
from math import inf
from typing import Any, NamedTuple

import msgspec

from penchant_engine.model import InteractionType
from penchant_engine.moments import format_timestamp
from penchant_import.moments import excerpt, read_moment
from penchant_import.placeholders import is_nobody
from penchant_import.rules import encode

NO_TIME_REASON = "no time tells when; --without-times has it happen now"
"""Why an interaction is left out whose time is a placeholder."""
UNTIMED_REASON = "no time that is understood, so that it happens now (--without-times)"
"""What is told of an interaction that is taken without its time."""
ANY = "*"
"""Stands for rows that name no action, in `ImportOptions.types`."""
ACTION_NAMES: Mapping[InteractionType, str] = {
    InteractionType.CLICK: "view read open visit detailview pageview",
    InteractionType.PLAY: "listen start stream",
    InteractionType.WATCH: "watched complete completed finish finished",
    InteractionType.BOOKMARK: "save saved wishlist watchlist toread cart addtocart cartaddition",
    InteractionType.PREVIEW: "trailer hover",
    InteractionType.PURCHASE: "buy bought order checkout",
    InteractionType.RATE_LIKE: "like star love favorite favourite upvote thumbsup",
    InteractionType.RATE_DISLIKE: "dislike downvote thumbsdown",
}
"""Further words for a type, in lower case letters only; each type is known by its own name as well."""
_TYPES = {word: kind for kind in InteractionType for word in (kind.lower(), *ACTION_NAMES.get(kind, "").split())}
_STABLE_PREFIX = "import-"
_EMPTY_HASH = hashlib.blake2b(digest_size=16)

_PICTURES = (
    "image imageurl imagelink imagesrc picture pictureurl thumbnail thumbnailurl poster posterurl cover coverurl "
    "coverimage photo photourl img imgurl smallimageurl"
)
PICTURE_NAMES = _PICTURES.split()
"""Names of extras that hold the address of a piece's picture, as they are compared, the likeliest first."""


class DraftKind(enum.Enum):
    """The kind of thing that a draft becomes."""

    PIECE = "piece"
    INTERACTION = "interaction"
    WHITELIST = "whitelist"
    BLACKLIST = "blacklist"
    SETTINGS = "settings"
    PLACEMENT = "placement"
    DRAFT = "draft"
    PREFERENCES = "preferences"
    LINE = "line"
    """What a package of the service keeps, the whole line."""


class CheckedInteraction(NamedTuple):
    """An interaction as requests have it: ``occurred_at`` in ms since 1970 UTC, ``None`` now; portion in hundredths."""

    user_id: str
    type: InteractionType
    piece_id: str
    occurred_at: int | None = None
    event_id: str | None = None
    shown_in: None = None
    portion: int | None = None


class RowProblem(NamedTuple):
    """Why a row becomes nothing: where in it (a JSON pointer or a column), and what is accepted."""

    pointer: str
    detail: str


class Omission(NamedTuple):
    """Why a row is left out, and told as such, though nothing is wrong with it: by which field."""

    field: str
    reason: str


class Draft(NamedTuple):
    """What one row becomes, as the JSON of a request; or the problem that it has instead, or why it is left out.

    An interaction of which only the time is a problem has its body without one.
    """

    kind: DraftKind
    file: str
    line: int
    body: bytes
    problem: RowProblem | None = None
    omission: Omission | None = None

    @property
    def missing_time(self) -> str | None:
        """The field that should tell when an interaction was, which is all that it lacks; ``None`` of others."""
        if self.omission is not None:
            return self.omission.field if self.omission.reason == NO_TIME_REASON else None
        return self.problem.pointer if self.problem is not None and self.body else None


def problem_draft(kind: DraftKind, where: tuple[str, int], field: str, detail: str) -> Draft:
    """Return the draft of a row that becomes nothing."""
    return Draft(kind, *where, b"", RowProblem(field, detail))


def interaction_draft(
    where: tuple[str, int],
    *,
    who: tuple[Any, Any],
    kind: InteractionType,
    time: tuple[str, Any] | None = None,
    time_format: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> Draft:
    """Return the interaction of a row: ``who`` is the person and the piece, ``time`` its field and value.

    ``more`` are further members of it; those of ``None`` are left out. Where the person or the time is a placeholder
    the interaction is one that `read_drafts` leaves out.
    """
    omission, problem = anonymous_omission(who[0]), None
    user_id, piece_id = who
    if isinstance(user_id, int):
        user_id = str(user_id)
    if isinstance(piece_id, int):
        piece_id = str(piece_id)
    members: dict[str, Any] = {"userId": user_id, "type": kind, "contentId": piece_id}
    if time is not None:
        field, value = time
        try:
            if (moment := read_moment(value, time_format)) is not None:
                members["timestamp"] = moment
            elif omission is None and value not in ("", None):
                omission = Omission(field or "timestamp", NO_TIME_REASON)
        except ValueError as error:
            problem = RowProblem(field, str(error))
    if more is not None:
        members |= {name: given for name, given in more.items() if given is not None}
    return Draft(DraftKind.INTERACTION, *where, encode(members), problem, omission)


def anonymous_omission(person: Any) -> Omission | None:
    """Return why what a person did is left out, where what should name that person stands for nobody."""
    return Omission("userId", f"{excerpt(person)} stands for nobody") if is_nobody(person) else None


def omitted_draft(where: tuple[str, int], omission: Omission) -> Draft:
    """Return the draft of an interaction that is left out, whatever else there is to say of it."""
    return Draft(DraftKind.INTERACTION, *where, b"", omission=omission)


def portion_of(part: Any, whole: Any = 1) -> float | None:
    """Return what share of a whole a part is, in two decimals, 0 of nothing alone; ``None`` where they are no such."""
    if any(isinstance(item, bool) or not isinstance(item, int | float) for item in (part, whole)):
        return None
    if not 0 <= part <= whole or not 0 < whole < inf:
        return None
    return max(0.01, round(part / whole, 2)) if part else 0


class _PieceMembers(msgspec.Struct):
    extras: dict[str, Any] = {}


_members_of = msgspec.json.Decoder(_PieceMembers)


def read_extras(body: bytes) -> dict[str, Any]:
    """Return the extras of a piece as it would be submitted."""
    return _members_of.decode(body).extras


def interaction_members(interaction: CheckedInteraction) -> dict[str, str | float]:
    """Return an interaction as the members of a request."""
    members: dict[str, str | float] = {
        "userId": interaction.user_id,
        "type": interaction.type.value,
        "contentId": interaction.piece_id,
    }
    if interaction.occurred_at is not None:
        members["timestamp"] = format_timestamp(interaction.occurred_at)
    if interaction.event_id is not None:
        members["eventId"] = interaction.event_id
    if interaction.portion is not None:
        members["value"] = interaction.portion / 100 if interaction.portion % 100 else interaction.portion // 100
    return members


def stable_event_id(interaction: CheckedInteraction) -> str:
    """Return the event id of an interaction by what it says, the same wherever and however often it is imported.

    An export makes those of equal ones, one after the other, by the same rule (D188 of docs/decisions.md).
    """
    hashing = _EMPTY_HASH.copy()  # in a third of the time of another one
    hashing.update(encode([interaction.user_id, interaction.type, interaction.piece_id, interaction.occurred_at]))
    return _STABLE_PREFIX + hashing.hexdigest()


def order_event_id(order: Any, piece_id: str) -> str:
    """Return the event id of a piece of an order, the same however often the order is sent."""
    return "order-" + hashlib.blake2b(encode([str(order), piece_id]), digest_size=16).hexdigest()


def find_type(name: str, chosen: Mapping[str, InteractionType]) -> InteractionType | None:
    """Return the interaction of an action, chosen ones first; known ones however they are spelt."""
    return chosen.get(name.lower()) or _known_type(name) or chosen.get(ANY)


@functools.lru_cache(maxsize=1 << 10)
def _known_type(name: str) -> InteractionType | None:
    return _TYPES.get(re.sub(r"[^a-z]", "", name.lower()))


def type_of_rating(value: Any, scale: float, decimal: str = ".") -> InteractionType:
    """Return the interaction of a rating: four fifths of the scale and more is a like, two fifths and less a dislike.

    Raises:
        ValueError: it is no number from 0 to the scale.
    """
    number = value.replace(decimal, ".") if isinstance(value, str) else value
    try:
        # A truth value is none, whatever Python makes of it.
        rating = float("" if isinstance(number, bool) else number)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"Found {excerpt(value)}, which is no number.") from None
    if not 0 <= rating <= scale:
        raise ValueError(f"Found {rating:g}; a rating from 0 to {scale:g} is accepted (--rating-scale).")
    # Multiplied on both sides, not divided: 0.8 and 0.4 are no doubles.
    if rating * 5 >= scale * 4:
        return InteractionType.RATE_LIKE
    return InteractionType.RATE_DISLIKE if rating * 5 <= scale * 2 else InteractionType.WATCH
