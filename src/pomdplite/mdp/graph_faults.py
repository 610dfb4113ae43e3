"""Faults in a model that building its graph finds: detected in the kernel, explained in the user's words."""

from typing import NamedTuple

import numpy as np

from pomdplite.checking import faults
from pomdplite.compile.jit import Floats, Ints, Words, inlined
from pomdplite.errors import ModelError
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.model.compiled import KernelView

_SUM_TOLERANCE = 1e-6  # largest deviation of a sum of probabilities from 1

# What is wrong with one (s, a).
SOUND, OUTCOMES_FAULT, NO_ACTION, BAD_TRANSITION, BAD_REWARD, BAD_OBSERVATION = range(6)

# Indices into FaultRecord.at.
STATE, ACTION, COMPONENT, VALUE, KIND = range(5)


class FaultRecord(NamedTuple):
    """Where a kernel found a fault."""

    at: Ints  # [5] state, action, component, number of the component's value, kind of fault
    number: Floats  # [1] the offending number, or the fault code of `outcomes`


def allocate_fault_record() -> FaultRecord:
    """A record without a fault."""
    return FaultRecord(at=np.zeros(5, np.int64), number=np.zeros(1))


@inlined
def check_numbers(out: Outcomes, n: int, k: int, e: int, fault: FaultRecord) -> int:
    """Whether rewards are finite and probabilities sum to 1 for every value of the component."""
    for v in range(n):
        fault.at[VALUE] = v
        fault.number[0] = out.reward[v]
        if not np.isfinite(out.reward[v]):
            return BAD_REWARD
        fault.number[0] = _smallest_or_sum(out.chance, k, v)
        if not abs(fault.number[0] - 1.0) <= _SUM_TOLERANCE:
            return BAD_TRANSITION
        fault.number[0] = _smallest_or_sum(out.likelihood, e, v)
        if not abs(fault.number[0] - 1.0) <= 2 * _SUM_TOLERANCE:
            return BAD_OBSERVATION
    return SOUND


@inlined
def _smallest_or_sum(probabilities: Floats, count: int, v: int) -> float:
    """The sum of a column, or its smallest entry if that is negative."""
    total, smallest = 0.0, 0.0
    for i in range(count):
        total += probabilities[i, v]
        smallest = min(smallest, probabilities[i, v])
    return smallest if smallest < 0.0 else total


def fault_error(view: KernelView, s: Words, fault: FaultRecord) -> ModelError:
    """The error for a fault recorded in state s."""
    name, number = view.model.name, float(fault.number[0])
    _, a, component, value, kind = (int(place) for place in fault.at)
    if kind == NO_ACTION:
        return _no_action_error(view, s)
    if kind == OUTCOMES_FAULT or (kind == BAD_REWARD and view.model.compiled_form.functions.failures):
        code = int(number) if kind == OUTCOMES_FAULT else faults.RAISED
        return faults.model_error(view, s, a, component, code, value)
    where = faults.place(view, s, a, component, value)
    if kind == BAD_REWARD:
        raised = faults.replayed(view, s, a, component, value)
        return ModelError(f"{name}.reward {raised or f'gives {number}'} at {where}.")
    function = "transition" if kind == BAD_TRANSITION else "observation"
    wrong = f"a negative probability, {number:g}" if number < 0 else f"probabilities that sum to {number:.9g}, not 1"
    return ModelError(f"{name}.{function} gives {wrong}, at {where}.")


def _no_action_error(view: KernelView, s: Words) -> ModelError:
    name, actions = view.model.name, view.model.actions
    for a in range(len(actions)):
        try:
            view.model.compiled_form.interpreted.legal(view.record(s), a)
        except Exception as error:  # noqa: BLE001  whatever the user's code raised is what is reported
            where = f"x = ({view.describe(s)}), action {actions[a]!r}"
            return ModelError(f"{name}.legal raised {type(error).__name__} ({error}) at {where}.")
    return ModelError(f"{name}: no action is legal in x = ({view.describe(s)}), which is not terminal.")
