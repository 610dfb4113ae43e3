"""Whether the reachable states of a model lie within its grid."""

import math

import numpy as np

from pomdplite.checking.probe import Probe
from pomdplite.compile.jit import Words
from pomdplite.model.grid import declared_grid


def check_grid(probe: Probe, states: Words) -> None:
    """Warn of a field that leaves the range of the grid by more than the distance of two points."""
    grid, model = declared_grid(probe.model), probe.model
    for axis in () if grid is None else grid.axes(model.state, model.name):
        found = np.ascontiguousarray(states[:, axis.word]).view(np.float64)
        for value, over in ((found.min(), axis.low - found.min()), (found.max(), found.max() - axis.high)):
            if over > axis.spacing and not axis.periodic:
                turn = math.isclose(axis.high - axis.low, 2 * math.pi, rel_tol=0.01)
                wrapped = f" If it is an angle, declare {axis.field}=Angle, which wraps around." if turn else ""
                probe.report.add(
                    "grid",
                    f"the grid's range of {axis.field} is {axis.low:g} to {axis.high:g}, but states reach {value:g}: "
                    f"beyond its ends, values are those at the ends.{wrapped}",
                    fatal=False,
                )
