"""Placements of sources: stored, kept by versions, and read for every list. A version never changes once stored.

Assignment: which people see which variant of a placement.

All people of an experiment are spread over 10,000 buckets by a hash, and each bucket belongs to a variant or to none,
which is the base. The buckets are stored with each version of the placement, as runs, on which all placements of an
experiment agree. Whether the variant of a bucket is shown, or stopped as certainly worse, the `VariantGuard` says:

    shares                 a 0.2, b 0.3             a 0.3, b 0.3                      a 0.3, b 0.2
    buckets, in thousands  0 a 2 b 5 ------- 10     0 a 2 b 5 a 6 ------ 10           0 a 2 b 4 - 5 a 6 ---- 10

A variant that grows takes buckets that are nobody's, one that shrinks gives up its last ones: nobody else sees another
variant than before. From shares alone, without what was before, this cannot be had for three variants or more.
"""

import bisect
import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from penchant.errors import invalid_parameter
from penchant.live.database import AsyncStorage
from penchant.live.views import View
from penchant.service.access import Access
from penchant.storage import SourceChange, source_id
from penchant.wire import encode, format_timestamp
from penchant_engine.bounded_cache import BoundedCache
from penchant_rows.errors import PlacementChanged, UnknownPlacement
from penchant_rows.storage.part import ROWS
from penchant_rows.storage.placements import DeletePlacement, PlacementRow, PlacementStore, PutPlacement
from penchant_rows.wire.placement_answers import PlacementHistory, PlacementListing, PlacementVersion
from penchant_rows.wire.placements import (
    BUCKETS,
    MAX_PLACEMENT_VERSIONS,
    MAX_PLACEMENTS,
    PlacementSpec,
    decode_stored_placement,
    encode_placement,
    placement_problem,
)


def placements_of(view: View) -> Mapping[str, int]:
    """Return which version of each placement is in force in a view, by its name."""
    versions: Mapping[str, int] = view.parts.get(ROWS.name) or {}
    return versions


class BucketRun(NamedTuple):
    """Buckets from ``start`` until before ``end`` that are a variant's."""

    start: int
    end: int
    variant: str


def bucket_of(source: str, experiment: str, user_id: str) -> int:
    """Return the bucket of a person in an experiment of a source: the same one always and everywhere."""
    # Neither names nor ids hold a NUL, so that no two triples have the same text.
    text = f"{source}\0{experiment}\0{user_id}".encode()
    number = int.from_bytes(hashlib.blake2b(text, digest_size=8, person=b"variants").digest())
    return number * BUCKETS >> 64


def variant_at(runs: Sequence[BucketRun], bucket: int) -> str | None:
    """Return the variant that a bucket is of; ``None`` is the base."""
    place = bisect.bisect_right(runs, bucket, key=lambda run: run.start) - 1
    return runs[place].variant if place >= 0 and bucket < runs[place].end else None


def reassigned(runs: Sequence[BucketRun], shares: Mapping[str, int]) -> list[BucketRun]:
    """Return the buckets under other shares, in buckets of all, with as few people as can be seeing another variant."""
    owners: list[str | None] = [None] * BUCKETS
    for run in runs:
        owners[run.start : run.end] = [run.variant] * (run.end - run.start)
    free = [bucket for bucket, owner in enumerate(owners) if owner is None]
    for name in dict.fromkeys(run.variant for run in runs):
        own = [bucket for bucket, owner in enumerate(owners) if owner == name]
        given_up = own[shares.get(name, 0) :]
        for bucket in given_up:
            owners[bucket] = None
        # Behind those that were nobody's: what another variant gives up is taken only where there is nothing else.
        free += given_up
    for name, share in shares.items():
        missing = share - owners.count(name)
        for bucket in free[: max(0, missing)]:
            owners[bucket] = name
        free = free[max(0, missing) :]
    return _runs(owners)


def _runs(owners: Sequence[str | None]) -> list[BucketRun]:
    runs: list[BucketRun] = []
    for bucket, owner in enumerate(owners):
        if owner is None:
            continue
        if runs and runs[-1].end == bucket and runs[-1].variant == owner:
            runs[-1] = runs[-1]._replace(end=bucket + 1)
        else:
            runs.append(BucketRun(bucket, bucket + 1, owner))
    return runs


ATTEMPTS = 3
"""How often a placement is stored anew where others change it at the same moment."""
MEMORY_BYTES = 8 * 1024 * 1024
"""Placements that are remembered, as JSON; as records they take a few times as much."""

_decode_runs = msgspec.json.Decoder(list[BucketRun]).decode


class PlacementInForce(msgspec.Struct, frozen=True, kw_only=True):
    """A version of a placement, and which people its variants are for."""

    name: str
    version: int
    spec: PlacementSpec
    runs: Sequence[BucketRun] = ()

    @property
    def experiment(self) -> str:
        """By what people are told apart."""
        return self.spec.experiment or self.name

    @property
    def shares(self) -> Mapping[str, int]:
        """The share of each variant, in buckets."""
        return {each.name: each.share for each in self.spec.variants}

    def variant_for(self, source: str, user_id: str | None) -> str | None:
        """Return the variant that a person is given; ``None`` for the base, which nobody known sees as well.

        Who shows a list asks the `VariantGuard`, by which a variant may be stopped.
        """
        if user_id is None or not self.runs:
            return None
        return variant_at(self.runs, bucket_of(source, self.experiment, user_id))


class _VersionKey(NamedTuple):
    source_id: int
    incarnation: int
    epoch: int
    name: str
    version: int


class Placements:
    """The placements of sources; those asked for lately are remembered, within ``limit_bytes`` of JSON.

    For the event loop only.
    """

    def __init__(self, database: AsyncStorage, *, limit_bytes: int = MEMORY_BYTES) -> None:
        self._database = database
        self._stored = database.storage.store(PlacementStore)
        self._versions: BoundedCache[_VersionKey, PlacementInForce] = BoundedCache(limit_bytes)

    async def in_force(self, view: View, name: str) -> PlacementInForce:
        """Return a placement as a view has it.

        Raises:
            UnknownPlacement: there is none of this name.
            StorageUnavailable: it has to be read, and the database is away.
        """
        version = placements_of(view).get(name)
        if version is None:
            raise _unknown(name)
        head = view.head
        key = _VersionKey(head.source_id, head.incarnation, head.epoch, name, version)
        remembered = self._versions.get(key)
        if remembered is not None:
            return remembered
        row = await self._database.read(self._stored.read, head.source_id, name, version)
        if row is None:
            # Only where a hundred newer versions were stored since the view was made, or the source is gone.
            raise _unknown(name)
        placement = read_row(row)
        self._versions.put(key, placement, weight=len(row.body) + len(row.assignment))
        return placement

    async def put(self, access: Access, source: str, name: str, spec: PlacementSpec) -> SourceChange:
        """Store a placement; it is in force in the next request.

        Raises:
            InvalidInput: no placement can be called so.
            UnknownSource, TooManyPlacements: it may not be stored.
            PlacementChanged: others change it all the time.
            FourEyes: the source asks for a draft that somebody else publishes.
        """
        problem = placement_problem(name)
        if problem:
            raise invalid_parameter("name", problem)
        number = source_id(access.account_id, source)
        for attempt in range(ATTEMPTS):
            in_force = [read_row(row) for row in await self._database.promptly(self._stored.list_in_force, number)]
            draft = draft_over(in_force, name, spec)
            try:
                return await self._store(access, source, draft, encode_placement(spec), in_force)
            except PlacementChanged:
                if attempt == ATTEMPTS - 1:
                    raise
        raise AssertionError

    async def roll_back(
        self, access: Access, source: str, name: str, version: int | None
    ) -> tuple[PlacementSpec, SourceChange]:
        """Store an earlier version once more, the last one before that in force where none is named.

        People see the variants that they saw under it.

        Raises:
            UnknownPlacement: there is no such placement, or no such version of it.
            PlacementChanged: another version came into force at the same moment.
            FourEyes: as `put`.
        """
        rows, chosen = await self._version(access, source, name, version)
        placement = read_row(chosen)
        number = source_id(access.account_id, source)
        in_force = [read_row(row) for row in await self._database.promptly(self._stored.list_in_force, number)]
        # As it was then, unless another placement shows the same experiment otherwise by now.
        twin = twin_of(placement, in_force)
        draft = replace(placement, version=rows[0].version, runs=placement.runs if twin is None else twin.runs)
        outcome = await self._store(access, source, draft, chosen.body, in_force)
        return placement.spec, outcome

    async def earlier(self, access: Access, source: str, name: str, version: int | None) -> PlacementSpec:
        """Return an earlier version of a placement as `roll_back` would store it; raises `UnknownPlacement`."""
        _, chosen = await self._version(access, source, name, version)
        return read_row(chosen).spec

    async def _version(
        self, access: Access, source: str, name: str, version: int | None
    ) -> tuple[Sequence[PlacementRow], PlacementRow]:
        """Return the versions of a placement, newest first, and that of a number, or else the last one before it."""
        rows = await self._database.promptly(self._stored.list_versions, source_id(access.account_id, source), name)
        if not rows:
            raise _unknown(name)
        chosen = next((row for row in rows[1:] if version in {None, row.version}), None)
        if chosen is None and version != rows[0].version:
            named = "earlier version" if version is None else f"version {version}"
            raise UnknownPlacement(f"The placement has no {named}; {len(rows)} are kept.")
        return rows, chosen or rows[0]

    async def _store(
        self,
        access: Access,
        source: str,
        draft: PlacementInForce,
        body: bytes,
        in_force: Sequence[PlacementInForce],
    ) -> SourceChange:
        """Store a draft after the version that it names, unless any placement has changed since those were read.

        Who sees its variants follows from all of its experiment.
        """
        return await self._database.change(
            PutPlacement(
                **access.command_of(source),
                name=draft.name,
                body=body,
                assignment=encode(draft.runs),
                after=draft.version,
                seen=max((each.version for each in in_force), default=0),
                max_versions=MAX_PLACEMENT_VERSIONS,
                max_placements=MAX_PLACEMENTS,
            )
        )

    async def delete(self, access: Access, source: str, name: str) -> SourceChange:
        """Delete a placement with all its versions; an unknown one is no error. Raises `FourEyes` as `put`."""
        return await self._database.change(DeletePlacement(**access.command_of(source), name=name))

    async def listing(self, view: View) -> PlacementListing[str]:
        """Return every placement of a source as it is in force, ascending by name."""
        rows = await self._database.promptly(self._stored.list_in_force, view.head.source_id)
        return PlacementListing(placements=[_shown(row) for row in rows])

    async def versions(self, view: View, name: str) -> PlacementHistory[str]:
        """Return the versions of a placement that are kept, newest first; the first is in force.

        Raises:
            UnknownPlacement: there is none of this name.
        """
        rows = await self._database.promptly(self._stored.list_versions, view.head.source_id, name)
        if not rows:
            raise _unknown(name)
        return PlacementHistory(versions=[_shown(row) for row in rows])


def read_row(row: PlacementRow) -> PlacementInForce:
    """Return the placement in a stored row."""
    spec = decode_stored_placement(row.body)
    return PlacementInForce(name=row.name, version=row.version, spec=spec, runs=_decode_runs(row.assignment))


def draft_over(in_force: Sequence[PlacementInForce], name: str, spec: PlacementSpec) -> PlacementInForce:
    """Return what a draft would be among the placements in force, and of which version: 0 where there is none.

    Two placements of an experiment with the same shares show everybody the same variant. Otherwise who sees a variant
    goes on seeing it, as far as shares allow, by the newest placement of the experiment.
    """
    version = next((each.version for each in in_force if each.name == name), 0)
    draft = PlacementInForce(name=name, version=version, spec=spec)
    twin = twin_of(draft, in_force)
    if twin is not None:
        return replace(draft, runs=twin.runs)
    of_experiment = [each for each in in_force if each.experiment == draft.experiment]
    runs = max(of_experiment, key=lambda each: each.version).runs if of_experiment else ()
    return replace(draft, runs=reassigned(runs, draft.shares)) if runs or draft.shares else draft


def planned(
    in_force: Sequence[PlacementInForce], edits: Mapping[str, PlacementSpec | PlacementInForce | None]
) -> list[PlacementInForce | str]:
    """Return what edits make of placements: each as it would be among the others, or the name of one that is removed.

    One that was in force before (`PlacementInForce`) is shown to whom it was shown then, unless another placement of
    the experiment shows the same shares to others by now.
    """
    present = {each.name: each for each in in_force}
    newest = max((each.version for each in in_force), default=0)
    made: list[PlacementInForce | str] = []
    for name, edit in edits.items():
        old = present.pop(name, None)
        if edit is None:
            made.append(name)
            continue
        others = list(present.values())
        if isinstance(edit, PlacementInForce):
            twin = twin_of(edit, others)
            draft = edit if twin is None else replace(edit, runs=twin.runs)
        else:
            draft = draft_over(others if old is None else [*others, old], name, edit)
        # Newer than all others, so that further edits of its experiment go by it.
        newest += 1
        present[name] = replace(draft, version=newest)
        made.append(draft)
    return made


def twin_of(placement: PlacementInForce, in_force: Sequence[PlacementInForce]) -> PlacementInForce | None:
    """Return the newest other placement of the same experiment with the same shares, if there is one."""
    twins = [
        each
        for each in in_force
        if (each.experiment, each.shares) == (placement.experiment, placement.shares) and each.name != placement.name
    ]
    return max(twins, key=lambda each: each.version, default=None)


def _shown(row: PlacementRow) -> PlacementVersion[str]:
    return PlacementVersion(
        name=row.name,
        version=row.version,
        timestamp=format_timestamp(row.recorded_at),
        key_id=row.actor,
        draft=UNSET if row.draft is None else row.draft,
        placement=msgspec.json.decode(row.body),
    )


def _unknown(name: str) -> UnknownPlacement:
    return UnknownPlacement(f"The source has no placement {name!r}.")
