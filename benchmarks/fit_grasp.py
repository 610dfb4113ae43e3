"""Fit the planning geometry of the grasping task to a simulated robot's hand.

    python benchmarks/fit_grasp.py jaco

The shapes are those that disagree least, over a grid of positions, with where the open hand overlaps the cup. The
window in which closing holds the cup is the largest rectangle of a second grid on which every trial grasp succeeds.
"""

import sys
from dataclasses import replace
from itertools import product

import numpy as np

import pomdplite as pl
from pomdplite.problems.grasp.geometry import Geometry
from pomdplite.problems.grasp.symbols import CLOSE, PICK
from pomdplite.worlds import make_world

STRIDES = {"opening": 0.004, "flare": 0.004, "finger_length": 0.004, "finger_thickness": 0.002, "palm": 0.002}
LOWEST = {"opening": 0.072, "palm": -0.02, "finger_thickness": 0.005}
TOLERANCE = 1e-9


def fit_shapes(world, first):
    """Fit the shapes by coordinate search with shrinking strides, from several starts."""
    grid = [np.array(p) for p in product(np.arange(-0.12, 0.121, 0.005), np.arange(0.02, 0.141, 0.005))]
    world.place_cup(np.array([0.0, 0.25]))
    palm = world.palm_place.copy()
    overlapping = np.array([world.overlaps(palm + p) for p in grid])
    dx, dy = np.array(grid).T

    def disagreements(geometry):
        return int((geometry.overlaps(dx, dy) != overlapping).sum())

    starts = [replace(first, opening=o, flare=f) for o, f in product((0.08, 0.1, 0.125), (0.0, 0.02, 0.04))]
    best = min((descend(start, disagreements) for start in starts), key=disagreements)
    print(f"shapes: {disagreements(best)} of {len(grid)} positions disagree")
    return best


def descend(best, loss):
    """Change one length at a time while that lowers the loss."""
    lowest = loss(best)
    for factor in (4, 2, 1, 0.5, 0.25):
        improved = True
        while improved:
            improved = False
            for (name, stride), sign in product(STRIDES.items(), (-1, 1)):
                value = getattr(best, name) + sign * factor * stride
                if value < LOWEST.get(name, 0.0):
                    continue
                candidate = replace(best, **{name: round(value, 4)})
                if loss(candidate) < lowest:
                    best, lowest, improved = candidate, loss(candidate), True
    return best


def fit_window(world, geometry):
    """Close and lift with the cup at each free position. Return the geometry with the largest window of successes."""
    across, ahead = np.arange(-0.06, 0.0601, 0.01), np.arange(0.035, 0.1001, 0.01)
    held = np.full((len(across), len(ahead)), np.nan)
    for (i, dx), (j, dy) in product(enumerate(across), enumerate(ahead)):
        world.place_cup(np.array([0.0, 0.25]))
        position = world.palm_place + np.array([dx, dy])
        if world.overlaps(position):
            continue
        world.place_cup(position)
        world.step(CLOSE)
        held[i, j] = world.step(PICK).reward > 0
    print("held (+), not held (-), no room (#); rows: dy from far to near, columns: dx from left to right")
    for j in reversed(range(len(ahead))):
        marks = "".join("#" if np.isnan(v) else "+" if v else "-" for v in held[:, j])
        print(f"  {1000 * ahead[j]:4.0f} mm  {marks}")
    windows = []
    for side, far in product(across[across > 0], ahead):
        inside = held[np.abs(across) <= side + TOLERANCE][:, ahead <= far + TOLERANCE]
        if not (inside == 0).any():
            windows.append((np.nansum(inside), side, far))
    _, side, far = max(windows)
    return replace(geometry, held_side=round(float(side), 4), held_near=0.0, held_far=round(float(far), 4))


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "jaco"
    model = pl.make_model(f"grasp-{name}")
    with make_world(name, model) as world:
        given = {name: getattr(model.geometry, name) for name in ("cup_radius", "inward", "spread")}
        print(fit_window(world, fit_shapes(world, Geometry(**given))))
