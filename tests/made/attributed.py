# SPDX-License-Identifier: BSD-3-Clause
"""Outliers of the times of all pairs of a made cluster."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from made.pairs import Cluster, Faults
from weft.analyse.outliers.attribute import attribute
from weft.analyse.outliers.outlier import Outlier
from weft.analyse.pairs.pair_times import PairFile, PairTimes, read_pair_times


def planted_outliers(folder: Path, cluster: Cluster, faults: Faults, seed: int, **made: bool) -> list[Outlier]:
    """Outliers of planted faults, with the scatter of a seed."""
    return outliers_of(folder, cluster, cluster.pairs(faults, seed, **made))


def outliers_of(folder: Path, cluster: Cluster, table: pa.Table, *, modelled: bool = False) -> list[Outlier]:
    """Outliers of a table of pairs, which is kept in the folder meanwhile."""
    return attribute(pair_times(folder, cluster, table), cluster.places, modelled=modelled)[0]


def pair_times(folder: Path, cluster: Cluster, table: pa.Table) -> list[PairTimes]:
    """A table of pairs by ways, from a file in the folder."""
    (folder / "tables").mkdir(exist_ok=True)
    launches = pa.array([f"g000.l{launch}" for launch in table["launch"].to_pylist()])
    pq.write_table(table.append_column("launch_id", launches), folder / "tables" / "pairs.parquet")
    file = PairFile(folder)
    return read_pair_times(file, file.launches, cluster.places)
