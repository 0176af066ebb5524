# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C in the middle of a query is an interrupt: it ended in a traceback of DuckDB's, and once in exit code 0."""

import signal
import subprocess
import sys

import pytest

LONG = "select count(*) as n from range(100000000) a, range(100000000) b where a.range + b.range > 5"
PROGRAM = """
import signal
import sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background shell ignores
from weft.analyse.engine import connect
from weft.cli.mistakes import heed_signals
heed_signals()
backend = connect()
print("begins", flush=True)
try:
    {query}
except KeyboardInterrupt:
    print("interrupted", flush=True)
    sys.exit(130)
except Exception as error:
    print("swallowed", error, flush=True)
    sys.exit(0)
"""
QUERIES = {
    "expression": f'backend.sql("{LONG}", schema={{"n": "int64"}}).to_pyarrow()',
    "statement": f'backend.raw_sql("{LONG}").fetchall()',
    "table": f'backend.create_table("t", backend.sql("{LONG}", schema={{"n": "int64"}}))',
}


# long: on a busy machine DuckDB is seen to miss a signal for minutes, which is not mended yet
@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("query", QUERIES)
def test_a_signal_in_a_query_is_an_interrupt(query: str, number: signal.Signals) -> None:
    program = PROGRAM.format(query=QUERIES[query])
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begins\n"
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.0)
        process.send_signal(number)
        try:
            told, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (process.returncode, told) == (130, "interrupted\n")
