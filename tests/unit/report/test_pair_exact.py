# SPDX-License-Identifier: BSD-3-Clause
"""``weft show RUN --exact``: quantiles over all samples of a run of pairs, or a refusal that says why not."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from made.pair_cells import MadePairs, write_pairs_cell
from made.pairs import Cluster
from made.pairs_run import make_pairs_run
from made.view import load_view, with_parameters
from weft.analyse.pairs import hop_tables as samples
from weft.analyse.pairs.hop_tables import exact_rows
from weft.cli.app import main
from weft.report.pair_view import exact_table

NODES, PER_NODE, COUNT = 4, 2, 101


def times(mode: str, size: int, source: int, target: int) -> Any:
    """Samples of a pair, of two messages each: some hundreds of nanoseconds apart from those of any other."""
    rng = np.random.default_rng([size, source, target])
    return (2000 + 1000 * (source // PER_NODE != target // PER_NODE) + rng.gamma(2, 100, COUNT)).astype(np.int64)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    cluster = Cluster(NODES, PER_NODE, per_leaf=4)
    path = make_pairs_run(tmp_path_factory.mktemp("exact") / "run", cluster)
    (cell, *_) = [cell for cell in load_view(path).plan.cells if cell.kernel == "pairs"]
    made = MadePairs([rank // PER_NODE for rank in range(NODES * PER_NODE)], times, hash=cell.hash)
    write_pairs_cell(path, made, cell=cell.id)
    return path


def test_they_are_those_of_all_samples_of_a_class(run: Path) -> None:
    rows = {(row[0], row[1]): row for row in exact_table(load_view(run), exact_rows(run)).rows}
    ranks = range(NODES * PER_NODE)
    for size, told in ((0, "0 B, all"), (262_144, "256 KiB, all")):
        for near, name in ((True, "0 hops, same node"), (False, "0 hops, same leaf")):
            pairs = [(a, b) for a in ranks for b in ranks if a != b and (a // PER_NODE == b // PER_NODE) == near]
            every = np.concatenate([times("all", size, a, b) for a, b in pairs]) / 2
            _, _, count, *found = rows[told, name]
            assert int(count.replace(",", "")) == len(every) == len(pairs) * COUNT
            wanted = [every.min(), every.mean(), np.median(every), np.quantile(every, 0.99), every.max()]
            for text, value in zip(found, wanted, strict=True):
                number, unit = text.split()
                assert float(number) * {"ns": 1, "us": 1e3}[unit] == pytest.approx(value, rel=6e-3)  # as printed


def test_the_title_of_a_rate_says_that_a_window_was_timed(run: Path) -> None:
    view = load_view(run)
    assert "messages" not in exact_table(view, []).title
    assert "4-64 messages" in exact_table(with_parameters(view, window=64, window_bytes=1 << 20), []).title


def test_where_they_do_not_fit_the_verb_says_so_with_both_numbers(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(samples, "free_memory", lambda: 100_000)
    assert main(["show", str(run), "--exact"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "exact quantiles of 11,312 samples need about" in captured.err
    assert "97.7 KiB free memory" in captured.err
    assert "leave --exact out" in captured.err
