"""Describes a fault in the model that a kernel ran into: which function, at which (x, θ, a), and why."""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Words
from pomdplite.errors import ModelError
from pomdplite.model.compiled import KernelView
from pomdplite.model.records import from_words

# Fault codes that kernels return in place of a count, hence negative; -1 is "no room".
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
            component = view.model.compiled_form.interpreted.depends(view.record(s), a)
        except Exception as problem:  # noqa: BLE001  whatever the user's code raised is what is reported
            return ModelError(f"{name}.depends raised {type(problem).__name__} ({problem}) at {here}.")
        return ModelError(
            f"{name}.depends returned {component} at {here}; components are numbered 0 to {view.table.blocks - 1}, and "
            "-1 is none."
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
    return ModelError(_failed(name, where, replayed(view, s, a, component, value)))


def _failed(name: str, where: str, raised: str | None) -> str:
    found = raised or "raises no error when interpreted; check_model compares compiled and interpreted functions"
    return f"a function of {name} failed at {where}: it {found}."


def _theta(view: KernelView, s: Words, component: int, value: int) -> Any:
    row = view.present_rows(s)[view.table.offsets[component] + value]
    return from_words(view.model.hidden.dtype, view.table.theta[row])


def _evolved(view: KernelView, s: Words, a: int, component: int, value: int) -> str:
    theta = _theta(view, s, component, value)
    after = view.model.compiled_form.interpreted.evolve(view.record(s), theta, a)
    fields = {n: np.asarray(after[n]).tolist() for n in view.model.hidden.dtype.names or ()}
    note = "" if view.table.joint else f" (only {view.table.hidden.components[component].name} may change here)"
    return f"theta becomes {fields}, which is not in Θ{note}"


def replayed(view: KernelView, s: Words, a: int, component: int, value: int) -> str | None:
    """What the functions raise when run interpreted, as in `raised ValueError (…)`; None if nothing."""
    return _raised(view, s, _theta(view, s, component, value), a)


def raised_in(view: KernelView, x: Words, theta: Words, a: int) -> ModelError:
    """The error for a simulated step from x and θ in which a function of the model raised."""
    name, hidden = view.model.name, view.model.hidden
    record = from_words(hidden.dtype, theta)
    view.model.compiled_form.functions.failures.clear()
    where = f"x = ({view.describe(x)}), theta: {hidden.describe(record)}, action {view.model.actions[a]!r}"
    return ModelError(_failed(name, where, _raised(view, x, record, a)))


def _raised(view: KernelView, s: Words, theta: Any, a: int) -> str | None:
    run, x = view.model.compiled_form.interpreted, view.record(s)
    try:
        after = run.evolve(x, theta, a)
        run.reward(x, theta, a)
        for y, _ in run.transition(x, theta, a):
            run.observation(y, after, a)
    except Exception as error:  # noqa: BLE001  whatever the user's code raised is what is reported
        return f"raised {type(error).__name__} ({error})"
    return None
