# SPDX-License-Identifier: BSD-3-Clause
"""Following jobs: one that an interrupted weft left is found and followed, never submitted twice; ports are counted."""

import shutil
import subprocess
from pathlib import Path

import pytest

from made.batch import MadeUpScheduler, Starter, request
from weft.errors import LaunchError
from weft.fabric.model import BatchSection
from weft.files.atomic import read_json, write_json
from weft.launch.batch import launcher as module
from weft.launch.batch.launcher import BatchLauncher, collect_ports
from weft.launch.batch.scheduler import JobState, Scheduler
from weft.launch.batch.schedulers import Flux, Lsf, Pbs, Slurm
from weft.launch.launcher import LaunchRequest
from weft.store.links import links_file, read_links

SECTION = BatchSection.model_validate({"poll": "1 ms"})
PERFQUERY = """#!/bin/sh
at=$(cat {folder}/count 2>/dev/null || echo 0)
echo "PortXmitDiscards:................$((at / 100))"
echo "PortRcvErrors:...................0"
for name in PortXmitData PortRcvData PortXmitPkts PortRcvPkts; do echo "$name:....$at"; done
[ "$1" = -x ] && echo $((at + 250)) >{folder}/count
exit 0
"""


class Queue(MadeUpScheduler):
    """Runs nothing by itself: each time it is asked after its job, the next of `answers` happens."""

    def __init__(self, folder: Path, answers: str) -> None:
        super().__init__(launches_a_job=9)
        self.folder = folder
        self.answers = list(answers)

    def submit(self, script: Path) -> str:
        """A job that waits."""
        self.submitted += 1
        return str(40 + self.submitted)

    def state(self, job: str) -> JobState:
        """``r`` runs, a digit ends the launch of that number, ``?`` no answer, ``e`` has ended, ``E`` with launch 2."""
        answer = self.answers.pop(0) if self.answers else "e"
        if ended := answer.replace("E", "2").strip("r?e"):
            request(f"c00{ended}.l1", ("n0",), self.folder).file("end").write_text("0 3\n")
        return {"?": JobState.UNKNOWN, "e": JobState.ENDED, "E": JobState.ENDED}.get(answer, JobState.RUNNING)


def requests(folder: Path) -> list[LaunchRequest]:
    (folder / "launches").mkdir(exist_ok=True)
    return [request(f"c00{i}.l1", ("n0",), folder) for i in range(3)]


def launcher(scheduler: Scheduler, said: list[str], **section: bool) -> BatchLauncher:
    return BatchLauncher(
        scheduler, SECTION.model_copy(update=section), "test", Starter(lambda r: ["true"]), {}, said.append
    )


def test_the_job_that_an_interrupted_weft_left_is_followed_to_its_end(tmp_path: Path) -> None:
    said: list[str] = []
    first = Queue(tmp_path, "0rrr")
    walking = launcher(first, said).run(requests(tmp_path))
    assert next(walking).id == "c000.l1"
    walking.close()  # what Ctrl-C does to the walk
    assert {**read_json(tmp_path / "job.json"), "inode": 0} == {
        "scheduler": "slurm", "job": "41", "folder": str(tmp_path), "inode": 0,
    }  # fmt: skip
    assert said[-1] == "slurm job 41 goes on: the same command follows it (--cancel: Ctrl-C ends it)"
    again = Queue(tmp_path, "rr12")
    outcomes = list(launcher(again, said).run(requests(tmp_path)[1:]))
    assert [(outcome.id, outcome.returncode) for outcome in outcomes] == [("c001.l1", 0), ("c002.l1", 0)]
    assert not any(outcome.before for outcome in outcomes)
    assert (first.submitted, again.submitted) == (1, 0)
    assert "following slurm job 41, which an earlier weft left in the queue" in said
    assert not (tmp_path / "job.json").exists()


def test_what_ranks_of_a_followed_job_wrote_before_weft_came_back_is_told_from_what_is_stale(tmp_path: Path) -> None:
    walking = launcher(Queue(tmp_path, "0rrr"), []).run(requests(tmp_path))
    next(walking)
    walking.close()
    requests(tmp_path)[1].file("end").write_text("139 3\n")  # crashed while no weft looked
    outcomes = list(launcher(Queue(tmp_path, "rr2"), []).run(requests(tmp_path)[1:]))
    assert [(outcome.returncode, outcome.before) for outcome in outcomes] == [(139, True), (0, False)]


class Cancelled(Queue):
    """A queue out of which somebody takes the job."""

    def was_cancelled(self, job: str) -> bool:
        """Always."""
        return True


def test_a_cancelled_job_ends_weft_and_nothing_is_submitted_in_its_place(tmp_path: Path) -> None:
    queue, said = Cancelled(tmp_path, "r01e"), list[str]()
    walking = launcher(queue, said).run(requests(tmp_path))
    assert [next(walking).id, next(walking).id] == ["c000.l1", "c001.l1"]
    with pytest.raises(LaunchError, match="slurm job 41 was cancelled") as caught:
        next(walking)
    assert "the same command" in caught.value.remedy
    assert queue.submitted == 1
    assert not (tmp_path / "job.json").exists()


def test_a_job_that_is_cancelled_after_its_last_launch_is_no_error(tmp_path: Path) -> None:
    queue = Cancelled(tmp_path, "r012e")
    assert len(list(launcher(queue, []).run(requests(tmp_path)))) == 3


def test_what_a_cancelled_job_ended_last_is_taken_first(tmp_path: Path) -> None:
    """Its last launch ended between the last look and the cancelling."""
    assert len(list(launcher(Cancelled(tmp_path, "r01E"), []).run(requests(tmp_path)))) == 3


def on_path(folder: Path, monkeypatch: pytest.MonkeyPatch, **commands: str) -> None:
    """Put shell scripts before all other commands."""
    (folder / "bin").mkdir(exist_ok=True)
    for name, text in commands.items():
        (folder / "bin" / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:/usr/bin:/bin")


@pytest.mark.parametrize(
    "scheduler, commands, cancelled",
    [
        (Slurm(), {"scontrol": "echo '   JobState=CANCELLED Reason=None'"}, True),
        (Slurm(), {"scontrol": "echo '   JobState=TIMEOUT Reason=TimeLimit'", "sacct": "echo CANCELLED"}, False),
        (Slurm(), {"scontrol": "echo Invalid job id >&2; exit 1", "sacct": "echo ' CANCELLED by 0 '"}, True),
        (Slurm(), {"scontrol": "exit 1", "sacct": "echo accounting storage is disabled >&2; exit 1"}, False),
        (Lsf(), {"bjobs": "echo TERM_OWNER: job killed by owner."}, True),
        (Lsf(), {"bjobs": "echo TERM_RUNLIMIT: job killed after reaching LSF run time limit."}, False),
        (Flux(), {"flux": "echo CANCELED"}, True),
        (Flux(), {"flux": "echo TIMEOUT"}, False),
        (Pbs(), {"qstat": "echo Exit_status = 271"}, False),
    ],
)  # fmt: skip
def test_a_scheduler_tells_a_cancelled_job_from_one_at_its_time_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scheduler: Scheduler, commands: dict[str, str], cancelled: bool
) -> None:
    on_path(tmp_path, monkeypatch, **commands)
    assert scheduler.was_cancelled("7") is cancelled


def test_bsub_reads_the_script_from_its_input_where_its_options_are_always_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = tmp_path / "job.lsf.sh"
    script.write_text("#BSUB -W 5\n")
    on_path(tmp_path, monkeypatch, bsub='[ $# = 0 ] && grep -q "^#BSUB -W 5" && echo "Job <12> is submitted"')
    assert Lsf().submit(script) == "12"


def test_a_left_job_that_has_ended_meanwhile_is_taken_up_by_a_new_one(tmp_path: Path) -> None:
    todo = requests(tmp_path)
    write_json(tmp_path / "job.json", {"scheduler": "slurm", "job": "7"})
    todo[0].file("end").write_text("1 3\n")  # it failed there, and is asked for again
    queue = Queue(tmp_path, "eer012")
    outcomes = list(launcher(queue, []).run(todo))
    assert [outcome.returncode for outcome in outcomes] == [0, 0, 0]
    assert queue.submitted == 1


def test_a_left_job_is_cancelled_on_ctrl_c_where_that_is_asked(tmp_path: Path) -> None:
    write_json(tmp_path / "job.json", {"scheduler": "slurm", "job": "7"})
    queue, said = Queue(tmp_path, "rr0r"), list[str]()
    walking = launcher(queue, said, cancel_on_interrupt=True).run(requests(tmp_path))
    next(walking)
    walking.close()
    assert queue.cancelled == ["7"]
    assert said[-1] == "cancelled slurm job 7"
    assert not (tmp_path / "job.json").exists()


def test_a_job_that_brought_everything_is_not_cancelled(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "012rrr")
    assert len(list(launcher(queue, [], cancel_on_interrupt=True).run(requests(tmp_path)))) == 3
    assert queue.cancelled == []
    assert not (tmp_path / "job.json").exists()


def test_a_scheduler_that_gives_no_answer_for_a_while_costs_no_second_job(tmp_path: Path) -> None:
    queue = Queue(tmp_path, "r0??1??2")
    assert [outcome.returncode for outcome in launcher(queue, []).run(requests(tmp_path))] == [0, 0, 0]
    assert queue.submitted == 1


def test_a_scheduler_that_stays_silent_is_given_up_and_the_job_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SILENT_S", 0.02)
    with pytest.raises(LaunchError, match=r"has not reported on job 41(?s:.*)follows the job again"):
        list(launcher(Queue(tmp_path, "r" + "?" * 10_000), []).run(requests(tmp_path)))
    assert read_json(tmp_path / "job.json")["job"] == "41"


def test_a_copy_of_a_folder_does_not_follow_the_job_of_the_original(tmp_path: Path) -> None:
    """It waited for the job of the other run, cancelled it on Ctrl-C, and then called its launches lost."""
    original, copy = tmp_path / "run", tmp_path / "copy"
    original.mkdir()
    walking = launcher(Queue(original, "0rrr"), []).run(requests(original))
    next(walking)
    walking.close()
    shutil.copytree(original, copy)
    queue = Queue(copy, "rrr012")
    assert len(list(launcher(queue, [], cancel_on_interrupt=True).run(requests(copy)))) == 3
    assert (queue.submitted, queue.cancelled) == (1, [])
    moved = original.rename(tmp_path / "moved")
    queue = Queue(moved, "rr012")
    assert len(list(launcher(queue, []).run(requests(moved)))) == 3
    assert queue.submitted == 0


@pytest.mark.parametrize("text", ["", "0", "0 x\n", "-1 3\n", "0 3 4\n", "9" * 5000 + " 1\n"])
def test_an_end_that_cannot_be_read_loses_that_launch_alone(text: str, tmp_path: Path) -> None:
    """On a full disk the job left an empty one, which ended weft with a traceback."""
    todo = requests(tmp_path)
    todo[0].file("end").write_text(text)
    outcome = module.read_end(todo[0])
    assert outcome is not None
    assert outcome.returncode == module.LOST


@pytest.mark.parametrize(
    "note",
    [
        "{",
        '{"scheduler": "pbs", "job": "7"}',
        '{"scheduler": "slurm"}',
        '{"scheduler": "slurm", "job": "--user=me"}',
        '{"scheduler": "slurm", "job": "7 8"}',
    ],
)
def test_a_note_of_a_job_that_nobody_can_follow_is_no_job(note: str, tmp_path: Path) -> None:
    todo = requests(tmp_path)
    (tmp_path / "job.json").write_text(note)
    queue = Queue(tmp_path, "r012")
    assert len(list(launcher(queue, []).run(todo))) == 3
    assert queue.submitted == 1


@pytest.mark.parametrize(
    ("scheduler", "program", "gone", "running"),
    [
        (Slurm(), "squeue", "slurm_load_jobs error: Invalid job id specified", "R"),
        (Pbs(), "qstat", "qstat: Unknown Job Id 7.head", "    job_state = R"),
        (Lsf(), "bjobs", "Job <7> is not found", "RUN"),
        (Flux(), "flux", "flux-jobs: ERROR: JobID f7 unknown", "RUN"),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_no_answer_is_told_from_no_job(
    scheduler: Scheduler, program: str, gone: str, running: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")

    def answers(text: str, code: int) -> JobState:
        (tmp_path / program).write_text(f"#!/bin/sh\necho '{text}' {'>&2' if code else ''}\nexit {code}\n")
        (tmp_path / program).chmod(0o755)
        return scheduler.state("7")

    assert answers(running, 0) is JobState.RUNNING
    assert answers(gone, 1) is JobState.ENDED
    assert answers("Unable to contact the controller: Connection refused", 1) is JobState.UNKNOWN


def test_ports_are_counted_around_each_launch_where_perfquery_is_present(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "perfquery").write_text(PERFQUERY.format(folder=tmp_path))
    (programs / "perfquery").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")
    folder = tmp_path / "a run"
    folder.mkdir()
    scheduler = MadeUpScheduler(launches_a_job=3)
    launching = BatchLauncher(scheduler, SECTION, "test", Starter(lambda r: ["true"]), {}, adapter_rate=4e9)
    assert [outcome.returncode for outcome in launching.run(requests(folder))] == [0, 0, 0]
    for todo in requests(folder):
        out, back = read_links(links_file(folder, todo.id))
        assert (out.link, out.source, back.source, out.rate) == ("n0-fabric", "n0", "fabric", 4e9)
        assert out.bytes == back.bytes == 4 * 250  # one reading before and one after, 250 words apart
        assert read_json(links_file(folder, todo.id))["method"] == "perfquery"
        assert not todo.file("ports").exists()


def test_without_perfquery_there_are_no_counters_and_nothing_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    said: list[str] = []
    launching = BatchLauncher(MadeUpScheduler(3), SECTION, "test", Starter(lambda r: ["true"]), {}, said.append)
    list(launching.run(requests(tmp_path)))
    assert not list((tmp_path / "launches").glob("*.links.json"))
    assert not [line for line in said if "counters" in line]


def test_a_node_whose_counters_are_torn_is_left_out_and_told(tmp_path: Path) -> None:
    todo = requests(tmp_path)[0]
    folder = todo.file("ports")
    folder.mkdir()
    text = "".join(f"{name}:....{{0}}\n" for name in ("PortXmitData", "PortRcvData", "PortXmitPkts", "PortRcvPkts"))
    for host, before, after in (("n0", "5", "9"), ("n1", "9", "5")):
        (folder / f"{host}.before").write_text(text.format(before))
        (folder / f"{host}.after").write_text(text.format(after))
    (folder / "n2.before").write_text(text.format("1"))
    (folder / "n3.before").write_text("nothing")
    (folder / "n3.after").write_text("nothing")
    said: list[str] = []
    collect_ports(todo, 0.0, said.append)
    assert {count.link for count in read_links(links_file(tmp_path, todo.id))} == {"n0-fabric"}
    assert [line.split(" in launch")[0] for line in said] == [f"no link counters of n{k}" for k in (1, 2, 3)]


def test_the_script_for_the_ports_is_a_shell_script() -> None:
    from weft.launch.batch.launcher import SCRIPT

    assert subprocess.run(["sh", "-n", SCRIPT], check=False).returncode == 0
