# SPDX-License-Identifier: BSD-3-Clause
"""Two jobs on one fabric: measured factors beside those of the model, and whether the right cable is named.

    python bench/interference.py [--on one-way two-spines hashed simulated] [--seeds 20] [--into DIR]

Each seed draws the nodes of both jobs anew on eight hosts of two leaves, and is a run that the same command continues.
On virtual fabrics a receive window bounds what each connection has under way, so that no queue overflows, and the cable
that both jobs fill most is asked of the switches themselves. Prints each row, then how many are within 10 % of the
prediction (5 % where nothing is shared). Of hashed routes Weft predicts no factor and takes the cable from counters:
the switches are asked with the ports of the library's own connections.
Seconds: about 25 a seed on a virtual fabric, 4 in the simulator.
"""

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1] / "tests" / each) for each in ("", "virtual")]

from test_virtual_routed import way_of  # noqa: E402

from made.two_jobs import EIGHT_HOSTS  # noqa: E402
from weft.analyse.tables.answers import IMPACTS, ImpactRow  # noqa: E402
from weft.fabric import Fabric, load_fabric  # noqa: E402
from weft.kernel.registry import kernel_named  # noqa: E402
from weft.launch.virtual.cluster import Cluster  # noqa: E402
from weft.launch.virtual.spec import spec_of  # noqa: E402
from weft.launch.virtual.wiring import address  # noqa: E402
from weft.plan.records import Cell  # noqa: E402
from weft.plan.stored import plan_of  # noqa: E402
from weft.store.folder import RunFolder  # noqa: E402

VIRTUAL = """
name = "{name}"
kind = "virtual"
[node]
names = "node[0-7]"
cores = 1
memory = "1 GiB"
[network]
topology = "fat-tree"
adapter_rate = "8 MB/s"
routing = "{routing}"
[network.tree]
nodes_per_leaf = 4
uplinks = {spines}
spines = {spines}
link_rate = "8 MB/s"
"""
FABRICS = {
    "one-way": VIRTUAL.format(name="one-way", routing="ecmp", spines=1),
    "two-spines": VIRTUAL.format(name="two-spines", routing="tables", spines=2),
    "hashed": VIRTUAL.format(name="hashed", routing="ecmp", spines=2),
    "simulated": EIGHT_HOSTS.format(name="simulated", nodes="node[0-7]"),
}
STUDY = """
name = "two-jobs"
kernel = "interference"
[measure]
launches = 1
min_samples = 4
max_samples = 4
warmup_most = 1
budget = "8 s"
limit = "600 s"
seed = {seed}
[interference]
victims = ["{victim}"]
aggressors = {aggressors}
places = ["random"]
large = "1 MiB"
window = 2
burst = 4
chunk = 2
[[series]]
name = "s"
nodes = [8]
ranks_per_node = 1
"""
VICTIMS = ("stream", "exchange")
AGGRESSORS = ("stream", "shift", "alltoall", "incast", "bcast")
PORTS = range(20000, 21000)  # at which ranks wait for connections
WINDOWS = {
    "OMPI_MCA_btl_tcp_rcvbuf": "98304",
    "OMPI_MCA_btl_tcp_eager_limit": "4194304",
    "OMPI_MCA_btl_tcp_port_min_v4": str(PORTS.start),
    "OMPI_MCA_btl_tcp_port_range_v4": str(len(PORTS)),
}
NEAR, ALONE = 0.10, 0.05
Ports = dict[tuple[str, str], tuple[int, int]]  # of the connection from one host to another


@dataclass(frozen=True)
class Found:
    """A measured row, and the links that the switches name."""

    row: ImpactRow
    links: set[str] | None

    @property
    def off(self) -> float:
        """Measured over predicted, less one; over 1 where nothing is shared."""
        return self.row["factor"] / (self.row["predicted"] or (float("nan") if self.row["link"] else 1.0)) - 1

    @property
    def is_near(self) -> bool:
        """Whether the prediction is met, if there is one."""
        if self.row["link"] and self.row["predicted"] is None:
            return True
        return abs(self.off) <= (NEAR if self.row["link"] else ALONE)

    @property
    def is_named(self) -> bool:
        """Whether the cable is right."""
        return self.links is None or self.row["link"] in (self.links or {""})


def ask_switches(up: Cluster, ports: Ports, cell: Cell, word: str) -> set[str]:
    """The links that messages of both jobs cross as the switches themselves say, those with most of them.

    Where no link has messages of both: those with messages of one job, and acknowledgements of the other.
    """
    jobs, hosts = kernel_named(cell.kernel).jobs(cell.parameters, cell.ranks), cell.launched.hosts
    assert jobs is not None
    pairs = jobs.pairs, jobs.pairs_beside(word)
    ours, theirs = (count_links(up, ports, [(hosts[a], hosts[b]) for a, b in each]) for each in pairs)
    back = [count_links(up, ports, [(hosts[b], hosts[a]) for a, b in each if not ports]) for each in pairs]
    both = ours.keys() & theirs.keys() or (ours.keys() & back[1].keys()) | (theirs.keys() & back[0].keys())
    most = max((ours[link] + theirs[link] for link in both), default=0)
    return {link for link in both if ports or ours[link] + theirs[link] == most}  # counters weigh bytes, not messages


def count_links(up: Cluster, ports: Ports, pairs: list[tuple[str, str]]) -> Counter[str]:
    """How many messages cross each link between switches."""
    links: Counter[str] = Counter()
    for source, target in pairs:
        way = way_of(up, source, target, *ports.get((source, target), (40000, 7)))
        for place, cable in enumerate(way[1:-1]):
            links[" -> ".join(cable.split("-")[:: -1 if 2 * place >= len(way) - 2 else 1])] += 1
    return links


def find_ports(up: Cluster) -> Ports:
    """The ports of the connections between ranks at present."""
    names, found = {address(up.spec, host): host for host in up.spec.hosts}, Ports()
    for host in up.spec.hosts:
        for line in up.run(host, ["ss", "-Htn", "state", "established"]).stdout.splitlines():
            own, other = (end.rpartition(":") for end in line.split()[2:4])
            both = int(own[2]), int(other[2])
            if other[0] in names and (both[0] in PORTS or both[1] in PORTS):
                found[host, names[other[0]]] = both
    return found


def run_watched(command: list[str], up: Cluster | None, output: Path) -> Ports:
    """Run a command to its end, its words in a file; the ports of the last connections that were seen meanwhile."""
    ports = Ports()
    with (
        output.open("w", encoding="utf-8") as words,
        subprocess.Popen(command, env={**os.environ, **WINDOWS}, stdout=words, stderr=subprocess.STDOUT) as running,
    ):
        while running.poll() is None:
            time.sleep(1)
            ports = (find_ports(up) if up else ports) or ports
    if running.returncode:
        raise SystemExit(output.read_text(encoding="utf-8")[-4000:])
    return ports


def measure(fabric: Fabric, seed: int, into: Path, up: Cluster | None) -> list[Found]:
    """The rows of one seed: a call beside two kinds of traffic, other ones for each seed."""
    study, run = into / f"{seed}.toml", into / f"{seed}"
    chosen = [AGGRESSORS[(seed // 2 + k) % len(AGGRESSORS)] for k in (0, 2)]
    victim = VICTIMS[seed % len(VICTIMS)]
    study.write_text(STUDY.format(seed=seed, victim=victim, aggressors=str(chosen).replace("'", '"')))
    command = [
        sys.executable,
        "-m",
        "weft",
        "run",
        str(study),
        "--on",
        str(fabric.path),
        "--into",
        str(run),
        "--anyway",
    ]
    ports = run_watched(command, up if fabric.name == "hashed" else None, into / f"{seed}.log")
    plan = plan_of(RunFolder(run))
    return [
        Found(row, ask_switches(up, ports, plan.cell(row["cell"]), row["aggressor"]) if up else None)
        for row in IMPACTS.read(run)
    ]


def print_rows(name: str, found: list[Found]) -> bool:
    """What one fabric gave; whether all of it is as promised."""
    shares, apart = ([each for each in found if bool(each.row["link"]) is wanted] for wanted in (True, False))
    for what, some in (("share a cable", shares), ("share none", apart)):
        near = sum(each.is_near for each in some)
        worst = max((abs(each.off) for each in some if each.off == each.off), default=0.0)
        print(f"{name}: {len(some)} rows {what}: {near} near the prediction, worst {worst:.1%} off")
    named = sum(each.is_named for each in found)
    print(f"{name}: {named} of {len(found)} rows name the cable of the switches", flush=True)
    return all(each.is_near and each.is_named for each in found)


def main() -> int:
    """Measure each fabric and seed; 1 where a row is not as predicted."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--on", nargs="+", choices=FABRICS, default=list(FABRICS))
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--into", type=Path, default=Path("interference-runs"))
    given = parser.parse_args()
    good = True
    for name in given.on:
        into = given.into / name
        into.mkdir(parents=True, exist_ok=True)
        (into / "fabric.toml").write_text(FABRICS[name])
        fabric, found = load_fabric(into / "fabric.toml"), list[Found]()
        with ExitStack() as ending:
            up = None if fabric.is_model else ending.enter_context(Cluster.start(spec_of(fabric), standing=True))
            for seed in range(given.first, given.first + given.seeds):
                for each in measure(fabric, seed, into, up):
                    row = each.row
                    known = f", {row['predicted']:.3f} predicted, {each.off:+.1%}" if row["predicted"] else ""
                    text = f"{row['factor']:.3f} measured{known}"
                    named = "not known" if row["link"] is None else row["link"] or "nothing"
                    wrong = "" if each.is_named else f" (switches: {', '.join(sorted(each.links or ()))})"
                    print(f"{name} {seed:2} {row['call']}: {text}, {named}{wrong}", flush=True)
                    found.append(each)
        good = print_rows(name, found) and good
    return int(not good)


if __name__ == "__main__":
    sys.exit(main())
