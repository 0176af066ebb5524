# SPDX-License-Identifier: BSD-3-Clause
"""The text of a study that fake ranks measure in no time."""


def quick_study(name: str, ranks_per_node: int | list[int]) -> str:
    """One launch on one node: a cell for each number of ranks."""
    return f"""
name = "{name}"
kernel = "exchange"
[measure]
launches = 1
seed = 5
[[series]]
name = "s"
scaling = "none"
nodes = 1
ranks_per_node = {ranks_per_node}
n = 400
m = 4
"""
