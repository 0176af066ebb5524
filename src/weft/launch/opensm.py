# SPDX-License-Identifier: BSD-3-Clause
"""Routes by engine; those of OpenSM by a real subnet manager over ibsim and an abstract socket, without any adapter."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from weft.errors import FabricError, LaunchError
from weft.fabric.network.graph import Network
from weft.fabric.readers import read_dump, read_tables
from weft.files.atomic import file_errors
from weft.launch.preload import route_library
from weft.route.checks import Service
from weft.route.compare import Routed
from weft.route.improve import d_mod_k
from weft.route.routes import Routes
from weft.route.subnet import first_host, ibsim_text, routed_by

PRELOAD = "umad2sim/libumad2sim.so"
PLACES = ("/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib")
PREFIX = "weft-opensm-"
DUMPS = 0x43  # what OpenSM writes: errors, information and its routing
CONFIGURED = re.compile(r"osm_ucast_mgr_process: (\S+) tables configured")
REASON = re.compile(r"(ERR [0-9A-Z]{4}.*|.*(?:not a fat-tree|[Ff]alling back|fallback|failed|[Dd]ifferent number).*)")
MOST_S = 1800.0  # of one sweep
Keep = Path | None  # where OpenSM's dumps and log are kept
BEGIN_S = 120.0  # ibsim reads the network first: some seconds with ten thousand hosts
#: Ends when this process ends, for any reason: PR_SET_PDEATHSIG, then the program.
KEPT = "import ctypes,os,sys;ctypes.CDLL(None).prctl(1,15);os.execvp(sys.argv[1],sys.argv[1:])"


@dataclass(frozen=True, eq=False)
class Managed:
    """The result of OpenSM on a network."""

    network: Network  # the network with OpenSM's tables and addresses
    asked: str  # the engine that was requested
    used: str  # the one that OpenSM used: it falls back silently
    reasons: tuple[str, ...]  # lines of its log with the reason, if it fell back
    seconds: float  # its run time

    @property
    def fell_back(self) -> bool:
        """Whether another engine was used than the requested one."""
        return self.used != self.asked


def missing() -> str:
    """Which of OpenSM and ibsim are missing on this host; empty if none is."""
    lacks = [name for name in ("opensm", "ibsim") if _program(name) is None]
    return " and ".join(lacks or ([] if _preload() else ["ibsim's libumad2sim.so"]))


def manage(network: Network, engine: str = "minhop", options: Sequence[str] = (), keep: Keep = None) -> Managed:
    """Have OpenSM route a network within half an hour; LaunchError has the last line of its log."""
    if lacks := missing():
        remedy = "on Debian: apt install opensm ibsim-utils; without them: --engine dmodk, or give real tables"
        raise LaunchError(f"{lacks} not found: no subnet manager can be run", remedy)
    began = time.monotonic()
    for left in Path(tempfile.gettempdir()).glob(f"{PREFIX}*-*"):
        owner = left.name.removeprefix(PREFIX).partition("-")[0]
        if owner.isdigit() and not Path(f"/proc/{owner}").exists():
            shutil.rmtree(left, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix=f"{PREFIX}{os.getpid()}-") as scratch:
        folder = Path(scratch)
        with _ibsim(network, folder) as socket:
            _opensm(network, socket, folder, ["-R", engine, *options])
        seconds, written = time.monotonic() - began, folder / "osm.log"
        log = written.read_text(errors="replace") if written.is_file() else ""
        used, dumps = CONFIGURED.findall(log), [folder / name for name in ("opensm-subnet.lst", "opensm-lfts.dump")]
        if not used or not all(path.is_file() for path in dumps):
            raise LaunchError(f"OpenSM produced no tables with {engine}: {_last(written)}", "use another engine")
        reasons = [text for line in log.splitlines() if REASON.search(text := line.partition(" -> ")[2])]
        routing = f"OpenSM {used[-1]} under ibsim: what the subnet manager would do"
        made = routed_by(network, read_dump(dumps[0], "subnet-list"), read_tables(dumps[1]), routing)
        if keep is not None:
            with file_errors(keep):
                shutil.copytree(folder, keep, dirs_exist_ok=True)
    return Managed(made, engine, used[-1], tuple(reasons[:5]), seconds)


def _program(name: str) -> str | None:
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")


def _preload() -> Path | None:
    return next((path for place in PLACES if (path := Path(place) / PRELOAD).is_file()), None)


def _environment(socket: str, **more: str) -> dict[str, str]:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("IBSIM_", "SIM_", "OSM_", "UMAD_", "LD_PRELOAD"))}
    return {**clean, "IBSIM_SOCKNAME": socket, **more}


def _kept(command: list[str], log: Path, folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    with log.open("wb") as out:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", KEPT, *command], stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            env=environment, start_new_session=True, cwd=folder,
        )  # fmt: skip


@contextmanager
def _ibsim(network: Network, folder: Path) -> Generator[str]:
    """Run a simulator of the network; yields the name of its socket."""
    socket, net = f"weft-{os.getpid()}-{folder.name[-8:]}", folder / "fabric.net"
    net.write_text(ibsim_text(network))
    sizes = {"-N": len(network.hosts) + len(network.switches), "-S": len(network.switches), "-P": len(network.links)}
    counts = [word for option, size in sizes.items() for word in (option, str(max(64, 2 * (size + 1))))]
    log = folder / "ibsim.log"
    command = [_program("ibsim") or "ibsim", "-n", *counts, "-L", "49151", "-s", str(net)]
    running = _kept(command, log, folder, _environment(socket))
    try:
        _await_socket(running, socket, log)
        yield socket
    finally:
        running.kill()
        running.wait()


def _await_socket(running: subprocess.Popen[bytes], socket: str, log: Path) -> None:
    until = time.monotonic() + BEGIN_S
    while f"@{socket}" not in Path("/proc/net/unix").read_text(encoding="utf-8", errors="replace"):
        if running.poll() is not None or time.monotonic() > until:
            raise LaunchError(f"ibsim cannot simulate this network: {_last(log)}", "weft fabric check FILE")
        time.sleep(0.01)


def _opensm(network: Network, socket: str, folder: Path, how: list[str]) -> None:
    """One sweep of OpenSM; its dumps are in the folder."""
    command = [_program("opensm") or "opensm", "-o", "--dump_files_dir", str(folder), "-D", hex(DUMPS)]
    places = {"OSM_TMP_DIR": str(folder), "OSM_CACHE_DIR": str(folder), "LD_PRELOAD": str(_preload())}
    out = folder / "opensm.out"
    environment = _environment(socket, SIM_HOST=first_host(network), **places)
    running = _kept([*command, "-f", str(folder / "osm.log"), *how], out, folder, environment)
    try:
        code = running.wait(MOST_S)
    except subprocess.TimeoutExpired:
        raise LaunchError(f"OpenSM has not finished after {MOST_S:.0f} s", "use another engine") from None
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()
    if code:
        raise LaunchError(f"OpenSM ended with code {code}: {_last(out)}", f"try it by hand: opensm {' '.join(how)}")


def _last(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() if log.is_file() else []
    return lines[-1].strip() if lines else "it printed nothing"


PRESENT, OWN, SCATTER = "present", "dmodk", "+scatter"  # minhop+scatter7: OpenSM's --scatter-ports 7


def routed(network: Network, engines: Sequence[str], keep: Keep = None, service: Service | None = None) -> list[Routed]:
    """The network with the routes of each engine: ``present``, ``dmodk``, or OpenSM's, as ``ftree+scatter8``."""
    return [_one(network, name, keep, service) for name in dict.fromkeys(engines or (PRESENT,))]


def _one(network: Network, name: str, keep: Keep, service: Service | None) -> Routed:
    if name == PRESENT:
        return Routed(PRESENT, network, service=service)
    if name == OWN:
        return Routed(OWN, d_mod_k(Routes(network, route_library())).network)
    engine, plus, seed = name.partition(SCATTER)
    if not engine or (plus and not (seed.isascii() and seed.isdigit())):
        what = f"there is no engine {name!r}"
        raise FabricError(what, "use present, dmodk, or one of OpenSM's: minhop, ftree, minhop+scatter7")
    made = manage(network, engine, ("--scatter-ports", seed) if plus else (), keep / name if keep else None)
    if not made.fell_back:
        return Routed(name, made.network)
    why = "; ".join(made.reasons[:2]) or "its log gives no reason"
    note = f"OpenSM silently fell back from {engine} to {made.used}: {why}"
    return Routed(f"{name} (fell back to {made.used})", made.network, note)
