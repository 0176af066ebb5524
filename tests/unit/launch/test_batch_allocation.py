# SPDX-License-Identifier: BSD-3-Clause
"""Which nodes the job has in which weft was started, under each scheduler."""

import os
from pathlib import Path

import pytest

from weft.launch.batch.schedulers import SCHEDULERS, allocated_nodes

KNOWN = {f"n{i}" for i in range(1, 9)}
VARIABLES = ("SLURM_JOB_NODELIST", "PBS_NODEFILE", "LSB_DJOB_HOSTFILE", "LSB_MCPU_HOSTS", "FLUX_JOB_ID")


@pytest.fixture(autouse=True)
def no_job(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize("kind", [*SCHEDULERS, "local", "virtual"])
def test_outside_of_a_job_there_is_none(kind: str) -> None:
    assert allocated_nodes(kind, KNOWN) == []


def test_slurm_names_them_as_a_node_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "n[2-4,8]")
    assert allocated_nodes("slurm", KNOWN) == ["n2", "n3", "n4", "n8"]


def test_pbs_lists_a_line_for_each_part_of_a_node(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "nodes").write_text("n3.cluster.example\nn3.cluster.example\nn1.cluster.example\n")
    monkeypatch.setenv("PBS_NODEFILE", str(tmp_path / "nodes"))
    assert allocated_nodes("pbs", KNOWN) == ["n3", "n1"]


def test_lsf_names_a_file_or_hosts_with_their_slots(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LSB_MCPU_HOSTS", "n5 16 n6 16")
    assert allocated_nodes("lsf", KNOWN) == ["n5", "n6"]
    (tmp_path / "hosts").write_text("batch3\nn7\nn7\nn8\n")  # the node that starts the job computes nothing
    monkeypatch.setenv("LSB_DJOB_HOSTFILE", str(tmp_path / "hosts"))
    assert allocated_nodes("lsf", KNOWN) == ["n7", "n8"]


def test_flux_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    script = tmp_path / "flux"
    script.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/asked\nprintf "n[1-2]\\nn5\\n"\n')
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert allocated_nodes("flux", KNOWN) == []
    monkeypatch.setenv("FLUX_JOB_ID", "f1")
    assert allocated_nodes("flux", KNOWN) == ["n1", "n2", "n5"]
    assert (tmp_path / "asked").read_text().split()[:2] == ["resource", "list"]


def test_nodes_that_the_fabric_does_not_have_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_JOB_NODELIST", "m[1-2]")
    assert allocated_nodes("slurm", KNOWN) == []
