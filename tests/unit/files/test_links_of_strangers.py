# SPDX-License-Identifier: BSD-3-Clause
"""A link in the place of any entry of any folder of Weft is refused by every verb, and what it leads to stays as it is.

``ln -s ~/thesis T/events; weft trace show T`` removed the Parquet files of the thesis.
"""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from made.kept import copy_of
from made.traces import MadeRank
from weft.cli.app import main
from weft.errors import DataError
from weft.files.atomic import copy_atomic, guard, make_folder, try_remove, write_atomic
from weft.files.beneath import open_plain, plain_file
from weft.run.folder import locked
from weft.store.folder import RunFolder

VICTIMS = ("folder", "file", "nothing")
LATER = {
    "run": (
        "load.json", "lock", "launches/lock", "launches/c000.l1.live", "launches/c000.l1.plan.part", "cells/x.part",
        "confirm", "inputs", "figures", "report.html", "samples/runs", "tables/.analysis-x", "own/notes",
    ),
    "trace": ("replay.script", "replay-local.toml", "whatif", "whatif/tara-1-x1", "tables/.analysis-x", "counts/x"),
}  # fmt: skip
"""Entries that Weft writes only later, and some that it never does."""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A folder of each kind, with all that is made in it."""
    place = tmp_path_factory.mktemp("whole")
    run = copy_of("exchange", place)
    assert main(["show", str(run)]) == 0
    trace = place / "trace"
    for rank in range(2):
        made = MadeRank(rank, 2).call("MPI_Send" if rank else "MPI_Recv", 10, 20, peer=1 - rank, bytes=64, received=64)
        made.call("MPI_Alltoallv", 30, 40, bytes=48, received=48).counts([16, 32]).write(trace / "raw")
    assert main(["trace", "show", str(trace)]) == 0
    return {"run": run, "trace": trace}


def entries(kind: str, folder: Path) -> Iterator[str]:
    """The folder itself, and everything in it, that there is or may be."""
    yield "."
    yield from sorted({str(path.relative_to(folder)) for path in folder.rglob("*")} | set(LATER[kind]))


def verbs(kind: str, folder: Path, other: Path) -> Iterator[tuple[str, Callable[[], object]]]:
    """Everything that reads or writes such a folder."""
    place, out = str(folder), other.with_name("out")
    if kind == "run":
        asked = [
            ["show", place], ["why", place], ["report", place, "-o", f"{place}/report.html"],
            ["compare", place, str(other)],
            ["compare", str(other), place], ["fabric", "fit", "local", "--to", place, "-o", f"{out}.toml"],
        ]  # fmt: skip
        yield "run", lambda: in_use(folder)
    else:
        asked = [
            ["trace", "show", place], ["trace", "show", place, "--begin", "0s"],
            ["trace", "export", place, f"{out}.json"], ["replay", place, "--on", "tara"], ["whatif", place],
            ["tune", "--on", "tara", "--traffic", place],
            ["place", "--on", "tara", "--nodes", "2", "--traffic", place],
            ["route", "show", "tara", "--traffic", place],
        ]  # fmt: skip
        yield "new trace", lambda: main(["trace", "-o", place, "--", "mpirun", "true"])
        yield "new import", lambda: main(["trace", "import", str(other), "-o", place])
    for words in asked:
        yield " ".join(words[:2]), lambda words=words: main(words)


def in_use(folder: Path) -> int:
    """As ``weft run --into`` begins; 1 where it is refused."""
    try:
        with locked(RunFolder(folder), patience_s=0.1):
            return 0
    except DataError:
        return 1


def bytes_of(place: Path) -> dict[str, bytes]:
    """What lies in a folder and below it: each file's name and bytes, each folder's name."""
    found = [place, *sorted(place.rglob("*"))]
    return {str(path.relative_to(place)): path.read_bytes() if path.is_file() else b"a folder" for path in found}


def plant(place: Path, elsewhere: Path, victim: str) -> Path:
    """Put a link in a place, to a copy of what is there among things of somebody's own."""
    elsewhere.mkdir()
    own = elsewhere / "thesis"
    if victim == "folder":
        if place.is_dir():
            shutil.copytree(place, own)
        own.mkdir(exist_ok=True)
        for name in ("precious.parquet", "c000.parquet", "precious.part", "c000.l1.json", "verdict.parquet"):
            (own / name).write_text("precious")
    elif victim == "file":
        own.write_bytes(place.read_bytes() if place.is_file() else b"precious")
    if place.exists():
        place.rename(elsewhere.with_name(f"{elsewhere.name}-before"))
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(own)
    return own


@pytest.mark.parametrize("victim", VICTIMS)
@pytest.mark.parametrize("kind", ["run", "trace"])
def test_no_verb_follows_a_link_in_the_place_of_an_entry(
    kind: str, victim: str, whole: dict[str, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path(shutil.copytree(whole[kind], tmp_path / kind))
    for number, name in enumerate(entries(kind, whole[kind])):
        elsewhere = tmp_path / f"{number}"
        plant(folder / name, elsewhere, victim)
        before = bytes_of(elsewhere)
        every = list(verbs(kind, folder, whole["run"]))
        for verb, use in (every[(number + turn) % len(every)] for turn in range(2)):
            code = use()
            told = capsys.readouterr().err
            assert code in (1, 2), (name, verb, told)
            assert bytes_of(elsewhere) == before, (name, verb)
            assert (folder / name).is_symlink(), (name, verb)
        (folder / name).unlink()
        if (was := tmp_path / f"{number}-before").exists():
            was.rename(folder / name)


@pytest.mark.parametrize("victim", ["folder", "file"])
def test_a_table_written_in_the_place_of_a_link_leaves_what_it_leads_to(victim: str, tmp_path: Path) -> None:
    from weft.mpi.alltoall import SelectionTable, read_selection

    table = SelectionTable.model_validate({"schema": "weft-tuning/1", "created": "now", "platform": {}, "rules": []})
    path = tmp_path / "table.json"
    own = plant(path, tmp_path / "elsewhere", victim)
    before = bytes_of(tmp_path / "elsewhere")
    table.write(path)
    assert bytes_of(tmp_path / "elsewhere") == before
    assert own.exists()
    assert read_selection(path) == table
    assert not path.is_symlink()


def test_what_is_planted_after_the_look_is_not_followed_either(tmp_path: Path) -> None:
    """Somebody may put a link there between the look and the use."""
    root, elsewhere = tmp_path / "root", tmp_path / "elsewhere"
    for place in (root / "tables", elsewhere):
        place.mkdir(parents=True)
        (place / "x.parquet").write_text("whole")
    guard(root)
    assert open_plain(root / "tables" / "x.parquet").read() == b"whole"
    shutil.rmtree(root / "tables")
    (root / "tables").symlink_to(elsewhere)
    (root / "file").symlink_to(elsewhere / "x.parquet")
    own = root / "tables" / "x.parquet"
    for path in (own, root / "file"):
        with pytest.raises(OSError, match="link"):
            open_plain(path)
        with pytest.raises(OSError, match="link"):
            plain_file(path)
    with pytest.raises(DataError, match="link"):
        write_atomic(own, b"")
    with pytest.raises(DataError, match="link"):
        copy_atomic(own, tmp_path / "copy")
    try_remove(own)
    with pytest.raises(OSError, match="link"):
        make_folder(root / "tables" / "new")
    assert bytes_of(elsewhere) == {".": b"a folder", "x.parquet": b"whole"}


def test_nothing_goes_that_weft_did_not_write(whole: dict[str, Path], tmp_path: Path) -> None:
    """Parquet files that somebody keeps in the folders of a run or trace were removed when they were made anew."""
    kept: list[Path] = []
    for kind, places in (("run", ("samples", "samples/deep", "tables")), ("trace", ("events", "counts", "tables"))):
        folder = Path(shutil.copytree(whole[kind], tmp_path / kind))
        for place in places:
            (folder / place).mkdir(exist_ok=True)
            for name in ("mine.parquet", "mine.part", ".analysis-mine/notes"):
                kept.append(folder / place / name)
                kept[-1].parent.mkdir(exist_ok=True)
                kept[-1].write_text("precious")
    assert main(["show", str(tmp_path / "run"), "--engine", "duckdb://"]) == 0
    for path in (tmp_path / "trace" / "tables").glob("*.parquet"):
        if path not in kept:
            path.unlink()
    assert main(["trace", "show", str(tmp_path / "trace")]) == 0
    list(RunFolder(tmp_path / "run").leftovers({"c000"}))
    assert [path.read_text() for path in kept] == ["precious"] * len(kept)
