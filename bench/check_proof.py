# SPDX-License-Identifier: BSD-3-Clause
"""How often a check names the slow part of a generated machine, and how often it names one of a healthy machine.

    python bench/check_proof.py [--fabrics N] [--first N] [--rounds 16] [--factor 1.25] [--jobs 2] [--limit S]
                                [--power] [--kept FILE]

Machines of 64 to 1,024 nodes: trees of two and three levels, dragonflies, trees whose topology the check does not know.
Noise: log-normal, heavy-tailed, correlated bursts, 1 % of the messages twice as long (`made.checks.noise_of`). On each
machine: nobody slow; one part; two parts. Then the second pass, as `weft check` takes it. ``--power`` looks for the
smallest factor of a node and a cable that is named in 95 % instead, by noise and rounds. What was tried is kept in a
file, a line each; started again with the same ``--kept``, it goes on where it ended.
"""

import argparse
import json
import os
import sys
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
from made.checks import Machine, Noise, crossed, find_candidates, machine, measure
from weft.analyse.outliers.few_rounds import find_slow_parts
from weft.analyse.outliers.rule import CONFIRMED_SIGMAS
from weft.fabric.hops import walk
from weft.fabric.loads import name_cable, name_link
from weft.kernel.pairs.matchings import Round

MACHINES = ("tree", "pods", "dragonfly", "unknown")
SIZES = np.array([64, 128, 256, 512, 1024])
NOISES: tuple[Noise, ...] = ("normal", "heavy", "bursts", "steal")
KINDS = ("node", "sender", "receiver", "cable", "link", "switch")
SECOND = 8
ROUTES = 20_000  # of so many pairs, one of whose links is drawn
FACTORS = (1.12, 1.15, 1.2, 1.25, 1.3, 1.4, 1.5, 2.0)
POWERED = 40  # trees for each factor

Slow = tuple[str, str]


@lru_cache(maxsize=4)
def made_machine(kind: str, nodes: int) -> Machine:
    return machine(kind, nodes)


@dataclass(frozen=True)
class Trial:
    """One machine, and what was planted and named: ``named`` has sets of parts that are listed together."""

    machine: str
    nodes: int
    noise: str
    planted: tuple[Slow, ...]
    named: tuple[tuple[Slow, ...], ...]
    candidates: int

    @property
    def found(self) -> int:
        """Planted parts that are named, each by one entry."""
        return sum(any(each in listed for listed in self.named) for each in self.planted)

    @property
    def alone(self) -> int:
        """Planted parts that are named without others beside them."""
        return sum((each,) in self.named for each in self.planted)

    @property
    def wrong(self) -> bool:
        """Whether a part is named that nothing is wrong with."""
        return any(not set(listed) & set(self.planted) for listed in self.named)


def draw_part(of: Machine, kind: str, dice: np.random.Generator) -> Slow:
    """A part of a kind; cables and switches are ones that some route takes."""
    network = of.network
    if kind in ("node", "sender", "receiver"):
        return kind, network.hosts[int(dice.integers(len(network.hosts)))]
    source, target = dice.integers(0, len(network.hosts), (2, ROUTES)).astype(np.int32)
    routes = walk(network, source, target)
    used = np.unique(routes[routes >= 0])
    link = int(dice.choice(used[network.switch_links[used]]))
    if kind == "switch":
        return kind, network.switches[int(network.links.target[link]) - len(network.hosts)].name
    return kind, name_cable(network, link // 2) if kind == "cable" else name_link(network, link)


def is_hidden(of: Machine, rounds: list[Round], one: Slow, other: Slow) -> bool:
    """Whether all messages that cross one part cross the other too: of equal factors no measurement tells them."""
    pairs = np.concatenate([each.pairs for each in rounds])
    source, target = np.concatenate([pairs, pairs[:, ::-1]]).T
    routes = walk(of.network, source, target)
    own, others = (crossed(of.network, *part, source, target, routes) for part in (one, other))
    return bool((own & others).sum() == min(own.sum(), others.sum()))


def check(of: Machine, slow: dict[Slow, float], noise: Noise, sigma: float, first: list[Round], seed: int) -> tuple[
    tuple[tuple[Slow, ...], ...], int
]:  # fmt: skip
    """What a check names, and the number of its candidates."""
    made = measure(of, [first], slow, noise, sigma, seed)
    candidates = [made.parts.parts[each] for each in find_candidates(made.messages, made.parts)]
    if not candidates:
        return (), 0
    aim = [np.array(each.links, np.int32) for each in candidates if each.links]
    names = {each.name for each in candidates if not each.links}
    apart = [place for place, name in enumerate(of.network.hosts) if name in names]
    made = measure(of, [first, of.rounds(SECOND, seed + 1, aim, apart)], slow, noise, sigma, seed)
    named: list[tuple[Slow, ...]] = []
    for each in find_slow_parts(made.messages, made.parts, CONFIRMED_SIGMAS):
        listed = [made.parts.parts[part] for part in (each.part, *each.alike)]
        alike = [(kind, name) for part in listed for name in part.also for kind in KINDS]
        named.append((*((part.kind, part.name) for part in listed), *alike))
    return tuple(named), len(candidates)


def trials_of(number: int, rounds: int, factor: float) -> list[Trial]:
    """The trials of one machine: healthy, one part, two parts."""
    dice = np.random.default_rng([number, 17])
    kind, noise = MACHINES[number % 4], NOISES[number // 4 % 4]
    nodes = int(dice.choice(SIZES, p=(1 / SIZES) / (1 / SIZES).sum()))  # as much work on each size
    of = made_machine(kind, nodes)
    kinds = KINDS if of.known else KINDS[:3]
    one = draw_part(of, kinds[number // 16 % len(kinds)], dice)
    other = draw_part(of, str(dice.choice(kinds)), dice)
    first = of.rounds(rounds, number)
    while other[1] == one[1] or is_hidden(of, first, one, other):
        other = draw_part(of, str(dice.choice(kinds)), dice)
    sigma = float(dice.uniform(0.03, 0.10))
    found: list[Trial] = []
    for place, planted in enumerate(((), (one,), (one, other))):
        seed = 10 * number + 3 * place
        named, candidates = check(of, dict.fromkeys(planted, factor), noise, sigma, first, seed)
        found.append(Trial(kind, nodes, noise, planted, named, candidates))
    return found


def is_found(noise: Noise, rounds: int, kind: str, factor: float) -> bool:
    """Whether the planted part is named in 95 % of `POWERED` trees."""
    missed = 0
    for number in range(POWERED):
        of = made_machine(("tree", "pods")[number % 2], (64, 128, 256)[number % 3])
        dice = np.random.default_rng([number, 18])
        part = draw_part(of, kind, dice)
        named, _ = check(of, {part: factor}, noise, 0.05, of.rounds(rounds, number), 1000 + 10 * number)
        missed += not any(part in listed for listed in named)
        if missed > 0.05 * POWERED:
            return False
    return True


def power_of(way: tuple[Noise, int, str]) -> tuple[Noise, int, str, float | None]:
    """The smallest factor that is named in 95 % of the trees, as the next larger one is; None of `FACTORS`."""
    least = None
    for factor in FACTORS:
        if not is_found(*way, factor):
            least = None
        elif least is None:
            least = factor
        else:
            break
    return *way, least


def print_shares(trials: list[Trial]) -> None:
    """Rates by number of planted parts, machine, noise and kind."""
    for count in (0, 1, 2):
        own = [each for each in trials if len(each.planted) == count]
        print(f"\n{('healthy', 'one part', 'two parts')[count]}: {len(own)} machines")
        keys = [("all", "all")] + [("machine", each) for each in MACHINES] + [("noise", each) for each in NOISES]
        keys += [("kind", each) for each in KINDS] if count == 1 else []
        for what, value in keys:
            some = [each for each in own if what == "all" or value == (each.planted[0][0] if what == "kind"
                                                                        else getattr(each, what))]  # fmt: skip
            if not some:
                continue
            wrong = sum(each.wrong for each in some) / len(some)
            line = f"  {what:8}{value:10}{len(some):6}   wrongly named in {wrong:6.1%}"
            if count:
                every = sum(each.found == count for each in some) / len(some)
                alone = sum(each.alone == count for each in some) / len(some)
                line += f"   all named in {every:6.1%}   without others beside them in {alone:6.1%}"
            print(line)
    missed = Counter((each.machine, each.noise, each.planted[0][0]) for each in trials
                     if len(each.planted) == 1 and not each.found)  # fmt: skip
    print("\nmissed most:", missed.most_common(8))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fabrics", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, help="number of the first machine, to go on after others")
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--factor", type=float, default=1.25)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=float, default=3600.0, help="seconds after which no further machine is tried")
    parser.add_argument("--power", action="store_true")
    parser.add_argument("--kept", type=Path, default=Path(os.devnull), help="file of what was tried")
    given = parser.parse_args()
    file: Path = given.kept
    kept: dict[str, Any] = dict(map(json.loads, file.read_text(encoding="utf-8").splitlines() if file.exists() else ""))
    work: dict[str, Any] = {}
    ways: list[tuple[Noise, int, str]] = [(noise, rounds, kind) for rounds in (16, 8, 32) for kind in ("node", "cable")
                                          for noise in NOISES]  # fmt: skip
    if given.power:
        work = {f"power {way}": partial(power_of, way) for way in ways}
    else:
        for number in range(given.first, given.first + given.fabrics):
            work[f"{number} {given.rounds} {given.factor}"] = partial(trials_of, number, given.rounds, given.factor)
    _go_on({name: each for name, each in work.items() if name not in kept}, kept, given)
    done = [kept[name] for name in work if name in kept]
    print(f"{len(done)} of {len(work)} were tried")
    if given.power:
        print(f"smallest factor named in 95 % of {POWERED} trees of 64 to 256 nodes, standard deviation 5 %")
        for noise, rounds, kind, factor in done:
            print(f"  {noise:8}{rounds:4} rounds  {kind:6} {'none' if factor is None else f'{factor:.2f}x'}")
    else:
        print_shares([_trial(each) for some in done for each in some])


def _go_on(work: dict[str, Any], kept: dict[str, Any], given: argparse.Namespace) -> None:
    """Do and keep what is left of the work, in its order, until the limit."""
    began = time.monotonic()
    with ProcessPoolExecutor(given.jobs) as pool, given.kept.open("a") as file:
        for name, found in zip(work, pool.map(_called, work.values()), strict=True):
            kept[name] = json.loads(json.dumps([vars(each) for each in found] if given.power is False else found))
            file.write(json.dumps([name, kept[name]]) + "\n")
            file.flush()
            if time.monotonic() - began > given.limit:
                pool.shutdown(wait=False, cancel_futures=True)
                break


def _called(work: Any) -> Any:
    return work()


def _trial(kept: dict[str, Any]) -> Trial:
    planted: tuple[Slow, ...] = tuple((kind, name) for kind, name in kept["planted"])
    named: tuple[tuple[Slow, ...], ...] = tuple(tuple((kind, name) for kind, name in some) for some in kept["named"])
    return Trial(kept["machine"], kept["nodes"], kept["noise"], planted, named, kept["candidates"])


if __name__ == "__main__":
    main()
