# SPDX-License-Identifier: BSD-3-Clause
"""A fabric file from a dump (``weft fabric import``), and a node from ``lstopo --of xml``."""

import json
import re
import shutil
import tempfile
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.fabric.network.dumped import forward_of, network_of, refuse_foreign
from weft.fabric.nodeset import expand, fold
from weft.fabric.readers import Dump, Format, Lines, read_dump, read_names, read_tables
from weft.files.atomic import write_output
from weft.files.beneath import UNLIMITED, plain_file, read_plain
from weft.files.reading import is_list, is_table

#: The operating system's numbers of the processing units of each core of each socket, and bytes over all NUMA nodes.
NodeShape = tuple[tuple[tuple[tuple[int, ...], ...], ...], int]


def read_hwloc(lines: Lines) -> NodeShape:
    """Sockets, cores and memory of a node from hwloc's XML, versions 1 to 3; FabricError names file and line."""
    for number, line in enumerate(lines.lines, start=1):
        if "<!ENTITY" in line.upper():  # they can refer to other files or expand without limit; hwloc writes none
            raise lines.fault(number, "an entity declaration", "the output of lstopo --of xml, which has none")
    try:
        root = ET.fromstring("\n".join(lines.lines).encode("utf-8", errors="replace"))
    except (ET.ParseError, ValueError, LookupError) as error:
        at = getattr(error, "position", (1, 0))[0]
        raise lines.fault(at, f"no XML ({error})", "the output of lstopo --of xml") from error
    machine = root.find("object")
    if root.tag != "topology" or machine is None or machine.get("type") != "Machine":
        raise lines.fault(1, "no hwloc topology", '<topology> with an <object type="Machine"> in it')
    try:
        return _shape(lines, machine)
    except RecursionError:
        raise FabricError(f"{lines.path}: objects nested too deeply", "give the output of lstopo --of xml") from None


def _shape(lines: Lines, machine: ET.Element) -> NodeShape:
    packages = _inside(machine, "Package", "Socket") or [machine]  # hwloc 1.x writes Socket
    # processing units are cores where hwloc sees none (some virtual machines)
    cores_of = [_inside(package, "Core") or _inside(package, "PU") for package in packages]
    cores = tuple(
        tuple(tuple(_number(lines, unit, "os_index") for unit in _inside(core, "PU")) for core in own)
        for own in cores_of
    )
    if not all(cores) or not all(all(core) for core in cores):
        what = f"{lines.path}: a processor without cores or processing units"
        raise FabricError(what, "give the output of lstopo --of xml of the whole node (without --filter or --no-smt)")
    holders = _inside(machine, "NUMANode") or [machine]
    return cores, sum(_number(lines, o, "local_memory") for o in holders if o.get("local_memory") is not None)


def _inside(item: ET.Element, *types: str) -> list[ET.Element]:
    return [o for o in item.iter("object") if o.get("type") in types]


def _number(lines: Lines, item: ET.Element, key: str) -> int:
    text = item.get(key, "")
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        what = f"{lines.path}: {key} = {text[:40]!r} of a {item.get('type')} is not a number"
        raise FabricError(what, "give the output of lstopo --of xml")
    return int(text)


FORMS: dict[str, Format] = {
    "ibnetdiscover": "ibnetdiscover",
    "ibnetdiscover -p": "ports",
    "ibsim": "ibsim",
    "opensm-subnet.lst": "subnet-list",
    "ibdiagnet2 db_csv": "ibdiagnet",
    "edge list": "edges",
    "lldp": "lldp",
}
GUID = re.compile(r"H-[0-9a-f]{16}")
NODE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]*", re.ASCII)
MODEL_NAME = re.compile(r"MT\d|ConnectX|Mellanox|localhost|HCA|Infini", re.IGNORECASE)
Given = Path | None


def import_dump(
    dump: Path, into: Path, *, names: Given = None, node: Given = None, form: Format | None = None, tables: Given = None
) -> Dump:
    """Write a fabric file that refers to a dump, and copy the dump beside it; FabricError if a file is there or bad."""
    if into.exists():
        raise FabricError(f"{into} is there already", "name another file with -o, or remove it")
    with _one_file(dump, into) as dump:
        read = read_dump(dump, form)
        if tables is not None:
            read = replace(read, tables=read_tables(tables))
        described = {} if names else described_names(read)
        network = network_of(read, names=read_names(names) if names else described, routed=False)
        if read.tables is not None:
            refuse_foreign(network, forward_of(network, read.tables)[1])
        shape = read_hwloc(Lines.read(node)) if node else None
        beside: list[tuple[Path, Path | bytes]] = [
            (into.parent / path.name, path) for path in (dump, names, tables) if path is not None
        ]
        if described:
            names = into.with_suffix(".names")
            beside.append((names, "".join(f"{key} {name}\n" for key, name in described.items()).encode()))
        text = _text(read, network.hosts, into, dump, names, shape, tables)
        try:
            into.parent.mkdir(parents=True, exist_ok=True)
            for target, source in beside:
                _lay(target, source)
        except OSError as error:
            what = f"cannot write {error.filename}: {error.strerror}"
            raise FabricError(what, "choose another place with -o") from error
        write_output(into, text.encode())
        return read


@contextmanager
def _one_file(dump: Path, into: Path) -> Generator[Path]:
    """The dump; of a folder of outputs of LLDP a file of all, which is removed."""
    if not dump.is_dir():
        yield dump
        return
    from weft.fabric.readers.lldp import join_outputs

    with tempfile.TemporaryDirectory() as folder:
        joint = Path(folder) / f"{into.stem}.lldp.json"
        joint.write_text(join_outputs(dump), encoding="utf-8")
        yield joint


def described_names(dump: Dump) -> dict[str, str]:
    """Names that schedulers know of hosts, by GUID: the first word of a description if no other box has it."""
    words = {key: box.label.split()[0] for key, box in dump.boxes.items() if box.label.split()}
    seen = Counter([*words.values(), *dump.boxes])
    return {
        key: word
        for key, word in words.items()
        if dump.boxes[key].kind == "host" and GUID.fullmatch(key) and seen[word] == 1
        and NODE_NAME.fullmatch(word) and not MODEL_NAME.match(word)
    }  # fmt: skip


def _lay(target: Path, source: Path | bytes) -> None:
    """Write a file, a copy or from memory, unless it is there already."""
    if not target.exists():
        if isinstance(source, Path):
            shutil.copyfile(plain_file(source), target)
        else:
            target.write_bytes(source)
    elif not (isinstance(source, Path) and source.samefile(target)):
        content = read_plain(source, UNLIMITED) if isinstance(source, Path) else source
        if content != read_plain(target, UNLIMITED):
            what = f"{target} already exists with other contents"
            raise FabricError(what, "write the fabric file into an empty folder")


def quoted(text: str) -> str:
    """A text as a TOML string, quoted, without control characters."""
    return _quoted(re.sub(r"[\x00-\x1f\x7f]", " ", text))


def _text(
    dump: Dump, hosts: Sequence[str], into: Path, path: Path, names: Given, shape: NodeShape | None, tables: Given
) -> str:
    counts, rated = dump.counts, any(end.rate == end.rate for end in dump.ends)
    name = re.sub(r"[^A-Za-z0-9._-]", "-", into.stem).lstrip("._-") or "fabric"
    cores = "cores = 1                     # not in a dump: give those of a node, or import with --node lstopo.xml\n"
    if shape is not None:
        sockets, size = shape
        memory = f'memory = "{size} B"\n' if size else ""
        cores = f"sockets = {len(sockets)}\ncores = {sum(map(len, sockets))}\n{memory}"
    rates = "Link rates are the data rates in the dump."
    extra = "".join(f"{key} = {quoted(file.name)}\n" for key, file in (("names", names), ("tables", tables)) if file)
    if not rated:
        rates = "The dump states no rates: give network.adapter_rate and network.dump.link_rate."
        extra += '# link_rate = "..."           # of links between switches\n'
    hosts_on = f"{counts['host']} hosts on {counts['switch']} switches, from {path.name}"
    made_of = f"{dump.format}, {counts['switch']} switches, {counts['host']} hosts"
    made_of += f", {counts['aggregation']} SHARP aggregation nodes" if counts["aggregation"] else ""
    command = "weft fabric import " + re.sub(r"\s", " ", path.name)
    return f"""# Made by `{command}`: {made_of}.
# {rates}
name = {quoted(name[:80])}
kind = "simulated"
title = {quoted(hosts_on)}

[node]
names = {quoted(folded_names(hosts))}
{cores}
[network]
topology = "dump"
# adapter_rate = "..."        # what one adapter reaches; without it the rate of its cable
# latency = "1.2 us"          # one way, between two nodes on one switch: dumps do not contain it

[network.dump]
file = {quoted(path.name)}
format = {quoted(FORMS.get(dump.format, "slurm"))}
{extra}
[sources]
"network.dump" = {quoted(f"{path.name}, read as {dump.format}")}
"""


def folded_names(hosts: Sequence[str]) -> str:
    """Hosts as a node set, with ranges if these expand to the same names; FabricError for an impossible name."""
    for name in hosts:
        if not re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", name, re.ASCII):
            raise FabricError(f"{name!r} cannot be the name of a node", "give it a name with --names FILE")
    listed = ",".join(hosts)
    # GUIDs have many numbers and seldom stand in a row: they are read better one by one
    many = any(len(name) > 24 or len(re.findall(r"\d+", name)) > 2 for name in hosts)
    short = fold(hosts)
    return short if len(short) < len(listed) / (4 if many else 1) and set(expand(short)) == set(hosts) else listed


def as_toml(fabric: Fabric) -> str:
    """The text of a file that :func:`weft.fabric.load_fabric` reads as this fabric; defaults are left out."""
    tree = fabric.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    return "\n".join(_table((), tree)).lstrip("\n") + "\n"


def _table(path: tuple[str, ...], tree: Mapping[str, Any]) -> list[str]:
    lines = ["", f"[{'.'.join(map(_key, path))}]"] if path else []
    lines += [f"{_key(key)} = {_value(value)}" for key, value in tree.items() if not is_table(value)]
    return lines + [line for key, value in tree.items() if is_table(value) for line in _table((*path, key), value)]


def _key(key: str) -> str:
    return key if re.fullmatch("[A-Za-z0-9_-]+", key) else _quoted(key)


def _value(value: Any) -> str:
    """A value; a table inside a list stands in braces."""
    if is_list(value):
        return f"[{', '.join(map(_value, value))}]"
    if is_table(value):
        return f"{{{', '.join(f'{_key(key)} = {_value(each)}' for key, each in value.items())}}}"
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _quoted(text: str) -> str:
    """A text in quotes: as in JSON, but TOML knows no halves of characters."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
