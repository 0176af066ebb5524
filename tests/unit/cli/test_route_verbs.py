# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``weft route`` and ``weft place``: the verdict first, JSON, failures, tables written and read again."""

import json
from pathlib import Path

import pytest

from weft.cli.app import main
from weft.fabric.importing import import_dump

DATA = Path(__file__).parents[2] / "data" / "networks"


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """The fabric of two leaves, with the tables that OpenSM made, but one cable for all of leaf0's traffic."""
    tables = tmp_path / "piled.dump"
    text = (DATA / "small-lfts.dump").read_text().replace("0x0007 008", "0x0007 007", 1)
    tables.write_text(text)
    import_dump(DATA / "small-subnet.lst", tmp_path / "fabric" / "small.toml", tables=tables)
    return tmp_path / "fabric" / "small.toml"


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(words) == 0
    return capsys.readouterr().out


def test_the_verdict_comes_first_and_names_the_link(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = " ".join(run(capsys, "route", "show", str(small), "--engine", "present", "dmodk").split())
    assert out.startswith("small: dmodk carries an all-to-all at 100 % of injection; present at 75 %: 2 routes share")
    assert "S-0000000000200000:7->S-0000000000200002:1" in out
    assert "warning: 1 group of parallel cables is used unevenly" in out


def test_json_has_scores_links_and_their_users(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "route", "show", str(small), "--format", "json"))
    assert told["schema"] == "weft-route/1"
    (engine,) = told["engines"]
    assert engine["routing"] == "the tables of piled.dump"
    assert engine["all_to_all"] == pytest.approx(4 / 3)
    full = engine["fullest"][0]
    assert (full["link"], full["load"], full["routes"]) == ("S-0000000000200000:7->S-0000000000200002:1", 4, 2)
    assert full["sources"] == ["node0", "node1"]
    assert told["lower_bound"]["all_to_all"] == 1


def test_a_schedule_names_the_link_that_is_slowest_in_most_phases(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = json.loads(run(capsys, "route", "show", str(small), "--pattern", "shift", "--format", "json"))
    full = told["engines"][0]["fullest"][0]
    assert full["link"] == "S-0000000000200000:7->S-0000000000200002:1"
    assert full["slowest_in_phases"] >= 1
    assert "is the slowest link of" in told["verdict"]


def test_a_matrix_of_ranks_names_its_own_link(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    matrix = tmp_path / "traffic.txt"
    rows = [["0"] * 4 for _ in range(4)]
    rows[0][1] = rows[2][1] = rows[0][3] = rows[2][3] = "7"
    matrix.write_text("\n".join(" ".join(row) for row in rows))
    told = json.loads(run(capsys, "route", "show", str(small), "--matrix", str(matrix), "--format", "json"))
    assert told["pattern"] == "matrix"
    assert told["engines"][0]["value"] > 0
    assert "carries this traffic at" in told["verdict"]
    out = run(capsys, "route", "show", str(small), "--matrix", str(matrix))
    assert "this traffic" in out
    matrix.write_text("0 1\n1 0\n")
    assert main(["route", "show", str(small), "--matrix", str(matrix)]) != 0
    assert "2 x 2 ranks for 4 ranks" in capsys.readouterr().err


def test_the_page_has_the_verdict_every_engine_its_drawing_and_its_links(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "pages" / "routes.html"
    run(capsys, "route", "show", str(small), "--engine", "present", "dmodk", "-o", str(page))
    text = page.read_text()
    assert "dmodk carries an all-to-all at 100 % of injection; present at 75 %" in text
    assert text.count('<script type="application/json">') == 2
    assert text.count("fullest links (") >= 2
    assert "1 group of parallel cables is used unevenly" in text
    assert "nothing was measured or simulated" in text
    assert "http://" not in text.replace("http://www.w3.org", "").split("<script>")[0]


def test_a_placement_takes_part_alone(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--placement", "node0,node2", "--format", "json")
    told = json.loads(run(capsys, "route", "show", str(small), *words))
    assert told["engines"][0]["all_to_all"] == 1
    assert told["lower_bound"] is None


def test_a_failed_cable_loses_its_pairs_until_the_tables_are_made_anew(
    small: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fail = ("--fail", "S-0000000000200000:7->S-0000000000200002:1", "--engine", "present", "dmodk", "--format", "json")
    told = json.loads(run(capsys, "route", "show", str(small), *fail))
    present, own = told["engines"]
    assert present["pairs_without_route"] > 0
    assert own["pairs_without_route"] == 0
    assert any("have no route" in finding["what"] for finding in present["findings"])


def test_fixed_tables_are_written_and_read_again(
    small: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    better = tmp_path / "better.lft"
    told = json.loads(run(capsys, "route", "fix", str(small), "-o", str(better), "--format", "json"))
    assert told["better"]
    assert told["best"]["all_to_all"] == pytest.approx(1)
    import_dump(DATA / "small-subnet.lst", tmp_path / "again" / "small.toml", tables=better)
    again = json.loads(run(capsys, "route", "show", str(tmp_path / "again" / "small.toml"), "--format", "json"))
    assert again["engines"][0]["all_to_all"] == pytest.approx(1)
    assert again["engines"][0]["findings"] == []


def test_tables_that_cannot_be_written_leave_nothing(
    small: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "better.lft").mkdir()
    assert main(("route", "fix", str(small), "-o", str(tmp_path / "better.lft"))) == 2
    assert "choose another place with -o" in capsys.readouterr().err
    assert list(tmp_path.glob("*.part")) + list(tmp_path.glob(".*.part")) == []


def test_one_change_is_offered(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "route", "fix", str(small), "--most-changes", "1", "--format", "json"))
    assert (told["best"]["changes"], told["best"]["all_to_all"]) == (1, 1)


def test_a_fabric_without_guids_cannot_be_written_for_opensm(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(("route", "fix", "tara", "-o", str(tmp_path / "x.lft"))) == 2
    assert "states no GUIDs and LIDs" in capsys.readouterr().err
    assert not (tmp_path / "x.lft").exists()


def test_a_drawing_is_written(small: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    run(capsys, "route", "show", str(small), "-o", str(tmp_path / "drawn.json"))
    assert "all-to-all" in (tmp_path / "drawn.json").read_text()


def test_place_prints_nodes_for_the_scheduler(capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "place", "virtual-narrow-uplinks", "--nodes", "2", "--format", "json"))
    assert told["exact"]
    assert told["scheduler"]["nodelist"].startswith("--nodelist=")
    assert told["best"]["all_to_all"] < told["worst"]["all_to_all"] or told["worst"]["all_to_all"] == 1


@pytest.mark.parametrize(
    ("words", "what"),
    [
        (("route", "show", "tara", "--engine", "+scatter3"), "no engine"),
        (("route", "show", "tara", "--placement", "n[1-"), "--placement"),
        (("route", "show", "tara", "--ranks", "0"), "0 ranks on a host"),
        (("route", "show", "tara", "--fail", "nothing"), "no link or switch"),
        (("route", "show", "local"), "1 rank with a cable sends nothing"),
        (("place", "tara", "--nodes", "99"), "99 nodes of 36"),
    ],
)
def test_a_mistake_is_told_with_exit_code_2(
    words: tuple[str, ...], what: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert what in capsys.readouterr().err


def test_a_slow_host_makes_no_other_look_faster_than_its_adapter(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cables = [f"n{h},1,leaf,{h + 1},{1 if h == 0 else 10} GB/s" for h in range(4)]
    (tmp_path / "cables.csv").write_text("\n".join(["a,a_port,b,b_port,rate", *cables]) + "\n")
    import_dump(tmp_path / "cables.csv", tmp_path / "slow.toml")
    told = json.loads(run(capsys, "place", str(tmp_path / "slow.toml"), "--nodes", "3", "--format", "json"))
    assert told["best"]["all_to_all"] == 1
    assert told["worst"]["all_to_all"] == pytest.approx(10)
    assert "n0" not in told["best"]["nodes"]
    assert "at 100 % of injection, the worst at 10 %" in " ".join(
        run(capsys, "place", str(tmp_path / "slow.toml"), "--nodes", "3").split()
    )


def test_hashed_paths_are_told_beside_static_tables(small: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = json.loads(run(capsys, "route", "show", str(small), "--hash", "--format", "json"))
    assert told["schema"] == "weft-route-hash/1"
    assert (told["hash"]["connections"], told["hash"]["method"]) == (1, "exact")
    assert told["tables"] == {"slowdown": pytest.approx(4 / 3), "routing": "the tables of piled.dump"}
    assert told["enough"]["connections"] == 2
    assert told["enough"]["p95"]["slowdown"] < 1.2 <= told["hash"]["p95"]["slowdown"]
    text = run(capsys, "route", "show", str(small), "--hash", "--connections", "2")
    assert "2 connections a pair" in " ".join(text.split())
    assert "1.33x" in text
    assert told["shift"]["mean"] > 1


@pytest.mark.parametrize("more", [("--pattern", "shift"), ("--engine", "dmodk"), ("-o", "x.html")])
def test_hashed_paths_refuse_what_they_would_ignore(
    small: Path, more: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(("route", "show", str(small), "--hash", *more)) == 2
    assert "--hash shows an all-to-all without tables" in capsys.readouterr().err
