"""Tallies of variants: the counts of a placement over some days, added up in the ways that results show."""

from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt

from penchant.experiments import Arm
from penchant.model import InteractionType
from penchant.storage.placement_counts import GROUPS, LISTS, POSITIONS, SHOWN, SUCCEEDED, CountsRow

Groups = npt.NDArray[np.float64]


class VariantTally:
    """The counts of a variant; ``success`` is the kind that counts as one."""

    def __init__(self, name: str, rows: Sequence[CountsRow], success: int) -> None:
        self.name = name
        self._by_kind: dict[int, list[CountsRow]] = defaultdict(list)
        for row in rows:
            self._by_kind[row.key.kind].append(row)
        self._success = success
        self.lists = self._total(LISTS)
        self.shown = self._total(SHOWN)
        self.successes = self._total(success)
        self.interactions = {each.value: n for each in InteractionType if (n := self._total(each.code))}
        self.arm = Arm(self._groups(self._by_kind[SHOWN]), self._groups(self._by_kind[success]))

    def lists_after(self, day: int) -> Groups:
        """Return the lists that were shown after a day, in each group of people."""
        return self._groups([row for row in self._by_kind[LISTS] if row.key.day > day])

    @property
    def positions(self) -> list[tuple[int, int, int]]:
        """Positions at which something was shown, with how much, and how much of it succeeded."""
        shown, succeeded = (
            sum((row.positions for row in self._by_kind[kind]), np.zeros(POSITIONS, np.int64))
            for kind in (SHOWN, self._success)
        )
        return [(at, int(shown[at]), int(succeeded[at])) for at in np.flatnonzero(shown).tolist()]

    @property
    def days(self) -> list[tuple[int, int, int]]:
        """Days on which something was shown, ascending, with how much, and how much of it succeeded."""
        succeeded = {row.key.day: int(row.positions.sum()) for row in self._by_kind[self._success]}
        return [(row.key.day, int(row.positions.sum()), succeeded.get(row.key.day, 0)) for row in self._by_kind[SHOWN]]

    def _total(self, kind: int) -> int:
        return sum(int(row.positions.sum()) for row in self._by_kind[kind])

    @staticmethod
    def _groups(rows: Sequence[CountsRow]) -> Groups:
        return sum((row.groups for row in rows), np.zeros(GROUPS, np.int64)).astype(np.float64)


def tallies_of(
    rows: Sequence[CountsRow], success: InteractionType | None, names: Collection[str]
) -> dict[str, VariantTally]:
    """Return the tally of each variant that has counts or is named, ascending by name."""
    by_name: dict[str, list[CountsRow]] = {name: [] for name in names}
    for row in rows:
        by_name.setdefault(row.key.variant, []).append(row)
    kind = SUCCEEDED if success is None else success.code
    return {name: VariantTally(name, by_name[name], kind) for name in sorted(by_name)}
