# SPDX-License-Identifier: BSD-3-Clause
"""Failures of single cables: against all-to-alls on the repaired tables, distances and parts of the broken network."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made.routes import network_of_cables, random_networks, routes, tree
from weft.cli.app import main
from weft.fabric.network.graph import Network, islands
from weft.fabric.network.minimal import FAR, distances, distances_between, ports_by_switch
from weft.route.given import Failure, fail_each, without
from weft.route.routes import all_to_all


def broken(network: Network, cable: int) -> np.ndarray:
    gone = np.zeros(len(network.links), dtype=bool)
    gone[cable : cable + 2] = True
    return gone


def repaired(network: Network, cable: int) -> tuple[Failure, Network]:
    """The failure of one cable, and the network with the tables that stand behind its numbers."""
    forward = np.array(network.forward, dtype=np.int32, order="C")
    found = fail_each(routes(network, 1), forward, np.array([cable], dtype=np.int32))
    return found.each[0], network.with_tables(forward, "repaired")


def separated(network: Network, cable: int) -> int:
    """Ordered pairs of hosts that no path joins without a cable."""
    gone = broken(network, cable)
    part = islands(len(network.hosts) + len(network.switches), network.links.source[~gone], network.links.target[~gone])
    sizes = np.unique(part[: len(network.hosts)], return_counts=True)[1]
    return int(len(network.hosts) ** 2 - (sizes**2).sum())


@settings(max_examples=60, deadline=None)
@given(random_networks())
def test_numbers_are_those_of_an_all_to_all_on_the_repaired_tables(network: Network) -> None:
    if not network.switch_links.any():
        return
    every = fail_each(routes(network))
    for failure in every.each:
        alone, mended = repaired(network, failure.cable)
        assert (alone.time, alone.lost, alone.changes) == (failure.time, failure.lost, failure.changes)
        again = all_to_all(routes(without(mended, broken(network, failure.cable))))
        assert again.lost == failure.lost == separated(network, failure.cable)
        assert failure.moved == all_to_all(routes(without(network, broken(network, failure.cable)))).lost
        if not failure.lost:
            assert again.load.max() / max(1, len(network.hosts) - 1) == pytest.approx(failure.time)
        kept = (network.forward & ~1) != failure.cable
        passing = np.array([[_passes(network, at, end, failure.cable) for end in range(len(network.hosts))]
                            for at in range(len(network.switches))])  # fmt: skip
        assert ((mended.forward == network.forward) | passing)[kept].all()


def _passes(network: Network, at: int, end: int, cable: int) -> bool:
    """Whether the route from a switch to a host leads over a cable."""
    while (link := int(network.forward[at, end])) >= 0:
        if link & ~1 == cable:
            return True
        at = int(network.links.target[link]) - len(network.hosts)
        if at < 0:
            return False
    return False


@settings(max_examples=40, deadline=None)
@given(random_networks(), st.integers(0, 2**32), st.integers(1, 6))
def test_tables_with_loops_and_missing_entries_lose_what_is_said_and_no_more(
    network: Network, seed: int, wrong: int
) -> None:
    rng, forward = np.random.default_rng(seed), network.forward.copy()
    for _ in range(wrong):
        at, end = rng.integers(forward.shape[0]), rng.integers(forward.shape[1])
        out = np.flatnonzero(network.links.source == len(network.hosts) + at)
        forward[at, end] = rng.choice([-1, *out.tolist()])
    broken_tables = network.with_tables(forward, "some wrong")
    before = all_to_all(routes(broken_tables)).lost
    for cable in np.unique(np.flatnonzero(network.switch_links) & ~1).tolist():
        failure, mended = repaired(broken_tables, cable)
        after = all_to_all(routes(without(mended, broken(network, cable))))
        assert after.lost - before == failure.lost
        if not after.lost:
            assert after.load.max() / max(1, len(network.hosts) - 1) == pytest.approx(failure.time)


@settings(max_examples=40, deadline=None)
@given(random_networks(minimal=True))
def test_repaired_routes_of_minimal_tables_are_minimal_again(network: Network) -> None:
    out, peer = ports_by_switch(len(network.hosts), len(network.switches), network.links)
    every = np.arange(len(network.switches), dtype=np.int32)
    between = [np.where((far := distances(home, out, peer)) < FAR, far, -1).tolist() for home in every.tolist()]
    assert distances_between(every, out, peer).tolist() == between
    for cable in np.flatnonzero(network.switch_links)[::2].tolist():
        left = without(repaired(network, cable)[1], broken(network, cable))
        out, peer = ports_by_switch(len(left.hosts), len(left.switches), left.links)
        lengths = routes(left).lengths
        for row, leaf in enumerate(routes(left).leaves.tolist()):
            far = distances(leaf, out, peer)[left.leaf]
            assert (lengths[row] == np.where(far < FAR, far, -1)).all()


def test_a_single_uplink_cuts_off_the_hosts_below_and_they_are_named() -> None:
    """Three leaves in a row: the middle one's cables cut off a leaf each, the parallel pair nothing."""
    cables = [(0, 5), (1, 5), (2, 6), (3, 6), (4, 7), (5, 6), (6, 7), (6, 7)]
    found = fail_each(routes(network_of_cables(5, 3, cables)))
    assert [(each.name, each.lost, each.cut) for each in found.each] == [
        ("s0:3->s1:3", 12, ("n0", "n1")), ("s1:4->s2:2", 0, ()), ("s1:5->s2:3", 0, ()),
    ]  # fmt: skip
    assert found.single == 5


def test_a_spread_repair_costs_what_the_cut_says() -> None:
    """One of four uplinks of a leaf fails: 4 hosts over 3 cables."""
    network = tree(16, 4, 4)
    found = fail_each(routes(network))
    assert found.present == pytest.approx(1)
    assert {each.levels for each in found.each} == {(1, 2)}
    cut = 4 * 12 / (3 * 15)
    assert all(cut - 1e-9 <= each.time <= 1.6 for each in found.each)


def test_the_verb_ranks_names_and_counts_all(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["route", "failures", "tara", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["schema"] == "weft-route-failures/1"
    order = [(-each["pairs_without_route"], -round(each["all_to_all"], 9)) for each in told["failures"]]
    assert order == sorted(order)
    assert told["claims"][0]["id"].startswith("failure.")
    assert main(["route", "failures", "tara"]) == 0
    out = capsys.readouterr().out
    assert told["failures"][0]["cable"] in out
    assert told["pairs_without_route"] == 0
    assert main(["route", "failures", "tara", "--fail", "leaf0", "--format", "json"]) == 0
    cut = json.loads(capsys.readouterr().out)
    assert (cut["pairs_without_route"], cut["hosts_without_cable"]) == (0, 18)
    assert {each["pairs_without_route"] for each in cut["failures"]} == {0}
