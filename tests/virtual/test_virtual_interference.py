# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs on switches that route: measured factors beside those of fair shares, and the cable that both use.

A receive window of 64 KiB bounds what each connection has under way, so that no queue overflows: shares of a full link
are then even, as on networks with credits.
"""

from collections import Counter
from pathlib import Path

import pytest
from clusters import Installed
from over_fabric import OVER_FABRIC, run_over
from test_virtual_routed import way_of

from weft.analyse.tables.answers import IMPACTS
from weft.fabric import Fabric, load_fabric
from weft.kernel.registry import kernel_named
from weft.launch.virtual.cluster import Cluster
from weft.launch.virtual.fabric_spec import spec_of
from weft.plan.records import Cell
from weft.plan.stored import plan_of

pytestmark = [*OVER_FABRIC, pytest.mark.long]
FABRIC = """
name = "two-jobs"
kind = "virtual"
[node]
names = "node[0-7]"
cores = 1
memory = "1 GiB"
[network]
topology = "fat-tree"
adapter_rate = "4 MB/s"
routing = "{routing}"
[network.tree]
nodes_per_leaf = 4
uplinks = {spines}
spines = {spines}
link_rate = "4 MB/s"
"""
STUDY = """
name = "two-jobs"
kernel = "interference"
[measure]
launches = 1
min_samples = 6
max_samples = 6
warmup_most = 1
budget = "8 s"
limit = "600 s"
seed = {seed}
[interference]
victims = ["stream", "exchange"]
aggressors = ["stream", "shift", "alltoall", "incast", "bcast"]
places = {places}
large = "256 KiB"
window = 4
burst = 6
chunk = 3
[[series]]
name = "s"
nodes = [8]
ranks_per_node = 1
"""


def fullest(up: Cluster, cell: Cell, word: str) -> set[str]:
    """The links that messages of both jobs cross as the switches themselves say, those with most of them."""
    jobs, hosts = kernel_named(cell.kernel).jobs(cell.parameters, cell.ranks), cell.launched.hosts
    assert jobs is not None
    counts: list[Counter[str]] = []
    for pairs in (jobs.pairs, jobs.pairs_beside(word)):
        links: Counter[str] = Counter()
        for source, target in pairs:
            way = way_of(up, hosts[source], hosts[target], 40000)
            for place, cable in enumerate(way[1:-1]):
                links[" -> ".join(cable.split("-")[:: -1 if 2 * place >= len(way) - 2 else 1])] += 1
        counts.append(links)
    both = {link: counts[0][link] + counts[1][link] for link in counts[0].keys() & counts[1].keys()}
    return {link for link, count in both.items() if count == max(both.values())}


@pytest.mark.parametrize(
    ("routing", "spines", "places", "seed"),
    [("ecmp", 1, '["alternating", "other-leaf"]', 3), ("tables", 2, '["random"]', 1), ("tables", 2, '["random"]', 4)],
    ids=["ecmp", "tables1", "tables4"],
)
def test_factors_are_those_of_fair_shares_of_the_cable_that_is_named(
    routing: str,
    spines: int,
    places: str,
    seed: int,
    installed: Installed,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OMPI_MCA_btl_tcp_rcvbuf", "65536")
    # a sender that waits for an answer behind the bytes of the other way leaves its share to others
    monkeypatch.setenv("OMPI_MCA_btl_tcp_eager_limit", "4194304")
    path = tmp_path / "fabric.toml"
    path.write_text(FABRIC.format(routing=routing, spines=spines))
    fabric: Fabric = load_fabric(path)
    run = run_over(fabric, installed, STUDY.format(places=places, seed=seed), tmp_path)
    rows, plan = IMPACTS.read(run.path), plan_of(run)
    assert len(rows) == 10 * len(plan.measured) / 2
    wrong: list[str] = []
    with Cluster.start(spec_of(fabric)) as up:
        for row in rows:
            told = f"{row['call']} {row['place']}: {row['factor']:.3f}, predicted {row['predicted']}, {row['link']}"
            print(told)
            expected = fullest(up, plan.cell(row["cell"]), row["aggressor"])
            assert row["link"] in (expected or {""}), (told, expected)
            assert row["predicted"] is not None
            most = 0.10 * row["predicted"] if expected else 0.05
            if abs(row["factor"] - row["predicted"]) > most:
                wrong.append(told)
    assert not wrong, wrong
