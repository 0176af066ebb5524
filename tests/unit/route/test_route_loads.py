# SPDX-License-Identifier: BSD-3-Clause
"""Loads of patterns: known by hand on small trees, equal to walking every message on random networks."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made.routes import library, network_of_cables, random_networks, routes, tree, walked_loads
from weft.errors import FabricError
from weft.fabric.loads import all_to_all_loads
from weft.fabric.network import minimal
from weft.fabric.network.graph import Network
from weft.files.shipped import LENT
from weft.route import library as native
from weft.route.compare import Routed, compare, effective_bisection, engine_rows
from weft.route.library import loads_of, minimal_tables
from weft.route.routes import Routes, all_to_all, flow_loads, phases, placed_matrix
from weft.route.show import as_tree


def link(network: Network, source: str, target: str) -> list[int]:
    """Links between two boxes, in the order of their ports."""
    name = network.vertex_name
    ends = [(name(int(a)), name(int(b))) for a, b in zip(network.links.source, network.links.target, strict=True)]
    return [i for i, pair in enumerate(ends) if pair == (source, target)]


def test_loads_of_a_small_tree_known_by_hand() -> None:
    """Two leaves of two hosts, one spine, one cable each: 2 x 2 messages go up from each leaf."""
    network = tree(4, nodes_per_leaf=2, uplinks=1)
    loads = all_to_all(routes(network))
    assert loads.lost == 0
    for source, target in (("leaf0", "spine0"), ("leaf1", "spine0"), ("spine0", "leaf0"), ("spine0", "leaf1")):
        assert loads.load[link(network, source, target)].tolist() == [4]
    for host in network.hosts:
        assert loads.load[network.uplink[network.host(host)]] == 3
    found = phases(routes(network))
    # phase 1: 1->2 and 3->0 cross the spine, once up from each leaf; phase 2: all four cross; phase 3: as phase 1
    assert found.time.tolist() == [1, 2, 1]
    assert found.link[1] in link(network, "leaf0", "spine0") + link(network, "leaf1", "spine0") + link(
        network, "spine0", "leaf0"
    ) + link(network, "spine0", "leaf1")


def test_exchange_phases_known_by_hand() -> None:
    """R xor 1 stays on the leaf; r xor 2 and r xor 3 cross, two flows a cable."""
    assert phases(routes(tree(4, 2, 1)), "exchange").time.tolist() == [1, 2, 2]
    # of six ranks, 4 xor 2 = 6 is nobody; 0 xor 4 = 4
    six = phases(routes(tree(6, 6, 1)), "exchange")
    assert len(six.time) == 7
    assert six.load.sum() == 2 * 30


def test_ranks_share_the_link_of_their_host_and_reach_each_other_without_it() -> None:
    network = tree(4, 2, 1)
    ranks = np.repeat(np.arange(2, dtype=np.int32), 2)  # two ranks on each of two hosts of one leaf
    loads = all_to_all(routes(network), ranks)
    assert loads.load[network.uplink].tolist() == [4, 4, 0, 0]
    assert phases(routes(network), ranks=ranks).time.tolist() == [1, 2, 1]


def test_a_slow_cable_takes_longer() -> None:
    network = tree(4, 2, 1, link_rate=0.2e9)  # 4xDDR among 4xEDR is 6.25 times slower; here five times
    assert phases(routes(network)).time.tolist() == [5, 10, 5]


@settings(max_examples=120, deadline=None)
@given(random_networks(), st.integers(1, 3))
def test_loads_are_those_of_every_message_walked_alone(network: Network, threads: int) -> None:
    count = len(network.hosts)
    pairs = [(a, b) for a in range(count) for b in range(count) if a != b]
    found = all_to_all(routes(network, threads))
    want = walked_loads(network, pairs)
    assert found.lost == 0
    assert found.load.tolist() == want.tolist()
    assert found.load.tolist() == all_to_all_loads(network).tolist()


@settings(max_examples=120, deadline=None)
@given(random_networks(), st.integers(1, 3), st.data())
def test_the_sum_over_shift_phases_is_the_all_to_all_exactly(
    network: Network, threads: int, data: st.DataObject
) -> None:
    """Conservation, on any network, any placement and any number of ranks a host."""
    hosts = st.integers(0, len(network.hosts) - 1)
    ranks = np.array(data.draw(st.lists(hosts, min_size=1, max_size=20)), dtype=np.int32)
    found = routes(network, threads)
    assert phases(found, ranks=ranks).load.tolist() == all_to_all(found, ranks).load.tolist()
    # every unit enters the network once and leaves it once
    load = all_to_all(found, ranks).load
    assert load[network.uplink].sum() == load[network.uplink ^ 1].sum()


@settings(max_examples=60, deadline=None)
@given(random_networks(), st.integers(1, 3), st.data())
def test_messages_agree_with_walking(network: Network, threads: int, data: st.DataObject) -> None:
    count = len(network.hosts)
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    amounts = random.integers(0, 5, (count, count)).astype(float)
    source, target = (column.ravel().astype(np.int32) for column in np.indices((count, count)))
    found = routes(network, threads)
    want = sum(
        (amounts[a, b] * walked_loads(network, [(a, b)]) for a in range(count) for b in range(count) if a != b),
        np.zeros(len(network.links)),
    )
    assert flow_loads(found, source, target, amounts.ravel()).tolist() == want.tolist()


def test_traffic_without_a_route_is_counted_and_the_rest_is_loaded() -> None:
    network = tree(4, 2, 1)
    forward = network.forward.copy()
    forward[0, 3] = -1
    broken = network.with_tables(forward, "broken")
    found = all_to_all(routes(broken))
    assert found.lost == 2
    whole = all_to_all(routes(network)).load
    assert whole.sum() - found.load.sum() == 6  # two messages, up, down and to the host
    assert phases(routes(broken)).lost == 2
    with pytest.raises(FabricError, match="no route"):
        flow_loads(routes(broken), np.array([0], dtype=np.int32), np.array([3], dtype=np.int32))


def test_a_circle_loses_what_enters_it() -> None:
    network = network_of_cables(3, 3, [(0, 3), (1, 4), (2, 5), (3, 4), (4, 5), (5, 3)])
    forward = network.forward.copy()
    forward[1, 2] = link(network, "s1", "s0")[0]
    forward[0, 2] = link(network, "s0", "s1")[0]
    found = routes(network.with_tables(forward, "circle"))
    assert all_to_all(found).lost == 2
    assert sorted(found.lengths[:, 2].tolist()) == [-2, -2, 0]


def test_a_perfect_crossbar_has_full_effective_bisection_bandwidth() -> None:
    found = effective_bisection(routes(tree(16, 16, 1)), samples=50)
    assert (found.share, found.low, found.high) == (1.0, 1.0, 1.0)


def test_effective_bisection_of_one_shared_cable_known_by_hand() -> None:
    """Of two hosts on either side of one cable all flows that cross share it: the mean over the three splits."""
    # Two leaves of two hosts, one cable up. A split pairs A = {a, b} with {c, d}. Both of A on one leaf: 2 flows cross
    # each way over the cable, share 1/2. One on each leaf: with probability 1/2 both flows stay on their leaves (share
    # 1), else both cross, one in each direction (share 1). Splits with A on one leaf: 2 of 6.
    found = effective_bisection(routes(tree(4, 2, 1)), samples=20_000)
    assert found.share == pytest.approx(2 / 6 * 1 / 2 + 4 / 6 * 1, abs=0.01)
    assert found.low < found.share < found.high


def test_a_share_is_of_the_rate_of_the_flows_own_hosts() -> None:
    """A crossbar with fast and slow adapters is full for every flow, whatever the slowest one is."""
    network = tree(8, 8, 1)
    rate = network.links.rate.copy()
    rate[network.uplink[:4]] = rate[network.uplink[:4] ^ 1] = 4e9
    mixed = replace(network, links=replace(network.links, rate=rate))
    assert effective_bisection(routes(mixed), samples=50).share == 1


def test_splits_depend_on_the_seed_and_not_on_the_threads() -> None:
    network = tree(64, 8, 4)
    one, two = (effective_bisection(routes(network, threads), samples=64) for threads in (1, 3))
    assert one.each.tolist() == two.each.tolist()
    assert one.each.tolist() != effective_bisection(routes(network), samples=64, seed=1).each.tolist()


def test_the_interval_covers_the_mean_of_many_splits_as_often_as_it_says() -> None:
    network = tree(32, 8, 4)
    whole = effective_bisection(routes(network), samples=20_000, seed=5).share
    found = [effective_bisection(routes(network), samples=100, seed=seed) for seed in range(100, 300)]
    assert 180 <= sum(each.low <= whole <= each.high for each in found) <= 199


def test_a_host_without_a_cable_takes_no_part() -> None:
    network = network_of_cables(3, 1, [(0, 3), (1, 3)])
    found = Routes(network, library(), 1)
    assert all_to_all(found).load.sum() == 4
    assert effective_bisection(found, samples=5).share == 1


def test_a_matrix_is_held_against_the_busiest_hosts_own_link() -> None:
    """Two leaves of four hosts, one cable up: host 0 sends 3 and host 1 sends 1 across, host 2 sends 5 to host 3."""
    network = tree(8, nodes_per_leaf=4, uplinks=1)
    amounts = np.zeros((8, 8))
    amounts[0, 4], amounts[1, 5] = 3, 3
    load = placed_matrix(routes(network), amounts)
    assert load[link(network, "leaf0", "spine0")].tolist() == [6]
    assert load[link(network, "leaf1", "spine0")].tolist() == [0]
    (engine,) = compare([Routed("here", network)], library(), pattern="matrix", matrix=amounts).engines
    assert engine.value == 2  # six units up where the busiest host sends three
    assert [full.load for full in engine.fullest] == [6, 6]
    amounts[2, 3] = 6
    (engine,) = compare([Routed("here", network)], library(), pattern="matrix", matrix=amounts).engines
    assert engine.value == 1


@settings(max_examples=30, deadline=None)
@given(random_networks(minimal=True), st.integers(1, 3))
def test_a_matrix_of_ones_is_an_all_to_all_with_any_ranks_a_host(network: Network, per_host: int) -> None:
    ranks = np.repeat(np.arange(len(network.hosts), dtype=np.int32), per_host)
    ones = np.ones((len(ranks), len(ranks)))
    assert placed_matrix(routes(network), ones, ranks).tolist() == all_to_all(routes(network), ranks).load.tolist()


def test_a_matrix_of_other_ranks_is_refused() -> None:
    with pytest.raises(FabricError, match=r"4 x 4 ranks for 8 ranks"):
        placed_matrix(routes(tree(8, 4, 4)), np.ones((4, 4)))


@settings(max_examples=60, deadline=None)
@given(random_networks(minimal=True), st.integers(0, 2**32))
def test_native_minimal_tables_are_those_of_numpy(network: Network, seed: int) -> None:
    """Rates differ from cable to cable; links of one rate make ties, which the lowest port wins in both."""
    rate = np.random.default_rng(seed).choice([1e9, 2e9, 4e9], len(network.links))
    graph = (len(network.hosts), len(network.switches), replace(network.links, rate=rate))
    np.testing.assert_array_equal(minimal_tables(library(), *graph), minimal.minimal_tables(*graph))


def test_large_dumps_take_what_the_command_lends_and_do_without(monkeypatch: pytest.MonkeyPatch) -> None:
    network = tree(minimal.LARGE, nodes_per_leaf=50, uplinks=2)
    graph = (minimal.LARGE, len(network.switches), network.links)
    own = minimal.minimal_tables(*graph)
    asked: list[int] = []

    def lent(*given: Any) -> Any:
        asked.append(given[0])
        return minimal_tables(library(), *given) if len(asked) > 1 else None  # first as without a compiler

    monkeypatch.setitem(LENT, minimal.NATIVE, lent)
    for _ in range(2):
        np.testing.assert_array_equal(minimal.minimal_tables(*graph), own)
    assert asked == [minimal.LARGE] * 2


def test_large_tables_are_kept_and_damaged_ones_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a graph with the same cables and rates gets them; the oldest file makes room."""
    monkeypatch.setattr(native, "cache", lambda: tmp_path)
    monkeypatch.setattr(native, "FEWEST_KEPT", 1000)
    network = tree(96, 12, 12)
    graph = (len(network.hosts), len(network.switches), network.links)
    own = minimal.minimal_tables(*graph)
    np.testing.assert_array_equal(minimal_tables(library(), *graph), own)
    (kept,) = (tmp_path / "tables").iterdir()

    class Absent:
        path = library().path

        def call(self, *_: object) -> None:
            raise AssertionError("computed again")

    np.testing.assert_array_equal(minimal_tables(Absent(), *graph), own)  # pyright: ignore[reportArgumentType]
    faster = replace(network.links, rate=network.links.rate * np.where(np.arange(len(network.links)) < 40, 2, 1))
    with pytest.raises(AssertionError, match="computed again"):
        minimal_tables(Absent(), *graph[:2], faster)  # pyright: ignore[reportArgumentType]
    for damaged in (kept.read_bytes()[:-9], b"", kept.read_bytes().replace(b"\x01", b"\xff")):
        kept.write_bytes(damaged)
        np.testing.assert_array_equal(minimal_tables(library(), *graph), own)
    monkeypatch.setattr(native, "MOST_KEPT_BYTES", 4 * kept.stat().st_size)
    os.utime(kept, (1, 1))
    for factor in (2, 3, 4, 5):
        minimal_tables(library(), *graph[:2], replace(network.links, rate=network.links.rate * factor))
    assert not kept.exists()
    assert len(list((tmp_path / "tables").iterdir())) == 4


@settings(max_examples=40, deadline=None)
@given(random_networks(), st.integers(0, 2**32))
def test_lent_loads_are_those_of_numpy_and_none_where_a_route_is_missing(network: Network, seed: int) -> None:
    weight = np.random.default_rng(seed).integers(0, 4, len(network.hosts))
    np.testing.assert_array_equal(loads_of(library(), network, weight), all_to_all_loads(network, weight))
    if network.switch_links.any() and (weight > 0).sum() > 1:
        lost = network.with_tables(np.full_like(network.forward, -1), "none")
        assert loads_of(library(), lost, weight) is None


def test_of_a_long_schedule_some_phases_are_drawn_and_the_error_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """All 48,777 phases of 48,778 hosts took 60 CPU-s, and the links of all routes 1.3 GB."""
    network = tree(60, 5, 2, link_rate=0.7e9)
    found = routes(network)
    for schedule in ("shift", "exchange"):
        every = phases(found, schedule)
        assert (every.drawn, every.half, every.of) == ("", 0, len(every.time))
        monkeypatch.setattr("weft.route.routes.MOST_FOLLOWED", 100)
        monkeypatch.setattr("weft.route.routes.DRAWN", 60)
        monkeypatch.setattr("weft.route.routes.FEWEST", 20)
        some, again = phases(found, schedule), phases(found, schedule)
        monkeypatch.undo()
        assert (some.drawn, len(some.time), len(some.link)) == (f"20 of {every.of} phases", 20, 20)
        assert some.time.tolist() == again.time.tolist()  # tables are compared by the same phases
        left = every.time.tolist()
        for time in some.time.tolist():
            left.remove(time)  # each phase is one of all, none twice
        assert 0 < some.half < every.time.std()
        assert some.mean == pytest.approx(every.mean, abs=2 * some.half)


def test_a_comparison_by_drawn_phases_says_their_number_and_loads_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    network = tree(60, 5, 2, link_rate=0.7e9)
    given = [Routed("present", network)]
    monkeypatch.setattr("weft.route.routes.MOST_FOLLOWED", 100)
    monkeypatch.setattr("weft.route.routes.DRAWN", 60)
    monkeypatch.setattr("weft.route.routes.FEWEST", 20)
    found = compare(given, library(), pattern="shift")
    some = found.engines[0]
    assert some.fullest
    for full in some.fullest:
        time = full.load / 59 * some.routes.slowness[full.link]
        assert (full.load, full.time) == (int(some.score.load[full.link]), pytest.approx(time))
    assert "20 of 59 phases" in engine_rows(found).title
    assert f"{some.value:.3f} ± {some.score.phases.half:.3f}" in engine_rows(found).rows[0]
    shift = as_tree(found)["engines"][0]["shift"]
    assert (shift["phases"], shift["of"], shift["half_interval"]) == (20, 59, some.score.phases.half)


@settings(max_examples=60, deadline=None)
@given(random_networks())
def test_followed_routes_are_those_walked_host_by_host(network: Network) -> None:
    found = routes(network)
    for row, leaf in enumerate(found.leaves.tolist()):
        own = int(np.flatnonzero(network.leaf == leaf)[0])
        for host in range(len(network.hosts)):
            way = [] if host == own else list(network.route(own, host)[1:-1])
            assert [
                i for i in found.between(np.array([row]), np.array([host]))[0].tolist() if i < len(network.links)
            ] == way


def test_a_large_fabric_gets_fewer_random_halves_that_begin_as_all_do(monkeypatch: pytest.MonkeyPatch) -> None:
    found = routes(tree(60, 5, 2))
    every = effective_bisection(found, samples=50)
    monkeypatch.setattr("weft.route.compare.FEWEST", 20)
    monkeypatch.setattr("weft.route.compare.DRAWN", 60 * 30)
    some = effective_bisection(found, samples=50)
    assert some.each.tolist() == every.each[:30].tolist()
    assert some.high - some.low > every.high - every.low


@settings(max_examples=40, deadline=None)
@given(random_networks(), st.integers(1, 3))
def test_messages_followed_through_the_tables_load_what_kept_routes_do(network: Network, threads: int) -> None:
    kept, followed = routes(network, threads), routes(network, threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("weft.route.routes.MOST_KEPT", -1)
        assert followed.kept is None
    assert kept.kept is not None
    for schedule in ("shift", "exchange"):
        one, other = phases(kept, schedule), phases(followed, schedule)
        assert (one.time.tolist(), one.load.tolist()) == (other.time.tolist(), other.load.tolist())
        assert one.link.tolist() == other.link.tolist()
    splits = (effective_bisection(each, samples=9).each.tolist() for each in (kept, followed))
    assert next(splits) == next(splits)
