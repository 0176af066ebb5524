# SPDX-License-Identifier: BSD-3-Clause
r"""Fitting of a few physical parameters of a fabric to measured cells, by least squares on the logarithm of time.

With t_i measured and T_i(\theta) modelled, the fit minimises :math:`\sum_i (\log T_i(\theta) - \log t_i)^2` over
:math:`\log\theta` (Gauss-Newton with halved steps): a cell of 0.1 s has the same weight as one of 100 s, and no rate
can become negative. The derivatives may come from a cheaper model of the same parameters: then each step needs only one
simulation.

How well a set of cells determines the parameters follows from :math:`J_{ik} = \partial \log T_i / \partial \log
\theta_k`, the share of a cell's time that parameter k causes. With :math:`\sigma` its smallest singular value, an error
of 1 % in the times changes the parameters by up to :math:`1/\sigma` per cent. Sets below :data:`LEAST_SIGHT` are
refused: for a random triple of tara's cells the median error is 12 %, and some triples err by a factor of 20.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from weft.errors import DataError, StudyError

Names = Sequence[str]
Values = Sequence[float]
Indices = Sequence[int]
Chosen = Indices | None
Floats = NDArray[np.float64]
Model = Callable[[Floats, Sequence[int]], Floats]
"""Gives times in seconds of cells (by index), shape (cells,), for parameter values, shape (parameters,)."""
Slopes = Model | None  # a cheaper model of the same parameters, for derivatives
LEAST_SIGHT = 0.1
AS_GOOD = 0.95
STEP = 0.02  # of a logarithm, for derivatives: small against parameter changes, large against a simulator's resolution
MOST_STEPS = 12
SETTLED = 1e-4
MOST_SETS = 20_000


@dataclass(frozen=True)
class Cell:
    """One cell in the result of a fit."""

    name: str  # its name in the table
    measured_s: float
    modelled_s: float
    fitted: bool  # whether the parameters were fitted to it; otherwise it is predicted

    @property
    def error(self) -> float:
        """Relative error of the modelled time."""
        return self.modelled_s / self.measured_s - 1


@dataclass(frozen=True)
class Fit:
    """Fitted parameters, and the modelled time of each cell."""

    parameters: dict[str, float]  # fitted values by name
    cells: tuple[Cell, ...]
    sight: float  # smallest singular value of the fitted cells' sensitivities, see the module
    # relative error of each fitted cell in a fit without it, by name; empty if too few cells remain
    left_out: dict[str, float]

    @property
    def leave_out_error(self) -> float:
        """Mean absolute relative error over predicted cells and left-out cells; never that of the cells fitted to."""
        unseen = [abs(cell.error) for cell in self.cells if not cell.fitted] + [abs(e) for e in self.left_out.values()]
        return float(np.mean(unseen))


def fit(
    names: Names, start: Values, cells: Names, times: Values, model: Model, chosen: Chosen = None, slopes: Slopes = None
) -> Fit:
    """Fit parameters to some cells and predict the others; StudyError if they cannot be distinguished, DataError."""
    theta, seconds, slopes = np.asarray(start, dtype=float), np.asarray(times, dtype=float), slopes or model
    refuse_impossible(names, theta, cells, seconds, chosen)
    # Sensitivities depend on the parameters: to a cost with a start value far too small no cell is sensitive.
    theta = solve(slopes, theta, seconds, list(range(len(cells)) if chosen is None else chosen), slopes)
    picked = list(choose(names, theta, cells, slopes) if chosen is None else chosen)
    seen = sensitivities(slopes, theta, picked)
    sight = smallest_sight(seen)
    if sight < LEAST_SIGHT:
        raise blind(names, [cells[i] for i in picked], seen)
    theta = solve(model, theta, seconds, picked, slopes)
    modelled = model(theta, range(len(cells)))
    left_out = {cells[i]: error for i, error in leave_each_out(model, theta, seconds, picked, slopes).items()}
    if not left_out and len(picked) == len(cells):
        what = f"all {len(cells)} cells are fitted, with {len(names)} parameters: no cell is left to test the fit"
        raise StudyError(what, "fit to fewer cells (--cells), or measure one more")
    found = tuple(Cell(name, float(seconds[i]), float(modelled[i]), i in picked) for i, name in enumerate(cells))
    return Fit(dict(zip(names, theta.tolist(), strict=True)), found, sight, left_out)


def refuse_impossible(names: Names, theta: Floats, cells: Names, times: Floats, chosen: Chosen) -> None:
    """DataError for times that are not positive; StudyError for no parameter or value, or too few cells."""
    count = len(cells) if chosen is None else len(chosen)
    if not names:
        raise StudyError("no parameter to fit", "name some: --parameters copy_rate,adapter_rate")
    if len(names) > count:
        raise StudyError(
            f"{len(names)} parameters ({', '.join(names)}) cannot be fitted to {count} cell{'s' if count != 1 else ''}",
            "fit fewer parameters, or take more cells",
        )
    for cell, time in zip(cells, times.tolist(), strict=True):
        if not 0 < time < np.inf:
            raise DataError(f"cell {cell} has no time above zero", "leave it out of the table")
    for name, value in zip(names, theta.tolist(), strict=True):
        if not 0 < value < np.inf:
            raise StudyError(f"{name} has no starting value", "state a rough one, above zero, in the fabric file")


def sensitivities(model: Model, theta: Floats, cells: Sequence[int]) -> Floats:
    """D log T / d log theta by central differences, shape (cells, parameters), no unit."""
    columns: list[Floats] = []
    for k in range(len(theta)):
        up, down = theta.copy(), theta.copy()
        up[k] *= np.exp(STEP)
        down[k] *= np.exp(-STEP)
        columns.append((log_times(model, up, cells) - log_times(model, down, cells)) / (2 * STEP))
    return np.stack(columns, axis=1)


def log_times(model: Model, theta: Floats, cells: Sequence[int]) -> Floats:
    """Log of modelled seconds, (cells,), for parameters, (parameters,); DataError if one is not positive."""
    times = np.asarray(model(theta, cells), dtype=float)
    if not (np.isfinite(times) & (times > 0)).all():
        raise DataError("the model gives no time for a cell", "check that the fabric states all its rates")
    return np.log(times)


def smallest_sight(jacobian: Floats) -> float:
    """Smallest singular value of a Jacobian (cells, parameters); 0 if two parameters look alike, or one is not seen."""
    rows, columns = jacobian.shape
    return 0.0 if rows < columns else float(np.linalg.svd(jacobian, compute_uv=False)[-1])


def choose(names: Sequence[str], theta: Floats, cells: Sequence[str], model: Model) -> tuple[int, ...]:
    """Indices of the cells that determine the parameters best, as many as parameters. Of sets within 5 % the one with
    the longest times: clocks, noise and rounding affect these least.
    """
    every = range(len(cells))
    jacobian, times = sensitivities(model, theta, every), model(theta, every)
    seen = [
        (smallest_sight(jacobian[list(candidate)]), float(times[list(candidate)].sum()), candidate)
        for candidate in islice(combinations(every, len(names)), MOST_SETS)
    ]
    best = max(sight for sight, _, _ in seen)
    if best < LEAST_SIGHT:
        raise blind(names, list(cells), jacobian)
    return max((entry for entry in seen if entry[0] >= AS_GOOD * best), key=lambda entry: entry[1])[2]


def blind(names: Sequence[str], cells: Sequence[str], jacobian: Floats) -> StudyError:
    """The error for cells that cannot separate the parameters, from their Jacobian (cells, parameters), no unit."""
    _, _, directions = np.linalg.svd(jacobian, full_matrices=True)
    weights = np.abs(directions[-1])
    mixed = [name for name, weight in zip(names, weights, strict=True) if weight > 0.3 * weights.max()]
    what = f"do not see {mixed[0]}" if len(mixed) == 1 else f"cannot tell {' and '.join(mixed)} apart"
    return StudyError(
        f"the cells {', '.join(cells)} {what}: a fit would turn their noise into parameters",
        "take one cell inside a node, one bound by its bytes and one by its messages; or fit fewer parameters",
    )


def solve(model: Model, start: Floats, times: Floats, cells: Sequence[int], slopes: Model) -> Floats:
    """Gauss-Newton on logarithms, (parameters,) to ``times`` (cells,) in s; steps that gain nothing are halved."""
    theta, goal = start.copy(), np.log(times[list(cells)])
    residual = log_times(model, theta, cells) - goal
    for _ in range(MOST_STEPS):
        jacobian = sensitivities(slopes, theta, cells)
        # At a kink of a max() a derivative may vanish: take the shortest of the equivalent steps.
        step = np.clip(-np.linalg.lstsq(jacobian, residual, rcond=1e-3)[0], -1.0, 1.0)
        if np.abs(step).max() < SETTLED:
            break
        for _ in range(5):
            moved = theta * np.exp(step)
            after = log_times(model, moved, cells) - goal
            if after @ after < residual @ residual:
                break
            step = step / 2
        else:
            break
        theta, residual = moved, after
    return theta


def leave_each_out(model: Model, theta: Floats, times: Floats, picked: Indices, slopes: Model) -> dict[int, float]:
    """Relative error of each cell in a fit without it (``times`` in s), if the others determine all parameters."""
    errors: dict[int, float] = {}
    for cell in picked:
        others = [other for other in picked if other != cell]
        if len(others) >= len(theta) and smallest_sight(sensitivities(slopes, theta, others)) >= LEAST_SIGHT:
            errors[cell] = float(model(solve(model, theta, times, others, slopes), [cell])[0] / times[cell] - 1)
    return errors
