# SPDX-License-Identifier: BSD-3-Clause
"""A few rounds of disjoint pairs name the slow part of a made machine, and accuse nobody on a healthy one."""

from dataclasses import replace

import numpy as np
import pytest

from made.checks import Machine, Noise, find_candidates, machine, measure
from weft.analyse.outliers.few_parts import list_parts
from weft.analyse.outliers.few_rounds import Fit, Messages, find_slow_parts
from weft.analyse.outliers.matched import is_answered_late
from weft.analyse.outliers.rule import CONFIRMED_SIGMAS, margin_of_median
from weft.fabric.loads import name_cable, name_link
from weft.fabric.network.sections import TreeSection
from weft.fabric.network.tree import fat_tree

NOISES: tuple[Noise, ...] = ("normal", "heavy", "bursts", "steal")


def named(of: Machine, slow: dict[tuple[str, str], float], noise: Noise, seed: int) -> list[tuple[str, str]]:
    """Kind and name of each part that 16 rounds name."""
    made = measure(of, [of.rounds(16, seed)], slow, noise, 0.05, seed + 1)
    found = find_slow_parts(made.messages, made.parts)
    return [(made.parts.parts[each.part].kind, made.parts.parts[each.part].name) for each in found]


def parts_of(of: Machine, seed: int) -> list[tuple[str, str]]:
    """A node in each role, a cable in both directions and in one, and a switch."""
    dice, network = np.random.default_rng(seed), of.network
    link = int(dice.choice(np.flatnonzero(network.switch_links)))
    node, switch = network.hosts[int(dice.integers(len(network.hosts)))], int(dice.integers(len(network.switches)))
    return [
        ("node", node),
        ("sender", node),
        ("receiver", node),
        ("cable", name_cable(network, link // 2)),
        ("link", name_link(network, link)),
        ("switch", network.switches[switch].name),
    ]


@pytest.mark.parametrize("noise", NOISES)
def test_each_kind_of_slow_part_is_named_alone(noise: Noise) -> None:
    of = machine("tree", 128)
    for seed in (3, 11):
        for part in parts_of(of, seed):
            assert named(of, {part: 1.25}, noise, seed) == [part]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("kind", ["tree", "pods", "dragonfly", "unknown"])
def test_a_healthy_machine_has_no_slow_part(kind: str, noise: Noise) -> None:
    of = machine(kind, 64)
    assert [named(of, {}, noise, seed) for seed in (5, 7)] == [[], []]


def test_two_slow_parts_are_both_named() -> None:
    of = machine("tree", 64)
    slow = {("node", "n0003"): 1.3, ("cable", "leaf2 - spine1"): 1.5}
    assert sorted(named(of, slow, "normal", 2)) == sorted(slow)


def test_a_slow_direction_is_not_its_opposite() -> None:
    of = machine("tree", 64)
    assert named(of, {("sender", "n0007"): 1.25}, "normal", 4) == [("sender", "n0007")]
    assert named(of, {("link", "leaf1 -> spine3"): 1.25}, "normal", 4) == [("link", "leaf1 -> spine3")]


def test_an_unknown_topology_names_the_node_all_the_same() -> None:
    of = machine("unknown", 64)
    assert named(of, {("node", "n0010"): 1.25}, "normal", 6) == [("node", "n0010")]


def test_nodes_that_all_differ_a_little_make_no_outlier() -> None:
    of = machine("tree", 64)
    made = measure(of, [of.rounds(16, 1)], {}, "normal", 0.02, 3)
    own = np.random.default_rng(5).normal(0, 0.06, 64)
    uneven = replace(made.messages, log_s=made.messages.log_s + own[made.source] + own[made.target])
    assert np.abs(own).max() > 0.12  # one by itself would be named
    assert find_slow_parts(uneven, made.parts) == []


def test_what_the_second_pass_does_not_show_is_not_named() -> None:
    of = machine("tree", 64)
    first, second = of.rounds(16, 1), of.rounds(4, 2)
    slow = {("node", "n0009"): 1.4}
    both = measure(of, [first, second], slow, "normal", 0.05, 3)
    assert [both.parts.parts[each.part].name for each in find_slow_parts(both.messages, both.parts)] == ["n0009"]
    healthy = measure(of, [first, second], {}, "normal", 0.05, 3)
    early = both.messages.round < len(first)
    passed = replace(both.messages, log_s=np.where(early, both.messages.log_s, healthy.messages.log_s))
    assert find_slow_parts(passed, both.parts) == []
    assert find_slow_parts(replace(passed, second=None), both.parts)


def test_on_a_small_machine_a_cable_that_half_of_the_messages_cross_is_named() -> None:
    tree = TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=2e9)
    of = Machine(fat_tree([f"n{i}" for i in range(8)], tree, rate=1e9), True)
    for seed in range(4):
        part = ("cable", f"leaf{seed} - spine0")
        made = measure(of, [of.rounds(16, seed), of.rounds(8, seed + 9)], {part: 4.0}, "normal", 0.1, seed)
        found = find_slow_parts(made.messages, made.parts)
        assert [(made.parts.parts[each.part].kind, made.parts.parts[each.part].name) for each in found] == [part]


def test_all_nodes_on_one_leaf_have_no_cable_between_switches() -> None:
    tree = TreeSection.model_construct(nodes_per_leaf=16, uplinks=1, link_rate=2e9)
    of = Machine(fat_tree([f"n{i}" for i in range(16)], tree, rate=1e9), True)
    made = measure(of, [of.rounds(12, 1)], {("node", "n3"): 1.5}, "normal", 0.05, 1)
    assert [made.parts.parts[each.part].name for each in find_slow_parts(made.messages, made.parts)] == ["n3"]


def test_behind_a_slow_leaf_a_slow_switch_is_named_and_not_its_links() -> None:
    """Half of its messages cross the leaf, which slows them already, and tell nothing of it."""
    of = machine("pods", 64)
    slow = {("switch", "pod0-spine5"): 1.25, ("switch", "leaf1"): 1.25}
    assert sorted(named(of, slow, "normal", 11)) == sorted(slow)


def test_what_three_rounds_visit_is_a_candidate_and_never_named() -> None:
    """A burst slows all messages of a round that cross a cable together."""
    of = machine("dragonfly", 64)
    slow = {("cable", "group0-router0 - group0-router1"): 1.5}
    made = measure(of, [of.rounds(16, 1)[:3]], slow, "normal", 0.03, 2)
    assert find_slow_parts(made.messages, made.parts) == []
    found = [made.parts.parts[each] for each in find_candidates(made.messages, made.parts)]
    assert ("cable", "group0-router0 - group0-router1") in [(each.kind, each.name) for each in found]


def test_both_links_of_a_cable_are_the_cable() -> None:
    of = machine("tree", 64)
    links = ("leaf1 -> spine3", "spine3 -> leaf1")
    slow = {("link", links[0]): 1.6, ("link", links[1]): 1.25}
    assert named(of, slow, "normal", 4) == [("cable", "leaf1 - spine3")]


def test_a_slow_cable_is_not_its_switch_on_leaves_of_two_nodes() -> None:
    """Two messages within the leaf, counted less where other nodes scattered more: half of these were the leaf."""
    shape = TreeSection.model_construct(nodes_per_leaf=2, uplinks=1, link_rate=2e9)
    of = Machine(fat_tree([f"node{i}" for i in range(8)], shape, rate=1e9), known=True)
    slow, found = {("cable", "leaf0 - spine0"): 1.5}, list[list[str]]()
    for seed in range(30, 40):
        first = of.rounds(16, seed)
        made = measure(of, [first], slow, "normal", 0.1, 10 * seed)
        aim = [np.array(made.parts.parts[each].links, np.int32) for each in find_candidates(made.messages, made.parts)]
        made = measure(of, [first, of.rounds(8, 10 * seed + 1, aim)], slow, "normal", 0.1, 10 * seed)
        few = find_slow_parts(made.messages, made.parts, CONFIRMED_SIGMAS)
        found.append([made.parts.parts[each.part].name for each in few])
    assert found == [["leaf0 - spine0"]] * 10


def test_few_messages_of_a_class_have_the_level_of_their_round() -> None:
    """Those of a divided round were compared with all rounds, and what slowed theirs was a part's effect."""
    dice = np.random.default_rng(1)
    of_round, group = np.repeat(np.arange(20), 12), np.tile(np.repeat(np.arange(3), 4), 20)
    shift, noise = dice.normal(0, 0.5, 20), dice.normal(0, 0.01, 240)
    source, target = np.tile(np.arange(12), 20), np.tile(np.roll(np.arange(12), 1), 20)
    parts = list_parts(tuple(f"n{i}" for i in range(12)), source, target)
    fit = Fit(Messages(of_round, group, 0.3 * group + shift[of_round] + noise), parts)
    assert np.abs(fit.whole[0]).max() < 0.1


@pytest.mark.parametrize("count", [3, 4, 5, 6, 7, 8, 9, 10, 13, 16, 30])
def test_the_interval_of_a_median_of_few_rounds_covers_what_it_says(count: int) -> None:
    values = np.random.default_rng(count).normal(0, 1, (4000, count))
    covered = np.mean([abs(np.median(each)) <= margin_of_median(each) for each in values])
    assert 0.94 <= covered <= 0.965


def test_the_interval_of_a_slow_node_covers_its_factor() -> None:
    """With 1.96 standard errors of 8 rounds: 52 of 60."""
    of, part, covered = machine("tree", 64), ("node", "n0003"), 0
    for seed in range(60):
        made = measure(of, [of.rounds(8, seed)], {part: 1.3}, "heavy" if seed % 2 else "normal", 0.05, seed + 1000)
        (found,) = find_slow_parts(made.messages, made.parts)
        covered += found.low <= 1.3 <= found.high
    assert covered >= 56


def test_directions_hinder_each_other_where_all_classes_show_it_and_not_by_a_slow_cable() -> None:
    of, low = np.repeat([0, 1], 20), np.tile(np.repeat(np.arange(10), 2), 2)  # ten pairs, there and back, two rounds
    later, classes = np.tile([False, True], 20), np.repeat([0, 1], 20)
    high = 19 - low
    ends = np.stack([of, np.where(later, high, low), np.where(later, low, high)])
    slower = np.where(later, np.log(1.9), 0.0)
    assert is_answered_late(slower, ends, classes)
    assert is_answered_late(slower + np.where(low < 5, np.log(10), 0.0), ends, classes)  # half of them by a slow cable
    one_class = np.where(classes == 1, slower, 0.0)  # a cable between two leaves, the only one
    assert not is_answered_late(one_class, ends, classes)
    assert not is_answered_late(slower * 0.2, ends, classes)
    assert not is_answered_late(slower[:1], ends[:, :1], classes[:1])
