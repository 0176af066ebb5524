# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C in the middle of a query ends the command: it ended in a traceback, in exit code 0, or never."""

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import cycle
from typing import Any

import pytest

from weft.analyse.engine import CANCEL_S, Interruptible

LONG = "select count(*) as n from range(100000000) a, range(100000000) b where a.range + b.range > 5"
PROGRAM = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background shell ignores
from weft.__main__ import leave
from weft.analyse.engine import connect
from weft.cli.signals import heed_signals
heed_signals()
backend = connect()
print("begins", flush=True)
try:
    {query}
except KeyboardInterrupt:
    print("interrupted")
    leave(130)
except Exception as error:
    print("swallowed", error)
    leave(0)
"""
QUERIES = {
    "expression": f'backend.sql("{LONG}", schema={{"n": "int64"}}).to_pyarrow()',
    "file": f'backend.to_parquet(backend.sql("{LONG}", schema={{"n": "int64"}}), "/dev/null")',
    "statement": f'backend.raw_sql("{LONG}").fetchall()',
    "relation": f'backend.con.sql("{LONG}").fetchall()',
    "table": f'backend.create_table("t", backend.sql("{LONG}", schema={{"n": "int64"}}))',
}
ENDS_S = 2.0


@pytest.fixture(scope="module")
def busy() -> Iterator[Callable[[signal.Signals], None]]:
    """More work than this host has cores: stopped until it is told to go on."""
    with ExitStack() as stack:
        loops = [stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"])) for _ in range(4)]
        for loop in loops:
            loop.send_signal(signal.SIGSTOP)
            stack.callback(loop.kill)

        def tell(number: signal.Signals) -> None:
            for loop in loops:
                loop.send_signal(number)

        yield tell


@pytest.mark.parametrize(("query", "number"), [*zip(QUERIES, cycle((signal.SIGINT, signal.SIGTERM)))])
def test_a_signal_in_a_query_is_an_interrupt(
    query: str, number: signal.Signals, busy: Callable[[signal.Signals], None]
) -> None:
    program = PROGRAM.format(query=QUERIES[query])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        busy(signal.SIGCONT)
        try:
            with pytest.raises(subprocess.TimeoutExpired):
                process.wait(0.5)
            began = time.monotonic()
            process.send_signal(number)
            told, _ = process.communicate(timeout=60)
            lasted = time.monotonic() - began
        finally:
            busy(signal.SIGSTOP)
            process.kill()
    assert (process.returncode, told) == (130, "interrupted\n")
    assert lasted < ENDS_S


class Stuck:
    """A connection whose query does not end when it is asked to: DuckDB has been seen to wait for ever."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.over = threading.Event()

    def interrupt(self) -> None:
        self.asked.set()

    def execute(self) -> Any:
        signal.raise_signal(signal.SIGINT)
        self.over.wait()


def test_a_query_that_cannot_be_cancelled_is_left_behind() -> None:
    stuck = Stuck()
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            Interruptible(stuck, stuck).execute()
    finally:
        signal.signal(signal.SIGINT, before)
        stuck.over.set()
    assert stuck.asked.is_set()
    assert CANCEL_S <= time.monotonic() - began < ENDS_S


def test_an_error_of_a_query_is_raised_where_it_was_called() -> None:
    from weft.analyse.engine import connect

    with pytest.raises(Exception, match="no_such_table"):
        connect().raw_sql("select * from no_such_table")
