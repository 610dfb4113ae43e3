"""Fit the planning geometry of the grasping task to a simulated robot's hand.

    python benchmarks/fit_grasp.py jaco

Where the open hand overlaps the cup is looked up on a grid; the shapes are those that disagree at the fewest places.
What closing holds is tried on a grid, with a lift; the window is the largest rectangle in which every try succeeded.
"""

import sys
from dataclasses import replace
from itertools import product

import numpy as np

import pomdplite as pl
from pomdplite.problems.grasp.geometry import Geometry
from pomdplite.problems.grasp.symbols import CLOSE, PICK
from pomdplite.worlds import make_world

SHAPES = {"opening": 0.004, "flare": 0.004, "finger_length": 0.004, "finger_thickness": 0.002, "palm": 0.002}  # strides
LEAST = {"opening": 0.072, "palm": -0.02, "finger_thickness": 0.005}


def fit_shapes(world, first):
    """Coordinate search with shrinking strides, from several starts."""
    grid = [np.array(p) for p in product(np.arange(-0.12, 0.121, 0.005), np.arange(0.02, 0.141, 0.005))]
    world.place_cup(np.array([0.0, 0.25]))
    palm = world.palm_place.copy()
    seen = np.array([world.overlaps(palm + p) for p in grid])
    dx, dy = np.array(grid).T

    def wrong(geometry):
        return int((geometry.overlaps(dx, dy) != seen).sum())

    starts = [replace(first, opening=o, flare=f) for o, f in product((0.08, 0.1, 0.125), (0.0, 0.02, 0.04))]
    best = min((descend(start, wrong) for start in starts), key=wrong)
    print(f"shapes: {wrong(best)} of {len(grid)} places disagree")
    return best


def descend(best, wrong):
    least = wrong(best)
    for shrink in (4, 2, 1, 0.5, 0.25):
        improved = True
        while improved:
            improved = False
            for (name, stride), sign in product(SHAPES.items(), (-1, 1)):
                value = getattr(best, name) + sign * shrink * stride
                if value < LEAST.get(name, 0.0):
                    continue
                tried = replace(best, **{name: round(value, 4)})
                if wrong(tried) < least:
                    best, least, improved = tried, wrong(tried), True
    return best


def fit_window(world, geometry):
    """Close and lift with the cup at each place that is free; the largest window without a failure."""
    across, ahead = np.arange(-0.06, 0.0601, 0.01), np.arange(0.035, 0.1001, 0.01)
    held = np.full((len(across), len(ahead)), np.nan)
    for (i, dx), (j, dy) in product(enumerate(across), enumerate(ahead)):
        world.place_cup(np.array([0.0, 0.25]))
        where = world.palm_place + np.array([dx, dy])
        if world.overlaps(where):
            continue
        world.place_cup(where)
        world.step(CLOSE)
        held[i, j] = world.step(PICK).reward > 0
    print("held (+), not held (-), no room (#); rows: dy from far to near, columns: dx from left to right")
    for j in reversed(range(len(ahead))):
        marks = "".join("#" if np.isnan(v) else "+" if v else "-" for v in held[:, j])
        print(f"  {1000 * ahead[j]:4.0f} mm  {marks}")
    windows = [
        (np.nansum(held[np.abs(across) <= side + 1e-9][:, ahead <= far + 1e-9]), side, far)
        for side, far in product(across[across > 0], ahead)
        if not (held[np.abs(across) <= side + 1e-9][:, ahead <= far + 1e-9] == 0).any()
    ]
    _, side, far = max(windows)
    return replace(geometry, held_side=round(float(side), 4), held_near=0.0, held_far=round(float(far), 4))


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "jaco"
    model = pl.make_model(f"grasp-{name}")
    with make_world(name, model) as world:
        given = {name: getattr(model.geometry, name) for name in ("cup_radius", "inward", "spread")}
        print(fit_window(world, fit_shapes(world, Geometry(**given))))
