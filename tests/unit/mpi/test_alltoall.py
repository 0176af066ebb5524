# SPDX-License-Identifier: BSD-3-Clause
"""Specs of Weft's own all-to-alls in study files."""

import re
from pathlib import Path

import pytest

from weft.files.shipped import shipped
from weft.mpi.alltoall import PARAMETERS, check_spec, is_own


@pytest.mark.parametrize(
    "spec",
    ["default", "pmpi", "node.multi{nl=4}", "node.multi", "sched.matrix", "sched.matrix{w=8}",
     "flat.window{w=8,order=node-rotated,bytes_in_flight=4MiB}",
     "flat.window{w=8, order=xor}", "bruck{r=16}", "sched{file=rounds.txt}"],
)  # fmt: skip
def test_a_spec_is_taken_as_written(spec: str) -> None:
    assert check_spec(spec) == spec


@pytest.mark.parametrize(
    ("spec", "said"),
    [("node.mutli", "there are default, pmpi, flat.window"), ("node.multi{r=2}", "nl="), ("bruck{r=two}", "r="),
     ("node.multi{nl=4", "no all-to-all"), ("flat.pairwise{w=2}", "none"), ("", "no all-to-all")],
)  # fmt: skip
def test_a_wrong_spec_is_refused_with_what_there_is(spec: str, said: str) -> None:
    with pytest.raises(ValueError, match=re.escape(said)):
        check_spec(spec)


def test_the_names_are_those_of_the_library() -> None:
    """One added there alone could not be asked for in a study."""
    text = (Path(shipped("native")) / "alltoall" / "spec.cpp").read_text()
    found = {name: set(keys.split()) for name, keys in re.findall(r'\{Kind::\w+, "([\w.]+)", "([^"]*)"', text)}
    assert found == {name: set(known) for name, known in PARAMETERS.items()}


def test_an_algorithm_of_the_library_is_not_ours() -> None:
    assert is_own("node.multi{nl=4}")
    assert not is_own("pairwise")
    assert not is_own("default")
