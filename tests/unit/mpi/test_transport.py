# SPDX-License-Identifier: BSD-3-Clause
"""What is named as ruling the cost of a message: how it is copied, and no limit far below its size."""

import pytest

from weft.mpi.transport import MAPPED, ONCE, TWICE, message_knobs

OPEN_MPI_5, OPEN_MPI_4 = "Open MPI v5.0.11, package: Open MPI built", "Open MPI v4.1.4, package: Debian"
MPICH_4 = "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi"
MIB = 2**20
SM = {
    "btl": "", "pml": "", "smsc": "", "btl_sm_eager_limit": "4096", "btl_vader_eager_limit": "4096",
    "btl_sm_max_send_size": "32768", "btl_vader_max_send_size": "32768", "btl_sm_rndv_eager_limit": "32768",
}  # fmt: skip
TCP = {
    "btl": "self,tcp", "pml": "", "btl_tcp_eager_limit": "65536", "btl_tcp_rndv_eager_limit": "65536",
    "btl_tcp_max_send_size": "131072", "btl_tcp_min_rdma_pipeline_size": "196608",
}  # fmt: skip


def test_an_eager_limit_far_below_the_blocks_is_not_named_for_them() -> None:
    """Moving btl_sm_eager_limit (4,096 B) was advised for blocks of 16 MiB, and btl_tcp_eager_limit for 600 KiB."""
    large = message_knobs(OPEN_MPI_5, SM | {"smsc_cma_priority": "37"}, "node", 16 * MIB)
    assert large == f"smsc = cma (CMA, {ONCE})"
    assert "eager" not in message_knobs(OPEN_MPI_5, TCP, "network", 600 * 1024)
    assert "btl_tcp_max_send_size = 131,072 B" in message_knobs(OPEN_MPI_5, TCP, "network", 16 * MIB)
    assert "eager" not in message_knobs("an unknown library", {}, "both", 16 * MIB)


@pytest.mark.parametrize(("block", "named"), [(64, True), (4096, True), (16384, True), (16385, False), (MIB, False)])
def test_an_eager_limit_is_named_up_to_four_times_its_value(block: int, named: bool) -> None:
    assert ("btl_sm_eager_limit = 4,096 B" in message_knobs(OPEN_MPI_5, SM, "node", block)) is named


def test_each_variable_is_named_once_and_what_is_sent_at_once_is_not_copied_once() -> None:
    small = message_knobs(OPEN_MPI_5, SM | {"smsc_cma_priority": "37"}, "node", 1024)
    assert "vader" not in small
    assert ONCE not in small, "it goes through a queue in shared memory"


@pytest.mark.parametrize(
    ("library", "values", "told"),
    [
        (OPEN_MPI_5, SM | {"smsc": "^cma"}, f"smsc = ^cma ({TWICE})"),
        (OPEN_MPI_5, SM | {"smsc_xpmem_priority": "50"}, f"smsc = xpmem (XPMEM, {MAPPED})"),
        (OPEN_MPI_4, {"btl": "", "btl_vader_single_copy_mechanism": "1"}, f"(CMA, {ONCE})"),
        (OPEN_MPI_4, {"btl": "", "btl_vader_single_copy_mechanism": "none"}, f"({TWICE})"),
        (MPICH_4, {"MPIR_CVAR_CH4_CMA_ENABLE": "1"}, f"(CMA, {ONCE})"),
        (MPICH_4, {"MPIR_CVAR_CH4_CMA_ENABLE": "1", "MPIR_CVAR_CH4_XPMEM_ENABLE": "1"}, f"(XPMEM, {MAPPED})"),
        (MPICH_4, {"MPIR_CVAR_CH4_CMA_ENABLE": "0"}, f"({TWICE})"),
    ],
)
def test_the_copies_that_the_transport_makes_are_told(library: str, values: dict[str, str], told: str) -> None:
    assert told in message_knobs(library, values, "node", 16 * MIB)


def test_pieces_matter_to_what_is_copied_in_and_out_only() -> None:
    pieces = "btl_sm_max_send_size = 32,768 B"
    assert pieces in message_knobs(OPEN_MPI_5, SM, "node", 16 * MIB)
    assert pieces not in message_knobs(OPEN_MPI_5, SM | {"smsc_cma_priority": "37"}, "node", 16 * MIB)
