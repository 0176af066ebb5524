# SPDX-License-Identifier: BSD-3-Clause
"""Rules from choices: only what was measured, and the weakest evidence."""

from weft.tune.rules import Choice, rules


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
