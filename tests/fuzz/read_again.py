# SPDX-License-Identifier: BSD-3-Clause
"""What a reader accepted, held against another way to the same value: written and read again, or read by NumPy alone.

An AssertionError is a finding: the file was misread.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import BaseModel

from weft.errors import WeftError
from weft.fabric.importing import folded_names
from weft.fabric.network.dumped import network_of
from weft.fabric.network.graph import Network
from weft.fabric.nodeset import expand
from weft.fabric.readers import Tables, read_dump
from weft.fabric.readers.tables import tables_of
from weft.files.matrix import read_matrix
from weft.route.checks import Service, read_service
from weft.route.subnet import ibsim_text
from weft.store.cells import CellData
from weft.store.links import read_cell_links, read_links, write_links
from weft.store.trace.folder import TRACE_RANKS, TraceFolder
from weft.store.trace.layout import CALLS


def same_names(hosts: tuple[str, ...]) -> None:
    """A node set, listed and folded: the same hosts in the same order, or at least the same ones."""
    assert len(set(hosts)) == len(hosts)
    assert expand(",".join(hosts)) == hosts
    try:
        folded = folded_names(hosts)
    except WeftError:  # a name that no fabric file takes
        return
    assert set(expand(folded)) == set(hosts), folded


def same_model(model: BaseModel) -> None:
    """A file of keys, written as JSON with every default, and validated again."""
    written = model.model_dump_json(by_alias=True)
    again = type(model).model_validate(json.loads(written))
    assert again.model_dump_json(by_alias=True) == written


def same_matrix(path: Path, weights: list[list[int]]) -> None:
    """A matrix, saved by NumPy and read again; whole numbers as NumPy alone reads them."""
    beside = path.with_name("again.npy")
    np.save(beside, np.array(weights))
    assert read_matrix(beside) == weights
    if path.read_bytes()[:6].lstrip()[:1] in (b"{", b"["):  # a trace, which NumPy does not read
        return
    given = np.load(path) if path.read_bytes().startswith(b"\x93NUMPY") else _plain_text(path)
    if (given == np.floor(given)).all():
        assert np.array_equal(np.asarray(given, float), np.array(weights, float))
    else:  # scaled so that the largest is a million
        assert np.allclose(np.asarray(given, float) / float(given.max()) * 1e6, np.array(weights, float), atol=0.51)


def _plain_text(path: Path) -> Any:
    lines = path.read_bytes().decode().replace(",", " ").split("\n")
    return np.array([[float(word) for word in line.split()] for line in lines if line.split()])


def same_samples(path: Path, data: CellData) -> None:
    """Samples as NumPy alone reads them."""
    if data.samples is not None:
        assert np.array_equal(np.load(path), data.samples)


def same_record(path: Path, data: CellData) -> None:
    """A record's numbers as they stand in the text, and the whole written and validated again."""
    same_model(data.record)
    raw = json.loads(path.read_text())
    for name in ("cell", "launch_index", "ranks", "status", "crc32"):
        if name in raw:
            kept = json.loads(data.record.model_dump_json())[name]
            assert kept == raw[name] or str(kept) == str(raw[name]), (name, kept)
    assert sum(segment.count for segment in data.record.segments) == (data.record.shape or (0, 0))[1] or not (
        data.record.has_samples
    )


def same_links(path: Path) -> None:
    """Counters, written and read again."""
    cells, whole = read_cell_links(path), read_links(path)
    for count in [*whole, *(each for own in cells.values() for each in own)]:
        assert {type(name) for name in (count.link, count.source, count.target)} == {str}, count
        assert all(type(number) is int and number >= 0 for number in (count.bytes, count.packets, count.drops)), count
        assert 0 <= count.rate < float("inf"), count
    beside = path.with_name("again.json")
    write_links(beside, "c000.l1", "tc", whole, cells)
    assert read_links(beside) == whole
    assert read_cell_links(beside) == cells


def same_service(paths: Path, service: Service) -> None:
    """Paths and lanes, written as ``saquery`` and ``smpquery`` do, and read again."""
    beside, lanes = paths.with_name("again.paths"), paths.with_name("again.lanes")
    rows = service.paths.tolist()
    beside.write_text("".join(f"PathRecord dump:\n\tdlid.{b}\n\tslid.{a}\n\tsl.0x{level:x}\n" for a, b, level in rows))
    head = "# SL2VL table: Lid {}\nports: in  0, out  1: |{}|\n"
    lanes.write_text("".join(head.format(lid, "|".join(map(str, own.tolist()))) for lid, own in service.lanes.items()))
    again = read_service(beside, lanes if service.lanes else None)
    assert again.paths.tolist() == rows
    assert {lid: own.tolist() for lid, own in again.lanes.items()} == {
        lid: own.tolist() for lid, own in service.lanes.items()
    }


def same_tables(tables: Tables) -> None:
    """Forwarding tables, written one entry a line and read again; no port beyond a byte, no LID beyond two."""
    text = ""
    for own in tables.switches:
        text += f"Unicast lids [0x0-0x{max(own.last, 0):x}] of switch Lid {own.lid} guid 0x{own.guid:016x}\n"
        text += "".join(
            f"0x{lid:04x} {port:03d}\n" for lid, port in zip(own.lids.tolist(), own.ports.tolist(), strict=True)
        )
    again = tables_of("again", text.encode())
    assert len(again.switches) == len(tables.switches)
    for one, other in zip(again.switches, tables.switches, strict=True):
        assert (one.guid, one.lid) == (other.guid, other.lid)
        assert one.lids.tolist() == other.lids.tolist()
        assert one.ports.tolist() == other.ports.tolist()


def same_cables(path: Path, network: Network) -> None:
    """A network, written for ibsim and read again: every box with a cable, and every cable at the same ports."""
    beside = path.with_name("again.net")
    try:
        beside.write_text(ibsim_text(network))
    except WeftError:  # more than InfiniBand can address
        return
    if len(network.links.source):
        again = network_of(read_dump(beside))
        assert cables(again) == cables(network)


def cables(network: Network) -> list[tuple[bool, int, bool, int]]:
    """Whether each end of each link is a host, and its port, in order."""
    hosts, links = len(network.hosts), network.links
    columns = (links.source < hosts, links.source_port, links.target < hosts, links.target_port)
    return sorted(zip(*(column.tolist() for column in columns), strict=True))


def same_trace(path: Path, folder: TraceFolder) -> None:
    """A rank's records, one after the other by the page of the format: those that can be are its events, no others."""
    content = path.read_bytes()
    (ranks,) = struct.unpack_from("<i", content, 28)
    found = 0
    for at in range(512, len(content) - 63, 64):
        call, flags, _, _, peer, begin, end, sent, received = struct.unpack_from("<HHIIiqqqq", content, at)
        known = call == 1 or call in CALLS
        found += known and end >= begin and min(sent, received) >= 0 and peer >= -3 and (peer < ranks or flags & 64 > 0)
    rows = TRACE_RANKS.read(folder.path)
    assert [row["events"] for row in rows if row["rank"] == 0] in ([found], [])
