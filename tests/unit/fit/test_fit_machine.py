# SPDX-License-Identifier: BSD-3-Clause
"""A fabric of any kind as a machine that can be fitted and simulated."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from weft.analyse.tables.times import FLOOR as FLOOR_TABLE
from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fit.inputs import PARAMETERS, MeasuredCell, merged, with_values
from weft.fit.run import machine_of, placed, write_fitted
from weft.fit.squares import Cell, Fit
from weft.store.rows import LAUNCH_TABLE

FOUND = Fit(
    {"adapter_rate": 15.5e6, "link_rate": 7.8e6}, (Cell("N=3 m=8", 1, 1, True), Cell("N=6 m=8", 1, 1.1, False)), 1.0, {}
)
FLOOR = (
    ("copy", 1, 1, 1 << 20, 9e9),
    ("copy", 1, 2, 1 << 14, 8e9),
    ("copy", 1, 2, 1 << 26, 1.5e9),
    ("latency", 1, 2, 0, 1e-6),
    ("latency", 2, 1, 0, 30e-6),
    ("latency", 3, 1, 0, 25e-6),
)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run folder, as far as a fit's machine reads one."""
    folder = tmp_path / "measured"
    (folder / "tables").mkdir(parents=True)
    (folder / "weft.json").write_text(json.dumps({"launcher": {"mpi_library": "Open MPI v4.1.4, package: Debian"}}))
    rows = [
        {"cell": "f000", "quantity": what, "nodes": nodes, "ranks_per_node": ranks, "bytes": size, "value": value}
        | {"low": value, "high": value, "best": value, "unit": "", "samples": 3}
        for what, nodes, ranks, size, value in FLOOR
    ]
    pq.write_table(pa.Table.from_pylist(rows, FLOOR_TABLE.schema), folder / "tables" / "floor.parquet")
    return folder


def test_what_the_file_leaves_open_is_what_the_run_measured(run: Path) -> None:
    machine, _ = machine_of(load_fabric("virtual-slow"), run)
    assert (machine.kind, machine.name) == ("simulated", "virtual-slow-simulated")
    assert machine.node.copy_rate == 1.5e9, "with most ranks, out of what no cache holds"
    assert machine.network is not None
    assert machine.network.latency == 25e-6, "between nodes"
    assert machine.simulation is not None
    assert (machine.simulation.collectives, machine.simulation.sharing) == ("ompi", "equal")


def test_the_limit_of_what_is_sent_without_asking_is_the_runs(run: Path) -> None:
    """A fitted machine asked first where the traced library did not: reductions were 27 % too long."""
    row = dict.fromkeys(LAUNCH_TABLE.schema.names) | {
        "mpi_library": "Open MPI v4.1.4", "settings": json.dumps({"OMPI_MCA_btl_tcp_eager_limit": "4194304"}),
        "named_settings": json.dumps({"btl": "tcp,self", "btl_tcp_eager_limit": "65536"}),
    }  # fmt: skip
    pq.write_table(pa.Table.from_pylist([row], LAUNCH_TABLE.schema), run / "tables" / "launches.parquet")
    machine, filled = machine_of(load_fabric("virtual-slow"), run)
    assert machine.network is not None
    assert machine.network.eager_limit == 4 << 20
    assert [each.text for each in filled if each.key == "network.eager_limit"] == ["4 MiB"]


def test_what_the_file_states_stays(run: Path, tmp_path: Path) -> None:
    tara = load_fabric("tara")
    assert machine_of(tara, run) == (tara, ())
    assert machine_of(load_fabric("virtual-slow"), tmp_path / "table.csv")[0].node.copy_rate is None


def test_the_machine_is_written_with_its_sources(run: Path, tmp_path: Path) -> None:
    virtual = load_fabric("virtual-slow")
    _, filled = machine_of(virtual, run)
    write_fitted(virtual, FOUND, tmp_path / "new.toml", simulated=True, filled=filled)
    new = load_fabric(tmp_path / "new.toml")
    machine, _ = machine_of(virtual, run)
    assert (new.kind, new.name, new.node, new.simulation) == (
        machine.kind, machine.name, machine.node, machine.simulation
    )  # fmt: skip
    assert new.network is not None
    assert new.network.tree is not None
    assert (new.network.adapter_rate, new.network.tree.link_rate) == (15.5e6, 7.8e6)
    assert "fitted on cells N=3 m=8" in new.sources["network.tree.link_rate"]
    assert new.sources["network.latency"] == "measured by the run that was fitted to (measured)"


def test_a_rate_in_a_section_of_a_section_can_be_fitted() -> None:
    link_rate = PARAMETERS["link_rate"]
    tara = load_fabric("tara")
    assert link_rate.of(tara) == 3.5e9
    assert link_rate.of(with_values(tara, {"link_rate": link_rate}, [2e9])) == 2e9
    assert link_rate.of(load_fabric("jellystone")) == link_rate.begin
    with pytest.raises(FabricError, match=r"no section \[network\.tree\]"):
        with_values(load_fabric("jellystone"), {"link_rate": link_rate}, [2e9])


def test_a_cell_is_modelled_on_the_nodes_it_ran_on() -> None:
    tara = load_fabric("tara")
    apart = MeasuredCell.model_validate(
        {"nodes": 2, "ranks_per_node": 8, "n": 256, "m": 8, "seconds": 1, "hosts": "n[37,55]", "order": "cyclic"}
    )
    assert placed(tara, apart).hosts == ("n37", "n55")
    assert placed(load_fabric("jellystone"), apart).hosts == ("js01", "js02"), "a machine with other names"


def test_cells_that_differ_in_their_place_alone_are_two_with_a_name_each() -> None:
    rows = [
        {"nodes": 2, "ranks_per_node": 8, "n": 256, "m": 8, "seconds": 1.0, "hosts": hosts}
        for hosts in ("n[37-38]", "n[37,55]", "n[37,55]")
    ]
    found = merged([MeasuredCell.model_validate(row) for row in rows])
    assert [cell.label for cell in found] == [
        "N=2 m=8 r=8 n=256 block on n37..n38",
        "N=2 m=8 r=8 n=256 block on n37..n55",
    ]
