# SPDX-License-Identifier: BSD-3-Clause
"""Checks of forwarding tables against their dump."""

from weft.errors import FabricError
from weft.fabric.findings import Finding, found
from weft.fabric.network.dumped import unrouted
from weft.fabric.network.tables import forward_of
from weft.fabric.readers.dump import Dump

AGAIN = "dump tables and network again, at the same time"


def check_tables(dump: Dump) -> list[Finding]:
    """Findings about the tables of a dump; none if it has no tables."""
    if dump.tables is None:
        return []
    try:
        network = unrouted(dump)
        _, report = forward_of(network, dump.tables)
    except FabricError as error:
        return [Finding("error", error.what, "the tables do not match the network", error.remedy)]
    switch = [s.name for s in network.switches]
    host = network.hosts
    odd = [f"line {line}: {text}" for line, text in dump.tables.odd]
    odd += [""] * (dump.tables.odd_lines - len(odd))
    truncated = [f"{switch[s]} lacks {missing}" for s, missing in report.truncated]
    bare = [f"{switch[s]} port {port} ({entries} entries)" for s, port, entries in report.no_cable]
    cut = "the dump ended early, or a switch did not answer"
    return [
        *found(
            "warning", odd, "{n} line{s} of the tables cannot be interpreted", cut, "look at them; they are left out"
        ),
        *found("warning", [switch[s] for s in report.without_table], "{n} switch{es} without a table", cut, AGAIN),
        *found("warning", report.foreign, "{n} table{s} for switches not in the network", "dumps of two days", AGAIN),
        *found("warning", report.repeated, "{n} table{s} given twice", "two dumps in one file", "the last counts"),
        *found("warning", truncated, "{n} table{s} with entries missing", cut, AGAIN),
        *found(
            "error",
            bare,
            "{n} port{s} without a cable that routes lead to",
            "a link went down and the subnet manager has not swept since, or the dumps were taken at different times",
            "check the port, let the subnet manager sweep, dump again",
        ),
        *found("error", [host[h] for h in report.without_lid], "{n} host{s} without a LID", "not configured", AGAIN),
        *found("error", [host[h] for h in report.unknown_lids], "{n} host{s} that are in no table", cut, AGAIN),
    ]
