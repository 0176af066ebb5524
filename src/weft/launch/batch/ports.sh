#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# ports.sh NAME before|after: the counters of this node's InfiniBand port, for the launch NAME. Runs once on each node.
host=${SLURMD_NODENAME:-$(hostname -s)}
folder=launches/$1.ports
mkdir -p "$folder"
# the plain counters hold the errors; the extended ones, read last, replace their 32-bit traffic
{ perfquery && perfquery -x; } >"$folder/$host.$2.part" 2>/dev/null && mv "$folder/$host.$2.part" "$folder/$host.$2"
rm -f "$folder/$host.$2.part"
# mpiexec of Open MPI 5 hangs when a program that is no MPI program ends before its daemons have all reported
sleep 0.5
