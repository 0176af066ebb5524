# SPDX-License-Identifier: BSD-3-Clause
"""Node sets: what Slurm means by them, and what is refused before anything is expanded."""

import tracemalloc

import pytest

from weft.errors import WeftError
from weft.fabric.nodeset import expand, size


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("n1[8-11]", "n18 n19 n110 n111"),
        ("n[8-11]", "n8 n9 n10 n11"),
        ("n[08-11]", "n08 n09 n10 n11"),
        ("n[8-011]", "n8 n9 n10 n11"),
        ("n[098-101]", "n098 n099 n100 n101"),
        ("n[00-000]", "n00"),
        ("n[1-2,05-06]", "n1 n2 n05 n06"),
        ("n[3,1,2,1]", "n1 n2 n3"),
        ("r[1-2]n[1-2]", "r1n1 r1n2 r2n1 r2n2"),
        ("a[1-2][3-4]", "a13 a14 a23 a24"),
        ("n[1-3]5[1-2]", "n151 n152 n251 n252 n351 n352"),
        ("[1-2]", "1 2"),
        ("b2,a1", "a1 b2"),
        ("a1 b[1,2],,c,", "a1 b1 b2 c"),
        ("n[99999999999-100000000000]", "n99999999999 n100000000000"),
        ("n1000000[1-10]", " ".join(f"n1000000{i}" for i in range(1, 11))),
    ],
)
def test_a_bracket_stands_for_its_numbers_and_text_before_it_for_itself(text: str, names: str) -> None:
    assert expand(text) == tuple(names.split())


def test_text_behind_a_bracket_is_text() -> None:
    assert expand("n[1-2]-ib,m[1-2]5") == ("m15", "m25", "n1-ib", "n2-ib")


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "empty"),
        (" , ", "empty"),
        ("n[1-2", "bracket"),
        ("n1-2]", "bracket"),
        ("n[[1-2]]", "bracket"),
        ("n[1-2]]", "bracket"),
        ("[", "bracket"),
        ("n[]", "is not a range"),
        ("n[1,]", "is not a range"),
        ("n[a-b]", "is not a range"),
        ("n[1--3]", "is not a range"),
        ("n[-1]", "is not a range"),
        ("n[ 1-3]", "is not a range"),
        ("n[1-10/2]", "is not a range"),
        ("n[١-٣]", "is not a range"),
        ("n[3-1]", "runs downwards: write [1-3]"),
        (f"n[{'9' * 5000}]", "digits"),
        ("@all", "is not a name"),
        ("n{1-2}", "is not a name"),
        ("n/1", "is not a name"),
        ("n\x1b[1-2]", "is not a name"),
        ("-n1", "is not a name"),
        ("..", "is not a name"),
        ("n" * 256, "256 characters"),
        ("[1-2]" * 256, "characters"),
        ("n[1-200001]", "more than 200,000 nodes"),
        ("n[1-999999999999999999]", "more than 200,000 nodes"),
        ("r[1-999]n[1-999]", "more than 200,000 nodes"),
        (",".join(["n[1-20000]"] * 11), "more than 200,000 nodes"),
    ],
)
def test_what_is_no_node_set_is_a_weft_error(text: str, what: str) -> None:
    for read in (expand, size) if what != "empty" else (expand,):
        with pytest.raises(WeftError) as caught:
            read(text)
        assert what in str(caught.value)
        assert len(str(caught.value)) < 300


def test_limits_are_checked_before_anything_is_expanded() -> None:
    tracemalloc.start()
    for text in ("n[1-999999999]", "n0[1-200001]", ",".join(f"n{i}[1-150000]" for i in range(1000))):
        with pytest.raises(WeftError, match="more than"):
            expand(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000
    assert size("n1000000[1-10],r[1-400]c[1-400]") == 160_010
