# SPDX-License-Identifier: BSD-3-Clause
"""What an all-to-all should take: a cost model in LogGP's terms (Alexandrov, Ionescu, Schauser and Scheiman, 1995).

N nodes of P ranks, p = N P, blocks of m bytes. An adapter spends g on each message and 1/B on each byte, one message
after the other; a message takes L to arrive; the ranks of a node copy C bytes a second together; h is a step of a
barrier within a node, of which there are log2 P. Bruck's takes k = ceil(log_r p) rounds, of which K = ceil(log_r N)
leave the node and the others are copies:

==============  ====================================================================================
flat            P (p - P) (g + m / B) + L
node.multi      (N - 1) (g + P^2 m / B) + L + 2 P p m / C + 3 h log2 P
node.direct     P (N - 1) (g + P m / B) + L + P p m / C + 2 h log2 P
bruck           K (L + P (r - 1) (g + p m / (r B))) + P p m (2 + (3 k - K) (r - 1) / r) / C
node.bruck      K (L + P (r - 1) (g + p m / (r B))) + P p m (4 + 2 K (r - 1) / r) / C + 3 h log2 P
==============  ====================================================================================

sched.matrix is flat with blocks of up to 256 KiB in messages of 60 KiB; small blocks it leaves to node.multi.

That of node.multi is of one stage. With s stages (12 where the spec names none, of 16 KiB and more each) every stream
to another node is cut into ceil(s / (N - 1)) pieces (fewer if they had less than 16 KiB). That makes k messages, whose
time is T = k g + (N - 1) P^2 m / B, and the copies c = 2 P p m / C run beside them, but for one message's at each end:
L + max(T, c) + c / k + (2 + s) h log2 P. Where nl > 1 the messages of a stage leave in no common order, and those of
few stages meet at their receivers: the model does not know that.

A rank spends o on each message that it sends, one after the other, while the adapter sends those of all: what is sent
takes the longer of the two. Of flat.pairwise and bruck all messages count, and of node.multi those of all its senders
where it has several stages, since each step waits for the one before.

A flat exchange pays P (p - P) gaps where node.multi pays N - 1: that is all its gain, and its copies are the price.
The model knows no switches and no late ranks: it says what to expect, and is printed beside what was measured; it
decides nothing.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, log2
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from weft.analyse.tables.times import TimedRow, timed
from weft.errors import FabricError
from weft.fabric.model import Fabric
from weft.files.atomic import file_errors, with_checksum, write_atomic
from weft.files.section import Checksum, read_json_file
from weft.format import format_rate, format_seconds
from weft.kernel.sizes import split_op
from weft.mpi.algorithms import DEFAULT
from weft.report.tabular import Table
from weft.report.view import RunView

OPS = ("alltoall", "alltoallv")
Place = tuple[str, int, int, int]  # Op, nodes, ranks, and bytes of a block
OPTION = re.compile(r"(\w+)=(\d+)")  # of an algorithm's spec
USUAL_STAGES = 12  # native/alltoall/spec.hpp
LEAST_PIECE = 16_384  # native/alltoall/stages.hpp
SMALL = 6144  # native/alltoall/matrix_order.hpp
PART, MOST_CUT = 61_440, 262_144  # native/alltoall/sched_matrix.cpp
SCHEMA = "weft-machine/1"
Time = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def rows_by_algorithm(
    view: RunView, wanted: Callable[[str], bool] = lambda op: op in OPS
) -> dict[Place, dict[str, TimedRow]]:
    """Warm rows by place, and then by the name of the algorithm that was asked for."""
    algorithms = {cell.id: str(cell.parameters.get("algorithm", DEFAULT)) for cell in view.plan.measured}
    found: dict[Place, dict[str, TimedRow]] = {}
    for row in timed(view.rows, phase="warm"):
        op, size = split_op(row["call"])
        if size is not None and wanted(op):
            found.setdefault((op, row["nodes"], row["ranks"], size), {})[algorithms[row["cell"]]] = row
    return found


@dataclass(frozen=True)
class Machine:
    """The model's numbers."""

    gap_s: float  # g
    latency_s: float  # L
    rate: float  # B, bytes a second
    copy_rate: float  # C
    step_s: float  # h
    overhead_s: float = 0.0  # o

    @classmethod
    def of(cls, fabric: Fabric) -> "Machine":
        """The numbers of a fabric file, a missing gap or latency as 0; FabricError without a rate."""
        network, copy_rate = fabric.network, fabric.node.copy_rate
        rate = network.adapter_rate if network else None
        if network is None or rate is None or copy_rate is None:
            raise FabricError(
                f"{fabric.path}: the cost model needs network.adapter_rate and node.copy_rate",
                "write them, or fit them: weft fabric fit RUN -o FABRIC",
            )
        gap, latency, step = network.message_gap or 0.0, network.latency or 0.0, fabric.node.latency or 0.0
        return cls(gap, latency, rate, copy_rate, step, network.overhead)

    def seconds(self, algorithm: str, nodes: int, ranks_per_node: int, block_bytes: int) -> float:
        """Predicted time of one ``MPI_Alltoall``; infinite for an algorithm that the model does not know."""
        name, given = algorithm.partition("{")[0], {key: int(text) for key, text in OPTION.findall(algorithm)}
        n, p_node, p, radix = nodes, ranks_per_node, nodes * ranks_per_node, given.get("r", 2)
        copied = p_node * p * block_bytes / self.copy_rate
        barrier = self.step_s * log2(p_node) if p_node > 1 else 0.0
        if name == "sched.matrix" and block_bytes < SMALL and p_node > 1:
            name = "node.multi"
        if name == "sched.matrix" or name.startswith("flat"):
            parts = max(1, -(-block_bytes // PART)) if name == "sched.matrix" and block_bytes <= MOST_CUT else 1
            own = p - 1 if name == "flat.pairwise" else parts * (p - p_node)
            return self._sent(parts * p_node * (p - p_node), block_bytes / parts, own) + self.latency_s
        if name == "node.multi":
            messages, stages = _pipeline(n - 1, p_node**2 * block_bytes, given.get("stages", USUAL_STAGES))
            own = messages if stages > 1 else -(-messages // given.get("nl", 1))
            sent = self._sent(messages, (n - 1) * p_node**2 * block_bytes / max(messages, 1), own)
            if stages <= 1:
                return sent + self.latency_s + 2 * copied + 3 * barrier
            return self.latency_s + max(sent, 2 * copied) + 2 * copied / messages + (2 + stages) * barrier
        if name == "node.direct":
            return self._sent(p_node * (n - 1), p_node * block_bytes, n - 1) + self.latency_s + copied + 2 * barrier
        if name in ("bruck", "node.bruck"):
            (rounds, own_of_all), (outside, own_of_nodes) = _rounds(p, radix), _rounds(n, radix)
            own = own_of_all if name == "bruck" else own_of_nodes
            sent = outside * self.latency_s
            sent += self._sent(outside * p_node * (radix - 1), p * block_bytes / radix, own)
            if name == "bruck":
                return sent + (2 + (3 * rounds - outside) * (radix - 1) / radix) * copied
            return sent + (4 + 2 * outside * (radix - 1) / radix) * copied + 3 * barrier
        return inf

    def least_seconds(self, nodes: int, ranks_per_node: int, block_bytes: int) -> float:
        """A time that no schedule of an ``MPI_Alltoall`` beats, whatever it gathers, hides or forwards.
        Each node sends what its ranks have for the others, P (p - P) m bytes. A node that sends k messages reaches k
        others itself; all that it has for each of the rest, P^2 m bytes, is sent again by some other node. So on
        average over the nodes an adapter has k messages and P (p - P) m + (N - 1 - k) P^2 m bytes, and the
        gap after the last message need not be waited for: with the better of k = 1 and k = N - 1 that is
        P (p - P) m / B + (N - 2) min(g, P^2 m / B) + L. Nothing is charged for copies and barriers.
        """
        pair_s = ranks_per_node**2 * block_bytes / self.rate
        return self.latency_s + (nodes - 1) * pair_s + (nodes - 2) * min(self.gap_s, pair_s)

    def _sent(self, messages: float, message_bytes: float, own: float) -> float:
        return max(messages * (self.gap_s + message_bytes / self.rate), own * self.overhead_s)


def _pipeline(streams: int, stream_bytes: int, stages: int) -> tuple[int, int]:
    """Messages of a node and stages of node.multi, as native/alltoall/stages.cpp cuts them."""
    pieces = -(-stages // max(streams, 1))
    length = max(LEAST_PIECE, -(-stream_bytes // pieces))
    messages = streams * max(1, -(-stream_bytes // length))
    return messages, min(stages, messages, streams * stream_bytes // LEAST_PIECE)


def _rounds(members: int, radix: int) -> tuple[int, int]:
    """Rounds of a Bruck exchange, ceil(log_radix members), and messages that one member sends in all of them."""
    rounds, sent, reach = 0, 0, 1
    while reach < members:
        rounds, sent = rounds + 1, sent + min(radix - 1, -(-members // reach) - 1)
        reach *= radix
    return rounds, sent


class MachineFile(BaseModel):
    """The file: LogGP's numbers of a fabric, in seconds and bytes a second."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    schema_name: Literal["weft-machine/1"] = Field(alias="schema")
    fabric: str
    run: str
    gap_s: Time  # of the adapter, between two messages
    gap_is_limit: bool  # whether the ranks and not the adapter limited the messages, so that the gap is smaller
    overhead_s: Time  # of one rank, between two messages
    one_way_s: Time  # of a message without bytes: L and the overhead of both ends
    rate_bytes_per_s: Rate  # of the adapter
    copy_rate_bytes_per_s: Rate  # of all copies of a node
    record_crc32: Checksum = None

    def write(self, path: Path) -> None:
        """Write it as JSON. Raises DataError: The file cannot be written."""
        with file_errors(path):
            write_atomic(path, with_checksum(self.model_dump_json(by_alias=True, indent=1)).encode())

    def machine(self, fabric: Fabric) -> Machine:
        """The model's numbers; a step of a barrier within a node is that of the fabric file."""
        step_s = fabric.node.latency or 0.0
        return Machine(self.gap_s, self.one_way_s, self.rate_bytes_per_s, self.copy_rate_bytes_per_s, step_s)


def read_machine(path: Path) -> MachineFile:
    """Read such a file. Raises DataError: It cannot be read, or is none; names the key."""
    return read_json_file(
        path, MachineFile, "has no numbers of a machine", "measure it: weft tune --probe --on FABRIC -o FILE"
    )


def probed_table(title: str, found: MachineFile, fabric: Fabric) -> Table:
    """One row for each number: measured, and what the fabric file says, with their ratio."""
    network = fabric.network
    gap, own, latency, rate = (
        (network.message_gap, network.overhead, network.latency, network.adapter_rate) if network else [None] * 4
    )
    own_gap, one_way = max(own or 0.0, gap or 0.0) or None, (latency or 0.0) + (own or 0.0) or None
    numbers = (
        ("message gap g", found.gap_s, gap, format_seconds),
        ("a rank's own gap: the larger of o and g", found.overhead_s, own_gap, format_seconds),
        ("one way, L + o", found.one_way_s, one_way, format_seconds),
        ("adapter", found.rate_bytes_per_s, rate, format_rate),
        ("copies of a node", found.copy_rate_bytes_per_s, fabric.node.copy_rate, format_rate),
    )
    rows = [
        (name, write(value), "–" if stated is None else write(stated), f"{value / stated:.2f}" if stated else "–")
        for name, value, stated, write in numbers
    ]
    if found.gap_is_limit:
        rows[0] = (rows[0][0], f"at most {rows[0][1]}", *rows[0][2:])
    return Table(title, ("number", "measured", "fabric file", "ratio"), tuple(rows))
