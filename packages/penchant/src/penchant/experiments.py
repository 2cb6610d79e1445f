"""Statistics of experiments: intervals that hold however often one looks, by the groups that people fall into.

Pure arithmetic in numpy; it knows neither lists nor people. Two things are special about it.

*Looking is free.* An interval of a textbook is right 95 times of 100 for one look that was fixed beforehand; who looks
every day and stops at the first good news is wrong far more often. The intervals here are confidence sequences: in 95
of 100 experiments the truth is inside at all looks together. By the boundary of the two-sided normal mixture (Robbins
1970; Howard, Ramdas, McAuliffe and Sekhon, "Time-uniform, nonparametric, nonasymptotic confidence sequences", Annals of
Statistics 2021), in its asymptotic form (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, "Time-uniform central limit
theory and asymptotic confidence sequences", 2021): with an estimate whose variance is v, and so has the information
I = 1/v, the radius is sqrt((I + r) ln((I + r) / (r a^2))) / I. It is the mixture SPRT of Johari, Koomen, Pekelis and
Walsh (2017) with a normal prior of variance 1/r, read backwards.

*People are the units.* Variants are given to people, and what one person is shown hangs together: ten pieces of a list,
the lists of a month. So variances are not those of coins, but are taken from groups of people, each person always in
the same one: how much the rates of the groups differ (the linearised ratio; Cochran, "Sampling Techniques", 6.4). They
count wherever they say more than coins do; how many times more is the design effect.

*Nobody outweighs the others.* Who comes a hundred times as often as others, or a program that does nothing else, would
count a hundred times. So counts come by stages of what a person was shown (the first pieces, as many again, twice as
many), and stages count only as far as a quarter of the people come (`bounded_arms`): nobody has more than a few times
the part of others, who lose little, and hang together less. Groups cannot tell this afterwards: one that somebody fills
has a variance of its own, which goes to 0 with the others' part. A difference is told only where a few people could not
have made it (`share_of_few`).

All functions take arrays whose last axis is that of the groups, and return one number for each of the axes before it.
"""

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt

ALPHA = 0.05
"""How many of all experiments may show, at any look, an interval without the truth."""
RATIO_ALPHA = 0.001
"""The same for shares: a false alarm there makes people distrust a sound experiment."""
EXPECTED_LIFT = 0.1
"""The relative difference between rates for which intervals are narrowest soonest; they hold for every other one."""
EXPECTED_SHIFT = 0.05
"""The same for the share that a variant has of the lists."""
LEAST_SUCCESSES = 20
"""Successes of two variants together below which nothing is told of their difference: the normal law is not yet one."""
LEAST_FILLED = 0.25
"""How much of a stage people must fill on average, beside the first one, for it to count. Between 0.1 and 0.25 the last
is best: what is left out costs no power, and attackers have less (docs/how-to/experiments.md)."""
FEW_PEOPLE = 10
"""People who must not be able to turn a verdict by themselves."""
MOST_OF_FEW = 0.25
"""The share of what a variant showed that so few people may have at most, or nothing is told of a difference: above it
ten people who report nothing but successes could turn it."""
MOST_OF_GROUP = 0.1
"""The same for one group of people: of 64 groups, each has a sixty-fourth on average."""
PLAIN_QUANTILE = 1.96
"""Of the normal law: 95 % are within so many standard deviations."""

Numbers = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


class BoundedRate(msgspec.Struct, frozen=True):
    """A number with the interval that has it, at all looks together."""

    value: Numbers
    lower: Numbers
    upper: Numbers


class Arm(msgspec.Struct, frozen=True):
    """What a variant has shown and how much of it succeeded, in each group of people."""

    shown: Numbers
    successes: Numbers

    @property
    def n(self) -> Numbers:
        """How much was shown."""
        return np.asarray(self.shown.sum(-1))

    @property
    def rate(self) -> Numbers:
        """The share of what was shown that succeeded; 0 of nothing."""
        return np.asarray(self.successes.sum(-1) / np.maximum(self.n, 1))

    @property
    def prior_rate(self) -> Numbers:
        """The rate with one success and one failure more, so that nothing is certain from the start."""
        return np.asarray((self.successes.sum(-1) + 1) / (self.n + 2))

    @property
    def coin_variance(self) -> Numbers:
        """The variance that the rate would have if everything that was shown were a coin of its own."""
        return np.asarray(self.prior_rate * (1 - self.prior_rate) / np.maximum(self.n, 1))

    @property
    def group_variance(self) -> Numbers:
        """The variance of the rate as the groups of people show it."""
        return _ratio_variance(self.successes, self.shown)


class BoundedArms(msgspec.Struct, frozen=True):
    """Arms in which nobody has more than a part; ``pieces`` is how many pieces of a person count at most."""

    arms: Sequence[Arm]
    kept: Flags
    pieces: Numbers


def bounded_arms(arms: Sequence[Arm], stage_pieces: Numbers) -> BoundedArms:
    """Return arms of the stages that enough people fill.

    The arms that are given have an axis of stages before that of the groups; of each person a stage has as many pieces
    as ``stage_pieces`` says. It goes by what was shown alone, in all arms together, so that no success decides of it.
    """
    shown = sum((arm.shown.sum(-1) for arm in arms), np.zeros(()))
    filled = shown / stage_pieces
    is_filled = filled >= LEAST_FILLED * filled[..., :1]
    # A stage counts only where all before it do: people go through them in order.
    kept = np.logical_and.accumulate(is_filled, axis=-1)
    bounded = [Arm((arm.shown * kept[..., None]).sum(-2), (arm.successes * kept[..., None]).sum(-2)) for arm in arms]
    return BoundedArms(bounded, kept, np.asarray((kept * stage_pieces).sum(-1)))


def share_of_few(base: Arm, other: Arm, pieces: Numbers) -> Numbers:
    """Return which share of what one of two arms showed a few people could have; ``pieces`` is a person's part."""
    return np.asarray(np.minimum(1, FEW_PEOPLE * pieces / np.maximum(1, np.minimum(base.n, other.n))))


def share_of_group(base: Arm, other: Arm) -> Numbers:
    """Return the greatest share that one group has of what one of two arms showed."""
    shares = [arm.shown.max(-1) / np.maximum(1, arm.n) for arm in (base, other)]
    return np.asarray(np.maximum(*shares))


def design_effect(*arms: Arm) -> Numbers:
    """Return how many times the variance of coins the groups of people show, over all arms; at least 1."""
    coins = sum((np.where(arm.n > 0, arm.coin_variance, 0) for arm in arms), np.zeros(()))
    groups = sum((arm.group_variance for arm in arms), np.zeros(()))
    return np.maximum(1, groups / np.where(coins > 0, coins, 1))


def rate_interval(arm: Arm, effect: Numbers, alpha: float = ALPHA) -> BoundedRate:
    """Return a variant's rate; ``effect`` is the design effect of the experiment."""
    radius = _radius(effect * arm.coin_variance, EXPECTED_LIFT * arm.prior_rate, alpha)
    radius = np.where(arm.n > 0, radius, 1)
    return BoundedRate(arm.rate, np.maximum(0, arm.rate - radius), np.minimum(1, arm.rate + radius))


def difference(base: Arm, other: Arm, effect: Numbers, alpha: float = ALPHA) -> BoundedRate:
    """Return how much greater the rate of another variant is than that of the base.

    While there is too little to say anything the interval is that of all differences, -1 to 1.
    """
    both = Arm(base.shown + other.shown, base.successes + other.successes)
    radius = _radius(effect * (base.coin_variance + other.coin_variance), EXPECTED_LIFT * both.prior_rate, alpha)
    is_told = (base.n > 0) & (other.n > 0) & (both.successes.sum(-1) >= LEAST_SUCCESSES)
    radius = np.where(is_told, radius, 2)
    value = other.rate - base.rate
    return BoundedRate(value, np.maximum(-1, value - radius), np.minimum(1, value + radius))


def share_interval(own: Numbers, together: Numbers, alpha: float = RATIO_ALPHA) -> BoundedRate:
    """Return the share that a variant has of the lists of all variants together."""
    lists = Arm(together, own)
    radius = _radius(np.maximum(lists.coin_variance, lists.group_variance), np.asarray(EXPECTED_SHIFT), alpha)
    radius = np.where(lists.n > 0, radius, 1)
    return BoundedRate(lists.rate, np.maximum(0, lists.rate - radius), np.minimum(1, lists.rate + radius))


class ReweightedRate(msgspec.Struct, frozen=True):
    """What a rate would be under other weights of the same people, and how much that differs from what it was.

    ``people`` is of how many people of equal weight it tells as much.
    """

    rate: BoundedRate
    difference: BoundedRate
    people: Numbers


def reweighted_rate(arm: Arm, weights: Numbers) -> ReweightedRate:
    """Return the rate of what was shown to people, each weighed by how much likelier it would have been.

    ``arm`` has every person as a group of their own. Self-normalised inverse propensity weighting (Swaminathan and
    Joachims, "The self-normalized estimator for counterfactual learning", 2015): weights are the probability of what
    a person saw under what is to be estimated, by that under which it was given. Intervals are those of textbooks, by
    people, for one look (`PLAIN_QUANTILE`); -1 to 1 around a difference of which nothing can be told.
    """
    present, other = _influences(arm, np.ones_like(weights)), _influences(arm, weights)
    weighed = Arm(arm.shown * weights, arm.successes * weights)
    value = np.asarray(weighed.successes.sum(-1) / np.where(weighed.n > 0, weighed.n, 1))
    radius = PLAIN_QUANTILE * np.sqrt((other**2).sum(-1))
    apart = PLAIN_QUANTILE * np.sqrt(((other - present) ** 2).sum(-1))
    change = value - arm.rate
    seen = weights * (arm.shown > 0)
    squares = (seen**2).sum(-1)
    return ReweightedRate(
        rate=BoundedRate(value, np.maximum(0, value - radius), np.minimum(1, value + radius)),
        difference=BoundedRate(change, np.maximum(-1, change - apart), np.minimum(1, change + apart)),
        people=np.asarray(seen.sum(-1) ** 2 / np.where(squares > 0, squares, 1)),
    )


def _influences(arm: Arm, weights: Numbers) -> Numbers:
    """Return how much each person moves the weighed rate: the linearised ratio."""
    shown, successes = arm.shown * weights, arm.successes * weights
    total = shown.sum(-1, keepdims=True)
    total = np.where(total > 0, total, 1)
    return np.asarray((successes - successes.sum(-1, keepdims=True) / total * shown) / total)


def _ratio_variance(numerators: Numbers, denominators: Numbers) -> Numbers:
    """Return the variance of the ratio of two sums over groups, by the groups' residuals; 0 of nothing."""
    total = denominators.sum(-1, keepdims=True)
    residuals = numerators - numerators.sum(-1, keepdims=True) / np.maximum(total, 1) * denominators
    groups = residuals.shape[-1]
    return np.asarray(groups / (groups - 1) * (residuals**2).sum(-1) / np.maximum(total[..., 0], 1) ** 2)


def _radius(variance: Numbers, scale: Numbers, alpha: float) -> Numbers:
    """Return half the width of the interval around an estimate, by the boundary of the module's description."""
    information, prior = 1 / variance, 1 / scale**2
    both = information + prior
    return np.asarray(np.sqrt(both * np.log(both / (prior * alpha**2))) / information)
