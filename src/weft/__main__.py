# SPDX-License-Identifier: BSD-3-Clause
"""``python -m weft``."""

import sys

from weft.cli.app import main

sys.exit(main())
