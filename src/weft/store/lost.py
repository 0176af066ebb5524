# SPDX-License-Identifier: BSD-3-Clause
"""What samples lost to others (METHOD 11), from the third number of their rows (native/measure/sample/recorder.hpp).

Its low 48 bits are ns, or context switches where the kernel of the host says no more; the bits above are major page
faults. In records of earlier kernels (``taint``) the low 32 bits are switches.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Longs = NDArray[np.int64]


def unpack_lost(packed: NDArray[np.int64], duration_ns: NDArray[np.int64], column: str) -> tuple[Longs, Longs]:
    """The most that each sample can have lost, in ns, and its major page faults.

    A fault waits for a disk for nobody knows how long, and a switch has no length either: then that is all of the
    sample.

    Parameters
    ----------
    packed
        The third number of each row, int64 of any shape.
    duration_ns
        The durations, of the same shape.
    """
    bits = 32 if column == "taint" else 48
    lost_ns: Any = packed & ((1 << bits) - 1)
    faults: Any = packed >> bits
    unknown = faults > 0
    if column in ("taint", "switches"):
        unknown |= lost_ns > 0
    return np.where(unknown, duration_ns, np.minimum(lost_ns, duration_ns)), faults
