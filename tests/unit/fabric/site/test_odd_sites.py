# SPDX-License-Identifier: BSD-3-Clause
"""Fabric files of sites as they are: reserved nodes, closed queues, groups of hosts, several adapters, odd names."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from made.sites import BQUEUES, FLUX, LSF, PBS, PBSNODES, QSTAT, SLURM, R, written
from weft.errors import LaunchError
from weft.fabric.site import flux, lsf, pbs, slurm
from weft.fabric.site.found import Adapter, preset_of, read_adapters
from weft.launch.site import site_text

ONE = "batch*|1:00:00|2|24|2|192000|{state}|n[1-4]\nbatch*|1:00:00|2|24|2|192000|idle|n[5-6]\n"


def hosts(kind: str, said: dict[tuple[str, ...], str], folder: Path) -> tuple[str, ...]:
    return written(kind, said, folder).hosts


@pytest.mark.parametrize(
    ("state", "runs"),
    [("idle", True), ("alloc", True), ("mix-", True), ("plnd", True), ("comp", True), ("idle~", True), ("idle@", True),
     ("resv", False), ("idle$", False), ("maint", False), ("drain*", False), ("drng@", False), ("idle*", False),
     ("no_r", False), ("inval", False), ("futr", False), ("pow_dn", False), ("fail", False)],
)  # fmt: skip
def test_nodes_of_slurm_that_take_no_job_are_left_out_and_named(state: str, runs: bool, tmp_path: Path) -> None:
    """A job for a reserved node waits until the reservation ends."""
    fabric = written("slurm", {**SLURM, slurm.SINFO: ONE.format(state=state)}, tmp_path)
    assert ("n1" in fabric.hosts) is runs
    assert ("# left out, down, drained or reserved: n[1-4]" in fabric.text) is not runs


def test_a_partition_that_is_down_or_for_root_is_none_and_one_job_gets_its_most_nodes(tmp_path: Path) -> None:
    down = "PartitionName=batch AllowAccounts=ALL MaxNodes=UNLIMITED State=DOWN\n"
    root = "PartitionName=batch RootOnly=YES State=UP\n"
    for text in (down, root):
        assert hosts("slurm", {**SLURM, slurm.PARTITIONS: text}, tmp_path) == ("g1", "g2")
    few = written("slurm", {**SLURM, slurm.PARTITIONS: "PartitionName=batch MaxNodes=8 State=UP\n"}, tmp_path)
    assert few.hosts == tuple(f"n{k:02}" for k in range(1, 9))
    assert "16 alike that are up, queue batch (the default); a job may have 8 of them at most" in few.text
    assert few.text.count("other nodes of it") == 1


def test_cpus_that_slurm_calls_sockets_are_none(tmp_path: Path) -> None:
    """Where slurm.conf says CPUs=48 alone, each is a socket of one core."""
    fabric = written("slurm", {**SLURM, slurm.SINFO: "b*|1:00:00|48|1|1|9000|idle|n[1-4]\n"}, tmp_path)
    assert (fabric.node.cores, "# sockets = 2" in fabric.text) == (48, True)
    assert written("slurm", {**SLURM, slurm.SINFO: "b*|1:00:00|8|1|1|9000|idle|n[1-4]\n"}, tmp_path).node.sockets == 8


def test_nodes_with_gpus_are_not_alike_those_without(tmp_path: Path) -> None:
    line = "b*|1:00:00|2|24|1|9000|idle|{}|{}\n"
    text = line.format("n[1-4]", "(null)") + line.format("g[1-2]", "gpu:a100:4(S:0-1)") + line.format("n5", "(null)")
    fabric = written("slurm", {**SLURM, slurm.SINFO: text}, tmp_path)
    assert fabric.hosts == ("n1", "n2", "n3", "n4", "n5")
    assert "# other nodes of it: g[1-2]: 48 cores, 8.79 GiB, gpu:a100:4" in fabric.text
    alone = written("slurm", {**SLURM, slurm.SINFO: line.format("g[1-2]", "gpu:a100:4(S:0-1)")}, tmp_path)
    assert "2 alike that are up, queue b (the default), each with gpu:a100:4" in alone.text


def test_names_with_parts_behind_their_numbers_are_kept_whole(tmp_path: Path) -> None:
    line = "b*|1:00:00|2|24|1|9000|idle|cn-[0001-0003]-ib0,x3006c0s13b1n[0-1]\n"
    fabric = written("slurm", {**SLURM, slurm.SINFO: line}, tmp_path)
    assert set(fabric.hosts) == {f"cn-000{k}-ib0" for k in (1, 2, 3)} | {"x3006c0s13b1n0", "x3006c0s13b1n1"}


@pytest.mark.parametrize(
    ("listed", "mpi"),
    [("MPI plugin types are...\n\tnone\n\tpmix\n\tpmi2\nspecific pmix plugin versions available: pmix_v4", "pmix"),
     ("srun: MPI types are...\nsrun: pmix_v3\nsrun: pmi2\nsrun: none\n", "pmix_v3"),
     ("MPI plugin types are...\n\tnone\n\tpmi2\n", "pmi2")],
)  # fmt: skip
def test_plugins_of_old_and_new_slurm(listed: str, mpi: str, tmp_path: Path) -> None:
    assert f'mpi = "{mpi}"' in written("slurm", {**SLURM, slurm.MPI: listed}, tmp_path).text


def test_a_site_of_slurm_that_answers_sinfo_alone_is_a_file(tmp_path: Path) -> None:
    fabric = written("slurm", {slurm.SINFO: SLURM[slurm.SINFO]}, tmp_path, ())
    assert (fabric.name, "from sinfo --noheader --exact." in fabric.text) == ("mycluster", True)


def test_nodes_of_pbs_that_serve_one_queue_are_that_queues(tmp_path: Path) -> None:
    nodes: Any = copy.deepcopy(PBSNODES)
    for name in ("c1", "c2", "c3"):
        nodes["nodes"][name]["queue"] = "gpuq"
    nodes["nodes"]["c4"]["state"] = "resv-exclusive"
    queues: Any = copy.deepcopy(QSTAT)
    queues["Queue"]["gpuq"] = {"queue_type": "Execution", "enabled": "True", "started": "True",
                               "resources_max": {"walltime": "01:00:00", "nodect": 2}}  # fmt: skip
    said = {**PBS, pbs.NODES: json.dumps(nodes), pbs.QUEUES: json.dumps(queues)}
    fabric = written("pbs", said, tmp_path)
    assert (fabric.hosts, "reserved: c[4-5]" in fabric.text) == (("s1",), True)
    other = {**said, pbs.SERVER: json.dumps({"Server": {"venus": {"default_queue": "gpuq"}}})}
    fabric = written("pbs", other, tmp_path)
    assert (fabric.hosts, fabric.batch and fabric.batch.partition) == (("c1", "c2"), "gpuq")
    assert "3 alike that are up, queue gpuq (the default); a job may have 2 of them at most" in fabric.text
    assert "hardware threads, where the site counts those" in fabric.text


def test_torque_prints_no_json_and_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pbsnodes").write_text("#!/bin/sh\necho \"pbsnodes: invalid option -- 'F'\" >&2; exit 1\n")
    (tmp_path / "pbsnodes").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LaunchError, match="invalid option") as told:
        site_text("pbs")
    assert "Torque" in told.value.remedy


@pytest.mark.parametrize(
    ("listed", "wanted", "unread"),
    [("all", "h01 h02", ""), ("all ~h01", "h02", ""), ("big/", "h02", ""), ("h01+2 h03+1", "h01", ""),
     ("all ~big", "h01", ""), ("gone/", "h01 h02", "none of the hosts of queue short is known, gone/"),
     ("h01! others", "h01 h02", "")],
)  # fmt: skip
def test_hosts_and_groups_of_a_queue_of_lsf(listed: str, wanted: str, unread: str, tmp_path: Path) -> None:
    fabric = written("lsf", {**LSF, lsf.QUEUES: BQUEUES.replace("HOSTS: all", f"HOSTS:  {listed} ")}, tmp_path)
    assert list(fabric.hosts) == wanted.split()
    assert unread in fabric.text
    assert ("not understood" in fabric.text) is bool(unread)


def test_the_longest_job_of_lsf_is_that_of_the_maximum_limits(tmp_path: Path) -> None:
    limits = "DEFAULT LIMITS:\n RUNLIMIT\n 10.0 min of host1\n\nMAXIMUM LIMITS:\n RUNLIMIT\n 90.0 min of host1\n"
    text = BQUEUES.replace(" RUNLIMIT\n 60.0 min of host1\n", limits)
    batch = written("lsf", {**LSF, lsf.QUEUES: text}, tmp_path).batch
    assert batch is not None
    assert batch.time_limit == 5400


def test_a_queue_of_flux_has_the_nodes_with_its_property_and_a_closed_one_is_none(tmp_path: Path) -> None:
    made: Any = copy.deepcopy(R)
    made["execution"]["properties"] = {"pbatch": "3-4", "pdebug": "0-1"}
    said = {**FLUX, flux.RESOURCES: json.dumps(made)}
    assert set(hosts("flux", said, tmp_path)) <= {"fluke9", "fluke12"}
    table = FLUX[flux.QUEUES].replace("*pbatch   \u2714", "*pbatch   \u2717")
    fabric = written("flux", {**said, flux.QUEUES: table}, tmp_path)
    assert (fabric.batch and fabric.batch.partition, fabric.hosts) == ("pdebug", ("fluke6", "fluke7"))


def port(folder: Path, name: str, rate: str, layer: str = "InfiniBand") -> None:
    made = folder / name / "ports/1"
    made.mkdir(parents=True)
    for file, text in (("state", "4: ACTIVE"), ("rate", rate), ("link_layer", layer)):
        (made / file).write_text(f"{text}\n")


def test_of_several_adapters_the_fastest_of_infiniband_counts_and_the_others_are_named(tmp_path: Path) -> None:
    """mlx5_0 is often a slow Ethernet port."""
    port(tmp_path / "a", "mlx5_0", "25 Gb/sec (1X EDR)", "Ethernet")
    port(tmp_path / "a", "mlx5_1", "200 Gb/sec (4X HDR)")
    port(tmp_path / "a", "mlx5_2", "200 Gb/sec (4X HDR)")
    port(tmp_path / "a", "mlx5_bond_0", "400 Gb/sec (4X NDR)", "Ethernet")
    fabric = written("slurm", SLURM, tmp_path, read_adapters(tmp_path / "a"))
    assert 'preset = "hdr-infiniband"' in fabric.text
    assert "mlx5_1 port 1" in fabric.text
    assert fabric.network is not None
    assert fabric.network.rails == 2
    other = (
        "# other active ports on login1: mlx5_bond_0 port 1, 400 Gb/sec (4X NDR), Ethernet; mlx5_0 port 1, 25 Gb/sec"
    )
    assert other in fabric.text


@pytest.mark.parametrize(
    ("name", "rate", "layer", "preset", "gbit"),
    [("hfi1_0", "100 Gb/sec (4X EDR)", "InfiniBand", "omni-path-100", 0),
     ("hfi1_0", "400 Gb/sec (4X NDR)", "InfiniBand", "", 400), ("mlx5_0", "100 Gb/sec (2X HDR)", "InfiniBand", "", 100),
     ("mlx4_0", "40 Gb/sec (4X FDR10)", "InfiniBand", "", 40), ("efa_0", "100 Gb/sec (4X EDR)", "Unspecified", "", 100),
     ("mlx5_bond_0", "100 Gb/sec (4X EDR)", "Ethernet", "", 100),
     ("mlx5_0", "800 Gb/sec (4X XDR)", "InfiniBand", "", 800)],
)  # fmt: skip
def test_a_preset_is_named_only_where_its_numbers_are_the_adapters(
    name: str, rate: str, layer: str, preset: str, gbit: float, tmp_path: Path
) -> None:
    adapter = Adapter(f"{name} port 1", rate, layer)
    assert preset_of(adapter) == preset
    network = written("slurm", SLURM, tmp_path, (adapter,)).network
    assert network is not None
    if not preset:
        assert network.adapter_rate == gbit * 1e9 / 8
