# SPDX-License-Identifier: BSD-3-Clause
"""Gates: their grammar, what fails them, and that a gate which could not have failed does not pass."""

from pathlib import Path
from typing import cast

import pytest

from made.sides import drawn_side, keys, point, side
from weft.analyse.compare.claims import Verdict, claim_comparison, decide, exit_code, parse_gate
from weft.analyse.compare.comparison import Comparison, compare
from weft.analyse.compare.sides import Side, effects_left_out
from weft.analyse.tables.claims import extras
from weft.analyse.tables.times import CallRow
from weft.errors import CompareError
from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.plan.make import make_plan


def gated(text: str, *comparisons: Comparison) -> Verdict:
    return decide(parse_gate(text), comparisons)


def against(factor: float, launches: int = 6, seed: int = 2) -> Comparison:
    """A comparison with a run that takes ``factor`` times as long."""
    return compare(drawn_side("a", 1, launches), drawn_side("b", seed, launches, slower=lambda key: factor))


@pytest.mark.parametrize(("text", "kind", "factor"), [
    ("slower:1.10", "slower", 1.1), ("faster:2", "faster", 2.0), (" different:1 ", "different", 1.0),
    ("missing", "missing", 1.0),
])  # fmt: skip
def test_a_gate_is_read(text: str, kind: str, factor: float) -> None:
    gate = parse_gate(text)
    assert (gate.kind, gate.factor) == (kind, factor)
    assert parse_gate(str(gate)) == gate


@pytest.mark.parametrize(
    "text",
    ["", "slower", "slower:", "slower:0.9", "slower:x", "slower:nan", "slower:inf", "slow:1.1", "missing:2", "1.1"],
)
def test_a_wrong_gate_is_refused_with_the_grammar(text: str) -> None:
    with pytest.raises(CompareError, match="--fail-if") as error:
        parse_gate(text)
    assert "slower:1.10" in error.value.remedy
    assert error.value.exit_code == 2


@pytest.mark.parametrize(("gate", "factor", "state"), [
    ("slower:1.10", 1.5, "failed"), ("slower:1.10", 0.5, "passed"), ("slower:2", 1.5, "passed"),
    ("faster:1.10", 0.5, "failed"), ("faster:1.10", 1.5, "passed"), ("faster:3", 0.5, "passed"),
    ("different:1.10", 0.5, "failed"), ("different:1.10", 1.5, "failed"), ("different:1.10", 1.0, "passed"),
])  # fmt: skip
def test_a_gate_fails_by_shown_differences_beyond_it(gate: str, factor: float, state: str) -> None:
    verdict = gated(gate, against(factor))
    assert verdict.state == state
    assert bool(verdict.offenders) is (state == "failed")
    assert exit_code([verdict]) == (1 if state == "failed" else 0)


def test_a_large_ratio_that_is_not_shown_does_not_fail_it() -> None:
    """One stray launch moves a median of four, but shows nothing."""
    base = side("a", {key: point(1.0, 1.1, 2.0, 2.1) for key in keys()})
    other = side("b", {key: point(1.05, 1.9, 2.2, 2.3) for key in keys()})
    found = compare(base, other)
    assert max(each.evidence.ratio for each in found.rows) > 1.3
    assert gated("slower:1.10", found).state == "passed"


def test_a_gate_narrower_than_the_precision_still_holds() -> None:
    """The margin decides what is called a difference in the text; the gate's own factor decides the gate."""
    base = side("a", {key: point(*(1 + 1e-4 * i for i in range(6))) for key in keys()})
    other = side("b", {key: point(*(1.03 + 1e-4 * i for i in range(6))) for key in keys()})
    found = compare(base, other)
    assert {each.evidence.outcome for each in found.rows} == {"no difference shown"}
    assert gated("slower:1.02", found).state == "failed"


def test_too_few_launches_leave_a_gate_undecided() -> None:
    verdict = gated("slower:1.10", against(3.0, launches=3))
    assert verdict.state == "undecided"
    assert "3 launches a side, 4 needed" in verdict.why
    assert exit_code([verdict]) == 2


def test_a_measured_run_against_a_simulated_one_is_undecided_and_two_simulated_ones_are_exact() -> None:
    one = side("a", {key: point(1.0) for key in keys()}, kind="simulated")
    two = side("b", {key: point(1.2) for key in keys()}, kind="simulated")
    assert gated("slower:1.10", compare(one, two)).state == "failed"
    assert gated("slower:1.30", compare(one, two)).state == "passed"
    assert gated("slower:1.10", compare(one, drawn_side("c", 1, 4))).state == "undecided"


def simulated(name: str, seconds: float, span_s: tuple[float, float] | None = None) -> Side:
    """A simulated run; ``span_s`` is what its model leaves out of each time."""
    left_out = ("adaptive routing",) if span_s else ()
    points = {key: point(seconds, span_s=span_s) for key in keys()}
    return side(name, points, kind="simulated", left_out=left_out)


@pytest.mark.parametrize(
    ("gate", "span_s", "state"),
    [
        ("slower:1.10", None, "failed"),
        ("slower:1.10", (1.15, 1.3), "failed"),
        ("slower:1.10", (1.0, 1.3), "undecided"),
        ("slower:1.10", (0.5, 1.09), "passed"),
        ("slower:1.40", (1.0, 1.3), "passed"),
        ("faster:1.10", (0.7, 1.3), "undecided"),
        ("faster:1.10", (0.95, 1.3), "passed"),
        ("faster:1.10", (0.7, 0.8), "failed"),
        ("different:1.10", (0.8, 1.3), "undecided"),
        ("different:1.10", (1.2, 1.3), "failed"),
        ("different:1.10", (0.95, 1.05), "passed"),
    ],
)
@pytest.mark.parametrize("ranged", ["base", "other"])
def test_a_gate_whose_factor_lies_in_the_range_of_a_model_is_undecided(
    gate: str, span_s: tuple[float, float] | None, state: str, ranged: str
) -> None:
    middle = sum(span_s) / 2 if span_s else 1.2
    if ranged == "other":
        found = compare(simulated("a", 1.0), simulated("b", middle, span_s))
    else:  # the same ratios, by the range of the base
        ends = (1 / span_s[1], 1 / span_s[0]) if span_s else None
        found = compare(simulated("a", 1 / middle, ends), simulated("b", 1.0))
    verdict = gated(gate, found)
    assert verdict.state == state
    if state == "undecided":
        assert "adaptive routing is not modelled" in verdict.why
        assert exit_code([verdict]) == 2


def test_a_summary_has_the_geometric_mean_of_the_ranges_of_its_rows() -> None:
    rows = keys(("alltoall",), (64, 1024))
    base = side("a", {key: point(1.0) for key in rows}, kind="simulated")
    spans = dict(zip(rows, ((1.0, 4.0), None), strict=True))
    other = side("b", {key: point(2.0, span_s=spans[key]) for key in rows}, kind="simulated", left_out=("incast",))
    found = compare(base, other)
    ((low, high),) = [(each.evidence.low, each.evidence.high) for each in found.summaries]
    assert (low, high) == (pytest.approx(2**0.5), pytest.approx(8**0.5))
    answer = claim_comparison(found)[0]
    assert (answer["id"], answer["low"], answer["high"]) == ("compare.predicted", low, high)
    assert (extras(answer)["left_out"], extras(answer)["turned"]) == ("incast", 0)


BARE = """name = "bare"
kind = "simulated"
[node]
names = "n[0-3]"
preset = "epyc-7763"
memory = "256 GiB"
[network]
preset = "hdr-infiniband"
topology = "torus"
routing = "adaptive"
[network.torus]
dimensions = [4]
link_rate = "25 GB/s"
"""
CALLS_OF_ALL = """name = "all"
kernel = "collective"
explain = false
[collective]
collectives = ["Alltoall"]
sizes = ["64 B"]
[[series]]
name = "one"
nodes = 4
ranks_per_node = 1
"""


def test_what_only_a_barrier_leaves_out_is_named(tmp_path: Path) -> None:
    """It read "by what is not modelled () 0.741 to 1.35 times": the range of the noise floor's barrier had no name."""
    (tmp_path / "bare.toml").write_text(BARE)
    (tmp_path / "all.toml").write_text(CALLS_OF_ALL)
    plan = make_plan(load_study(tmp_path / "all.toml"), load_fabric(tmp_path / "bare.toml"))
    rows = [cast(CallRow, {"cell": cell.id, "call": "barrier"}) for cell in plan.measured]
    assert effects_left_out(plan, ()) == ()
    assert effects_left_out(plan, rows) == ("adaptive routing",)


def test_missing_counts_what_the_other_run_should_have_measured_only() -> None:
    rows = keys()
    base = side("a", {key: point(1, 1, 1, 1) for key in rows})
    crashed = {key: point(1, 1, 1, 1) for key in rows[1:]} | {rows[0]: point(status="timeout", reason="hung")}
    assert gated("missing", compare(base, side("b", crashed))).missing == 1
    fewer = {key: point(1, 1, 1, 1) for key in rows[1:]}
    assert gated("missing", compare(base, side("b", fewer))).state == "passed"
    assert gated("missing", compare(side("a", crashed), side("b", base.points))).state == "passed"


def test_one_failed_gate_outweighs_an_undecided_one() -> None:
    failed, undecided = gated("slower:1.1", against(2.0)), gated("slower:1.1", against(2.0, launches=2))
    assert exit_code([undecided, failed]) == 1
    assert exit_code([]) == 0


def test_any_of_several_runs_fails_it() -> None:
    assert gated("slower:1.10", against(1.0), against(1.5)).state == "failed"
