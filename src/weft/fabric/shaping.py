# SPDX-License-Identifier: BSD-3-Clause
"""How the links of a virtual fabric are limited: token buckets, and what one lets pass at once.

Numbers here were measured on two cores with Open MPI and MPICH; each constant says what goes wrong without it.
"""

MTU = 9000
"""Jumbo frames, as clusters use: headers are 0.7 % of the bytes counted, not 4.5 %, and fewer packets cost less CPU."""

FRAME = MTU + 14

BURST_S = 0.0005
"""Seconds of the rate that may pass at once: as short as timers on a busy machine allow."""

BURST_LEAST = 2 * FRAME
BURST_MOST = 1 << 18


def burst(rate: float) -> int:
    """Bytes that may pass a link at once, for a rate in bytes per second."""
    return int(min(max(rate * BURST_S, BURST_LEAST), BURST_MOST))


def link_seconds(size: float, rate: float, *, shaped: bool) -> float:
    """Least time in which a link of a fabric passes some bytes.

    A bucket that had time to fill, as before every sample, lets its content pass at the speed of memory: only the rest
    waits for the link's rate.

    Parameters
    ----------
    size
        Bytes.
    rate
        Bytes per second.
    shaped
        Whether the link is limited by a bucket; real and simulated ones carry every byte in time.

    Returns
    -------
    float
        Seconds.
    """
    return max(0.0, size - burst(rate)) / rate if shaped else size / rate
