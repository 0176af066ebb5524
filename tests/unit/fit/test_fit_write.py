# SPDX-License-Identifier: BSD-3-Clause
"""A fit's outcome as a fabric file, and a finished run as what a fit reads."""

from pathlib import Path

import pytest

from made.run import make_run, tara_like
from weft.analyse.make import make_tables
from weft.cli.app import main
from weft.errors import StudyError
from weft.fabric import load_fabric
from weft.fit.inputs import read_cells
from weft.fit.run import fitted_text, write_fitted
from weft.fit.squares import Cell, Fit
from weft.store.parquet import convert

FILE = """# A machine.
name = "small"
kind = "simulated"

[node]
names = "n[1-4]"
cores = 8                    # all of them
copy_rate = "5 GB/s"         # a guess

[network]
topology = "star"
latency = "1 us"
adapter_rate = "3.5 GB/s"

[sources]
"node.copy_rate" = "guessed"
"""
FOUND = Fit(
    {"copy_rate": 5.3641e9, "adapter_rate": 2.66e9, "rendezvous_stall": 165.1e-6},
    (
        Cell("N=1", 1.0, 1.0, True),
        Cell("N=2", 1.0, 1.0, True),
        Cell("N=4", 1.0, 1.0, True),
        Cell("N=3", 1.0, 1.1, False),
    ),
    0.5,
    {},
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    path = tmp_path / "small.toml"
    path.write_text(FILE)
    return path


def test_a_fitted_fabric_has_the_new_numbers_with_their_source(small: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.toml"
    write_fitted(load_fabric(small), FOUND, new, simulated=True)
    fabric = load_fabric(new)
    assert fabric.node.copy_rate == 5.364e9
    assert fabric.network is not None
    assert fabric.network.adapter_rate == 2.66e9
    assert fabric.network.rendezvous_stall == pytest.approx(165.1e-6)
    for key in ("node.copy_rate", "network.adapter_rate", "network.rendezvous_stall"):
        assert "fitted on cells N=1, N=2, N=4, by simulation" in fabric.sources[key]
        assert "error on unseen cells 10 %" in fabric.sources[key]


def test_what_was_not_fitted_stays_as_it_was_written() -> None:
    new = fitted_text(FILE, FOUND, simulated=False).splitlines()
    gone = [line for line in FILE.splitlines() if line not in new]
    assert [line.partition(" ")[0] for line in gone] == ["copy_rate", "adapter_rate", '"node.copy_rate"']


def test_a_new_key_comes_into_its_own_section() -> None:
    lines = fitted_text(FILE, FOUND, simulated=True).splitlines()
    assert lines.index("[network]") < lines.index('rendezvous_stall = "165.1 us"') < lines.index("[sources]")


def test_the_file_that_was_read_is_not_written_over(small: Path) -> None:
    with pytest.raises(StudyError, match="the file that was read"):
        write_fitted(load_fabric(small), FOUND, small, simulated=True)
    with pytest.raises(StudyError, match="is no fabric file"):
        write_fitted(load_fabric(small), FOUND, small.with_suffix(".csv"), simulated=True)


def test_a_finished_run_is_fitted_to_by_its_warm_medians(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", tara_like())
    convert(run)
    make_tables(run)
    cells = read_cells(run)
    assert {cell.call for cell in cells} == {"A", "B", "C"}
    assert all(cell.seconds > 0 for cell in cells)
    assert len({(cell.nodes, cell.m, cell.call) for cell in cells}) == len(cells)


def test_the_verb_writes_the_file_it_is_told_to(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = ["nodes,ranks_per_node,n,m,seconds", "1,8,1492992,512,1.14", "3,8,1492992,512,0.57"]
    rows += ["36,8,1492992,512,0.11", "36,8,1492992,18432,2.30", "9,8,1492992,4608,2.09"]
    table, new = tmp_path / "t.csv", tmp_path / "new.toml"
    table.write_text("\n".join(rows))
    assert main(["fabric", "fit", "tara", "--to", str(table), "--model", "bound", "-o", str(new)]) == 0
    assert f"wrote {new}" in "".join(capsys.readouterr().out.splitlines())
    assert "by the closed form" in load_fabric(new).sources["node.copy_rate"]
