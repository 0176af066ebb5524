# SPDX-License-Identifier: BSD-3-Clause
from typing import Any

from pyarrow import ChunkedArray

def and_(x: ChunkedArray, y: ChunkedArray) -> ChunkedArray: ...
def equal(x: ChunkedArray, y: Any) -> ChunkedArray: ...
