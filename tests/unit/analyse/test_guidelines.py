# SPDX-License-Identifier: BSD-3-Clause
"""An audit of an MPI library: violated guidelines are found in every run, and none where there is none."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from made.plain_run import make_plain_run
from made.sweeps import TWO_NODES
from made.view import load_view
from weft.analyse.claims.kernels.collective import claim_guidelines, find_overlaps
from weft.analyse.claims.make import Known, judge
from weft.analyse.statistics.interval import paired_test, student_tail, trimmed_mean
from weft.analyse.tables.answers import GUIDELINES, OVERLAPS, GuidelineRow, OverlapRow
from weft.analyse.tables.breakdown import TurnRow
from weft.analyse.tables.claims import QUALITY, ClaimRow, Doubt, QualityRow, extras, make_claim
from weft.analyse.tables.times import CALLS
from weft.analyse.winners import guideline_rows
from weft.cli.check import audit
from weft.errors import StudyError
from weft.fabric import load_fabric
from weft.kernel.budget import most_rows
from weft.kernel.registry import kernel_named
from weft.kernel.sizes import split_op
from weft.kernel.studies import load_study
from weft.mpi.algorithms import FEWER, MOCK_UPS, guidelines_of
from weft.plan.make import make_plan
from weft.plan.records import Cell
from weft.plan.rounds import with_launches
from weft.plan.stored import plan_of
from weft.run.check import exit_code
from weft.run.extend import replace_plan
from weft.run.refresh import refresh
from weft.run.shipped import Deadline, audit_study
from weft.store.folder import RunFolder
from weft.study import Measure
from weft.words.card import card_rows, say

ROOT = Path(__file__).parents[3]
SEEDS = 20
#: What takes as long as the call itself in a healthy library; all else takes longer than the call.
ALIKE = frozenset({"alltoallv", "alltoall", "allgatherv", "scatterv", "gatherv", "alltoallw"})


@pytest.fixture(scope="module")
def cells() -> dict[str, Cell]:
    """The cells of an audit of two nodes with two ranks each."""
    study = audit_study(load_fabric("virtual-default"), "", "90s", "2")
    plan = make_plan(study, load_fabric("virtual-default"))
    return {cell.id: cell for cell in plan.measured}


def turns(cells: dict[str, Cell], seed: int, slow: str = "", factor: float = 1.0) -> list[TurnRow]:
    """Medians of eight launches that differ by 20 %, in turns by 4 %, with a disturbed one among them now and then."""
    rng = np.random.default_rng(seed)
    found: list[TurnRow] = []
    for cell in cells.values():
        call = cell.parameters["collective"]
        for size in cell.parameters["bytes"]:
            for launch in range(1, 9):
                common = np.exp(0.2 * rng.standard_normal())
                for step in ("whole", *cell.parameters["guidelines"]):
                    seconds = 5e-6 * common * np.exp(0.04 * rng.standard_normal()) * (3 if rng.random() < 0.02 else 1)
                    seconds *= 1.0 if step in ALIKE or step == "whole" else 0.7 if step == FEWER else 1.4
                    own = step in ("whole", "larger", "split", FEWER)
                    seconds *= factor if (own and call == slow) or slow in step.split("+") else 1.0
                    found.append(
                        TurnRow(cell=cell.id, launch=launch, call=f"{call}@{size}", step=step, place=0, seconds=seconds,
                                total_s=seconds, mean_s=seconds, samples=20)
                    )  # fmt: skip
    return found


STUDY = audit_study(load_fabric("virtual-default"), "", "90s", "2").text


def violated(rows: list[GuidelineRow]) -> set[tuple[str, str]]:
    return {(row["collective"], row["guideline"]) for row in rows if row["violated"]}


def test_a_call_that_takes_twice_its_time_is_found_in_20_of_20_runs_and_nothing_else(cells: dict[str, Cell]) -> None:
    for seed in range(SEEDS):
        slow = ("bcast", "alltoallv", "scatter", "gather", "allgather")[seed % 5]
        found = violated(guideline_rows(turns(cells, seed, slow, 2.0), cells))
        wanted = {(slow, rival) for rival in MOCK_UPS[slow] if rival in ALIKE}
        assert wanted <= found, seed
        assert {call for call, _ in found} <= {slow} | {call for call, rivals in MOCK_UPS.items() if slow in rivals}


def test_no_guideline_is_violated_in_20_healthy_runs(cells: dict[str, Cell]) -> None:
    assert [violated(guideline_rows(turns(cells, seed), cells)) for seed in range(SEEDS)] == [set()] * SEEDS


def test_an_audit_holds_every_call_against_at_least_20_guidelines(cells: dict[str, Cell]) -> None:
    rows = guideline_rows(turns(cells, 1), cells)
    assert len({(row["collective"], row["guideline"]) for row in rows}) == 20 + 3 * len(MOCK_UPS)
    assert len(rows) == (20 + 3 * len(MOCK_UPS)) * 3


def test_fewer_ranks_are_held_against_all_of_them_and_not_the_other_way(cells: dict[str, Cell]) -> None:
    rows = [row for row in guideline_rows(turns(cells, 1), cells) if row["guideline"] == FEWER]
    assert rows
    assert all(row["factor"] == pytest.approx(0.7, rel=0.3) for row in rows)


def test_two_launches_are_too_few_for_a_verdict(cells: dict[str, Cell]) -> None:
    few = [turn for turn in turns(cells, 3, "gather", 50.0) if turn["launch"] < 3]
    assert violated(guideline_rows(few, cells)) == set()


def test_students_t_has_its_published_quantiles() -> None:
    for t, freedom in ((6.314, 1), (2.353, 3), (2.132, 4), (1.895, 7), (1.812, 10)):
        assert student_tail(t, freedom) == pytest.approx(0.05, rel=2e-3)
        assert student_tail(-t, freedom) == pytest.approx(0.95, rel=2e-3)
    assert student_tail(5.408, 7) == pytest.approx(0.0005, rel=2e-3)


def test_values_that_agree_by_chance_do_not_make_a_test_certain() -> None:
    assert paired_test(trimmed_mean([0.11, 0.11, 0.11], 0.01), 0.1) == pytest.approx(student_tail(3**0.5, 2))


def test_one_launch_that_is_disturbed_as_a_whole_does_not_hide_the_others() -> None:
    quiet = [0.70, 0.71, 0.69, 0.72, 0.68, 0.70, 0.71]
    plain, disturbed = (trimmed_mean([*quiet, last], 0.01) for last in (0.70, -2.0))
    assert disturbed.value == pytest.approx(plain.value, abs=0.02)
    assert paired_test(disturbed, 0.1) < 1e-6
    assert trimmed_mean([1.0, 2.0, 3.0], 0.01) == (2.0, pytest.approx(1 / 3**0.5), 2)


def test_plan_and_kernel_have_the_same_mock_ups() -> None:
    source = (ROOT / "native/measure/collective/mock_ups.cpp").read_text()
    listed = re.findall(r'\{"(\w+)", "([\w+]+)", \w+\}', source)
    assert listed == [(call, rival) for call, rivals in MOCK_UPS.items() for rival in rivals]
    assert len(listed) == 20
    assert guidelines_of("bcast", 2) == ["larger", "split", "scatter+allgather", "allgatherv"]


def audited(path: Path, seconds: Callable[[str], float]) -> tuple[RunFolder, list[ClaimRow]]:
    """A made run of an audit of two nodes, and its answers."""
    make_plain_run(path, audit_study(load_fabric("virtual-default"), "", "90s", "2").text, seconds)
    view = load_view(path)
    return RunFolder(path), view.claimed("answer")


def test_a_violation_is_claimed_with_what_to_do_and_ends_with_3(tmp_path: Path) -> None:
    def seconds(op: str) -> float:
        call, _, step = op.partition(":")
        name, size = split_op(call)
        base = 1e-5 * (1 + (size or 0) / 1e4) * {"": 1.0, "alltoall": 1.0, "fewer": 0.8}.get(step, 1.5)
        return base * (2.2 if name == "alltoallv" and not step else 1.0)

    folder, answers = audited(tmp_path / "run", seconds)
    first = answers[0]
    more = extras(first)
    assert (first["id"], first["subject"], more["guideline"], more["sizes"]) == (
        "audit.violated", "alltoallv", "alltoall", [16, 1024, 65536]
    )  # fmt: skip
    assert (first["low"] or 0) < 2.2 < (first["high"] or 0)
    assert exit_code(folder) == 3
    assert {each["subject"] for each in answers} == {"alltoallv"}
    row = say(first)
    assert "MPI_Alltoallv" in row.value and "MPI_Alltoall" in row.value
    (remedy, *_) = load_view(tmp_path / "run").claimed("remedy")
    assert (remedy["id"], extras(remedy)["mock_up"]) == ("audit.next", "alltoall")
    assert extras(remedy)["issue"] == "open-mpi/ompi#9761"
    assert sum(row["violated"] for row in GUIDELINES.read(tmp_path / "run")) >= 3


def test_a_library_without_violations_is_consistent_and_ends_with_0(tmp_path: Path) -> None:
    folder, answers = audited(tmp_path / "run", lambda op: 1e-5 * (0.8 if op.endswith("fewer") else 1.0))
    assert [each["id"] for each in answers] == ["audit.consistent"]
    assert extras(answers[0])["excluded"] == extras(answers[0])["tests"]
    assert exit_code(folder) == 0
    # no rate was measured beside these calls, and one that was assumed was beaten
    assert "times.below-bound" not in {each["id"] for each in load_view(folder.path).claimed("doubt")}
    assert {row["bound_s"] for row in CALLS.read(folder.path)} == {None}


def test_a_run_too_noisy_to_see_a_factor_of_two_is_not_called_consistent(tmp_path: Path) -> None:
    audited(tmp_path / "run", lambda op: 1e-5 * (0.8 if op.endswith("fewer") else 1.0))
    rows = GUIDELINES.read(tmp_path / "run")
    known = Known(tmp_path / "run", plan_of(RunFolder(tmp_path / "run")), [])
    for blind, answer in ((0.05, "audit.consistent"), (0.2, "audit.inconclusive")):
        for row in rows[: int(blind * len(rows))]:
            row["high"] = 3.0
        GUIDELINES.write(tmp_path / "run", rows)
        (claim,) = claim_guidelines(known)
        assert claim["id"] == answer
        again = "weft audit --on {run}/fabric.toml --ranks-per-node 2 --time 180s"
        assert claim["next"] == (again if answer.endswith("inconclusive") else "")
        assert extras(claim)["excluded"] == len(rows) - int(blind * len(rows))


def test_a_size_that_was_too_slow_for_the_time_is_named(tmp_path: Path) -> None:
    folder, _ = audited(tmp_path / "run", lambda op: 1e-5 * (0.8 if op.endswith("fewer") else 1.0))
    assert not [claim for claim in load_view(folder.path).claims if claim["id"] == "audit.covered"]
    rows = GUIDELINES.read(folder.path)
    kept = [row for row in rows if (row["collective"], row["bytes"]) != ("alltoall", 65536)]
    GUIDELINES.write(folder.path, kept)
    known = Known(folder.path, plan_of(folder), [])
    answer, left = claim_guidelines(known)
    assert (answer["id"], left["id"], extras(left)["left"]) == (
        "audit.consistent", "audit.covered", [["alltoall", [65536]]]
    )  # fmt: skip
    assert "MPI_Alltoall at 64 KiB" in say(left).value
    assert extras(answer)["tests"] == len(kept) < len(rows)
    # two of eight launches had time for a size, and the whole audit could not tell
    for row in rows:
        row["launches"] = 2 if row["collective"] == "alltoall" and row["bytes"] > 16 else 8
    GUIDELINES.write(folder.path, rows)
    answer, left = claim_guidelines(known)
    assert (answer["id"], extras(answer)["launches"]) == ("audit.consistent", 8)
    assert extras(left)["left"] == [["alltoall", [1024, 65536]]]
    assert extras(answer)["tests"] == sum(row["launches"] == 8 for row in rows) < len(rows)


@pytest.mark.parametrize(("launches", "answer"), [(5, "audit.inconclusive"), (6, "audit.consistent")])
def test_an_audit_answers_from_the_launches_that_its_help_promises(tmp_path: Path, launches: int, answer: str) -> None:
    folder, _ = audited(tmp_path / "run", lambda op: 1e-5 * (0.8 if op.endswith("fewer") else 1.0))
    rows = GUIDELINES.read(folder.path)
    for row in rows:
        row["launches"] = launches
    GUIDELINES.write(folder.path, rows)
    (claim,) = claim_guidelines(Known(folder.path, plan_of(folder), []))
    assert (claim["id"], extras(claim)["launches"]) == (answer, launches)


@pytest.mark.parametrize("time_s", [45, 90, 600])
def test_an_audit_that_could_not_tell_advises_twice_its_own_time(tmp_path: Path, time_s: int) -> None:
    study = audit_study(load_fabric("virtual-default"), "n[2-3]", f"{time_s}s", "1")
    four = TWO_NODES.replace("n[1-2]", "n[1-4]")
    make_plain_run(tmp_path / "run", study.text, lambda op: 1e-5, four)
    load_view(tmp_path / "run")
    folder = RunFolder(tmp_path / "run")
    replace_plan(folder, with_launches(plan_of(folder), 4))  # as where the time ends an audit
    GUIDELINES.write(folder.path, [])
    (claim,) = claim_guidelines(Known(folder.path, plan_of(folder), []))
    assert claim["next"].endswith(f"--nodes 'n[2-3]' --ranks-per-node 1 --time {2 * time_s}s")


def test_a_study_of_ones_own_is_advised_more_launches_of_itself(tmp_path: Path) -> None:
    own = re.sub(r'^name = "audit"', 'name = "mine"', STUDY, flags=re.MULTILINE)
    make_plain_run(tmp_path / "run", own, lambda op: 1e-5)
    load_view(tmp_path / "run")
    GUIDELINES.write(tmp_path / "run", [])
    (claim,) = claim_guidelines(Known(tmp_path / "run", plan_of(RunFolder(tmp_path / "run")), []))
    assert claim["next"] == "weft run {run}/study.toml --on {run}/fabric.toml --into {run} --launches 6"


def test_launches_that_the_time_does_not_allow_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [1000.0]
    monkeypatch.setattr("weft.run.shipped.time.monotonic", lambda: now[0])
    for a_round_s, launches in ((10.0, 8), (11.0, 7), (25.0, 6), (40.0, 4)):
        plan = plan_of(RunFolder(make_plain_run(tmp_path / str(launches), STUDY, lambda op: 1e-5)))
        deadline = Deadline(RunFolder(tmp_path / str(launches)), plan, 90.0)
        for index in range(1, 9):
            now[0] += a_round_s
            if deadline(index) is None:
                break
        stored = plan_of(RunFolder(tmp_path / str(launches)))
        assert (index, stored.measure.launches, max(each.index for each in stored.launches)) == (launches,) * 3


def test_what_cannot_be_audited_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StudyError, match="is a model"):
        audit_study(load_fabric("tara"), "", "90s", "cores")
    for nodes, time, ranks in (("", "soon", "cores"), ("", "90s", "0"), ("n[1-", "90s", "2")):
        with pytest.raises(StudyError, match="weft audit: "):
            audit_study(load_fabric("local"), nodes, time, ranks)
    study = (ROOT / "studies/audit.toml").read_text()
    (tmp_path / "mine.toml").write_text(study.replace("guidelines = true", 'guidelines = true\nforms = ["inplace"]'))
    with pytest.raises(StudyError, match="guidelines are about plain calls"):
        load_study(tmp_path / "mine.toml")


def test_a_call_that_failed_leaves_the_audit_inconclusive(tmp_path: Path) -> None:
    """A library whose MPI_Reduce_scatter hung was "Consistent"."""
    folder, _ = audited(tmp_path / "run", lambda op: 1e-5 * (0.8 if op.endswith("fewer") else 1.0))
    for record in (folder.path / "cells").glob("c000.l*.json"):
        record.unlink()
    refresh(folder.path)
    view = load_view(folder.path)
    (answer,) = view.claimed("answer")
    call = plan_of(folder).cell("c000").parameters["collective"]
    assert (answer["id"], extras(answer)["failed"], answer["next"]) == ("audit.inconclusive", [call], "")
    assert not [claim for claim in view.claims if claim["id"] == "audit.covered"]  # it crashed, and was not too slow
    assert exit_code(folder) == 1


def test_the_rows_of_guidelines_are_counted_where_a_record_is_limited() -> None:
    measure = Measure()
    values = {"collective": "allgather", "form": "plain", "bytes": [8 << k for k in range(10)], "refine": 0, "root": -1}
    plain, held = (
        most_rows(kernel_named("collective").need(values | more, 8, measure))
        for more in ({}, {"guidelines": guidelines_of("allgather", 8)})
    )
    assert held - plain > 7 * 10 * measure.max_samples


def test_the_verb_prints_the_card_alone_as_check_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, _ = audited(tmp_path / "run", lambda op: 3e-5 if op == "gather@1024" else 1e-5)
    monkeypatch.setattr("weft.run.shipped.run_audit", lambda *_: folder)
    monkeypatch.setattr("weft.launch.launcher_for", lambda *_, **__: None)
    assert audit(on="local") == 3
    printed = capsys.readouterr().out
    assert "MPI_Gather" in printed
    assert "Performance guidelines" not in printed


OVERLAP = """\
name = "made-overlap"
kernel = "collective"
explain = false

[measure]
launches = 5
seed = 7

[collective]
collectives = ["Bcast", "Alltoall"]
sizes = ["8 B", "64 KiB"]
overlap = true

[[series]]
name = "overlap"
nodes = [2]
ranks_per_node = 2
"""


@pytest.mark.parametrize(("hidden", "share"), [(2.0, 0.0), (1.25, 0.75), (1.0, 1.0)])
def test_the_share_that_hides_is_what_both_take_less_than_one_after_the_other(
    tmp_path: Path, hidden: float, share: float
) -> None:
    def seconds(op: str) -> float:
        factor = {"hidden": hidden, "tested": 1.1}.get(op.partition(":")[2], 1.0)
        return 1e-4 * factor if op.startswith("alltoall") else 1e-4

    view = load_view(make_plain_run(tmp_path / "run", OVERLAP, seconds))
    rows = {(row["collective"], row["bytes"], row["way"]): row for row in OVERLAPS.read(view.path)}
    assert len(rows) == 2 * 2 * 2
    found = rows["alltoall", 65536, "wait"]
    assert found["share"] == pytest.approx(share, abs=0.03)
    assert found["low"] <= found["share"] <= found["high"]
    assert rows["alltoall", 8, "test"]["share"] == pytest.approx(0.9, abs=0.03)
    first, second = view.claimed("answer")
    assert (first["id"], first["subject"], second["subject"]) == (
        "overlap.hidden",
        *(("alltoall", "bcast") if share < 0.99 else (first["subject"], second["subject"])),
    )
    remedies = {claim["id"]: extras(claim) for claim in view.claimed("remedy")}
    assert ("overlap.next" in remedies) == (share < 0.5)
    if remedies:
        assert remedies["overlap.next"]["knob"] == "OMPI_MCA_btl_tcp_progress_thread=1"
    assert all(say(claim).value for claim in view.claims if claim["id"].startswith("overlap."))
    assert {row.id for row in card_rows(view.claims)} >= {"overlap.hidden", "overlap.test"}


@pytest.mark.parametrize("further", [None, "wrong", "oversubscribed", "kernel"])
def test_shares_in_turns_survive_launches_that_differ_and_no_other_doubt(tmp_path: Path, further: Doubt | None) -> None:
    """Of a run on a busy host, one launch of 355 times the others, no share was given and nothing advised."""
    run = make_plain_run(tmp_path / "run", OVERLAP, lambda op: 2e-5 if op.endswith("hidden") else 1e-5)
    load_view(run)
    varied = QualityRow(
        doubt="launches", grade="D", count=2, of=6, share=1 / 3, noun="row", worst=355.0, launches=10, turns=""
    )
    quality = [varied, *([] if further is None else [QualityRow(**{**varied, "doubt": further, "grade": "C"})])]
    QUALITY.write(run, quality)
    known = Known(run, plan_of(RunFolder(run)), [])
    judged = judge(find_overlaps(known, OVERLAPS.read(run)), quality)
    if further:
        assert {(claim["id"], say(claim).label) for claim in judged} == {("overlap.inconclusive", "Inconclusive")}
        return
    assert {claim["confidence"] for claim in judged} == {"B"}
    assert {"overlap.hidden", "overlap.test", "overlap.next"} <= {claim["id"] for claim in judged}


@pytest.mark.parametrize(
    ("value", "ends", "text"),
    [
        (-0.12, (-0.19, -0.055), "nothing hidden, 12 % longer (5.5–19 %)"),
        (-0.12, (-0.2, 0.014), "nothing hidden (at most 1.4 %)"),
        (0.0, (-0.01, 0.01), "nothing hidden (at most 1 %)"),
        (0.2, (-0.05, 0.44), "20 % hidden (-5–44 %)"),  # "nothing hidden (at most 44 %)"
        (0.12, (0.1, 0.2), "12 % hidden (10–20 %)"),
    ],
)
def test_a_share_below_nothing_is_told_as_what_it_costs(value: float, ends: tuple[float, float], text: str) -> None:
    claim = make_claim("overlap.hidden", "answer", "allreduce", value, "share", ends, bytes=8, alone_s=1e-6)
    assert say(claim).value == f"MPI_Iallreduce, 8 B: {text}"


@pytest.mark.parametrize(
    ("thread", "slower"),
    [
        ({"alone_s": 1.1e-5, "low": 0.0, "high": 0.2}, None),
        ({"alone_s": 2e-3, "low": -0.5, "high": 0.7}, 200.0),
        ({"alone_s": 2e-3, "low": 0.0, "high": 0.2}, 200.0),
        ({"alone_s": 1.1e-5, "low": 0.0, "high": 0.2, "nodes": 4}, 0.0),
        ({"alone_s": 2e-3, "low": 0.0, "high": 0.2, "nodes": 4}, 0.0),  # of other nodes: says nothing here
        ({"alone_s": 1.1e-5, "low": -0.5, "high": 0.7}, 0.0),  # unknown whether it helps
    ],
)
def test_a_thread_that_shares_the_cores_of_the_ranks_is_advised_with_a_core_of_its_own(
    tmp_path: Path, thread: dict[str, float], slower: float | None
) -> None:
    """Two ranks of MPICH and their threads on two cores took 26 ms for 9 us, and were advised to use the thread."""
    run = make_plain_run(tmp_path / "run", OVERLAP, lambda op: 2e-5 if op.endswith("hidden") else 1e-5)
    load_view(run)
    rows = OVERLAPS.read(run)
    for row in list(rows):
        rows.append(OverlapRow(**{**row, "thread": True, "share": 0.1, **thread}))
    claims = find_overlaps(Known(run, plan_of(RunFolder(run)), []), rows)
    (advice,) = (extras(claim) for claim in claims if claim["id"] == "overlap.next")
    assert bool(advice.get("knob")) == (slower is not None)
    assert advice.get("slower", 0) == pytest.approx(slower or 0, rel=0.02)


@pytest.mark.parametrize(("ends", "polls"), [((0.0, 0.2), False), ((-0.5, 0.9), True), ((0.3, 0.6), True)])
def test_polling_is_advised_unless_it_is_known_not_to_help(
    tmp_path: Path, ends: tuple[float, float], polls: bool
) -> None:
    run = make_plain_run(tmp_path / "run", OVERLAP, lambda op: 2e-5 if op.endswith("hidden") else 1e-5)
    load_view(run)
    rows = [
        OverlapRow(**{**row, "low": ends[0], "high": ends[1]}) if row["way"] == "test" else row
        for row in OVERLAPS.read(run)
    ]
    claims = find_overlaps(Known(run, plan_of(RunFolder(run)), []), rows)
    (advice,) = (extras(claim) for claim in claims if claim["id"] == "overlap.next")
    assert advice["polls"] is polls


def test_a_library_without_a_thread_is_advised_to_poll() -> None:
    """Under Open MPI on one node the page of an overlap run ended with KeyError: 'knob'."""
    claim = make_claim("overlap.next", "remedy", "alltoall", knob="", polls=True, unknown=True)
    assert "MPI_Test" in say(claim).value
    assert say(claim).value.endswith("no progress thread is known for this library")


def test_a_share_that_scatters_is_not_claimed_and_the_largest_size_that_is_known_is(tmp_path: Path) -> None:
    make_plain_run(tmp_path / "run", OVERLAP, lambda op: 2e-5 if op.endswith("hidden") else 1e-5)
    load_view(tmp_path / "run")
    known = Known(tmp_path / "run", plan_of(RunFolder(tmp_path / "run")), [])
    rows = OVERLAPS.read(tmp_path / "run")
    for least, answers in ((64 * 2**10, [8, 8]), (0, None)):
        for row in rows:
            if row["bytes"] >= least:
                row["share"], row["low"], row["high"] = -13.0, -22.0, -4.0
        claims = find_overlaps(known, rows)
        found = [extras(claim)["bytes"] for claim in claims if claim["kind"] == "answer" and answers]
        assert found == (answers or [])
        assert (claims[0]["id"] == "overlap.inconclusive") == (answers is None)
        assert all((claim["value"] or 0) > -1 for claim in claims)


@pytest.mark.parametrize("other", [0.05, 0.95])
def test_of_several_series_at_one_size_the_one_that_hides_least_is_told(tmp_path: Path, other: float) -> None:
    run = make_plain_run(tmp_path / "run", OVERLAP, lambda op: 2e-5 if op.endswith("hidden") else 1e-5)
    load_view(run)
    waits = [row for row in OVERLAPS.read(run) if row["way"] == "wait"]
    rows = [OverlapRow(**{**row, "low": share - 0.01, "high": share + 0.01, "share": share, "nodes": nodes})
            for nodes, share in ((1, 0.5), (2, other)) for row in waits]  # fmt: skip
    claims = find_overlaps(Known(run, plan_of(RunFolder(run)), []), rows)
    assert {claim["value"] for claim in claims if claim["kind"] == "answer"} == {min(0.5, other)}
