"""Hooks: what packages bring to the service, our own and a stranger's alike, by pluggy.

A package names a module in the entry points of the group ``penchant``; its functions that `implementation` marks are
called where the service asks for what `Hooks` describes. Such a module is imported by every process, so it imports
what it brings within its functions. Unstable until 0.4: a hook may change between releases, which the notes tell.

    # pyproject.toml                      # penchant_hello/plugin.py
    [project.entry-points.penchant]       from penchant.hooks import implementation
    hello = "penchant_hello.plugin"
                                          @implementation
                                          def operations():
                                              from penchant_hello.web import HELLO
                                              return HELLO

Commands have a group of entry points of their own, ``penchant.commands`` (`penchant.cli`): their help is read without
importing anything, which a hook could not.
"""

import traceback
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property
from importlib import metadata
from typing import TYPE_CHECKING, Any

import msgspec
import pluggy

from penchant.errors import BrokenPackage, InvalidSettings, PenchantError

if TYPE_CHECKING:
    from penchant.enrichment import Enrichment
    from penchant.importing import LineKind
    from penchant.live.background import BackgroundTask
    from penchant.live.election import Election
    from penchant.live.following import View
    from penchant.service import Services
    from penchant.service.lists.kinds import RankingKind
    from penchant.service.outcomes import ListOutcomes
    from penchant.settings import NodeSettings
    from penchant.storage import SourceHead, StoragePart
    from penchant.web.operations import Operation
    from penchant.wire.fields import Record
    from penchant_engine.index.people.item_item import StandInSearch

GROUP = "penchant"
"""The entry points by which packages are found, and the name of the project that pluggy knows."""
_specification = pluggy.HookspecMarker(GROUP)
implementation = pluggy.HookimplMarker(GROUP)
"""Marks a function of a package's module as what a hook of the same name calls; it may take fewer parameters."""
AGENTS_PATH = "/-/mcp"
"""Where the setting `mcp` wants tools for agents, whose key may come as a bearer."""


class Mount(msgspec.Struct, frozen=True):
    """An ASGI application of a package, for requests at a path, which begins with ``/-/``, and below it.

    One that is ``by_key`` gets posts of JSON at the very path alone: of who sends them key, rate and origin were
    checked, and their body is that of settings.
    """

    path: str
    application: Callable[[Any, Any, Any], Awaitable[None]]
    by_key: bool = False


class PersonExport(msgspec.Struct, frozen=True):
    """What a package adds to the export of a person: the ``members`` of a record, which ``read`` makes of one.

    The number that it is given, if any, is how many entries of a kind are asked for, the newest.
    In ``members`` a type that stands for moments is described as a time (`penchant.wire.schemas.TimeText`).
    """

    members: Any
    read: "Callable[[Services, View, str, int | None], Awaitable[Record]]"


ListReader = Callable[["SourceHead", str, str, str], object | None]
"""Returns what is known of a list, given a source, the list's id, a person and the piece that they did something with.

``None`` where the piece was not in it, or nothing is kept of it; raises `ValueError` with what is wrong with the id.
"""


class Hooks:
    """What a package may bring; each hook is called once a process, or where it says otherwise."""

    @_specification
    def operations(self) -> "Iterable[Operation]":  # type: ignore[empty-body]
        """Return operations of the interface: rows of its routing table, with everything that is checked before them.

        A method and path that another package has already stops the start.
        """

    @_specification
    def source_settings(self) -> "Iterable[type[Record]]":  # type: ignore[empty-body]
        """Return settings of a source: records, each member annotated with its shape (`penchant.wire.fields`).

        They are members of `PUT /{source}/settings` beside the service's; ``view.settings.of(record)`` has those of a
        source. Where the package is not installed they stay as they are stored.
        """

    @_specification
    def enrich(self) -> "Iterable[Enrichment]":  # type: ignore[empty-body]
        """Return what makes keywords of what pieces say (`penchant.enrichment`), kept beside them, of a category each.

        They count in every rule of lists and are given back by ``include=CATEGORY`` alone. Where the package is not
        installed they stay as they are stored, and count for nothing.
        """

    @_specification
    def list_kinds(self) -> "Iterable[RankingKind]":  # type: ignore[empty-body]
        """Return kinds of lists: names, what each is about, and what makes its ranking of a view (`ListRanking`).

        They are shown as the service's own are, with reasons, previews and what is told after a list.
        """

    @_specification(firstresult=True)
    def list_outcomes(self, services: "Services") -> "ListOutcomes | None":
        """Return what knows what people were shown, and what came of it; ``None`` where the package does not.

        Health and activity of a source tell of that.
        """

    @_specification
    def tables(self) -> "StoragePart":  # type: ignore[empty-body]
        """Return the package's tables, with their history and what happens to them (`penchant.storage.StoragePart`).

        Its ``erase`` deletes what is stored of a person: a table that names people stops the start without one. Its
        ``record`` goes on from interactions that are stored, ``follow`` is what each view of a source carries of it,
        as ``view.parts[NAME]``, ``purge`` removes what is past its life. They are written by commands of the package's
        own, `SourceCommand`s that share transactions with the service's. Where the package is not installed its tables
        are kept.
        """

    @_specification
    def lines(self) -> "Iterable[LineKind]":  # type: ignore[empty-body]
        """Return kinds of lines of JSON by which what the package keeps of a source is exported and imported."""

    @_specification
    def export(self) -> PersonExport:  # type: ignore[empty-body]
        """Return what `GET /{source}/users/{userID}/export` has besides: what the package keeps of a person."""

    @_specification(firstresult=True)
    def list_reader(self, services: "Services") -> ListReader | None:
        """Return what reads the ids of lists that interactions name, at each request that has some; of one package.

        What it returns is given to ``record`` of tables with the interaction. Without one such ids say nothing.
        """

    @_specification
    def background(self, services: "Services", election: "Election") -> "Iterable[BackgroundTask]":  # type: ignore[empty-body]
        """Return what each process that answers does again and again; a task that is ``elected`` one of a node does."""

    @_specification(firstresult=True)
    def stand_in_search(self, settings: "NodeSettings") -> "StandInSearch | None":
        """Return what finds stand-ins of pieces for a builder, by machines that the settings name; ``None`` if none."""

    @_specification
    def mount(self, settings: "NodeSettings") -> "Iterable[Mount]":  # type: ignore[empty-body]
        """Return ASGI applications below ``/-/``; where an operation has the very path, that answers.

        What they are given has passed the service's checks of every request, and bodies its limits. The state of its
        scope has ``host`` (`penchant.web.mounts.host.MountHost`), by which they ask the interface in this process:
        for whoever has a session (``service_of``), or for the key that a mount ``by_key`` has let in (``interface``).
        """


class Packages:
    """The packages that bring something: what they are, and what they bring."""

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._manager = manager

    @classmethod
    def find(cls) -> "Packages":
        """Return those that are installed.

        Raises:
            BrokenPackage: one cannot be imported, or has a hook that there is not.
        """
        manager = pluggy.PluginManager(GROUP)
        manager.add_hookspecs(Hooks)
        for entry in sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name):
            owner = "" if entry.dist is None else entry.dist.name
            try:
                manager.register(entry.load(), name=entry.name)
                manager.check_pending()
            # Whatever a stranger's module raises when it is imported.
            except Exception as error:
                raise BrokenPackage(f"The package {owner} ({entry.value}) cannot be used: {_reason(error)}") from error
        return cls(manager)

    @cached_property
    def versions(self) -> dict[str, str]:
        """The version of each distribution that brings something, by its name."""
        found = {entry.dist for entry in metadata.entry_points(group=GROUP) if entry.dist is not None}
        return {dist.name: dist.version for dist in sorted(found, key=lambda dist: dist.name)}

    def operations(self, own: "Sequence[Operation]" = ()) -> "tuple[Operation, ...]":
        """Return all operations of the interface: the service's ``own``, then those of each package by its name.

        Raises:
            BrokenPackage: two have the same method and path.
        """
        operations = (*own, *self._call_all("operations"))
        _require_different([f"{each.method} {each.path}" for each in operations], "the operation {}")
        return operations

    def source_settings(self, own: "type[Record]") -> "list[type[Record]]":
        """Return the settings of a source that packages bring, beside the service's ``own``.

        Raises:
            BrokenPackage: two have the same name.
        """
        records = self._call_all("source_settings")
        names = [name for record in (own, *records) for name in record.__struct_encode_fields__]
        _require_different(names, "the setting {} of a source")
        return records

    def enrichments(self) -> "list[Enrichment]":
        """Return what packages make keywords of pieces by.

        Raises:
            BrokenPackage: two make keywords of the same category.
        """
        enrichments = self._call_all("enrich")
        _require_different([each.category for each in enrichments], "the category {} of keywords")
        return enrichments

    def list_kinds(self, own: "Sequence[RankingKind]" = ()) -> "list[RankingKind]":
        """Return all kinds of lists: the service's ``own``, then those of each package by its name.

        Raises:
            BrokenPackage: two have the same name.
        """
        kinds = [*own, *self._call_all("list_kinds")]
        _require_different([each.name for each in kinds], "the kind of list {}")
        return kinds

    def list_outcomes(self, services: "Services") -> "ListOutcomes | None":
        """Return what knows what people were shown; ``None`` where no package does."""
        outcomes: ListOutcomes | None = self._manager.hook.list_outcomes(services=services)
        return outcomes

    def tables(self, own: Iterable[str]) -> "list[StoragePart]":
        """Return the parts of the storage that packages bring; ``own`` are the names of the service's tables.

        Raises:
            BrokenPackage: two have the same name, or a table that another has.
        """
        parts = list(self._call("tables"))
        names = [
            *own,
            *(table.name for part in parts for table in part.tables),
            *(part.version_table for part in parts),
        ]
        _require_different(names, "the table {}")
        return parts

    def lines(self, own: Iterable[str]) -> "list[LineKind]":
        """Return the kinds of lines that packages bring, beside those of the service with these names.

        Raises:
            BrokenPackage: two have the same name.
        """
        kinds = self._call_all("lines")
        _require_different([*own, *(kind.name for kind in kinds)], "lines of {}")
        return kinds

    def exports(self) -> Sequence[PersonExport]:
        """Return what packages add to the export of a person, in the order of their names."""
        return self._call("export")

    def list_reader(self, services: "Services") -> ListReader:
        """Return what reads the ids of lists that interactions name."""
        reader: ListReader | None = self._manager.hook.list_reader(services=services)
        return reader or (lambda _head, _text, _user_id, _piece_id: None)

    def background(self, services: "Services", election: "Election") -> "list[BackgroundTask]":
        """Return the background tasks of all packages."""
        return self._call_all("background", services=services, election=election)

    def stand_in_search(self, settings: "NodeSettings") -> "StandInSearch":
        """Return what finds stand-ins for a builder: nobody does where the settings name no machines for that.

        Raises:
            InvalidSettings: they name some, and no package uses them.
        """
        search: StandInSearch | None = self._manager.hook.stand_in_search(settings=settings)
        if search is None and settings.cluster is not None:
            raise InvalidSettings("The setting cluster needs the package penchant-batch, which is not installed.")
        return search or (lambda _query: None)

    def mounts(self, settings: "NodeSettings") -> "tuple[Mount, ...]":
        """Return the applications of all packages.

        Raises:
            BrokenPackage: one has a path that another has, or that is not below ``/-/``, or the settings want what no
                package mounts.
        """
        mounts = tuple(self._call_all("mount", settings=settings))
        paths = [each.path for each in mounts]
        wrong = sorted({path for path in paths if paths.count(path) > 1 or not path.startswith("/-/")})
        if wrong:
            raise BrokenPackage(f"No package can mount {', '.join(wrong)}: another does, or it is not below /-/.")
        if settings.mcp and AGENTS_PATH not in paths:
            raise BrokenPackage("The setting mcp needs a package: pip install penchant[mcp]")
        return mounts

    def _call(self, hook: str, **arguments: Any) -> list[Any]:
        """Return what each package gives, in the order of their names.

        Raises:
            BrokenPackage: a hook of one fails.
        """
        return [result for _, result in self._called(hook, arguments)]

    def _call_all(self, hook: str, **arguments: Any) -> list[Any]:
        """Return what all packages give where each gives several; raises as `_call`."""
        given: list[Any] = []
        for owner, several in self._called(hook, arguments):
            if not isinstance(several, Iterable) or isinstance(several, type):
                raise BrokenPackage(f"The hook {hook} of {owner} returns one; several are due, such as a tuple of it.")
            given += several
        return given

    def _called(self, hook: str, arguments: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        # One by one, as pluggy does not say whose hook has failed.
        for each in getattr(self._manager.hook, hook).get_hookimpls():
            owner = each.plugin.__name__
            try:
                result = each.function(*(arguments[name] for name in each.argnames))
            except PenchantError:
                raise
            # Whatever a stranger's function raises.
            except Exception as error:
                raise BrokenPackage(f"The hook {hook} of {owner} fails: {_reason(error)}") from error
            if result is not None:
                yield owner, result


def _reason(error: Exception) -> str:
    """Return what an error says, and the line that raised it where it is a package's."""
    if isinstance(error, ImportError | pluggy.PluginValidationError):
        return str(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"


def _require_different(names: Sequence[str], what: str) -> None:
    """Raise where a name is there twice."""
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise BrokenPackage(f"Two packages bring {what.format(', '.join(twice))}.")


@cache
def packages() -> Packages:
    """Return the packages that this process has; raises as `Packages.find`."""
    return Packages.find()
