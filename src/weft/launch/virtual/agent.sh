#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The launch agent in place of ssh: AGENT [options] HOST COMMAND... enters the namespaces of a virtual host.
# Process 1 holds their files open; /proc/1/root is its view of the file system. Runs on any host of the cluster.
while :; do
  case "$1" in
    -l | -p | -o | -i | -F) shift 2 ;;
    -*) shift ;;
    *) break ;;
  esac
done
host=${1#*@}
shift
if ! read -r net uts ipc mnt <"/proc/1/root/dev/shm/weft/node.$host"; then
  echo "weft agent: no virtual host named $host" >&2
  exit 255
fi
fd=/proc/1/fd
exec nsenter --net=$fd/$net --uts=$fd/$uts --ipc=$fd/$ipc --mount=$fd/$mnt -- sh -c "$*"
