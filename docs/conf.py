# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx: MyST pages, furo; reference pages written from the program, formulas as MathML, dead links refused."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # the extensions beside this file

import reference

reference.write()

project = "Weft"
author = "The Weft authors"
copyright = "2026, The Weft authors"
extensions = ["myst_parser", "mathml", "links"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "Weft"
exclude_patterns = ["_build"]
