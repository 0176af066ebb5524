# SPDX-License-Identifier: BSD-3-Clause
"""Virtual lanes of a real subnet manager: a ring that deadlocks on one lane does not on those that OpenSM gives."""

import os
import shutil
import subprocess
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from made.routes import network_of_cables
from weft.cli.app import main
from weft.errors import FabricError
from weft.fabric.importing import import_dump
from weft.launch import opensm
from weft.launch.preload import route_library
from weft.route.checks import check_routes, find_circle, lanes_of, read_service
from weft.route.given import given_network
from weft.route.routes import Routes

TOOLS = "/usr/sbin:/sbin"
SWITCHES = 6


def tool(name: str) -> str | None:
    return shutil.which(name, path=f"{os.environ['PATH']}:{TOOLS}")


pytestmark = pytest.mark.skipif(
    bool(opensm.missing()) or not tool("saquery"), reason="apt install opensm ibsim-utils infiniband-diags"
)


def ring() -> list[tuple[int, int]]:
    """A host on each switch of a ring."""
    hosts = [(h, SWITCHES + h) for h in range(SWITCHES)]
    return hosts + [(SWITCHES + s, SWITCHES + (s + 1) % SWITCHES) for s in range(SWITCHES)]


@contextmanager
def managed(folder: Path, engine: str) -> Generator[dict[str, str]]:
    """A subnet manager that stays, over a simulated ring; yields the environment of tools that ask it."""
    network = network_of_cables(SWITCHES, SWITCHES, ring())
    log = folder / "osm.log"
    with opensm._ibsim(network, folder) as socket:  # pyright: ignore[reportPrivateUsage]
        preload = str(opensm._preload())  # pyright: ignore[reportPrivateUsage]
        host = opensm.first_host(network)
        asks = {**os.environ, "IBSIM_SOCKNAME": socket, "SIM_HOST": host, "LD_PRELOAD": preload}
        command = [str(tool("opensm")), "-R", engine, "--dump_files_dir", str(folder), "-D", hex(opensm.DUMPS)]
        running = subprocess.Popen(
            [*command, "-f", str(log)],
            env=asks | {"OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder)},
            cwd=folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until = time.monotonic() + 60
            while not tables_are_there(folder):
                assert time.monotonic() < until, log.read_text(errors="replace")[-500:]
                time.sleep(0.2)
            yield asks
        finally:
            running.terminate()
            running.wait(30)


def tables_are_there(folder: Path) -> bool:
    """Whether OpenSM has written the table of the last switch."""
    tables = folder / "opensm-lfts.dump"
    return tables.is_file() and tables.read_text(errors="replace").count("lids dumped") == SWITCHES


def asked(environment: dict[str, str], *words: str) -> str:
    command = [str(tool(words[0])), *words[1:]]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False).stdout


@pytest.mark.parametrize("engine", ["dfsssp", "lash"])
def test_a_ring_is_free_of_deadlock_on_the_lanes_of_its_subnet_manager(tmp_path: Path, engine: str) -> None:
    with managed(tmp_path, engine) as environment:
        import_dump(tmp_path / "opensm-subnet.lst", tmp_path / "ring.toml", tables=tmp_path / "opensm-lfts.dump")
        fabric = tmp_path / "ring.toml"
        _, network = given_network(str(fabric))
        assert network.addresses is not None
        hosts, switches = network.addresses.host_lids.tolist(), network.addresses.switch_lids.tolist()
        pairs = [(a, b) for a in hosts for b in hosts if a != b]
        paths = "".join(asked(environment, "saquery", "PR", "--slid", str(a), "--dlid", str(b)) for a, b in pairs)
        (tmp_path / "paths.txt").write_text(paths)
        (tmp_path / "sl2vl.txt").write_text("".join(asked(environment, "smpquery", "sl2vl", str(s)) for s in switches))
    service = read_service(tmp_path / "paths.txt", tmp_path / "sl2vl.txt")
    assert len(service.paths) >= len(pairs)
    assert len(service.lanes) == SWITCHES
    routes = Routes(network, route_library(), 2)
    assert find_circle(routes) is not None
    assert find_circle(routes, lanes_of(routes, service)) is None
    assert any("circle" in finding.what for finding in check_routes(routes))
    assert main(["route", "show", str(fabric), "--paths", str(tmp_path / "paths.txt")]) == 0


def test_what_holds_no_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "paths.txt").write_text("hello\n")
    with pytest.raises(FabricError, match="no path record"):
        read_service(tmp_path / "paths.txt")
