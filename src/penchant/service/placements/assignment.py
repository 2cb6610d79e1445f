"""Assignment: which people see which variant of a placement.

All people of an experiment are spread over 10,000 buckets by a hash, and each bucket belongs to a variant or to none,
which is the base. The buckets are stored with each version of the placement, as runs; `versions`
has those of an experiment agree. Whether the variant of a bucket is shown, or stopped as certainly worse, is for
`variant_guard` to say:

    shares                 a 0.2, b 0.3             a 0.3, b 0.3                      a 0.3, b 0.2
    buckets, in thousands  0 a 2 b 5 ------- 10     0 a 2 b 5 a 6 ------ 10           0 a 2 b 4 - 5 a 6 ---- 10

A variant that grows takes buckets that are nobody's, one that shrinks gives up its last ones: nobody else sees another
variant than before. From shares alone, without what was before, this cannot be had for three variants or more (D92 of
docs/decisions.md).
"""

import bisect
import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from penchant.wire import BUCKETS


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
