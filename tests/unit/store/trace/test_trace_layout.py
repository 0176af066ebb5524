# SPDX-License-Identifier: BSD-3-Clause
"""The two descriptions of a trace's bytes agree: in C++, which writes them, and in Python, which reads them."""

import re
from pathlib import Path

from weft.store.trace import layout
from weft.store.trace.layout import (
    CALLS,
    COLLECTIVES,
    FILES,
    HEADER,
    NEIGHBOURHOOD,
    RECEIVES,
    RECORD,
    SENDS,
    VOCABULARY,
    WAITS,
    Flag,
    State,
)

NATIVE = Path(__file__).parents[4] / "native" / "trace"


def test_every_call_of_the_tracers_list_is_in_the_vocabulary_once() -> None:
    text = (NATIVE / "calls.inc").read_text()
    lines = re.findall(r"^WEFT_CALL\((\d+), (\w+), (\w+), (\w+), (\d+), ([BNC]),", text, re.M)
    parts = re.findall(r"^WEFT_PARTITIONED\((\d+), (\w+), ", text, re.M)
    assert {int(number): f"MPI_{name}" for number, name, *_ in [*lines, *parts]} == CALLS
    assert len(VOCABULARY) == len(CALLS) == len(re.findall(r"^WEFT_(?:CALL|PARTITIONED)", text, re.M))
    assert len(lines) + len(parts) == len(CALLS)
    assert all(name.lower() == lower and name.upper() == upper for _, name, lower, upper, *_ in lines)


def test_the_sets_of_calls_follow_from_their_families() -> None:
    assert {"MPI_Send", "MPI_Ibsend", "MPI_Sendrecv"} <= SENDS and "MPI_Send_init" not in SENDS
    assert {"MPI_Recv", "MPI_Mrecv", "MPI_Irecv", "MPI_Imrecv"} == RECEIVES
    assert len(COLLECTIVES) == 17 and len(WAITS) == 8 and len(NEIGHBOURHOOD) == 5
    assert {"MPI_File_write_at_all", "MPI_File_iread", "MPI_File_close"} <= FILES and len(FILES) == 44


def test_calls_with_large_counts_are_recorded_as_those_of_the_same_name() -> None:
    text = (NATIVE / "calls.inc").read_text()
    families = {name: (arity, family) for name, arity, family in
                re.findall(r"^WEFT_CALL\(\d+, (\w+), \w+, \w+, (\d+), \w, (.*)\)$", text, re.M)}  # fmt: skip
    large = re.findall(r"^WEFT_LARGE\((\w+), (\w+), (\d+), (.*)\)$", text, re.M)
    assert len(large) > 60
    for called, name, arity, family in large:
        assert called == f"{name}_c"
        assert families[name] == (arity, family)


def members(text: str, struct: str) -> list[str]:
    body = re.search(rf"struct {struct} {{\n(.*?)\n}};", text, re.S)
    assert body
    return [
        name
        for name in re.findall(r"^    [\w:]+ (\w+)(?:\[\d+\])? = ", body[1], re.M)
        if name not in ("unused", "rest")
    ]


def test_fields_flags_and_states_have_the_same_names_and_values() -> None:
    text = (NATIVE / "record.hpp").read_text()
    named = {"head_bytes": "header_bytes"}
    assert [named.get(name, name) for name in members(text, "Head")] == [
        name for name in HEADER.names or () if name != "unused"
    ]
    assert members(text, "Record") == list(RECORD.names or ())
    flags = dict(re.findall(r"^    (\w+) = (\d+),$", re.search(r"enum Flag.*?};", text, re.S)[0], re.M))  # type: ignore[index]
    renamed = {"between_groups": "inter"}
    assert {renamed.get(name, name).upper(): int(value) for name, value in flags.items()} == {
        flag.name: flag.value for flag in Flag
    }
    states = dict(re.findall(r"(\w+) = (\d+)", re.search(r"enum State[^{]*{(.*?)}", text, re.S)[1]))  # type: ignore[index]
    assert {name.upper(): int(value) for name, value in states.items()} == {state.name: state.value for state in State}
    kinds = dict(re.findall(r"(completion|counts|members|site_text|communicator|targets) = (\d)", text))
    named = ("completion", "counts", "members", "site_text", "communicator", "targets")
    assert [int(kinds[name]) for name in named] == [
        layout.COMPLETE, layout.COUNTS, layout.MEMBERS, layout.SITE, layout.COMMUNICATOR, layout.TARGETS,
    ]  # fmt: skip
