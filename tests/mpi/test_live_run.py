# SPDX-License-Identifier: BSD-3-Clause
"""A real launch tells its samples while it runs."""

from pathlib import Path

from real_weft import STUDY

from weft.fabric import load_fabric
from weft.kernel.studies import load_study
from weft.launch.build import Kernels
from weft.launch.local import LocalLauncher
from weft.run.one import run_study
from weft.run.progress import Progress


class Told(Progress):
    """Keeps the samples that it is told."""

    def __init__(self) -> None:
        self.samples: set[str] = set()

    def glimpse(self, samples: str, link: str) -> None:
        self.samples.add(samples)


def test_whoever_watches_a_run_sees_samples_and_no_slot_is_left(tmp_path: Path, kernels: Kernels) -> None:
    path = tmp_path / "study.toml"
    # no operation is ever so precise: each takes its whole budget
    text = STUDY.format(launches=1, limit="60 s").replace('"0.2 s"', '"0.5 s"\nprecision = 0.00001')
    path.write_text(text.replace("max_samples = 40", "max_samples = 10000000").replace("[1, 2]", "[2]"))
    told = Told()
    folder = run_study(load_study(path), load_fabric("local"), tmp_path / "run", LocalLauncher(kernels), told)
    assert any(" samples " in words and " (" in words for words in told.samples), told.samples
    assert not list(folder.launches.glob("*.live"))
