# SPDX-License-Identifier: BSD-3-Clause
"""``weft tune --probe`` in the simulator, where the numbers to be found are planted."""

from pathlib import Path

import pytest

from weft.cli.app import main
from weft.launch.simulated.simgrid import Programs
from weft.tune.model import read_machine

pytestmark = pytest.mark.simulated
PLANTED = """
name = "planted"
kind = "simulated"
[node]
names = "n[0-3]"
cores = {cores}
memory = "4 GiB"
copy_rate = "{copies} GB/s"
latency = "0.1 us"
[network]
topology = "star"
latency = "{latency} us"
overhead = "{overhead} us"
adapter_rate = "{rate} GB/s"
message_gap = "{gap} us"
eager_limit = "64 KiB"
[simulation]
collectives = "mpich"
gap = "bytes"
"""


@pytest.mark.parametrize(
    ("cores", "gap", "overhead", "latency", "rate", "copies"),
    [(8, 0.2, 0.6, 0.6, 3.5, 20), (4, 1.0, 0.4, 2.0, 12.5, 9), (2, 3.0, 0.5, 1.0, 1.0, 40)],
)
def test_planted_numbers_are_found_within_five_per_cent(
    tmp_path: Path, programs: Programs, cores: int, gap: float, overhead: float, latency: float, rate: float,
    copies: float, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    fabric, output = tmp_path / "fabric.toml", tmp_path / "machine.json"
    words = {"cores": cores, "gap": gap, "overhead": overhead, "latency": latency, "rate": rate, "copies": copies}
    fabric.write_text(PLANTED.format(**words))
    assert main(["tune", "--probe", "--on", str(fabric), "--into", str(tmp_path / "run"), "-o", str(output)]) == 0
    found = read_machine(output)
    assert not found.gap_is_limit
    assert found.gap_s == pytest.approx(gap * 1e-6, rel=0.05)
    assert found.overhead_s == pytest.approx(max(gap, overhead) * 1e-6, rel=0.05)
    assert found.one_way_s >= (overhead + latency) * 1e-6  # with the gaps that the barrier before it left
    assert found.rate_bytes_per_s == pytest.approx(rate * 1e9, rel=0.05)
    assert found.copy_rate_bytes_per_s == pytest.approx(copies * 1e9, rel=0.05)
    assert "message gap g" in capsys.readouterr().out
    assert main(["tune", "--predict", "--machine", str(output), "--on", str(fabric), "--sizes", "8 B"]) == 0
