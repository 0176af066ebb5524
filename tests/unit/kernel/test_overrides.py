# SPDX-License-Identifier: BSD-3-Clause
"""A study overridden at the command line says what an edited copy of it would."""

import tomllib
from pathlib import Path

import pytest

from weft.errors import StudyError
from weft.files.shipped import shipped
from weft.kernel.studies import Overrides, load_study, overridden, parse_nodes

EVERY = Overrides(nodes=(2, 4), launches=5, budget="2 min", quick=True)
SHIPPED = sorted(path.stem for path in shipped("studies").glob("*.toml"))


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_study_can_be_overridden(name: str) -> None:
    wanted = Overrides(launches=5, quick=True, nodes=(2, 4))
    study, plain = load_study(name, wanted), load_study(name, Overrides())
    assert (study.measure.launches, study.measure.budget, study.measure.max_samples) == (5, 0.2, 30)
    assert {series.nodes for series in study.series} == {(2, 4)}
    assert not getattr(study, "explain", False)
    assert study.placement == plain.placement
    assert tomllib.loads(study.text)["measure"]["launches"] == 5


def test_what_is_given_by_name_counts_more_than_quick() -> None:
    study = load_study("pairs", EVERY)
    assert (study.measure.budget, study.measure.max_samples, study.measure.launches) == (120.0, 30, 5)
    assert study.measure.limit == 480.0, "the study's own limit of 120 s leaves no room for that budget"


def test_nothing_given_leaves_the_text_byte_for_byte() -> None:
    text = (shipped("studies") / "contention.toml").read_bytes()
    assert load_study("contention", Overrides()).text.encode() == text


def test_other_lines_and_comments_stay() -> None:
    text = (shipped("studies") / "contention.toml").read_text()
    changed = overridden(text, Overrides(launches=7)).splitlines()
    left = [line.partition("#")[0].strip() for line in text.splitlines() if line not in changed]
    assert left == ['time = "1 min"', "launches = 4"]


def test_keys_that_are_missing_are_added(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "s"\nkernel = "exchange"\n[[series]]\nname = "a"\nn = 8\nm = 2\n[[series]]\nname = "b"\nn = 8\nm = 2\n'
    )
    study = load_study(path, Overrides(nodes=(3,), launches=9))
    assert [series.nodes for series in study.series] == [(3,), (3,)]
    assert study.measure.launches == 9


def test_a_form_that_cannot_be_replaced_is_refused_and_not_half_done(tmp_path: Path) -> None:
    path = tmp_path / "s.toml"
    path.write_text(
        'name = "s"\nkernel = "exchange"\nmeasure = { launches = 3 }\n[[series]]\nname = "a"\nn = 8\nm = 2\n'
    )
    with pytest.raises(StudyError, match="cannot be overridden"):
        load_study(path, Overrides(launches=9))
    path.write_text('name = "s"\nkernel = "exchange"\n[[series]]\nname = "a"\nn = 8\nm = 2\nnodes = [\n1,\n2]\n')
    with pytest.raises(StudyError, match="cannot be overridden"):
        load_study(path, Overrides(nodes=(4,)))


@pytest.mark.parametrize("nodes", ["", "2;4", "two"])
def test_nodes_that_are_no_numbers_are_refused(nodes: str) -> None:
    with pytest.raises(StudyError, match="--nodes"):
        parse_nodes(nodes)


@pytest.mark.parametrize("budget", ["soon", "-1 s", "5"])
def test_a_budget_that_is_no_time_is_refused(budget: str) -> None:
    with pytest.raises(StudyError, match="--budget"):
        load_study("contention", Overrides(budget=budget))
