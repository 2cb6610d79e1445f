"""Replays: how a draft of a placement would have done, by what people were shown and did, as far as chance tells.

Which variant a person sees is drawn, by the hash of the person, with the shares of the placement: that is the only
chance there is. So a draft whose lists are all made as lists that were shown, and which only gives other shares of
people to them, can be estimated from the log; a list that nobody was shown cannot.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penchant.errors import Refused
from penchant.experiments import LEAST_SUCCESSES, Arm, ReweightedRate, reweighted_rate
from penchant.live.views import View
from penchant.storage import Storage
from penchant_engine.model import DAY_MS
from penchant_rows.errors import UnknownPlacement
from penchant_rows.service.inputs import shown_since
from penchant_rows.service.results import worse_variants
from penchant_rows.service.versions import PlacementInForce, placements_of, read_row
from penchant_rows.storage.impressions import ImpressionStore
from penchant_rows.storage.placements import PlacementStore
from penchant_rows.wire.placements import BASE, BUCKETS, PlacementSpec

LEAST_PEOPLE = 100
"""People of equal weight below whom nothing is concluded: the normal law is not yet one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """An estimate, and what it is from: lists since ``since`` (ms since 1970 UTC), of so many people and pieces."""

    since: int
    people: int
    shown: int
    successes: int
    present_rate: float
    estimate: ReweightedRate


def replay(storage: Storage, view: View, name: str, draft: PlacementSpec, now: int) -> Replay:
    """Return how a draft would have done in the place of the placement of a name.

    By the lists since the version in force was stored, as far back as what was shown is kept.

    Raises:
        UnknownPlacement: there is none of this name.
        Refused: what was shown cannot tell; the message says why.
    """
    version = placements_of(view).get(name)
    row = None if version is None else storage.store(PlacementStore).read(view.head.source_id, name, version)
    if row is None:
        raise UnknownPlacement(f"The source has no placement {name!r}.")
    placement = read_row(row)
    stopped = worse_variants(storage, view.head, placement, now // DAY_MS)
    if stopped:
        raise Refused(
            f"The variant {min(stopped)!r} is stopped: its people see the base since, and no longer by chance."
        )
    weights = _weights(placement, draft)
    since = max(row.recorded_at, shown_since(view, now))
    found = storage.store(ImpressionStore).outcomes_by_person(view.head.source_id, view.head.incarnation, name, since)
    # A variant that is gone is of a list made just before the version in force.
    outcomes = [each for each in found if each[0] in weights]
    if not outcomes:
        raise Refused("No known person was shown a list of the version in force; report impressions, and wait.")
    seen = {row[0] for row in outcomes}
    unseen = sorted(variant for variant, weight in weights.items() if weight and variant not in seen)
    if unseen:
        raise Refused(f"Nobody was shown the variant {unseen[0]!r} yet, which the draft would show.")
    arm = Arm(*np.asarray([row[1:] for row in outcomes], dtype=np.float64).T)
    estimate = reweighted_rate(arm, np.asarray([weights[row[0]] for row in outcomes]))
    counted = sum(row[2] for row in outcomes if weights[row[0]])
    if estimate.people < LEAST_PEOPLE or counted < LEAST_SUCCESSES:
        raise Refused(
            f"What was shown says as much as {float(estimate.people):.0f} people with {counted} successes would;"
            f" below {LEAST_PEOPLE} people or {LEAST_SUCCESSES} successes nothing is concluded."
        )
    return Replay(
        since=since,
        people=len(outcomes),
        shown=int(arm.n),
        successes=int(arm.successes.sum()),
        present_rate=float(arm.rate),
        estimate=estimate,
    )


def _weights(placement: PlacementInForce, draft: PlacementSpec) -> dict[str, float]:
    """Return by variant in force how many times likelier the draft would have shown a list made like that one.

    Raises:
        Refused: a list of the draft is made as none that was shown by chance.
    """
    shares = _shares(placement.spec)
    rules = {name: placement.spec.rules_of(name) for name in shares}
    wanted = dict.fromkeys(shares, 0.0)
    for name, share in _shares(draft).items():
        # Variants that make the same lists are one: what was shown of any of them speaks for it.
        alike = [each for each, made in rules.items() if made == draft.rules_of(name) and shares[each]]
        if share and not alike:
            raise Refused(
                f"The list {name!r} of the draft is made as none of the version in force: nobody was shown it by"
                " chance, so that the log cannot tell. Give it a share of people, and read the results. (Rotation is no"
                " chance either: it sinks pieces by a rule.)"
            )
        together = sum(shares[each] for each in alike)
        for each in alike:
            wanted[each] += share * shares[each] / together
    return {name: wanted[name] / share for name, share in shares.items() if share}


def _shares(spec: PlacementSpec) -> Mapping[str, int]:
    """Return how many of `BUCKETS` parts of all people each list is for."""
    shares = {each.name: each.share for each in spec.variants}
    return {BASE: BUCKETS - sum(shares.values())} | shares
