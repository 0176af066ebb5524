# SPDX-License-Identifier: BSD-3-Clause
"""Weft's simulated exchange against an SMPI program and an XML platform of a few lines, which share nothing with it."""

import subprocess
from pathlib import Path

import pytest
from simulated_cells import Simulate

from weft.launch.simulated.programs import Programs

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
    double mine = MPI_Wtime(), longest;
    for (int step = 1; step < size; ++step)
        MPI_Sendrecv(out, block, MPI_CHAR, (rank + step) % size, 0, in, block, MPI_CHAR, (rank - step + size) % size, 0,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    mine = MPI_Wtime() - mine;
    MPI_Reduce(&mine, &longest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%.9f\\n", longest);
    MPI_Finalize();
    return 0;
}
"""
PLATFORM = """<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
  <cluster id="c" prefix="n" suffix="" radical="0-8" speed="1Gf" bw="2.62GBps" lat="600ns"
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
# SMPI's own costs of messages are a calibration of Gigabit Ethernet
NO_COSTS = ("os", "ois", "or")
BLOCK = 1_000_000


def plain_seconds(folder: Path, programs: Programs, ranks: int) -> float:
    """Seconds of the exchange by the plain program."""
    (folder / "exchange.c").write_text(PROGRAM)
    (folder / "star.xml").write_text(PLATFORM)
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
            str(BLOCK),
        ],
        cwd=folder, check=True, timeout=120, capture_output=True, text=True,
    )  # fmt: skip
    return float(done.stdout.split()[-1])


@pytest.mark.parametrize("nodes", [3, 9])
def test_a_plain_program_on_a_plain_platform_takes_as_long(
    nodes: int, simulate: Simulate, programs: Programs, tmp_path: Path
) -> None:
    cell = simulate(nodes=nodes, ranks_per_node=1, n=nodes**2, m=BLOCK // 8, text=FABRIC)
    expected = plain_seconds(tmp_path, programs, nodes)
    assert expected == pytest.approx((nodes - 1) * (BLOCK / 2.62e9 + 1.2e-6), rel=0.005)
    assert cell.seconds("C", "warm") == pytest.approx(expected, rel=0.005)
