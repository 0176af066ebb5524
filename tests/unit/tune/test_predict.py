# SPDX-License-Identifier: BSD-3-Clause
"""What ``weft tune --predict`` prints: every name whole, on any screen."""

import pytest

from weft.cli.app import main
from weft.tune.study import candidates


@pytest.mark.parametrize("columns", [80, 60, 200])
def test_names_stand_whole_on_a_narrow_screen(
    columns: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name that is broken over two lines cannot be copied into --force."""
    monkeypatch.setenv("COLUMNS", str(columns))
    assert main(["tune", "--predict", "--on", "message-bound", "--nodes", "128", "--ranks-per-node", "96"]) == 0
    printed = capsys.readouterr().out
    first_words = [line.split()[0] for line in printed.splitlines() if line.strip()]
    for name in candidates(96):
        assert name in first_words, printed
    assert max(map(len, printed.splitlines())) <= columns


def test_figures_of_users_stand_beside_the_model(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["tune", "--predict", "--on", "message-bound", "--nodes", "128", "--ranks-per-node", "96"]
    assert main([*words, "--sizes", "8 B", "1 KiB"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "Published, 8 B on 128 nodes of 96: MPI_Alltoallv under a vendor's MPI: 2.3 s" in printed
