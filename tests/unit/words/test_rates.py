# SPDX-License-Identifier: BSD-3-Clause
"""Pairs whose rate was measured: the time of a window of messages is printed as bytes a second."""

from typing import Any

from weft.analyse.tables.claims import make_claim
from weft.words.card import say


def test_a_window_of_messages_is_told_as_a_rate_and_one_message_as_a_time() -> None:
    more: dict[str, Any] = {"bytes": 65536, "mode": "all", "pairs": 2, "hops": 0}
    seconds = 64 * 65536 / 2e9
    rate = say(make_claim("latency.0-hops", "breakdown", "same node", seconds, "seconds", window=64, **more))
    assert (rate.value, "64 messages of 64 KiB" in rate.note) == ("2.00 GB/s", True)
    time = say(make_claim("latency.0-hops", "breakdown", "same node", 1e-6, "seconds", **more))
    assert time.value == "1.00 us"
