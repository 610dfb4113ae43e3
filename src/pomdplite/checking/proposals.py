"""A known distribution Q close to what a model draws, with which the model's density can be compared.

Some numbers of a record are loose: they take another value in every draw. The others, whole numbers or real ones that
return to a few values, make up the draw's pattern. Q draws a pattern as often as it came up in a pilot sample, or
another one that differs from such a pattern in one whole number, to look where the model draws nothing. To the loose
numbers it gives those of a pilot draw with the same loose numbers, plus normal noise, narrow or wide. Every angle has
noise of its own, which goes around the circle.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy import special

from pomdplite.checking.columns import RecordColumn, bits, numbers, put
from pomdplite.compile.jit import Flags, Floats, Ints, Words
from pomdplite.model.spaces import State

RANDOM_NUMBERS = 3  # of a draw from Q, besides one for each loose number
_TIES = 4  # draws of the pilot sample in which a real number that is not loose takes the same value
_CENTRES = 24  # pilot draws that Q lies around
_WIDTHS = ((0.8, None), (0.2, 2.0))  # probability, and width in standard deviations; None: as for a density estimate
_ELSEWHERE = 0.2  # the probability of a pattern with one whole number changed
_NEAR = (-2, -1, 1, 2)  # by how much, if its values have no names
_MOST_CHANGED = 200  # patterns
_CLIP = 3.0  # standard deviations: draws farther away say nothing about correlations
_LOOSE = np.uint64(0x7FF8_0000_0000_0001)  # stands for a loose number in a pattern: the bits of no number
_TURN = 2.0 * math.pi
_TURNS = range(-3, 4)


class Pattern(NamedTuple):
    """What a draw has besides its loose numbers."""

    row: Words  # a record with these values
    chance: float
    loose: bytes  # which columns are loose


class Cloud(NamedTuple):
    """Where the loose numbers of the draws with the same loose columns lie."""

    columns: Ints  # the loose ones, angles last
    angles: int  # how many of them are angles
    centres: Floats  # [centre, column]
    factor: Floats  # [column, column] root of the covariance; diagonal for angles


class Proposal:
    """The distribution Q, fitted to a pilot sample."""

    def __init__(self, space: State, columns: list[RecordColumn], pilot: Words) -> None:
        self.space, self.columns = space, columns
        exact = bits(space, columns, pilot)
        self._repeated = [_repeated(exact[:, c]) for c in range(len(columns))]
        loose, keys = self.patterns(pilot)
        self.varying = [bool((exact[:, c] != exact[0, c]).any()) for c in range(len(columns))]
        self.clouds: dict[bytes, Cloud] = {}
        values = numbers(space, columns, pilot)
        for mask in np.unique(loose, axis=0):
            own = (loose == mask).all(axis=1)
            self.clouds[mask.tobytes()] = _cloud(columns, np.flatnonzero(mask), values[own])
        self._patterns = self._weighed(pilot, loose, keys)
        self._log_chance = {key: math.log(p.chance) for key, p in self._patterns.items()}

    def patterns(self, words: Words) -> tuple[Flags, Words]:
        """Which numbers of these rows are loose, and the rows with those masked: both [row, column]."""
        exact = bits(self.space, self.columns, words)
        loose = np.stack(
            [
                ~np.isin(exact[:, c], self._repeated[c]) if column.real else np.zeros(len(words), np.bool_)
                for c, column in enumerate(self.columns)
            ],
            axis=1,
        )
        return loose, np.where(loose, _LOOSE, exact)

    def _weighed(self, pilot: Words, loose: Flags, keys: Words) -> dict[bytes, Pattern]:
        """The patterns of the pilot sample, and those that differ from them in one whole number that varies."""
        found: dict[bytes, Pattern] = {}
        _, first, counts = np.unique(keys, axis=0, return_index=True, return_counts=True)
        changed: list[tuple[Words, bytes, float]] = []
        for i, count in zip(first[np.argsort(-counts)], np.sort(counts)[::-1], strict=True):
            share = count / len(pilot)
            found[keys[i].tobytes()] = Pattern(pilot[i], share, loose[i].tobytes())
            if len(changed) < _MOST_CHANGED:
                changed += [(row, loose[i].tobytes(), share) for row in self._changed(pilot[i])]
        if not changed:
            return found
        total = sum(share for _, _, share in changed)
        found = {key: p._replace(chance=(1.0 - _ELSEWHERE) * p.chance) for key, p in found.items()}
        for row, mask, share in changed:
            key = np.where(
                np.frombuffer(mask, np.bool_), _LOOSE, bits(self.space, self.columns, row[None])[0]
            ).tobytes()
            known = found.get(key, Pattern(row, 0.0, mask))
            found[key] = known._replace(chance=known.chance + _ELSEWHERE * share / total)
        return found

    def _changed(self, row: Words) -> list[Words]:
        """The record with one whole number changed, in every way that Q tries."""
        found = []
        for c, column in enumerate(self.columns):
            if column.real or not self.varying[c]:
                continue
            present, kind = numbers(self.space, [column], row[None])[0, 0], self.space.dtype[column.field].base
            for value in range(len(column.labels)) if column.labels else [present + step for step in _NEAR]:
                least, most = (0, 1) if kind.kind == "b" else (np.iinfo(kind).min, np.iinfo(kind).max)
                if value != present and least <= value <= most:
                    other = row[None].copy()
                    put(self.space, column, other, np.array([value], np.float64))
                    found.append(other[0])
        return found

    @property
    def numbers(self) -> int:
        """The random numbers of a draw."""
        return RANDOM_NUMBERS + max(len(cloud.columns) for cloud in self.clouds.values())

    def draw(self, normals: Floats) -> Words:
        """A record for each row of standard normal numbers."""
        keys = list(self._patterns)
        marks = np.cumsum([self._patterns[key].chance for key in keys])
        uniforms = special.ndtr(normals[:, :RANDOM_NUMBERS])
        chosen = np.minimum(np.searchsorted(marks, uniforms[:, 0] * marks[-1], side="right"), len(keys) - 1)
        rows = np.stack([self._patterns[key].row for key in keys])[chosen]
        masks = np.array([list(self.clouds).index(self._patterns[key].loose) for key in keys])[chosen]
        for number, cloud in enumerate(self.clouds.values()):
            own = np.flatnonzero(masks == number)
            if len(own) and len(cloud.columns):
                part = rows[own]
                values = _loose_numbers(cloud, uniforms[own, 1:], normals[own, RANDOM_NUMBERS:])
                for k, c in enumerate(cloud.columns):
                    put(self.space, self.columns[c], part, values[:, k])
                rows[own] = part
        return rows

    def log_density(self, words: Words) -> Floats:
        """log q of each record; -inf for a pattern that Q does not have."""
        loose, keys = self.patterns(words)
        logs = np.array([self._log_chance.get(key.tobytes(), -math.inf) for key in keys])
        values = numbers(self.space, self.columns, words)
        for mask, cloud in self.clouds.items():
            own = np.flatnonzero((loose == np.frombuffer(mask, np.bool_)).all(axis=1) & (logs > -math.inf))
            if len(own) and len(cloud.columns):
                logs[own] += _cloud_log_density(cloud, values[np.ix_(own, cloud.columns)])
        return logs


def _repeated(values: Words) -> Words:
    """The values that several draws share."""
    different, counts = np.unique(values, return_counts=True)
    return different[counts >= _TIES]


def wrapped_angles(angles: Floats) -> Floats:
    """The same angles in [−π, π)."""
    return (angles + math.pi) % _TURN - math.pi


def spread_around(values: Floats, angles: int) -> tuple[Floats, Floats]:
    """The distances of values from their middle, and the width of the middle two thirds, by column; angles last."""
    d = values.shape[1] - angles
    turning = values[:, d:]
    mean = np.arctan2(np.sin(turning).sum(axis=0), np.cos(turning).sum(axis=0))
    off = np.concatenate([values[:, :d] - np.median(values[:, :d], axis=0), wrapped_angles(turning - mean)], axis=1)
    low, high = np.quantile(off, [special.ndtr(-1.0), special.ndtr(1.0)], axis=0)
    scale = np.where(high > low, (high - low) / 2, np.maximum(off.std(axis=0), np.finfo(float).tiny))
    scale[d:] = np.minimum(scale[d:], math.pi / 2)
    return off, scale


def _cloud(columns: list[RecordColumn], loose: Ints, values: Floats) -> Cloud:
    order = np.array(sorted(loose, key=lambda c: columns[c].angle), np.int64)
    angles, n = sum(columns[c].angle for c in order), len(values)
    chosen = values[:, order]
    if len(order) == 0:
        return Cloud(order, 0, chosen[:1], np.zeros((0, 0)))
    off, scale = spread_around(chosen, angles)
    scaled = np.clip(off / scale, -_CLIP, _CLIP)
    covariance = scaled.T @ scaled / n + 1e-3 * np.eye(len(order))
    covariance[len(order) - angles :, :] = covariance[:, len(order) - angles :] = 0.0
    covariance[range(len(order) - angles, len(order)), range(len(order) - angles, len(order))] = 1.0
    centres = chosen[np.linspace(0, n - 1, min(n, _CENTRES)).astype(np.int64)]
    return Cloud(order, angles, centres, np.linalg.cholesky(covariance) * scale[:, None])


def _widths(cloud: Cloud) -> list[tuple[float, float]]:
    """Probability and width of each kind of noise around the centres."""
    narrow = len(cloud.centres) ** (-1.0 / (len(cloud.columns) + 4))  # Scott 1992
    return [(chance, width or narrow) for chance, width in _WIDTHS]


def _loose_numbers(cloud: Cloud, uniforms: Floats, normals: Floats) -> Floats:
    """Draws of the loose numbers: [draw, column]."""
    d = len(cloud.columns)
    (narrow_chance, narrow), (_, wide) = _widths(cloud)
    width = np.where(uniforms[:, 1] < narrow_chance, narrow, wide)
    centre = cloud.centres[np.minimum((uniforms[:, 0] * len(cloud.centres)).astype(np.int64), len(cloud.centres) - 1)]
    values = centre + width[:, None] * (normals[:, :d] @ cloud.factor.T)
    values[:, d - cloud.angles :] = wrapped_angles(values[:, d - cloud.angles :])
    return values


def _cloud_log_density(cloud: Cloud, values: Floats) -> Floats:
    """The log density of the loose numbers: [draw, column] in the order of the cloud's columns."""
    d = len(cloud.columns) - cloud.angles
    root = np.linalg.inv(cloud.factor[:d, :d]).T
    points, centres = values[:, :d] @ root, cloud.centres[:, :d] @ root
    square = np.zeros((len(values), len(centres)))
    for k in range(d):
        square += (points[:, k, None] - centres[None, :, k]) ** 2
    total = np.zeros(len(values))
    for chance, width in _widths(cloud):
        constant = math.log(chance / len(centres)) - np.log(math.sqrt(_TURN) * width * np.diag(cloud.factor)).sum()
        density = np.exp(constant - 0.5 * square / width**2)
        for k in range(d, d + cloud.angles):
            off = values[:, k, None] - cloud.centres[None, :, k]
            density *= sum(np.exp(-0.5 * ((off + _TURN * turn) / (width * cloud.factor[k, k])) ** 2) for turn in _TURNS)
        total += density.sum(axis=1)
    return _log(total)


def _log(numbers: Floats) -> Floats:
    """The logarithms; -inf of 0."""
    return np.log(numbers, out=np.full(len(numbers), -math.inf), where=numbers > 0.0)
