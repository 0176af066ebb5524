# SPDX-License-Identifier: BSD-3-Clause
"""Which suspects explain the slow pairs of a matrix of nodes: a robust decomposition on the logarithm of the time.

The model is log t(a, b) = base(class of a, b) + the effects of all culprits that touch (a, b) + a remainder. It is a
median polish (Tukey, "Exploratory data analysis", 1977, chapter 11) whose rows and columns are the suspects: of all
suspects the one whose effect (the median remainder of its pairs) takes most off the sum of absolute remainders is made
a culprit, its effect is taken off class by class, and so on until none stands out. A slow link so beats the nodes
behind it, and a slow node the links that some of its pairs cross.
"""

from collections.abc import Sequence

import numpy as np

from weft.analyse.pairs.places import Places
from weft.analyse.pairs.polish import Decomposition, Floats, Polish, deviation
from weft.analyse.pairs.suspects import Suspect

#: A culprit makes its pairs at least this much slower: below, a reader would not act on it.
LEAST_FACTOR = 1.10
#: ... at least this many standard errors of a median, of the remainders of all pairs,
LEAST_SIGMAS = 8.0
#: ... by this many standard deviations of what suspects of the same kind differ by among themselves,
LEAST_PEERS = 6.0
#: ... and so for this share of its pairs: a few very slow pairs make no slow node.
LEAST_SHARE = 0.75
#: From so many suspects of a kind on they are compared with each other.
FEWEST_PEERS = 5
MOST_CULPRITS = 12
#: The link down to one node is crossed by nearly the same pairs as the node: of two so near the node is the likelier.
NODE_FIRST = 1.1
TRIED = 10
ERROR_OF_MEDIAN = 1.2533  # the standard error of a median over that of a mean, of normal values: sqrt(pi / 2)


def decompose(times: Floats, places: Places, suspected: Sequence[Suspect]) -> Decomposition:
    """Take a matrix of nodes apart.

    Parameters
    ----------
    times
        Seconds of every two nodes, shape (nodes, nodes); nan where not measured. The diagonal is left out.
    places
        Where the nodes are.
    suspected
        Who may be slow.
    """
    fit = Polish(times, places)
    able = [suspect for suspect in suspected if fit.contrasts(suspect)]
    while len(fit.chosen) < MOST_CULPRITS:
        found = _most_telling(fit, able)
        if found is None:
            break
        fit.choose(found)
    return fit.told(LEAST_FACTOR)


def _most_telling(fit: Polish, able: Sequence[Suspect]) -> Suspect | None:
    """The suspect that explains most of what is left, if any stands out."""
    left = fit.remainder()
    middles = _middles(left, able)
    gains: list[tuple[float, int]] = []
    for index, (suspect, middle) in enumerate(zip(able, middles.tolist(), strict=True)):
        value = left[suspect.cells[fit.measured[suspect.cells]]]
        if suspect in fit.chosen or middle < np.log(LEAST_FACTOR) or (value > middle / 2).mean() < LEAST_SHARE:
            continue
        gain = float(np.abs(value).sum() - np.abs(value - middle).sum())
        gains.append((gain * (NODE_FIRST if suspect.kind == "node" else 1.0), index))
    for _, index in sorted(gains, reverse=True)[:TRIED]:
        if _stands_out(fit, left, able, index, float(middles[index])):
            return able[index]
    return None


def _middles(left: Floats, able: Sequence[Suspect]) -> Floats:
    """Median remainder of each suspect's pairs."""
    known = np.isfinite(left)
    values = (left[suspect.cells[known[suspect.cells]]] for suspect in able)
    return np.array([np.median(value) if value.size else 0.0 for value in values])


def _stands_out(fit: Polish, left: Floats, able: Sequence[Suspect], index: int, middle: float) -> bool:
    """Whether a suspect differs from the pairs that it does not touch, and from suspects of its kind."""
    suspect = able[index]
    # how much pairs and peers differ by themselves is seen once the suspect's share is taken off
    without = left.copy()
    without[suspect.cells] -= middle
    effect, pairs = fit.contrast(suspect, left)
    error = ERROR_OF_MEDIAN * deviation(without[fit.measured]) / np.sqrt(pairs)
    if effect < max(np.log(LEAST_FACTOR), LEAST_SIGMAS * error):
        return False
    peers = [other for other in able if other.kind == suspect.kind and other is not suspect]
    if len(peers) < FEWEST_PEERS:
        return True
    usual = _middles(without, peers)
    return middle - float(np.median(usual)) >= LEAST_PEERS * deviation(usual)
