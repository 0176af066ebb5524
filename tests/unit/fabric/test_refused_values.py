# SPDX-License-Identifier: BSD-3-Clause
"""Values that a fabric file may not have, in every section, refused by whatever reads it."""

from pathlib import Path

import pytest

from weft.cli.app import main
from weft.errors import FabricError
from weft.fabric import load_fabric
from weft.fabric.simulation import ALGORITHMS

FILE = """
name = "made"
kind = "simulated"
[node]
names = "n[0-3]"
cores = 2
copy_rate = "8 GB/s"
{node}
[network]
adapter_rate = "4 GB/s"
{network}
{shape}
[simulation]
{simulation}
"""
TREE = 'topology = "fat-tree"\n'
IN_TREE = '[network.tree]\nnodes_per_leaf = 2\nuplinks = 2\nlink_rate = "4 GB/s"\n'
TORUS = 'topology = "torus"\n'
IN_TORUS = '[network.torus]\ndimensions = [2, 2]\nlink_rate = "4 GB/s"\n'
DRAGONFLY = 'topology = "dragonfly"\n'
IN_DRAGONFLY = (
    "[network.dragonfly]\nnodes_per_router = 1\nrouters_per_group = 2\nglobal_links = 1\n"
    'local_rate = "4 GB/s"\nglobal_rate = "4 GB/s"\n'
)
SEGMENT = '[[network.segments]]\nabove = "1 KiB"\n'


def text(**parts: str) -> str:
    return FILE.format_map({"node": "", "network": "", "shape": "", "simulation": ""} | parts)


PLACES = {
    "node.latency": {"node": "latency = {}"},
    "network.latency": {"network": "latency = {}"},
    "network.overhead": {"network": "overhead = {}"},
    "network.eager_overhead": {"network": "eager_overhead = {}"},
    "network.message_gap": {"network": "message_gap = {}"},
    "network.rendezvous_stall": {"network": "rendezvous_stall = {}"},
    "network.segments.0.overhead": {"shape": SEGMENT + "overhead = {}"},
    "network.segments.0.message_gap": {"shape": SEGMENT + "message_gap = {}"},
    "network.tree.link_latency": {"network": TREE, "shape": IN_TREE + "link_latency = {}"},
    "network.tree.pod_link_latency": {"network": TREE, "shape": IN_TREE + "pod_link_latency = {}"},
    "network.torus.link_latency": {"network": TORUS, "shape": IN_TORUS + "link_latency = {}"},
    "network.dragonfly.local_latency": {"network": DRAGONFLY, "shape": IN_DRAGONFLY + "local_latency = {}"},
    "network.dragonfly.global_latency": {"network": DRAGONFLY, "shape": IN_DRAGONFLY + "global_latency = {}"},
    "simulation.inside_cost": {"simulation": "inside_cost = {}"},
    "simulation.connection_cost": {"simulation": "connection_cost = {}"},
}


@pytest.mark.parametrize("key", sorted(PLACES))
@pytest.mark.parametrize("value", ["2 s", "-1 us", "1 min"])
def test_a_time_that_no_interconnect_takes_is_refused_in_every_section(tmp_path: Path, key: str, value: str) -> None:
    path = tmp_path / "made.toml"
    path.write_text(text(**{name: part.format(f'"{value}"') for name, part in PLACES[key].items()}))
    with pytest.raises(FabricError) as caught:
        load_fabric(path)
    told = "a time is not negative" if value.startswith("-") else "is not plausible (at most "
    assert f'"{key}" = "{value}": ' in caught.value.what
    assert told in caught.value.what


@pytest.mark.parametrize("key", sorted(PLACES))
def test_a_plausible_time_is_taken_in_every_section(tmp_path: Path, key: str) -> None:
    path = tmp_path / "made.toml"
    path.write_text(text(**{name: part.format('"165 us"') for name, part in PLACES[key].items()}))
    load_fabric(path)


@pytest.mark.parametrize("verb", [["fabric", "check"], ["plan", "contention", "--on"], ["run", "contention", "--on"]])
@pytest.mark.parametrize(
    ("part", "told"),
    [
        ({"network": 'message_gap = "1 s"'}, '"network.message_gap" = "1 s": 1 s is not plausible (at most 100 ms)'),
        ({"simulation": 'algorithms = { alltoallv = "rign" }'}, 'SMPI has no algorithm "rign" of alltoallv; it has '),
        ({"simulation": 'algorithms = { exchange = "ring" }'}, '"exchange" is no call with a choice of algorithms: '),
    ],
)
def test_check_plan_and_run_refuse_the_same_file_alike(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
    verb: list[str], part: dict[str, str], told: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "made.toml").write_text(text(**part))
    assert main([*verb, "made.toml"]) == 2
    assert told in " ".join(capsys.readouterr().err.split())
    assert [path.name for path in tmp_path.iterdir()] == ["made.toml"]


@pytest.mark.parametrize("call", sorted(ALGORITHMS))
def test_an_algorithm_of_another_call_is_refused_with_the_list_of_this_one(tmp_path: Path, call: str) -> None:
    foreign = next(name for names in ALGORITHMS.values() for name in sorted(names) if name not in ALGORITHMS[call])
    path = tmp_path / "made.toml"
    path.write_text(text(simulation=f'algorithms = {{ {call} = "{foreign}" }}'))
    with pytest.raises(FabricError) as caught:
        load_fabric(path)
    assert all(name in caught.value.what for name in ALGORITHMS[call])
    path.write_text(text(simulation=f'algorithms = {{ {call} = "{max(ALGORITHMS[call])}" }}'))
    assert load_fabric(path).simulation
