# SPDX-License-Identifier: BSD-3-Clause
"""LogGP's parameters of a message by its size (Alexandrov, Ionescu, Schauser, Scheiman, "LogGP", 1995, section 2)."""

from collections.abc import Sequence
from typing import NamedTuple

from pydantic import Field

from weft.fabric.times import Cost
from weft.files.section import Section
from weft.units import Bytes, Rate


class Segment(Section, frozen=True):
    """LogGP's parameters for messages above a size; what it leaves out is that of the network."""

    above: Bytes = Field(description='messages larger than this: "16 KiB"')
    overhead: Cost | None = Field(None, description='o: time one rank spends on each message it sends: "5 us"')
    message_gap: Cost | None = Field(None, description='g: shortest time between two messages of one adapter: "100 ns"')
    rate: Rate | None = Field(
        None,
        description='1/G of one rank alone; what it lacks to adapter_rate keeps the rank that sends busy: "10 GB/s"',
    )


class MessageCost(NamedTuple):
    """What a message costs besides the bytes at its adapter's rate.

    Attributes
    ----------
    overhead_s
        LogGP's o in seconds: the rank that sends is busy, with the stall of a rendezvous.
    gap_s
        LogGP's g in seconds: no other message leaves the adapter before.
    s_per_byte
        Seconds a byte, for which the sender is busy because one rank alone does not reach the adapter's rate.
    """

    overhead_s: float
    gap_s: float
    s_per_byte: float = 0.0

    def busy_s(self, message_bytes: int) -> float:
        """Seconds that the sending rank is busy with one message."""
        return self.overhead_s + self.s_per_byte * message_bytes


def segment_cost(whole: MessageCost, adapter_rate: float | None, segments: Sequence[Segment], size: int) -> MessageCost:
    """The cost of a message of ``size`` bytes: that of the last segment below it, ``whole`` where it says nothing.

    Parameters
    ----------
    adapter_rate
        Rate of the adapter in bytes per second; None if it is not known, and no rate can be lacking.
    size
        Bytes of the message.
    """
    overhead, gap, rate = whole.overhead_s, whole.gap_s, adapter_rate
    reached = [segment for segment in segments if size > segment.above]
    if reached:
        last = reached[-1]
        overhead = overhead if last.overhead is None else last.overhead
        gap = gap if last.message_gap is None else last.message_gap
        rate = last.rate or rate
    slower = max(0.0, 1 / rate - 1 / adapter_rate) if rate and adapter_rate else 0.0
    return MessageCost(overhead, gap, slower)
