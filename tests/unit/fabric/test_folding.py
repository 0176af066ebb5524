# SPDX-License-Identifier: BSD-3-Clause
"""Node names written short."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.fabric.folding import fold, fold_for_people
from weft.fabric.nodeset import expand

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


def test_a_group_of_the_sites_clustershell_is_not_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """The job script once asked the site's own configuration, which may run a command for a group."""
    from ClusterShell import NodeSet

    class Asked:
        def __getattr__(self, name: str) -> None:
            raise AssertionError(f"the resolver of groups was asked for {name}")

    monkeypatch.setattr(NodeSet, "RESOLVER_STD_GROUP", Asked())
    assert "@all" in fold(["@all", "n1"])
