"""A model's functions as Python runs them: the reference that compiled code must equal.

`Interpreted` calls them on records. `callbacks` hands the same calls to kernels, for models that cannot be compiled
(`compiled = False`, a simulator) and for debugging (NUMBA_DISABLE_JIT=1). Both follow the table of model functions,
step by step like the generated wrappers (codegen.py): fill the outputs, call the user's function, tidy up the outputs.
"""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pomdplite.compile import addresses, faults
from pomdplite.compile.definition import Definition, KernelFunctions
from pomdplite.compile.faults import FaultKind, FunctionFault, distribution_fault, likelihood_fault
from pomdplite.errors import ModelError
from pomdplite.model.functions import FUNCTIONS, OUTPUTS, Kind, ModelFunction, Returns
from pomdplite.model.records import float_fields, to_words

_ONE_RECORD = (Kind.NEXT_HIDDEN, Kind.DRAWN_HIDDEN)  # outputs that the user's function sees as a record
_IN_PLACE = (Kind.MOVED_HIDDEN, Kind.UPDATED_MEMORY)
_INPUTS = (Kind.STATE, Kind.HIDDEN, Kind.MEMORY)
_WRITTEN_RECORDS = (Kind.NEXT_STATES, Kind.NEXT_HIDDEN, Kind.DRAWN_HIDDEN, *_IN_PLACE)
_TRANSITION = next(function for function in FUNCTIONS if function.name == "transition")
_NUMBERS = (Kind.ACTION, Kind.OBSERVATION, Kind.UNIFORM)


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
        self.calls = {f.name: _Call(definition, f) for f in FUNCTIONS if f.name in definition.functions}
        for name, call in self.calls.items():
            if name not in vars(Interpreted):
                setattr(self, name, call)

    def transition(self, x: Any, theta: Any, a: int) -> list[tuple[Any, float]]:
        """T: every next state with its probability, as the model gives them."""
        y, p = self.calls["transition"](x, theta, a)
        return [(y[i], probability) for i, probability in enumerate(p.tolist())]

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


_Step = Callable[[Sequence[Any]], Any]  # something done with the arguments


class _Call:
    """One function of a model. Its arguments are those that follow m; outputs are arrays, even of a single record."""

    def __init__(self, definition: Definition, function: ModelFunction) -> None:
        self.function = function
        self.kinds = tuple(function.arguments.values())[1:]
        self._user, self._m = definition.functions[function.name], definition.parameters.values
        self._sizes = definition.sizes
        self._mean_over = _Call(definition, _TRANSITION) if function.name in definition.extended else None
        self._layouts = _layouts(definition)
        self._outputs = any(kind in OUTPUTS for kind in self.kinds)
        self._written = [i for i, kind in enumerate(self.kinds) if kind in OUTPUTS or kind in _IN_PLACE]
        several = definition.sizes.next_states > 1
        self._before: list[_Step] = []
        self._pass: list[_Step] = []
        self._after: list[_Step] = []  # each may return what the wrapper returns
        for i, kind in enumerate(self.kinds):
            self._add_steps(i, kind, several)
        self._as_they_are = len(self._pass) == len(self.kinds) and not self._outputs

    def _add_steps(self, i: int, kind: Kind, several: bool) -> None:
        """The steps for one argument; codegen.py says the same in generated code."""
        if kind in (Kind.NEXT_STATES, Kind.NEXT_HIDDEN):
            source = self.kinds.index(Kind.STATE if kind is Kind.NEXT_STATES else Kind.HIDDEN)
            self._before.append(lambda given: _copy_record(given[source], given[i]))
            floats = float_fields(self._layouts[kind][0])
            self._after.append(lambda given: _clear_negative_zeros(given[i], floats))
        if kind in _WRITTEN_RECORDS:
            written = float_fields(self._layouts[kind][0])
            self._after.append(lambda given: _refuse_not_finite(given[i], written))
        if kind in (Kind.PROBABILITIES, Kind.LIKELIHOODS, Kind.ACTION_FLAGS):
            self._before.append(lambda given: given[i].fill(0.0))
        if kind is Kind.NEXT_STATES:
            self._after.append(lambda given: len(given[i]))
        elif kind is Kind.PROBABILITIES and not several:
            self._after.append(lambda given: given[i].fill(1.0))
        elif kind is Kind.PROBABILITIES:
            self._after.append(lambda given: _refuse(distribution_fault(given[i])))
        elif kind is Kind.LIKELIHOODS:
            self._after.append(lambda given: _refuse(likelihood_fault(given[i])))
        elif kind is Kind.SUMMARY:
            self._after.append(lambda given: _refuse_not_finite({"f": given[i]}, ["f"]))
        elif kind is Kind.ACTION_FLAGS:
            self._after.append(lambda given: int((given[i] > 0).sum()))
        if kind is Kind.LIKELIHOODS:
            self._pass.append(lambda given: given[i][:-1])
        elif kind in _ONE_RECORD or (kind is Kind.NEXT_STATES and not several):
            self._pass.append(lambda given: given[i][0])
        elif kind is Kind.NEXT_STATES:
            self._pass.append(lambda given: given[i].view(np.recarray))
        elif kind is not Kind.PROBABILITIES or several:
            self._pass.append(lambda given: given[i])

    def __call__(self, *inputs: Any) -> Any:
        """The value that the function returns for these inputs, or the outputs that it writes."""
        given: Sequence[Any] = inputs
        if self._outputs:
            rest = iter(inputs)
            given = [self._allocate(kind) if kind in OUTPUTS else next(rest) for kind in self.kinds]
        value = self.run(given)
        if self.function.returns is Returns.NOTHING:
            written = [given[i][0] if self.kinds[i] in _ONE_RECORD else given[i] for i in self._written]
            return written[0] if len(written) == 1 else written
        return value == 1 if self.function.returns is Returns.FLAG else value

    def run(self, given: Sequence[Any]) -> Any:
        """Call the user's function and return what its wrapper returns to kernels."""
        for step in self._before:
            step(given)
        passed = given if self._as_they_are else [step(given) for step in self._pass]
        with np.errstate(divide="raise", invalid="raise"):
            returned = self._user(self._m, *passed) if self._mean_over is None else self._mean(passed)
        if self.function.returns is Returns.FLAG:
            return 1 if returned else 0
        if self.function.returns is Returns.NOTHING:
            result = 0
            for step in self._after:
                count = step(given)
                result = result if count is None else count
            return result
        for step in self._after:
            step(given)
        if returned is None:
            raise ModelError(f"{self.function.name} returned nothing")
        return self._checked(returned)

    def written(self, *inputs: Any) -> Any:
        """The first output as the user's function writes it, unchecked."""
        rest = iter(inputs)
        given = [self._allocate(kind) if kind in OUTPUTS else next(rest) for kind in self.kinds]
        for step in self._before:
            step(given)
        self._user(self._m, *(step(given) for step in self._pass))
        return given[self._written[0]]

    def _mean(self, passed: Sequence[Any]) -> float:
        """The mean over the next states of a value that depends on them."""
        assert self._mean_over is not None
        y, p = self._mean_over(*passed)
        means = (
            probability * self._user(self._m, *passed, record)
            for record, probability in zip(y, p.tolist(), strict=True)
            if probability > 0
        )
        return sum(means, 0.0)

    def _checked(self, returned: Any) -> float | int:
        """The value as a number in its range."""
        if self.function.returns is Returns.NUMBER:
            number = float(returned)
            if not np.isfinite(number):
                raise FunctionFault(FaultKind.NUMBER, number)
            return number
        index = int(returned)
        if self.function.returns is Returns.ACTION and not 0 <= index < self._sizes.actions:
            raise FunctionFault(FaultKind.ACTION, index)
        if self.function.returns is Returns.COMPONENT and not -1 <= index < self._sizes.components:
            raise FunctionFault(FaultKind.COMPONENT, index)
        return index

    def make_harmless(self, given: Sequence[Any]) -> Any:
        """Fill the outputs as after a fault (faults.py), and return what the wrapper then returns."""
        result = self.function.harmless
        for i, kind in enumerate(self.kinds):
            if kind in (Kind.NEXT_STATES, Kind.NEXT_HIDDEN):
                source = self.kinds.index(Kind.STATE if kind is Kind.NEXT_STATES else Kind.HIDDEN)
                _copy_record(given[source], given[i])
                result = len(given[i]) if kind is Kind.NEXT_STATES else result
            elif kind is Kind.PROBABILITIES:
                given[i][:] = np.arange(len(given[i])) == 0
            elif kind is Kind.LIKELIHOODS:
                given[i][:] = np.arange(len(given[i])) == len(given[i]) - 1
            elif kind in (Kind.SUMMARY, Kind.ACTION_FLAGS):
                given[i][:] = 0.0
            elif kind is Kind.DRAWN_HIDDEN:
                given[i].view(np.uint64)[:] = 0
        return float(result) if self.function.returns is Returns.NUMBER else result

    def from_kernel(self, *given: Any) -> list[Any]:
        """The arguments that kernels pass, numbers and addresses, as `run` takes them."""
        return [self._from_kernel(kind, value) for kind, value in zip(self.kinds, given, strict=True)]

    def _from_kernel(self, kind: Kind, given: Any) -> Any:
        if kind in _NUMBERS:
            return given
        array = addresses.memory(given, *self._layouts[kind])
        if kind in _INPUTS:
            array.flags.writeable = False
        return array if kind in OUTPUTS or kind is Kind.STREAM else array[0]

    def _allocate(self, kind: Kind) -> Any:
        dtype, count = self._layouts[kind]
        return np.zeros(count, dtype)


def _layouts(definition: Definition) -> dict[Kind, tuple[np.dtype[Any], int]]:
    """The type and number of the items at an address; np.record has fields as attributes."""
    sizes, floats = definition.sizes, np.dtype(np.float64)
    state, theta, memory = (np.dtype((np.record, d)) for d in (definition.state, definition.theta, definition.memory))
    return {
        Kind.STATE: (state, 1),
        Kind.HIDDEN: (theta, 1),
        Kind.MEMORY: (memory, 1),
        Kind.STREAM: (np.dtype(np.uint64), 1),
        Kind.NEXT_STATES: (state, sizes.next_states),
        Kind.PROBABILITIES: (floats, sizes.next_states),
        Kind.LIKELIHOODS: (floats, sizes.observations + 1),
        Kind.NEXT_HIDDEN: (theta, 1),
        Kind.DRAWN_HIDDEN: (theta, 1),
        Kind.SUMMARY: (floats, sizes.summary),
        Kind.ACTION_FLAGS: (floats, sizes.actions),
        Kind.MOVED_HIDDEN: (theta, 1),
        Kind.UPDATED_MEMORY: (memory, 1),
    }


def _copy_record(record: Any, into: Any) -> None:
    """Copy a record, padding zeroed, into every element of an array of records."""
    into.view(np.uint64).reshape(len(into), -1)[:] = to_words(into.dtype, record)


def _clear_negative_zeros(records: Any, floats: list[str]) -> None:
    """Make -0.0 into 0.0, so that equal records are equal words."""
    for name in floats:
        records[name] += 0.0


def _refuse(found: tuple[int, float]) -> None:
    """Raise what `distribution_fault` found."""
    kind, number = found
    if kind != FaultKind.NONE:
        raise FunctionFault(FaultKind(kind), number)


def _refuse_not_finite(record: Any, floats: list[str]) -> None:
    """Raise a fault if one of these fields holds a number that is not finite."""
    for name in floats:
        values = np.atleast_1d(record[name])
        wrong = values[~np.isfinite(values)]
        if wrong.size:
            raise FunctionFault(FaultKind.RECORD, float(wrong.flat[0]))


def callbacks(definition: Definition) -> KernelFunctions:
    """The model's functions for kernels, run by Python."""
    failures: list[BaseException] = []
    record, words = definition.parameters.fault, {n: d.itemsize // 8 for n, d in definition.layouts.items()}

    def guarded(call: _Call) -> Callable[..., Any]:
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
