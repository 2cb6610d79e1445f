"""Records that reads of storage take and return.

Records only. Times are milliseconds since 1970 UTC; versions are those of a source's content feed unless the
name says otherwise.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

import msgspec
from sqlalchemy import Connection

from penchant.differences import Change
from penchant.errors import PenchantError
from penchant.model import EncodedPiece
from penchant.storage.interaction_pages import InteractionColumns, InteractionPage
from penchant_engine.model import WHOLE, InteractionType, StoredInteraction

Result = TypeVar("Result")


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


class Erasure(msgspec.Struct, frozen=True, kw_only=True):
    """An erasure in the interactions feed: what came before it of this person is gone."""

    version: int
    user_key: bytes


class FeedCursor(msgspec.Struct, frozen=True, kw_only=True):
    """How far a follower has read a feed, and under which incarnation and epoch."""

    incarnation: int
    epoch: int
    version: int


class SourceCuration(msgspec.Struct, frozen=True, kw_only=True):
    """The curated lists and the settings of a source; ``settings`` as stored JSON, empty for the defaults.

    ``parts`` has what plugins keep beside it, by their names (`penchant.storage.parts`). ``words`` is the rule by which
    the pieces have words, as it is stored.
    """

    whitelist: tuple[str, ...] = ()
    blacklist: tuple[str, ...] = ()
    settings: bytes = b""
    parts: Mapping[str, Any] = msgspec.field(default_factory=dict)
    words: bytes = b""


class ContentFeed(msgspec.Struct, frozen=True, kw_only=True):
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


class InteractionsFeed(msgspec.Struct, frozen=True, kw_only=True):
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


class InteractionQuery(msgspec.Struct, frozen=True, kw_only=True):
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


class PieceListing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a source's pieces in ascending order of ids, read in one transaction, in batches."""

    head: SourceHead
    batches: Iterable[Sequence[EncodedPiece]]
    cut: Callable[[], None]
    """Ends the connection to a server, from any thread: a batch that is waited for fails then."""


class ChangeListing(msgspec.Struct, frozen=True, kw_only=True):
    """The changes of a source's pieces after a cursor, in no order, as `ContentFeed` has them; ``cut`` as above."""

    head: SourceHead
    complete: bool
    batches: Iterable[Sequence[PieceChange]]
    cut: Callable[[], None]


class PartReader(Protocol):
    """Calls a function with a connection and the number of a source, within a transaction that is open."""

    def __call__(self, read: Callable[[Connection, int], Result], /) -> Result:
        """Return what the function returns."""


class SourceExport(msgspec.Struct, frozen=True, kw_only=True):
    """All of a source, read in one transaction: ``interactions`` gives those from a moment on, ascending by time.

    Of one moment those recorded earlier come first; ``columns`` has all. ``preferences`` gives people's ids with what
    they have said, as stored JSON, ascending by id. ``read`` calls a function with the connection and the source's
    number: for what plugins keep. The streams are read in turn.
    """

    head: SourceHead
    curation: SourceCuration
    pieces: Iterable[Sequence[EncodedPiece]]
    interactions: Callable[[int], Iterable[Sequence[StoredInteraction]]]
    columns: InteractionColumns
    preferences: Iterable[Sequence[tuple[str, bytes]]]
    read: PartReader


class KeywordRules(NamedTuple):
    """Rules by which the pieces of a source have words, as they are stored: the one in force, and the one wanted."""

    in_force: bytes = b""
    wanted: bytes = b""

    @property
    def are_different(self) -> bool:
        """Whether words by another rule than that in force are to be worked out."""
        return self.in_force != self.wanted


NO_KEYWORDS = KeywordRules()


class KeywordRulesChanged(PenchantError):
    """Pieces were to be stored with words by other rules than the source has by now, ``rules``."""

    def __init__(self, rules: KeywordRules) -> None:
        super().__init__("The words of texts are worked out by another rule by now; send it again.")
        self.rules = rules


class EnrichedSource(NamedTuple):
    """Where a source stands with words: its settings, the rule of these that was seen last, and the one in force."""

    account_id: int
    source: str
    settings: bytes
    rules: KeywordRules


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """An API key as it is stored: never the secret, only its hash.

    ``scopes`` are separated by commas ("" for all), ``origins`` by spaces ("" for a key that is no browser key).
    ``requests_per_second`` (from one address) and ``requests_per_month`` limit a browser key, ``None`` for what is
    usual. ``name`` says who has it, if that was said. ``signing_secret`` is the account's.
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
    name: str | None = None
    signing_secret: bytes | None = field(default=None, repr=False)


class AccountUsage(msgspec.Struct, frozen=True, kw_only=True):
    """What an account has, and its recommendation answers of a month: those of its browser keys apart."""

    account_id: int
    account: str
    answers: int
    browser_answers: int
    sources: int
    pieces: int


class AuditEntry(msgspec.Struct, frozen=True, kw_only=True):
    """Who changed what of which account: ``actor`` is a key id, with ``actor_name`` if it has one, or ``command-line``.

    Stands for ``count`` equal ones, from ``first_at`` to ``recorded_at``; ``moment`` is the latter in nanoseconds.
    ``changes`` is what the last of them changed of settings or a list.
    """

    moment: int
    recorded_at: int
    first_at: int
    count: int
    account_id: int
    account: str
    actor: str
    actor_name: str | None
    action: str
    subject: str
    changes: Sequence[Change] = ()
