# SPDX-License-Identifier: BSD-3-Clause
"""A page of each kind that Weft writes, of made and kept runs: name to path."""

import json
from pathlib import Path

from made.kept import copy_of, kept_runs
from made.links import make_virtual_run
from made.plain_run import make_probe_run, make_replay_run
from made.routes import library, tree
from made.run import Made, make_run, tara_like
from made.sweeps import COLLECTIVE, MadeSweep, make_sweep, stepping
from made.traces import MadeRank
from weft.analyse.trace.make import make_trace_tables
from weft.fidelity import Part
from weft.fidelity.page import write as write_fidelity
from weft.plan.records import Cell
from weft.report.compare.load import load_compare
from weft.report.compare.page import write as write_compare
from weft.report.compare.trend import load_trend
from weft.report.compare.trend import write as write_trend
from weft.report.page import write
from weft.report.routes import write_route_page
from weft.report.tabular import Table
from weft.report.trace.page import write_trace_page
from weft.report.trace.view import load_trace
from weft.route.compare import Routed, compare
from weft.run.refresh import refresh, refresh_compared
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder

RUNS = (*kept_runs(), "simulated", "links", "winners", "probe", "replay")
OTHERS = ("several", "compare", "trend", "fidelity", "trace", "routes")
MS = 1_000_000


def uneven(cell: Cell, size: int) -> float:
    """Seconds of a call: the longer an algorithm's name, the longer it takes; the default is the slowest."""
    name = str(cell.parameters.get("algorithm", "default"))
    return stepping(cell, size) * (2.0 if name == "default" else 1 + 0.05 * len(name))


def make_pages(folder: Path) -> dict[str, Path]:
    """Write a page of each of RUNS and OTHERS into a folder."""
    runs = {name: copy_of(name, folder) for name in kept_runs()}
    runs["again"] = make_run(folder / "again", tara_like(samples=10))
    slower = {("c007", launch): "timeout" for launch in (1, 2, 3)}
    runs["simulated"] = make_run(folder / "simulated", tara_like(samples=10, failures=slower))
    runs["links"] = make_virtual_run(folder / "links", 400e6, 100e6)
    runs["winners"] = make_sweep(folder / "winners", MadeSweep(COLLECTIVE.format(algorithms="each"), seconds=uneven))
    runs |= {"probe": make_probe_run(folder / "probe"), "replay": make_replay_run(folder / "replay")}
    for run in runs.values():
        refresh(run)
    made = {name: write([runs[name]], folder / f"{name}.html", files_too=False) for name in RUNS}
    both = [runs["simulated"], runs["again"]]
    made["several"] = write(both, folder / "several.html", files_too=False)
    made["compare"] = write_compare(load_compare(both), [], folder / "compare.html", files_too=False)
    own = {"trend": trend_page, "fidelity": fidelity_page, "trace": trace_page, "routes": routes_page}
    for name, page in own.items():
        made[name] = folder / f"{name}.html"
        page(folder, made[name])
    return made


def trend_page(folder: Path, page: Path) -> None:
    """A history of ten runs, of which the last five are slower."""
    runs: list[Path] = []
    for day in range(1, 11):
        factor = 1.5 if day > 5 else 1.0
        made = Made(samples=5, seconds=lambda nodes, ranks, local, by=factor: by * local * ranks / nodes / 4e9)
        run = make_run(folder / f"r{day}", made)
        meta = json.loads((run / "weft.json").read_text())
        (run / "weft.json").write_text(json.dumps(meta | {"created": f"2026-11-{day:02}T08:00:00+00:00"}))
        runs.append(run)
    refresh_compared(runs)
    write_trend(*load_trend(runs), page, files_too=False)


def fidelity_page(_: Path, page: Path) -> None:
    """A part with tables as wide and as long as the real ones."""
    columns = ("m", *(f"N = {nodes}" for nodes in (1, 3, 9, 18, 36)), "largest error")
    rows = tuple((f"{m} N", *["1.23 s, paper 1.19 s"] * 5, "3.2 %") for m in (216, 432, 810, 1024))
    found = ("The times follow the paper's to 3.2 %.", "Cells that did not fit there do not fit here.")
    part = Part("tables", "Tables 4.2 to 4.4", found, (Table("Times, simulated and printed", columns, rows),), {})
    write_fidelity([part, Part("memory", "Memory", found[1:], part.tables, {})], page)


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
