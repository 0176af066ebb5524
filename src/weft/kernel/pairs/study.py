# SPDX-License-Identifier: BSD-3-Clause
"""Keys of a study of the kernel ``pairs``."""

import random
from collections.abc import Sequence
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from weft.files.reading import as_list
from weft.files.section import Section
from weft.kernel.sizes import few_enough, write_sizes
from weft.kernel.tournament import Classes, PairSchedule
from weft.study import Count, Measure, Study
from weft.units import Bytes, Seconds, parse_bytes, written

MOST_A_ROUND = 32  # drawn pairs, one at a time: a larger round is not faster, and a killed job would lose more
Chosen = list[list[tuple[int, int]]]
MOST_DRAWN = 10_000


def draw_rounds(schedule: PairSchedule, count: int, seed: int) -> list[int]:
    """Draw rounds at random: within nodes and between nodes in proportion to their numbers, at least one of each."""
    if count >= schedule.rounds:
        return list(range(schedule.rounds))
    within = min(schedule.within, max(round(count * schedule.within / schedule.rounds), 1 if count > 1 else 0))
    within = max(within, count - schedule.between)
    dice = random.Random(f"pairs/{seed}")
    far = dice.sample(range(schedule.between), count - within)
    return sorted([*far, *dice.sample(range(schedule.between, schedule.rounds), within)])


def draw_pairs(classes: Classes, count: int, seed: int) -> tuple[Chosen, dict[int, int]]:
    """Draw ``count`` pairs of each class at random, and arrange them in rounds of pairs that share no rank."""
    drawn = classes.draw(count, seed)
    counts = {number: len(pairs) for number, pairs in drawn.items()}
    return disjoint([pair for pairs in drawn.values() for pair in pairs]), counts


def disjoint(pairs: Sequence[tuple[int, int]], most: int = MOST_A_ROUND) -> Chosen:
    """Arrange pairs in rounds by first fit: no rank occurs twice in a round, no round has more than ``most`` pairs."""
    rounds: Chosen = []
    busy: list[set[int]] = []
    full = 0  # rounds before this one are full and are not searched again
    for pair in pairs:
        while full < len(busy) and len(busy[full]) >= 2 * most:
            full += 1
        free = (i for i in range(full, len(busy)) if len(busy[i]) < 2 * most and busy[i].isdisjoint(pair))
        place = next(free, len(busy))
        if place == len(busy):
            rounds.append([])
            busy.append(set())
        rounds[place].append(pair)
        busy[place].update(pair)
    return rounds


def parse_sizes(value: object) -> tuple[int, ...]:
    """Message sizes in bytes, of texts such as ``"256 KiB"``; ValueError for none, or one twice."""
    listed = as_list(value)
    few_enough(listed)
    sizes = tuple(map(parse_bytes, listed))
    if not sizes or len(set(sizes)) != len(sizes):
        raise ValueError('a list of different sizes, such as ["0 B", "256 KiB"]')
    return sizes


_TEXTS = {"type": "array", "items": {"type": "string", "examples": ["0 B", "256 KiB"]}, "minItems": 1}
MessageSizes = Annotated[tuple[int, ...], *written(parse_sizes, write_sizes, _TEXTS)]


class PairsMeasure(Measure, frozen=True):
    """As for any kernel, but there are many rounds: each gets a part of a second."""

    max_samples: Count = Field(200, description="samples of one pair, size and direction, at most")
    budget: Seconds = Field(0.25, description='measuring time of one round at one size: "0.25 s"')


class PairsSection(Section, frozen=True):
    """``[pairs]``: what is sent between two ranks, and how many pairs do so at a time."""

    measure: Literal["latency", "bandwidth"] = Field(
        "latency", description="latency: one message at a time; bandwidth: the rate of a window of messages"
    )
    window: Annotated[int, Field(strict=True, ge=2, le=10_000)] = Field(
        64, description="of bandwidth: messages under way at once, which together are one operation"
    )
    window_bytes: Annotated[Bytes, Field(ge=1)] = Field(
        4 * 2**20, description='and bytes of them, at most (one message always may be): "4 MiB"'
    )
    places: Literal["shared", "apart"] = Field(
        "shared",
        description="of bandwidth: shared (one place for all messages of a window, as osu_bw), "
        "or apart (one for each, as mpiGraph: large ones leave the cache)",
    )
    threads: Literal["single", "multiple"] = Field(
        "single", description="multiple: MPI is started with MPI_THREAD_MULTIPLE, as for ranks with several threads"
    )
    bytes: MessageSizes = Field((0, 262_144), description='sizes of a message: ["0 B", "256 KiB"]')
    concurrency: Literal["isolated", "node", "all"] = Field(
        "all", description="pairs at a time: isolated (one in the job), node (one a node), or all of a round"
    )
    contention: Annotated[bool, Field(strict=True)] = Field(
        False, description="true measures each round isolated, too, and gives the factor between the two"
    )
    sample_pairs: Annotated[int, Field(strict=True, ge=1, le=MOST_DRAWN)] = Field(
        50, description="where measuring all pairs isolated takes too long: the number of pairs of each hop class"
    )
    sample_rounds: Count | None = Field(None, description="the number of rounds of the tournament, drawn by the seed")
    matchings: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = Field(
        None,
        description="in place of the tournament: so many meetings of whole leaves, divided into rounds that "
        "load no link beyond its rate",
    )
    aim: tuple[Annotated[str, Field(min_length=1, max_length=200)], ...] = Field(
        (),
        max_length=64,
        description="cables or switches that every matching should cross, and nodes that should not meet: "
        '["leaf2 - spine0", "n17"]',
    )
    part: Annotated[Bytes, Field(ge=1)] | None = Field(
        None,
        description="of matchings: longest part in which a message is sent, all under way at once; over TCP "
        'a longer one waits for an answer behind its receiver\'s own data: "60 KiB"',
    )
    isolated_most: Seconds = Field(
        600.0, description='isolated pairs are sampled if all of them would take longer than this in a launch: "600 s"'
    )
    block: Seconds = Field(
        5.0, description='duration of the rounds in one cell, which is what a killed job may lose: "5 s"'
    )
    store: Literal["auto", "raw", "summary"] = Field(
        "auto", description="raw: every sample; summary: order statistics and a histogram of each pair; auto: by size"
    )

    @model_validator(mode="after")
    def consistent(self) -> Self:
        """Refuse keys that contradict each other."""
        if self.contention and self.concurrency == "isolated":
            raise ValueError(
                'contention = true compares isolated pairs with others: concurrency must be "node" or "all"'
            )
        if self.matchings is not None and (self.contention or self.sample_rounds is not None):
            raise ValueError("matchings replaces the tournament: leave out contention and sample_rounds")
        if self.part and self.matchings is None:
            raise ValueError("part is for matchings, whose messages move both ways at once: give their number")
        if self.aim and self.matchings is None:
            raise ValueError("aim is for matchings: give their number")
        for name in ("window", "window_bytes", "places"):
            if self.measure == "latency" and getattr(self, name) != type(self).model_fields[name].default:
                raise ValueError(f'{name} is for measure = "bandwidth"')
        if self.measure == "bandwidth" and min(self.bytes) < 1:
            raise ValueError("a message of 0 B has no bandwidth: give bytes")
        if self.block <= 0:
            raise ValueError('block must be over 0, such as "5 s"')
        return self

    @property
    def under_way(self) -> dict[str, Any]:
        """Values of cells whose operation is a window of messages; of a latency none."""
        if self.measure == "latency":
            return {}
        bound = self.window * max(self.bytes) > self.window_bytes
        return {"window": self.window, "places": self.places} | ({"window_bytes": self.window_bytes} if bound else {})


class PairsStudy(Study, frozen=True):
    """A study of the kernel ``pairs``."""

    kernel: Literal["pairs"] = Field(description="pairs")
    measure: PairsMeasure = Field(PairsMeasure(), description="[measure]: how long and how exactly")  # pyright: ignore[reportCallIssue]
    pairs: PairsSection = Field(PairsSection(), description="[pairs]")  # pyright: ignore[reportCallIssue]
