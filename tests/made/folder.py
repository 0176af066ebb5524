# SPDX-License-Identifier: BSD-3-Clause
"""The files of a made run folder that are alike for every kernel: study, fabric, plan, identity, cells."""

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from weft.fabric.model import load_fabric
from weft.host import Host, Limit
from weft.kernel.studies import load_study
from weft.plan.make import make_plan
from weft.plan.records import Plan


def begin_folder(
    path: Path, study: str, fabric: str, cores: int, memory_bytes: int = 1 << 34, library: str = ""
) -> Plan:
    """Write a run folder without cells, as a run on a host of so many cores begins it, and return its plan."""
    for name in ("cells", "launches"):
        (path / name).mkdir(parents=True, exist_ok=True)
    (path / "study.toml").write_text(study)
    (path / "fabric.toml").write_text(fabric)
    host = Host("made", cores, memory_bytes, (Limit(memory_bytes, "MemAvailable"),))
    given = load_study(path / "study.toml"), load_fabric(path / "fabric.toml")
    plan = make_plan(*given, predict=False, host=host, library=library)
    (path / "plan.json").write_text(plan.model_dump_json())
    meta = {
        "schema": "weft-run/2",
        "run": "made",
        "weft": "0.1.0",
        "commit": "0123abc",
        "created": "2026-11-21T02:30:00Z",
        "fabric_kind": plan.fabric_kind,
        "seed": plan.seed,
    }
    write_json(path / "weft.json", meta)
    return plan


def write_cell(path: Path, record: dict[str, Any], samples: np.ndarray | None) -> None:
    """Write one cell's .npy and .json as the kernel does; samples of shape (ranks, samples, 3)."""
    stem = f"{record['cell']}.l{record['launch_index']}"
    if samples is not None:
        samples = np.ascontiguousarray(samples, "<i8")
        np.save(path / "cells" / f"{stem}.npy", samples)
        record = record | {"shape": list(samples.shape), "crc32": [zlib.crc32(slab.tobytes()) for slab in samples]}
    write_json(path / "cells" / f"{stem}.json", record)


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON without NaN."""
    path.write_text(json.dumps(value, allow_nan=False))
