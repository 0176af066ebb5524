# SPDX-License-Identifier: BSD-3-Clause
"""Fifty generated imperfect fabrics: better tables beside every engine of OpenSM that routes them."""

from dataclasses import replace

import numpy as np
import pytest

from made.routes import routes, tree
from weft.errors import LaunchError
from weft.fabric.network.graph import Network
from weft.launch import opensm
from weft.launch.opensm import manage
from weft.route.checks import find_circle
from weft.route.compare import Score, score
from weft.route.given import fail_random
from weft.route.improve import improve

pytestmark = pytest.mark.skipif(
    bool(opensm.missing()), reason=f"{opensm.missing()} missing: apt install opensm ibsim-utils"
)
ENGINES = ("minhop", "updn", "ftree", "dfsssp", "lash", "nue")
FABRICS = 50


def imperfect(seed: int) -> Network:
    """A tree of two or three levels with failed cables, unequal leaves, and some cables at half the rate."""
    rng = np.random.default_rng([34, seed])
    leaf, leaves = int(rng.integers(4, 9)), int(rng.integers(4, 11))
    hosts = leaf * leaves - int(rng.integers(0, leaf))
    if rng.random() < 0.4:
        leaves = 2 * (leaves // 2 + 1)
        made = tree(leaf * leaves - 1, leaf, leaf, leaves_per_pod=leaves // 2, pod_uplinks=leaf * leaves // 2)
    else:
        made = tree(hosts, leaf, int(rng.integers(max(2, leaf // 2), leaf + 1)))
    cables = int(made.switch_links.sum()) // 2
    made = fail_random(made, int(rng.integers(1, max(2, cables // 8))), seed)
    rate = made.links.rate.copy()
    between = np.flatnonzero(made.switch_links[::2]) * 2
    slow = rng.choice(between, size=int(rng.integers(0, max(1, len(between) // 10))), replace=False)
    rate[slow] = rate[slow + 1] = rate[slow] / 2
    return replace(made, links=replace(made.links, rate=rate))


def routed_by_engines(network: Network) -> dict[str, tuple[Network, Score]]:
    """The network as each engine routes it, and its scores; without engines that fall back or fail."""
    found: dict[str, tuple[Network, Score]] = {}
    for engine in ENGINES:
        try:
            made = manage(network, engine)
        except LaunchError:
            continue
        if not made.fell_back:
            found[engine] = (made.network, score(routes(made.network)))
    return found


@pytest.mark.timeout(900)
@pytest.mark.parametrize("first", range(0, FABRICS, 10))
def test_better_tables_beat_every_engine_of_opensm_on_imperfect_fabrics(first: int) -> None:
    behind: list[str] = []
    for seed in range(first, first + 10):
        engines = routed_by_engines(imperfect(seed))
        present, worth = engines["minhop"]
        found = improve(routes(present), budget_s=10)
        assert found.best.score.no_worse_than(worth)
        assert not found.better or find_circle(found.best.routes) is None
        whole = {name: each.all_to_all for name, (_, each) in engines.items() if not each.lost}
        name = min(whole, key=lambda each: whole[each])
        told = (
            f"{seed}: {len(present.hosts)} hosts, best {found.best.score.all_to_all:.3f}, fastest "
            f"{found.fastest.score.all_to_all:.3f}, bound {found.bound:.3f}; "
            + ", ".join(f"{engine} {time:.3f}" for engine, time in whole.items())
        )
        print(told)
        if found.best.score.all_to_all > whole[name] + 1e-9:
            behind.append(told)
    assert behind == []
