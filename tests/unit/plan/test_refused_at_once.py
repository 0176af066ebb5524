# SPDX-License-Identifier: BSD-3-Clause
"""What asks for too much is refused before any work: each way in, by processor time, for the machine may be busy."""

import re
import time
import tracemalloc
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from weft.errors import WeftError
from weft.fabric.model import load_fabric
from weft.fabric.network.build import build_network
from weft.host import Host, Limit
from weft.kernel.studies import load_study
from weft.plan.make import make_plan

FABRIC = """\
name = "f"
kind = "simulated"
[node]
names = "n[1-64]"
cores = 8
memory = "64 GiB"
copy_rate = "5 GB/s"
[network]
latency = "1 us"
adapter_rate = "3 GB/s"
"""
EXCHANGE = 'name = "s"\nkernel = "exchange"\n'
ONE = EXCHANGE + '[[series]]\nname = "a"\nnodes = [1]\nranks_per_node = 1\nn = 4\nm = 1\n'


def numbers(last: int) -> str:
    return "[" + ",".join(map(str, range(1, last + 1))) + "]"


def texts(last: int) -> str:
    return "[" + ",".join(f'"{size} B"' for size in range(1, last + 1)) + "]"


def series(nodes: str = "[1]", ranks: str = "1", n: str = "4", m: str = "1") -> str:
    return f'{EXCHANGE}[[series]]\nname = "a"\nnodes = {nodes}\nranks_per_node = {ranks}\nn = {n}\nm = {m}\n'


def collective(section: str, nodes: str = "[2]", ranks: str = "8", more: str = "") -> str:
    head = f'name = "s"\nkernel = "collective"\n[collective]\n{section}\n'
    return f'{head}[[series]]\nname = "a"\nnodes = {nodes}\nranks_per_node = {ranks}\n{more}\n'


def pairs(section: str = "", nodes: str = "[64]", ranks: str = "8") -> str:
    head = f'name = "s"\nkernel = "pairs"\n[pairs]\n{section}\n[placement]\noversubscribe = true\n'
    return f'{head}[[series]]\nname = "a"\nnodes = {nodes}\nranks_per_node = {ranks}\n'


AUTO = 'nodes = [64]\nranks_per_node = "cores"\nn = "auto"\narray_most = "1 GiB"\nm = 1\n'
PLACED = f'{EXCHANGE}[[series]]\nname = "a"\n{AUTO}'
PARTS = ".".join(["a"] * 50_000)

ASKED = {
    "a million node counts": (series(nodes=numbers(1_000_000)), FABRIC, "at most 1,048,576 are read"),
    "50,000 node counts": (series(nodes=numbers(50_000)), FABRIC, "holds 50,000 numbers"),
    "50,000 ranks per node": (series(ranks=numbers(50_000)), FABRIC, "holds 50,000 numbers"),
    "a million shapes": (series(nodes=numbers(1000), ranks=numbers(1000)), FABRIC, "1,000,000 pairs of nodes"),
    "a million n and m": (series(n=numbers(1000), m=numbers(1000)), FABRIC, "1,000,000 series"),
    "no n for 1,000 ranks": (
        series(nodes=numbers(1000), n='"auto"\narray_most = "1 GiB"'),
        FABRIC,
        "no n up to 2^50",
    ),
    "10^14 ranks": (series(nodes="[10000000]", ranks="10000000"), FABRIC, "100,000,000,000,000 ranks"),
    "a tower of powers": (series(m='"9**9**9**9"'), FABRIC, "too large"),
    "a number of 190 digits": (series(m='"' + "9" * 190 + '"'), FABRIC, "too large"),
    "a float without end": (series(m='"1e999999999"'), FABRIC, "too large"),
    "50,000 sizes": (collective(f"sizes = {texts(50_000)}"), FABRIC, "holds 50,000 sizes"),
    "a range without end": (collective('sizes = "1 B .. 1e300 TiB"'), FABRIC, "larger than any memory"),
    "50,000 process counts": (
        collective('sizes = "1 B .. 8 B"', more=f"processes = {numbers(50_000)}"),
        FABRIC,
        "holds 50,000 numbers",
    ),
    "collectives of 10^10 ranks": (
        collective('sizes = "1 B .. 8 B"', nodes="[10000000]", ranks="1000", more='processes = "2..p"'),
        FABRIC,
        "10,000,000,000 ranks",
    ),
    "50,000 sizes of pairs": (pairs(f"bytes = {texts(50_000)}"), FABRIC, "holds 50,000 sizes"),
    "pairs of 6 million ranks": (pairs(ranks="100000"), FABRIC, "6,400,000 ranks make"),
    "10^9 drawn pairs": (pairs("sample_pairs = 1000000000"), FABRIC, "less than or equal to 10000"),
    "a million nodes": (ONE, FABRIC.replace("n[1-64]", "n[1-1000000]"), "more than 200,000 nodes"),
    "10^12 nodes": (ONE, FABRIC.replace("n[1-64]", "n[1-1000000]x[1-1000000]"), "more than 200,000 nodes"),
    "10 million cores": (
        PLACED,
        FABRIC.replace("cores = 8", "cores = 10000000"),
        "640,000,000 ranks",
    ),
    "100,000 rates": (
        ONE,
        FABRIC + "[network.rates]\n" + "".join(f'"n{i} - n{i + 1}" = "1 GB/s"\n' for i in range(100_000)),
        "at most 1,048,576 are read",
    ),
    "300 groups of 200,000": (
        ONE,
        FABRIC.replace("n[1-64]", "n[1-200000]")
        + "[groups]\n"
        + "".join(f'g{i} = "n[{i + 1}-200000]"\n' for i in range(300)),
        "names in all groups",
    ),
    "200,000 names of 250 characters": (
        ONE,
        FABRIC.replace("n[1-64]", "x" * 244 + "[1-200000]"),
        "8,000,000 characters",
    ),
    "200,000 names of 120 numbers": (ONE, FABRIC.replace("n[1-64]", "1a" * 120 + "[1-200000]"), "8,000,000 characters"),
    "a key of 50,000 parts": (ONE + PARTS + " = 1\n", FABRIC, "line 9 has a name of more than 64 parts"),
    "a header of 50,000 parts": (f"[{PARTS}]\n", FABRIC, "line 1 has a name of more than 64 parts"),
    "50,000 parts in quotes": (" . ".join(["'\"'", '"\\""'] * 25_000) + " = 1\n", FABRIC, "more than 64 parts"),
    "a key of a fabric with 50,000 parts": (
        ONE,
        f"x = {{ {PARTS} = 1 }}\n{FABRIC}",
        "line 1 has a name of more than 64",
    ),
    "200 series with 200 n each": (
        EXCHANGE
        + "".join(
            f'[[series]]\nname = "a{i}"\nnodes = [1]\nranks_per_node = 1\nn = {numbers(200)}\n' for i in range(200)
        ),
        FABRIC,
        "make over 20,000 series",
    ),
    "200,000 launches": (
        f"{EXCHANGE}[measure]\nlaunches = 1000\n" + series(m=numbers(200))[len(EXCHANGE) :],
        FABRIC.replace("simulated", "slurm"),
        "launches in each of 1,000 rounds",
    ),
}


NETWORKS = {
    "a tree of 10^14 cables": 'topology = "fat-tree"\n[network.tree]\nnodes_per_leaf = 1\nuplinks = 10000000\n'
    'link_rate = "1 GB/s"\n',
    "a torus of 10^21 switches": 'topology = "torus"\n[network.torus]\ndimensions = [10000000, 10000000, 10000000]\n'
    'link_rate = "1 GB/s"\n',
    "groups of ten million routers": 'topology = "dragonfly"\n[network.dragonfly]\nnodes_per_router = 1\n'
    'routers_per_group = 10000000\nglobal_links = 10000000\nlocal_rate = "1 GB/s"\nglobal_rate = "1 GB/s"\n',
}


@contextmanager
def at_once() -> Generator[None]:
    """Under a second of processor time, and without memory to speak of."""
    started = time.process_time()
    yield
    assert time.process_time() - started < 1.0


@pytest.mark.parametrize("asked", ASKED)
def test_too_much_is_refused_at_once(asked: str, tmp_path: Path) -> None:
    study, fabric, why = ASKED[asked]
    (tmp_path / "study.toml").write_text(study)
    (tmp_path / "fabric.toml").write_text(fabric)
    host = Host("made", 8, 1 << 36, (Limit(1 << 36, "MemAvailable"),))
    with pytest.raises(WeftError, match=re.escape(why)) as refused, at_once():
        make_plan(load_study(tmp_path / "study.toml"), load_fabric(tmp_path / "fabric.toml"), predict=False, host=host)
    assert refused.value.remedy


DOTS = ".".join(["a"] * 80)


@pytest.mark.parametrize(
    "title", [f"'{DOTS}'", f'"{DOTS}"', f"'''\n{DOTS} = 1\n'''", f'"""\n{DOTS} ""\n"""', f"'' # {DOTS}"]
)
def test_dots_in_a_text_or_comment_make_no_key(title: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(f"title = {title}\n{ONE}")
    assert load_study(tmp_path / "study.toml").name == "s"


@pytest.mark.parametrize("path", ["a\\u0000b", "", "a" * 300, "b/" * 2001])
def test_what_can_be_no_path_is_refused(path: str, tmp_path: Path) -> None:
    """A NUL was a traceback, and a path without a name the study's own folder."""
    for study in (
        collective(f'collectives = ["Alltoallv"]\npatterns = ["matrix"]\nmatrix = "{path}"'),
        collective(f'collectives = ["Alltoall"]\nalgorithm = "auto"\ntable = "{path}"'),
        f'{EXCHANGE}[exchange]\ndata = "file"\nfile = "{path}"\n' + ONE[len(EXCHANGE) :],
        f'name = "s"\nkernel = "replay"\n[replay]\nscript = "{path}"\n[[series]]\nname = "a"\nnodes = [1]\n',
    ):
        (tmp_path / "study.toml").write_text(study)
        with pytest.raises(WeftError, match=r"the path of a file"):
            load_study(tmp_path / "study.toml")


@pytest.mark.parametrize("network", NETWORKS)
def test_a_network_too_large_is_refused_at_once(network: str, tmp_path: Path) -> None:
    (tmp_path / "fabric.toml").write_text(FABRIC + NETWORKS[network])
    fabric = load_fabric(tmp_path / "fabric.toml")
    with pytest.raises(WeftError, match=r"too large|at most"), at_once():
        build_network(fabric)


def test_a_file_of_any_size_is_read_no_further_than_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    with path.open("wb") as file:
        file.truncate(1 << 40)  # a hole: no disk is used
    tracemalloc.start()
    with pytest.raises(WeftError, match=r"1,099,511,627,776 bytes"), at_once():
        load_study(path)
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()
