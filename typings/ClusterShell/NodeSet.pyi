# SPDX-License-Identifier: BSD-3-Clause
from collections.abc import Iterable
from typing import Any

RESOLVER_NOGROUP: Any

class NodeSet:
    @classmethod
    def fromlist(cls, nodelist: Iterable[str], autostep: int | None = None, resolver: Any = None) -> NodeSet: ...
