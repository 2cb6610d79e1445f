"""Records that storage takes and gives: the commands that change something and the rows that reads return.

Records only. Times are milliseconds since 1970 UTC; versions are those of a source's content feed unless the
name says otherwise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import msgspec

from penchant.errors import PenchantError
from penchant.model import EncodedPiece, ListChange, ListKind, NewImpression, NewInteraction
from penchant.storage.interaction_pages import InteractionColumns, InteractionPage
from penchant_engine.model import WHOLE, InteractionType, StoredInteraction


class SourceHead(NamedTuple):
    """Where a source stands: read before every answer.

    ``incarnation`` grows when a source is deleted and made again, ``epoch`` when history may have been lost
    (a restore, a promotion): a cache built under another pair is worthless. ``erased_at`` is the interactions' version
    at which a person was erased last.
    """

    source_id: int
    account_id: int
    name: str
    incarnation: int
    epoch: int
    version: int
    interactions_version: int
    piece_count: int
    created_at: int
    changed_at: int
    erased_at: int = 0


class PieceRow(NamedTuple):
    """A row of the pieces' table, in the order of its columns."""

    source_id: int
    piece_id: str
    version: int
    deleted: bool
    first_submitted_at: int
    codec: int
    body: bytes
    words: bytes | None


class PieceChange(NamedTuple):
    """One row of the content feed; ``body`` is empty where ``deleted``, ``words`` are as they are stored beside it."""

    id: str
    deleted: bool
    first_submitted_at: int
    body: bytes
    words: bytes | None = None


class PieceText(NamedTuple):
    """A live piece whose words are to be worked out, and what is stored of them."""

    id: str
    version: int
    body: bytes
    words: bytes


class InteractionChange(NamedTuple):
    """An interaction in the interactions feed; a tuple, since millions are made for a first count.

    ``portion`` is what counts of it, above 0: those with a portion of 0, which count for nothing, are in no feed.
    """

    version: int
    user_key: bytes
    piece_id: str
    type: InteractionType
    occurred_at: int
    portion: int = WHOLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """An erasure in the interactions feed: what came before it of this person is gone."""

    version: int
    user_key: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedCursor:
    """How far a follower has read a feed, and under which incarnation and epoch."""

    incarnation: int
    epoch: int
    version: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCuration:
    """The curated lists and the settings of a source; ``settings`` as stored JSON, empty for the defaults.

    ``placements`` tells by name which version of a placement is in force. ``words`` is the rule by which the pieces
    have words, as it is stored.
    """

    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    settings: bytes = b""
    placements: Mapping[str, int] = field(default_factory=dict)
    words: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentFeed:
    """The changes of a source's content after a cursor, read in one transaction.

    ``complete`` tells that ``batches`` holds every live piece and the follower must forget what it had
    (first read, another incarnation or epoch, content cleared, tombstones purged past the cursor, a cursor past
    all that a restored database holds). Otherwise ``batches`` holds the rows with a greater version than the
    cursor's. Applied in full they give exactly ``head``. The batches can be read only inside the ``with`` block
    that opened the feed, and after them all live pieces, which ``live`` gives.
    """

    head: SourceHead
    complete: bool
    curation: SourceCuration
    batches: Iterable[Sequence[PieceChange]]
    live: Callable[[], Iterable[Sequence[PieceChange]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionsFeed:
    """The interactions and erasures of a source after a cursor; as `ContentFeed`, ascending by version.

    What ``batches`` hold is after the version ``after``. As columns ``pages`` gives the interactions after one version
    and up to another, ``piece_ids`` the pieces of some of them by version: for whoever counts all of a source.
    """

    head: SourceHead
    complete: bool
    batches: Iterable[Sequence[InteractionChange | Erasure]]
    after: int
    pages: Callable[[int, int], Iterable[InteractionPage]]
    piece_ids: Callable[[Sequence[int]], Mapping[int, str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractionQuery:
    """Which interactions of a person are read: from ``since`` to ``until``, both included, newest first.

    All of them with a ``limit`` of ``None``; with ``counted`` without those that count for nothing.
    """

    user_id: str
    since: int
    until: int | None = None
    piece_id: str | None = None
    type: InteractionType | None = None
    skip: int = 0
    limit: int | None
    counted: bool = False


class StoredPerson(NamedTuple):
    """What is stored of a person: interactions, newest first, and preferences as stored JSON, empty for none."""

    interactions: list[StoredInteraction]
    preferences: bytes


class RecordedChanges(NamedTuple):
    """What became of people between two versions of the interactions.

    ``interactions`` ascend by version, and are those of ``user_ids``; ``stated`` are the keys of people whose
    preferences were replaced. Without ``is_whole`` a version is missing: what had it is gone, and whose it was nothing
    tells.
    """

    interactions: list[InteractionChange]
    user_ids: frozenset[str]
    stated: list[bytes]
    is_whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class PieceListing:
    """A page of a source's pieces in ascending order of ids, read in one transaction, in batches."""

    head: SourceHead
    batches: Iterable[Sequence[EncodedPiece]]
    cut: Callable[[], None]
    """Ends the connection to a server, from any thread: a batch that is waited for fails then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeListing:
    """The changes of a source's pieces after a cursor, in no order, as `ContentFeed` has them; ``cut`` as above."""

    head: SourceHead
    complete: bool
    batches: Iterable[Sequence[PieceChange]]
    cut: Callable[[], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceExport:
    """All of a source, read in one transaction: ``interactions`` gives those from a moment on, ascending by time.

    Of one moment those recorded earlier come first; ``columns`` has all. ``preferences`` gives people's ids with what
    they have said, as stored JSON, ascending by id, ``placements`` those in force, and ``drafts`` the names and edits
    of those that wait. The streams are read in turn.
    """

    head: SourceHead
    curation: SourceCuration
    pieces: Iterable[Sequence[EncodedPiece]]
    interactions: Callable[[int], Iterable[Sequence[StoredInteraction]]]
    columns: InteractionColumns
    preferences: Iterable[Sequence[tuple[str, bytes]]]
    placements: Callable[[], Sequence["PlacementRow"]]
    drafts: Callable[[], Sequence[tuple[str, bytes]]]


class WordRules(NamedTuple):
    """Rules by which the pieces of a source have words, as they are stored: the one in force, and the one wanted."""

    in_force: bytes = b""
    wanted: bytes = b""

    @property
    def are_different(self) -> bool:
        """Whether words by another rule than that in force are to be worked out."""
        return self.in_force != self.wanted


NO_WORDS = WordRules()


class WordRulesChanged(PenchantError):
    """Pieces were to be stored with words by other rules than the source has by now, ``rules``."""

    def __init__(self, rules: WordRules) -> None:
        super().__init__("The words of texts are worked out by another rule by now; send it again.")
        self.rules = rules


class WordsState(NamedTuple):
    """Where a source stands with words: its settings, the rule of these that was seen last, and the one in force."""

    account_id: int
    source: str
    settings: bytes
    rules: WordRules


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceCommand:
    """What all changes of a source have: whose source, and which key asked (for the audit log).

    With ``bypasses_review`` the setting ``fourEyes`` does not hold who asks (`penchant.storage.writes`).
    """

    account_id: int
    source: str
    actor: str = ""
    bypasses_review: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitPieces(SourceCommand):
    """Store pieces (ids are distinct), replacing those of the same id; makes the source where it is missing.

    Fails with `TooManySources` or `TooManyPieces` where a limit is given and would be passed by a new source
    or by new ids, with `WordRulesChanged` where the pieces have not the words of the rules of the source. A source that
    is made has ``settings``, and words by the rule ``words``.
    """

    pieces: Sequence[EncodedPiece]
    max_sources: int | None = None
    max_pieces: int | None = None
    rules: WordRules = NO_WORDS
    settings: bytes = b""
    words: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePieces(SourceCommand):
    """Delete the pieces with these ids; unknown ids are no error."""

    ids: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearPieces(SourceCommand):
    """Delete every piece; the source, its lists, settings and interactions stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteSource(SourceCommand):
    """Delete the source with everything in it; its versions go on if it is made again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceList(SourceCommand):
    """Replace the whitelist or the blacklist."""

    kind: ListKind
    ids: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EditList(SourceCommand):
    """Put a piece at the end of the whitelist or the blacklist, or take it off, whatever else was changed meanwhile.

    Fails with `TooManyEntries` where the list has as many ids as it may. What is so already changes nothing.
    """

    kind: ListKind
    piece_id: str
    is_listed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceSettings(SourceCommand):
    """Replace the source's settings (JSON), and the rule by which pieces are to have words.

    With ``expected`` only where these are still the settings that are stored, and as no act of anybody.
    """

    settings: bytes
    words: bytes = b""
    expected: bytes | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreWords(SourceCommand):
    """Store words of pieces, by id and version as they were read, worked out by the rule ``wanted``.

    With ``adopts`` that rule is in force from now on, which is one change of the source. Where another rule is wanted
    by now, or a piece was replaced, which brought its words along, nothing of it is stored.
    """

    wanted: bytes
    words: Sequence[tuple[str, int, bytes]] = ()
    adopts: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class PutPlacement(SourceCommand):
    """Store a placement as the next version of its name; ``after`` is the version that it follows, 0 for none.

    ``seen`` is the newest version of any placement of the source that who sends it has gone by; ``None`` if by none.
    Of its versions the newest ``max_versions`` are kept. Fails with `PlacementChanged` where another version is in
    force by now, with `TooManyPlacements` where the source has ``max_placements`` others.
    """

    name: str
    body: bytes
    assignment: bytes
    after: int
    seen: int | None = None
    max_versions: int
    max_placements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletePlacement(SourceCommand):
    """Delete a placement with all its versions; an unknown one is no error."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteStops(SourceCommand):
    """Note that variants of a version of a placement were stopped, each as JSON; what is noted already stays."""

    name: str
    version: int
    stops: Mapping[str, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class SaveDraft(SourceCommand):
    """Store a draft, in the place of the one of its name; ``body`` is what it edits, as JSON.

    ``subjects`` name what that is: ``settings``, ``whitelist``, ``blacklist``, ``placements/NAME``, ``content/ID``. How
    each stands is noted in the same transaction. Fails with `TooManyDrafts` where the source has ``max_drafts`` others
    that are open, with `DraftChanged` where the draft is not the ``revision`` that it is to replace, if one is named.
    """

    name: str
    title: str
    body: bytes
    subjects: Sequence[str]
    max_drafts: int
    revision: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteDraft(SourceCommand):
    """Delete a draft; an unknown one is no error. What was published with it stays."""

    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftAct(SourceCommand):
    """Something that is done to a draft in one of some states; ``step`` is what it is called, ``note`` what is said.

    With a ``revision`` only to the draft as it was written then; ``names_revision`` tells that who asks has seen that
    one. With a ``last_step`` only where nothing was done to it since that. Fails with `UnknownDraft`, `DraftChanged`,
    `WrongDraftState`, and, where two are to look at it (``needs_review``), with `FourEyes` and `InvalidInput`.
    """

    name: str
    step: str
    states: frozenset[str]
    note: str = ""
    revision: int | None = None
    names_revision: bool = False
    last_step: "DraftStep | None" = None

    @property
    def needs_review(self) -> bool:
        """Whether it puts something in force, with the setting ``fourEyes`` not by a writer of the draft alone."""
        return True


@dataclass(frozen=True, slots=True, kw_only=True)
class MoveDraft(DraftAct):
    """Take a draft to another state; from ``due_at`` on it is to be published, by the rights in ``grant``."""

    state: str
    due_at: int | None = None
    grant: "StepGrant | None" = None

    @property
    def needs_review(self) -> bool:
        """Whether it is to be published, be it later."""
        return self.due_at is not None


class PlacementEdit(NamedTuple):
    """A placement to be stored, or without a body removed; both as in `PutPlacement`."""

    name: str
    body: bytes | None
    assignment: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishDraft(DraftAct):
    """Put what a draft edits in force, all of it at one version, or with ``undoes`` what its publication replaced.

    The command has gone by ``settings_seen`` and ``placements_seen``, which are in force; where one of them is another
    by now, it fails with `DraftChanged`. Without ``force`` it fails with `OutdatedDraft` where what the draft edits is
    no longer as it was. ``settings`` and ``lists`` that are ``None`` or missing stay as they are; a list of which there
    is a change is changed by that alone, whatever it is by now, unless it is forced. Pieces of ``removed``
    ids are deleted. Fails with `TooManyPieces` and `TooManyPlacements`, too, and with `WordRulesChanged`.
    """

    undoes: bool = False
    force: bool = False
    settings_seen: bytes
    placements_seen: Mapping[str, int]
    settings: bytes | None = None
    word_rule: bytes = b""
    lists: Mapping[ListKind, Sequence[str]] = field(default_factory=dict)
    changes: Mapping[ListKind, ListChange] = field(default_factory=dict)
    placements: Sequence[PlacementEdit] = ()
    pieces: Sequence[EncodedPiece] = ()
    removed: Sequence[str] = ()
    rules: WordRules = NO_WORDS
    max_pieces: int | None = None
    max_versions: int
    max_placements: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordInteractions(SourceCommand):
    """Store interactions; one whose event id is known already (or repeats in the command) is not stored."""

    interactions: Sequence[NewInteraction]
    by_page: bool = False
    """Whether a browser key has sent them."""
    looks_up: bool = False
    """Whether to tell of the first one's piece if it is there: what is sent alone."""
    recent_from: int = 0
    """Where something new is from before this moment, the source's settings tell what becomes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplacePreferences(SourceCommand):
    """Replace a person's preferences (JSON); empty removes them. Without ``is_personal`` they switch the person off."""

    user_id: str
    preferences: bytes
    is_personal: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordImpressions(SourceCommand):
    """Store what was shown; a piece of a list that is known already is not stored again.

    For ``window_ms`` afterwards interactions that name no list are attributed to it.
    """

    impressions: Sequence[NewImpression]
    window_ms: int
    by_page: bool = False
    """Whether a browser key has sent them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakeBack(SourceCommand):
    """Delete what a person did of one type with a piece: all of it, or what an event id or a moment tells."""

    user_id: str
    type: InteractionType
    piece_id: str
    event_id: str | None = None
    occurred_at: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EraseUser(SourceCommand):
    """Delete all that is stored of a person, event ids and impressions included."""

    user_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AddUsage:
    """Count recommendation answers of an account in a month (``YYYY-MM``)."""

    account_id: int
    month: str
    answers: int


Command = (
    SubmitPieces
    | DeletePieces
    | ClearPieces
    | DeleteSource
    | ReplaceList
    | EditList
    | ReplaceSettings
    | StoreWords
    | PutPlacement
    | DeletePlacement
    | NoteStops
    | SaveDraft
    | DeleteDraft
    | MoveDraft
    | PublishDraft
    | RecordInteractions
    | RecordImpressions
    | ReplacePreferences
    | TakeBack
    | EraseUser
    | AddUsage
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a command did. Fields that do not apply stay at their defaults.

    ``version`` is the source's content version after the command, ``interactions_version`` that of its interactions
    after a `RecordInteractions`, `ReplacePreferences`, `TakeBack` or `EraseUser`. ``created`` are pieces or
    impressions, ``deleted`` pieces or interactions, ``beyond`` impressions that were not kept because there were enough
    that day, ``unstored`` what concerns people who are switched off. ``interactions`` are those of a
    `RecordInteractions` in its order, for a stored event id the one that was stored first; ``moments`` are those
    of new ones, ``settings`` the source's where one is not recent. What `looks_up` has ``is_known`` and, for a page,
    the ``piece``. ``pending`` tells that words of pieces are to be worked out before settings are in force as a whole.
    ``draft`` is one that was written or moved, ``lists`` are those that a publication made of what they had become,
    where that is not what the draft has.
    """

    version: int = 0
    interactions_version: int = 0
    created: int = 0
    replaced: int = 0
    deleted: int = 0
    interactions: tuple[StoredInteraction, ...] = ()
    moments: Sequence[int] = ()
    settings: bytes = b""
    is_known: bool = True
    piece: bytes | None = None
    duplicates: int = 0
    unstored: int = 0
    beyond: int = 0
    pending: bool = False
    draft: "DraftRow | None" = None
    lists: Mapping[ListKind, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementRow:
    """A version of a placement: when it was stored, by which key, and what; ``body`` and ``assignment`` are JSON.

    ``draft`` names the draft that it came with, if it did; ``stops`` is JSON by variant, `None` while none is stopped.
    """

    name: str
    version: int
    recorded_at: int
    actor: str
    body: bytes
    assignment: bytes
    draft: str | None = None
    stops: bytes | None = None


class StepGrant(NamedTuple):
    """What a group of the settings gave somebody without a key who scheduled a draft."""

    account: str
    role: str
    plan: str
    group: str


class DraftStep(NamedTuple):
    """Something that was done to a draft: ``version`` is that of the source after it, ``due_at`` of a schedule.

    ``grant`` is that of a person who scheduled it, `None` for a key, and in schedules of earlier releases.
    """

    step: str
    actor: str
    recorded_at: int
    note: str = ""
    version: int | None = None
    due_at: int | None = None
    grant: StepGrant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftRow:
    """A draft as it is stored: ``writers`` are all who wrote it since it was published, ``steps`` the newest last.

    ``actor`` wrote it last, at ``changed_at``, as this ``revision``. A listing leaves ``body`` empty.
    """

    name: str
    revision: int
    state: str
    title: str
    actor: str
    changed_at: int
    due_at: int | None
    writers: tuple[str, ...]
    steps: tuple[DraftStep, ...]
    body: bytes = b""


class ReplacedState(msgspec.Struct, frozen=True, kw_only=True):
    """What a publication put out of force, what it put in its place by marks, and the versions of placements.

    ``settings`` of ``None`` were not edited; a placement or piece of ``None`` was not there.
    """

    settings: bytes | None = None
    lists: dict[str, list[str]] = {}
    placements: dict[str, tuple[bytes, bytes] | None] = {}
    pieces: dict[str, bytes | None] = {}
    marks: dict[str, bytes] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftBasis:
    """What publishing a draft, or undoing that, goes by, all read in one transaction."""

    draft: DraftRow
    replaced: ReplacedState | None
    settings: bytes
    placements: Sequence["PlacementRow"]


class DueDraft(NamedTuple):
    """A draft whose moment has come: whose, and by which step it was scheduled."""

    account_id: int
    source: str
    name: str
    revision: int
    schedule: DraftStep


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """An API key as it is stored: never the secret, only its hash.

    ``scopes`` are separated by commas ("" for all), ``origins`` by spaces ("" for a key that is no browser key).
    ``requests_per_second`` (from one address) and ``requests_per_month`` limit a browser key, ``None`` for what is
    usual. ``signing_secret`` is the account's.
    """

    key_id: str
    account_id: int
    account: str
    plan: str
    admin: bool
    secret_hash: bytes = field(repr=False)
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    scopes: str = ""
    origins: str = ""
    requests_per_second: int | None = None
    requests_per_month: int | None = None
    signing_secret: bytes | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountUsage:
    """What an account has, and its recommendation answers of a month: those of its browser keys apart."""

    account_id: int
    account: str
    answers: int
    browser_answers: int
    sources: int
    pieces: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """Who changed what of which account: ``actor`` is a key id, or ``command-line``.

    Stands for ``count`` equal ones, from ``first_at`` to ``recorded_at``; ``moment`` is the latter in nanoseconds.
    """

    moment: int
    recorded_at: int
    first_at: int
    count: int
    account_id: int
    account: str
    actor: str
    action: str
    subject: str
