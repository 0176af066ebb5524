# SPDX-License-Identifier: BSD-3-Clause
"""Output of ``weft show RUN --format json``: schema weft-show/1, described field by field in docs/dev/show-json.md.

An object with ``schema``, ``run`` (path), ``study``, ``title``, ``fabric``, ``kind``, ``mpi``, ``simulated``,
``virtual``, ``headline``, ``card``, ``claims``, ``quality``, ``rows``, ``verdicts``, ``sensitivity``, ``floor`` and
``findings``. ``rows``
has one object for each cell, call and phase, with the `FIELDS` below: times in seconds, sizes in bytes. A row without
numbers has ``null`` for them; its ``status`` and ``reason`` say why. Fields may be added within a version; none is
renamed, removed or changed in meaning.
"""

import json
import math
from typing import Any

from weft.analyse.tables.answers import VerdictRow
from weft.analyse.tables.breakdown import SENSITIVITY
from weft.analyse.tables.claims import extras
from weft.files.reading import is_list, is_table
from weft.report.card import card_of
from weft.report.common import link_fields
from weft.report.view import RunView

SCHEMA = "weft-show/1"
FIELDS = (
    "cell", "kernel", "series", "nodes", "ranks_per_node", "ranks", "n", "m", "call", "phase", "status", "reason",
    "median_s", "low_s", "high_s", "coverage", "min_s", "p5_s", "p95_s", "p99_s", "max_s", "mean_s", "samples",
    "discarded", "disturbed", "lost_s", "lost_by", "launches", "launch_low_s", "launch_high_s", "interval", "batch",
    "definition", "ended_by", "algorithm", "bound_s", "bound", "block_bytes", "local_bytes", "array_bytes",
    "oversubscribed",
)  # fmt: skip


def show_object(view: RunView) -> dict[str, Any]:
    """The printed object as plain data."""
    plan = view.plan
    return {
        "schema": SCHEMA,
        "run": str(view.path),
        "study": plan.study,
        "title": plan.title,
        "fabric": plan.fabric,
        "kind": plan.fabric_kind,
        "mpi": view.mpi,
        "simulated": plan.is_model,
        "virtual": plan.planned_fabric.is_emulated,
        "headline": view.headline,
        "card": [row._asdict() for row in card_of(view).rows],
        "claims": [{**claim, "more": extras(claim)} for claim in view.claims],
        "quality": {"grade": view.grade, "doubts": view.quality},
        "rows": [{name: row[name] for name in FIELDS} for row in view.rows],
        "verdicts": [verdict_fields(verdict) for verdict in view.verdicts],
        "sensitivity": SENSITIVITY.read(view.path),
        "floor": view.floor,
        "findings": view.findings,
        **link_fields(view),
        **view.story.fields(view),
    }


def verdict_fields(row: VerdictRow) -> dict[str, Any]:
    """A verdict with its end points called ``from`` and ``to``."""
    return {{"start": "from", "end": "to"}.get(key, key): value for key, value in row.items()}


def as_json(view: RunView) -> str:
    """The object as text; a number that JSON cannot represent becomes null (and an error among the findings)."""
    return json.dumps(_finite(show_object(view)), indent=1, allow_nan=False, ensure_ascii=False) + "\n"


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if is_table(value):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if is_list(value) else value
