# SPDX-License-Identifier: BSD-3-Clause
"""The commands that create namespaces, switches and rate-limited links from a specification, as pure functions.

A switch is a bridge in the holder's namespace, or, where the specification has ways, a router in its own: one address
for all of its ports, a route for each host, and a hash of addresses and ports where several links lead on.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from weft.fabric.kinds import MTU, burst
from weft.launch.virtual.spec import VirtualSpec

INTERFACE, PREFIX = "eth0", "10.77"
QUEUE_S = 0.2  # seconds that a packet may wait at a link before it is dropped
SETTINGS = {
    "net.ipv4.tcp_no_metrics_save": "1",  # the parameters of one launch's connections must not reach the next launch
    # present on every kernel and allowed in every namespace; the host's own default may be anything
    "net.ipv4.tcp_congestion_control": "reno",
    # a pause between two samples must not shrink the window again: clusters switch this off too
    "net.ipv4.tcp_slow_start_after_idle": "0",
    "net.ipv6.conf.all.disable_ipv6": "1",  # neighbour discovery would add packets of its own to the counters
}
ROUTER = {
    "net.ipv4.ip_forward": "1",
    # addresses, protocol and ports, read from the packet. Policy 1 would take the hash that the sender's socket gave
    # it, which is drawn at random for each connection and reaches every switch alike
    "net.ipv4.fib_multipath_hash_policy": "3",
    "net.ipv4.fib_multipath_hash_fields": "0x37",
    "net.ipv4.conf.all.rp_filter": "0",  # the way back may lead over another link
}
SEED = "net.ipv4.fib_multipath_hash_seed"


@dataclass(frozen=True)
class Port:
    """One end of a link: where it sends from, and the interface that does it."""

    link: str
    sender: str
    receiver: str
    rate: float  # bytes per second
    host: str  # the namespace of its sender; empty for the holder's
    interface: str


def ports(spec: VirtualSpec) -> tuple[Port, ...]:
    """Both directions of each link, each with the interface that limits and counts it."""
    found: list[Port] = []
    hosts, spaces = set(spec.hosts), set(spec.spaces)
    for k, link in enumerate(spec.links):
        for end, other, side in ((link.lower, link.upper, "a"), (link.upper, link.lower, "b")):
            interface = INTERFACE if end in hosts else f"l{k}{side}"
            found.append(Port(link.name, end, other, link.rate, end if end in spaces else "", interface))
    return tuple(found)


def address(spec: VirtualSpec, name: str) -> str:
    """IPv4 address of a host, or of a switch that routes."""
    if name in spec.hosts:
        return f"{PREFIX}.0.{spec.hosts.index(name) + 1}"
    return f"{PREFIX}.1.{spec.switches.index(name) + 1}"


def hosts_file(spec: VirtualSpec) -> str:
    """Contents of ``/etc/hosts`` on every host."""
    return "\n".join(["127.0.0.1 localhost", *(f"{address(spec, host)} {host}" for host in spec.hosts)]) + "\n"


def shaping(interface: str, rate: float) -> str:
    """Limit what an interface sends (a ``tc -batch`` line): tbf acts on egress only, so each end of a link gets one."""
    queue_ms = max(1, round(QUEUE_S * 1e3))
    return f"qdisc add dev {interface} root tbf rate {round(rate * 8)}bit burst {burst(rate)} latency {queue_ms}ms"


def _created(interface: str, rate: float) -> str:
    # gso_max_size: tbf cuts what exceeds its bucket into single frames, at a price in CPU; TCP builds it small instead
    return f"name {interface} mtu {MTU} gso_max_size {min(burst(rate), 65536)}"


def switch_batch(spec: VirtualSpec) -> str:
    """``ip -batch`` input for the holder's namespace; ``{pid:HOST}`` stands for the process of a host."""
    lines = ["link set lo up"]
    bridge = {} if spec.ways else {name: f"sw{k}" for k, name in enumerate(spec.switches)}
    for name, device in bridge.items():
        lines.append(f"link add name {device} mtu {MTU} type bridge mcast_snooping 0")
        lines.append(f"link set {device} alias {name} up")
    both = ports(spec)
    for below, above in zip(both[::2], both[1::2], strict=True):
        over, under = (f" netns {{pid:{port.host}}}" if port.host else "" for port in (above, below))
        upper, lower = (_created(port.interface, port.rate) for port in (above, below))
        lines.append(f"link add {upper}{over} type veth peer {lower}{under}")
        for port in (below, above):
            if not port.host:
                lines.append(f"link set {port.interface} master {bridge[port.sender]} alias {port.link} up")
    return "\n".join(lines) + "\n"


def switch_shaping(spec: VirtualSpec) -> str:
    """``tc -batch`` input for the holder's namespace."""
    return "".join(shaping(port.interface, port.rate) + "\n" for port in ports(spec) if not port.host)


def settings(chosen: Mapping[str, str] = SETTINGS) -> dict[str, str]:
    """Files of the kernel's settings and what to write there: a bare Debian has no ``sysctl``."""
    return {f"/proc/sys/{key.replace('.', '/')}": value for key, value in chosen.items()}


def _written(chosen: Mapping[str, str]) -> list[str]:
    return [f"[ ! -e {place} ] || echo {value} > {place}" for place, value in settings(chosen).items()]


def host_script(spec: VirtualSpec, host: str) -> str:
    """Shell script that makes fresh namespaces into a host; the holder's tmpfs is still on /dev/shm when it starts."""
    rate = next(port.rate for port in ports(spec) if port.host == host)
    lines = [
        "set -e",
        f"hostname {shlex.quote(host)}",
        "mount --bind /dev/shm/weft/hosts /etc/hosts",
        "mount -t tmpfs -o mode=1777 shm /dev/shm",
        *_written(SETTINGS),
        "ip link set lo up",
        # an MPI library that compares subnets sees one, whatever lies between
        f"ip addr add {address(spec, host)}/24 dev {INTERFACE}{' noprefixroute' if spec.ways else ''}",
        f"ip link set {INTERFACE} up",
        f"tc {shaping(INTERFACE, rate)}",
    ]
    if spec.ways:
        switch = next(link.upper for link in spec.links if link.lower == host)
        way = f"via {address(spec, switch)} dev {INTERFACE} onlink src {address(spec, host)}"
        lines.append(f"ip route add {PREFIX}.0.0/24 {way}")
    return "\n".join(lines) + "\n"


def router_script(spec: VirtualSpec, switch: str) -> str:
    """Shell script that makes fresh namespaces into a switch that routes."""
    own = [port for port in ports(spec) if port.host == switch]
    row = spec.switches.index(switch)
    # with one seed for all, switches behind each other would split what was split before by the same bits
    seed = {SEED: str((spec.hash_seed + row) % 2**32 or 1)} if spec.hash_seed else {}
    commands = ["link set lo up", f"addr add {address(spec, switch)}/32 dev lo"]
    commands += [f"link set {port.interface} alias {port.link} up" for port in own]
    commands += [
        f"route add {address(spec, host)}/32 {_next_hops(spec, switch, ways)}"
        for host, ways in zip(spec.hosts, spec.ways[row], strict=True)
        if ways
    ]
    lines = [
        "set -e",
        f"hostname {re.sub('[._]', '-', switch).rstrip('-')}",
        *_written({**SETTINGS, **ROUTER, **seed}),
        "for each in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > $each; done",
        f"ip -batch - <<'END'\n{chr(10).join(commands)}\nEND",
        f"tc -batch - <<'END'\n{chr(10).join(shaping(port.interface, port.rate) for port in own)}\nEND",
    ]
    return "\n".join(lines) + "\n"


def _next_hops(spec: VirtualSpec, switch: str, ways: Sequence[int]) -> str:
    hops: list[str] = []
    for way in ways:
        link = spec.links[way]
        other, side = (link.upper, "a") if link.lower == switch else (link.lower, "b")
        to = f"dev l{way}{side}"
        hops.append(to if other in spec.hosts else f"via {address(spec, other)} {to} onlink")
    return hops[0] if len(hops) == 1 else " ".join(f"nexthop {hop}" for hop in hops)


def orders(spec: VirtualSpec, agent: str) -> dict[str, Any]:
    """All that the holder needs, as JSON values: it knows files, namespaces and commands, not fabrics."""
    scripts = {host: host_script(spec, host) for host in spec.hosts}
    return {
        "files": {"hosts": hosts_file(spec), "agent": agent},
        "record": asdict(spec),
        "hosts": scripts | {name: router_script(spec, name) for name in spec.spaces[len(spec.hosts) :]},
        "counted": spec.spaces[len(spec.hosts) :],
        "settings": settings(),
        "ip": switch_batch(spec),
        "tc": switch_shaping(spec),
    }
