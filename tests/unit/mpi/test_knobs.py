# SPDX-License-Identifier: BSD-3-Clause
"""Knobs: a change-over is named by the variable that stands at its size, and by nothing where none does."""

import pytest

from weft.mpi.knobs import KNOBS, OPEN_MPI, Knobs, Where, all_values, bytes_of, matters, plain
from weft.mpi.transport import message_knobs

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


def names(knobs: Knobs, lower: int, upper: int, where: Where = "node", collective: str = "") -> list[tuple[str, ...]]:
    return [found.names for found in knobs.within(lower, upper, where, collective)]


EAGER = ("btl_sm_eager_limit", "btl_vader_eager_limit")


@pytest.mark.parametrize(
    ("library", "values", "limit"),
    [
        (OPEN_MPI_5, OPEN_MPI_VALUES, 65536),
        (OPEN_MPI_5, OPEN_MPI_VALUES | {"OMPI_MCA_btl_tcp_eager_limit": "4194304"}, 4194304),
        (OPEN_MPI_5, OPEN_MPI_VALUES | {"btl_openib_eager_limit": "12288"}, None),
        (OPEN_MPI_5, OPEN_MPI_VALUES | {"btl_openib_eager_limit": "12288", "btl": "self,tcp"}, 65536),
        (OPEN_MPI_5, OPEN_MPI_VALUES | {"pml": "ucx", "UCX_RNDV_THRESH": "auto"}, None),
        (MPICH_3, MPICH_VALUES, 131072),
        (MPICH_4, MPICH_VALUES, None),
    ],
)
def test_the_eager_limit_between_nodes_is_the_one_that_rules(
    library: str, values: dict[str, str], limit: int | None
) -> None:
    assert Knobs(library, values).eager_bytes() == limit


def test_the_eager_limit_of_shared_memory_is_named_with_its_alias() -> None:
    (found,) = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES).within(3756, 4096, "node")
    assert found.names == EAGER
    assert found.text() == "btl_sm_eager_limit or btl_vader_eager_limit (4,096 B)"


def test_every_knob_in_the_gap_of_an_all_to_all_is_named_and_the_eager_limit_first() -> None:
    """By octaves both 3,000 and 4,096 B lie in it; the nearer to its middle was named alone, wrongly."""
    knobs = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES)
    assert names(knobs, 2048, 4096, "node", "alltoall") == [EAGER, ("coll_tuned_alltoall_intermediate_msg",)]
    assert names(knobs, 3072, 4096, "node", "alltoall") == [EAGER]
    assert names(knobs, 2048, 3072, "node", "alltoall") == [("coll_tuned_alltoall_intermediate_msg",)]


@pytest.mark.parametrize(("lower", "upper", "named"), [(3900, 4000, True), (4096, 8192, True), (4097, 8192, False),
                                                       (2048, 3967, False), (2048, 3968, True)])  # fmt: skip
def test_a_knob_outside_the_gap_is_never_named_but_for_its_header(lower: int, upper: int, named: bool) -> None:
    """A limit of 4,096 B holds a header, so 4,032 B of data may already ask; within one octave was near enough once."""
    assert (names(Knobs(OPEN_MPI_5, OPEN_MPI_VALUES), lower, upper) == [EAGER]) is named


@pytest.mark.parametrize(
    ("lower", "upper", "where", "name"),
    [
        (32769, 65536, "network", "btl_tcp_eager_limit"),
        (16384, 32768, "node", "btl_sm_max_send_size"),
    ],
)
def test_where_the_messages_go_decides_which_knob_it_is(lower: int, upper: int, where: Where, name: str) -> None:
    assert names(Knobs(OPEN_MPI_5, OPEN_MPI_VALUES), lower, upper, where)[0][0] == name


def test_a_size_without_a_knob_has_none() -> None:
    knobs = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES)
    assert names(knobs, 256, 512) == []
    assert names(knobs, 32768, 65536, "node", "alltoall") != []  # 32768: the pieces
    assert names(knobs, 512 * 1024, 1024 * 1024) == []


def test_a_knob_of_a_collective_is_for_that_collective_alone() -> None:
    knobs = Knobs(MPICH_4, MPICH_VALUES)
    assert names(knobs, 256, 300, "node", "alltoall") == [("MPIR_CVAR_ALLTOALL_SHORT_MSG_SIZE",)]
    assert names(knobs, 256, 300, "node", "allgather") == []
    assert names(knobs, 256, 300) == []
    assert names(knobs, 256, 300, "node", "alltoall-inplace") != []


def test_variables_of_a_device_that_is_not_built_are_not_named() -> None:
    assert names(Knobs(MPICH_4, MPICH_VALUES), 120_000, 140_000, "both") == []
    old = Knobs(MPICH_3, MPICH_VALUES)
    assert names(old, 120_000, 140_000, "both") == [("MPIR_CVAR_CH3_EAGER_MAX_MSG_SIZE",)]


def test_a_moved_knob_is_named_where_it_was_moved_to() -> None:
    """MPI_T of some versions goes on showing the default; the environment is what was asked for."""
    knobs = Knobs(OPEN_MPI_5, OPEN_MPI_VALUES | {"OMPI_MCA_btl_sm_eager_limit": "16384"})
    assert names(knobs, 15_000, 16_384) == [("btl_sm_eager_limit",)]
    assert names(knobs, 3756, 4096) == [("btl_vader_eager_limit",)]


def test_libraries_that_tell_nothing_are_named_by_their_environment() -> None:
    mvapich = Knobs("MVAPICH2 Version      :\t2.3.7", {"MV2_IBA_EAGER_THRESHOLD": "17k"})
    assert mvapich.within(16384, 17408, "network")[0].value == 17 * 1024
    intel = Knobs("Intel(R) MPI Library 2021.14 for Linux* OS", {"I_MPI_EAGER_THRESHOLD": "262144"})
    assert names(intel, 262_144, 262_145, "network") != []


def test_without_a_value_the_usual_knob_is_told_and_nothing_is_claimed() -> None:
    assert "UCX_RNDV_THRESH" in Knobs(MPICH_4, {"UCX_RNDV_THRESH": "auto"}).usual("network")
    assert Knobs(OPEN_MPI_5, {}).usual("node", "alltoall").startswith("coll_tuned_alltoall_algorithm, which chooses")
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


def test_a_simulated_fabrics_own_limit_is_a_knob_between_nodes() -> None:
    stated = {"network.eager_limit": "16384", "network.segments.0.above": "65536"}
    knobs = Knobs("SMPI Version 3.32. Copyright The SimGrid Team 2007-2022", stated)
    assert knobs.family == "SMPI"
    assert names(knobs, 16384, 17867, "network") == [("network.eager_limit",)]
    assert names(knobs, 60000, 70000, "network") == [("network.segments.0.above",)]
    assert names(knobs, 16384, 17867, "node") == []
    assert "network.eager_limit" in knobs.usual("network")


BOTH_LISTED = OPEN_MPI_VALUES | {"btl_openib_eager_limit": "4096"}


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, [*EAGER, "btl_openib_eager_limit"]),
        ({"btl": "tcp,self,sm"}, [*EAGER]),
        ({"btl": "self,tcp"}, []),
        ({"btl": "^openib"}, [*EAGER]),
        ({"btl": "^vader"}, ["btl_openib_eager_limit"]),
        ({"OMPI_MCA_btl": "openib,self"}, ["btl_openib_eager_limit"]),
        ({"pml": "ucx"}, []),
    ],
)
def test_a_transport_that_the_settings_rule_out_carried_nothing(settings: dict[str, str], expected: list[str]) -> None:
    found = names(Knobs(OPEN_MPI_5, BOTH_LISTED | settings), 3756, 4096, "both")
    assert sorted(name for each in found for name in each) == sorted(expected)


def test_without_shared_memory_a_node_has_the_knobs_of_the_network() -> None:
    by_tcp = OPEN_MPI_VALUES | {"OMPI_MCA_btl": "self,tcp"}
    knobs = Knobs(OPEN_MPI_5, by_tcp)
    assert names(knobs, 32769, 65536, "node") == [("btl_tcp_eager_limit",)]
    assert knobs.usual("node").startswith("btl_tcp_eager_limit")
    assert message_knobs(OPEN_MPI_5, by_tcp, "node", 65536) == "btl_tcp_eager_limit = 65,536 B"
    with_sm = by_tcp | {"OMPI_MCA_btl": "self,tcp,sm"}
    assert message_knobs(OPEN_MPI_5, with_sm, "network", 65536) == "btl_tcp_eager_limit = 65,536 B"
    assert "btl_sm_eager_limit = 4,096 B" in message_knobs(OPEN_MPI_5, with_sm, "node", 4096)
    assert "btl_tcp" not in message_knobs(OPEN_MPI_5, with_sm, "node", 4096)


def test_mpich_names_its_netmods_knob_between_nodes_and_inside_them_where_nothing_is_local() -> None:
    values = MPICH_VALUES | {"UCX_RNDV_THRESH": "8192", "MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD": "8192"}
    cma = "MPIR_CVAR_CH4_IPC_CMA_P2P_THRESHOLD"
    by_ofi, by_ucx = ({"MPIR_CVAR_CH4_NETMOD": each} for each in ("ofi", "ucx"))
    assert names(Knobs(MPICH_4, values | by_ofi), 8000, 8192, "network") == [("MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD",)]
    assert names(Knobs(MPICH_4, values | by_ucx), 8000, 8192, "network") == [("UCX_RNDV_THRESH",)]
    assert (cma,) in names(Knobs(MPICH_4, values | by_ofi), 8000, 8192, "node")
    nothing_local = values | by_ofi | {"MPIR_CVAR_NOLOCAL": "1"}
    assert names(Knobs(MPICH_4, nothing_local), 8000, 8192, "node") == [("MPIR_CVAR_CH4_OFI_EAGER_THRESHOLD",)]


def test_a_variable_is_named_as_its_own_version_names_it_and_in_a_whole_sentence() -> None:
    """A run of Open MPI 4.1.4 was told of btl_sm_eager_limit, which 4.1 does not have."""
    old = Knobs("Open MPI v4.1.4, package: made", {})
    assert old.usual("node") == "btl_vader_eager_limit"
    assert Knobs(OPEN_MPI_5, {}).usual("node") == "btl_sm_eager_limit"
    assert old.usual("node", "bcast") == (
        "coll_tuned_bcast_algorithm, which chooses the algorithm; or btl_vader_eager_limit"
    )


def test_what_is_copied_at_once_with_its_header_is_a_knob_of_open_mpi_4() -> None:
    knobs = Knobs("Open MPI v4.1.4, package: made", {"btl_vader_max_inline_send": "256"})
    assert [each.names for each in knobs.within(256, 362, "node")] == [("btl_vader_max_inline_send",)]
    assert knobs.within(256, 362, "network") == []
    # it moves nothing of 16 MiB, which a page advised to set it for
    inline = next(each for each in KNOBS[OPEN_MPI] if "max_inline_send" in each.pattern)
    assert [matters(inline, 256, size) for size in (64, 256, 257, 1 << 24)] == [True, True, False, False]
