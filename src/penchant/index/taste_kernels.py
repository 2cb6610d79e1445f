"""Compiled kernel of how well one piece suits the tastes of many people: bit by bit as one person's list finds it.

It allocates nothing, as those of `penchant.index.kernels`. What a person did becomes scores by term, and these a taste,
as in `penchant.index.list_kernels`; of the taste only its norm and its dot product with the piece are kept.
"""

import numpy as np

from penchant.index.list_kernels import add_terms, gather_scores, two_sum, whole_score


def tastes(first, pairs, terms, amounts, room, dots, norms, inexact):
    """Fill ``dots`` and ``norms`` (b,) of the people from ``first`` on; norms are 0 where there is no taste.

    ``amounts`` (v,) are the roots of the piece's weights by term, 0 for terms that it lacks. ``inexact`` (b,) gets 1
    where two doubles do not hold a sum, and both have to be found in another way.
    """
    for place in range(len(dots)):
        is_inexact = add_terms(first + place, pairs, terms, room)
        count, greatest = gather_scores(terms, room)
        high, low, dot = 0.0, 0.0, 0.0
        if greatest > 0.0:
            for i in range(count):
                whole = whole_score(room.scores[i], greatest)
                if whole == 0.0:
                    continue
                term = room.numbers[i]
                rare = terms.rarities[term] * whole
                # Terms ascend, as in a search: the order of additions is fixed.
                dot += rare * terms.factors[term] * amounts[term]
                high, lost = two_sum(high, rare * rare)
                low, rest = two_sum(low, lost)
                is_inexact |= rest != 0.0
        dots[place], norms[place] = dot, np.sqrt(high + low)
        inexact[place] = 1 if is_inexact else 0
