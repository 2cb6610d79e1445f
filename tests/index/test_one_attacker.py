"""One person who clicks or likes at random hardly moves kappa, what keywords tell (interface, section 6)."""

import json
import random
from hashlib import blake2b
from importlib.resources import files

import numpy as np
import pytest

from answers import snapshot_of
from penchant.model import SourceSettings
from penchant_engine.index import Tally
from penchant_engine.index.factors import rarities_of, values_of
from penchant_engine.index.people.statistics import figures_of
from penchant_engine.model import DAY_MS, InteractionType

DEMO = files("penchant.demo") / "works"
PIECES, ROWS = (
    [json.loads(line) for line in (DEMO / name).read_text(encoding="utf-8").splitlines()]
    for name in ("pieces.ndjson", "interactions.ndjson")
)
CATALOGUE = snapshot_of(PIECES).merged()
EVENTS = [(each["userId"], each["contentId"], InteractionType(each["type"])) for each in ROWS]


def kappa(events: list[tuple[str, str, InteractionType]]) -> int:
    tally = Tally.empty(0)
    for version, (person, piece_id, kind) in enumerate(events, start=1):
        tally.record(blake2b(person.encode(), digest_size=16).digest(), piece_id, kind, DAY_MS + version, version)
    likes = tally.compacted().matrix(CATALOGUE.ids, SourceSettings(), 0)
    rarities = rarities_of(np.diff(CATALOGUE.posting_starts), len(CATALOGUE))
    return figures_of(likes, CATALOGUE, values_of(CATALOGUE, {}), rarities).kappa


# The demo has 218 likes of 24 people: of so few one person who does 200 things is much, however little each says.
@pytest.mark.parametrize(
    ("kind", "crowds", "most"),
    (
        (InteractionType.CLICK, 1, 0.08),
        (InteractionType.CLICK, 2, 0.05),
        (InteractionType.RATE_LIKE, 1, 0.155),
        (InteractionType.RATE_LIKE, 2, 0.08),
    ),
)
def test_two_hundred_of_one_person_move_it_little(kind: InteractionType, crowds: int, most: float) -> None:
    people = [(f"{crowd}{person}", piece_id, of) for crowd in range(crowds) for person, piece_id, of in EVENTS]
    before = kappa(people)

    for seed in range(4):
        drawn = random.Random(seed).sample(list(CATALOGUE.ids), 200)
        after = kappa([*people, *(("attacker", piece_id, kind) for piece_id in drawn)])
        assert abs(after - before) < most * before
