# SPDX-License-Identifier: BSD-3-Clause
"""Who is blamed for the times of all pairs of a made cluster."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from made.pairs import Cluster, Faults
from weft.analyse.engine import Backend, read
from weft.analyse.outliers.attribute import attribute
from weft.analyse.outliers.outlier import Outlier
from weft.analyse.pairs.hop_tables import placed, verdicts
from weft.analyse.pairs.scratch import scratch


def blamed(engine: Backend, folder: Path, cluster: Cluster, faults: Faults, seed: int, **made: bool) -> list[Outlier]:
    """Who is blamed for planted faults, with the scatter of a seed."""
    return blamed_for(engine, folder, cluster, cluster.pairs(faults, seed, **made))


def blamed_for(
    engine: Backend, folder: Path, cluster: Cluster, table: pa.Table, *, modelled: bool = False
) -> list[Outlier]:
    """Who is blamed for a table of pairs, which is kept in the folder meanwhile."""
    file = folder / "made.parquet"  # Ibis never lets go of a table in memory
    pq.write_table(table, file)
    with scratch(engine, folder) as kept:
        judged = placed(verdicts(read(engine, [file])), cluster.places)
        return list(attribute(judged, cluster.places, kept, modelled=modelled).culprits)
