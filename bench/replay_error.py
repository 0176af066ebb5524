# SPDX-License-Identifier: BSD-3-Clause
"""A traced application beside its replays: on the virtual network and simulated (docs/dev/simulation.md).

    python bench/replay_error.py [--calls sendrecv alltoall ...] [--into DIR] [-- APPLICATION ...]

Eight hosts under two leaves, links of 8 MB/s, uplinks of 4 MB/s. An all-to-all on four and on eight of them gives the
rates of a simulated machine (`weft fabric fit`); then each application is traced over the same links, and replayed with
real ranks over them and on the simulated machine. An application is bench/replay_error.c with one call, or the one
given (its name is then its last word). Communication is the time from the first call to the
end of the last, without what the ranks spent between calls (their mean). Goal: within 10 %. What was measured is kept:
the same command goes on where it stopped.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from virtual_fits import EAGER, LARGER, SLOWER, changed

from weft.fabric import load_fabric
from weft.format import format_seconds
from weft.report.tabular import Table, Words, markdown
from weft.report.view import load_view
from weft.trace.replay import Asked, prepare

GOAL = 0.10
CALLS = ("sendrecv", "isend", "alltoall", "alltoallv", "allgather", "allreduce", "bcast", "reduce", "gather",
         "halo", "halo-asleep", "halo-asked", "skewed", "nested", "pipeline", "small")  # fmt: skip
HOSTS = 8
WIDER = (('"virtual-slow"', '"replay-error"'), ("node[0-5]", "node[0-7]"), ("nodes_per_leaf = 3", "nodes_per_leaf = 4"))
# Two cells of bytes, and one of messages of 4 B, in which eight ranks take turns on the cores that they share.
CELLS = "N=4 m=512,N=8 m=512,N=8 m=512 A"
FITTING = (("[3, 4, 5, 6]", "[4, 8]"), ("n = 3600", "n = 3584"), ("[128, 256, 512]", "[256, 512]"), LARGER[1],
           ('["C"]', '["A", "C"]'))  # fmt: skip
TRACES = 3
# More ranks than cores: those that wait give way, as in Weft's own launches.
TURNS = ("OMPI_MCA_mpi_yield_when_idle", "1")
# The system's own grow until a queue overflows; the lost packets then cost a connection up to a second.
BUFFERS = tuple((f"OMPI_MCA_btl_tcp_{way}buf", str(32 << 10)) for way in ("snd", "rcv"))
MEASURE = '\n[measure]\nlaunches = 1\nmin_samples = 3\nmax_samples = 3\nwarmup_most = 1\nbudget = "60 s"\n'


@dataclass(frozen=True)
class Compared:
    """Communication time in s: traced, and replayed with real ranks and by simulation; least and most of each."""

    name: str
    traced_s: float
    real_s: float
    simulated_s: float
    traced_range_s: tuple[float, float]
    real_range_s: tuple[float, float]
    computed_s: float
    """Mean over the ranks of the time outside of MPI in the trace that is replayed."""


def weft(*words: object) -> None:
    """Run a command of Weft; it must succeed."""
    subprocess.run([sys.executable, "-m", "weft", *map(str, words)], check=True, stdout=sys.stderr)


def fitted(into: Path) -> tuple[Path, Path]:
    """The virtual network, and the simulated machine fitted to it."""
    virtual, model = into / "virtual.toml", into / "fitted.toml"
    if not model.exists():
        changed("fabrics/virtual-slow", (*SLOWER, *WIDER), virtual)
        study = changed("studies/virtual-fit", FITTING, into / "fit.toml")
        weft("run", study, "--on", virtual, "--into", into / "fit")
        rates = ("--parameters", "adapter_rate,link_rate,overhead", "--cells", CELLS, "--calls", "A,C")
        weft("fabric", "fit", virtual, "--to", into / "fit", *rates, "-o", model)
    return virtual, model


def compared(name: str, command: list[str], virtual: Path, model: Path, into: Path) -> Compared:
    """Trace an application over the virtual network, and replay in both ways the trace of median communication."""
    traces = [traced(command, into / f"{name}-{turn}") for turn in range(TRACES)]
    made_of = [prepare(trace, [load_fabric(virtual)], Asked(HOSTS)) for trace in traces]
    spent = sorted((made.traced_s - made.computed_s, turn) for turn, (_, made) in enumerate(made_of))
    communicated, chosen = spent[TRACES // 2]
    study, made = made_of[chosen]
    study.write_text(study.read_text() + MEASURE)
    real, simulated = (
        replayed_s(study, on, into / f"{name}-{word}") for word, on in (("real", virtual), ("simulated", model))
    )
    low, middle, high = (each - made.computed_s for each in real)
    return Compared(
        name, communicated, middle, simulated[1] - made.computed_s, (spent[0][0], spent[-1][0]), (low, high),
        made.computed_s,
    )  # fmt: skip


def traced(command: list[str], trace: Path) -> Path:
    """The trace of an application over the virtual network that is up."""
    if not (trace / "tables").is_dir():
        hosts = ",".join(f"node{number}" for number in range(HOSTS))
        start = ("mpirun", "--host", hosts, "-n", HOSTS, *command)
        weft("fabric", "exec", "node0", sys.executable, "-m", "weft", "trace", "-o", trace, "--", *start)
    return trace


def replayed_s(study: Path, on: Path, run: Path) -> tuple[float, float, float]:
    """Times of a replay in the steady state, in s: least, median and most."""
    weft("run", study, "--on", on, "--into", run)
    rows = load_view(run).rows
    (row,) = [row for row in rows if (row["call"], row["phase"]) == ("replay", "warm")]
    nothing = float("nan")
    low, middle, high = (
        nothing if seconds is None else seconds for seconds in (row["min_s"], row["median_s"], row["max_s"])
    )
    return low, middle, high


def table_of(rows: list[Compared]) -> Table:
    """A row for each application."""
    columns = (Words("calls"), "outside of MPI", "traced (virtual network)", "replayed, real ranks", "error",
               "replayed, simulated", "error")  # fmt: skip
    lines = tuple(
        (row.name, format_seconds(row.computed_s), ranged(row.traced_s, row.traced_range_s),
         ranged(row.real_s, row.real_range_s), f"{row.real_s / row.traced_s - 1:+.1%}",
         format_seconds(row.simulated_s), f"{row.simulated_s / row.traced_s - 1:+.1%}")
        for row in rows
    )  # fmt: skip
    return Table("Communication time: median, and least to most", columns, lines)


def ranged(seconds: float, between: tuple[float, float]) -> str:
    """A median with its range."""
    return f"{format_seconds(seconds)} ({format_seconds(between[0])} to {format_seconds(between[1])})"


def summary(rows: list[Compared]) -> str:
    """Mean and worst of both replays."""
    lines: list[str] = []
    for words, of in (("real ranks", "real_s"), ("simulated", "simulated_s")):
        errors = [getattr(row, of) / row.traced_s - 1 for row in rows]
        mean = fmean(map(abs, errors))
        mark = "" if mean <= GOAL else f", over the goal of {GOAL:.0%}"
        lines.append(f"{words}: {mean:.1%} in the mean, {max(errors, key=abs):+.1%} at worst{mark}")
    return "; ".join(lines)


def main() -> None:
    """Fit, trace, replay, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--calls", nargs="*", choices=CALLS, default=CALLS)
    parser.add_argument("--own-buffers", action="store_true", help="leave the sockets' buffers to the system")
    parser.add_argument("--into", type=Path, default=Path("runs/replay-error"))
    parser.add_argument("application", nargs="*")
    given = parser.parse_args()
    into = given.into.resolve()
    into.mkdir(parents=True, exist_ok=True)
    for setting in (EAGER, TURNS, *(() if given.own_buffers else BUFFERS)):
        os.environ.setdefault(*setting)
    before = os.getloadavg()[0]
    virtual, model = fitted(into)
    program = str(into / "replay_error")
    source = Path(__file__).with_suffix(".c")
    subprocess.run(["mpicc", "-O2", source, "-o", program], check=True)
    asked = {call: [program, call] for call in given.calls}
    if given.application:
        asked = {Path(given.application[-1]).name: given.application}
    weft("fabric", "up", virtual)
    try:
        rows = [compared(name, command, virtual, model, into) for name, command in asked.items()]
    finally:
        weft("fabric", "down", load_fabric(virtual).name)
    print(markdown(table_of(rows)))
    print(summary(rows))
    print(f"load average {before:.1f} before, {os.getloadavg()[0]:.1f} after")
    numbers = [vars(row) for row in rows]
    (into / "errors.json").write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
