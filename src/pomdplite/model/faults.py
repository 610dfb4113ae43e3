"""Raises what a model's functions did wrong: which function, at which (x, θ, a), and why, in the user's words.

Kernels leave a fault record (compile/faults.py). For an exception that compiled code raised, the function is run once
more as Python, with the arguments on record, to find its message.
"""

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from pomdplite import rng
from pomdplite.compile.errors import no_parameter
from pomdplite.compile.faults import KIND, NUMBER, SLOT, FaultKind, FunctionFault, places
from pomdplite.compile.jit import Words
from pomdplite.errors import ModelError
from pomdplite.model.functions import FUNCTIONS, Kind, ModelFunction
from pomdplite.model.readings import Reading
from pomdplite.model.records import float_fields, from_words

_REPLAYS = 100  # of a function that draws random numbers, which are not on record

if TYPE_CHECKING:
    from pomdplite.model.compiled import CompiledModel


class Fault:
    """A fault on record."""

    def __init__(self, form: "CompiledModel", record: Words) -> None:
        self.form = form
        self.kind = FaultKind(int(record[KIND]))
        self.function: ModelFunction = FUNCTIONS[int(record[SLOT]) - 1]
        self.number = float(record.view(np.float64)[NUMBER])
        layouts = form.definition.layouts
        self.arguments: dict[str, Any] = {}
        for place in places(self.function, {name: dtype.itemsize // 8 for name, dtype in layouts.items()}):
            words = record[place.at : place.at + place.words]
            if place.layout is not None:
                self.arguments[place.name] = from_words(layouts[place.layout], words)
            else:
                self.arguments[place.name] = words.view(np.float64 if place.kind is Kind.UNIFORM else np.int64)[0]

    @property
    def place(self) -> str:
        """`x = (row=1 col=2), theta: rocks[3]=good, action 'check-3'`."""
        return place_of(self.form, self.arguments)

    def text(self, raised: BaseException | None) -> str:
        """The fault as a sentence; `raised` is the exception of an interpreted function."""
        if self.kind is FaultKind.NO_ACTION:
            return f"no action is legal in {place_of(self.form, {'x': self.arguments['x']})}, which is not terminal."
        if self.kind is FaultKind.RAISED and raised is None:
            raised = self._replayed()
        if isinstance(raised, FunctionFault):
            self.kind, self.number, raised = raised.kind, raised.number, None
        name = self.function.name
        if self.kind is FaultKind.RAISED:
            if raised is None:
                return f"{name} raised an error at {self.place} when compiled, but raises none as Python."
            return f"{name} raised {type(raised).__name__} at {self.place}: {explained(self.form, raised)}"
        if self.kind is FaultKind.DOMAIN:
            return f"{name} leaves the hidden domain at {self.place}: {_evolved(self.form, self.arguments)}."
        if self.kind is FaultKind.RECORD:
            field, as_python = _field(self.form, name, self.arguments)
            return f"{name} writes {self.number} {field}at {self.place}{as_python}."
        return fault_text(self.form, name, self.place, self.kind, self.number)

    def _replayed(self) -> BaseException | None:
        """What the function raises as Python, with the arguments on record."""
        call, kinds = self.form.interpreted.calls[self.function.name], self.function.arguments
        draws = Kind.STREAM in kinds.values() or call.noisy
        for attempt in range(_REPLAYS if draws else 1):
            given = {**self.arguments, **{n: rng.stream(attempt) for n, kind in kinds.items() if kind is Kind.STREAM}}
            try:
                if call.noisy:
                    call.drawn(call.normals(rng.stream(attempt)), *(given[name] for name in kinds if name in given))
                else:
                    call(*(given[name] for name in kinds if name in given))
            except Exception as error:  # noqa: BLE001  whatever the user's code raises is what is reported
                return error
        return None


def place_of(form: "CompiledModel", arguments: dict[str, Any]) -> str:
    """The arguments of a function as text."""
    model, parts = form.model, []
    for name in ("x", "y"):
        if name in arguments:
            parts.append(f"{name} = ({model.describe_state(arguments[name])})")
    if "theta" in arguments:
        parts.append(f"theta: {model.hidden.describe(arguments['theta'])}")
    if "z" in arguments and isinstance(model.observations, Reading):
        parts.append(f"the reading {model.observations.describe(arguments['z'])}")
    if "a" in arguments:
        a = int(arguments["a"])
        parts.append(f"action {model.actions[a]!r}" if 0 <= a < len(model.actions) else f"action {a}")
    return ", ".join(parts) or "the prior"


def fault_text(form: "CompiledModel", name: str, where: str, kind: FaultKind, number: float) -> str:
    """What the function did wrong at this place."""
    model = form.model
    return {
        FaultKind.NUMBER: f"{name} is {number} at {where}.",
        FaultKind.RECORD: f"{name} writes {number} at {where}.",
        FaultKind.PROBABILITY: f"{name} gives the probability {number} at {where}.",
        FaultKind.NEGATIVE: f"{name} gives the negative {_chance(name)} {number:g} at {where}.",
        FaultKind.SUM: f"{name} gives probabilities that sum to {number:.9g}, not 1, at {where}.",
        FaultKind.ACTION: f"{name} returns {number:.0f}, of {len(model.actions)} actions, at {where}.",
        FaultKind.COMPONENT: (
            f"{name} returned {number:.0f} at {where}; components are numbered 0 to "
            f"{len(model.hidden.components) - 1}, and -1 is none."
        ),
        FaultKind.DENSITY_ZERO: f"{_density_of(name)} is 0 for what {name} draws at {where}.",
        FaultKind.SPREAD: f"{name} gives the standard deviation {number:g} at {where}; it must be at least 0.",
        FaultKind.DIFFERS: f"a function gives different results for the same arguments at {where}.",
    }[kind]


def _density_of(name: str) -> str:
    return "density" if name == "transition" else "likelihood"


def _chance(name: str) -> str:
    return "density" if name in ("density", "likelihood") else "probability"


def explained(form: "CompiledModel", error: BaseException) -> str:
    """The message of an exception; for a missing parameter, what is missing and why."""
    missing = re.search(r"'Parameters' object has no attribute '(\w+)'", str(error))
    if not missing:
        return str(error)
    name = missing[1]
    return form.definition.left_out.get(name, no_parameter(name))


def _field(form: "CompiledModel", name: str, arguments: dict[str, Any]) -> tuple[str, str]:
    """`into y.v `, where the function run as Python shows it; or else what it raises as Python."""
    if name not in ("transition", "evolve") or form.definition.noise.form == "given":
        return "", ""
    dtype = form.definition.state if name == "transition" else form.definition.theta
    output = "y" if name == "transition" else "theta_next"
    try:
        records = form.interpreted.calls[name].written(*(arguments[n] for n in ("x", "theta", "a")))
    except Exception as error:  # noqa: BLE001  compiled code computes on with nan where Python refuses to
        return "", f"; as Python it raises {type(error).__name__}: {error}"
    for field in float_fields(dtype):
        if not np.all(np.isfinite(records[field])):
            return f"into {output}.{field} ", ""
    return "", ""


def _evolved(form: "CompiledModel", arguments: dict[str, Any]) -> str:
    after = form.interpreted.evolve(*(arguments[n] for n in ("x", "theta", "a")))
    fields = {n: np.asarray(after[n]).tolist() for n in form.definition.theta.names or ()}
    return f"theta becomes {fields}"


def raise_fault(form: "CompiledModel") -> None:
    """Raise a ModelError for the fault on record, if there is one, and clear the record."""
    record = form.definition.parameters.fault
    if record[KIND] == 0:
        return
    failures = form.functions.failures
    raised = failures[0] if failures else None
    fault = take_fault(form)
    if isinstance(raised, KeyboardInterrupt):
        raise raised
    raise ModelError(f"{form.model.name}: {fault.text(raised)}")


def take_fault(form: "CompiledModel") -> Fault:
    """The fault on record, which is cleared."""
    fault = Fault(form, form.definition.parameters.fault)
    clear_fault(form)
    return fault


def clear_fault(form: "CompiledModel") -> None:
    """Forget the fault on record."""
    form.definition.parameters.fault[:] = 0
    form.functions.failures.clear()
