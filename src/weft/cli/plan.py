# SPDX-License-Identifier: BSD-3-Clause
"""The verb ``plan``."""

import sys
from typing import Literal


def plan(study: str, /, *, on: str = "local", format: Literal["text", "md", "csv", "json"] = "text") -> None:
    """Print what a study would measure on a fabric: cells, memory, lower bounds, duration. Starts nothing.

    Parameters
    ----------
    study
        A study file, or the name of a shipped one (contention).
    on
        A fabric file, or the name of a shipped one (local, tara).
    format
        text for people, md, csv (cells in bytes and seconds), or json (the plan itself).
    """
    from weft.fabric import load_fabric
    from weft.kernel.studies import load_study
    from weft.report.plan_tables import as_csv, as_markdown, print_text
    from weft.run.one import plan_study

    planned = plan_study(load_study(study), load_fabric(on))
    if format == "text":
        print_text(planned)
    elif format == "md":
        sys.stdout.write(as_markdown(planned))
    elif format == "csv":
        sys.stdout.write(as_csv(planned))
    else:
        sys.stdout.write(planned.model_dump_json(indent=2) + "\n")
