# SPDX-License-Identifier: BSD-3-Clause
"""Flux: written from its manuals, tested only against reference scripts."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from weft.fabric.nodeset import expand, fold
from weft.launch.batch.scheduler import JobState, Scheduler, ask, look, output
from weft.launch.launcher import LaunchRequest


class Flux(Scheduler):
    """The adapter for Flux."""

    name = "flux"
    commands = ("flux",)
    command_prefixes = ("FLUX_BATCH_",)
    job_variable = "FLUX_JOB_ID"
    asking = ("flux", "jobs", "--no-header", "--format={state}")
    forgotten = "unknown|not found|invalid"
    states: Mapping[str, JobState] = {
        **dict.fromkeys(("DEPEND", "PRIORITY", "SCHED"), JobState.PENDING),
        **dict.fromkeys(("RUN", "CLEANUP"), JobState.RUNNING),
    }
    cancelling = ("flux", "cancel")

    def submit(self, script: Path) -> str:
        """Submit with flux batch, which prints the id."""
        return ask(self, ["flux", "batch", str(script)]).strip()

    def was_cancelled(self, job: str) -> bool:
        """Ask flux jobs for the result."""
        said = look(self, ["flux", "jobs", "--no-header", "--format={result}", job], self.forgotten)
        return (said or "").strip() == "CANCELED"

    def reason(self, job: str) -> str:
        """Read the job's event log: the last exception, else what it waits for."""
        return last_event(output(self, ["flux", "job", "info", job, "eventlog"]))

    def allocated_nodes(self) -> Sequence[str]:
        """Nodes of the instance that weft was started in, if that is a job."""
        if not self.allocation():
            return ()
        listed = output(
            self, ["flux", "resource", "list", "--states=free,allocated", "--no-header", "--format={nodelist}"]
        )
        return [name for line in dict.fromkeys(listed.split()) for name in expand(line)]

    def start_ranks(self, request: LaunchRequest, mpi: str) -> list[str]:
        """Start ranks with flux run, on the nodes by name."""
        return [
            "flux", "run", f"--nodes={len(request.nodes)}", f"--ntasks={request.ranks}",
            f"--requires=hosts:{fold(request.nodes)}", "-o", f"pmi={mpi}",
            *(["-o", "cpu-affinity=off"] if request.oversubscribed else ["-o", "cpu-affinity=per-task"]),
            *(["--taskmap=cyclic"] if request.order == "cyclic" else []),
        ]  # fmt: skip


WAITS = {"submit": "for its dependencies", "validate": "for its dependencies", "depend": "for its priority",
         "priority": "for resources"}  # fmt: skip


def last_event(log: str) -> str:
    """What a job's event log, one object a line, says of its end or its wait; empty if nothing."""
    name, why = "", ""
    for line in log.splitlines():
        try:
            event = json.loads(line)
            name = str(event["name"])
            if name == "exception":
                why = f"{event['context'].get('type', '')}: {event['context'].get('note', '')}".strip(": ")
            elif name == "finish" and not why and event["context"].get("status"):
                why = f"wait status {event['context']['status']}"
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            continue
    return why or (f"waits {WAITS[name]}" if name in WAITS else "")
