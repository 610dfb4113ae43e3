"""Do the numbers of a draw vary on their own, or does one follow from the others?

Real numbers have a joint density only if, near almost every draw, the noise moves them in as many directions as there
are numbers. And a whole number counts as drawn only if draws whose real numbers are close differ in it: a flag that is
set where a speed exceeds a limit follows from the speed.
"""

import numpy as np

from pomdplite.checking.columns import numbers
from pomdplite.checking.draws import DrawPlace
from pomdplite.checking.proposals import Cloud, Proposal, spread_around, wrapped_angles
from pomdplite.compile.jit import Floats, Ints, Words

_FEWEST = 20  # draws with the same loose numbers that are worth looking at
_SLOPES = 12  # of them whose dependence on the noise is looked at
_STEP = 1e-4  # of the noise
_SMALLEST_SLOPE = 1e-5  # of the largest
_NEIGHBOURS = 400  # draws whose nearest neighbours are looked at
_INDEPENDENT = 0.5  # neighbours must differ this often, compared with any two draws


def vary_on_their_own(place: DrawPlace, proposal: Proposal, noise: Floats, pilot: Words) -> bool:
    """Whether no number of these draws follows from the others."""
    loose, keys = proposal.patterns(pilot)
    for mask, cloud in proposal.clouds.items():
        own = np.flatnonzero((loose == np.frombuffer(mask, np.bool_)).all(axis=1))
        if len(cloud.columns) == 0 or len(own) < _FEWEST:
            continue
        if len(cloud.columns) > noise.shape[1] or not _full_rank(place, proposal, cloud, noise[own], pilot[own]):
            return False
        values = numbers(place.space, place.columns, pilot[own])[:, cloud.columns]
        if not _independent(values, cloud.angles, keys[own]):
            return False
    return True


def _full_rank(place: DrawPlace, proposal: Proposal, cloud: Cloud, noise: Floats, pilot: Words) -> bool:
    """Whether most of these draws move in as many directions as they have loose numbers."""
    values = numbers(place.space, place.columns, pilot)[:, cloud.columns]
    _, scale = spread_around(values, cloud.angles)
    full = smooth = 0
    for row in noise[:_SLOPES]:
        steps = np.concatenate([row + _STEP * np.eye(len(row)), row - _STEP * np.eye(len(row))])
        moved = place.drawn(steps)
        if not proposal.patterns(moved)[0][:, cloud.columns].all():
            continue  # a step across the border of this set of loose numbers
        ends = numbers(place.space, place.columns, moved)[:, cloud.columns]
        slopes = ends[: len(row)] - ends[len(row) :]
        turning = slice(len(cloud.columns) - cloud.angles, None)
        slopes[:, turning] = wrapped_angles(slopes[:, turning])
        singular = np.linalg.svd(slopes / scale, compute_uv=False)
        smooth += 1
        full += len(singular) >= len(scale) and singular[len(scale) - 1] > _SMALLEST_SLOPE * singular[0]
    return 2 * full > smooth


def _independent(values: Floats, angles: int, keys: Words) -> bool:
    """Whether draws that are close differ in their patterns about as often as any two."""
    _, group = np.unique(keys, axis=0, return_inverse=True)
    group, shares = group.ravel()[:_NEIGHBOURS], np.bincount(group.ravel()) / len(keys)
    if len(shares) == 1:
        return True
    off, scale = spread_around(values[:_NEIGHBOURS], angles)
    differ = group != group[_nearest(off / scale)]
    return bool(differ.mean() > _INDEPENDENT * (1.0 - (shares**2).sum()))


def _nearest(points: Floats) -> Ints:
    """The nearest other point of each."""
    distances = ((points[:, None, :] - points[None, :, :]) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    return np.argmin(distances, axis=1)
