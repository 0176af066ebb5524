# SPDX-License-Identifier: BSD-3-Clause
"""Collecting the cables of a network that is being made."""

from dataclasses import dataclass, field

import numpy as np

from weft.fabric.network.graph import Links


@dataclass
class Cables:
    """Collects cables and turns them into `Links`; the two directions of a cable may have different rates."""

    rows: list[tuple[int, int, int, int]] = field(default_factory=list[tuple[int, int, int, int]])
    rates: list[tuple[float, float]] = field(default_factory=list[tuple[float, float]])
    latencies: list[float] = field(default_factory=list[float])
    _ports: dict[int, int] = field(default_factory=dict[int, int])

    def free_port(self, vertex: int) -> int:
        """The next unused port number of a vertex (for generators; dumps state their ports)."""
        port = self._ports.get(vertex, 0) + 1
        self._ports[vertex] = port
        return port

    def add(
        self,
        a: int,
        b: int,
        rate: float,
        latency: float = 0.0,
        *,
        back_rate: float | None = None,
        ports: tuple[int, int] | None = None,
    ) -> int:
        """Add a cable between vertices ``a`` and ``b``, and return the index of the link ``a -> b``."""
        port_a, port_b = ports if ports is not None else (self.free_port(a), self.free_port(b))
        self.rows.append((a, b, port_a, port_b))
        self.rates.append((rate, rate if back_rate is None else back_rate))
        self.latencies.append(latency)
        return 2 * len(self.rows) - 2

    def links(self) -> Links:
        """The links of all cables added so far."""
        rows = np.array(self.rows, dtype=np.int32).reshape(-1, 4)
        ends, ports = rows[:, 0:2], rows[:, 2:4]
        return Links(
            source=np.ascontiguousarray(ends).ravel(),
            target=np.ascontiguousarray(ends[:, ::-1]).ravel(),
            source_port=np.ascontiguousarray(ports).ravel(),
            target_port=np.ascontiguousarray(ports[:, ::-1]).ravel(),
            rate=np.array(self.rates, dtype=np.float64).ravel(),
            latency=np.repeat(np.array(self.latencies, dtype=np.float64), 2),
        )
