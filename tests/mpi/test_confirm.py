# SPDX-License-Identifier: BSD-3-Clause
"""``weft run --confirm`` with real ranks: the knob that makes a step is confirmed, one that stands there too is not."""

from collections.abc import Callable
from typing import Any

import pytest
from real_weft import MPIS, Weft

from made.view import load_view
from weft.report.export import show_object

RIGHT, WRONG = "btl_vader_eager_limit", "coll_tuned_alltoall_intermediate_msg"
ATTEMPTS = 4
STUDY = """\
name = "confirmed"
kernel = "collective"
explain = false

[measure]
launches = {launches}
min_samples = 10
max_samples = 100
budget = "40 ms"
limit = "{limit}"
seed = 1

[collective]
collectives = ["Alltoall"]
sizes = "1 KiB .. 16 KiB"
refine = 8

[[series]]
name = "pair"
nodes = 1
ranks_per_node = 2
"""


@pytest.mark.long  # the third MPI; knobs that move no step stand in tests/unit/run/test_confirm.py
def test_the_eager_limit_of_an_all_to_all_is_confirmed_and_the_threshold_beside_it_is_not(
    make: Callable[..., Weft],
) -> None:
    """Both stand at 4,096 B, so both are named; Debian's Open MPI. Work of others may hide the step, never move it."""
    if not MPIS["site"].is_file():
        pytest.skip(f"{MPIS['site']} is not here")
    seen: list[Any] = []
    for attempt in range(ATTEMPTS):
        weft = make(3, "60 s", STUDY, **{f"OMPI_MCA_{WRONG}": "4096"})
        weft.mpicxx, weft.folder = MPIS["site"], weft.folder.with_name(f"run{attempt}")
        weft.program, weft.options = ("-m", "weft"), ("--confirm",)
        done = weft.run(300)
        assert done.returncode == 0, done.stderr
        value = show_object(load_view(weft.folder))
        if "Open MPI v4" not in value["mpi"]:
            pytest.skip(f"{MPIS['site']} is of {value['mpi']}, whose knobs have other names")
        outcomes = {(row["knob"], row["outcome"]) for row in value["knob_trials"]}
        assert (WRONG, "confirmed") not in outcomes, value["knob_trials"]
        if {(RIGHT, "confirmed"), (WRONG, "not confirmed")} <= outcomes:
            (change,) = [each for each in value["change_overs"] if each["confirmed"]]
            assert (change["confirmed"], change["knobs"][0]) == (RIGHT, RIGHT)
            (trial,) = [row for row in value["knob_trials"] if row["knob"] == RIGHT and row["outcome"] == "confirmed"]
            assert trial["setting"].startswith(f"OMPI_MCA_{RIGHT}="), trial
            return
        seen.append((value["change_overs"], value["knob_trials"]))
    pytest.fail(f"the eager limit was not confirmed in {ATTEMPTS} runs: {seen}")
