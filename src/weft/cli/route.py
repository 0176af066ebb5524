# SPDX-License-Identifier: BSD-3-Clause
"""The verbs ``place``, ``route show``, ``route failures`` and ``route fix``."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from cyclopts import App, Parameter, validators

from weft.cli.output import print_answer
from weft.errors import FabricError
from weft.extras import require_drawer

app = App(
    name="route",
    help="Which link limits which traffic, on real forwarding tables, and better tables: show, failures, fix.",
)
Several = Parameter(consume_multiple=True)


def place(
    file: str,
    /,
    *,
    nodes: int,
    free: str | None = None,
    traffic: Path | None = None,
    beside: Annotated[tuple[str, ...], Parameter(consume_multiple=True)] = (),
    engine: str = "present",
    format: Literal["text", "json"] = "text",
) -> None:
    """Find the free nodes to request from the scheduler: the fastest and the slowest set for an all-to-all.

    Args:
      file: A fabric file, or the name of a shipped one (tara, yellowstone ...).
      nodes: Number of nodes wanted.
      free: Nodes to choose from: "n[1-36,40]"; all by default.
      traffic: A trace (weft trace) whose messages take the place of the all-to-all; its ranks fill the nodes in order.
      beside: Node sets of other jobs; each is assumed to run an all-to-all at the same time.
      engine: Routing: present (the fabric's own tables), dmodk, or an engine of OpenSM.
      format: text, or json (schema weft-place/1).
    """
    from weft.launch.opensm import routed
    from weft.launch.preload import route_library
    from weft.route.given import given_network, hosts_of, traffic_of
    from weft.route.place import between_nodes, placement_text, placement_tree
    from weft.route.place import place as search
    from weft.route.routes import Routes

    title, network = given_network(file)
    routes = Routes(routed(network, (engine,))[0].network, route_library())
    chosen = hosts_of(network, free)
    sent = None if traffic is None else between_nodes(_traffic(traffic), nodes)
    found = search(routes, nodes, chosen, traffic_of(routes, beside, nodes), sent)
    names = [network.hosts[int(host)] for host in routes.members(chosen)]
    tree = format == "json"
    print_answer(placement_tree(found, network, names) if tree else placement_text(found, network, title, names))


def _traffic(trace: Path) -> Any:
    from weft.trace.events import traffic_of_trace  # two seconds

    return traffic_of_trace(trace)


@Parameter(name="*")
@dataclass(frozen=True)
class Failed:
    """Parts of the fabric that fail first.

    Attributes:
      fail: Switches or links that fail first: leaf0, "leaf0:19->spine0:1", "leaf0 - spine0".
      fail_random: Cables between switches that fail at random.
      seed: Seed of the random failures.
    """

    fail: Annotated[tuple[str, ...], Several] = ()
    fail_random: int = 0
    seed: int = 1


NONE = Failed()


@Parameter(name="*")
@dataclass(frozen=True)
class Hashing:
    """Paths by a hash of each connection in place of tables, as on an Ethernet fabric (ECMP).

    Attributes:
      hash: Show what a hash over the shortest ways does to an all-to-all, over many seeds.
      connections: Connections of each pair of ranks that share their bytes.
      seeds: Seeds to draw.
    """

    hash: bool = False
    connections: int = 1
    seeds: int = 1000


TABLES = Hashing()


@app.command
def show(
    file: str,
    /,
    *,
    engine: Annotated[tuple[str, ...], Several] = (),
    pattern: Literal["all-to-all", "shift", "exchange"] = "all-to-all",
    matrix: Path | None = None,
    traffic: Path | None = None,
    placement: str | None = None,
    ranks: int = 1,
    hashing: Hashing = TABLES,
    failed: Failed = NONE,
    paths: Path | None = None,
    sl2vl: Path | None = None,
    keep: Path | None = None,
    output: Annotated[tuple[Path, ...], Parameter(name=("--output", "-o"), validator=require_drawer)] = (),
    format: Literal["text", "json"] = "text",
) -> None:
    """Show the loads of a fabric's routes, the fullest links and the hosts that use them. Starts no MPI.

    Args:
      file: A fabric file, or the name of a shipped one (tara, yellowstone ...).
      engine:
        What routes: present (the fabric's own tables), dmodk, or engines of OpenSM under ibsim, side by side: minhop
        updn ftree dfsssp lash nue, or minhop+scatter7 for its option --scatter-ports 7. present by default.
      pattern: Traffic by which engines and links are ranked: all-to-all, or the phases of a shift or an exchange.
      matrix:
        A traffic matrix in place of a pattern: p lines of p numbers, or numpy.save's file, row i what rank i sends.
      traffic: A trace (weft trace) whose messages are the matrix; name its hosts by --placement, times --ranks.
      placement: Only these hosts take part: "n[1-36]".
      ranks: Ranks on each host.
      hashing: Paths by a hash in place of tables.
      failed: Parts of the fabric that fail first.
      paths: Output of saquery -p: the service levels of the present tables, whose lanes are then checked one by one.
      sl2vl: Output of smpquery sl2vl for every switch: the lanes of these levels.
      keep: A folder for the dumps of OpenSM.
      output: A page (.html), or the drawing alone, with links coloured by load: .json, .svg or .png (these two need the
        extra figures).
      format: text, or json (schema weft-route/1).
    """
    from weft.launch.opensm import routed
    from weft.launch.preload import route_library
    from weft.route.checks import read_service
    from weft.route.compare import compare
    from weft.route.given import given_network, hosts_of, matrix_of
    from weft.route.show import as_text, as_tree, draw_engine

    title, network = given_network(file, failed.fail, failed.fail_random, failed.seed)
    members, amounts = hosts_of(network, placement, ranks), matrix_of(matrix) if traffic is None else _traffic(traffic)
    if hashing.hash:
        others = (engine, matrix, traffic, paths, sl2vl, keep, output, pattern != "all-to-all")
        _print_hashed(title, network, members, hashing, failed.seed, format, beside=any(others))
        return
    service = read_service(paths, sl2vl) if paths else None  # service levels and lanes, as an operator asked for them
    tables, chosen = routed(network, engine, keep, service), pattern if amounts is None else "matrix"
    found = compare(tables, route_library(), pattern=chosen, ranks=members, matrix=amounts)
    print_answer(as_tree(found) if format == "json" else as_text(found, title))
    for path in output:
        from weft.report.page import write_route_page  # a fifth of a second

        (write_route_page if path.suffix.lower() == ".html" else draw_engine)(found, title, path)
        sys.stderr.write(f"wrote {path}\n")


@app.command
def failures(
    file: str, /, *, engine: str = "present", failed: Failed = NONE, format: Literal["text", "json"] = "text"
) -> None:
    """Rank the failures of all single cables between switches by what they do to an all-to-all.

    Routes over the failed cable move to the shortest remaining ways, to the least loaded of these; all others stay.
    Whether the moved routes are free of deadlock is not examined. A host's own cable cuts off that host alone.

    Args:
      file: A fabric file, or the name of a shipped one (tara, yellowstone ...).
      engine: Source of the tables: present (the fabric's own), dmodk, or an engine of OpenSM.
      failed: Parts of the fabric that have failed before.
      format: text, or json: every cable (schema weft-route-failures/1).
    """
    from weft.launch.opensm import routed
    from weft.launch.preload import route_library
    from weft.report.card import print_rows
    from weft.report.failures import claim_failures, failures_card, failures_table, failures_tree, slowest_failure
    from weft.report.tabular import terminal
    from weft.route.compare import lower_bound
    from weft.route.given import fail, fail_each, given_network
    from weft.route.routes import Routes
    from weft.text import console

    title, network = given_network(file, failed.fail, failed.fail_random, failed.seed)
    routes = Routes(routed(network, (engine,))[0].network, route_library())
    found = fail_each(routes)
    worst = slowest_failure(found)
    left = routes.with_network(fail(routes.network, [worst.name])) if worst else routes
    claims = claim_failures(found, lower_bound(left), file)
    if format == "json":
        print_answer(failures_tree(found, claims, title))
        return
    print_rows(failures_card(found, claims, title), console(120), terminal(failures_table(found)))


@app.command
def fix(
    file: str,
    /,
    *,
    engine: str = "present",
    sweep: Annotated[tuple[str, ...], Several] = (),
    most_changes: int | None = None,
    gain: Annotated[float, Parameter(validator=validators.Number(gte=0, lte=100))] = 100.0,
    budget: int = 45,
    failed: Failed = NONE,
    output: Annotated[Path | None, Parameter(name=("--output", "-o"))] = None,
    format: Literal["text", "json"] = "text",
) -> None:
    """Compute better forwarding tables: worse on no score than the current ones, unless those lose messages.

    A shift or a bisection that is 0.5 % worse counts as equal.

    Args:
      file: A fabric file, or the name of a shipped one (tara, yellowstone ...).
      engine: Source of the current tables: present (the fabric's own), dmodk, or an engine of OpenSM.
      sweep: Further engines of OpenSM to start from, such as dfsssp minhop+scatter7.
      most_changes: Change at most this many entries of the current tables.
      gain: Per cent of the best gain that is enough: of all tables found that reach it, those with the fewest changes.
      budget: Seconds of processor time after which no further tables are started.
      failed: Parts of the fabric that fail first.
      output: File for the tables, as loaded by opensm -R file -U FILE.
      format: text for people, or json (schema weft-route-fix/1).
    """
    from weft.launch.opensm import routed
    from weft.launch.preload import route_library
    from weft.route.given import given_network, write_tables
    from weft.route.improve import improve
    from weft.route.routes import Routes
    from weft.route.show import improvement_text, improvement_tree
    from weft.route.subnet import require_addresses

    title, network = given_network(file, failed.fail, failed.fail_random, failed.seed)
    present = routed(network, (engine,))[0].network
    if output is not None:
        require_addresses(present)
    found = improve(
        Routes(present, route_library()),
        most_changes=most_changes,
        others=tuple(each.network for each in routed(network, sweep)) if sweep else (),
        budget_s=budget,
        say=lambda text: print(text, file=sys.stderr),
    )
    if gain < 100:
        found = found.with_gain(gain / 100)
    print_answer(improvement_tree(found) if format == "json" else improvement_text(found, title))
    if output is not None:
        write_tables(found.best.routes.network, output)
        sys.stderr.write(f"wrote {output}: opensm -R file -U {output}\n")


def _print_hashed(
    title: str, network: Any, members: Any, hashing: Hashing, seed: int, format: str, *, beside: bool
) -> None:
    """Print what hashed paths do to an all-to-all; FabricError ``beside`` options that would have no effect."""
    from weft.launch.preload import route_library
    from weft.route.hashed import hash_paths
    from weft.route.routes import Routes
    from weft.route.show import hashed_text, hashed_tree

    if beside:
        text = "--hash shows an all-to-all without tables: no --engine, --pattern, --matrix, --traffic, --paths, "
        raise FabricError(text + "--sl2vl, --keep or --output goes with it", "leave them out")
    found = hash_paths(Routes(network, route_library()), members, hashing.connections, hashing.seeds, seed)
    print_answer(hashed_tree(found) if format == "json" else hashed_text(found, title))
