# SPDX-License-Identifier: BSD-3-Clause
"""Table 4.5: the largest array for 24 GB per node, and what the cells marked ERR imply for the library's memory."""

import math

from weft.fabric import Fabric, load_fabric
from weft.fabric.simulation import SimulationSection
from weft.format import format_bytes
from weft.kernel.studies import load_study
from weft.papers import PARTS, Bench, Part, error_text, paper_text, published, row_of
from weft.plan.make import make_plan
from weft.report.tabular import Number, Table

STUDY = "tara-memory-limit"


def compute(bench: Bench) -> Part:
    """Compare which cells fit, and the times of those that do."""
    view = bench.run(STUDY, "tara")
    low, high = peer_buffers_that_explain()
    plain = without_buffers(load_fabric("tara"))
    refused = {cell.id for cell in make_plan(load_study(STUDY), plain).cells if cell.status == "memory"}
    tables, right, wrong = list[Table](), 0, 0
    for m, printed in published("tara")["memory"].items():
        if m == "512":
            continue  # these are in Table 4.4
        rows: list[tuple[str, ...]] = []
        for nodes, seconds in zip(published("tara")["experiment"]["nodes"], printed, strict=True):
            seen = row_of(view.rows, nodes, "warm", series=f"m{m}N")
            assert seen is not None
            is_right = (seen["status"] == "memory") == math.isnan(seconds)
            right, wrong = right + is_right, wrong + (not is_right)
            has_time = seen["status"] == "ok"
            text = f"{seen['median_s']:.2f} s" if has_time else seen["status"]
            error = error_text(seen["median_s"], seconds) if has_time and not math.isnan(seconds) else "–"
            need = view.plan.cell(seen["cell"]).memory.node_bytes
            rows.append((str(nodes), paper_text(seconds), text, error, format_bytes(need)))
        title = f"Table 4.5, m = {m} N (simulated)"
        tables.append(Table(title, (Number("N"), "paper", "simulated", "error", "needed a node"), tuple(rows)))
    found = (
        f"{right} of {right + wrong} cells fit into memory, or do not, as in the paper: "
        f"{'all' if not wrong else 'not all'} that print ERR, and no other, are refused as `memory` with 24 GiB "
        "a node.",
        f"That takes what the library keeps for each peer into account. Without it (the estimate of Weft's plan for an "
        f"unknown library) {len(refused)} of the cells would be refused: both arrays alone fit into 24 GiB everywhere.",
        f"The paper does not say what its library keeps. With 24 GiB a node, the pattern of ERR cells holds for "
        f"{low / 2**20:.2f} to {high / 2**20:.2f} MiB a pair of ranks and no other value; fabrics/tara.toml takes one "
        "between them. Less memory for the ranks (the system's own share) with less a pair explains it as well; the "
        "two are indistinguishable.",
        "Times above m = 512 N cannot be predicted: the paper's grow faster than the array (6.73 s for 800 N on 36 "
        "nodes, where the bytes ask for 1.56 times 2.30 s), and 1024 N swaps to disk already on one node. The "
        "simulator has neither swap nor pressure on memory.",
    )
    values = {"right": right, "wrong": wrong, "low": low, "high": high}
    return Part("memory", PARTS["memory"], found, tuple(tables), values)


def without_buffers(fabric: Fabric) -> Fabric:
    """The fabric without a value for the library's buffers per peer."""
    simulation = fabric.simulation or SimulationSection()  # pyright: ignore[reportCallIssue]
    return fabric.model_copy(update={"simulation": simulation.model_copy(update={"peer_buffers": None})})


def peer_buffers_that_explain() -> tuple[float, float]:
    """Range of bytes per pair of ranks for which exactly the cells marked ERR do not fit into a node.
    A node needs twice its array, and c bytes for each of its ranks and each rank of the job: 2 a + r p c. Cells that
    ran limit c from above, those marked ERR from below.
    """
    tara, memory = published("tara"), load_fabric("tara").node.memory or 0
    ranks_per_node, n = tara["experiment"]["ranks_per_node"], tara["experiment"]["n"]
    refused, ran = [0.0], list[float]()
    for m, printed in tara["memory"].items():
        for nodes, seconds in zip(tara["experiment"]["nodes"], printed, strict=True):
            each = (memory - 2 * 8 * n * int(m)) / (ranks_per_node * ranks_per_node * nodes)
            (refused if math.isnan(seconds) else ran).append(each)
    return max(refused), min(ran)
