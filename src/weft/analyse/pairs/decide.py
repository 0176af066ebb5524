# SPDX-License-Identifier: BSD-3-Clause
"""Which suspects explain the slow pairs of a matrix of nodes: a robust decomposition on the logarithm of the time.

The model is log t(a, b) = base(class of a, b) + what the culprits on the way there and back add + a remainder
(`weft.analyse.pairs.median_polish`). It is a median polish (Tukey, "Exploratory data analysis", 1977, chapter 11)
whose rows and columns are the suspects: of all suspects the one whose effect (the median remainder of its pairs)
takes most off the sum of absolute remainders is made a culprit, its effect is taken off class by class, and so on
until none stands out. A slow link so beats the nodes behind it, and a slow node the links that some of its pairs
cross. A round trip may meet a cable or a switch once or twice, so the effect of these is one for each case.
"""

from collections.abc import Sequence

import numpy as np

from weft.analyse.pairs.median_polish import Decomposition, Floats, Polish, deviation
from weft.analyse.pairs.places import Places
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
NODE_FIRST = 1.05
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
    left[fit.touched() > 1] = np.nan  # where two culprits meet, what is left speaks of both
    middles = _middles(left, able)
    gains: list[tuple[float, int]] = []
    for index, (suspect, middle) in enumerate(zip(able, middles.tolist(), strict=True)):
        if middle < np.log(LEAST_FACTOR) or all(part in fit.chosen for part in suspect.parts or (suspect,)):
            continue
        known = np.isfinite(left[suspect.cells])
        value, expected = left[suspect.cells][known], _expected(fit, suspect, left)[known]
        if expected.min() < np.log(LEAST_FACTOR) or (value > expected / 2).mean() < LEAST_SHARE:
            continue
        gain = float(np.abs(value).sum() - np.abs(value - expected).sum())
        gains.append((gain * (NODE_FIRST if suspect.kind == "node" else 1.0), index))
    for _, index in sorted(gains, reverse=True)[:TRIED]:
        if _stands_out(fit, left, able, index):
            return able[index]
    return None


def _expected(fit: Polish, suspect: Suspect, left: Floats) -> Floats:
    """The remainder that a suspect would explain at each of its pairs: the median of those that meet it alike."""
    value = left[suspect.cells]
    met = suspect.directions(fit.count)
    found = np.zeros(len(value))
    for case in np.unique(met):
        known = value[(met == case) & np.isfinite(value)]
        found[met == case] = np.median(known) if known.size else np.log(LEAST_FACTOR)
    return found


def _middles(left: Floats, able: Sequence[Suspect]) -> Floats:
    """Median remainder of each suspect's pairs."""
    known = np.isfinite(left)
    values = (left[suspect.cells[known[suspect.cells]]] for suspect in able)
    return np.array([np.median(value) if value.size else 0.0 for value in values])


def _stands_out(fit: Polish, left: Floats, able: Sequence[Suspect], index: int) -> bool:
    """Whether a suspect differs from the pairs that it does not touch, and from suspects of its kind."""
    suspect = able[index]
    expected = _expected(fit, suspect, left)
    middle = float(np.median(expected))
    # how much pairs and peers differ by themselves is seen once the suspect's share is taken off
    without = left.copy()
    without[suspect.cells] -= expected
    effect, pairs = fit.contrast(suspect, left)
    error = ERROR_OF_MEDIAN * deviation(without[np.isfinite(without)]) / np.sqrt(pairs)
    if effect < max(np.log(LEAST_FACTOR), LEAST_SIGMAS * error):
        return False
    peers = [other for other in able if other.kind == suspect.kind and other is not suspect]
    if len(peers) < FEWEST_PEERS:
        return True
    usual = _middles(without, peers)
    return middle - float(np.median(usual)) >= LEAST_PEERS * deviation(usual)
