# SPDX-License-Identifier: BSD-3-Clause
"""Fabric files of sites, from what four schedulers print: whole sites, and output that is torn or hostile."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from made.sites import FLUX, HDR, LSF, SITES, SLURM, TOPOLOGY, written
from weft.cli.app import main
from weft.errors import FabricError, LaunchError
from weft.fabric import Fabric, load_fabric
from weft.fabric.site import flux, lsf, pbs, slurm
from weft.fabric.site.found import Adapter, gbit, preset_of, read_adapters, scaled
from weft.fabric.site.writing import fabric_text
from weft.launch.site import READERS, site_text


@pytest.mark.parametrize(
    ("kind", "name", "nodes", "cores", "memory", "queue", "limit_s"),
    [
        ("slurm", "jupiter", [f"n{k:02}" for k in range(1, 17)], 48, 192000 * 2**20, "batch", 4 * 3600),
        ("pbs", "venus", ["c1", "c2", "c3", "c4"], 64, 263863040 // 1024 * 2**20, "workq", 9000),
        ("lsf", "mars", ["h01", "h02"], 40, int(376.3 * 1024) * 2**20, "short", 3600),
        ("flux", "mycluster", ["fluke6", "fluke7", "fluke12"], 64, None, "pbatch", 4 * 3600),
    ],
)
def test_a_site_becomes_a_fabric_file_that_is_read_and_has_no_error(
    kind: str, name: str, nodes: list[str], cores: int, memory: int | None, queue: str, limit_s: float, tmp_path: Path
) -> None:
    for adapters in (HDR, ()):
        fabric = written(kind, SITES[kind], tmp_path, adapters)
        assert (fabric.kind, fabric.name, list(fabric.hosts)) == (kind, name, nodes)
        assert (fabric.node.cores, fabric.node.memory) == (cores, memory)
        assert fabric.batch is not None
        assert (fabric.batch.partition, fabric.batch.time_limit) == (queue, limit_s)
    assert 'preset = "hdr-infiniband"' in written(kind, SITES[kind], tmp_path).text


def test_equal_leaves_in_order_become_a_tree_and_others_a_word_of_the_import(tmp_path: Path) -> None:
    fabric = written("slurm", SLURM, tmp_path)
    assert fabric.network is not None
    assert fabric.network.tree is not None
    assert (fabric.network.tree.nodes_per_leaf, fabric.network.tree.uplinks) == (8, 8)
    odd = TOPOLOGY.replace("n[01-08]", "n[01-07]").replace("n[09-16", "n[08-16")
    dealt = TOPOLOGY.replace("n[01-08]", "n[01-15:2]")
    for text in (odd, dealt):
        fabric = written("slurm", {**SLURM, slurm.TOPOLOGY: text}, tmp_path)
        assert fabric.network is not None
        assert fabric.network.tree is None
        assert "weft fabric import topology.txt" in fabric.text or "not understood" in fabric.text


def test_what_is_left_out_and_what_is_not_known_stands_there_with_its_reason(tmp_path: Path) -> None:
    text = written("slurm", SLURM, tmp_path, ()).text
    assert "# left out, down, drained or reserved: n[17-18]" in text
    assert "# other nodes of it: n[20-21]: 64 cores, 250 GiB" in text
    assert "# other queues: gpu" in text
    assert '# account = "hpc7"' in text
    assert '# preset = "hdr-infiniband"' in text
    assert 'mpi = "pmix"' in text
    assert "# sockets = 2" in written("lsf", LSF, tmp_path).text
    assert '# memory = "180 GiB"' in written("flux", FLUX, tmp_path).text


@pytest.mark.parametrize("line", [line for kind in SITES for line in (kind,)])
def test_every_commented_key_is_one_that_the_file_may_have(line: str, tmp_path: Path) -> None:
    """With each # before a key taken off in turn, the file is still read."""
    text = written(line, SITES[line], tmp_path, ()).text
    lines = text.splitlines()
    # a section in comments stands or falls as a whole, with the topology that asks for it
    single = [k for k, each in enumerate(lines) if each.startswith("# ") and " = " in each.split("#")[1]]
    for k in single:
        if not lines[k].startswith(("# topology", "# nodes_per_leaf", "# uplinks", "# link_rate")):
            (tmp_path / "one.toml").write_text("\n".join([*lines[:k], lines[k][2:], *lines[k + 1 :]]))
            load_fabric(tmp_path / "one.toml")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("1-00:00:00", 86400), ("2-12", 216000), ("30:00", 1800), ("12:00:00", 43200), ("45", 2700),
     ("infinite", 0), ("", 0), ("9999999999:00", 0), ("-5", 0)],
)  # fmt: skip
def test_limits_of_slurm_are_read_as_its_manual_writes_them(text: str, seconds: float) -> None:
    assert slurm.seconds(text) == seconds


def test_limits_and_memory_of_the_others() -> None:
    assert [pbs.seconds(text) for text in ("24:00:00", "30:00", "3600", "x", "1:2:3:4")] == [86400, 1800, 3600, 0, 0]
    assert [pbs.memory(text) for text in ("4kb", "2GB", "17", "-1kb")] == [4096, 2**31, 0, 0]
    assert [scaled(text, lsf.UNITS) for text in ("1.5G", "-", "8T", "G")] == [3 * 2**29, 0, 2**43, 0]
    assert [scaled(text, flux.UNITS) for text in ("30m", "1.5d", "inf", "")] == [1800, 129600, 0, 0]
    assert flux.ids("0-3,7") == (0, 1, 2, 3, 7)
    assert flux.ids("0-99999999999") == flux.ids("3-1") == flux.ids(None) == ()


def test_the_adapters_of_this_host_are_the_active_ones(tmp_path: Path) -> None:
    for name, state, rate, layer in (
        ("mlx5_0/ports/1", "4: ACTIVE\n", "100 Gb/sec (4X EDR)\n", "InfiniBand\n"),
        ("mlx5_1/ports/1", "1: DOWN\n", "40 Gb/sec (4X QDR)\n", "InfiniBand\n"),
        ("mlx5_2/ports/1", "4: ACTIVE\n", "25 Gb/sec (1X EDR)\n", "Ethernet\n"),
    ):
        port = tmp_path / name
        port.mkdir(parents=True)
        for file, text in (("state", state), ("rate", rate), ("link_layer", layer)):
            (port / file).write_text(text)
    first, second = read_adapters(tmp_path)
    assert (first.name, preset_of(first), gbit(first)) == ("mlx5_0 port 1", "edr-infiniband", 100)
    assert (second.layer, preset_of(second), gbit(second)) == ("Ethernet", "", 25)
    assert preset_of(Adapter("hfi1_0 port 1", "100 Gb/sec (4X EDR)", "InfiniBand")) == "omni-path-100"
    assert read_adapters(tmp_path / "none") == ()


def test_an_adapter_without_a_preset_gives_its_rate_and_several_ports_are_rails(tmp_path: Path) -> None:
    roce = Adapter("mlx5_0 port 1", "25 Gb/sec (1X EDR)", "Ethernet")
    fabric = written("slurm", SLURM, tmp_path, (roce, roce))
    assert fabric.network is not None
    assert (fabric.network.adapter_rate, fabric.network.rails) == (25e9 / 8, 2)


HOSTILE = [
    "", "\n\n", "{", "[]", "null", "\x00\x1b[2J", "[" * 100_000, "batch*|1|2|3|4|5|idle|n[1-", "a|b",
    'batch*|1:00|2|2|1|9|idle|n1\nclass"x|1:00|2|2|1|9|idle|n2\n', "batch*|1:00|9999999999|2|1|9|idle|n[1-999999999]",
    json.dumps({"nodes": {"a b": {"state": 3, "resources_available": []}, "x": None}, "pbs_server": {}}),
    json.dumps({"execution": {"R_lite": [{"rank": "0-999999999", "children": {"core": "0-1"}}, 7], "nodelist": [3]}}),
    json.dumps({"execution": []}), "HOST_NAME x\nh1 ok - 1\n", "QUEUE:", "QUEUE: \n RUNLIMIT\n x min",
    'SwitchName= Level=0 Nodes=n[',
]  # fmt: skip


@pytest.mark.parametrize("kind", list(READERS))
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_output_that_is_torn_or_hostile_is_a_file_or_one_message(kind: str, text: str, tmp_path: Path) -> None:
    commands, read = READERS[kind]
    for at in range(len(commands)):  # each command in turn, the others as they should be
        said = {**SITES[kind], commands[at]: text}
        try:
            made = fabric_text(read(said), HDR, "login1")
        except FabricError as problem:
            assert "names no node" in problem.what
            continue
        (tmp_path / "x.toml").write_text(made)
        assert load_fabric(tmp_path / "x.toml").hosts


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(list(READERS)), st.integers(0, 4), st.integers(0, 400), st.text(max_size=12))
def test_output_with_something_put_in_is_a_file_or_one_message(kind: str, which: int, at: int, foreign: str) -> None:
    commands, read = READERS[kind]
    command = commands[which % len(commands)]
    text = SITES[kind][command]
    said = {**SITES[kind], command: text[:at] + foreign + text[at:]}
    try:
        made = fabric_text(read(said), (), "login1")
    except FabricError as problem:
        assert "names no node" in problem.what
    else:
        import tomllib

        Fabric.model_validate(tomllib.loads(made))


def imitate(folder: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The scheduler's commands on PATH, printing what is kept here; each refuses words that it does not know."""
    by_program: dict[str, list[str]] = {}
    for number, (command, text) in enumerate(SITES[kind].items()):
        (folder / f"said{number}").write_text(text)
        words = " ".join(command[1:])
        by_program.setdefault(command[0], []).append(f'[ "$*" = "{words}" ] && exec cat {folder}/said{number}')
    for program, lines in by_program.items():
        body = "\n".join(lines)
        (folder / program).write_text(f"#!/bin/sh\n{body}\necho unknown words: $* >&2\nexit 1\n")
        (folder / program).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


@pytest.mark.parametrize("kind", list(READERS))
def test_the_verb_asks_the_commands_on_path_and_its_file_passes_the_check(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    imitate(tmp_path, kind, monkeypatch)
    assert main(["init", kind, "-o", "mine.toml"]) == 0
    assert "next: weft fabric check mine.toml; weft doctor --on mine.toml" in capsys.readouterr().out
    assert main(["fabric", "check", "mine.toml"]) == 0
    assert load_fabric("mine.toml").kind == kind
    assert main(["init", kind, "-o", "mine.toml"]) == 2
    assert "is there already" in capsys.readouterr().err
    assert main(["init", kind]) == 0
    assert capsys.readouterr().out == Path("mine.toml").read_text()


def test_without_a_scheduler_there_is_one_message(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchError, match="none of sinfo, pbsnodes, lsid, flux is on PATH"):
        site_text("")
    with pytest.raises(LaunchError, match="no pbs here: pbsnodes is not on PATH"):
        site_text("pbs")
    with pytest.raises(FabricError, match="no scheduler 'sge' is known"):
        site_text("sge")


def test_a_scheduler_that_does_not_answer_is_told_in_its_own_words(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "sinfo").write_text(
        "#!/bin/sh\necho slurm_load_partitions: Unable to contact slurm controller >&2; exit 1\n"
    )
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LaunchError, match="Unable to contact slurm controller"):
        site_text("slurm")
