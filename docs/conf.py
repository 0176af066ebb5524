# SPDX-License-Identifier: BSD-3-Clause
"""Sphinx: MyST pages, furo."""

project = "Weft"
author = "The Weft authors"
copyright = "2026, The Weft authors"
extensions = ["myst_parser", "sphinx.ext.mathjax"]
myst_enable_extensions = ["dollarmath", "amsmath", "deflist"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "Weft"
exclude_patterns = ["_build"]
