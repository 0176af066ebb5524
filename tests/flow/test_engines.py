# SPDX-License-Identifier: BSD-3-Clause
"""DuckDB and Spark make the same tables of the same samples."""

import math
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made.kept import copy_of, kept_runs
from made.pair_cells import MadePairs, write_pairs_cell
from made.pairs import Cluster, Faults
from made.pairs_run import make_pairs_run
from made.run import make_run
from made.traces import MadeRank
from made.view import load_view
from provision import java_version
from weft.analyse.engine import connect
from weft.analyse.make import make_tables
from weft.analyse.outliers.remainders import round_loads
from weft.analyse.pairs.hop_tables import exact_rows
from weft.analyse.pairs.make import make_pair_analysis
from weft.analyse.pairs.pair_table import make_pair_tables
from weft.analyse.pairs.pair_times import Ends
from weft.analyse.tables.pairs import ALL
from weft.analyse.tables.traces import WRITTEN
from weft.analyse.trace.make import make_trace_tables
from weft.errors import DataError
from weft.plan.stored import plan_of
from weft.store.folder import RunFolder
from weft.store.parquet import convert
from weft.store.trace.convert import convert_trace
from weft.store.trace.folder import TraceFolder

SPARK = "spark://local[2]"
#: State of a socket, and 127.0.0.1 (alone, and as an IPv6 address) and ::1, as /proc/net/tcp and tcp6 write them.
LISTENS = "0A"
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
MISSING = [name for name, there in (("Java 17", java_version() >= 17), ("PySpark", find_spec("pyspark"))) if not there]
with_spark = pytest.mark.skipif(bool(MISSING), reason=f"{' and '.join(MISSING)} not here: pip install '.[spark]'")


@pytest.fixture(scope="module", autouse=True)
def spark_leaves_nothing() -> Iterator[None]:
    """A lean Java machine, gone with the last test, that left nothing in the folder where the tests began."""
    before = set(Path.cwd().iterdir())
    with pytest.MonkeyPatch.context() as patch:
        # hundreds of small queries: more goes into compiling their code well than comes back
        patch.setenv("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        yield
    java = stop_spark()
    assert java is None or java.poll() is not None
    left = {path.name for path in set(Path.cwd().iterdir()) - before}
    assert not left & {"metastore_db", "derby.log", "spark-warehouse", "artifacts"}


def stop_spark() -> "subprocess.Popen[bytes] | None":
    """End the session and the Java machine behind it, which else lives as long as the tests do."""
    if "pyspark" not in sys.modules:
        return None
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    session: Any = SparkSession.getActiveSession()
    if session is not None:
        session.stop()
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return None
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(60)
    SparkContext._gateway = SparkContext._jvm = None
    return gateway.proc


def rows_of(path: Path) -> list[dict[str, Any]]:
    return pq.read_table(path).to_pylist()


def same(one: Any, other: Any) -> bool:
    """Equal, floating-point sums but for their last digits."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9) or (math.isnan(one) and math.isnan(other))
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


@pytest.fixture
def standalone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A cluster whose worker sees what the driver sees."""
    yield from cluster_of(tmp_path, monkeypatch)


@pytest.fixture
def apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A cluster whose worker has a file system of its own where the run is."""
    (tmp_path / "run").mkdir()
    hide = 'mount -t tmpfs none "$0" && exec "$@"'
    yield from cluster_of(tmp_path, monkeypatch, ("unshare", "-rm", "sh", "-c", hide, str(tmp_path / "run")))


def cluster_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, around_worker: tuple[str, ...] = ()) -> Iterator[str]:
    """A master and a worker of a Spark cluster, each a process of its own, on the loopback alone; the engine's name."""
    import pyspark

    stop_spark()  # one Java machine has one session, which another test began
    home = Path(pyspark.__file__).parent
    port, *others = free_ports(3)
    (tmp_path / "conf").mkdir()
    lines = ("spark.driver.host 127.0.0.1", "spark.sql.shuffle.partitions 4", "spark.executor.memory 512m")
    (tmp_path / "conf" / "spark-defaults.conf").write_text("\n".join(lines) + "\n")
    for name, value in (("SPARK_CONF_DIR", tmp_path / "conf"), ("SPARK_LOCAL_IP", "127.0.0.1"), ("SPARK_HOME", home)):
        monkeypatch.setenv(name, str(value))
    master = f"127.0.0.1:{port}"
    deploy, where = "org.apache.spark.deploy", ("--host", "127.0.0.1", "--webui-port")
    commands = (
        (f"{deploy}.master.Master", *where, str(others[0]), "--port", str(port)),
        (f"{deploy}.worker.Worker", *where, str(others[1]), "--cores", "2", "--memory", "1g", "--work-dir",
         str(tmp_path / "work"), f"spark://{master}"),
    )  # fmt: skip
    with (tmp_path / "daemons.log").open("w") as log:
        daemons = [
            subprocess.Popen([*around, str(home / "bin" / "spark-class"), *command], stdout=log, stderr=log)
            for around, command in zip(((), around_worker), commands, strict=True)
        ]
        try:
            wait_for(port)
            yield f"spark://{master}"
        finally:
            stop_spark()
            for daemon in daemons:
                daemon.terminate()
            for daemon in daemons:
                daemon.wait(60)


def wait_for(port: int) -> None:
    """Until a process listens there; the test's own time limit is the last word."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


@with_spark
@pytest.mark.timeout(900)
def test_pairs_give_the_same_tables_on_both_engines(tmp_path: Path) -> None:
    same_pairs(tmp_path, SPARK)


@with_spark
@pytest.mark.long
@pytest.mark.timeout(900)
def test_pairs_give_the_same_tables_on_a_standalone_cluster(tmp_path: Path, standalone: str) -> None:
    same_pairs(tmp_path, standalone)
    session: Any = connect(standalone)._session
    executors = session.sparkContext._jsc.sc().statusTracker().getExecutorInfos()
    assert len(executors) > 1, "the driver and an executor of the worker"


@with_spark
@pytest.mark.long
@pytest.mark.timeout(900)
def test_a_worker_that_does_not_see_the_run_is_named(tmp_path: Path, apart: str) -> None:
    make_run(tmp_path / "run")
    with pytest.raises(DataError, match=r"do not see .*/run") as refused:
        connect(apart, tmp_path / "run")
    assert "FileNotFound" in str(refused.value)


@with_spark
def test_a_master_that_does_not_answer_is_named_at_once() -> None:
    (port,) = free_ports(1)
    with pytest.raises(DataError, match=f"no Spark master answers at 127.0.0.1:{port}"):
        connect(f"spark://127.0.0.1:{port}")
    with pytest.raises(DataError, match="no Spark master answers at nowhere"):
        connect("spark://nowhere")


def every_pair(cluster: Cluster) -> Ends:
    ranks = cluster.places.ranks
    source, target = np.nonzero(~np.eye(ranks, dtype=bool))
    return Ends(source.astype(np.int32), target.astype(np.int32), cluster.places)


def same_pairs(tmp_path: Path, engine: str) -> None:
    """A tree whose rounds load its links unequally: without that no time is scaled by its load, which Spark refused."""
    cluster = Cluster(5, 2, 2, uplinks=1, per_pod=2, pod_uplinks=1)
    assert round_loads(every_pair(cluster)) is not None
    faults = Faults(senders={3: 2.0}, pairs={(1, 9): 4.0}, flukes=5)
    run = make_pairs_run(tmp_path / "run", cluster, faults, launches=2, modes={"isolated": 1.0, "all": 1.4})
    names = [f"{table.name}.parquet" for table in ALL]
    embedded = {name: rows_of(run / "tables" / name) for name in names}
    make_pair_analysis(run, plan_of(RunFolder(run)), connect(engine))
    for name in names:
        assert embedded[name] or name == "pair_outliers.parquet"
        assert same(embedded[name], rows_of(run / "tables" / name)), name
    assert [row["name"] for row in embedded["pair_outliers.parquet"]] == ["n3", "1 on n0 with 9 on n4"]


def times(mode: str, size: int, source: int, target: int) -> Any:
    """Samples of a pair, of two messages each; enough for a p99."""
    return np.random.default_rng([len(mode), size, source, target]).lognormal(9.0, 0.5, 101).astype(np.int64)


@with_spark
@pytest.mark.timeout(900)
@pytest.mark.parametrize("raw", [pytest.param(True, marks=pytest.mark.long), False], ids=["samples", "summaries"])
def test_statistics_of_pairs_are_the_same_on_both_engines(tmp_path: Path, raw: bool) -> None:
    """Spark refused the BIGINT by which a quantile was looked up among the samples of a real run."""
    write_pairs_cell(tmp_path, MadePairs([0, 0, 1, 1], times, raw=raw))
    convert(tmp_path)
    names = ("pairs.parquet", "pair_histogram.parquet")
    make_pair_tables(tmp_path, connect(), ["c000"])
    embedded = {name: rows_of(tmp_path / "tables" / name) for name in names}
    make_pair_tables(tmp_path, connect(SPARK), ["c000"])
    for name in names:
        assert embedded[name]
        assert same(embedded[name], rows_of(tmp_path / "tables" / name)), name


@with_spark
@pytest.mark.long
def test_exact_quantiles_are_the_same_on_both_engines(tmp_path: Path) -> None:
    cluster = Cluster(2, 2, per_leaf=2)
    run = make_pairs_run(tmp_path / "run", cluster)
    (cell,) = [cell for cell in load_view(run).plan.cells if cell.kernel == "pairs"]
    write_pairs_cell(run, MadePairs([0, 0, 1, 1], times, hash=cell.hash), cell=cell.id)
    load_view(run)
    assert same(exact_rows(run, SPARK), exact_rows(run))  # a mean may differ in its last digit


@with_spark
@pytest.mark.timeout(900)
def test_calls_give_the_same_tables_on_both_engines(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    convert(run)
    make_tables(run)
    names = [f"{name}.parquet" for name in ("calls", "medians", "quartiles", "iterations", "floor", "verdicts")]
    embedded = {name: rows_of(run / "tables" / name) for name in names}
    make_tables(run, SPARK)
    for name in names:
        assert embedded[name]
        assert same(embedded[name], rows_of(run / "tables" / name)), name


@with_spark
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", kept_runs())
def test_a_kept_run_gives_the_same_tables_on_both_engines(name: str, tmp_path: Path) -> None:
    run = copy_of(name, tmp_path)
    convert(run)
    make_tables(run)
    embedded = {path.name: rows_of(path) for path in (run / "tables").glob("*.parquet")}
    make_tables(run, SPARK)
    assert len(embedded) > 20
    for table, rows in embedded.items():
        assert same(rows, rows_of(run / "tables" / table)), table


def column(path: Path, name: str) -> pa.ChunkedArray:
    return pq.read_table(path, columns=[name])[name]


@with_spark
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_two_thousand_ranks_give_the_same_tables_on_both_engines(tmp_path: Path) -> None:
    """Four million pairs, whose rounds load the links of a tree unequally."""
    faults = Faults(senders={3: 2.0}, pairs={(1, 900): 4.0}, flukes=5)
    cluster = Cluster(128, 16, uplinks=4)
    assert cluster.places.ranks == 2048
    run = make_pairs_run(tmp_path / "run", cluster, faults, modes={"isolated": 1.0, "all": 1.4})
    names = [f"{table.name}.parquet" for table in ALL]
    kept = {name: (run / "tables" / name).rename(tmp_path / name) for name in names}
    make_pair_analysis(run, plan_of(RunFolder(run)), connect(SPARK, run))
    for name, embedded in kept.items():
        for field in pq.read_schema(embedded):
            one, other = (column(path, field.name) for path in (embedded, run / "tables" / name))
            if pa.types.is_floating(field.type):
                found, expected = other.to_numpy(), one.to_numpy()
                np.testing.assert_allclose(found, expected, rtol=1e-9, err_msg=f"{name}: {field.name}")
            else:
                assert same(one.to_pylist(), other.to_pylist()), f"{name}: {field.name}"


def tiny_trace(folder: Path) -> TraceFolder:
    """Four ranks of two nodes: messages in and between them, all-to-alls, a wait, a broadcast, late ranks."""
    kept = TraceFolder(folder)
    for rank in range(4):
        made = (
            MadeRank(rank, 4, node=rank // 2, host=b"one" if rank < 2 else b"two")
            .site(3, "main + 0x10")
            .site(4, "solve + 0x20")
        )
        made.communicator(1, 77, [0, 2] if rank % 2 == 0 else [1, 3])
        for turn in range(3):
            at = 1_000_000 * turn + 7_000 * rank
            made.call("MPI_Barrier", at, 1_000_000 * turn + 30_000, site=3)
            made.call("MPI_Alltoall", at + 40_000, at + 90_000, bytes=4096, received=4096, site=4)
            made.call("MPI_Alltoallv", at + 100_000, at + 150_000, bytes=60 + rank, received=64, site=4)
            made.counts([10, 20, 30, rank])
            if rank == 0:
                made.call("MPI_Send", at + 200_000, at + 230_000, peer=1, tag=5, bytes=1024, site=3)
            if rank == 1:
                made.call("MPI_Recv", at + 160_000, at + 240_000, peer=0, tag=5, received=1024, site=3)
                made.call("MPI_Send", at + 250_000, at + 280_000, peer=2, tag=6, bytes=32_768, site=3)
            if rank == 2:
                made.call("MPI_Recv", at + 160_000, at + 290_000, peer=1, tag=6, received=32_768, site=3)
            made.call("MPI_Bcast", at + 300_000, at + 320_000, comm=1, peer=0, bytes=8, received=8, site=3)
        made.write(kept.raw)
    kept.describe(weft="made")
    convert_trace(kept)
    return kept


@with_spark
@pytest.mark.long
@pytest.mark.timeout(300)
def test_traces_give_the_same_tables_on_both_engines(tmp_path: Path) -> None:
    folder = tiny_trace(tmp_path / "app")
    make_trace_tables(folder)
    embedded = {table.name: rows_of(table.path(folder.path)) for table in WRITTEN}
    assert all(embedded.values())
    assert {"point-to-point", "all-to-all"} == {row["kind"] for row in embedded["trace_matrix"]}
    assert any(row["waiting_s"] for row in embedded["trace_calls"])
    for table in WRITTEN:
        table.path(folder.path).unlink()
    make_trace_tables(folder, SPARK)
    for table in WRITTEN:
        assert same(embedded[table.name], rows_of(table.path(folder.path))), table.name


@with_spark
def test_spark_listens_to_this_host_alone(tmp_path: Path) -> None:
    session = connect(SPARK)._session
    java = session.sparkContext._gateway.proc.pid
    own = {str(path.readlink()) for path in Path(f"/proc/{java}/fd").iterdir() if path.is_symlink()}
    addresses = [
        words[1].rpartition(":")[0]
        for name in ("tcp", "tcp6")
        for words in map(str.split, Path(f"/proc/{java}/net/{name}").read_text().splitlines()[1:])
        if words[3] == LISTENS and f"socket:[{words[9]}]" in own
    ]
    assert addresses
    assert set(addresses) <= LOOPBACK
    assert session.sparkContext.uiWebUrl is None


def test_an_engine_that_nobody_knows_is_refused() -> None:
    with pytest.raises(DataError, match="there is no engine 'polars://'"):
        connect("polars://")
