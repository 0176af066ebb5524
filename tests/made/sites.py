# SPDX-License-Identifier: BSD-3-Clause
"""What four schedulers print of a site, made up in their formats, and the fabric of a site."""

import json
from pathlib import Path

from weft.fabric import Fabric, load_fabric
from weft.fabric.checks import check_fabric
from weft.fabric.site import flux, lsf, pbs, slurm
from weft.fabric.site.found import Adapter
from weft.fabric.site.writing import fabric_text
from weft.launch.site import READERS

HDR = (Adapter("mlx5_0 port 1", "200 Gb/sec (4X HDR)", "InfiniBand"),)
SINFO = """\
batch*|1-00:00:00|2|24|2|192000|idle|n[01-10]
batch*|1-00:00:00|2|24|2|192000|alloc|n[11-16]
batch*|1-00:00:00|2|32|2|256000|mix|n[20-21]
batch*|1-00:00:00|2|24|2|192000|down*|n17
batch*|1-00:00:00|2|24|2|192000|drng|n18
gpu|30:00|2|32|1|512000|mix|g[1-2]
"""
CONFIG = "Configuration data as of 2026\nAccountingStorageBackupHost = (null)\nClusterName             = jupiter\n"
PARTITIONS = "PartitionName=batch AllowGroups=ALL AllowAccounts=hpc7,hpc9 AllowQos=ALL MaxNodes=UNLIMITED State=UP\n"
TOPOLOGY = """\
SwitchName=leaf0 Level=0 LinkSpeed=1 Nodes=n[01-08],n17
SwitchName=leaf1 Level=0 LinkSpeed=1 Nodes=n[09-16,18]
SwitchName=spine Level=1 LinkSpeed=1 Nodes=n[01-18] Switches=leaf[0-1]
"""
MPI = (
    "MPI plugin types are...\n\tnone\n\tpmi2\n\tcray_shasta\n\tpmix\nspecific pmix plugin versions available: pmix_v4\n"
)
SLURM = {
    slurm.SINFO: SINFO,
    slurm.CONFIG: CONFIG,
    slurm.PARTITIONS: PARTITIONS,
    slurm.TOPOLOGY: TOPOLOGY,
    slurm.MPI: MPI,
}

PBSNODES = {
    "timestamp": 1, "pbs_version": "23.06.06", "pbs_server": "venus.site.org",
    "nodes": {
        **{f"c{k}": {"Mom": f"c{k}", "state": "job-busy", "pcpus": 64,
                     "resources_available": {"arch": "linux", "host": f"c{k}", "mem": "263863040kb", "ncpus": 64}}
           for k in range(1, 5)},
        "c5": {"state": "state-unknown,down", "resources_available": {"host": "c5", "mem": "1kb", "ncpus": 64}},
        "s1[0]": {"state": "free", "resources_available": {"host": "s1", "mem": "64gb", "ncpus": 16}},
        "s1[1]": {"state": "free", "resources_available": {"host": "s1", "mem": "64gb", "ncpus": 16}},
    },
}  # fmt: skip
QSTAT = {
    "Queue": {
        "route": {"queue_type": "Route", "enabled": "True", "started": "True"},
        "workq": {"queue_type": "Execution", "enabled": "True", "started": "True",
                  "resources_max": {"walltime": "02:30:00"}},
        "old": {"queue_type": "Execution", "enabled": "False", "started": "True"},
    }
}  # fmt: skip
SERVER = {"Server": {"venus": {"server_state": "Active", "default_queue": "workq"}}}
PBS = {pbs.NODES: json.dumps(PBSNODES), pbs.QUEUES: json.dumps(QSTAT), pbs.SERVER: json.dumps(SERVER)}

LSHOSTS = """\
HOST_NAME                       type       model  cpuf ncpus maxmem maxswp server RESOURCES
login1                        X86_64    Intel_E5  12.5    16 125.4G      -    Yes (mg)
h01                           X86_64    Intel_E5  12.5    40 376.3G  4G    Yes ()
h02                           X86_64    Intel_E5  12.5    40 376.3G  4G    Yes ()
h03                           X86_64    Intel_E5  12.5     -      -      -    Yes ()
"""
BHOSTS = """\
HOST_NAME          STATUS          JL/U    MAX  NJOBS    RUN  SSUSP  USUSP    RSV
login1             ok              -      0      0      0      0      0      0
h01                closed_Full     -     40     40     40      0      0      0
h02                ok              -     40      0      0      0      0      0
h03                unavail         -      1      0      0      0      0      0
"""
BQUEUES = """\

QUEUE: short
  -- for tests

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 35   20  Open:Active       -    -    -    -     0     0     0     0     0    0
Interval for a host to accept two jobs is 0 seconds

 RUNLIMIT
 60.0 min of host1

HOSTS: all
-------------------------------------------------------------------------------

QUEUE: admin
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 35   20  Closed:Active     -    -    -    -     0     0     0     0     0    0
"""
LSF = {
    lsf.ID: "IBM Spectrum LSF 10.1\nMy cluster name is mars\nMy master name is m1\n", lsf.HARDWARE: LSHOSTS,
    lsf.HOSTS: BHOSTS, lsf.QUEUES: BQUEUES, lsf.PARAMETERS: "Default Queues:  short\nMBD_SLEEP_TIME used: 10\n",
    lsf.GROUPS: "GROUP_NAME    HOSTS\nbig           h02 h03\n",
}  # fmt: skip

R = {
    "version": 1,
    "execution": {
        "R_lite": [
            {"rank": "0-2,4", "children": {"core": "0-63", "gpu": "0-3"}}, {"rank": "3", "children": {"core": "0-7"}},
        ],
        "nodelist": ["fluke[6-9]", "fluke12"], "properties": {"debug": "0-1"}, "starttime": 0, "expiration": 0,
    },
}  # fmt: skip
FLUX_QUEUES = """\
QUEUE    EN ST TDEFAULT   TLIMIT     NNODES     NCORES
*pbatch   ✔  ✔      30m       1d      0-inf      0-inf
pdebug    ✔  ✔      30m       1h        0-2        0-9
"""
FLUX = {flux.RESOURCES: json.dumps(R), flux.DOWN: "fluke8\n", flux.QUEUES: FLUX_QUEUES}
SITES = {"slurm": SLURM, "pbs": PBS, "lsf": LSF, "flux": FLUX}


def written(kind: str, said: dict[tuple[str, ...], str], folder: Path, adapters: tuple[Adapter, ...] = HDR) -> Fabric:
    """The fabric of a site, read from its file, without an error in it."""
    path = folder / "site.toml"
    path.write_text(fabric_text(READERS[kind][1](said), adapters, "login1"))
    fabric = load_fabric(path)
    assert [finding for finding in check_fabric(fabric) if finding.severity == "error"] == []
    return fabric
