"""What n paired measurements say about the difference between two things, by ranks.

The measurements are differences d[i], one per round; here they are logarithms of ratios of speeds.
The only assumption is that their noise is independent from round to round and symmetric about the
true difference. It is symmetric when both members of a pair have the same noise, whatever that is.
A wild round has no more weight than the highest rank.

  test          Wilcoxon's signed-rank test, with its exact distribution under all 2^n signs, ties
                included. F. Wilcoxon, Individual comparisons by ranking methods, Biometrics
                Bulletin 1 (1945).
  estimate      The median of the averages of all pairs d[i], d[j] with i <= j, the Walsh averages.
                J. L. Hodges and E. L. Lehmann, Estimates of location based on rank tests, Annals of
                Mathematical Statistics 34 (1963).
  interval      Exactly the values that the test does not reject; its ends are two of the ordered Walsh
                averages. M. Hollander and D. A. Wolfe, Nonparametric Statistical Methods,
                chapter 3.
  many tests    S. Holm's step-down procedure: A simple sequentially rejective multiple test
                procedure, Scandinavian Journal of Statistics 6 (1979). It holds for any dependence
                between the tests, and benchmarks of one run do depend on each other.

The smallest two-sided p of n rounds is 2 / 2^n, so an interval of 95 % takes at least 6 rounds.
scipy.stats has the test but neither the estimate nor the interval, so all three are here.
"""

import itertools
import math
import statistics

LEVEL = 0.05
NAME = "paired by round: Wilcoxon signed-rank, Hodges-Lehmann, Holm"


def sample(a, b):
    """The differences of speeds of A and of B, round by round."""
    return [math.log(of_b / of_a) for of_a, of_b in zip(a, b)]


def null_distribution(ranks):
    """How many of the 2^n choices of signs give each sum of the positive ranks: a list by sum.

    The ranks are whole numbers.
    """
    counts = [1]
    for rank in ranks:
        counts = [
            (counts[total] if total < len(counts) else 0)
            + (counts[total - rank] if total >= rank else 0)
            for total in range(len(counts) + rank)
        ]
    return counts


def doubled_ranks(values):
    """Twice the rank of each value, 2 for the smallest; ties share the mean of their ranks."""
    order = sorted(values)
    return [
        sum(other < value for other in order) + sum(other <= value for other in order) + 1
        for value in values
    ]


def one_sided(differences, centre=0.0):
    """(p of "not below the centre", p of "not above it"): a small p means below, or above."""
    shifted = [d - centre for d in differences if d != centre]
    ranks = doubled_ranks([abs(d) for d in shifted])
    counts = null_distribution(ranks)
    positive = sum(rank for rank, d in zip(ranks, shifted) if d > 0)
    choices = 2 ** len(ranks)
    return sum(counts[: positive + 1]) / choices, sum(counts[positive:]) / choices


def two_sided(differences, centre=0.0):
    """p of "the differences are centred here"."""
    return min(1.0, 2 * min(one_sided(differences, centre)))


def walsh_averages(differences):
    pairs = itertools.combinations_with_replacement(differences, 2)
    return sorted((a + b) / 2 for a, b in pairs)


def estimate(differences):
    """Hodges and Lehmann's estimate."""
    return statistics.median(walsh_averages(differences))


def accepted(ordered, counts, level):
    """(low, high, coverage) of the ordered values between which a test by ranks does not reject, whose
    distribution has these counts; None where it never rejects at this level.
    """
    total = sum(counts)
    tail = 0
    cut = -1  # the highest sum with P(sum <= cut) <= level / 2
    while (tail + counts[cut + 1]) / total <= level / 2:
        cut += 1
        tail += counts[cut]
    if cut < 0:
        return None
    return ordered[cut], ordered[-1 - cut], 1 - 2 * tail / total


def interval(differences, level=LEVEL):
    """(low, high, coverage), coverage at least 1 - level; None with too few rounds for that."""
    counts = null_distribution(range(1, len(differences) + 1))
    return accepted(walsh_averages(differences), counts, level)


def holm(p_values):
    """The p values in the same order, adjusted for their number."""
    adjusted = [0.0] * len(p_values)
    worst = 0.0
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    for place, i in enumerate(order):
        worst = max(worst, min(1.0, p_values[i] * (len(p_values) - place)))
        adjusted[i] = worst
    return adjusted


def rounds_needed(tests, level=LEVEL):
    """Rounds needed before one difference among this many tests can be established."""
    return math.ceil(math.log2(2 * tests / level))
