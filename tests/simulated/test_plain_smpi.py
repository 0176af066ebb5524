# SPDX-License-Identifier: BSD-3-Clause
"""Weft's simulated exchange against an SMPI program and an XML platform of a few lines, which share nothing with it."""

import subprocess
from pathlib import Path

import pytest
from simulated_cells import Simulate
from walked import rows_of, walked

from weft.fabric import load_fabric
from weft.launch.simulated.launcher import SimulatedLauncher
from weft.launch.simulated.simgrid import Programs

pytestmark = pytest.mark.simulated

PROGRAM = """
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
    int rank, size, block = atoi(argv[1]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *out = malloc(block), *in = malloc(block);
    MPI_Barrier(MPI_COMM_WORLD);
    /* again and again, because the barrier lets the ranks go some latencies apart */
    int again = block < 1000 ? 1000 : 1;
    double mine = MPI_Wtime(), longest;
    for (int step = 1, all = again * (size - 1); step <= all; ++step) {
        int by = 1 + step % (size - 1);
        MPI_Sendrecv(out, block, MPI_CHAR, (rank + by) % size, 0, in, block, MPI_CHAR, (rank - by + size) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    mine = (MPI_Wtime() - mine) / again;
    if (argc > 2) { /* a ping-pong of the first two ranks instead: half of each of 1000 round trips */
        MPI_Barrier(MPI_COMM_WORLD);
        mine = MPI_Wtime();
        for (int trip = 0; rank < 2 && trip < 2000; ++trip)
            if (trip % 2 == rank)
                MPI_Send(out, block, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(in, block, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        mine = rank < 2 ? (MPI_Wtime() - mine) / 2000 : 0;
    }
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.12f\\n", longest);
    MPI_Finalize();
    return 0;
}
"""
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-8" speed="1Gf" bw="2.62GBps" lat="{latency}"
           sharing_policy="SPLITDUPLEX"/>
</platform>
"""
FABRIC = """
name = "star"
kind = "simulated"
[node]
names = "n[0-8]"
cores = 1
copy_rate = "5000 GB/s"
[network]
topology = "star"
latency = "1.2 us"
adapter_rate = "2.62 GB/s"
[simulation]
collectives = "mvapich2"
"""
PAIRS = """
name = "few"
kernel = "pairs"
[pairs]
bytes = ["8 B"]
concurrency = "isolated"
[[series]]
name = "one"
nodes = 3
ranks_per_node = 1
"""
# SMPI's own costs of messages are a calibration of Gigabit Ethernet
NO_COSTS = ("os", "ois", "or")
LARGE, SMALL = 1_000_000, 8  # bytes: what takes its time for the bytes, and what takes it for the latency
NEAR = 0.01  # SMPI adds 7 ns to a message of 8 B
HALF = "600ns"  # a message crosses two links


def plain_seconds(folder: Path, programs: Programs, ranks: int, block: int, *more: str, latency: str = HALF) -> float:
    """Seconds of the exchange by the plain program, or of its ping-pong one way."""
    (folder / "exchange.c").write_text(PROGRAM)
    (folder / "star.xml").write_text(PLATFORM.format(latency=latency))
    (folder / "hosts").write_text("\n".join(f"n{index}" for index in range(9)))
    compiler = programs.simgrid.smpicxx.with_name("smpicc")
    subprocess.run([str(compiler), "-O1", "exchange.c", "-o", "exchange"], cwd=folder, check=True, timeout=120)
    options = {
        "network/model": "SMPI", "smpi/bw-factor": "0:1", "smpi/lat-factor": "0:1", "network/TCP-gamma": "0",
        "network/crosstraffic": "0", "smpi/simulate-computation": "no",
        **{f"smpi/{name}": "0:0:0" for name in NO_COSTS},
    }  # fmt: skip
    done = subprocess.run(
        [
            str(programs.simgrid.smpirun), "-np", str(ranks), "-platform", "star.xml", "-hostfile", "hosts",
            *(f"--cfg={key}:{value}" for key, value in options.items()), "--log=root.thres:critical", "./exchange",
            str(block), *more,
        ],
        cwd=folder, check=True, timeout=120, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


def expected_seconds(nodes: int, block: int) -> float:
    """Seconds of the exchange by hand: a latency and a block in each of its rounds."""
    return (nodes - 1) * (block / 2.62e9 + 1.2e-6)


def weft_seconds(simulate: Simulate, nodes: int, block: int) -> float:
    """Seconds of Weft's exchange."""
    cell = simulate(nodes=nodes, ranks_per_node=1, n=nodes**2, m=block // 8, text=FABRIC)
    return cell.seconds("C", "warm")


@pytest.mark.parametrize("block", [LARGE, SMALL])
@pytest.mark.parametrize("nodes", [3, 9])
def test_a_plain_program_on_a_plain_platform_takes_as_long(
    nodes: int, block: int, simulate: Simulate, programs: Programs, tmp_path: Path
) -> None:
    plain = plain_seconds(tmp_path, programs, nodes, block)
    assert plain == pytest.approx(expected_seconds(nodes, block), rel=NEAR)
    assert weft_seconds(simulate, nodes, block) == pytest.approx(plain, rel=NEAR)


def test_a_platform_with_another_latency_takes_another_time(
    simulate: Simulate, programs: Programs, tmp_path: Path
) -> None:
    """What the small blocks are for: the large ones hardly see it."""
    wrong = [plain_seconds(tmp_path, programs, 3, block, latency="660ns") for block in (LARGE, SMALL)]
    assert weft_seconds(simulate, 3, LARGE) == pytest.approx(wrong[0], rel=NEAR)
    assert wrong[1] / weft_seconds(simulate, 3, SMALL) == pytest.approx(1.1, rel=NEAR)


def test_a_ping_pong_takes_as_long_as_wefts_pairs(programs: Programs, tmp_path: Path) -> None:
    (tmp_path / "fabric.toml").write_text(FABRIC)
    fabric = load_fabric(tmp_path / "fabric.toml")
    rows = rows_of(walked(tmp_path, PAIRS, fabric, SimulatedLauncher(fabric, programs)), "pairs")
    (plain,) = {plain_seconds(tmp_path, programs, 2, SMALL, "ping-pong")}
    assert plain == pytest.approx(1.2e-6 + SMALL / 2.62e9, rel=NEAR)
    assert len(rows) == 6  # three nodes, both directions
    assert [row["median_s"] for row in rows] == pytest.approx([plain] * 6, rel=NEAR)
