# SPDX-License-Identifier: BSD-3-Clause
"""Kinds of fabrics and their properties, one row per kind. Other modules ask for a property, never for a kind."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FabricKind:
    """Properties that the kind of a fabric implies; all false for a real cluster."""

    is_this_host: bool = False  # its only node is this host, which supplies the keys that the file omits
    runs_here: bool = False  # its ranks run on this host, so memory is copied at this host's rate
    is_emulated: bool = False  # its network is emulated by links that are limited with token buckets (`burst`)
    is_over_tcp: bool = False  # its nodes reach each other over TCP alone
    folds: bool = False  # parallel switches of its network are one, unless they route
    is_model: bool = False  # its times follow from the rates of the fabric file, and repeat exactly at every launch
    starter: str = ""  # what starts ranks by its scheduler's own means; empty if only ``mpiexec`` does
    without: tuple[str, ...] = ()  # keys of ``[batch]`` that its scheduler has nothing like
    exclude: str = ""  # the scheduler's command that leaves ``{nodes}`` out of a job; empty where it has none
    label: str = ""  # label of titles and numbers that were not measured on a real network; empty for a real network


KINDS: dict[str, FabricKind] = {  # by the name in fabric files and stored runs
    "local": FabricKind(is_this_host=True, runs_here=True),
    "virtual": FabricKind(runs_here=True, is_emulated=True, is_over_tcp=True, folds=True, label="virtual network"),
    "simulated": FabricKind(is_model=True, label="simulated"),
    "slurm": FabricKind(starter="srun", exclude="sbatch --exclude={nodes} ..."),
    "pbs": FabricKind(without=("qos",)),
    "lsf": FabricKind(),
    "flux": FabricKind(
        starter="flux run", without=("qos", "reservation"), exclude="flux batch --requires=-host:{nodes} ..."
    ),
}
MODEL = "simulated"
MPIEXEC = "mpiexec"  # what starts ranks by the MPI library's own means, on every kind
MTU = 9000
"""Jumbo frames, as on clusters: headers are 0.7 % of the bytes counted, not 4.5 %, and fewer packets cost less CPU."""
BURST_S = 0.0005  # burst in seconds at the link's rate: as short as timers on a busy machine allow
BURST_LEAST, BURST_MOST = 2 * (MTU + 14), 1 << 18  # two frames


def burst(rate: float) -> int:
    """Size of a bucket in bytes, for a rate in bytes per second."""
    return int(min(max(rate * BURST_S, BURST_LEAST), BURST_MOST))


def link_seconds(size: float, rate: float, *, shaped: bool) -> float:
    """Least seconds for ``size`` bytes at ``rate`` bytes per second; what a full bucket (`shaped`) holds is free."""
    return max(0.0, size - burst(rate)) / rate if shaped else size / rate
