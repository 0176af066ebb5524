# SPDX-License-Identifier: BSD-3-Clause
"""The store: cells as the kernels wrote them, and the Parquet files that analysis reads."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Container

    from weft.store.cells import CellData, Origin


def read_cell(
    folder: Any, cell: str, launch: int, *, checksums: bool = True, origin: "Origin | None" = None
) -> "CellData":
    """Read and verify one finished cell; see `weft.store.cells.read_cell`."""
    from weft.store import cells

    return cells.read_cell(folder, cell, launch, checksums=checksums, origin=origin)


def convert(folder: Any, origin: "Origin | None" = None, *, whole: "Container[str] | None" = None) -> None:
    """Bring the Parquet files of a run up to date; see `weft.store.parquet.convert`."""
    from weft.store import parquet

    parquet.convert(folder, origin, whole=whole)
