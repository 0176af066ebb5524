# SPDX-License-Identifier: BSD-3-Clause
"""Calls of another tool's trace that Weft's have no record of, in words: those that move nothing are not worth one."""

from collections import Counter
from collections.abc import Iterable, Mapping

QUIET = (
    "Abort", "Address", "Aint_", "Alloc_mem", "Attr_", "Buffer_", "Cart_coords", "Cart_get", "Cart_rank", "Cart_shift",
    "Cartdim", "Comm_compare", "Comm_get", "Comm_group", "Comm_rank", "Comm_remote", "Comm_set", "Comm_size",
    "Comm_test", "Dims_create", "Errhandler", "Error_", "Finalize", "Free_mem", "Get_", "Graph_get", "Graphdims",
    "Group_", "Info_", "Init", "Is_thread", "Keyval", "Op_", "Pack", "Pcontrol", "Query_thread", "Status_",
    "Test_cancelled", "Topo_test", "Type_", "Unpack", "Wtick", "Wtime",
)  # fmt: skip
MOST_NAMES = 5


def left_out_line(each: Iterable[Mapping[str, int]]) -> list[str]:
    """A line that names the most frequent calls without a record; none where all of them move nothing."""
    total: Counter[str] = Counter()
    for own in each:
        total.update({name: number for name, number in own.items() if not name.startswith(_NAMES)})
    if not total:
        return []
    some = ", ".join(f"{name} ({number:,})" for name, number in total.most_common(MOST_NAMES))
    return [f"calls that Weft's traces do not have: {some}{' ...' if len(total) > MOST_NAMES else ''}"]


_NAMES = tuple(f"MPI_{name}" for name in QUIET)
