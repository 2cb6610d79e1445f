"""Tallies of variants: the counts of a placement over some days, added up in the ways that results show."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from penchant import experiments
from penchant.experiments import Arm
from penchant.model import InteractionType
from penchant.storage.placement_counts import (
    GROUPS,
    LISTS,
    SHOWN,
    STAGE_PIECES,
    STAGES,
    SUCCEEDED,
    CountsTable,
    Numbers,
)

Groups = npt.NDArray[np.float64]


class VariantTally:
    """The counts of a variant; ``success`` is the kind that counts as one."""

    def __init__(self, name: str, table: CountsTable, success: int) -> None:
        self.name = name
        self._lists = table.only(table.kinds == LISTS)
        self._shown = table.only(table.kinds == SHOWN)
        self._succeeded = table.only(table.kinds == success)
        self.lists = int(self._lists.positions.sum())
        self.shown = int(self._shown.positions.sum())
        self.successes = int(self._succeeded.positions.sum())
        by_kind = {each.value: int(table.positions[table.kinds == each.code].sum()) for each in InteractionType}
        self.interactions = {name: count for name, count in by_kind.items() if count}
        self.known = int(self._shown.groups.sum())
        self.staged = Arm(_by_stage(self._shown), _by_stage(self._succeeded))

    def lists_after(self, day: int) -> Groups:
        """Return the lists that were shown after a day, by stage and group of people."""
        return _by_stage(self._lists.only(self._lists.days > day))

    def staged_until(self, days: Numbers) -> Arm:
        """Return what was shown until the end of each of some days, and how much of it succeeded; days are an axis."""
        return Arm(_until(self._shown, days), _until(self._succeeded, days))

    @property
    def positions(self) -> list[tuple[int, int, int]]:
        """Positions at which something was shown, with how much, and how much of it succeeded."""
        shown, succeeded = self._shown.positions.sum(0), self._succeeded.positions.sum(0)
        return [(at, int(shown[at]), int(succeeded[at])) for at in np.flatnonzero(shown).tolist()]

    @property
    def days(self) -> list[tuple[int, int, int]]:
        """Days on which something was shown, ascending, with how much, and how much of it succeeded."""
        shown, succeeded = _by_day(self._shown), _by_day(self._succeeded)
        return [(day, count, succeeded[day]) for day, count in shown.items()]


@dataclass(frozen=True, slots=True)
class PlacementArms:
    """The arms of variants by name; ``kept`` are the stages that count, ``pieces`` what counts of a person at most."""

    by_name: Mapping[str, Arm]
    kept: experiments.Flags
    pieces: Groups


def arms_of(tallies: Mapping[str, VariantTally], days: Numbers | None = None) -> PlacementArms:
    """Return what known people were shown in variants and what came of it, nobody with more than a part.

    With ``days`` until the end of each of these, which are an axis.
    """
    staged = [each.staged if days is None else each.staged_until(days) for each in tallies.values()]
    found = experiments.bounded_arms(staged, np.asarray(STAGE_PIECES, dtype=np.float64))
    return PlacementArms(dict(zip(tallies, found.arms, strict=True)), found.kept, found.pieces)


def tallies_of(table: CountsTable, success: InteractionType | None, names: Collection[str]) -> dict[str, VariantTally]:
    """Return the tally of each variant that has counts or is named, ascending by name."""
    kind = SUCCEEDED if success is None else success.code
    every = sorted({*names, *np.unique(table.variants).tolist()})
    return {name: VariantTally(name, table.only(table.variants == name), kind) for name in every}


def _by_day(table: CountsTable) -> Counter[int]:
    found: Counter[int] = Counter()
    for day, count in zip(table.days.tolist(), table.positions.sum(1).tolist(), strict=True):
        found[day] += count
    return found


def _until(table: CountsTable, days: Numbers) -> Groups:
    found = np.zeros((len(days), STAGES, GROUPS))
    for stage in np.unique(table.stages):
        rows = table.only(table.stages == stage)
        # Rows are ascending by day: a sum for each number of rows, and how many of them a day includes.
        sums = np.vstack([np.zeros((1, GROUPS)), rows.groups.cumsum(0)])
        found[:, stage] = sums[np.searchsorted(rows.days, days, side="right")]
    return found


def _by_stage(table: CountsTable) -> Groups:
    found = np.zeros((STAGES, GROUPS))
    np.add.at(found, table.stages, table.groups)
    return found
