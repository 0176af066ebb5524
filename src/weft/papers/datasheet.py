# SPDX-License-Identifier: BSD-3-Clause
"""Tables 4.2 and 4.4 from a data sheet: its nominal rate, with SimGrid's InfiniBand model."""

from weft.errors import FabricError
from weft.fabric import Fabric, load_fabric
from weft.fit.run import fit_cells
from weft.format import format_rate, format_seconds
from weft.papers import PARTS, Part, sheets
from weft.papers.bench import Bench
from weft.papers.tables import both_tables, cells, errors

NOMINAL = 3.5e9  # paper 000, section 2.1: quad-data-rate InfiniBand, "up to 3.5 GB/s"
FITTED = ["copy_rate", "overhead"]


def nominal() -> Fabric:
    """The machine tara with the nominal rate of its adapters and SimGrid's penalties; FabricError without a network."""
    fabric = load_fabric("tara")
    if fabric.network is None or fabric.simulation is None:
        raise FabricError(f"{fabric.path} has no network or simulation", "install Weft again")
    network = fabric.network.model_copy(update={"adapter_rate": NOMINAL})
    simulation = fabric.simulation.model_copy(update={"model": "infiniband", "connection_cost": 0.0})
    return fabric.model_copy(update={"network": network, "simulation": simulation})


def compute(bench: Bench) -> Part:
    """Fit the parameters that data sheets do not state, and predict the other cells."""
    found = fit_cells(nominal(), cells(), FITTED, [], simulate=True, say=bench.say)
    largest, mean = errors(found)
    copies, asking = (found.parameters[name] for name in FITTED)
    sentences = (
        f"Two cells fitted, {len(found.cells) - 2} predicted: each within {largest:.1%}, {mean:.1%} in the mean, with "
        f"the "
        f"nominal {format_rate(NOMINAL)} and no parameter of the network's rate.",
        f"Fitted were what no data sheet says: a node copies {format_rate(copies)}, and each message costs its "
        f"sender {format_seconds(asking)}. The penalties are SimGrid's own, from another machine.",
    )
    alone = sheets.simulate(cells(), bench.say)
    told = sheets.values_of(cells(), alone)
    values = {"largest": largest, "mean": mean, "copy_rate": copies, "overhead": asking, **told}
    tables = (*both_tables(found), sheets.table(cells(), alone))
    return Part(
        "datasheet",
        PARTS["datasheet"],
        (*sentences, *filter(None, (sheets.sentence(told), sheets.copies(cells(), alone)))),
        tables,
        values,
    )
