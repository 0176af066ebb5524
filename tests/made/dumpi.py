# SPDX-License-Identifier: BSD-3-Clause
"""Writes texts as DUMPI's dumpi2ascii does, of calls that nobody made."""

from pathlib import Path

WORLD = "MPI_Comm comm=2 (MPI_COMM_WORLD)"
HALF = "MPI_Comm comm=5 (user-defined-comm)"
TRIPLE = "MPI_Datatype datatype=29 (user-defined-datatype)"


def text_of(name: str, second: int, *arguments: str) -> str:
    """A call of 800 ns in a second."""
    edge = f"{name} {{}} at walltime {second}.000000{{}}00, cputime 0.000012345 seconds in thread 0.\n"
    return edge.format("entering", 1) + "".join(f"{each}\n" for each in arguments) + edge.format("returning", 9)


def rank_text(rank: int) -> str:
    """What one of four ranks did: halves of the world, a derived type, wildcards, a vector call."""
    other = rank ^ 1
    came = f"{{bytes=48, cancelled=0, source={other}, tag=4, error=0}}"
    sent = "{bytes=0, cancelled=0, source=0, tag=0, error=0}"
    counts = ", ".join(str(4 * (rank + 1)) for _ in range(4))
    return "".join(
        (
            text_of("MPI_Init", 10, "int argc=1", 'string argv[1]=["./a"]'),
            text_of("MPI_Comm_rank", 11, WORLD, f"int rank={rank}"),
            text_of("MPI_Comm_split", 12, "MPI_Comm oldcomm=2 (MPI_COMM_WORLD)", f"int color={rank % 2}",
                    f"int key={-rank}", "MPI_Comm newcomm=5 (user-defined-comm)"),
            text_of("MPI_Type_contiguous", 13, "int count=3", "MPI_Datatype oldtype=14 (MPI_DOUBLE)",
                    "MPI_Datatype newtype=29 (user-defined-datatype)"),
            text_of("MPI_Irecv", 14, "int count=10", TRIPLE, "int source=-1 (MPI_ANY_SOURCE)",
                    "int tag=-1 (MPI_ANY_TAG)", WORLD, "MPI_Request request=[7]"),
            text_of("MPI_Isend", 15, "int count=2", TRIPLE, f"int dest={other}", "int tag=4", WORLD,
                    "MPI_Request request=[8]"),
            text_of("MPI_Waitall", 16, "int count=2", "MPI_Request requests[2]=[7, 8]",
                    f"MPI_Status statuses[2]=[{came}, {sent}]"),
            text_of("MPI_Bcast", 17, "int count=6", "MPI_Datatype datatype=11 (MPI_INT)", "int root=0", HALF),
            text_of("MPI_Alltoallv", 18, "int commsize=4", "int sendcounts[4]=[4, 8, 12, 16]",
                    "int senddispls[4]=[0, 0, 0, 0]", "MPI_Datatype sendtype=11 (MPI_INT)",
                    f"int recvcounts[4]=[{counts}]", "int recvdispls[4]=[0, 0, 0, 0]",
                    "MPI_Datatype recvtype=11 (MPI_INT)", WORLD),
            text_of("MPI_File_open", 19, WORLD),
            text_of("MPI_Finalize", 20),
        )
    )  # fmt: skip


def write_texts(folder: Path) -> Path:
    """Write the texts of four ranks into a new folder."""
    folder.mkdir(parents=True)
    for rank in range(4):
        (folder / f"dumpi-2013.09.26.20.17.59-{rank:04d}.txt").write_text(rank_text(rank))
    return folder
