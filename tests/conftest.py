# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that several kinds of tests share lie in tests/flow: ``made_run`` makes a run folder without measuring."""

import sys
from pathlib import Path

from hypothesis import settings

# a property that takes long on a busy machine is not wrong for that; pytest-timeout ends what hangs
settings.register_profile("weft", deadline=None)
settings.load_profile("weft")
sys.path.insert(0, str(Path(__file__).parent / "flow"))
