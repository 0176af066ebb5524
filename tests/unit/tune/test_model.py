# SPDX-License-Identifier: BSD-3-Clause
"""The cost model: what must win where, for the reason that it states."""

import math

import pytest

from weft.errors import FabricError
from weft.fabric import Fabric
from weft.tune.model import Machine
from weft.tune.study import candidates, ordered

MACHINE = Machine(gap_s=0.2e-6, latency_s=1.2e-6, rate=3.5e9, copy_rate=20e9, step_s=0.1e-6)


def test_a_flat_exchange_pays_a_gap_for_each_message_that_leaves_the_node() -> None:
    assert MACHINE.seconds("flat.pairwise", 8, 8, 0) == pytest.approx(8 * 56 * 0.2e-6 + 1.2e-6)
    assert MACHINE.seconds("flat.window{w=8}", 8, 8, 3500) == pytest.approx(8 * 56 * 1.2e-6 + 1.2e-6)


def test_one_message_a_pair_of_nodes_pays_in_copies_what_it_saves_in_gaps() -> None:
    """Without a gap there is nothing to save, and with large blocks the copies cost more than the gaps."""
    free = Machine(0.0, 1.2e-6, 3.5e9, 20e9, 0.1e-6)
    for m in (512, 65536):
        assert free.seconds("node.multi{nl=8,stages=1}", 18, 8, m) > free.seconds("flat.pairwise", 18, 8, m)
    assert MACHINE.seconds("node.multi{nl=8}", 18, 8, 64) < MACHINE.seconds("flat.pairwise", 18, 8, 64) / 4
    assert MACHINE.seconds("node.multi{nl=8,stages=1}", 18, 8, 65536) > MACHINE.seconds("flat.pairwise", 18, 8, 65536)


def test_small_even_blocks_of_an_order_by_the_matrix_are_left_to_messages_between_nodes() -> None:
    for ranks, m, same in ((8, 512, "node.multi"), (8, 8192, "flat.window{w=8}"), (1, 512, "flat.window{w=8}")):
        assert MACHINE.seconds("sched.matrix", 8, ranks, m) == MACHINE.seconds(same, 8, ranks, m)


def test_stages_hide_all_copies_but_one_message_at_each_end() -> None:
    """7 streams cut for 12 stages are 14 messages of 2 MiB at 64 KiB a pair; below 16 KiB a stream stays whole."""
    sent = 14 * 0.2e-6 + 7 * 64 * 65536 / 3.5e9
    ends = 2 * 8 * 64 * 65536 / 20e9 / 14
    step = 0.1e-6 * 3
    assert MACHINE.seconds("node.multi{nl=1}", 8, 8, 65536) == pytest.approx(1.2e-6 + sent + ends + 14 * step)
    assert MACHINE.seconds("node.multi{nl=1,stages=64}", 8, 8, 8) == MACHINE.seconds(
        "node.multi{nl=1,stages=1}", 8, 8, 8
    )
    slow = Machine(0.2e-6, 1.2e-6, 3.5e9, 1e9, 0.1e-6)
    assert slow.seconds("node.multi{nl=1}", 8, 8, 65536) > 2 * 8 * 64 * 65536 / 1e9, "copies then rule"


def test_direct_lies_between_them() -> None:
    names = ("node.multi{nl=8,stages=1}", "node.direct{w=64}", "flat.pairwise")
    fastest = [min(names, key=lambda name: MACHINE.seconds(name, 18, 8, m)) for m in (8, 512, 65536)]
    assert fastest == list(names)


def test_rounds_are_counted_by_whole_numbers() -> None:
    """(int)(log(125) / log(5)) is 2 in floating point, and there are 3 rounds."""
    no_copies = Machine(0.0, 1.0, 1e30, 1e30, 0.0)
    assert round(no_copies.seconds("bruck{r=5}", 125, 1, 1)) == 3
    assert round(no_copies.seconds("bruck{r=2}", 8, 1, 1)) == 3
    assert round(no_copies.seconds("bruck{r=2}", 9, 1, 1)) == 4


def test_an_unknown_algorithm_is_expected_to_lose() -> None:
    assert math.isinf(MACHINE.seconds("sched{file=x}", 8, 8, 8))


def fabric(**network: str) -> Fabric:
    tree = {"topology": "star", "latency": "1 us", "adapter_rate": "1 GB/s", **network}
    node = {"names": "n[1-18]", "cores": 8, "memory": "4 GiB", "copy_rate": "20 GB/s"}
    return Fabric.model_validate({"name": "f", "kind": "slurm", "node": node, "network": tree})


def test_the_search_begins_with_the_predicted_winner() -> None:
    assert ordered(fabric(message_gap="1 us"), 18, 8, 64)[0].startswith("node.multi")
    assert ordered(fabric(), 18, 8, 65536)[0].startswith("flat")
    assert not any("node" in name for name in candidates(1)), "one rank a node has nothing to gather"


def test_a_fabric_without_a_rate_is_told_what_is_missing() -> None:
    bare = fabric().model_copy(update={"network": None})
    with pytest.raises(FabricError, match="adapter_rate"):
        Machine.of(bare)
    assert ordered(bare, 18, 8, 64) == candidates(8), "it is measured in any order"


def test_no_algorithm_beats_the_least_time() -> None:
    """Whatever it gathers or forwards, and where a message costs more than the bytes of a pair of nodes."""
    for nodes in (2, 3, 8, 36, 128):
        for ranks in (1, 4, 8, 96):
            for m in (0, 1, 8, 512, 65536):
                for each in candidates(ranks):
                    free = Machine(MACHINE.gap_s, MACHINE.latency_s, MACHINE.rate, math.inf, 0.0)
                    least = free.least_seconds(nodes, ranks, m) - MACHINE.gap_s  # the model waits for the last gap
                    assert free.seconds(each, nodes, ranks, m) > least, (each, nodes, ranks, m)


def test_no_number_of_nodes_saves_59_percent_of_half_a_kib_a_pair() -> None:
    """8 ranks a node, 3.5 GB/s, g = 0.2 us: at most g (1 - 1/P^2) / (g + m / B) = 56.9 %; with g = 0.22 us it could."""

    def saved(machine: Machine, nodes: int) -> float:
        return 1 - machine.least_seconds(nodes, 8, 512) / machine.seconds("flat.pairwise", nodes, 8, 512)

    assert all(saved(MACHINE, nodes) < 0.569 for nodes in (8, 18, 36, 128, 4096))
    assert saved(MACHINE, 4096) > 0.568
    assert saved(Machine(0.22e-6, 1.2e-6, 3.5e9, 20e9, 0.1e-6), 4096) > 0.59


@pytest.mark.parametrize(
    ("algorithm", "messages"),
    [
        ("flat.window{w=8}", 8), ("flat.pairwise", 11), ("bruck{r=2}", 4), ("bruck{r=8}", 8), ("node.bruck{r=2}", 2),
        ("node.direct{w=64}", 2), ("node.multi{nl=1,stages=1}", 2), ("node.multi{nl=4,stages=1}", 1),
    ],
)  # fmt: skip
def test_a_rank_spends_its_overhead_on_each_of_its_messages(algorithm: str, messages: int) -> None:
    """One overhead was charged, whatever the number of messages: 166 us for what took 1.3 ms."""
    free, costly = (Machine(0.0, 0.0, math.inf, math.inf, 0.0, overhead) for overhead in (0.0, 165e-6))
    assert free.seconds(algorithm, 3, 4, 8) == 0.0
    assert costly.seconds(algorithm, 3, 4, 8) == pytest.approx(messages * 165e-6)
