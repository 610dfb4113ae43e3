"""The observed states that can be reached at all, terminal ones included: which x there are, whatever is hidden."""

from weakref import WeakKeyDictionary

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Small, Words, kernel
from pomdplite.mdp.hash_table import empty_table, row_slot
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.model.compiled import CompiledModel, KernelView
from pomdplite.model.records import to_words

_MOST_STATES = 50_000
_MOST_CALLS = 1_000_000, 20_000  # of T: less than a second, compiled and interpreted
_MANY = -1
_FOUND: WeakKeyDictionary[CompiledModel, Words | None] = WeakKeyDictionary()


def observed_states(view: KernelView) -> Words | None:
    """[state] the words of every x that some hidden values and actions lead to; None if they are many or not listed.

    θ may change to any of its values on the way, so a few of them may be out of reach.
    """
    if not view.listed or view.kernel_model.noise.numbers > 0:
        return None
    form = view.model.compiled_form
    if form not in _FOUND:
        _FOUND[form] = _listed(view, _MOST_CALLS[0 if form.compiled else 1])
    return _FOUND[form]


def _listed(view: KernelView, calls: int) -> Words | None:
    model = view.unobserved().kernel_model
    model = model._replace(s_words=model.x_words)
    states = np.zeros((_MOST_STATES, model.x_words), np.uint64)
    states[0] = to_words(view.model.state.dtype, view.model.initial_state())
    count = _find(model, states, empty_table(2 * _MOST_STATES), calls, allocate_outcomes(model, 1))
    view.raise_fault()
    return None if count == _MANY else states[:count].copy()


@kernel
def _find(model: KernelModel, states: Words, table: Small, calls: int, out: Outcomes) -> int:
    """Fill `states`, whose first row is the initial state; how many there are, or _MANY."""
    count, expanded = 1, 0
    table[row_slot(states, table, states, 0)] = 0
    while expanded < count:
        x = expanded
        expanded += 1
        if abi.terminal(model, states, x):
            continue
        for a in range(model.actions):
            if not abi.legal(model, states, x, a):
                continue
            component = abi.depends(model, states, x, a)
            first, last = model.offsets[component], model.offsets[component + 1]
            calls -= last - first
            if calls < 0:
                return _MANY
            for row in range(first, last):
                for i in range(abi.transition(model, states, x, model.theta, row, a, out.y, out.p)):
                    slot = row_slot(states, table, out.y, i)
                    if out.p[i] == 0.0 or table[slot] >= 0:
                        continue
                    if count == states.shape[0]:
                        return _MANY
                    for w in range(model.x_words):
                        states[count, w] = out.y[i, w]
                    table[slot] = count
                    count += 1
            if abi.faulty(model):
                return _MANY
    return count
