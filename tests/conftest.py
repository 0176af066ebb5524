# SPDX-License-Identifier: BSD-3-Clause
"""What all tests share."""

import os
import signal

from altair.utils import schemapi
from hypothesis import settings

import weft.report.figures.theme  # noqa: F401  # it turns the check off
from compiled import FAULTS, shared
from remembered import remember_sql
from weft.files.shipped import cache

# a property that takes long on a busy machine is not wrong for that; pytest-timeout ends what hangs. The same examples
# each time: what random ones find is found by bench/fuzz.py, not by whoever runs the tests next
settings.register_profile("weft", deadline=None, derandomize=True)
settings.load_profile("weft")
schemapi.enable_debug_mode()  # here each chart is held against Vega-Lite's schema
# what a test starts takes SIGINT as in a terminal, also where a shell that put the tests into the background ignores it
signal.signal(signal.SIGINT, signal.default_int_handler)
# kernels of tests plant faults, as those of native tests do: the same objects. `shipped` builds what users have
os.environ |= shared(cache()) | FAULTS
remember_sql()
