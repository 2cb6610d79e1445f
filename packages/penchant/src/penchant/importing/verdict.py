"""Verdicts of imports: what lists come of a source, counted by the very lists that it makes.

What is wrong with keywords is what the page of health says (`penchant.findings`); who imports puts it into words.
"""

import time
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from penchant.enrichment import figures_of, rule_of
from penchant.findings import CategorySpread, Reach, telling_by_category, vocabulary
from penchant.model import SourceSettings
from penchant.settings import closed_image_hosts
from penchant.storage import user_key
from penchant.wire.attributes import decode_stored_extra
from penchant.wire.stored import PieceReading, decode_stored_piece
from penchant_engine.index import Filter, Snapshot, Strings, Tally
from penchant_engine.index.building import build_segment
from penchant_engine.model import DAY_MS, InteractionType

MAX_STORED_PIECES = 50_000
"""Pieces of a source up to which the verdict is about all of them."""
MAX_INTERACTIONS = 1_000_000
"""Interactions of a source that are counted for it: the first ones."""
MAX_LISTS = 2_000
"""Lists of similar pieces that are looked at, evenly chosen."""
MAX_S = 3.0
"""How long that may take."""
_CHUNK = 20
_ROWS = 50_000
"""Interactions that are counted at once."""
LOOKED_AT = 2_000
"""Pieces whose pictures are looked at: the first ones."""
MAX_CATEGORIES = 50
"""Categories of which a verdict tells, those that tell most first."""
Row = tuple[bytes, str, InteractionType, int, int]
"""Who, with which piece, what, and when (ms since 1970 UTC)."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class JudgedSource:
    """What is judged: an index of pieces, of ``piece_count`` that there are, under settings, and what people did.

    ``has_all_rows`` says that there are no other interactions than ``rows``. ``image_hosts`` are those whose pictures
    its dashboard may show.
    """

    snapshot: Snapshot
    piece_count: int
    settings: SourceSettings
    rows: Iterable[Row]
    has_all_rows: bool = True
    blacklisted: frozenset[str] = frozenset()
    image_hosts: Collection[str] = ()


def sampled_source(sample: Any, settings: SourceSettings, count: int, now: int) -> JudgedSource:
    """Return the source that the first of so many pieces make, with what is known of what people did."""
    reading = PieceReading(rule_of(settings))
    read = [
        decode_stored_piece(body, now, keywords=reading.keywords_of_unstored(body)) for body in sample.pieces.values()
    ]
    return JudgedSource(
        snapshot=Snapshot.of_segment(build_segment(read)) if read else Snapshot.empty(),
        piece_count=count,
        settings=settings,
        rows=((user_key(0, user_id), *others) for user_id, *others in sample.rows),
        has_all_rows=sample.has_all_rows,
    )


def count_figures(source: JudgedSource, pieces: Collection[bytes], now: int) -> Mapping[str, Any]:
    """Return the figures of a source, of which these are some pieces; ``now`` in ms since 1970 UTC."""
    terms = vocabulary(source.snapshot)
    shown = Filter(moment=now, blacklisted=source.blacklisted)
    weights = source.settings.category_factors
    reach = Reach(snapshot=source.snapshot, shown=shown, category_weights=weights, most=MAX_LISTS)
    until = time.monotonic() + MAX_S
    while reach.look(_CHUNK) and time.monotonic() < until:
        pass
    audience, telling = _audience(source, now)
    judged = source.snapshot.piece_count
    hidden = judged - sum(
        len(np.setdiff1d(np.flatnonzero(part.allowed(shown)), part.excluded(shown))) for part in source.snapshot.parts
    )
    noise = [each.name for each in terms.spread if each.is_noise and each.once <= each.keywords / 2]
    return {
        "pieces": source.piece_count,
        "judged": judged,
        "alone": terms.lonely_count,
        "byWords": terms.worded_count,
        "hidden": hidden,
        "lists": reach.looked_at,
        "empty": reach.empty,
        "unordered": reach.unordered,
        "categories": [_category(each, telling) for each in terms.spread[:MAX_CATEGORIES]],
        "pictureHosts": _picture_hosts(pieces, source),
        "idle": [name for name in noise if weights.get(name, 1)],
        **figures_of(pieces, source.settings),
        **audience,
    }


def _category(spread: CategorySpread, telling: dict[str, float]) -> Mapping[str, Any]:
    one = "one value for each piece" if spread.once > spread.keywords / 2 else "one value for nearly all pieces"
    return {
        "name": spread.name,
        "keywords": spread.keywords,
        "joining": spread.joining,
        "noise": one if spread.is_noise else "",
        "telling": telling.get(spread.name),
    }


def _audience(source: JudgedSource, now: int) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the members of a verdict that tell of people, and what each category tells of what they like."""
    oldest_day = source.settings.oldest_day(now // DAY_MS)
    tally, snapshot = Tally.empty(oldest_day), source.snapshot
    count, mentioned = 0, Counter[str]()
    rows = iter(source.rows)
    while count < MAX_INTERACTIONS and (batch := list(islice(rows, _ROWS))):
        tally.record_all((count + place, *row) for place, row in enumerate(batch))
        mentioned.update(row[1] for row in batch)
        count += len(batch)
    if not count:
        return {}, {}
    likes, catalogue = tally.compacted(oldest_day), snapshot.merged()
    matrix = likes.matrix(catalogue.ids, source.settings, oldest_day)
    part_of, _ = snapshot.locate(Strings.of(mentioned))
    unknown = sum(number for number, part in zip(mentioned.values(), part_of.tolist(), strict=True) if part < 0)
    personal = len(matrix.person_starts) - 1
    audience: dict[str, Any] = {
        "countedAll": source.has_all_rows and next(rows, None) is None,
        "people": likes.person_count,
        "personal": personal,
        "liked": len(np.unique(matrix.pieces)),
        "interactions": count,
        # Of a sample of pieces others may well be there.
        "unknown": unknown if snapshot.piece_count == source.piece_count else 0,
    }
    if not personal:
        return audience, {}
    judged = telling_by_category(matrix, catalogue)
    return audience, {each.name: round(each.telling, 2) for each in judged.categories}


def _picture_hosts(pieces: Collection[bytes], source: JudgedSource) -> list[str]:
    """Return the hosts of pictures that the dashboard may not show yet, those of most pictures first."""
    pointer = source.settings.image_attribute
    if pointer is None:
        return []
    addresses = (decode_stored_extra(body, pointer) for body in islice(pieces, LOOKED_AT))
    return closed_image_hosts(filter(None, addresses), source.image_hosts)
