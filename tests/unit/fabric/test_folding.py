# SPDX-License-Identifier: BSD-3-Clause
"""Node names written short."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.fabric.nodeset import expand, fold, fold_for_people

NAMES = st.sets(st.from_regex(r"[a-z]{1,3}[0-9]{1,4}", fullmatch=True), min_size=1, max_size=40)


@given(NAMES)
def test_a_node_set_names_the_nodes_it_was_made_of(names: set[str]) -> None:
    assert set(expand(fold(names))) == names


def test_one_line_is_enough_for_people() -> None:
    assert fold_for_people(["n1", "n2", "n3"]) == "n[1-3]"
    guids = [f"h-0002c90300080e{digit:02x}" for digit in range(3)]
    assert fold_for_people(guids) == f"{guids[0]} ... {guids[2]}"
    assert fold_for_people(guids[:1]) == guids[0]
    scattered = [f"n{7 * number * number}" for number in range(60)]
    assert fold_for_people(scattered) == f"{scattered[0]} ... {scattered[-1]}"


NUMBERED = st.from_regex(r"[a-c]?[0-9]{1,3}(-[0-9]{1,2}){0,2}(x|-ib)?", fullmatch=True)


@given(st.sets(NUMBERED, min_size=1, max_size=40))
def test_a_node_set_names_the_nodes_whatever_their_numbers(names: set[str]) -> None:
    assert set(expand(fold(names))) == names


@pytest.mark.parametrize(
    "short",
    ["n[1-3]", "n[08-11]", "n[098-101]", "n[008,08-11,8]", "r[1-2]n[01-18]", "r[1-9]s[01-20]n[1-8]c[0-3]", "n3a,n1"],
)
def test_names_fold_back_to_their_ranges(short: str) -> None:
    assert fold(expand(short)) == short


def test_names_with_several_numbers_are_folded_in_the_time_of_sorting_them() -> None:
    """100,000 of them took 80 s."""
    names = expand("A[3-80][3-123]r[1-2]")
    before_s = time.process_time()
    assert set(expand(fold(names))) == set(names)
    assert time.process_time() - before_s < 2


def test_a_bracket_is_never_followed_by_text() -> None:
    """Slurm was told --nodelist=n[1-2]-ib, which it refuses."""
    assert fold(["n1-ib", "n2-ib"]) == "n1-ib,n2-ib"
    assert fold(["r1n5", "r2n5"]) == "r[1-2]n[5]"


def test_what_is_no_name_is_listed() -> None:
    assert fold(["@all", "n1"]) == "@all,n1"
