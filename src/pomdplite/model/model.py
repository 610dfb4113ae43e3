"""The model: the paper's tuple (X, Θ, A, O, T, Z, R, γ), one function per symbol.

A user subclasses `Model`; everything else (sampling, likelihoods, means, bonus, graphs) is derived.
"""

import inspect
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from pomdplite.compile.jit import Words
from pomdplite.errors import ModelError, UsageError, shown
from pomdplite.model.actions import Action
from pomdplite.model.compiled import CompiledModel
from pomdplite.model.define import define
from pomdplite.model.functions import documentation
from pomdplite.model.interface import ModelInterface
from pomdplite.model.policy_files import PolicyFiles
from pomdplite.model.readings import Reading
from pomdplite.model.records import empty_record, to_words
from pomdplite.model.spaces import State

_SMALLEST_TAIL = 1e-4  # an episode without a horizon ends where γ^t falls below this
_NAMED = 30  # names that a message lists
_LONGEST_EPISODE = 10_000  # steps, where γ = 1 gives no such point


class Model(ModelInterface):
    """A POMDP-lite. Subclass it and give the paper's tuple:

    state         X: `State(...)`, the layout of the observed state x
    hidden        Θ: `Hidden(...)`, the hidden components, their values or distributions; or `Population(...)`; or
                  `Dirichlet(...)`, unknown probabilities
    actions       A: names, functions see the number a; or `Action(...)`, ranges of numbers, functions read `a.<field>`
    observations  O: names; may be empty; or `Reading(...)`, numbers that a sensor reads
    noise         of the next state, if it is not listed: `Gaussian(...)`, or how many normal numbers a step draws
    discount      γ, at most 1
    grid          optional: `Grid(...)`, points of a continuous x between which planners interpolate values

    `m` holds the model's parameters: the numbers and numeric arrays that the class or `__init__` sets. The functions
    are compiled, so they may use numbers, arrays, `math` and loops; with `compiled = False` they run as Python.

    Settings, all optional: `next_states`, `compiled`, `bounds_check`, `horizon`, `beta`, `exploration`, `search_depth`,
    `return_range`, `summary_size` and `memory`. Methods, all optional: `start(self, x)`, `success(self, x, theta)`,
    `draw(self, x, marginals)` and `paint(self, axes, x, marginals)`.
    """

    policy_files: PolicyFiles | None = None  # of a model that comes from another program's file

    def __init_subclass__(cls, **options: Any) -> None:
        """Refuse attributes that would hide a method the library calls."""
        super().__init_subclass__(**options)
        for name, value in vars(cls).items():
            library = _LIBRARY.get(name)
            if name == "compiled_form" or (callable(library) and not callable(value)):
                raise _reserved(cls, name)

    # ------------------------------------------------------------------ names

    def __repr__(self) -> str:
        seen = "readings" if self.reading is not None else f"{len(self.observations)} observations"
        return f"<{self.name}: {len(self.actions)} actions, {seen}>"

    @property
    def name(self) -> str:
        """What messages call this model."""
        return type(self).__name__

    def action_index(self, action: Any) -> int:
        """The number of an action given by number or name.

        If it has fields, their values may be given, too, as a dictionary or tuple: the nearest listed action counts.
        """
        if isinstance(self.actions, Action) and not isinstance(action, (int, np.integer, str)):
            return self.actions.nearest(action)
        return _index(action, self.actions, "action")

    def action_values(self, action: Any) -> dict[str, Any]:
        """The values of the fields of an action, given as in `action_index`: {"force": 0.25}."""
        if not isinstance(self.actions, Action):
            raise UsageError(f"{self.name} lists its actions by name; they have no fields.")
        return self.actions.values(self.action_index(action))

    @property
    def reading(self) -> Reading | None:
        """The layout of a reading; None if observations are listed."""
        return self.observations if isinstance(self.observations, Reading) else None

    def observation_index(self, observation: int | str | None) -> int:
        """The number of an observation given by number or name; None is null."""
        if observation is None:
            return len(self.observations)
        if isinstance(observation, (int, np.integer)) and int(observation) == len(self.observations):
            return int(observation)
        return _index(observation, self.observations, "observation")

    def observation_name(self, o: Any) -> str:
        """The name of observation number o, or a reading in words; null is "–"."""
        if self.reading is not None:
            return self.reading.describe(self.reading_record(o))
        return "–" if o == len(self.observations) else str(self.observations[o])

    def initial_state(self) -> Any:
        """The initial observed state, as a record."""
        x = empty_record(self.state.dtype)
        try:
            type(self).start(self, x)  # an attribute of the object may be called start and be a parameter
        except Exception as error:
            raise ModelError(f"{self.name}.start raised {type(error).__name__}: {error}") from error
        return x

    def state_record(self, x: Any) -> Any:
        """A state given as a record, dictionary or tuple, as a record. An array of one record counts as that record."""
        return _as_record(x, self.state, f"{self.name}: a state", "state")

    def reading_record(self, o: Any) -> Any:
        """A reading given as a record, dictionary, tuple, or number if it has one field; None is a reading of zeros."""
        reading = self.reading
        if reading is None:
            raise UsageError(f"{self.name} lists its observations; it has no readings.")
        names = reading.dtype.names or ()
        if o is None:
            return empty_record(reading.dtype)
        if len(names) == 1 and not isinstance(o, (np.void, dict, tuple, list)):
            o = {names[0]: o}
        return _as_record(o, reading.space, f"{self.name}: a reading", "reading")

    def seen_words(self, y: Any, o: Any) -> tuple[Words, int]:
        """What is seen after a step, as kernels take it: the words of y, with a reading behind it, and a number.

        The number is that of the observation; 0 stands for a reading.
        """
        words = to_words(self.state.dtype, self.state_record(y))
        if self.reading is None:
            return words, self.observation_index(o)
        return np.concatenate([words, to_words(self.reading.dtype, self.reading_record(o))]), 0

    def describe_state(self, x: Any) -> str:
        """A state in words."""
        return self.state.describe(x)

    @property
    def episode_horizon(self) -> int:
        """The most steps of an episode: horizon, or until the discount makes the rest negligible."""
        if self.horizon is not None:
            return self.horizon
        if self.discount < 1:
            return max(1, math.ceil(math.log(_SMALLEST_TAIL) / math.log(self.discount))) if self.discount > 0 else 1
        return _LONGEST_EPISODE

    # ------------------------------------------------------------------ what the library derives

    @property
    def compiled_form(self) -> CompiledModel:
        """The model as planners use it: checked, compiled or interpreted, with its hidden values listed."""
        form = self.__dict__.get("_compiled_form")
        if form is None:
            form = self.__dict__["_compiled_form"] = CompiledModel(self, define(self, Model))
        return form

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse changes to a model in use, and attributes that would hide what the library calls."""
        known = getattr(type(self), name, None) if name in _LIBRARY else None
        if isinstance(known, property) or (callable(known) and not callable(value)):
            raise _reserved(type(self), name)
        if "_compiled_form" in self.__dict__ and not name.startswith("_"):
            raise ModelError(f"{self.name} is already in use, so {name} cannot change; create a new model instead.")
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Pickle without addresses and compiled code, which are valid in one process only."""
        return {key: value for key, value in self.__dict__.items() if key != "_compiled_form"}


_LIBRARY = {name: value for name, value in vars(Model).items() if not name.startswith("_")}  # what planners call

if Model.__doc__:  # None under python -OO
    Model.__doc__ = f"{inspect.cleandoc(Model.__doc__)}\n\n{documentation()}"


def _as_record(given: Any, space: State, what: str, owner: str) -> Any:
    """A record of this layout, given as a record, dictionary or tuple; what, owner: how messages name it."""
    names = space.dtype.names or ()
    if isinstance(given, np.ndarray) and given.dtype.names and given.size == 1:
        given = given.reshape(-1)[0]
    if isinstance(given, np.void):
        if given.dtype == space.dtype:
            return given
        fields: Any = {name: given[name] for name in given.dtype.names or ()}
    else:
        whole = isinstance(given, (tuple, list)) and len(given) == len(names)
        fields = dict(zip(names, given, strict=True)) if whole else given
    if not isinstance(fields, dict) or set(fields) != set(names):
        raise UsageError(f"{what} has the fields {', '.join(names)}; got {given!r}.")
    record = empty_record(space.dtype)
    for field, value in fields.items():
        labels = space.labels.get(field, ())
        try:
            number = np.asarray(labels.index(value) if value in labels else value)
            if record[field].dtype.kind == "f":
                number = number.astype(record[field].dtype)  # a field of single precision holds 0.1, rounded
            record[field] = number
        except (TypeError, ValueError):
            number = None
        if number is None or not np.array_equal(np.asarray(record[field]), number):
            name = what.partition(":")[0]
            raise UsageError(f"{name}: {value!r} is not a value of the {owner}'s field {field}.") from None
    return record


def _reserved(model: type[Model], name: str) -> ModelError:
    return ModelError(f"{model.__name__}.{name}: the library uses that name; give the attribute another name.")


def _index(given: int | str, names: Sequence[str], what: str) -> int:
    if isinstance(given, str):
        if given in names:
            return list(names).index(given)
    elif isinstance(given, (int, np.integer)) and 0 <= int(given) < len(names):
        return int(given)
    known = ", ".join(map(str, names[:_NAMED])) + (f", … ({len(names):,} in all)" if len(names) > _NAMED else "")
    raise UsageError(f"unknown {what} {shown(given)}; the model has {known or 'none'}.")
