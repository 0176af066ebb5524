# SPDX-License-Identifier: BSD-3-Clause
"""A fabric whose node is this host."""

from weft.fabric import Fabric, load_fabric
from weft.fabric.model import complete, memory_limit
from weft.host import Host, Limit

GIB = 2**30
HOST = Host("here", 2, 23 * GIB, (Limit(20 * GIB, "MemAvailable"), Limit(22 * GIB, "cgroup limit")))


def test_a_local_fabric_is_completed_from_the_host() -> None:
    fabric = complete(load_fabric("local"), HOST)
    assert (fabric.hosts, fabric.node.cores, fabric.node.memory) == (("here",), 2, 23 * GIB)


def test_what_a_local_fabric_states_is_kept() -> None:
    stated = Fabric.model_validate({"name": "l", "kind": "local", "node": {"cores": 1}})
    assert complete(stated, HOST).node.cores == 1


def test_the_smallest_limit_binds_and_says_which_it_is() -> None:
    assert memory_limit(load_fabric("local"), HOST) == Limit(20 * GIB, "MemAvailable")
    small = Fabric.model_validate({"name": "l", "kind": "local", "node": {"memory": "1 GiB"}})
    assert memory_limit(small, HOST) == Limit(GIB, "node.memory")


def test_this_hosts_memory_does_not_limit_another_machine() -> None:
    assert memory_limit(load_fabric("tara"), HOST) == Limit(24 * GIB, "node.memory")
