"""A model's functions as Python runs them: the reference that compiled code must equal.

`Interpreted` calls them on records. `callbacks` hands the same calls to kernels, for models that cannot be compiled
(`compiled = False`, a simulator) and for debugging (NUMBA_DISABLE_JIT=1). Both follow the table of model functions
(function_call.py).
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from pomdplite.compile import addresses, faults
from pomdplite.compile.definition import Definition, KernelFunctions
from pomdplite.compile.faults import FaultKind, FunctionFault
from pomdplite.compile.function_call import FunctionCall
from pomdplite.model.functions import FUNCTIONS
from pomdplite.model.records import from_words, to_words


class Interpreted:
    """The model's functions on records.

    Every function that the model defines is an attribute: interpreted.upper(x, theta) takes the inputs and returns the
    value, or the outputs. The methods below are for functions that a model may leave out, or whose outputs read better
    in another form.
    """

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Any]: ...

    def __init__(self, definition: Definition) -> None:
        self.definition = definition
        self.calls = {f.name: FunctionCall(definition, f) for f in FUNCTIONS if f.name in definition.functions}
        for name, call in self.calls.items():
            if name not in vars(Interpreted):
                setattr(self, name, call)

    def transition(self, x: Any, theta: Any, a: int, u: Any = None) -> list[tuple[Any, float]]:
        """T: every next state with its probability, as the model gives them.

        With noise, the one next state that the standard normal numbers u lead to; None: all of them are 0.
        """
        if self.definition.noise.count > 0:
            return [(self.calls["transition"].drawn(u, x, theta, a)[0][0], 1.0)]
        y, p = self.calls["transition"](x, theta, a)
        return [(y[i], probability) for i, probability in enumerate(p.tolist())]

    def reading(self, y: Any, theta: Any, a: int, u: Any = None) -> Any:
        """Z, where observations are numbers: the reading that the standard normal numbers u lead to; None: all 0."""
        assert self.definition.reading is not None
        return from_words(self.definition.reading, self.calls["observation"].drawn(u, y, theta, a)[0])

    def observation(self, y: Any, theta: Any, a: int) -> Any:
        """Z: P(o | y, θ', a), null last."""
        if "observation" in self.calls:
            return self.calls["observation"](y, theta, a)
        z = np.zeros(self.definition.sizes.observations + 1)
        z[-1] = 1.0
        return z

    def terminal(self, x: Any) -> bool:
        """Whether x ends the episode."""
        return "terminal" in self.calls and self.calls["terminal"](x)

    def legal(self, x: Any, a: int) -> bool:
        """Whether action a is allowed in x."""
        return "legal" not in self.calls or self.calls["legal"](x, a)

    def evolve(self, x: Any, theta: Any, a: int) -> Any:
        """θ' = φ(θ, x, a)."""
        if "evolve" in self.calls:
            return self.calls["evolve"](x, theta, a)
        return to_words(self.definition.theta, theta).view(self.definition.theta).view(np.recarray)[0]


def callbacks(definition: Definition) -> KernelFunctions:
    """The model's functions for kernels, run by Python."""
    failures: list[BaseException] = []
    record, words = definition.parameters.fault, {n: d.itemsize // 8 for n, d in definition.layouts.items()}

    def guarded(call: FunctionCall) -> Callable[..., Any]:
        slot, kept = addresses.SLOTS[call.function.name], faults.places(call.function, words)
        order = list(call.function.arguments)[1:]

        def run(_m: int, *passed: Any) -> Any:
            given = call.from_kernel(*passed)
            try:
                return call.run(given)
            except BaseException as error:  # noqa: BLE001  ctypes would swallow it: kept, and raised by the caller
                kind, number = FaultKind.RAISED, 0.0
                if isinstance(error, FunctionFault):
                    kind, number = error.kind, error.number
                else:
                    failures.append(error)
                arguments = dict(zip(order, given, strict=True))
                values = [(p, _kept(definition, p, arguments[p.name])) for p in kept]
                faults.note(record, kind, slot, number, values)
                return call.make_harmless(given)

        return run

    pointers = {
        name: addresses.callback(call.function, guarded(call)) for name, call in Interpreted(definition).calls.items()
    }
    found = {name: address for name, (address, _) in pointers.items()}
    return KernelFunctions(found, tuple(pointer for _, pointer in pointers.values()), failures)


def _kept(definition: Definition, place: faults.Place, value: Any) -> Any:
    """An argument as the fault record keeps it."""
    return value if place.layout is None else to_words(definition.layouts[place.layout], value)
