# SPDX-License-Identifier: BSD-3-Clause
"""A page of each kind that Weft writes, of made and kept runs: name to path."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

from made.kept import copy_of, kept_runs
from made.links import make_virtual_run
from made.pairs import Cluster, Faults
from made.pairs_run import make_pairs_run
from made.plain_run import make_jobs_run, make_probe_run, make_replay_run
from made.routes import library, tree
from made.run import STUDY, Made, make_run, tara_like
from made.sweeps import BANDWIDTH, COLLECTIVE, TWO_NODES, MadeSweep, make_sweep, stepping
from made.traces import MadeRank
from weft.analyse.trace.make import make_trace_tables
from weft.fabric.drawing.drawing import draw, save
from weft.papers import Part
from weft.papers import write as write_papers
from weft.plan.records import Cell
from weft.report.bars import Bar, draw_bars
from weft.report.compare import load_compare
from weft.report.compare.history import load_trend
from weft.report.compare.history import write as write_trend
from weft.report.compare.page import write as write_compare
from weft.report.page import Front, write, write_route_page
from weft.report.tabular import Table, Words
from weft.report.traces import load_trace, write_trace_page
from weft.route.compare import Routed, compare
from weft.route.given import given_network
from weft.run.refresh import refresh, refresh_compared
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder
from weft.words import Row
from weft.words.card import Card

MS = 1_000_000
TIMED_OUT = {("c007", launch): "timeout" for launch in (1, 2, 3)}
LONG = 'a study\'s name <i>of</i> "many", words_that_do_not_break_anywhere_at_all_however_narrow'


def uneven(cell: Cell, size: int) -> float:
    """Seconds of a call: the longer an algorithm's name, the longer it takes; the default is the slowest."""
    name = str(cell.parameters.get("algorithm", "default"))
    return stepping(cell, size) * (2.0 if name == "default" else 1 + 0.05 * len(name))


def wavering(seconds: float = 3e-5) -> Callable[[Cell, int], float]:
    """Seconds of a call that differ fiftyfold between any two that are asked for: no answer can be had from them."""
    asked = iter(range(1_000_000))
    return lambda cell, size: seconds * (1 if next(asked) % 2 else 50)


def make_interrupted(path: Path) -> Path:
    """A run that was stopped when a third of its cells was measured."""
    run = make_run(path, Made(samples=5))
    cells = sorted((run / "cells").glob("*.json"))
    for record in cells[len(cells) // 3 :]:
        record.unlink()
        record.with_suffix(".npy").unlink(missing_ok=True)
    return run


def make_empty(path: Path) -> Path:
    """A run that was stopped before its first cell."""
    run = make_run(path, Made(samples=3))
    for name in ("cells", "launches"):
        shutil.rmtree(run / name)
        (run / name).mkdir()
    return run


def make_pods(path: Path) -> Path:
    """Pairs of a cluster of two pods, isolated and all at once, where a node is slow to send."""
    cluster = Cluster(nodes=16, per_node=2, per_leaf=4, uplinks=2, per_pod=2)
    return make_pairs_run(path, cluster, Faults(senders={5: 2.0}), modes={"isolated": 1.0, "all": 1.4})


def make_hostile(path: Path) -> Path:
    """A run whose folder, study and library are named to break pages and commands."""
    study = STUDY.format(launches=3, nodes=[1], ranks_per_node="[1, 2]", n=4608, symbol="p")
    title = json.dumps(LONG)
    study = study.replace('"All-to-all on a made machine"', title)
    return make_run(path, Made(study=study, samples=3, mpi='</script><b>MPI</b> & "sons"'))


#: The runs: how each is made.
MAKERS: dict[str, Callable[[Path], Path]] = {
    "simulated": lambda path: make_run(path, tara_like(samples=10, failures=TIMED_OUT)),
    "again": lambda path: make_run(path, tara_like(samples=10)),
    "memory": lambda path: make_run(path, tara_like(memory="2 GiB", kind="slurm", samples=5)),
    "links": lambda path: make_virtual_run(path, 400e6, 100e6),
    "rates": lambda path: make_sweep(path, MadeSweep(BANDWIDTH.format(cache="both"), TWO_NODES)),
    "winners": lambda path: make_sweep(path, MadeSweep(COLLECTIVE.format(algorithms="each"), seconds=uneven)),
    "wavering": lambda path: make_sweep(path, MadeSweep(seconds=wavering())),
    "pods": make_pods,
    "jobs": make_jobs_run,
    "probe": make_probe_run,
    "replay": make_replay_run,
    "interrupted": make_interrupted,
    "empty": make_empty,
    'hos\'tile, "=run" $HOME': make_hostile,
}
RUNS = (*kept_runs(), *(name for name in MAKERS if name != "again"))  # which is for comparisons
OTHERS = ("several", "whatif", "compare", "three", "trend", "papers", "trace", "routes", "yellowstone", "drawing")


def make_pages(folder: Path) -> dict[str, Path]:
    """Write a page of each of RUNS and OTHERS into a folder."""
    runs = {name: copy_of(name, folder) for name in kept_runs()}
    runs |= {name: make(folder / name) for name, make in MAKERS.items()}
    for name, run in runs.items():
        if name != "pods":  # which has tables and no cells
            refresh(run)
    made = {name: write([run], folder / f"{name}.html") for name, run in runs.items() if name in RUNS}
    both = [runs["simulated"], runs["again"]]
    made["several"] = write(both, folder / "several.html")
    for name, compared in (("compare", both), ("three", [*both, runs["memory"]])):
        made[name] = write_compare(load_compare(compared), [], folder / f"{name}.html")
    own = {"trend": trend_page, "papers": papers_page, "trace": trace_page, "routes": routes_page}
    own |= {"whatif": whatif_page, "yellowstone": yellowstone_page, "drawing": drawing_page}
    for name, page in own.items():
        made[name] = folder / f"{name}.html"
        page(folder, made[name])
    return made


def whatif_page(folder: Path, page: Path) -> None:
    """Replays side by side, as ``weft trace whatif`` writes them."""
    columns = (Words("variant"), "time", "saves", Words("level"))
    rows = (("as it is", "28.0 ms", "", "simulated"), ("links twice as fast", "21.0 ms", "25 %", "simulated"))
    table = Table("What would help 2 ranks on made-pair", columns, rows)
    bars = [Bar("as it is", 0.028, 0.014, 0.02, 0.04), Bar("links twice as fast", 0.021, None, best=True)]
    bars.append(Bar("no network at all", 0.01, None, at_least=True))
    rows_of_card = (Row("whatif.helps", "Helps most", "links twice as fast: 1.33x faster", "1 alternative simulated"),)
    card = Card("replay on made-pair", ("2 ranks", "simulated"), rows_of_card, "B")
    notes = ("left out: another placement: there are two nodes",)
    drawn = draw_bars("whatif-bars", "Times", "Whiskers: known error.", bars)
    write([folder / "replay"], page, front=Front(card, drawn, table, notes))


def trend_page(folder: Path, page: Path) -> None:
    """A history of ten runs, of which the last five are slower."""
    made: dict[float, Path] = {}
    for factor in (1.0, 1.5):
        seconds = Made(samples=5, seconds=lambda nodes, ranks, local, by=factor: by * local * ranks / nodes / 4e9)
        made[factor] = make_run(folder / f"history-{factor}", seconds)
        refresh(made[factor])
    runs: list[Path] = []
    for day in range(1, 11):
        run = Path(shutil.copytree(made[1.5 if day > 5 else 1.0], folder / f"r{day}"))
        meta = json.loads((run / "weft.json").read_text())
        (run / "weft.json").write_text(json.dumps(meta | {"created": f"2026-11-{day:02}T08:00:00+00:00"}))
        runs.append(run)
    refresh_compared(runs)
    write_trend(*load_trend(runs), page)


def papers_page(_: Path, page: Path) -> None:
    """A part with tables as wide and as long as the real ones."""
    columns = ("m", *(f"N = {nodes}" for nodes in (1, 3, 9, 18, 36)), "largest error")
    rows = tuple((f"{m} N", *["1.23 s, paper 1.19 s"] * 5, "3.2 %") for m in (216, 432, 810, 1024))
    found = ("The times follow the paper's to 3.2 %.", "Cells that did not fit there do not fit here.")
    part = Part("tables", "Tables 4.2 to 4.4", found, (Table("Times, simulated and printed", columns, rows),), {})
    write_papers([part, Part("memory", "Memory", found[1:], part.tables, {})], page)


def trace_page(folder: Path, page: Path) -> None:
    """A trace of four ranks on two nodes, in which one comes late."""
    trace = TraceFolder(folder / "trace")
    for rank in range(4):
        site = f"a_library_with_a_long_name::exchange_of_halos_{rank}(double*, int)+0x2f"
        made = MadeRank(rank, 4, node=rank // 2, host=f"node{rank // 2}".encode()).site(1, site)
        made.call("MPI_Alltoall", (20 + 40 * (rank == 1)) * MS, 80 * MS, bytes=2 << 20, received=2 << 20, site=1)
        for step in range(4):
            begin = (80 + 5 * step) * MS
            made.call("MPI_Send", begin, begin + 5 * MS, peer=(rank + 1) % 4, bytes=3 << 20)
        made.write(trace.raw)
    convert_trace(trace)
    make_trace_tables(trace)
    write_trace_page(load_trace(trace), page, [])


def routes_page(_: Path, page: Path) -> None:
    """A tree of twelve hosts under two engines."""
    given = [Routed("present", tree(12, 4, 2), "as it stands"), Routed("dmodk", tree(12, 4, 2))]
    write_route_page(compare(given, library()), "Twelve hosts", page)


def yellowstone_page(_: Path, page: Path) -> None:
    """The routes of 4,518 hosts, by the fabric file that ships."""
    title, network = given_network("yellowstone")
    write_route_page(compare([Routed("present", network)], library()), title, page)


def drawing_page(_: Path, page: Path) -> None:
    """A drawing of a fabric, as ``weft fabric draw`` writes it."""
    save(draw(tree(12, 4, 2), "Twelve hosts"), page)
