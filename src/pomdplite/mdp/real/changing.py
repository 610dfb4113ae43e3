"""Hidden numbers with distributions that change (φ): their later values, listed as a search comes upon them.

The second half of Theorem 1 keeps the belief about θ₀, and states hold the map from initial to present values. Where θ
is listed, a map leads from the rows of a table to rows of the same table. Numbers have no such table, so there is a
pool: its first rows are the kept values of the frozen belief, and every later value that φ leads to is added behind
them, once. Maps lead to rows of the pool, and states that agree in x and in all present values are equal, however they
were reached.
"""

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Words, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.hash_table import empty_table, row_slot
from pomdplite.mdp.real.frozen import MOST_VALUES, FrozenBelief, ValuePool
from pomdplite.model.hidden_table import map_layout

ROWS = 1 << 21  # of the pool: three of their numbers fit into a word
_SHARE = 0.25  # of the memory


class ChangingValues:
    """A pool, and the layout of states whose maps lead to its rows."""

    def __init__(self, model: KernelModel, rows: int = ROWS, values: int = MOST_VALUES) -> None:
        """Room for so many rows, of which at most `values` are the kept ones of a belief."""
        words = model.theta.shape[1]
        rows = memory.capacity(rows, 8 * words + 24, "later values of θ", share=_SHARE, fewest=min(rows, 8 * values))
        layout = map_layout([values], np.ones(values, bool), rows)
        self._theta: Words = np.zeros((rows, words), np.uint64)
        self._pool = ValuePool(empty_table(2 * rows), np.zeros(rows, np.int32), np.zeros(1, np.int64))
        self._identity: Words = layout["identity"]
        self._layout = {
            "map_word": layout["map_word"] + model.x_words,
            "map_shift": layout["map_shift"],
            "map_mask": layout["map_mask"],
            "s_words": model.x_words + layout["map_words"],
        }

    def laid_out(self, model: KernelModel) -> KernelModel:
        """The model with states that have room for maps."""
        return model._replace(**self._layout)

    def state(self, x: Words) -> Words:
        """The state in which the kept values are the present ones."""
        return np.concatenate([x, self._identity])

    def begin(self, model: KernelModel, frozen: FrozenBelief) -> tuple[KernelModel, FrozenBelief]:
        """Forget all later values; the model and the belief with the kept values as the first rows of the pool."""
        pool, kept = self._pool, frozen.rows
        pool.table[pool.slot[: pool.used[0]]] = -1
        self._theta[: len(kept)] = model.theta[kept]  # the last one is "no component"
        _add_kept(self._theta, pool, len(kept))
        rows = np.arange(len(kept))
        offsets = np.array([0, len(kept) - 1, len(kept)], np.int64)
        found = frozen._replace(rows=rows, b=frozen.weight, kept=~np.zeros(self._layout["s_words"], np.uint64))
        return self.laid_out(model)._replace(theta=self._theta, offsets=offsets), found._replace(pool=pool)


@kernel
def _add_kept(theta: Words, pool: ValuePool, kept: int) -> None:
    """Make the first rows those of a pool without later values; of equal ones, the first is found."""
    for row in range(kept):
        slot = row_slot(theta, pool.table, theta, row)
        pool.slot[row] = slot
        if pool.table[slot] < 0:
            pool.table[slot] = row
    pool.used[0] = kept
