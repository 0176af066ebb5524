# SPDX-License-Identifier: BSD-3-Clause
"""Helpers that several kinds of tests share lie in tests/flow: ``made_run`` makes a run folder without measuring."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "flow"))
