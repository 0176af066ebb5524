# SPDX-License-Identifier: BSD-3-Clause
"""Runs in formats of other tools, read back by the rules of each."""

import re
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from made.kept import copy_of, make_tables_of
from made.run import make_run
from made.view import load_view
from weft.analyse.tables.times import timed
from weft.errors import DataError
from weft.report.export import METRICS, escaped, field_text
from weft.report.tables import render
from weft.report.view import RunView
from weft.text import one_line

# section "ABNF" of OpenMetrics 1.0, as far as gauges go
NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*"'
NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|NaN|Inf)"
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)?\}})? ({NUMBER})(?: {NUMBER})?")
DESCRIPTOR = re.compile(rf"# (TYPE|UNIT|HELP) ({NAME}) (.*)")

#: What ReFrame 4.10.4 wrote with its default configuration for a test with these parameters and one value, `median`.
REFRAME_HEADER = (
    "result|job_completion_time|call|cell|descr|env_vars|environ|exclusive_access|extra_resources|fabric|"
    "job_completion_time_unix|job_exitcode|job_nodelist|job_submit_time|jobid|m|modules|n|name|nodes|"
    "num_cpus_per_task|num_gpus_per_node|num_tasks|num_tasks_per_core|num_tasks_per_node|num_tasks_per_socket|"
    "partition|median_value|median_unit|median_ref|median_lower_thres|median_upper_thres|phase|ranks|"
    "short_name|system|unique_name|use_multithreading"
)
#: What osu_alltoall prints with -f, and where its fields stand (`%-*d` of 10, `%*.*f` of 20, `%*d` of 12).
OSU_HEADER = "# Size         Avg Latency(us)     Min Latency(us)     Max Latency(us)  Iterations"
OSU_FIELDS = ((0, 10), (10, 30), (30, 50), (50, 70), (70, 82))


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    return load_view(make_run(tmp_path_factory.mktemp("runs") / "local"))


def families(text: str) -> dict[str, list[tuple[str, float]]]:
    """Samples of each family, by the grammar; a family is told once, and its unit ends its name."""
    lines = text.split("\n")
    assert lines[-2:] == ["# EOF", ""]
    found: dict[str, list[tuple[str, float]]] = {}
    current = ""
    for line in lines[:-2]:
        if told := DESCRIPTOR.fullmatch(line):
            kind, name, words = told.groups()
            if kind == "TYPE":
                assert name not in found and words == "gauge"
                current, found[name] = name, []
            assert name == current
            assert kind != "UNIT" or name.endswith(f"_{words}")
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert sample[1] == current
        found[current].append((sample[2], float(sample[3])))
    return found


def test_openmetrics_follow_the_grammar_and_no_sample_comes_twice(view: RunView) -> None:
    found = families(render(view, "openmetrics"))
    rows = timed(view.rows)
    assert len(found["weft_time_seconds"]) == len(rows) > 4
    for samples in found.values():
        assert len({labels for labels, _ in samples}) == len(samples)
    assert found["weft_time_seconds"][0][1] == pytest.approx(rows[0]["median_s"])


@pytest.mark.parametrize("evil", ['"} 1', "\\", "a\n# EOF\n", "\x1b[31m", '\\"'])
def test_a_hostile_name_stays_a_label(evil: str) -> None:
    line = f'x{{call="{escaped(evil)}"}} 1'
    assert SAMPLE.fullmatch(line)
    assert "\n" not in line
    assert "|" not in field_text("a|b\n")


EVIL = ('"} 1', "\\", "a\n# EOF\n", "\x1b[31m", '\\"', "\\n", "a|b", "\u2028", "\udcff", "{}", "")


@pytest.mark.parametrize("evil", EVIL)
def test_prometheus_reads_back_every_name_and_value_and_no_log_gets_a_column(view: RunView, evil: str) -> None:
    named = replace(
        view, plan=view.plan.model_copy(update={"study": evil, "fabric": evil}),
        rows=[row | {"call": f"{row['call']}{evil} 8 B", "series": [evil]} for row in view.rows],
    )  # fmt: skip
    times, *others = text_string_to_metric_families(render(named, "openmetrics"))
    assert (times.name, times.type, times.unit) == ("weft_time_seconds", "gauge", "seconds")
    assert len({tuple(sample.labels.items()) for sample in times.samples}) == len(times.samples)
    assert [sample.value for sample in times.samples] == pytest.approx([row["median_s"] for row in timed(named.rows)])
    assert {sample.labels["study"] for sample in times.samples} == {one_line(evil)}
    assert [family.name for family in others] == list(METRICS)[1:]
    assert {line.count("|") for line in render(named, "reframe").splitlines()} == {REFRAME_HEADER.count("|")}
    measured = [line for line in render(named, "osu").splitlines() if line and not line.startswith("#")]
    assert all(re.fullmatch(r"\d+(?: +[\d.]+){4}", line) for line in measured)


def test_osu_columns_are_those_of_its_programs(view: RunView) -> None:
    text = render(view, "osu")
    headers = [line for line in text.splitlines() if line.startswith("# Size")]
    assert set(headers) == {OSU_HEADER}
    measured = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert len(measured) == len(timed(view.rows))
    for line in measured:
        size, mean, least, most, count = (line[a:b] for a, b in OSU_FIELDS)
        assert line[0] != " " and len(line) == len(OSU_HEADER)
        assert int(size) >= 0 and int(count) > 0
        assert float(least) <= float(mean) <= float(most)
    assert all(len({size for size, _ in rows}) == len(rows) for _, rows in osu_blocks(text)), "a size stands once"
    means = sorted(round(1e6 * row["mean_s"], 2) for row in timed(view.rows))
    assert sorted(float(line.split()[1]) for line in measured) == means


#: What osu_bw 7.4 prints above its sizes, and how: `%-*d` of 10, `%*.*f` of 20.
OSU_BW_HEADER = "# Size        Bandwidth (MB/s)"


def reframe_metric(text: str, size: int) -> float:
    """What ReFrame's hpctestlib takes from an OSU program: its sanity and performance patterns of a message size."""
    assert re.search(rf"^{size}", text, re.MULTILINE)
    found = re.search(rf"^{size}\s+(\S+)", text, re.MULTILINE)
    assert found
    return float(found[1])


def osu_blocks(text: str) -> list[tuple[str, list[tuple[str, list[str]]]]]:
    """Heading and rows of each block, a row as its size and its other fields."""
    found: list[tuple[str, list[tuple[str, list[str]]]]] = []
    for line in text.splitlines():
        if line.startswith("# Weft"):
            found.append((line, []))
        elif line and not line.startswith("#"):
            size, *others = line.split()
            found[-1][1].append((size, others))
    return found


def test_a_stream_has_the_bandwidth_that_osu_bw_prints_and_no_block_mixes_cache_and_memory(tmp_path: Path) -> None:
    """Times stood in its columns, and rows of both memories under one heading: a size came twice."""
    folder = copy_of("bandwidth", tmp_path)
    make_tables_of(folder)
    view = load_view(folder)
    text = render(view, "osu")
    assert {line for line in text.splitlines() if line.startswith("# Size")} == {OSU_BW_HEADER}
    assert all(re.fullmatch(r"(?=.{30}$)\d+ +\d+\.\d\d", line) for line in text.splitlines() if line[:1].isdigit())
    blocks = osu_blocks(text)
    assert len({head for head, _ in blocks}) == len(blocks)
    assert all(len({size for size, _ in rows}) == len(rows) for _, rows in blocks)
    assert sum(len(rows) for _, rows in blocks) == len(timed(view.rows))
    first = next(row for row in timed(view.rows, "send@65536", "warm"))
    assert reframe_metric(text, 65536) == pytest.approx(65536 / 1e6 / first["mean_s"], abs=0.01), "the first call's"


def test_reframe_reads_the_warm_latency_of_a_call_and_the_size_is_that_of_its_messages(tmp_path: Path) -> None:
    """MPI_Alltoall(int) sends 4 B to each rank, whatever the blocks of the other calls are."""
    folder = copy_of("exchange", tmp_path)
    make_tables_of(folder)
    view = load_view(folder)
    text = render(view, "osu")
    counts = [rows for head, rows in osu_blocks(text) if re.match(r"# Weft .*: A, ", head)]
    assert counts and {size for rows in counts for size, _ in rows} == {"4"}
    row = next(row for row in timed(view.rows, "A", "warm"))
    assert reframe_metric(text, 4) == pytest.approx(1e6 * row["mean_s"], abs=0.01)
    steady = ["first call" not in head for head, _ in osu_blocks(text)]
    assert steady == sorted(steady, reverse=True) and not all(steady)


def test_the_log_of_reframe_has_its_columns_and_a_line_a_row(view: RunView) -> None:
    header, *lines = render(view, "reframe").splitlines()
    assert header == REFRAME_HEADER
    rows = [dict(zip(header.split("|"), line.split("|"), strict=True)) for line in lines]
    assert len({row["name"] for row in rows}) == len({row["unique_name"] for row in rows}) == len(timed(view.rows))
    for row, measured in zip(rows, timed(view.rows), strict=True):
        assert float(row["median_value"]) == pytest.approx(measured["median_s"])
        assert (row["median_unit"], row["result"]) == ("s", "pass")
        assert (row["ranks"], row["num_tasks"]) == (str(measured["ranks"]),) * 2
        assert re.fullmatch(r"weft_\S+( %\w+=\S+)+", row["name"])
        told = datetime.fromisoformat(row["job_completion_time"]).replace(tzinfo=UTC)
        assert told.timestamp() == float(row["job_completion_time_unix"])


def test_a_run_without_a_time_is_refused_and_not_exported_as_nothing(view: RunView) -> None:
    empty = replace(view, rows=[replaced | {"samples": 0, "median_s": None} for replaced in view.rows])
    for form in ("osu", "reframe", "openmetrics"):
        with pytest.raises(DataError, match="no call of this run has a time"):
            render(empty, form)
