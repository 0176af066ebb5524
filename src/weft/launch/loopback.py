# SPDX-License-Identifier: BSD-3-Clause
"""Starts a command in a network namespace with only a loopback interface, if the system allows it.

The starters of Open MPI 4 and 5 and of MPICH listen on every interface of a host, even for ranks on that host only,
and have no setting against it (open-mpi/ompi issue 14441; hydra binds to any address). In a network namespace with
loopback only there is nothing else to listen on. Without permission for namespaces the command starts unchanged.

Run by path with ``python -I -S``; it imports only the standard library, and replaces itself by the command.
"""

import ctypes
import fcntl
import os
import signal
import struct
import sys
from pathlib import Path

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1
AF_INET, SOCK_DGRAM = 2, 2
SIOCSIFFLAGS = 0x8914
IFF_UP = 1


def enter() -> bool:
    """Move this process into a new network namespace; returns False, and changes nothing, if that is forbidden."""
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.getuid(), os.getgid()
    if libc.unshare(CLONE_NEWNET) != 0:
        if libc.unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0:
            return False
        # map the same user id: the ranks' files and shared memory keep their owner
        Path("/proc/self/setgroups").write_text("deny", encoding="utf-8")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="utf-8")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="utf-8")
    any_socket = libc.socket(AF_INET, SOCK_DGRAM, 0)  # the module `socket` takes as long to import as all of this
    fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))
    os.close(any_socket)
    return True


def main() -> int:
    """Enter the namespace, and replace this process by the command in the arguments."""
    parent = os.getppid()
    enter()
    # the kernel clears it when the user namespace changes
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if os.getppid() != parent:
        return 125
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]}: {error.strerror}\n")
    return 127


if __name__ == "__main__":
    sys.exit(main())
