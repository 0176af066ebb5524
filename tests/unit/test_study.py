# SPDX-License-Identifier: BSD-3-Clause
"""Reading study files, and what is said about mistakes in them."""

from pathlib import Path

import pytest

from weft.errors import StudyError
from weft.files.shipped import shipped
from weft.kernel.exchange.study import ExchangeStudy
from weft.kernel.studies import load_study

GOOD = """
name = "small"
kernel = "exchange"
[measure]
launches = 2
seed = 7
[[series]]
name = "strong"
scaling = "strong"
nodes = [1]
ranks_per_node = [1, 2]
n = 16
m = "4 * p"
"""


def read(tmp_path: Path, text: str) -> ExchangeStudy:
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    study = load_study(path)
    assert isinstance(study, ExchangeStudy)
    return study


def mistake(tmp_path: Path, text: str) -> str:
    with pytest.raises(StudyError) as caught:
        read(tmp_path, text)
    assert caught.value.exit_code == 2
    assert caught.value.remedy
    return str(caught.value)


def test_a_study_is_read_with_its_defaults(tmp_path: Path) -> None:
    study = read(tmp_path, GOOD)
    assert study.measure.launches == 2
    assert study.measure.budget == 5.0
    assert study.series[0].ranks_per_node == (1, 2)
    assert study.exchange.calls == ("A", "B", "C")
    assert study.placement.nodes == "compact"


def test_a_study_keeps_its_text_for_the_run_folder(tmp_path: Path) -> None:
    study = read(tmp_path, GOOD)
    assert study.text == GOOD
    assert study.path == tmp_path / "study.toml"


@pytest.mark.parametrize("path", sorted(shipped("studies").glob("*.toml")), ids=lambda path: path.stem)
def test_every_shipped_study_is_read_by_its_name(path: Path) -> None:
    assert load_study(path.stem).name == path.stem


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("launches = 2", "lanches = 2", ['unknown key "measure.lanches" = 2', 'did you mean "launches"?']),
        ("launches = 2", 'launches = "2"', ['"measure.launches" = "2"', "valid integer", "1 to 1000"]),
        ("launches = 2", "launches = 0", ['"measure.launches" = 0', "greater than or equal to 1"]),
        ("launches = 2", "launches = true", ['"measure.launches" = true', "valid integer"]),
        ("launches = 2", "budget = 5", ['"measure.budget" = 5', 'in quotes, such as "5 s"']),
        ("launches = 2", 'budget = "5 GB"', ['"measure.budget" = "5 GB"', '"GB" is no unit of a time: ns, us, ms']),
        ("launches = 2", 'limit = "1 s"', ['"measure" = ', "leaves no room for the budget"]),
        ("launches = 2", "min_samples = 2000", ["min_samples = 2000 is over max_samples = 1000"]),
        ("launches = 2", "precision = inf", ['"measure.precision" = Infinity', "finite"]),
        ("nodes = [1]", 'nodes = "many"', ['"series.0.nodes" = "many"', '"1..nodes"']),
        ("nodes = [1]", "nodes = [1, 1]", ['"series.0.nodes" = [1, 1]', "different"]),
        ("nodes = [1]", "nodes = [0]", ['"series.0.nodes" = [0]', "from 1"]),
        ("nodes = [1]", "nodes = []", ['"series.0.nodes" = []']),
        ("ranks_per_node = [1, 2]", 'ranks_per_node = "core"', ['"series.0.ranks_per_node" = "core"', '"fill"']),
        ("n = 16", "n = 1.5", ['"series.0.n" = 1.5', '"auto"']),
        ("n = 16", 'n = "auto"', ['"series.0" = ', "needs array"]),
        ("n = 16", 'n = 16\narray = "1 %"', ["n = 16 is given"]),
        ("n = 16", 'n = "auto"\narray = "1 MB"', ['"series.0.array" = "1 MB"', '"1 MiB" for powers of 1024']),
        ("n = 16", 'n = "auto"\narray = "0 %"', ['"series.0.array" = "0 %"', "above 0"]),
        ('m = "4 * p"', 'm = "4 * q"', ['"series.0.m" = "4 * q"', 'unknown name "q"']),
        ('m = "4 * p"', "m = 0", ['"series.0.m" = 0']),
        ('scaling = "strong"', 'scaling = "strnog"', ['"series.0.scaling" = "strnog"', "'strong', 'weak' or 'none'"]),
        ('name = "strong"', "", ['the key "series.0.name" is missing']),
        ("[measure]", "[placement]\norder = 3\n[measure]", ['"placement.order" = 3', "'block' or 'cyclic'"]),
        ("[measure]", '[placement]\nnodes = "n[3-"\n[measure]', ['"placement.nodes" = "n[3-"']),
        ("[measure]", "[placement]\nnodes = { x = 'leaf' }\n[measure]", ['"placement.nodes"', "of groups"]),
        ("[measure]", '[exchange]\ndata = "file"\n[measure]', ['"exchange" = ', "needs the key file"]),
        ("[measure]", '[exchange]\ndata = "uniform"\ncalls = ["A"]\n[measure]', ["times its own steps"]),
        ("[measure]", '[exchange]\ncalls = ["A", "A"]\n[measure]', ["one call twice"]),
        ("[measure]", '[exchange]\ncalls = ["D"]\n[measure]', ['"exchange.calls.0" = "D"', "'A', 'B' or 'C'"]),
        ("[measure]", "[exchnage]\n[measure]", ['unknown key "exchnage"', 'did you mean "exchange"?']),
        ('kernel = "exchange"', 'kernel = "exchnge"', ["kernel", "exchnge", "kernels: exchange"]),
        ('kernel = "exchange"', "", ['"kernel" is missing', "kernels: exchange"]),
        ('name = "small"', 'name = "../up"', ['"name" = "../up"', "letters, digits"]),
        ("[measure]\nlaunches = 2\nseed = 7\n", "measure = 3\n", ['"measure" is 3, not a table', "[measure]"]),
        ("[[series]]", "[series]", ['"series" = ', "valid tuple"]),
        ("seed = 7", "seed = -1", ['"measure.seed" = -1']),
    ],
)
def test_a_mistake_is_told_with_key_value_and_what_is_allowed(
    tmp_path: Path, old: str, new: str, said: list[str]
) -> None:
    assert old in GOOD
    told = mistake(tmp_path, GOOD.replace(old, new))
    assert str(tmp_path / "study.toml") in told
    for words in said:
        assert words in told, told


def test_two_series_of_one_name_are_refused(tmp_path: Path) -> None:
    assert 'two series have the name "strong"' in mistake(tmp_path, GOOD + GOOD[GOOD.index("[[series]]") :])


def test_a_list_of_n_or_m_is_a_series_for_each_value(tmp_path: Path) -> None:
    text = GOOD.replace("n = 16", "n = [16, 32]").replace('m = "4 * p"', 'm = [1, "4 * p"]')
    read_series = read(tmp_path, text).series
    assert [(each.name, each.n, each.m) for each in read_series] == [
        ("strong-n16-m1", 16, "1"),
        ("strong-n16-m4xp", 16, "4 * p"),
        ("strong-n32-m1", 32, "1"),
        ("strong-n32-m4xp", 32, "4 * p"),
    ]
    assert {each.scaling for each in read_series} == {"strong"}


@pytest.mark.parametrize("values", ["[]", "[0]", '["x * N"]', "[8, 8]"])
def test_a_list_of_m_that_makes_no_series_is_refused(tmp_path: Path, values: str) -> None:
    assert "series" in mistake(tmp_path, GOOD.replace('m = "4 * p"', f"m = {values}"))


def test_a_syntax_error_names_its_line(tmp_path: Path) -> None:
    assert "line 3" in mistake(tmp_path, 'name = "a"\nkernel = "exchange"\nmeasure = = 3\n')


def test_further_mistakes_are_counted(tmp_path: Path) -> None:
    assert "2 mistakes in this file" in mistake(tmp_path, GOOD.replace("launches = 2", "lanches = 2\nbudgt = 3"))


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(StudyError, match="byte 8 is not UTF-8"):
        load_study(tmp_path / "study.toml")


def test_a_missing_file_names_the_closest_shipped_one() -> None:
    with pytest.raises(StudyError, match="no file 'contenton'\n  -> did you mean contention"):
        load_study("contenton")


@pytest.mark.parametrize("given", ["", "a\0b", "x" * 5000, "."])
def test_a_name_that_no_file_can_have_is_a_study_error(given: str) -> None:
    with pytest.raises(StudyError):
        load_study(given)
