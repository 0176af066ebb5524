# SPDX-License-Identifier: BSD-3-Clause
"""Whether this user may create namespaces here; run as a module, it prints why not, with exit code 1."""

import os
import shutil
import sys
from pathlib import Path

from weft.extras import apt_install
from weft.host import run_program

CAP_SYS_ADMIN = 21
NEEDED = {"unshare": "util-linux", "nsenter": "util-linux", "ip": "iproute2", "tc": "iproute2", "hostname": "hostname"}
SETTINGS = {
    "user.max_user_namespaces": ("0", "28633"),
    "kernel.unprivileged_userns_clone": ("0", "1"),
    "kernel.apparmor_restrict_unprivileged_userns": ("1", "0"),
}
"""Settings of the kernel that may forbid namespaces: the value that does, and one that does not."""
SEARCH = os.pathsep.join((os.environ.get("PATH", "/usr/bin:/bin"), "/usr/sbin", "/sbin"))


def unshare_command() -> list[str]:
    """Command that starts a program as process 1 of namespaces of its own, to be ended with it. Real root takes plain
    namespaces; others, and root without ``CAP_SYS_ADMIN``, a user namespace in which they are root. The kernel may
    forbid those, and a root of one mapped id cannot read other users' files: a run folder in a user's home, say.
    """
    plain = os.geteuid() == 0 and has_capability(effective_capabilities(), CAP_SYS_ADMIN)
    return [
        *("unshare", *(() if plain else ("--user", "--map-root-user"))),
        *("--net", "--uts", "--ipc", "--mount", "--propagation", "slave"),
        *("--pid", "--fork", "--mount-proc", "--kill-child"),
    ]


def effective_capabilities(status: Path = Path("/proc/self/status")) -> int:
    """Effective capabilities of this process as a bit set."""
    lines = (line.split() for line in status.read_text(encoding="utf-8").splitlines())
    return next((int(words[1], 16) for words in lines if words[:1] == ["CapEff:"]), 0)


def has_capability(capabilities: int, number: int) -> bool:
    """Whether a capability is in a bit set."""
    return bool(capabilities >> number & 1)


def forbidden() -> str:
    """Why no virtual cluster can be brought up here; empty if one can. Tries it, which takes some milliseconds."""
    if packages := lacking_packages():
        lacking = [name for name, package in NEEDED.items() if package in packages]
        return f"{', '.join(lacking)} not found (package {', '.join(packages)})"
    attempt = "PATH=$PATH:/usr/sbin:/sbin; ip link add name weft0 type bridge"
    done = run_program([*unshare_command(), "sh", "-c", attempt])
    if done.returncode == 0:
        return ""
    because = "".join(f" ({name} = {SETTINGS[name][0]})" for name in _forbidding()[:1])
    return f"{done.stderr.strip() or f'exit code {done.returncode}'}{because}"


def lacking_packages() -> list[str]:
    """Debian packages of the programs that are not here, sorted."""
    return sorted({package for name, package in NEEDED.items() if shutil.which(name, path=SEARCH) is None})


def remedy() -> str:
    """What an administrator can do about it, from the programs and the settings of this kernel."""
    if packages := lacking_packages():
        return apt_install(*packages)
    if names := _forbidding():
        return f"sudo sysctl -w {names[0]}={SETTINGS[names[0]][1]}, or run as root"
    if os.geteuid() == 0:
        return (
            "start this container with --privileged; in a chroot make its folder a mount point first (mount --bind "
            "FOLDER FOLDER); otherwise use a fabric of kind local or simulated"
        )
    return "run as root, or in a container started with --privileged; otherwise use a fabric of kind local or simulated"


def _forbidding() -> list[str]:
    return [name for name, (bad, _) in SETTINGS.items() if _setting(name) == bad]


def _setting(name: str) -> str:
    path = Path("/proc/sys") / name.replace(".", "/")
    return path.read_text().strip() if path.is_file() else ""


def main() -> int:
    """Print why no virtual cluster can be brought up here; for Makefiles and scripts."""
    reason = forbidden()
    if reason:
        print(f"no virtual network on this machine: {' '.join(reason.split())} -> {remedy()}")
    return 1 if reason else 0


if __name__ == "__main__":
    sys.exit(main())
