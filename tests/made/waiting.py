# SPDX-License-Identifier: BSD-3-Clause
"""Waits for what another process or thread does; a busy host may take long for it."""

import time
from collections.abc import Callable


def wait_until(true: Callable[[], bool]) -> None:
    """Return once it is true; AssertionError after 60 s."""
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.005)
