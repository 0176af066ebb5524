# SPDX-License-Identifier: BSD-3-Clause
"""The commands that create namespaces, bridges and rate-limited links from a specification, as pure functions."""

import shlex
from dataclasses import dataclass
from typing import Any

from weft.fabric.shaping import MTU, burst
from weft.launch.virtual.spec import VirtualSpec

INTERFACE = "eth0"
PREFIX = "10.77"

QUEUE_S = 0.2  # seconds that a packet may wait at a link before it is dropped

SETTINGS = {
    # the parameters of one launch's connections must not reach the next launch
    "net.ipv4.tcp_no_metrics_save": "1",
    # present on every kernel and allowed in every namespace; the host's own default may be anything
    "net.ipv4.tcp_congestion_control": "reno",
    # a pause between two samples must not shrink the window again: clusters switch this off too
    "net.ipv4.tcp_slow_start_after_idle": "0",
    # neighbour discovery would add packets of its own to the counters
    "net.ipv6.conf.all.disable_ipv6": "1",
}


@dataclass(frozen=True)
class Port:
    """One end of a link: where it sends from, and the interface that does it."""

    link: str
    sender: str
    receiver: str
    rate: float  # bytes per second
    host: str
    interface: str


def ports(spec: VirtualSpec) -> tuple[Port, ...]:
    """Both directions of each link, each with the interface that limits and counts it."""
    found: list[Port] = []
    hosts = set(spec.hosts)
    for k, link in enumerate(spec.links):
        below = Port(link.name, link.lower, link.upper, link.rate, link.lower, INTERFACE)
        if link.lower not in hosts:
            below = Port(link.name, link.lower, link.upper, link.rate, "", f"l{k}a")
        found += [below, Port(link.name, link.upper, link.lower, link.rate, "", f"l{k}b")]
    return tuple(found)


def address(spec: VirtualSpec, host: str) -> str:
    """IPv4 address of a host."""
    return f"{PREFIX}.0.{spec.hosts.index(host) + 1}"


def hosts_file(spec: VirtualSpec) -> str:
    """Contents of ``/etc/hosts`` on every host."""
    lines = ["127.0.0.1 localhost", *(f"{address(spec, host)} {host}" for host in spec.hosts)]
    return "\n".join(lines) + "\n"


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
    bridge = {name: f"sw{k}" for k, name in enumerate(spec.switches)}
    for name, device in bridge.items():
        lines += [
            f"link add name {device} mtu {MTU} type bridge mcast_snooping 0",
            f"link set {device} alias {name} up",
        ]
    both = ports(spec)
    for below, above in zip(both[::2], both[1::2], strict=True):
        where = f" netns {{pid:{below.host}}}" if below.host else ""
        lines.append(
            f"link add {_created(above.interface, above.rate)} type veth "
            f"peer {_created(below.interface, below.rate)}{where}"
        )
        for port in (below, above):
            if not port.host:
                lines.append(f"link set {port.interface} master {bridge[port.sender]} alias {port.link} up")
    return "\n".join(lines) + "\n"


def switch_shaping(spec: VirtualSpec) -> str:
    """``tc -batch`` input for the holder's namespace."""
    return "".join(shaping(port.interface, port.rate) + "\n" for port in ports(spec) if not port.host)


def settings() -> dict[str, str]:
    """Files of the kernel's settings and what to write there: a bare Debian has no ``sysctl``."""
    return {f"/proc/sys/{key.replace('.', '/')}": value for key, value in SETTINGS.items()}


def host_script(spec: VirtualSpec, host: str) -> str:
    """Shell script that makes fresh namespaces into a host; the holder's tmpfs is still on /dev/shm when it starts."""
    rate = next(port.rate for port in ports(spec) if port.host == host)
    lines = [
        "set -e",
        f"hostname {shlex.quote(host)}",
        "mount --bind /dev/shm/weft/hosts /etc/hosts",
        "mount -t tmpfs -o mode=1777 shm /dev/shm",
        *(f"[ ! -e {place} ] || echo {value} > {place}" for place, value in settings().items()),
        "ip link set lo up",
        f"ip addr add {address(spec, host)}/24 dev {INTERFACE}",
        f"ip link set {INTERFACE} up",
        f"tc {shaping(INTERFACE, rate)}",
    ]
    return "\n".join(lines) + "\n"


def orders(spec: VirtualSpec, agent: str) -> dict[str, Any]:
    """All that the holder needs, as JSON values: it knows files, namespaces and commands, not fabrics."""
    links = [{"name": link.name, "lower": link.lower, "upper": link.upper, "rate": link.rate} for link in spec.links]
    return {
        "files": {"hosts": hosts_file(spec), "agent": agent},
        "record": {"name": spec.name, "hosts": list(spec.hosts), "switches": list(spec.switches), "links": links},
        "hosts": {host: host_script(spec, host) for host in spec.hosts},
        "settings": settings(),
        "ip": switch_batch(spec),
        "tc": switch_shaping(spec),
    }
