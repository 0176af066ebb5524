# SPDX-License-Identifier: BSD-3-Clause
"""``weft check`` from its rounds to its exit code, on a made machine of 32 nodes."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from made.check_run import MadeCheck
from weft.analyse.claims.kernels.pairs import is_shown_by
from weft.analyse.outliers.matched import matched_rounds
from weft.analyse.tables.answers import FINDINGS
from weft.analyse.tables.claims import CLAIMS, claims_of, extras
from weft.cli.check import check
from weft.errors import PathError, StudyError, WeftError
from weft.fabric import Fabric, load_fabric
from weft.format import times_text
from weft.kernel.pairs.matchings import Round, draw_matchings
from weft.plan.stored import plan_of
from weft.report.card import card_of
from weft.report.figures import Picture
from weft.report.view import load_view
from weft.run.check import Asked, check_study, clear_exclude, exit_code, plan_second, run_check, tables_s, write_exclude
from weft.run.one import plan_study
from weft.run.progress import Progress
from weft.run.refresh import make_tables, stale
from weft.store.folder import RunFolder
from weft.units import parse_bytes

FABRIC = """\
name = "made"
kind = "slurm"
[node]
names = "n[0-31]"
cores = 2
sockets = 2
memory = "8 GiB"
[network]
topology = "fat-tree"
adapter_rate = "1 GB/s"
[network.tree]
nodes_per_leaf = 8
uplinks = 8
link_rate = "1 GB/s"
"""
SLOW = {("cable", "leaf1 - spine2"): 4.6, ("node", "n5"): 1.31}


@pytest.fixture
def fabric(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fabric:
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    (tmp_path / "made.toml").write_text(FABRIC)
    return load_fabric(tmp_path / "made.toml")


def checked(launcher: MadeCheck, path: Path) -> RunFolder:
    return run_check(launcher.fabric, Asked(), launcher, Progress(), path / "run")


def test_a_check_draws_the_rounds_of_its_first_pass_once(fabric: Fabric, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a network computes of itself while rounds are drawn made it another network: half of the draws were lost."""
    drawn: list[int] = []

    def count(*given: Any, **how: Any) -> list[Round]:
        drawn.append(1)
        return draw_matchings(*given, **how)

    monkeypatch.setattr("weft.kernel.pairs.plan.draw_matchings", count)
    plan_study(check_study(fabric, Asked()), fabric, str)
    assert len(drawn) == 1


@pytest.mark.parametrize("left_s", [30.0, 0.0])
def test_a_check_draws_the_rounds_of_its_second_pass_once(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, left_s: float
) -> None:
    """Where little time was left, eight were drawn to see that three fit: 0.5 s of a processor at 1,024 nodes."""
    folder, drawn = checked(MadeCheck(fabric, [{}]), tmp_path), list[int]()

    def count(*given: Any, **how: Any) -> list[Round]:
        drawn.append(1)
        return draw_matchings(*given, **how)

    monkeypatch.setattr("weft.kernel.pairs.plan.draw_matchings", count)
    plan_study(plan_second(folder, fabric, ["n3"], left_s), fabric, str)
    assert len(drawn) == 1


def test_slow_parts_are_named_excluded_and_shown_again(fabric: Fabric, tmp_path: Path) -> None:
    launcher = MadeCheck(fabric, [SLOW])
    folder = checked(launcher, tmp_path)
    answers = claims_of(CLAIMS.read(folder.path), "answer")
    assert [(each["id"], extras(each)["of"], each["subject"]) for each in answers] == [
        ("check.not-healthy", "cable", "leaf1 - spine2"),
        ("check.also", "node", "n5"),
    ]
    for each, factor in zip(answers, (4.6, 1.31), strict=True):
        assert each["value"] == pytest.approx(factor, rel=0.01)
        assert (each["low"] or 0.0) < (each["value"] or 0.0) < (each["high"] or 0.0)
    assert exit_code(folder) == 3
    assert write_exclude(folder, tmp_path / "exclude") == 1
    assert (tmp_path / "exclude").read_text() == "n5\n"
    card = card_of(load_view(folder.path))
    assert [row.id for row in card.rows] == [
        "check.not-healthy", "check.also", "start.mpi", "check.next", "confidence"
    ]  # fmt: skip
    assert card.rows[3].value.startswith("sbatch --exclude=n5")
    view = load_view(folder.path)
    tree, matrix = view.story.proof(view, view.story.figures(view))
    assert isinstance(tree, Picture) and isinstance(matrix, Picture)
    assert tree.svg.count('class="hot"') == 1
    assert f">{times_text(answers[0]['value'])}<" in tree.svg
    assert matrix.svg.count('class="frame"') == 2  # row and column of n5
    assert not stale(folder)
    make_tables(folder)  # as weft show does after an upgrade
    assert card_of(load_view(folder.path)).rows == card.rows


def test_a_healthy_machine_needs_no_second_pass(fabric: Fabric, tmp_path: Path) -> None:
    launcher = MadeCheck(fabric, [{}])
    folder = checked(launcher, tmp_path)
    assert [each["id"] for each in claims_of(CLAIMS.read(folder.path), "answer")] == ["check.healthy"]
    assert exit_code(folder) == 0
    assert len(launcher.passes) == 1
    # that few pairs are measured is what a check is: the terminal advised to measure more
    assert "sample" not in {row["rule"] for row in FINDINGS.read(folder.path)}


def reserved(path: Path, uplinks: int, rate: str) -> Fabric:
    text = FABRIC.replace("uplinks = 8", f"uplinks = {uplinks}").replace('link_rate = "1', f'link_rate = "{rate}')
    (path / "reserved.toml").write_text(text)
    return load_fabric(path / "reserved.toml")


def test_parallel_switches_that_are_one_are_named_as_one(fabric: Fabric, tmp_path: Path) -> None:
    """Of a virtual fabric, whose bridges carry trees: one of the cables that make a link was named."""
    text = FABRIC.replace("slurm", "virtual").replace("uplinks = 8", "uplinks = 2").replace("1 GB", "4 MB")
    (tmp_path / "virtual.toml").write_text(text)
    launcher = MadeCheck(load_fabric(tmp_path / "virtual.toml"), [{("cable", "leaf1 - spine"): 2.0}])
    answers = claims_of(CLAIMS.read(checked(launcher, tmp_path).path), "answer")
    assert [(extras(each)["of"], each["subject"]) for each in answers] == [("cable", "leaf1 - spine")]


@pytest.mark.parametrize("uplinks", [4, 3])  # of 3 each second message has its cable for itself
def test_a_cable_of_twice_a_nodes_rate_is_named_where_it_carries_two_messages(
    fabric: Fabric, tmp_path: Path, uplinks: int
) -> None:
    """Messages that do not fill it are as fast as ever, and spoke for it: it was healthy."""
    slow = {("cable", "leaf1 - spine2"): 1.6}
    folder = checked(MadeCheck(reserved(tmp_path, uplinks, "2"), [slow]), tmp_path)
    answers = claims_of(CLAIMS.read(folder.path), "answer")
    assert [(extras(each)["of"], each["subject"]) for each in answers] == [("cable", "leaf1 - spine2")]
    assert answers[0]["value"] == pytest.approx(1.6, rel=0.02)
    assert "start.cables" not in {each["id"] for each in CLAIMS.read(folder.path)}  # all are filled


def test_a_healthy_machine_says_what_cables_that_no_message_fills_may_hide(fabric: Fabric, tmp_path: Path) -> None:
    folder = checked(MadeCheck(reserved(tmp_path, 4, "4"), [{("cable", "leaf1 - spine2"): 1.6}]), tmp_path)
    (said,) = [each for each in CLAIMS.read(folder.path) if each["id"] == "start.cables"]
    more = extras(said)
    assert (said["value"], more["crossed"], more["reserve"], more["filled"]) == (16, 16, 16, 0.5)
    assert more["shown"] == pytest.approx(2.2)
    assert exit_code(folder) == 0
    slower = checked(MadeCheck(reserved(tmp_path, 4, "4"), [{("cable", "leaf1 - spine2"): 3.0}]), tmp_path / "slower")
    assert [each["subject"] for each in claims_of(CLAIMS.read(slower.path), "answer")] == ["leaf1 - spine2"]


def test_a_check_is_printed_without_what_draws(fabric: Fabric, tmp_path: Path) -> None:
    """Its page is drawn on request: imports of drawing were a sixth of its processor time."""
    folder = checked(MadeCheck(fabric, [{}]), tmp_path)
    code = f"""
import sys
from pathlib import Path
from weft.run.check import print_check
from weft.store.folder import RunFolder
print_check(RunFolder(Path({str(folder.path)!r})), "text")
assert not {{"altair", "PIL", "vl_convert"}} & set(sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Healthy" in done.stdout


def test_a_node_that_is_slow_alone_is_named(fabric: Fabric, tmp_path: Path) -> None:
    folder = checked(MadeCheck(fabric, [{}], reports={"n3": {"copy_ns": 720_000}}), tmp_path)
    answers = claims_of(CLAIMS.read(folder.path), "answer")
    assert [(each["id"], each["subject"], extras(each)["of"]) for each in answers] == [
        ("check.not-healthy", "n3", "memory")
    ]
    assert exit_code(folder) == 3
    assert "n3" in card_of(load_view(folder.path)).rows[0].value
    assert write_exclude(folder, tmp_path / "exclude") == 1


@pytest.mark.parametrize(("report", "of"), [({"copy_ns": 720_000}, "memory"), ({"waited_ns": 6 * 10**8}, "waiting")])
def test_a_host_that_slows_its_own_messages_is_no_network_fault(
    fabric: Fabric, tmp_path: Path, report: dict[str, int], of: str
) -> None:
    """Its slow messages came first, and the fault of its memory after them."""
    launcher = MadeCheck(fabric, [{("node", "n3"): 1.5}], reports={"n3": report})
    folder = checked(launcher, tmp_path)
    answers = claims_of(CLAIMS.read(folder.path), "answer")
    assert [(each["subject"], extras(each)["of"]) for each in answers] == [("n3", of), ("n3", "node")]
    assert len(launcher.passes) == 1  # the second pass of a slow processor took a check of 30 s to 48 s
    assert answers[0]["id"] == "check.not-healthy"
    (remedy,) = [each for each in CLAIMS.read(folder.path) if each["id"] == "check.next"]
    assert (extras(remedy)["of"], extras(remedy)["exclude"]) == (of, ["n3"])


def test_a_slow_part_beside_a_slow_host_has_its_second_pass(fabric: Fabric, tmp_path: Path) -> None:
    slow: dict[tuple[str, str], float] = {("node", "n3"): 1.5, ("node", "n9"): 1.5}
    launcher = MadeCheck(fabric, [slow], reports={"n3": {"loop_ns": 400_000}})
    folder = checked(launcher, tmp_path)
    assert len(launcher.passes) == 2
    assert {each["subject"] for each in claims_of(CLAIMS.read(folder.path), "answer")} == {"n3", "n9"}


def test_a_part_that_cannot_be_told_from_a_slow_host_is_explained_by_it() -> None:
    """On eight hosts the cable above a slow processor was taken for a network fault."""
    assert is_shown_by("n3", (), {"n3"})
    assert is_shown_by("leaf1 - spine0", ("leaf1", "node n3"), {"n3"})
    assert not is_shown_by("leaf1 - spine0", ("node n4",), {"n3"})


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_nodes_of_a_simulator_report_nothing(fabric: Fabric, tmp_path: Path) -> None:
    """NumPy warned of the mean of an empty slice."""
    folder = checked(MadeCheck(fabric, [{}], is_model=True), tmp_path)
    assert [each["id"] for each in claims_of(CLAIMS.read(folder.path), "answer")] == ["check.healthy"]


def test_a_check_that_a_kernel_refused_says_why(fabric: Fabric, tmp_path: Path) -> None:
    """64 nodes that share a host had too little memory, and the card said only that no pair had been measured."""
    folder = checked(MadeCheck(fabric, [{}], refused="n0 needs 8 bytes"), tmp_path)
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert (answer["id"], exit_code(folder)) == ("check.inconclusive", 1)
    assert "n0 needs 8 bytes" in extras(answer)["why"]
    assert "n0 needs 8 bytes" in card_of(load_view(folder.path)).rows[0].note


def test_the_second_pass_takes_what_is_left_of_the_time(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = checked(MadeCheck(fabric, [{}]), tmp_path)  # 32 operations took 1 s

    def second(left_s: float) -> tuple[int, float]:
        return planned(folder, fabric, left_s)

    long, short = second(30.0), second(0.0)
    assert long[0] == 8
    assert 2 * 8 * long[1] == pytest.approx(30, rel=0.01)
    assert short[0] == 3
    assert 2 * short[1] == pytest.approx(1 / 16, rel=0.01)  # each as long as one of the first pass, in any case
    rounds, budget_s = second(0.4)
    assert 3 < rounds < 8
    assert 2 * rounds * budget_s == pytest.approx(0.4, rel=0.01)
    # the wait of the first job in a queue is in no budget of its samples
    assert second(-600.0) == (3, pytest.approx(1 / 32, rel=0.01))
    monkeypatch.setattr("weft.fabric.model.Fabric.runs_here", True)
    assert second(-600.0) == (3, pytest.approx(1 / 96, rel=0.01))  # where nothing waits, in time


def planned(folder: RunFolder, fabric: Fabric, left_s: float, aim: str = "n3") -> tuple[int, float]:
    """Rounds of a second pass, divided ones by themselves, and the seconds of one at one size."""
    study = plan_second(folder, fabric, [aim], left_s)
    return len(matched_rounds(plan_study(study, fabric, str))), study.measure.budget


@pytest.mark.parametrize("left_s", [30.0, 0.7])
def test_a_second_pass_that_is_divided_more_is_in_time_too(tmp_path: Path, left_s: float) -> None:
    """16 matchings of the first pass are 30 rounds, but 8 that aim at a cable 21, and 42 s were planned for 30 s."""
    narrow = FABRIC.replace("nodes_per_leaf = 8", "nodes_per_leaf = 4").replace("uplinks = 8", "uplinks = 2")
    (tmp_path / "made.toml").write_text(narrow.replace("[0-31]", "[0-63]"))
    fabric = load_fabric(tmp_path / "made.toml")
    folder = checked(MadeCheck(fabric, [{}]), tmp_path)
    rounds, budget_s = planned(folder, fabric, left_s, "leaf1 - spine1")
    assert rounds == 21 or left_s < 30
    assert 2 * rounds * budget_s == pytest.approx(left_s, rel=0.01)


def test_the_tables_of_a_busy_host_take_longer(fabric: Fabric, tmp_path: Path) -> None:
    """A check of 30 s took 34 s: the time left for its tables was that of an idle host."""
    plan = plan_of(checked(MadeCheck(fabric, [{}]), tmp_path))
    assert tables_s(plan, 0.5, 0.5) == pytest.approx(2.5, abs=0.1)
    assert tables_s(plan, 2.0, 0.5) == pytest.approx(4 * tables_s(plan, 0.5, 0.5))
    assert tables_s(plan, 0.1, 0.5) == tables_s(plan, 0.5, 0.5)  # several threads
    # a slow file system is no slow processor; beside eight busy processes on two cores a check of 30 s took 38.6 s
    assert tables_s(plan, 20.0, 0.5) == tables_s(plan, 3.0, 0.5) == pytest.approx(6 * tables_s(plan, 0.5, 0.5))


def test_the_second_pass_of_few_nodes_is_in_time_too(fabric: Fabric, tmp_path: Path) -> None:
    """Eight nodes have seven rounds of the sixteen that were asked for: their second pass took twice its time."""
    folder = run_check(fabric, Asked(nodes="n[0-7]"), MadeCheck(fabric, [{}]), Progress(), tmp_path / "run")
    rounds, budget_s = planned(folder, fabric, 30.0)
    assert rounds == 7
    assert 2 * rounds * budget_s == pytest.approx(30, rel=0.01)


def test_too_few_rounds_do_not_tell_that_a_machine_is_healthy(fabric: Fabric, tmp_path: Path) -> None:
    folder = checked(MadeCheck(fabric, [{}], ends_after=5), tmp_path)
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert answer["id"] == "check.inconclusive"
    assert extras(answer)["rounds"] == 5
    again = "weft check --on {run}/fabric.toml --ranks-per-node 1 --time 60s"  # of a name no file was found
    assert answer["next"] == again
    rows = card_of(load_view(folder.path)).rows
    assert rows[1].value == again.replace("{run}", str(folder.path))
    assert "5 of 16 rounds" in rows[0].note
    assert exit_code(folder) == 1


@pytest.mark.parametrize(("time", "twice"), [("40s", "80s"), ("5min", "600s")])
def test_a_check_whose_time_was_over_advises_twice_its_own(
    fabric: Fabric, tmp_path: Path, time: str, twice: str
) -> None:
    asked = Asked(nodes="n[0-15]", time=time)
    folder = run_check(fabric, asked, MadeCheck(fabric, [{}], ends_after=5), Progress(), tmp_path / "run")
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert answer["next"] == f"weft check --on {{run}}/fabric.toml --nodes 'n[0-15]' --ranks-per-node 1 --time {twice}"


def test_nodes_that_all_differ_much_do_not_tell_that_a_machine_is_healthy(fabric: Fabric, tmp_path: Path) -> None:
    """A simulated dragonfly was healthy with a cable at a quarter of its rate: its messages differed by half."""
    folder = checked(MadeCheck(fabric, [{}], sigma=1.2), tmp_path)
    (answer,) = claims_of(CLAIMS.read(folder.path), "answer")
    assert (answer["id"], extras(answer)["within"]) == ("check.inconclusive", 0.5)
    assert answer["next"] == "weft run pairs --on {run}/fabric.toml"
    far = extras(answer)["far"]
    assert 32 / 20 < far < 32
    assert f"{far} of 32 nodes over 30 %" in card_of(load_view(folder.path)).rows[0].note
    assert exit_code(folder) == 1


TREE_OF_PODS = FABRIC.replace("nodes_per_leaf = 8", "nodes_per_leaf = 4\nleaves_per_pod = 4\npod_uplinks = 8")


@pytest.mark.parametrize(
    ("nodes", "text", "slow", "lone"),
    [("n[0-1]", FABRIC, "n1", 2), ("n[0,8,16]", TREE_OF_PODS, "n16", 1), ("n[0,8,16]", FABRIC, "n16", 0)],
    ids=["two nodes", "one in another pod", "three leaves"],
)
def test_a_node_that_nothing_is_compared_with_is_not_healthy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nodes: str, text: str, slow: str, lone: int
) -> None:
    """Two nodes were healthy, one of them at half the rate."""
    monkeypatch.delenv("SLURM_JOB_NODELIST", raising=False)
    (tmp_path / "made.toml").write_text(text)
    fabric = load_fabric(tmp_path / "made.toml")
    for number, part in enumerate(({("node", slow): 2.0}, {})):
        folder = run_check(fabric, Asked(nodes=nodes), MadeCheck(fabric, [part]), Progress(), tmp_path / f"run{number}")
        answer = claims_of(CLAIMS.read(folder.path), "answer")[0]
        if lone:
            assert (exit_code(folder), extras(answer)["lone"]) == (1, lone)
            assert f"{lone} of {extras(answer)['nodes']} nodes without" in card_of(load_view(folder.path)).rows[0].note
        else:
            assert (exit_code(folder), answer["subject"]) == ((3, slow) if part else (0, ""))


@pytest.mark.parametrize("slow", [{}, SLOW])
def test_what_nodes_say_of_themselves_stays_where_the_kernel_warned(
    fabric: Fabric, tmp_path: Path, slow: dict[tuple[str, str], float]
) -> None:
    """MPI's start was not reported where the kernel warned of its samples."""
    launcher = MadeCheck(fabric, [slow], warnings=["the time ended after 4 of 9 rounds"],
                         reports={"n7": {"kernel": "5.9.0"}})  # fmt: skip
    folder = checked(launcher, tmp_path)
    facts = claims_of(CLAIMS.read(folder.path), "breakdown")
    assert [each["id"] for each in facts] == ["start.mpi", "start.kernel"]
    shown = [row.id for row in card_of(load_view(folder.path)).rows]
    assert ("start.mpi" in shown) == bool(slow)  # the card of an open answer has its reasons alone


def test_under_a_slow_leaf_switch_its_nodes_are_left_out(fabric: Fabric, tmp_path: Path) -> None:
    folder = checked(MadeCheck(fabric, [{("switch", "leaf2"): 1.5}]), tmp_path)
    answers = claims_of(CLAIMS.read(folder.path), "answer")
    assert [(extras(each)["of"], each["subject"]) for each in answers] == [("switch", "leaf2")]
    assert write_exclude(folder, tmp_path / "exclude") == 8
    assert (tmp_path / "exclude").read_text().split() == [f"n{i}" for i in range(16, 24)]


def test_what_only_the_first_pass_saw_is_not_named(fabric: Fabric, tmp_path: Path) -> None:
    launcher = MadeCheck(fabric, [{("node", "n9"): 1.6}, {}])
    folder = checked(launcher, tmp_path)
    assert len(launcher.passes) == 2
    assert exit_code(folder) == 0


def test_a_file_for_slow_nodes_that_cannot_be_written_is_a_mistake_before_anything_is_measured(tmp_path: Path) -> None:
    """Its folder was missing: the check ended without a verdict after its half minute."""
    (tmp_path / "slow").write_text("n1\n")
    clear_exclude(tmp_path / "slow")
    assert not list(tmp_path.iterdir())  # an earlier check's names are not this one's
    with pytest.raises(PathError) as caught:
        clear_exclude(tmp_path / "no" / "slow")
    assert caught.value.exit_code == 2


def _launch_with(monkeypatch: pytest.MonkeyPatch, launcher: MadeCheck) -> None:
    def made(*_: object, **__: object) -> MadeCheck:
        return launcher

    monkeypatch.setattr("weft.launch.launcher_for", made)


def test_names_of_slow_nodes_are_written_before_anything_is_printed(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """``weft check --exclude-file slow.txt | head -1`` left an empty file."""
    slow = tmp_path / "slow"

    def closed(*_: object) -> None:
        raise BrokenPipeError

    _launch_with(monkeypatch, MadeCheck(fabric, [SLOW]))
    monkeypatch.setattr("weft.run.check.print_check", closed)
    with pytest.raises(BrokenPipeError):
        check(on=str(tmp_path / "made.toml"), exclude_file=slow, into=tmp_path / "run")
    assert slow.read_text() == "n5\n"


def test_a_check_without_an_answer_leaves_no_file_that_says_no_node_is_slow(
    fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow, made = tmp_path / "slow", str(tmp_path / "made.toml")
    _launch_with(monkeypatch, MadeCheck(fabric, [{}], ends_after=5))
    slow.write_text("n1\n")
    with pytest.raises(WeftError):
        check(on="no-such-fabric", exclude_file=slow)
    with pytest.raises(StudyError):
        check(on=made, nodes="n[0", exclude_file=slow)
    assert check(on=made, build=True, exclude_file=slow) == 0
    assert slow.read_text() == "n1\n"  # a mistake and --build change nothing
    assert check(on=made, exclude_file=slow, into=tmp_path / "run") == 1
    assert not slow.exists()


def test_ranks_that_do_not_start_leave_the_answer_open(fabric: Fabric, tmp_path: Path) -> None:
    folder = checked(MadeCheck(fabric, [SLOW]), tmp_path)
    for path in (*folder.cells.iterdir(), *folder.again.rglob("cells/*")):
        path.unlink()
    make_tables(folder)
    assert exit_code(folder) == 1


def test_large_messages_are_sent_in_parts_over_tcp_alone(fabric: Fabric) -> None:
    """Healthy virtual hosts could not be told: either direction waited behind the other's data, now this, now that."""
    sections = [
        check_study(each, Asked()).model_dump()["pairs"] for each in (fabric, load_fabric("virtual-slow-cable"))
    ]
    assert [each["part"] for each in sections] == [None, "61440 B"]
    assert parse_bytes(sections[1]["bytes"][1]) > 60 * 1024


def test_the_study_follows_what_is_asked(fabric: Fabric, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_study(fabric, Asked()).series[0].nodes == (32,)
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[8-15]")  # inside an allocation
    assert check_study(fabric, Asked()).placement.nodes == "n[8-15]"
    assert check_study(fabric, Asked(nodes="n[0-3]", ranks_per_node="socket")).series[0].ranks_per_node == (2,)
    budgets = [check_study(fabric, Asked(time=each)).measure.budget for each in ("10s", "60s")]
    assert budgets[1] == pytest.approx(6 * budgets[0], rel=0.02)
    # eight nodes of one leaf have seven partners each: their rounds share the time of sixteen; half as many uplinks
    # divide those between leaves
    assert check_study(fabric, Asked(nodes="n[0-7]")).measure.budget == pytest.approx(0.35 * 30 / (2 * 7), rel=0.01)
    (tmp_path / "made.toml").write_text(FABRIC.replace("uplinks = 8", "uplinks = 4"))
    narrow = check_study(load_fabric(tmp_path / "made.toml"), Asked(nodes="n[0-31]")).measure.budget
    assert 0.35 * 30 / (2 * 35) < narrow < 0.35 * 30 / (2 * 28)
    for wrong in (
        Asked(nodes="n[0"),
        Asked(nodes="n0"),
        Asked(time="soon"),
        Asked(time="0s"),
        Asked(ranks_per_node="many"),
    ):
        with pytest.raises(StudyError):
            check_study(fabric, wrong)
