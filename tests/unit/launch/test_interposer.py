# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft exec`` makes of a command."""

import shutil
import sys
from pathlib import Path

import pytest

from weft.cli.app import main
from weft.errors import LaunchError, NotThereError
from weft.launch.preload import (
    INTERPOSER,
    build_preload,
    bypassed,
    has_no_ranks,
    mpi_of,
    preload_value,
    preloaded,
    run_preloaded,
    settings,
)
from weft.mpi.library import Library, Mpi

OPEN = Library("Open MPI", "5.0.1", "")
HYDRA = Library("MPICH", "4.2", "")


def test_open_mpi_carries_variables_by_x() -> None:
    """In its own environment the starter would load the library itself, and ranks on other hosts would not."""
    words = preloaded(
        ["/opt/bin/mpirun", "-n", "4", "app"], {"LD_PRELOAD": "/l.so", "WEFT_ALLTOALL": "bruck{r=2}"}, OPEN
    )
    assert words == ["/opt/bin/mpirun", "-x", "LD_PRELOAD=/l.so", "-x", "WEFT_ALLTOALL=bruck{r=2}", "-n", "4", "app"]


def test_every_application_of_an_mpmd_command_gets_them() -> None:
    """Open MPI 4.1 gave them to the first alone, and the others waited for it for ever."""
    words = preloaded(["mpirun", "-n", "1", "a", ":", "-n", "2", "b", "c"], {"A": "1"}, OPEN)
    assert words == ["mpirun", "-x", "A=1", "-n", "1", "a", ":", "-x", "A=1", "-n", "2", "b", "c"]


def test_the_users_preloaded_libraries_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LD_PRELOAD", raising=False)
    assert preload_value(Path("/w.so"), hands_on=False) == "/w.so"
    monkeypatch.setenv("LD_PRELOAD", "/mine.so /other.so")
    assert preload_value(Path("/w.so"), hands_on=True) == "/w.so:/mine.so /other.so"
    assert preload_value(Path("/w.so"), hands_on=False) == "/mine.so /other.so:/w.so"


@pytest.mark.parametrize("name", ["a cache", "a:cache"])
def test_a_cache_that_ld_preload_cannot_name_is_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The loader then ignored the library, and the program ran without it in silence."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / name))
    with pytest.raises(LaunchError, match="space or a colon") as caught:
        build_preload(INTERPOSER, Mpi(Path("mpicxx"), ""))
    assert "XDG_CACHE_HOME" in caught.value.remedy


def test_marks_tell_why_a_library_saw_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(script: str) -> tuple[int, int, str]:
        return run_preloaded(Path("/l.so"), ["sh", "-c", script], {}, Mpi(Path("/none"), "test"), hands_on=False)

    assert run('printf LLLI >> "$LIBWEFT_MARKS"; exit 3') == (3, 0, "")
    assert "l.so: loaded by 3 processes, MPI_Init seen in none" in run('printf LLL >> "$LIBWEFT_MARKS"')[2]
    assert "drops LD_PRELOAD" in run("true")[2]
    assert not list(tmp_path.rglob("marks-*"))
    assert bypassed("l.so", 3, 1) == ""


def test_hydra_carries_variables_by_genv() -> None:
    """Also under Debian's name."""
    assert preloaded(["mpirun.mpich", "-n", "2", "app"], {"A": "1"}, HYDRA) == [
        "mpirun.mpich", "-genv", "A", "1", "-n", "2", "app",
    ]  # fmt: skip
    assert preloaded(["mpiexec.hydra", "app"], {"A": "1"}, HYDRA)[:4] == ["mpiexec.hydra", "-genv", "A", "1"]


def test_another_starter_gets_them_by_its_environment() -> None:
    """Slurm's starter passes its own on."""
    assert preloaded(["srun", "-n", "2", "app"], {"A": "1"}, OPEN) == ["env", "A=1", "srun", "-n", "2", "app"]


def test_only_what_is_asked_for_is_set(tmp_path: Path) -> None:
    """A variable of the job script must not be overwritten by an empty one."""
    assert settings() == {}
    table = tmp_path / "t.json"
    table.write_text('{"schema": "weft-tuning/1", "rules": []}')
    assert settings("pmpi", table, Path("r.json"), 5, True) == {
        "WEFT_ALLTOALL": "pmpi", "WEFT_TABLE": str(table), "WEFT_REPORT": str(Path.cwd() / "r.json"),
        "WEFT_VERIFY": "5", "WEFT_PREWARM": "1",
    }  # fmt: skip
    with pytest.raises(NotThereError, match="no selection table"):
        settings(table=tmp_path / "none.json")


@pytest.mark.parametrize("spec", ["node.mult{nl=2}", "node.multi(nl=2)", "node.multi{w=2}", "auto", "default"])
def test_a_wrong_spec_is_refused_before_anything_starts(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The ranks refuse it too, in MPI_Init, between the lines that a library writes of their end."""
    assert main(["exec", "--force", spec, "--", "mpirun", "-n", "2", "true"]) == 2
    assert '-> such as --force "node.multi{nl=4}"' in " ".join(capsys.readouterr().err.split())


def test_a_spec_may_have_spaces() -> None:
    assert settings(" flat.window { w = 8, order = xor } ")


def test_the_wrapper_beside_the_starter_is_the_application_s(tmp_path: Path) -> None:
    """Debian's mpirun.mpich belongs to mpicxx.mpich, whatever the alternatives say."""
    for name in ("mpirun.mpich", "mpicxx.mpich", "mpicxx"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    assert mpi_of([str(tmp_path / "mpirun.mpich")], None).wrapper == tmp_path / "mpicxx.mpich"
    with pytest.raises(LaunchError, match="not an executable program"):
        mpi_of([str(tmp_path / "mpirun.none")], None)


@pytest.mark.parametrize("verb", ["exec", "trace"])
@pytest.mark.parametrize("more", [(), ("--mpicxx", "mpicxx")])
def test_a_program_without_ranks_is_refused_before_a_library_is_built(
    verb: str,
    more: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`weft trace -- ls` compiled for 45 seconds first, then found no trace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main([verb, *more, "--", "ls", "-l"]) == 2
    assert f"error: {shutil.which('ls')} " in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("starter", ["env", "sh", "timeout", "find", "awk", "perl", sys.executable])
def test_a_program_that_may_start_another_is_none_without_ranks(starter: str) -> None:
    found = shutil.which(starter)
    assert found is None or not has_no_ranks(Path(found))


@pytest.mark.parametrize(
    "text", ["#!/bin/sh\nls\n", "\x7fELF\0libc.so.6\0MPI_Init\0", "\x7fELF\0libc.so.6\0libsolver.so\0"]
)
def test_scripts_and_programs_with_mpi_or_unknown_libraries_are_started(text: str, tmp_path: Path) -> None:
    (tmp_path / "program").write_text(text)
    assert not has_no_ranks(tmp_path / "program")


def test_no_command_is_a_user_s_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    """And the remedy shows one."""
    assert main(["exec"]) == 2
    assert "weft exec -- mpirun" in capsys.readouterr().err
