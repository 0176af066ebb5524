# SPDX-License-Identifier: BSD-3-Clause
"""Follow README on a Debian that has nothing, and build what the Apptainer definition does. Needs root and mmdebstrap.

    python bench/bare_debian.py [--release bookworm] [--base debian.tar] [--only readme | apptainer]

Makes the smallest Debian with Debian's mirror, takes README's own line of packages, and types what README says into a
fresh clone of this checkout: `make study`, then `weft doctor`. In a second one it copies %files of
packaging/apptainer/weft.def and runs %post, then %test with %environment, and a small run: an image without Apptainer.
Each command has an empty environment, but for what pip here needs to reach its index. Each line is printed with the
seconds since its command began; the last lines tell the longest silence. Exit code 1 where a command failed.
"""

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFINITION = ROOT / "packaging" / "apptainer" / "weft.def"
#: Devices and processes of its own, in namespaces that end with the command: the host's are not touched.
MOUNTS = (
    "mount -t proc proc /proc && mount -t sysfs sysfs /sys && mount -t tmpfs -o mode=1777 tmpfs /dev/shm && "
    "mount -t devpts -o newinstance,ptmxmode=0666 devpts /dev/pts"
)
QUICK = "weft run contention --on local --quick --anyway --into /root/run"


@dataclass(frozen=True)
class Told:
    """How a command ended, and the longest time in which it printed nothing."""

    command: str
    code: int
    seconds: float
    silence_s: float
    after: str


def packages_of_readme() -> str:
    """README's own line for Debian, which its reader types."""
    found = re.search(r"^\| Debian[^|]*\| `(apt install [^`]+)`", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert found, "README has no line for Debian"
    return found[1]


def sections() -> dict[str, str]:
    """Sections of the Apptainer definition, by name."""
    parts = re.split(r"^%(\w+)\s*$", DEFINITION.read_text(), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def surroundings(root: Path) -> list[str]:
    """An empty environment, but for what pip here needs; the certificates that it names are copied into the root."""
    kept = {name: text for name, text in os.environ.items() if name.startswith("PIP_")}
    for text in kept.values():
        if text.endswith(".crt") and Path(text).is_file():
            (root / text[1:]).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(text, root / text[1:])
    shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
    path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    return ["env", "-i", f"PATH={path}", "HOME=/root", *(f"{name}={text}" for name, text in kept.items())]


def typed(root: Path, folder: str, command: str) -> Told:
    """Type a command in a root, and print what it prints with its times."""
    # a root that is no mount point, as after a bare chroot, may not make namespaces of its own
    entered = f"mount --bind {root} {root} && exec {shlex.join(surroundings(root))} chroot {root} sh -c"
    script = shlex.quote(f"{MOUNTS} && cd {folder} && {command}")
    words = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", f"{entered} {script}"]
    print(f"\n$ {command.strip()}", flush=True)
    began = last = time.monotonic()
    silence, before, after = 0.0, "its start", ""
    running = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
    )
    assert running.stdout
    for line in running.stdout:
        now = time.monotonic()
        if now - last > silence:
            silence, after = now - last, before
        last, before = now, line.strip() or before
        print(f"{now - began:6.1f} | {line}", end="", flush=True)
    code = running.wait()
    if time.monotonic() - last > silence:
        silence, after = time.monotonic() - last, before
    return Told(command.strip().splitlines()[0], code, time.monotonic() - began, silence, after)


def follow(root: Path, clone: bool, commands: Iterable[tuple[str, str]]) -> list[Told]:
    """Type commands, each in a folder, until one fails."""
    if clone:
        subprocess.run(["git", "clone", "--quiet", str(ROOT), str(root / "weft")], check=True)
    results: list[Told] = []
    for folder, command in commands:
        results.append(typed(root, folder, command))
        if results[-1].code:
            break
    return results


def readme(root: Path) -> list[Told]:
    """What README says, word by word; apt must not ask."""
    install = packages_of_readme().replace("apt install", "apt-get update -qq && apt-get install -y -qq")
    after = [("/weft", "make study"), ("/weft", ".venv/bin/weft doctor")]
    return follow(root, True, [("/", f"export DEBIAN_FRONTEND=noninteractive; {install} >/dev/null"), *after])


def apptainer(root: Path) -> list[Told]:
    """What Apptainer would do with the definition, and a run in the image."""
    found = sections()
    for line in found["files"].split("\n"):
        *sources, target = line.split() or [""]
        for name in sources:
            place = root / target[1:] / name if target.endswith("/") else root / target[1:]
            place.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, place, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(ROOT / name, place)
    surrounded = f"{found['environment']}\n"
    script = shlex.quote(found["post"])
    return follow(
        root, False, [("/", f"sh -ec {script}"), ("/", surrounded + found["test"]), ("/", surrounded + QUICK)]
    )


def main() -> int:
    """Make the roots, follow each, print what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--release", default="bookworm")
    parser.add_argument("--base", type=Path, help="a tar file of such a Debian, made before")
    parser.add_argument("--only", choices=("readme", "apptainer"))
    given = parser.parse_args()
    if os.geteuid() != 0 or not (given.base or shutil.which("mmdebstrap")):
        print("this needs root and mmdebstrap: apt install mmdebstrap", file=sys.stderr)
        return 2
    results: list[Told] = []
    with tempfile.TemporaryDirectory(prefix="weft-bare-") as scratch:
        base = given.base or Path(scratch) / "debian.tar"
        if not given.base:
            made = ["mmdebstrap", "--quiet", "--variant=minbase", "--include=ca-certificates", given.release, str(base)]
            subprocess.run(made, check=True)
        for name, walk in (("readme", readme), ("apptainer", apptainer)):
            if given.only in (None, name):
                root = Path(scratch) / name
                root.mkdir()
                subprocess.run(["tar", "-xf", str(base), "-C", str(root)], check=True)
                results += walk(root)
                shutil.rmtree(root)
    print(f"\nDebian {given.release}, load {os.getloadavg()[0]:.1f} at the end")
    for each in results:
        ended = "ok" if each.code == 0 else f"FAILED ({each.code})"
        print(f"{ended:12} {each.seconds:5.0f} s, at most {each.silence_s:3.0f} s silent, after: {each.after[:70]}")
        print(f"{'':12} {each.command[:100]}")
    return int(any(each.code for each in results))


if __name__ == "__main__":
    sys.exit(main())
