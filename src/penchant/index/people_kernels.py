"""How is the audience searched at the speed of memory? Compiled; `kernels` hands it out, `exact` says what it computes.

A file of its own that calls no jitted function of another one: numba would not notice a change there.
"""

import numpy as np
from numba import config, njit

from penchant.index import layout

_jit = njit(nogil=True, cache=bool(config.CACHE_DIR))

LIKE_UNIT = float(layout.LIKE_SCALE)
OVERLAP_UNIT = float(layout.OVERLAP_SCALE)
SQUARE_UNIT = float(layout.SQUARE_SCALE)


@_jit
def _add_value(sums, people, value):
    for i in range(len(people)):
        sums[np.uint64(people[i])] += value


@_jit
def _add_weight(overlaps, pieces, weight):
    for i in range(len(pieces)):
        overlaps[np.uint64(pieces[i])] += weight


@_jit
def overlaps(crowd, seeds, values, sums, found):
    """Fill found (n_pieces,) with overlaps and return the norm; sums (n_people,) and found start at 0.

    First what each person adds, then each such person's likes: the same operations as `exact.overlaps`, bit by bit.
    """
    for i in range(len(seeds)):
        first, last = crowd.piece_starts[seeds[i]], crowd.piece_starts[seeds[i] + 1]
        _add_value(sums, crowd.piece_people[first:last], values[i])
        first, last = crowd.more_piece_starts[seeds[i]], crowd.more_piece_starts[seeds[i] + 1]
        _add_value(sums, crowd.more_people[first:last], values[i])
    greatest = 0.0
    for x in range(len(sums)):
        if sums[x] > 0:
            square = sums[x] * sums[x] * (np.float64(crowd.inverse[x]) / LIKE_UNIT)
            greatest = max(greatest, square)
    if greatest == 0.0:
        return 0.0
    total = np.int64(0)
    for x in range(len(sums)):
        if sums[x] > 0:
            square = sums[x] * sums[x] * (np.float64(crowd.inverse[x]) / LIKE_UNIT)
            total += np.int64(np.rint(square / greatest * SQUARE_UNIT))
    norm = np.sqrt(np.float64(total) / SQUARE_UNIT * greatest)
    for x in range(len(sums)):
        if sums[x] > 0 and crowd.inverse[x] > 0:
            weight = np.int64(np.rint(sums[x] * (np.float64(crowd.inverse[x]) / LIKE_UNIT) / norm * OVERLAP_UNIT))
            _add_weight(found, crowd.pieces[crowd.starts[x] : crowd.ends[x]], weight)
            _add_weight(found, crowd.more_pieces[crowd.more_starts[x] : crowd.more_starts[x + 1]], weight)
    return norm
