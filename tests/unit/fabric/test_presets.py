# SPDX-License-Identifier: BSD-3-Clause
"""Presets: ten lines make a machine; what the file states itself stands; every number has its source."""

from pathlib import Path

import pytest

from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fabric.checks import check_fabric
from weft.fabric.network.build import build_network
from weft.fabric.numbers import doubtful
from weft.fabric.presets import SECTIONS, presets
from weft.kernel.studies import load_study
from weft.launch.simulated.machine import describe_machine
from weft.plan.make import make_plan

TEN_LINES = """name = "ten-lines"
kind = "simulated"
[node]
names = "n[001-040]"
preset = "epyc-7763"
memory = "256 GiB"
[network]
preset = "hdr-infiniband"
topology = "fat-tree"
tree = { nodes_per_leaf = 20, uplinks = 20 }
"""


def load(tmp_path: Path, text: str = TEN_LINES) -> Fabric:
    path = tmp_path / "ten-lines.toml"
    path.write_text(text)
    return load_fabric(path)


def test_ten_lines_make_a_machine_that_can_be_simulated(tmp_path: Path) -> None:
    fabric = load(tmp_path)
    assert (fabric.node.cores, fabric.node.sockets) == (128, 2)
    assert fabric.network
    assert fabric.network.tree
    assert (fabric.network.adapter_rate, fabric.network.tree.link_rate) == (21.25e9, 25e9)
    assert fabric.network.tree.link_latency == pytest.approx(150e-9)
    assert not [finding for finding in check_fabric(fabric) if finding.severity != "note"]
    assert "copies 164000000000.0 5e-07" in describe_machine(fabric, fabric.hosts[:2], 4)
    assert make_plan(load_study("contention"), fabric).measured


def test_what_the_file_states_stands_over_the_preset_and_keeps_its_own_source(tmp_path: Path) -> None:
    own = TEN_LINES.replace('preset = "epyc-7763"', 'preset = "epyc-7763"\ncores = 64')
    own = own.replace("uplinks = 20", 'uplinks = 20, link_rate = "12.5 GB/s"')
    fabric = load(tmp_path, own + '[sources]\n"node.cores" = "lscpu"\n')
    assert fabric.node.cores == 64
    assert fabric.network
    assert fabric.network.tree
    assert (fabric.network.adapter_rate, fabric.network.tree.link_rate) == (21.25e9, 12.5e9)
    assert fabric.sources["node.cores"] == "lscpu"
    assert "network.tree.link_rate" not in fabric.sources
    assert fabric.sources["node.copy_rate"].startswith("preset epyc-7763: worked out from 409.6 GB/s")


def test_a_preset_that_does_not_exist_is_told_with_the_closest(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match="no such preset") as told:
        load(tmp_path, TEN_LINES.replace("hdr-infiniband", "hdr-infinband"))
    assert 'did you mean "hdr-infiniband"' in told.value.remedy


@pytest.mark.parametrize("section", SECTIONS)
def test_every_number_of_a_preset_has_a_source_and_is_a_key_of_its_section(section: str, tmp_path: Path) -> None:
    for preset in presets(section):
        assert set(preset.sources) == {*preset.values, *(f"usual.{key}" for key in preset.usual)}, preset.name
        assert all(len(source) > 5 for source in preset.sources.values()), preset.name
        given = {"node": "epyc-7763", "network": "hdr-infiniband"}[section]
        fabric = load(tmp_path, TEN_LINES.replace(given, preset.name))
        build_network(fabric)
        assert preset.name in fabric.presets


@pytest.mark.parametrize("preset", [each.name for each in presets("network")])
def test_a_model_has_what_a_message_costs_and_every_number_of_doubt_its_range(tmp_path: Path, preset: str) -> None:
    # Slingshot 11 had no cost of a message: 192 ranks sent for nothing
    fabric = load(tmp_path, TEN_LINES.replace("hdr-infiniband", preset))
    assert fabric.network
    assert fabric.network.overhead > 0
    moved = {number.key: number for number in doubtful(fabric)}
    stated = {"adapter_rate", "latency", "overhead", "eager_limit", "rendezvous_stall"}
    assert {f"network.{key}" for key in stated} <= set(moved)
    assert {"node.copy_rate", "node.core_copy_rate"} <= set(moved)
    for key in fabric.ranges:
        assert moved[key].low <= moved[key].value <= moved[key].high
        assert moved[key].low < moved[key].high


def test_bounds_of_a_measured_machine_take_the_peak_and_no_usual_cost(tmp_path: Path) -> None:
    """What is usual may be beaten; a lower bound may not."""
    model, machine = load(tmp_path), load(tmp_path, TEN_LINES.replace('"simulated"', '"slurm"'))
    assert model.network
    assert machine.network
    assert (model.network.adapter_rate, machine.network.adapter_rate) == (21.25e9, 25e9)
    assert (machine.network.overhead, machine.node.core_copy_rate) == (0.0, None)


def test_a_number_of_the_file_itself_does_not_have_the_range_of_the_preset(tmp_path: Path) -> None:
    own = TEN_LINES.replace('preset = "hdr-infiniband"', 'preset = "hdr-infiniband"\nlatency = "1.1 us"')
    fabric = load(tmp_path, own + '[sources]\n"network.latency" = "measured: weft doctor"\n')
    assert "network.latency" not in fabric.ranges
    assert "network.latency" not in {number.key for number in doubtful(fabric)}
    told = load(tmp_path, own + '[ranges]\n"network.latency" = ["1 us", "1.3 us"]\n')
    (moved,) = [number for number in doubtful(told) if number.key == "network.latency"]
    assert (moved.low, moved.high) == pytest.approx((1e-6, 1.3e-6))


@pytest.mark.parametrize("ends", ['["1.3 us", "1 us"]', '["1", "2 us"]', '["1 us", "2 GB/s"]'])
def test_a_range_that_is_none_is_refused(tmp_path: Path, ends: str) -> None:
    own = TEN_LINES.replace('preset = "hdr-infiniband"', 'preset = "hdr-infiniband"\nlatency = "1.1 us"')
    with pytest.raises(FabricError, match=r"network\.latency"):
        load(tmp_path, own + f'[ranges]\n"network.latency" = {ends}\n')


def test_a_dragonfly_takes_both_its_links_from_the_preset(tmp_path: Path) -> None:
    tree = 'topology = "fat-tree"\ntree = { nodes_per_leaf = 20, uplinks = 20 }'
    fly = 'topology = "dragonfly"\ndragonfly = { nodes_per_router = 4, routers_per_group = 2, global_links = 4 }'
    text = TEN_LINES.replace(tree, fly).replace("hdr-infiniband", "slingshot-11")
    section = load(tmp_path, text).network
    assert section
    assert section.dragonfly
    assert (section.dragonfly.local_rate, section.dragonfly.global_rate) == (25e9, 25e9)
    assert section.dragonfly.global_latency == pytest.approx(350e-9)


def test_the_error_of_data_sheets_is_printed_with_the_plan_and_is_the_one_of_the_papers_page(tmp_path: Path) -> None:
    told = "34 % in the mean and 79 % at worst by fair, 17 % in the mean and 79 % at worst by infiniband"
    (note,) = [text for text in make_plan(load_study("contention"), load(tmp_path)).notes if "data sheet" in text]
    assert told in note
    assert "epyc-7763 and hdr-infiniband" in note
    page = (Path(__file__).parents[3] / "docs" / "dev" / "papers-measured.md").read_text()
    assert told in page
    assert not [text for text in make_plan(load_study("contention"), load_fabric("tara")).notes if "data sheet" in text]


def test_sources_that_are_no_table_stay_a_mistake(tmp_path: Path) -> None:
    with pytest.raises(FabricError, match='"sources"'):
        load(tmp_path, "sources = 5\n" + TEN_LINES)


def test_the_range_of_an_assumed_latency_holds_what_its_own_source_measured(tmp_path: Path) -> None:
    # A factor of two left out the 2.44 us of EDR that the source of its 1.05 us has from another machine.
    fabric = load(tmp_path, TEN_LINES.replace("hdr-infiniband", "edr-infiniband"))
    (moved,) = [each for each in doubtful(fabric) if each.key == "network.latency"]
    assert "2.44 us by MPI" in fabric.sources["network.latency"]
    assert moved.low < 1.05e-6 < 2.44e-6 < moved.high
