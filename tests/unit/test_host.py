# SPDX-License-Identifier: BSD-3-Clause
"""What a host has: read from made-up /proc and /sys trees."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from weft.host import (
    cgroup_paths,
    parse_cgroup_limit,
    parse_meminfo,
    read_host,
    running_s,
    usable_threads,
)

MEMINFO = "MemTotal:   24696356 kB\nMemFree:     1000 kB\nMemAvailable:   20000000 kB\nHugePages_Total:       0\n"
GIB = 2**30


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in {"proc/meminfo": MEMINFO, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    return root


def limits(root: Path, **environment: str) -> dict[str, int]:
    return {limit.by: limit.bytes for limit in read_host(root, environment, cores=4).limits}


def test_meminfo_is_read_in_bytes() -> None:
    assert parse_meminfo(MEMINFO)["MemAvailable"] == 20_000_000 * 1024


@pytest.mark.parametrize(
    ("text", "limit"), [("max\n", None), ("1073741824\n", GIB), ("9223372036854771712\n", None), ("", None)]
)
def test_no_limit_is_told_from_a_limit(text: str, limit: int | None) -> None:
    assert parse_cgroup_limit(text) == limit


def test_cgroup_paths_of_both_versions_are_found() -> None:
    both = cgroup_paths("4:cpu,memory:/job\n0::/user.slice/x\n")
    assert both == {"": "/user.slice/x", "cpu": "/job", "memory": "/job"}
    assert cgroup_paths("0::/\n") == {"": "/"}
    assert cgroup_paths("") == {}


def test_without_cgroups_available_memory_is_the_limit(tmp_path: Path) -> None:
    assert limits(tree(tmp_path, {})) == {"MemAvailable": 20_000_000 * 1024}


def test_a_limit_of_cgroup_v2_counts_what_is_left_of_it(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/slice/job\n",
            "sys/fs/cgroup/cgroup.controllers": "memory",
            "sys/fs/cgroup/slice/job/memory.max": f"{4 * GIB}\n",
            "sys/fs/cgroup/slice/job/memory.current": f"{GIB}\n",
            "sys/fs/cgroup/slice/job/memory.stat": f"anon 5\ninactive_file {GIB // 2}\n",
        },
    )
    assert limits(root)["cgroup limit"] == 4 * GIB - GIB // 2


def test_the_limit_of_a_parent_group_binds_too(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "0::/slice/job\n",
            "sys/fs/cgroup/cgroup.controllers": "memory",
            "sys/fs/cgroup/slice/job/memory.max": "max\n",
            "sys/fs/cgroup/slice/memory.max": f"{2 * GIB}\n",
            "sys/fs/cgroup/slice/memory.current": "0\n",
        },
    )
    assert limits(root)["cgroup limit"] == 2 * GIB
    assert read_host(root, {}, cores=1).memory_bytes == 2 * GIB


def test_a_limit_of_cgroup_v1_is_found_at_the_root_when_the_path_is_the_hosts(tmp_path: Path) -> None:
    root = tree(
        tmp_path,
        {
            "proc/self/cgroup": "4:memory:/docker/abc\n",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{3 * GIB}\n",
            "sys/fs/cgroup/memory/memory.usage_in_bytes": f"{GIB}\n",
            "sys/fs/cgroup/memory/memory.stat": "total_inactive_file 0\n",
        },
    )
    assert limits(root)["cgroup limit"] == 2 * GIB


def test_the_scheduler_has_a_say(tmp_path: Path) -> None:
    assert limits(tree(tmp_path, {}), SLURM_MEM_PER_NODE="1024")["SLURM_MEM_PER_NODE"] == GIB
    assert limits(tree(tmp_path, {}), SLURM_MEM_PER_CPU="1024")["SLURM_MEM_PER_CPU"] == 4 * GIB
    assert "SLURM_MEM_PER_NODE" not in limits(tree(tmp_path, {}), SLURM_MEM_PER_NODE="0")


def test_a_host_without_proc_has_no_known_limits(tmp_path: Path) -> None:
    host = read_host(tmp_path, {}, cores=2)
    assert host.limits == ()
    assert host.memory_bytes == 0


def test_this_host_has_cores_and_memory() -> None:
    host = read_host()
    assert host.cores >= 1
    assert host.memory_bytes > 2**20
    assert host.limits


@pytest.mark.parametrize(
    ("quota", "threads"), [("max 100000\n", 3), ("150000 100000\n", 1), ("20000 100000\n", 1), ("200000 100000\n", 2)]
)
def test_threads_are_what_affinity_and_the_quota_of_any_cgroup_above_allow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, threads: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {1, 4, 5})
    files = {"proc/self/cgroup": "0::/slice/job\n", "sys/fs/cgroup/slice/job/cpu.max": "max 100000\n"}
    assert usable_threads(tree(tmp_path, files | {"sys/fs/cgroup/slice/cpu.max": quota})) == threads


@pytest.mark.parametrize(("quota", "threads"), [("-1", 3), ("150000", 1), ("200000", 2)])
@pytest.mark.parametrize("mount", ["cpu", "cpu,cpuacct"])
def test_a_quota_of_cgroup_v1_counts_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quota: str, threads: int, mount: str
) -> None:
    """In a container the path is often that of the host: then the root of the mount counts."""
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1, 2})
    files = {
        "proc/self/cgroup": "4:cpu,cpuacct:/docker/abc\n0::/\n",
        f"sys/fs/cgroup/{mount}/cpu.cfs_quota_us": f"{quota}\n",
        f"sys/fs/cgroup/{mount}/cpu.cfs_period_us": "100000\n",
    }
    assert usable_threads(tree(tmp_path, files)) == threads


def test_the_embedded_engine_takes_no_more_threads_than_its_process_may_have(monkeypatch: pytest.MonkeyPatch) -> None:
    """DuckDB counts the machine's cores whatever the affinity mask says: inside a job it would crowd out others."""
    from weft.analyse.engine import connect

    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0})
    assert connect().raw_sql("select current_setting('threads')").fetchall() == [(1,)]


def test_what_a_shell_did_before_exec_is_not_the_age_of_the_process_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """``sleep 60; exec weft check --time 30s`` had no time left for its second pass."""
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)

    def later(_: int) -> float:
        return now_s + 3600

    monkeypatch.setattr("weft.host.time.clock_gettime", later)
    assert running_s() == pytest.approx(time.process_time() + 5, abs=0.5)


def test_the_age_of_a_process_counts_what_it_did_not_compute(tmp_path: Path) -> None:
    code = "import time; time.sleep(0.5); from weft.host import running_s; print(running_s(), time.process_time())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    age_s, own_s = map(float, done.stdout.split())
    assert own_s + 0.45 < age_s < 60
    assert running_s(tmp_path) == pytest.approx(time.process_time(), abs=0.1)  # no /proc
