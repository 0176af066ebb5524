# SPDX-License-Identifier: BSD-3-Clause
"""The overview printed when a virtual cluster has come up."""

from weft.format import format_rate
from weft.launch.virtual.spec import VirtualSpec
from weft.launch.virtual.wiring import address


def usage(spec: VirtualSpec, file: str) -> str:
    """What is up, and the commands to use it."""
    first = spec.hosts[0]
    links = "\n".join(f"  {link.name:<24} {format_rate(link.rate):>12} each way" for link in spec.links)
    hosts = ", ".join(f"{host} ({address(spec, host)})" for host in spec.hosts[:8])
    more = f" and {len(spec.hosts) - 8} more" if len(spec.hosts) > 8 else ""
    pair = ",".join(spec.hosts[:2])
    return f"""{spec.name} is up: {len(spec.hosts)} hosts, {len(spec.switches)} switches
  {hosts}{more}
{links}

  weft run STUDY --on {file}  measure over it
  weft fabric exec {first} CMD  run a command on a host (a shell without CMD)
  weft fabric exec {first} tc -s qdisc  the counters of its link
  weft fabric down {spec.name}

Your own MPI programs (Open MPI, MPICH) go over the links too; exec sets what is needed for that:
  weft fabric exec {first} mpiexec --host {pair} PROGRAM     (MPICH: -hosts)
"""
