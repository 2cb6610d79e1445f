"""Hosting: what the service gives a command of this package that runs in its command line, and what a target is.

The command line keeps a `ServiceHost` as the object of its context. Without one files become lines of JSON, or requests
to a server, which checks them when they come. A piece has an ``id`` and a ``body``, an interaction is as
`penchant_import.drafts.CheckedInteraction`, all else is the JSON of its request; settings are as requests have them.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Protocol

Settings = Mapping[str, Any]


class CheckedPiece(NamedTuple):
    """A piece that may be stored."""

    id: str
    body: bytes


class CheckedBody(NamedTuple):
    """What is in the body of a request, and pointers of what is no member of it."""

    items: Sequence[Any]
    ignored: Sequence[str] = ()


class RequestChecks(Protocol):
    """The checks of requests."""

    @property
    def word_rule(self) -> Any:
        """By which rule words are made; ``None`` where that is not known."""

    def read(self, kind: str, body: bytes, now: int, /) -> Any:
        """Return the `CheckedBody` of a request of a `DraftKind`: an array of pieces or interactions, else an object.

        Raises:
            PenchantError: it may not be stored; faults have their pointers.
        """


class BatchResult(NamedTuple):
    """What became of a batch that was stored."""

    created: int = 0
    replaced: int = 0
    duplicates: int = 0
    unstored: int = 0


class Target(Protocol):
    """A source that takes batches, each all or nothing; the same batch again changes nothing."""

    @property
    def address(self) -> str:
        """A text that no other target has, for the name of the checkpoint."""

    def created_at(self) -> str:
        """Return when the source was made; empty where there is none."""

    def create(self, settings: Settings, /) -> None:
        """Make the source, with these settings, where it is missing; one that is there stays as it is."""

    def settings(self) -> Settings:
        """Return the source's settings, the defaults where there is none."""

    def submit(self, pieces: Sequence[Any], /) -> Any:
        """Store pieces, replacing those of the same id; return the `BatchResult`."""

    def record(self, interactions: Sequence[Any], /) -> Any:
        """Store interactions, those of a known event id not again; return the `BatchResult`."""

    def put(self, kind: str, bodies: Sequence[bytes], /) -> None:
        """Replace a list, settings or people's preferences, put placements or drafts, or store lines of packages."""


class StoredSource(Target, Protocol):
    """A source of a data folder; ``asking`` says how it is asked for: address, word for the key, how one is made."""

    account: str
    checkpoints: Path
    folder: Path | None
    asking: tuple[str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class DataPlace:
    """Which data of the service, as the options ``--data``, ``--database`` and ``--settings`` say it."""

    data: str | None = None
    database: str | None = None
    settings_file: Path | None = None


class ServiceHost(Protocol):
    """The service, as far as commands of imports need it."""

    def checks(self, source: Any = None, /) -> RequestChecks:
        """Return the checks of requests, with the limits of a source's service."""

    def opened(self, place: DataPlace, account: str | None, source: str, /) -> AbstractContextManager[Any]:
        """Give the `StoredSource` of a data folder, which is made where it is missing."""

    def figures(self, sample: Any, settings: Settings, count: int, source: Any = None, /) -> Mapping[str, Any]:
        """Return what lists come of a source, or else of a sample of so many pieces, as members of `ImportVerdict`."""

    def join_vocabulary(self, settings: Settings, words: Mapping[str, Any], replaces: bool, /) -> Settings:  # noqa: FBT001
        """Return settings with a vocabulary added to theirs, or in its place; faults have their pointers."""

    def variants(self, place: DataPlace, account: str, source: str, /) -> Any:
        """Return keywords of a source that are likely meant as one."""

    def known(self, place: DataPlace, account: str, source: str, /) -> AbstractContextManager[Any]:
        """Give a source that there is as a `Target`; raises `UnknownSource`."""

    def write(self, path: Path, content: bytes, /) -> None:
        """Write a file that a command was asked for, whole or not at all."""

    def progress(self, description: str, /) -> AbstractContextManager[Callable[[str, int, int, str], None]]:
        """Give the function that tells progress on standard error."""
