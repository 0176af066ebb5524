# SPDX-License-Identifier: BSD-3-Clause
"""Rate limits of virtual links: token buckets and their burst, measured on two cores with Open MPI and MPICH."""

MTU = 9000
"""Jumbo frames, as on clusters: headers are 0.7 % of the bytes counted, not 4.5 %, and fewer packets cost less CPU."""

FRAME = MTU + 14

BURST_S = 0.0005  # burst in seconds at the link's rate: as short as timers on a busy machine allow

BURST_LEAST = 2 * FRAME
BURST_MOST = 1 << 18


def burst(rate: float) -> int:
    """Size of a bucket in bytes, for a rate in bytes per second."""
    return int(min(max(rate * BURST_S, BURST_LEAST), BURST_MOST))


def link_seconds(size: float, rate: float, *, shaped: bool) -> float:
    """Least time in which a link transmits a number of bytes.

    A full bucket, as before every sample, passes its content at memory speed; only the remaining bytes take the
    link's rate. `size`: bytes. `rate`: bytes per second. `shaped`: whether a token bucket limits the link; on real
    and simulated links every byte takes the rate. Returns seconds.
    """
    return max(0.0, size - burst(rate)) / rate if shaped else size / rate
