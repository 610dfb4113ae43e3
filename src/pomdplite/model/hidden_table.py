"""Θ listed for kernels: one row per value of each component, and where a state keeps the maps of an evolving θ."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pomdplite.compile.jit import Floats, Ints, Words
from pomdplite.errors import ModelError
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Hidden, Population

JOINT_LIMIT = 65_536  # the most joint values of θ that are listed


@dataclass(frozen=True)
class HiddenTable:
    """Θ listed for kernels, block by block; a belief holds one probability per row.

    Factored: one block per component. Joint: a single block with every combination of values.
    The last block stands for "depends on no component": a single row of probability 1.
    """

    hidden: Any  # Hidden, Population or Dirichlet
    joint: bool
    theta: Words  # [row, words]
    offsets: Ints  # [block + 1]
    prior: Floats  # [row]
    map_word: Ints  # [row] -1 for values that the prior rules out
    map_shift: Words  # [row]
    map_mask: Words  # [block]
    map_words: int
    identity: Words  # [map_words] the maps before anything has changed

    @property
    def blocks(self) -> int:
        """The number of blocks, not counting "no component"."""
        return len(self.offsets) - 2

    def joint_indices(self, row: int) -> tuple[int, ...]:
        """In a joint table, the number of each component's value in this row."""
        return tuple(int(i) for i in np.unravel_index(row, [len(c) for c in self.hidden.components]))

    def label(self, block: int, value: int) -> str:
        """A row as text."""
        if isinstance(self.hidden, Population):
            return f"draw {value} from the prior"
        if not self.joint:
            component = self.hidden.components[block]
            return f"{component.name}={component.labels[value]}"
        return " ".join(
            f"{c.name}={c.labels[i]}" for c, i in zip(self.hidden.components, self.joint_indices(value), strict=True)
        )

    def marginals(self, b: Floats) -> list[Floats]:
        """The probabilities of each component's values under the belief b, or under each row of several beliefs."""
        if not self.joint:
            return [b[..., self.offsets[c] : self.offsets[c + 1]].copy() for c in range(self.blocks)]
        sizes, rows = [len(c) for c in self.hidden.components], b.shape[:-1]
        cube = b[..., : self.offsets[1]].reshape(*rows, *sizes)
        axes = range(len(rows), cube.ndim)
        return [cube.sum(axis=tuple(k for k in axes if k != c)) for c in axes]

    def joint_distribution(self, b: Floats, components: Sequence[int] | None = None) -> Floats:
        """The probabilities of all joint values under the belief b, or of those of some independent components."""
        if self.joint:
            return b[: self.offsets[1]]
        marginals = self.marginals(b)
        return product_of(marginals if components is None else [marginals[component] for component in components])


def product_of(marginals: Sequence[Floats]) -> Floats:
    """The joint distribution of independent components."""
    b = np.ones(1)
    for marginal in marginals:
        b = np.outer(b, marginal).ravel()
    return b


def hidden_table(hidden: Hidden, *, joint: bool, evolves: bool) -> HiddenTable:
    """List Θ as one block of joint values, or as one block per component."""
    components = hidden.components
    if joint and hidden.size > JOINT_LIMIT:
        raise ModelError(
            f"the hidden parameter has {hidden.size:,} joint values, more than the limit of {JOINT_LIMIT:,}; if each "
            "(x, a) depends on a single component, define depends(m, x, a)."
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
    layout = map_layout(sizes, prior > 0.0) if evolves else _no_maps(len(combos), len(sizes))
    return HiddenTable(hidden, joint, theta, offsets, prior=np.append(prior, 1.0), **layout)


def population_table(hidden: Population, theta: Words) -> HiddenTable:
    """A table of equally likely draws."""
    count = len(theta) - 1
    prior = np.append(np.full(count, 1.0 / count), 1.0)
    offsets = np.array([0, count, count + 1], np.int64)
    return HiddenTable(hidden, True, theta, offsets, prior=prior, **_no_maps(count + 1, 1))


def dirichlet_table(hidden: Dirichlet) -> HiddenTable:
    """A row for each outcome of each distribution: under the mean of a belief, a step has it with that probability."""
    sizes = np.diff(hidden.offsets)
    outcome = np.arange(len(hidden.counts)) - np.repeat(hidden.offsets[:-1], sizes)
    rows = np.column_stack([np.repeat(np.arange(len(sizes)), sizes), outcome])
    theta = np.concatenate([rows, np.zeros((1, 2), np.int64)]).astype(np.uint64)
    mean = hidden.counts / np.repeat(np.add.reduceat(hidden.counts, hidden.offsets[:-1]), sizes)
    offsets = np.append(hidden.offsets, hidden.offsets[-1] + 1)
    return HiddenTable(hidden, False, theta, offsets, prior=np.append(mean, 1.0), **_no_maps(len(theta), len(sizes)))


def _no_maps(rows: int, blocks: int) -> dict[str, Any]:
    return {
        "map_word": np.zeros(rows, np.int64),
        "map_shift": np.zeros(rows, np.uint64),
        "map_mask": np.zeros(blocks + 1, np.uint64),
        "map_words": 0,
        "identity": np.zeros(0, np.uint64),
    }


def map_layout(sizes: Sequence[int], possible: NDArray[np.bool_], later: int = 0) -> dict[str, Any]:
    """Where the map from initial to present value is stored, entry by entry; no entry crosses a word boundary.

    Initial values that are not possible have no entry: what they would become makes no difference, and states that
    differed in it alone would be the same state many times over. Present values are the initial ones, unless there
    are more of them: `later` in all.
    """
    word, shift, mask, identity, at = list[int](), list[int](), list[int](), list[int](), 0
    for size in sizes:
        width = max(1, (max(size, later) - 1).bit_length())
        mask.append((1 << width) - 1)
        for value in range(size):
            if not possible[len(word)]:
                word.append(-1)
                shift.append(0)
                continue
            if at % 64 + width > 64:
                at += 64 - at % 64
            if at == 64 * len(identity):
                identity.append(0)
            identity[-1] |= value << at % 64
            word.append(at // 64)
            shift.append(at % 64)
            at += width
    return {
        "map_word": np.array([*word, 0], np.int64),
        "map_shift": np.array([*shift, 0], np.uint64),
        "map_mask": np.array([*mask, 0], np.uint64),
        "map_words": len(identity),
        "identity": np.array(identity, np.uint64),
    }
