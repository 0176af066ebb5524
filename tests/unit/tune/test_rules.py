# SPDX-License-Identifier: BSD-3-Clause
"""Rules from choices: only what was measured, and the weakest evidence."""

import tomllib

from weft.fabric import load_fabric
from weft.kernel.collective.study import CollectiveStudy
from weft.kernel.studies import make_study
from weft.kernel.traffic import peak_of
from weft.tune.rules import Choice, is_chosen, rules
from weft.tune.study import What, tuning_study


def choice(size: int, algorithm: str, ratio: float = 0.5, nodes: int = 8, op: str = "alltoall") -> Choice:
    time = 1e-4 * ratio
    return Choice(op, nodes, 8, 8 * nodes, size, algorithm, time, 0.9 * time, 1.1 * time, 1e-4, 4)


def test_sizes_in_a_row_with_one_winner_are_one_rule_with_the_weakest_evidence() -> None:
    found = rules([choice(8, "node.multi{nl=8}", 0.4), choice(64, "node.multi{nl=8}", 0.8), choice(512, "node.direct")])
    assert [(rule.algorithm, rule.bytes) for rule in found[:-1]] == [
        ("node.multi{nl=8}", (8, 64)), ("node.direct", (512, 512)),
    ]  # fmt: skip
    assert found[0].evidence is not None
    assert round(found[0].evidence.median_us) == 80
    assert found[0].evidence.pmpi_us == 100
    assert (found[-1].op, found[-1].algorithm) == ("*", "pmpi")


def test_nothing_is_extrapolated() -> None:
    """A size where the library won ends a rule, and other nodes, ranks and sizes are the library's."""
    found = rules([choice(8, "bruck{r=2}"), choice(64, "pmpi"), choice(512, "bruck{r=2}")])
    assert [rule.bytes for rule in found[:-1]] == [(8, 8), (512, 512)]
    for rule in found[:-1]:
        assert (rule.nodes, rule.ranks_per_node, rule.p) == ((8, 8), (8, 8), (64, 64))


def test_calls_and_shapes_have_rules_of_their_own() -> None:
    found = rules([
        choice(8, "node.direct"), choice(8, "node.direct", nodes=18), choice(8, "node.direct", op="alltoallv"),
    ])  # fmt: skip
    assert [(rule.op, rule.nodes) for rule in found[:-1]] == [
        ("alltoall", (8, 8)), ("alltoall", (18, 18)), ("alltoallv", (8, 8)),
    ]  # fmt: skip


def test_where_the_library_wins_everywhere_the_table_says_so() -> None:
    (only,) = rules([choice(8, "pmpi", 1.0)])
    assert only.algorithm == "pmpi"


def skewed(skew: float, algorithm: str, size: int = 4096) -> Choice:
    pattern = f"moe{skew:g}"
    largest = round(size * peak_of(pattern, 64))
    return choice(largest, algorithm, op=f"alltoallv-{pattern}")


def test_rules_of_skewed_calls_have_classes_of_skew_and_the_mean_block() -> None:
    found = rules([
        choice(4096, "flat.pairwise"), choice(4096, "node.direct", op="alltoallv"), skewed(2, "sched.matrix"),
        skewed(8, "flat.pairwise"), skewed(8, "flat.pairwise", 65536),
    ])[:-1]  # fmt: skip
    assert [(rule.op, rule.algorithm, rule.skew) for rule in found] == [
        ("alltoall", "flat.pairwise", None), ("alltoallv", "node.direct", (0, 2**0.5)),
        ("alltoallv", "sched.matrix", (2**0.5, 4)), ("alltoallv", "flat.pairwise", (4, 16)),
    ]  # fmt: skip
    for rule, (low, high) in zip(found[2:], [(4096, 4096), (4096, 65536)], strict=True):
        assert rule.bytes is not None
        assert 0.97 * low <= rule.bytes[0] <= 0.99 * low
        assert 1.01 * high <= rule.bytes[1] <= 1.03 * high


def test_without_skewed_calls_a_table_asks_for_no_skew() -> None:
    assert [rule.skew for rule in rules([choice(8, "bruck{r=2}", op="alltoallv")])] == [None, None]


def test_the_study_of_tune_measures_even_blocks_beside_the_skews() -> None:
    text = tuning_study(load_fabric("message-bound"), What((4,), 2, ("4 KiB",), 1, skew=(2, 4)))
    study = make_study(tomllib.loads(text), "tune.toml")
    assert isinstance(study, CollectiveStudy)
    assert (study.collective.patterns, study.collective.skew) == (("equal", "moe"), (2, 4))
    assert "sched.matrix" in study.collective.algorithm
    assert [is_chosen(op) for op in ("alltoallv-moe2", "alltoallv", "alltoallv-linear", "bcast")] == [
        True,
        True,
        False,
        False,
    ]
