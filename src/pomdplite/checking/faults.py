"""A fault that a kernel met in the model, told in the user's words."""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Words
from pomdplite.errors import ModelError
from pomdplite.model.compiled import KernelView
from pomdplite.model.records import from_words

# Fault codes of kernels, negative so that they can stand in for a count; -1 is "no room".
RAISED, LEFT_DOMAIN, BAD_COMPONENT = -2, -3, -4


def place(view: KernelView, s: Words, a: int, component: int, value: int) -> str:
    """`x = (row=1 col=2), theta: rocks[3]=good, action 'check-3'`."""
    text = f"x = ({view.describe(s)})"
    if component < view.table.blocks:
        present = view.present_rows(s)[view.table.offsets[component] + value] - view.table.offsets[component]
        text += f", theta: {view.table.label(component, int(present))}"
    return f"{text}, action {view.model.actions[a]!r}"


def model_error(view: KernelView, s: Words, a: int, component: int, code: int, value: int) -> ModelError:
    """The error for a fault code of `outcomes`."""
    name = view.model.name
    if code == BAD_COMPONENT:
        here = f"x = ({view.describe(s)}), action {view.model.actions[a]!r}"
        view.model.compiled_form.functions.failures.clear()
        try:
            told = view.model.compiled_form.interpreted.depends(view.record(s), a)
        except Exception as problem:  # noqa: BLE001  whatever the user's code raised is what is reported
            return ModelError(f"{name}.depends raised {type(problem).__name__} ({problem}) at {here}.")
        return ModelError(
            f"{name}.depends returned {told} at {here}; there are {view.table.blocks} components, numbered from 0 "
            "(-1 for none)."
        )
    where = place(view, s, a, component, value)
    if code == LEFT_DOMAIN:
        return ModelError(
            f"{name}.evolve leaves the hidden domain at {where}: {_evolved(view, s, a, component, value)}."
        )
    raised = view.model.compiled_form.functions.failures
    if raised:
        error = raised.pop(0)
        raised.clear()
        if isinstance(error, KeyboardInterrupt):
            raise error
        return ModelError(f"a function of {name} raised {type(error).__name__} at {where}: {error}")
    found = replayed(view, s, a, component, value) or "does not raise when interpreted; check_model compares the two"
    return ModelError(f"a function of {name} failed at {where}: it {found}.")


def _theta(view: KernelView, s: Words, component: int, value: int) -> Any:
    row = view.present_rows(s)[view.table.offsets[component] + value]
    return from_words(view.model.hidden.dtype, view.table.theta[row])


def _evolved(view: KernelView, s: Words, a: int, component: int, value: int) -> str:
    theta = _theta(view, s, component, value)
    after = view.model.compiled_form.interpreted.evolve(view.record(s), theta, a)
    fields = {n: np.asarray(after[n]).tolist() for n in view.model.hidden.dtype.names or ()}
    note = "" if view.table.joint else f" (only {view.table.hidden.components[component].name} may change here)"
    return f"theta becomes {fields}, which is not a listed value{note}"


def replayed(view: KernelView, s: Words, a: int, component: int, value: int) -> str | None:
    """Run the functions interpreted to see what they raise: `raised ValueError (…)`, or None."""
    return _raised(view, s, _theta(view, s, component, value), a)


def raised_in(view: KernelView, x: Words, theta: Words, a: int) -> ModelError:
    """The error for a step of a simulation from x and θ, in which a function of the model raised."""
    name, hidden = view.model.name, view.model.hidden
    record = from_words(hidden.dtype, theta)
    view.model.compiled_form.functions.failures.clear()
    where = f"x = ({view.describe(x)}), theta: {hidden.describe(record)}, action {view.model.actions[a]!r}"
    found = _raised(view, x, record, a) or "does not raise when interpreted; check_model compares the two"
    return ModelError(f"a function of {name} failed at {where}: it {found}.")


def _raised(view: KernelView, s: Words, theta: Any, a: int) -> str | None:
    plain, x = view.model.compiled_form.interpreted, view.record(s)
    try:
        after = plain.evolve(x, theta, a)
        plain.reward(x, theta, a)
        for y, _ in plain.transition(x, theta, a):
            plain.observation(y, after, a)
    except Exception as error:  # noqa: BLE001  whatever the user's code raised is what is reported
        return f"raised {type(error).__name__} ({error})"
    return None
