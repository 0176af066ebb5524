# SPDX-License-Identifier: BSD-3-Clause
"""``weft compare --trend`` on made runs: a change of a network is found, dated, and drawn."""

import json
from pathlib import Path

import pytest

from made.run import Made, make_run
from weft.cli.app import main


def made_on(root: Path, day: int, factor: float) -> Path:
    """A run of a day in November."""
    run = make_run(root / f"r{day}", Made(seconds=lambda nodes, ranks, local: factor * local * ranks / nodes / 4e9))
    meta = json.loads((run / "weft.json").read_text())
    (run / "weft.json").write_text(json.dumps(meta | {"created": f"2026-11-{day:02}T08:00:00+00:00"}))
    return run


def test_a_change_is_dated_on_the_terminal_in_json_and_on_the_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = [str(made_on(tmp_path, day, 1.5 if day > 5 else 1.0)) for day in range(1, 11)]
    page = tmp_path / "trend.html"
    assert main(["compare", "--trend", *reversed(runs), "-o", str(page)]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "between 2026-11-05 08:00 and 2026-11-06 08:00, from r6 on" in told
    assert "15 common rows" in told
    changed = told.partition(" of 14 other rows")[0].split()[-1]
    assert 1 <= int(changed) <= 14
    assert "between 2026-11-05" in page.read_text()
    assert main(["compare", "--trend", *runs, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["changes"][0]["factor"] == pytest.approx(1.5, rel=0.1)
    assert main(["compare", "--trend", runs[0]]) == 2
    assert "a history needs two" in capsys.readouterr().err
