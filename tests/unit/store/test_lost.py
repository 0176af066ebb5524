# SPDX-License-Identifier: BSD-3-Clause
"""What samples lost, as kernels of today and of yesterday packed it."""

import numpy as np
import pytest

from weft.store.cells import unpack_lost

FAULT = 1 << 48


@pytest.mark.parametrize("column", ["delay", "others"])
def test_nanoseconds_are_what_was_lost_and_a_fault_may_have_taken_all(column: str) -> None:
    packed = np.array([[0, 30, 500, FAULT, 7 * FAULT + 30]])
    lost_ns, faults = unpack_lost(packed, np.full((1, 5), 100), column)
    assert lost_ns.tolist() == [[0, 30, 100, 100, 100]]
    assert faults.tolist() == [[0, 0, 0, 1, 7]]


def test_a_flag_has_no_length_and_may_have_taken_all() -> None:
    durations = np.full(3, 100)
    lost_ns, faults = unpack_lost(np.array([0, 1, FAULT]), durations, "switches")
    assert (lost_ns.tolist(), faults.tolist()) == ([0, 100, 100], [0, 0, 1])
    lost_ns, faults = unpack_lost(np.array([0, 3, 2 << 32]), durations, "taint")  # of earlier kernels
    assert (lost_ns.tolist(), faults.tolist()) == ([0, 100, 100], [0, 0, 2])
