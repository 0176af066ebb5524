# SPDX-License-Identifier: BSD-3-Clause
"""Formulas as MathML, which browsers draw by themselves: no script, no font, nothing from a network."""

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert
from sphinx.application import Sphinx


def inline(writer: Any, node: nodes.Element) -> None:
    """A formula in a line."""
    writer.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(writer: Any, node: nodes.Element) -> None:
    """A formula on a line of its own, which scrolls where it is too wide."""
    writer.body.append(f'<div class="math" style="overflow-x: auto">{convert(node.astext(), display="block")}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the renderer under the name mathml."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
