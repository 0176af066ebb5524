# SPDX-License-Identifier: BSD-3-Clause
"""Knobs: a change-over is named by the variable that stands at its size, and by nothing where none does."""

import pytest

from weft.mpi.knobs import Knobs, all_values, bytes_of, plain

OPEN_MPI_5 = "Open MPI v5.0.11, package: Open MPI built"
MPICH_4 = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi"
MPICH_3 = "MPICH Version:      3.4\nMPICH Device:       ch3:nemesis"

#: As MPI_T of the wheels shows them, by default.
OPEN_MPI_VALUES = {
    "btl_self_eager_limit": "1024",
    "btl_sm_eager_limit": "4096",
    "btl_vader_eager_limit": "4096",
    "btl_sm_max_send_size": "32768",
    "btl_sm_rndv_eager_limit": "32768",
    "btl_tcp_eager_limit": "65536",
    "btl_self_min_rdma_pipeline_size": "2147484671",
    "coll_tuned_alltoall_intermediate_msg": "3000",
    "coll_tuned_scatter_large_msg": "0",
    "pml": "",
}
MPICH_VALUES = {
    "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD": "8192",
    "MPIR_CVAR_CH4_SHM_POSIX_IQUEUE_CELL_SIZE": "8192",
    "MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE": "131072",
    "MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE": "256",
    "MPIR_CVAR_ALLTOALL_MEDIUM_MSG_SIZE": "32768",
    "MPIR_CVAR_BCAST_SHORT_MSG_SIZE": "12288",
    "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": "-1",
}


def test_the_eager_limit_of_shared_memory_is_named_with_its_alias() -> None:
    found = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES).near(3756, 4096, "node")
    assert found is not None
    assert found.names == ("btl_sm_eager_limit", "btl_vader_eager_limit")
    assert found.text() == "btl_sm_eager_limit or btl_vader_eager_limit (4,096 B)"


def test_a_limit_that_counts_the_header_is_found_one_step_above_the_change() -> None:
    """Open MPI's 4096 B include a header: 4096 B of data already ask first, 4032 B do not."""
    found = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES).near(2048, 4096, "node")
    assert found is not None
    assert found.value == 4096


@pytest.mark.parametrize(
    ("lower", "upper", "where", "name"),
    [
        (32768, 65536, "network", "btl_tcp_eager_limit"),
        (16384, 32768, "node", "btl_sm_max_send_size"),
    ],
)
def test_where_the_messages_go_decides_which_knob_it_is(lower: int, upper: int, where: str, name: str) -> None:
    found = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES).near(lower, upper, where)  # type: ignore[arg-type]
    assert found is not None
    assert found.names[0] == name


def test_a_size_without_a_knob_has_none() -> None:
    knobs = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES)
    assert knobs.near(256, 512, "node") is None
    assert knobs.near(32768, 65536, "node", "alltoall") is not None  # 32768: the pieces
    assert knobs.near(512 * 1024, 1024 * 1024, "node") is None


def test_a_knob_of_a_collective_is_for_that_collective_alone() -> None:
    knobs = Knobs(MPICH_4, MPICH_VALUES)
    found = knobs.near(256, 300, "node", "alltoall")
    assert found is not None
    assert found.names == ("MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE",)
    assert knobs.near(256, 300, "node", "allgather") is None
    assert knobs.near(256, 300, "node") is None
    assert knobs.near(256, 300, "node", "alltoall-inplace") is not None


def test_variables_of_a_device_that_is_not_built_are_not_blamed() -> None:
    assert Knobs(MPICH_4, MPICH_VALUES).near(120_000, 140_000) is None
    old = Knobs(MPICH_3, MPICH_VALUES).near(120_000, 140_000)
    assert old is not None
    assert old.names == ("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE",)


def test_a_moved_knob_is_named_where_it_was_moved_to() -> None:
    """MPI_T of some versions goes on showing the default; the environment is what was asked for."""
    knobs = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES | {"OMPI_MCA_btl_sm_eager_limit": "16384"})
    found = knobs.near(15_000, 16_384, "node")
    assert found is not None
    assert "btl_sm_eager_limit" in found.names


def test_libraries_that_tell_nothing_are_named_by_their_environment() -> None:
    mvapich = Knobs("MVAPICH2 Version      :\t2.3.7", {"MV2_IBA_EAGER_THRESHOLD": "17k"})
    found = mvapich.near(16384, 17408, "network")
    assert found is not None
    assert found.value == 17 * 1024
    intel = Knobs("Intel(R) MPI Library 2021.14 for Linux* OS", {"I_MPI_EAGER_THRESHOLD": "262144"})
    found = intel.near(262_144, 262_145, "network")
    assert found is not None


def test_without_a_value_the_usual_knob_is_told_and_nothing_is_claimed() -> None:
    assert "UCX_RNDV_THRESH" in Knobs(MPICH_4, {"UCX_RNDV_THRESH": "auto"}).usual("network")
    assert Knobs(OPEN_MPI_5, {}).usual("node", "alltoall").startswith("coll_tuned_alltoall_algorithm chooses")
    assert Knobs("Some MPI 1.0", {}).usual("network") == ""


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096), ("8k", 8192), ("1MB", 1 << 20), ("auto", None), ("inf", None), ("-1", None), ("0", None),
        ("2147483647", None), ("", None), ("4096,8192", None), ("12q", None),
    ],
)  # fmt: skip
def test_values_are_read_as_the_libraries_write_them(text: str, size: int | None) -> None:
    assert bytes_of(text) == size


def test_settings_are_known_by_the_names_of_the_variables() -> None:
    assert plain({"OMPI_MCA_pml": "ob1", "pml": "", "UCX_TLS": "rc"}) == {"pml": "ob1", "UCX_TLS": "rc"}


def test_what_differs_between_launches_names_nothing() -> None:
    assert all_values([{"a": "1", "b": "2"}, {"a": "1", "b": "3"}, {"a": "1"}]) == {"a": "1"}
    assert all_values([]) == {}
