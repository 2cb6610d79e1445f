"""Bulk inputs: what the lists of everybody are made from, read once from one version of a source, as files.

segment    the pieces as one segment
weights    the audience part, and beside it how many people like each piece
people     what everybody did, by person: `PeopleTable`
said       people's preferences, by their numbers, as JSON
placement  with a placement: what else its lists take of people (`bulk_placement_inputs`)
context    the rest, as JSON: settings, lists, the moment, and the versions that all of it is of
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from penchant.errors import IndexNotReady
from penchant.live.array_files import FileKind, Stamp, arrays_in, stamp_of, write_file
from penchant.live.audience_files import WEIGHTS, StoredWeights, weigh
from penchant.live.segment_files import SEGMENT
from penchant.live.views import View
from penchant.service.people import oldest_kept
from penchant.storage import SourceHead, Storage
from penchant.wire import decode_preferences, decode_stored_settings, encode_settings
from penchant_batch.executor import Files, WorkPlan
from penchant_batch.people_columns import PeopleColumns, events_of, read_columns
from penchant_batch.placement_facts import FACTS, BulkPlacement, FactsReader, PlacementFacts, RecordedEvents, half_lives
from penchant_engine.index import Audience, FloatArray, Snapshot, Strings, Tally
from penchant_engine.index.people.item_item import ItemItemModel
from penchant_engine.index.people.likes import PAIR_SHIFT, PERSON_SHIFT, LatestEvents, build_likes, latest_of
from penchant_engine.index.people.popularity import PieceCounts
from penchant_engine.index.people.table import PeopleTable, people_table
from penchant_engine.model import DAY_MS, Preferences

CONTEXT, COUNTS, SAID = "context", "counts", "said"
RANGE = 1_000
"""People of a range: as many as make a megabyte of lists, so that a lost worker costs a fraction of a second."""
WORK = "penchant_batch.lists:prepare"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class CountedPeople:
    """A table of people, and how many people like each piece; shape (n_pieces,)."""

    table: PeopleTable
    liking: FloatArray

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all arrays by name."""
        return self.table.arrays() | {COUNTS: self.liking}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]]) -> "CountedPeople":
        """Return what these arrays, as `arrays` names them, hold."""
        return cls(table=PeopleTable.of_arrays(arrays), liking=arrays[COUNTS])


PEOPLE = FileKind(
    name="people", suffix=".people", magic=b"penchant people ", format=2, of_arrays=CountedPeople.of_arrays
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkRequest:
    """Whose lists are made, in which order (``None``: everybody, ascending), at which moment, and how long they are.

    ``kernels`` is the folder of compiled kernels. With a ``placement`` they are the lists of it.
    """

    users: Sequence[str] | None
    now: int
    take: int
    kernels: Path
    placement: BulkPlacement | None = None


class BulkContext(msgspec.Struct, frozen=True, kw_only=True):
    """What lists are made by, beside arrays; ``now`` is in milliseconds since 1970 UTC."""

    head: SourceHead
    now: int
    take: int
    settings: msgspec.Raw
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]
    kernels: str
    placement: BulkPlacement | None = None

    @property
    def stamp(self) -> Stamp:
        """The stamp of the files."""
        return stamp_of(self.head)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BulkInputs:
    """What the files hold."""

    context: BulkContext
    view: View
    weights: ItemItemModel
    audience: Audience
    people: PeopleTable
    said: Mapping[int, msgspec.Raw]
    facts: PlacementFacts

    def preferences(self, person: int) -> Preferences:
        """Return what a person of the table has said."""
        return decode_preferences(bytes(self.said.get(person, b"")))


def write_inputs(storage: Storage, view: View, request: BulkRequest, folder: Path) -> tuple[WorkPlan, SourceHead]:
    """Write the files of many people's lists; return the plan of the lists.

    The head says of which versions they are: content as in the view, interactions as of now.

    Raises:
        UnknownSource: the source was deleted meanwhile.
        IndexNotReady: there are no kernels to make the weights of so many pieces.
        OSError: a file cannot be written.
    """
    now, users = request.now, request.users
    columns = read_columns(storage, view, oldest_kept(view, now))
    head = view.head._replace(interactions_version=columns.head.interactions_version)
    today = now // DAY_MS
    segment = view.snapshot.merged()
    snapshot = Snapshot.of_segment(segment)
    ids = columns.ids() if users is None else list(users)
    events = events_of(columns, segment.ids, ids)
    table = people_table(Strings.of(ids), events, segment, view.settings, today)
    tally = _tally(columns, view.settings.oldest_day(today))
    counts = tally.popularity(view.settings, today)
    oldest_day = view.settings.oldest_day(today)
    threads = os.cpu_count() or 1
    weights = weigh(tally.compacted(), snapshot, view.settings, head.version, oldest_day, threads=threads)
    if weights is None:
        raise IndexNotReady("The weights of so many pieces cannot be made without compiled kernels.")
    context = BulkContext(
        head=head,
        now=now,
        take=request.take,
        settings=msgspec.Raw(encode_settings(view.settings)),
        whitelist=view.whitelist,
        blacklist=view.blacklist,
        kernels=str(request.kernels.absolute()),
        placement=request.placement,
    )
    write_file(SEGMENT, folder / SEGMENT.name, context.stamp, segment)
    write_file(WEIGHTS, folder / WEIGHTS.name, context.stamp, weights)
    grades = weights.weights.source_statistics.grades
    (liking,) = counts.by_part(snapshot.parts, grades)
    write_file(PEOPLE, folder / PEOPLE.name, context.stamp, CountedPeople(table=table, liking=liking))
    (folder / CONTEXT).write_bytes(msgspec.json.encode(context))
    said = {number: msgspec.Raw(columns.said[each]) for number, each in enumerate(ids) if each in columns.said}
    (folder / SAID).write_bytes(msgspec.json.encode(said))
    files = [CONTEXT, SAID, SEGMENT.name, WEIGHTS.name, PEOPLE.name]
    if request.placement is not None:
        trends = {
            days: tally.popularity(view.settings, today, half_life_days=days).by_part(snapshot.parts, grades)[0]
            for days in sorted(half_lives(request.placement))
        }
        recorded = RecordedEvents(people=columns.people, pieces=columns.pieces, table=columns.table)
        facts = FactsReader(request.placement, ids, recorded).read(storage, view, now, trends)
        write_file(FACTS, folder / FACTS.name, context.stamp, facts)
        files.append(FACTS.name)
    return WorkPlan(work=WORK, files=tuple(files), count=len(ids), size=RANGE), head


def read_inputs(files: Files) -> BulkInputs:
    """Return what is in the files, mapped.

    Raises:
        DamagedFile: one of them is not what was written.
    """
    context = msgspec.json.decode(bytes(files[CONTEXT]), type=BulkContext)

    def arrays(kind: FileKind[Any]) -> Any:
        return kind.of_arrays(arrays_in(kind, files[kind.name], kind.name, context.stamp))

    segment, weights, people = arrays(SEGMENT), arrays(WEIGHTS), arrays(PEOPLE)
    stored: StoredWeights = weights
    view = View(
        head=context.head,
        snapshot=Snapshot.of_segment(segment),
        settings=decode_stored_settings(bytes(context.settings)),
        whitelist=context.whitelist,
        blacklist=context.blacklist,
        blacklisted=frozenset(context.blacklist),
    )
    audience = Audience(PieceCounts.of_rows(segment, people.liking), stored.weights, context.head.interactions_version)
    said = msgspec.json.decode(bytes(files[SAID]), type=dict[int, msgspec.Raw])
    return BulkInputs(
        context=context,
        view=view,
        weights=stored.weights,
        audience=audience,
        people=people.table,
        said=said,
        facts=PlacementFacts.none() if context.placement is None else arrays(FACTS),
    )


def _tally(columns: PeopleColumns, oldest_day: int) -> Tally:
    """Return the tally of all interactions: what the feed would give, one by one."""
    table = columns.table
    events = LatestEvents(table[0] << PERSON_SHIFT | table[1] << PAIR_SHIFT | table[2], table[3], table[4])
    ids = [piece_id.encode() for piece_id in columns.pieces]
    return Tally(build_likes(columns.keys, ids, latest_of([events]), kept_from=oldest_day))
