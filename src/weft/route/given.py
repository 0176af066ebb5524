# SPDX-License-Identifier: BSD-3-Clause
"""Inputs of the commands on routes: a fabric with failures, a placement, a file to write."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fabric.network import Network, build_network
from weft.fabric.nodeset import expand
from weft.files.matrix import read_matrix
from weft.route.failures import fail, fail_random
from weft.route.library import Floats, Ints
from weft.route.patterns import all_to_all
from weft.route.routes import Routes
from weft.route.subnet import tables_text


def given_network(file: str, failed: Sequence[str] = (), failed_random: int = 0, seed: int = 1) -> tuple[str, Network]:
    """Name and network of a fabric file, without the failed links or switches.

    Raises
    ------
    FabricError
        There is no such fabric or link, or the fabric's cables are not known.
    """
    fabric = load_fabric(file)
    network = build_network(fabric)
    if not network.cables_known:
        raise FabricError(
            f"{file} states which switches are connected, but not by how many cables: loads cannot be computed",
            "import the output of ibnetdiscover: weft fabric import DUMP -o FILE",
        )
    network = fail(network, failed)
    return fabric.name, fail_random(network, failed_random, seed) if failed_random else network


def hosts_of(network: Network, placement: str | None, ranks: int = 1) -> Ints | None:
    """Host index of each rank, shape (ranks,), for a placement such as ``n[1-36]`` with ``ranks`` on each host.

    None stands for one rank on every host.

    Raises
    ------
    FabricError
        The placement is not a node set, or has a host that is not in the network.
    """
    if ranks < 1:
        raise FabricError(f"{ranks} ranks on a host", "give at least 1")
    if placement is None and ranks == 1:
        return None
    try:
        names = network.hosts if placement is None else expand(placement)
    except ValueError as error:
        raise FabricError(f"--placement {placement}: {error}", 'write for example "n[1-36]"') from error
    return np.repeat(network.indices(list(names)), ranks).astype(np.int32)


def traffic_of(routes: Routes, jobs: Sequence[str], nodes: int) -> Floats | None:
    """Relative load of other jobs on each link, shape (links,), no unit: each runs an all-to-all at our job's rate.

    Parameters
    ----------
    nodes
        Number of hosts of our job: while one of its hosts sends to all others, a host of another job sends the same
        amount.
    """
    if not jobs:
        return None
    load = np.zeros(len(routes.network.links))
    for job in jobs:
        hosts = hosts_of(routes.network, job)
        members = routes.members(hosts)
        load += all_to_all(routes, members).load * ((nodes - 1) / max(1, len(members) - 1))
    return load


def matrix_of(path: Path | None) -> Floats | None:
    """Amount from each rank to each other, shape (ranks, ranks), in any unit, from a file of kernel ``collective``.

    Raises
    ------
    WeftError
        The file is not a square matrix of non-negative numbers.
    """
    return None if path is None else np.array(read_matrix(path), dtype=np.float64)


def write_tables(network: Network, path: Path) -> None:
    """Write the tables of a network in the format that OpenSM loads.

    Raises
    ------
    FabricError
        The network states no GUIDs, or the file cannot be written.
    """
    text = tables_text(network)
    try:
        part = path.with_name(f".{path.name}.part")
        part.write_text(text, encoding="ascii")
        part.replace(path)
    except OSError as error:
        raise FabricError(f"cannot write {path}: {error.strerror}", "choose another place with -o") from error
