"""Θ listed for kernels: one row per value of each component, and where a state keeps the maps of a changing θ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pomdplite.compile.jit import Floats, Ints, Words
from pomdplite.errors import ModelError
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Hidden, Population

JOINT_LIMIT = 65_536  # most values of θ that are listed one by one


@dataclass(frozen=True)
class HiddenTable:
    """Θ listed for kernels, block by block; the belief holds one number per row.

    Factored: one block per component. Joint: a single block with every combination.
    The last block stands for "depends on no component": one row, always of probability 1.
    """

    hidden: Any  # Hidden or Population
    joint: bool
    theta: Words  # [row, words]
    offsets: Ints  # [block + 1]
    prior: Floats  # [row]
    map_word: Ints  # [row]
    map_shift: Words  # [row]
    map_mask: Words  # [block]
    map_words: int
    identity: Words  # [map_words] the maps before anything has changed

    @property
    def blocks(self) -> int:
        """Number of components, "none" not counted."""
        return len(self.offsets) - 2

    def joint_indices(self, row: int) -> tuple[int, ...]:
        """In a joint table: the value number of each component in this row."""
        return tuple(int(i) for i in np.unravel_index(row, [len(c) for c in self.hidden.components]))

    def label(self, block: int, value: int) -> str:
        """A row in words."""
        if isinstance(self.hidden, Population):
            return f"draw {value} from the prior"
        if not self.joint:
            component = self.hidden.components[block]
            return f"{component.name}={component.labels[value]}"
        return " ".join(
            f"{c.name}={c.labels[i]}" for c, i in zip(self.hidden.components, self.joint_indices(value), strict=True)
        )

    def marginals(self, b: Floats) -> list[Floats]:
        """Per component of Hidden, the probabilities of its values under the block probabilities b."""
        if not self.joint:
            return [b[self.offsets[c] : self.offsets[c + 1]].copy() for c in range(self.blocks)]
        sizes = [len(c) for c in self.hidden.components]
        cube = b[: self.offsets[1]].reshape(sizes)
        axes = range(len(sizes))
        return [cube.sum(axis=tuple(k for k in axes if k != c)) for c in axes]


def hidden_table(hidden: Hidden, *, joint: bool, evolves: bool) -> HiddenTable:
    """List Θ as one block of joint values, or as one block per component."""
    components = hidden.components
    if joint and hidden.size > JOINT_LIMIT:
        raise ModelError(
            f"The hidden parameter has {hidden.size:,} joint values, more than the {JOINT_LIMIT:,} that are listed "
            "one by one; if each (x, a) depends on one component only, say which with depends(m, x, a)."
        )
    if joint:
        sizes = [hidden.size]
        combos: list[tuple[int, ...]] = list(product(*(range(len(c)) for c in components)))
        prior = np.array(
            [math.prod(float(c.prior[i]) for c, i in zip(components, combo, strict=True)) for combo in combos]
        )
    else:
        sizes = [len(c) for c in components]
        combos = [
            tuple(v if d == c else 0 for d in range(len(components)))
            for c, size in enumerate(sizes)
            for v in range(size)
        ]  # fmt: skip
        prior = np.concatenate([c.prior for c in components])
    combos.append(tuple(0 for _ in components))
    theta = np.concatenate([to_words(hidden.dtype, hidden.record(combo)) for combo in combos]).reshape(len(combos), -1)
    offsets = np.concatenate([[0], np.cumsum([*sizes, 1])]).astype(np.int64)
    layout = _map_layout(sizes) if evolves else _no_maps(len(combos), len(sizes))
    return HiddenTable(hidden, joint, theta, offsets, np.append(prior, 1.0), *layout)


def population_table(hidden: Population, theta: Words) -> HiddenTable:
    """A table of draws, equally likely."""
    count = len(theta) - 1
    prior = np.append(np.full(count, 1.0 / count), 1.0)
    offsets = np.array([0, count, count + 1], np.int64)
    return HiddenTable(hidden, True, theta, offsets, prior, *_no_maps(count + 1, 1))


def _no_maps(rows: int, blocks: int) -> tuple[Ints, Words, Words, int, Words]:
    zeros: NDArray[np.uint64] = np.zeros(rows, np.uint64)
    return np.zeros(rows, np.int64), zeros, np.zeros(blocks + 1, np.uint64), 0, np.zeros(0, np.uint64)


def _map_layout(sizes: Sequence[int]) -> tuple[Ints, Words, Words, int, Words]:
    """Where the map from initial to present value is kept, entry by entry, none across two words."""
    word, shift, mask, at = [], [], [], 0
    for size in sizes:
        width = max(1, (size - 1).bit_length())
        mask.append((1 << width) - 1)
        for _ in range(size):
            if at % 64 + width > 64:
                at += 64 - at % 64
            word.append(at // 64)
            shift.append(at % 64)
            at += width
    words = -(-at // 64)
    identity = [0] * words
    row = 0
    for size in sizes:
        for value in range(size):
            identity[word[row]] |= value << shift[row]
            row += 1
    return (
        np.array([*word, 0], np.int64),
        np.array([*shift, 0], np.uint64),
        np.array([*mask, 0], np.uint64),
        words,
        np.array(identity, np.uint64),
    )
