# SPDX-License-Identifier: BSD-3-Clause
"""Ranks of several virtual hosts on too few processors are a finding, wherever the provenance says it, too."""

from typing import Any

from weft.analyse.doubts import find_crowded_hosts


def ranks(launch: str, hosts: int, each: int, cpus: str) -> Any:
    return [{"launch_id": launch, "host": f"node{host}", "cpus": cpus} for host in range(hosts) for _ in range(each)]


def test_virtual_hosts_that_share_processors_are_told_by_their_fullest_launch() -> None:
    (found,) = find_crowded_hosts([*ranks("a", 1, 2, "0-1"), *ranks("b", 2, 2, "0-1"), *ranks("c", 4, 2, "0-1")])
    assert (found["level"], found["rule"], found["where"]) == ("note", "shared-core", "2 of 3 launches")
    assert found["what"] == "8 ranks on 4 virtual hosts share 2 processors of this machine"


def test_ranks_with_processors_enough_or_unknown_are_not() -> None:
    assert find_crowded_hosts([*ranks("a", 4, 2, "0-5,8,9"), *ranks("b", 4, 2, ""), *ranks("c", 1, 4, "0")]) == []
