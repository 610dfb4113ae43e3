"""One function of a model as Python runs it, on records or on the addresses that kernels pass.

Like the generated wrappers (passing.py): fill the outputs, call the user's function, tidy up the outputs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pomdplite.compile import addresses
from pomdplite.compile.definition import Definition
from pomdplite.compile.faults import FaultKind, FunctionFault, distribution_fault, likelihood_fault
from pomdplite.compile.noise import Noise, add_noise, nodes, noise_of, wrapped
from pomdplite.errors import ModelError
from pomdplite.model.functions import FUNCTIONS, OUTPUTS, Kind, ModelFunction, Returns
from pomdplite.model.records import float_fields, to_words
from pomdplite.rng import noise_from, uniform

_ONE_RECORD = (Kind.NEXT_HIDDEN, Kind.DRAWN_HIDDEN)  # outputs that the user's function sees as a record
_IN_PLACE = (Kind.MOVED_HIDDEN, Kind.UPDATED_MEMORY)
_INPUTS = (Kind.STATE, Kind.HIDDEN, Kind.MEMORY, Kind.READING)
_WRITTEN_RECORDS = (Kind.NEXT_STATES, Kind.NEXT_HIDDEN, Kind.DRAWN_HIDDEN, *_IN_PLACE)
_TRANSITION = next(function for function in FUNCTIONS if function.name == "transition")
_NUMBERS = (Kind.ACTION, Kind.OBSERVATION, Kind.UNIFORM)

_Step = Callable[[Sequence[Any]], Any]  # something done with the arguments


class FunctionCall:
    """One function of a model. Its arguments are those that follow m; outputs are arrays, even of a single record."""

    def __init__(self, definition: Definition, function: ModelFunction) -> None:
        self.function = function
        self.kinds = tuple(function.arguments.values())[1:]
        self._user, self._m = definition.functions[function.name], definition.parameters.values
        self._sizes, self._definition = definition.sizes, definition
        self._extended = function.name in definition.extended
        self._noise = _noise_of(definition, function)
        self._mean_over = FunctionCall(definition, _TRANSITION) if function.name in definition.averaged else None
        self._layouts = _layouts(definition)
        self._outputs = any(kind in OUTPUTS for kind in self.kinds)
        self._written = [i for i, kind in enumerate(self.kinds) if kind in OUTPUTS or kind in _IN_PLACE]
        several = definition.sizes.next_states > 1
        self._before: list[_Step] = []
        self._pass: list[_Step] = []
        self._after: list[_Step] = []  # each may return what the wrapper returns
        for i, kind in enumerate(self.kinds):
            self._add_steps(i, kind, several)
        self._actions = definition.actions
        plain = self._actions is None or Kind.ACTION not in self.kinds
        self._as_they_are = plain and len(self._pass) == len(self.kinds) and not self._outputs

    def _add_steps(self, i: int, kind: Kind, several: bool) -> None:
        """The steps for one argument; codegen.py says the same in generated code."""
        if kind in (Kind.NEXT_STATES, Kind.NEXT_HIDDEN):
            source = self.kinds.index(Kind.STATE if kind is Kind.NEXT_STATES else Kind.HIDDEN)
            self._before.append(lambda given: _copy_record(given[source], given[i]))
            floats = float_fields(self._layouts[kind][0])
            angles = self._definition.angles["state"] if kind is Kind.NEXT_STATES else ()
            self._after.append(lambda given: _wrap(given[i], angles))
            self._after.append(lambda given: _clear_negative_zeros(given[i], floats))
        if self._noise is not None and kind in (Kind.PROBABILITIES, Kind.LIKELIHOODS):
            self._add_noise_steps(i, kind)
            return
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
        elif kind is Kind.ACTION and self._definition.actions is not None:
            records = self._definition.actions.records.view(np.recarray)
            self._pass.append(lambda given: records[given[i]])
        elif kind is not Kind.PROBABILITIES or several:
            self._pass.append(lambda given: given[i])

    def _add_noise_steps(self, i: int, kind: Kind) -> None:
        """The same for numbers that decide a step, and for a reading with the numbers that decide it."""
        definition, of_step = self._definition, kind is Kind.PROBABILITIES
        layout = definition.noise if of_step else definition.reading_noise
        first = 0 if of_step or definition.reading is None else definition.reading.itemsize // 8
        if layout.form == "gaussian":
            self._before.append(lambda given: _fill(given[i].view(np.float64)[first:], layout.sds))
            self._after.append(lambda given: _refuse_spread(given[i].view(np.float64)[first:]))
        if not of_step:
            assert definition.reading is not None
            record, floats = np.dtype((np.record, definition.reading)), float_fields(definition.reading)
            self._before.append(lambda given: _fill(given[i][:first], 0))
            self._pass.append(lambda given: given[i][:first].view(record)[0])
            self._after.append(lambda given: _refuse_not_finite(given[i][:first].view(record), floats))
            self._after.append(lambda given: _wrap(given[i][:first].view(record), definition.angles["reading"]))
            self._after.append(lambda given: _clear_negative_zeros(given[i][:first].view(record), floats))
        if layout.form == "given":
            self._pass.append(lambda given: given[i].view(np.float64)[first:])
        elif self._extended:
            spread = np.dtype((np.record, layout.spread))
            self._pass.append(lambda given: given[i][first:].view(spread)[0])

    @property
    def noisy(self) -> bool:
        """Whether what the function writes depends on random numbers."""
        return self._noise is not None

    def normals(self, stream: Any) -> Any:
        """Standard normal numbers for one call; the stream stays where it is if the call takes none."""
        found = np.zeros(self._noise.numbers if self._noise is not None else 0)
        if len(found):
            noise_from(uniform(stream), len(found), found)
        return found

    def drawn(self, u: Any, *inputs: Any) -> list[Any]:
        """What the function writes if the standard normal numbers are u (None: 0), Gaussian noise included."""
        assert self._noise is not None
        rest, numbers = iter(inputs), np.zeros(self._noise.numbers)
        if u is not None:
            numbers[:] = u
        given = [self._allocate(kind) if kind in OUTPUTS else next(rest) for kind in self.kinds]
        chances = next(i for i, kind in enumerate(self.kinds) if kind in (Kind.PROBABILITIES, Kind.LIKELIHOODS))
        if self._noise.numbers and not self._noise.gaussian:
            given[chances].view(np.float64)[-self._noise.numbers :] = numbers
        self.run(given)
        if self._noise.gaussian:
            rows, sds = (given[self._written[i]].view(np.uint64).reshape(1, -1) for i in (0, -1))
            add_noise(self._noise, rows, 0, sds, sds.shape[1] - self._noise.numbers, numbers)
        return [given[i] for i in self._written]

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
            returned = self._user(self._m, *passed) if self._mean_over is None else self._mean(given, passed)
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

    def _mean(self, given: Sequence[Any], passed: Sequence[Any]) -> float:
        """The mean over the next states of a value that depends on them."""
        assert self._mean_over is not None
        count = self._definition.noise.count
        if count > 0:
            drawn = ((self._mean_over.drawn(u, *given)[0][0], weight) for u, weight in zip(*nodes(count), strict=True))
            return sum((weight * self._user(self._m, *passed, record) for record, weight in drawn), 0.0)
        y, p = self._mean_over(*given)
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
        if self.function.returns is Returns.DENSITY:
            density = float(returned)
            if not 0 <= density < np.inf:
                raise FunctionFault(FaultKind.NEGATIVE if density < 0 else FaultKind.NUMBER, density)
            return float(np.log(density)) if density > 0 else -np.inf
        if self.function.returns is Returns.ACTION and self._actions is not None:
            returned = self._actions.returned(returned)
            if returned < 0:
                raise FunctionFault(FaultKind.NUMBER, np.nan)
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
            elif self._noise is not None and kind in (Kind.PROBABILITIES, Kind.LIKELIHOODS):
                given[i][: len(given[i]) if self._noise.gaussian else len(given[i]) - self._noise.numbers] = 0
            elif kind is Kind.PROBABILITIES:
                given[i][:] = np.arange(len(given[i])) == 0
            elif kind is Kind.LIKELIHOODS:
                given[i][:] = np.arange(len(given[i])) == len(given[i]) - 1
            elif kind in (Kind.SUMMARY, Kind.ACTION_FLAGS):
                given[i][:] = 0.0
            elif kind is Kind.DRAWN_HIDDEN:
                given[i].view(np.uint64)[:] = 0
        return float(result) if self.function.return_type == "float64" else result

    def from_kernel(self, *given: Any) -> list[Any]:
        """The arguments that kernels pass, numbers and addresses, as `run` takes them."""
        if Kind.OBSERVATION in self.kinds and self._definition.reading is not None:  # it lies behind the next state
            at, after = self.kinds.index(Kind.OBSERVATION), len(self.kinds) - 1 - self.kinds[::-1].index(Kind.STATE)
            reading = self._from_kernel(Kind.READING, given[after] + self._definition.state.itemsize)
            rest = [self._from_kernel(k, v) for i, (k, v) in enumerate(zip(self.kinds, given, strict=True)) if i != at]
            return [*rest[:at], reading, *rest[at:]]
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
    chances = floats, definition.noise.count or sizes.next_states
    seen: tuple[np.dtype[Any], int] = (floats, sizes.observations + 1)
    if definition.reading is not None:
        seen = np.dtype(np.uint64), definition.reading.itemsize // 8 + definition.reading_noise.count
    return {
        Kind.STATE: (state, 1),
        Kind.HIDDEN: (theta, 1),
        Kind.MEMORY: (memory, 1),
        Kind.STREAM: (np.dtype(np.uint64), 1),
        Kind.NEXT_STATES: (state, sizes.next_states),
        Kind.PROBABILITIES: chances,
        Kind.LIKELIHOODS: seen,
        **({} if definition.reading is None else {Kind.READING: (np.dtype((np.record, definition.reading)), 1)}),
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


def _noise_of(definition: Definition, function: ModelFunction) -> Noise | None:
    """The noise of what a function writes; None if it lists what may happen."""
    kinds = function.arguments.values()
    if Kind.PROBABILITIES in kinds and definition.noise.count > 0:
        return noise_of(definition.noise)
    if Kind.LIKELIHOODS in kinds and definition.reading is not None:
        return noise_of(definition.reading_noise)
    return None


def _fill(numbers: Any, values: Any) -> None:
    numbers[:] = values


def _wrap(records: Any, angles: Sequence[str]) -> None:
    """Wrap these fields to [−π, π)."""
    for name in angles:
        field = records[name].reshape(-1)
        for i, angle in enumerate(field.tolist()):
            field[i] = wrapped(angle)
        records[name] = field.reshape(records[name].shape)


def _refuse_spread(sds: Any) -> None:
    """Raise a fault if a standard deviation is negative or not finite."""
    wrong = sds[~(np.isfinite(sds) & (sds >= 0))]
    if wrong.size:
        raise FunctionFault(FaultKind.SPREAD, float(wrong[0]))


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
