# SPDX-License-Identifier: BSD-3-Clause
"""Words and variables that start ranks on virtual hosts and hold them to the links."""

from pathlib import Path

import pytest

from weft.errors import LaunchError
from weft.launch.launcher import BLOCK, CYCLIC, LaunchRequest
from weft.launch.virtual.cluster import AGENT
from weft.launch.virtual.launcher import anywhere, starter_for
from weft.mpi.library import Library

OPEN_MPI_5 = Library("Open MPI", "5.0.11", "")
OPEN_MPI_4 = Library("Open MPI", "4.1.4", "")
MPICH = Library("MPICH", "5.0.1", "")


def asked(order: str = BLOCK) -> LaunchRequest:
    """Six ranks on three hosts."""
    return LaunchRequest("l", 6, ("n3", "n1", "n2"), 2, order, False, Path("plan"), Path("run"), 0.0)


@pytest.mark.parametrize(("order", "around"), [(BLOCK, "slot"), (CYCLIC, "node")])
@pytest.mark.parametrize("library", [OPEN_MPI_4, OPEN_MPI_5])
def test_open_mpi_fills_or_goes_round_the_hosts_in_the_order_asked_for(
    library: Library, order: str, around: str
) -> None:
    words = starter_for(library).words(asked(order))
    assert words[words.index("--host") + 1] == "n3:2,n1:2,n2:2"
    assert words[words.index("--map-by") + 1] == around
    assert words[-2:] == ["-n", "6"]
    assert not any("OVERSUBSCRIBE" in word.upper() for word in words)


@pytest.mark.parametrize(("order", "hosts"), [(BLOCK, "n3:2,n1:2,n2:2"), (CYCLIC, "n3:1,n1:1,n2:1")])
def test_hydra_goes_round_a_list_of_as_many_ranks_as_fill_it(order: str, hosts: str) -> None:
    words = starter_for(MPICH).words(asked(order))
    assert words[words.index("-hosts") + 1] == hosts
    assert words[words.index("-launcher-exec") + 1] == AGENT


@pytest.mark.parametrize(
    ("library", "variable", "value"),
    [
        (OPEN_MPI_5, "OMPI_MCA_btl", "tcp,self,sm"),
        (OPEN_MPI_5, "OMPI_MCA_btl_tcp_if_include", "eth0"),
        (OPEN_MPI_5, "PRTE_MCA_plm_ssh_agent", AGENT),
        (OPEN_MPI_4, "OMPI_MCA_btl", "tcp,self,vader"),
        (OPEN_MPI_4, "OMPI_MCA_plm_rsh_agent", AGENT),
        (OPEN_MPI_4, "OMPI_MCA_mpi_yield_when_idle", "1"),
        (MPICH, "UCX_TLS", "tcp,sm,self"),
        (MPICH, "UCX_NET_DEVICES", "eth0"),
    ],
)
def test_no_library_may_slip_past_the_links(library: Library, variable: str, value: str) -> None:
    assert starter_for(library).environment()[variable] == value


def test_open_mpi_may_run_as_the_root_that_one_is_inside() -> None:
    for library in (OPEN_MPI_4, OPEN_MPI_5):
        assert starter_for(library).environment()["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"


def test_a_library_that_nobody_tried_is_refused() -> None:
    with pytest.raises(LaunchError, match=r"Intel MPI 2021\.9 cannot be restricted to virtual links"):
        starter_for(Library("Intel MPI", "2021.9", ""))


def test_in_a_shell_on_a_host_every_family_goes_over_the_links() -> None:
    variables = anywhere()
    assert variables["HYDRA_LAUNCHER_EXEC"] == variables["OMPI_MCA_plm_rsh_agent"] == AGENT
    assert variables["PRTE_MCA_plm_ssh_agent"] == AGENT
    # Open MPI 5 knows its sm by the former name too; 4 would stop at the new one
    assert variables["OMPI_MCA_btl"] == "tcp,self,vader"
