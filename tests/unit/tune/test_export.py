# SPDX-License-Identifier: BSD-3-Clause
"""Rule files of MPI libraries: read as the library reads them, they choose what the table chooses, or nothing."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from weft.errors import DataError
from weft.mpi.algorithms import TUNED
from weft.mpi.alltoall import Evidence, Rule, SelectionTable
from weft.tune import rule_files

EVIDENCE = Evidence(median_us=1, interval_us=(1, 1), pmpi_us=2, n=4)
OWN: dict[str, Any] = {
    "collective=alltoall": {
        "comm_type=intra": {
            "is_sendbuf_inplace=yes": {"algorithm=MPIR_Alltoall_intra_pairwise_sendrecv_replace": {}},
            "is_sendbuf_inplace=no": {"algorithm=MPIR_Alltoall_intra_scattered": {}},
        }
    },
    "collective=bcast": {"algorithm=MPIR_Bcast_intra_binomial": {}},
}


def table(*rules: Rule) -> SelectionTable:
    return SelectionTable(schema="weft-tuning/1", rules=rules)  # pyright: ignore[reportCallIssue]


def rule(algorithm: str, op: Any = "alltoall", **ranges: tuple[int, int]) -> Rule:
    return Rule(op=op, algorithm=algorithm, evidence=EVIDENCE, **ranges)  # pyright: ignore[reportArgumentType]


def first_match(rules: SelectionTable, op: str, ranks: int, size: int) -> str:
    """As libweft.so chooses where all nodes match."""
    for each in rules.rules:
        fits = each.op in (op, "*") and (each.p is None or each.p[0] <= ranks <= each.p[1])
        if fits and (each.bytes is None or each.bytes[0] <= size <= each.bytes[1]):
            return each.algorithm
    return "pmpi"


def by_open_mpi(text: str, op: str, ranks: int, size: int) -> str:
    """As coll_tuned reads its file: the last size that is not above the call's."""
    words = iter([word for line in text.splitlines() for word in line.partition("#")[0].split()])
    for _ in range(int(next(words))):
        number, chosen = int(next(words)), 0
        for _ in range(int(next(words))):
            least_ranks = int(next(words))
            rules = [(int(next(words)), int(next(words)), next(words), next(words)) for _ in range(int(next(words)))]
            if least_ranks <= ranks:
                chosen = [each[1] for each in rules if each[0] <= size * ranks][-1]
        if number == rule_files.TUNED_NUMBERS[op]:
            return TUNED[op][chosen - 1] if chosen else "pmpi"
    return "pmpi"


def by_mpich(tree: dict[str, Any], ranks: int, size: int) -> str:
    """As MPICH walks its file: the first condition that holds."""
    for key, below in tree.items():
        name, sign, value = key.partition("<=")
        if key.startswith("algorithm="):
            return key.partition("=")[2]
        if not sign or {"comm_size": ranks, "avg_msg_size": size}[name] <= int(value):
            return by_mpich(below, ranks, size)
    raise AssertionError("a call without a rule ends the job")


@pytest.fixture
def library(tmp_path: Path) -> Path:
    path = tmp_path / "libmpi.so"
    path.write_bytes(b'\x7fELF{"collective=x":1}\0' + json.dumps(OWN, separators=(",", ":")).encode() + b"\0more")
    return path


SPECS = ("pmpi", "flat.pairwise", "bruck{r=2}", "node.multi{nl=4}", "flat.window{w=32}")


def any_table(seed: int) -> SelectionTable:
    some = random.Random(seed)

    def ends(values: tuple[int, ...]) -> tuple[int, int]:
        low, high = sorted(some.choices(values, k=2))
        return low, high

    return table(*(
        rule(some.choice(SPECS), p=ends((2, 4, 6, 7, 12)), bytes=ends((0, 1, 8, 64, 512))) for _ in range(5)
    ))  # fmt: skip


@pytest.mark.parametrize("seed", range(30))
def test_both_files_choose_what_the_table_chooses(seed: int, library: Path) -> None:
    """With any overlapping rules, at, below and above each end of their ranges."""
    rules = any_table(seed)
    text, _ = rule_files.open_mpi_rules(rules)
    changed = json.loads(rule_files.mpich_rules(rules, library)[0])
    tree = changed["collective=alltoall"]["comm_type=intra"]["is_sendbuf_inplace=no"]
    assert changed["collective=bcast"] == OWN["collective=bcast"], "the rules of other collectives stay"
    for ranks in (1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 1000):
        for size in (0, 1, 2, 7, 8, 9, 63, 64, 65, 512, 513, 10**6):
            wanted = first_match(rules, "alltoall", ranks, size)
            assert by_open_mpi(text, "alltoall", ranks, size) == rule_files.TUNED_NAMES["alltoall"].get(wanted, "pmpi")
            scattered = "MPIR_Alltoall_intra_scattered"  # here also the library's own choice
            assert by_mpich(tree, ranks, size) == rule_files.MPICH_NAMES.get(wanted, scattered)


def test_what_a_library_lacks_is_named_with_its_place(library: Path) -> None:
    rules = table(rule("node.multi{nl=4}", p=(8, 8), bytes=(8, 64)), rule("bruck{r=4}", p=(8, 8), bytes=(65, 512)))
    text, left_out = rule_files.open_mpi_rules(rules)
    assert text.startswith("0 # collectives")
    assert left_out == [
        "alltoall on 8 ranks, 8 to 64 bytes: Open MPI has no node.multi{nl=4}",
        "alltoall on 8 ranks, 65 to 512 bytes: Open MPI has no bruck{r=4}",
    ]
    assert len(rule_files.mpich_rules(rules, library)[1]) == 2


def test_open_mpi_cannot_tell_sizes_of_alltoallv_apart() -> None:
    for_all = table(rule("flat.pairwise", "alltoallv", p=(8, 16)))
    text, left_out = rule_files.open_mpi_rules(for_all)
    assert [by_open_mpi(text, "alltoallv", ranks, 5) for ranks in (7, 8, 16, 17)] == [
        "pmpi", "pairwise", "pairwise", "pmpi",
    ]  # fmt: skip
    assert not left_out
    text, left_out = rule_files.open_mpi_rules(table(rule("flat.pairwise", "alltoallv", p=(8, 16), bytes=(8, 64))))
    assert by_open_mpi(text, "alltoallv", 8, 8) == "pmpi"
    assert "cannot tell sizes apart" in left_out[0]


def test_nodes_and_ranks_narrow_the_numbers_of_ranks() -> None:
    text, _ = rule_files.open_mpi_rules(table(rule("flat.pairwise", nodes=(2, 2), ranks_per_node=(4, 8))))
    assert [by_open_mpi(text, "alltoall", ranks, 8) for ranks in (7, 8, 16, 17)] == [
        "pmpi", "pairwise", "pairwise", "pmpi",
    ]  # fmt: skip


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b'{"collective="MPIR_Alltoall_intra_\0', b'{"collective=' * 99])
def test_a_library_without_rules_is_told(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "libmpi.so"
    path.write_bytes(content)
    with pytest.raises(DataError, match="holds no rules for MPI_Alltoall"):
        rule_files.own_rules(path)
