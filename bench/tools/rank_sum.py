"""What n measurements of one thing and m of another say about their difference, by ranks.

A sample is a pair of lists, of A and of B; here they are logarithms of speeds, and the difference is B less
A. Nothing pairs them. The only assumption is that all are independent, with noise of one shape. For pairs see
signed_rank.py, which also has the reasons for ranks and the procedure for many tests.

  test          Wilcoxon's rank-sum test, which is Mann and Whitney's, with its exact distribution under all
                choices of m ranks of n + m, ties included. F. Wilcoxon, Individual comparisons by ranking
                methods, Biometrics Bulletin 1 (1945). H. B. Mann, D. R. Whitney, On a test of whether one of
                two random variables is stochastically larger than the other, Annals of Mathematical
                Statistics 18 (1947).
  estimate      The median of all n * m differences (Hodges and Lehmann).
  interval      Exactly the values that the test does not reject; its ends are two of the ordered differences.

The smallest two-sided p of n and m is 2 / C(n + m, m), so an interval of 95 % takes 4 of each, or 3 and 5.
"""

import functools
import itertools
import math
import statistics

import signed_rank

LEVEL = signed_rank.LEVEL
NAME = "unpaired: Wilcoxon rank-sum, Hodges-Lehmann, Holm"
MOST = 40  # of more measurements than this some are left out, evenly: the exact distribution gets long


def thinned(values):
    return values[:: math.ceil(len(values) / MOST)]


def sample(a, b):
    """The sample of speeds of A and of B."""
    return tuple([math.log(speed) for speed in thinned(side)] for side in (a, b))


@functools.lru_cache(maxsize=64)
def null_distribution(ranks, size):
    """How many of the choices of `size` of these ranks give each sum: a list by sum.

    One long number holds a list, a few bytes for each sum, so that lists are shifted and added at once.
    """
    width = math.comb(len(ranks), size).bit_length() // 8 + 1
    counts = [1] + [0] * size  # by how many ranks are chosen
    for rank in ranks:
        for chosen in range(size, 0, -1):
            counts[chosen] += counts[chosen - 1] << 8 * width * rank
    sums = sum(sorted(ranks)[len(ranks) - size :]) + 1
    packed = counts[size].to_bytes(width * sums, "little")
    return [int.from_bytes(packed[at : at + width], "little") for at in range(0, len(packed), width)]


def one_sided(pair, centre=0.0):
    """(p of "not below the centre", p of "not above it"): a small p means below, or above."""
    a, b = pair
    ranks = signed_rank.doubled_ranks([*a, *(value - centre for value in b)])
    of_b = sum(ranks[len(a) :])
    counts = null_distribution(tuple(sorted(ranks)), len(b))
    choices = math.comb(len(ranks), len(b))
    return sum(counts[: of_b + 1]) / choices, sum(counts[of_b:]) / choices


def two_sided(pair, centre=0.0):
    """p of "B is A, moved by the centre"."""
    return min(1.0, 2 * min(one_sided(pair, centre)))


def differences(pair):
    return sorted(b - a for a, b in itertools.product(*pair))


def estimate(pair):
    """Hodges and Lehmann's estimate."""
    return statistics.median(differences(pair))


def interval(pair, level=LEVEL):
    """(low, high, coverage), coverage at least 1 - level; None with too few measurements for that."""
    n, m = map(len, pair)
    counts = null_distribution(tuple(range(1, n + m + 1)), m)
    return signed_rank.accepted(differences(pair), counts[m * (m + 1) // 2 :], level)


def can_decide(pair, tests, level=LEVEL):
    """Whether these measurements can establish one difference among this many tests."""
    n, m = map(len, pair)
    return 2 * tests / math.comb(n + m, m) <= level


def needed(tests, level=LEVEL):
    """Measurements of each that this takes."""
    return next(n for n in itertools.count(1) if 2 * tests / math.comb(2 * n, n) <= level)
