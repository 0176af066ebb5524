# SPDX-License-Identifier: BSD-3-Clause
"""Outliers of the times of all pairs of a made cluster."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from made.pairs import Cluster, Faults
from weft.analyse.engine import Backend, read
from weft.analyse.outliers.attribute import attribute
from weft.analyse.outliers.outlier import Outlier
from weft.analyse.pairs.hop_tables import placed, verdicts
from weft.analyse.pairs.scratch import scratch


def planted_outliers(
    engine: Backend, folder: Path, cluster: Cluster, faults: Faults, seed: int, **made: bool
) -> list[Outlier]:
    """Outliers of planted faults, with the scatter of a seed."""
    return outliers_of(engine, folder, cluster, cluster.pairs(faults, seed, **made))


def outliers_of(
    engine: Backend, folder: Path, cluster: Cluster, table: pa.Table, *, modelled: bool = False
) -> list[Outlier]:
    """Outliers of a table of pairs, which is kept in the folder meanwhile."""
    file = folder / "made.parquet"  # Ibis never lets go of a table in memory
    pq.write_table(table, file)
    with scratch(engine, folder) as kept:
        judged = placed(verdicts(read(engine, [file])), cluster.places)
        return list(attribute(judged, cluster.places, kept, modelled=modelled).outliers)
