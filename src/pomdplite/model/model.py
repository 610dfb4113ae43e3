"""The model: the paper's tuple (X, Θ, A, O, T, Z, R, γ), one function per symbol.

A user subclasses `Model`; everything else (sampling, likelihoods, means, bonus, graphs) is derived.
"""

import inspect
import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from pomdplite.compile.definition import ARGUMENTS, Source, parameters
from pomdplite.errors import ModelError, UsageError
from pomdplite.model.compiled import CompiledModel
from pomdplite.model.records import empty_record
from pomdplite.model.spaces import Hidden, Population, State

_RESERVED = {"source", "plain", "functions", "factored", "evolves", "name", "episode_horizon", "kernel_view"}
_NOT_PARAMETERS = {
    "compiled",
    "next_states",
    "horizon",
    "beta",
    "exploration",
    "search_depth",
    "return_range",
    "summary_size",
    "memory",
}
_PRIOR_DRAWS = 256  # of a Population, for what needs to know some values of θ before there is a belief
_SMALLEST_TAIL = 1e-4  # an episode without a step limit ends where γ^t falls below this
_LONGEST_EPISODE = 10_000  # steps, where γ = 1 gives no such point


class Model:
    """A POMDP-lite. Subclass it and give the paper's tuple:

    state         X: `State(...)`, the layout of the observed state x
    hidden        Θ: `Hidden(...)`, the hidden components, their values and prior
    actions       A: names; functions see the number a
    observations  O: names; may be empty
    discount      γ, at most 1

    transition(m, x, theta, a, y)        T: y starts as a copy of x; change what changes.
                                         With outcomes = n > 1: transition(m, x, theta, a, y, p) writes next
                                         states into y[0] … y[n-1] and their probabilities into p.
    observation(m, y, theta, a, z)       Z: z[o] = P(o | y, θ', a); left at zero it means "no observation"
    reward(m, x, theta, a)               R
    terminal(m, x)                       whether x ends the episode; never, if left out
    legal(m, x, a)                       whether a may be chosen in x; always, if left out
    depends(m, x, a)                     the number of the one component of θ that T, Z, R and φ of (x, a)
                                         depend on, -1 for none; left out, θ is listed as a whole
    evolve(m, x, theta, a, theta_next)   φ: theta_next starts as a copy of theta; left out, θ is constant
    start(self, x)                       writes the first state; all zeros, if left out

    `m` holds the model's own numbers and numeric arrays: whatever the class or `__init__` sets. The functions
    are compiled, so they may use numbers, arrays, `math` and loops. Set compiled = False to run them as they are.

    A θ that cannot be listed is hidden = Population(...), with

    prior(m, theta, random)              draws θ; uniform(random) gives numbers in [0, 1)
    move(m, x, theta, random)            one step of a Markov chain that leaves the distribution of θ given x as it is;
                                         x must hold all that the history says of θ; returns whether θ changed
    summary(m, theta, f)                 what a person wants to see of θ, in f[0] … f[summary_size - 1]

    Hints, all optional, for planners that search:

    heuristic(m, x)                      a guess of the value of x
    policy(m, x, u)                      a legal action to play on with, u uniform in [0, 1)
    upper(m, x, theta)                   a bound from above on the value of x to an agent who knows θ
    preferred(m, x, h, f)                f[a] = 1 for legal actions worth trying in x after a history; h is what
    remember(m, x, a, y, o, h)           keeps of it: a record `memory = State(...)`, zeros at first, updated after
                                         action a led from x to y with observation o
    exploration                          UCT's constant
    search_depth                            steps that UCT looks ahead, where looking further tells nothing
    return_range                         about how much the returns of policies differ: POMCP's constant

    Optional: beta (a good β for this problem), horizon (where an episode is cut), success(self, x, theta),
    draw(self, x, marginals) and paint(self, axes, x, marginals) for pictures.
    """

    state: State = State()
    hidden: Any  # Hidden, or Population
    actions: Sequence[str]
    observations: Sequence[str] = ()
    discount: float
    next_states: int = 1
    compiled: bool = True
    beta: float | None = None
    horizon: int | None = None
    exploration: float | None = None
    search_depth: int | None = None
    return_range: float | None = None
    summary_size: int = 0
    memory: State = State()
    _optional: ClassVar[tuple[str, ...]] = (
        "observation",
        "terminal",
        "legal",
        "depends",
        "evolve",
        "heuristic",
        "policy",
        "prior",
        "move",
        "summary",
        "upper",
        "preferred",
        "remember",
    )

    # ------------------------------------------------------------------ what a model may override

    def start(self, x: Any) -> None:
        """Write the first observed state into x (zeros so far)."""

    # ------------------------------------------------------------------ names

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.actions)} actions, {len(self.observations)} observations>"

    @property
    def name(self) -> str:
        """What messages call this model."""
        return type(self).__name__

    def action_index(self, action: int | str) -> int:
        """The number of an action given by number or name."""
        return _index(action, self.actions, "action")

    def observation_index(self, observation: int | str | None) -> int:
        """The number of an observation given by number or name; None is null."""
        if observation is None:
            return len(self.observations)
        if isinstance(observation, (int, np.integer)) and int(observation) == len(self.observations):
            return int(observation)
        return _index(observation, self.observations, "observation")

    def observation_name(self, o: int) -> str:
        """The name of observation number o; null is "–"."""
        return "–" if o == len(self.observations) else str(self.observations[o])

    def initial_state(self) -> Any:
        """The first observed state, a record."""
        x = empty_record(self.state.dtype)
        try:
            self.start(x)
        except Exception as error:
            raise ModelError(f"{self.name}.start raised {type(error).__name__}: {error}") from error
        return x

    def state_record(self, x: Any) -> Any:
        """A state given as record, dictionary or tuple, as a record."""
        names = self.state.dtype.names or ()
        if isinstance(x, np.void) and x.dtype.names == names:
            return x
        fields = dict(zip(names, x, strict=False)) if isinstance(x, (tuple, list)) and len(x) == len(names) else x
        if not isinstance(fields, dict) or set(fields) != set(names):
            raise UsageError(f"{self.name}: a state has the fields {', '.join(names)}; got {x!r}.")
        record = empty_record(self.state.dtype)
        for field, value in fields.items():
            labels = self.state.labels.get(field, ())
            try:
                given = np.asarray(labels.index(value) if value in labels else value)
                record[field] = given
            except (TypeError, ValueError):
                given = None
            if given is None or not np.array_equal(np.asarray(record[field]), given):
                raise UsageError(f"{self.name}: {value!r} is not a value of the state's field {field}.") from None
        return record

    def describe_state(self, x: Any) -> str:
        """A state in words."""
        return self.state.describe(x)

    @property
    def episode_horizon(self) -> int:
        """The most steps an episode takes: horizon, or where the discount makes the rest negligible."""
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
            form = self.__dict__["_compiled_form"] = CompiledModel(self, define(self))
        return form

    def __setattr__(self, name: str, value: Any) -> None:
        """A model that has been compiled or planned with does not change under its planners."""
        if name in _RESERVED:
            raise ModelError(f"{type(self).__name__}.{name}: the library uses that name; choose another.")
        if "_compiled_form" in self.__dict__ and not name.startswith("_"):
            raise ModelError(f"{self.name} is already in use, so {name} cannot change; make a new model instead.")
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        """Addresses and compiled code stay in their process."""
        return {key: value for key, value in self.__dict__.items() if key != "_compiled_form"}


def define(model: Model) -> Source:
    """The model's functions, layouts and parameters, checked for presence and form."""
    _check_tuple(model)
    functions = {}
    for name in ARGUMENTS:
        function = getattr(type(model), name, None)
        if function is None:
            if name not in model._optional:
                raise ModelError(f"{model.name} has no function {name}; see help(pomdplite.Model).")
            continue
        _check_arguments(model, name, function)
        functions[name] = function
    if isinstance(model.hidden, Population):
        if "prior" not in functions:
            raise ModelError(f"{model.name}.hidden is a Population, so the model needs prior(m, theta, random).")
        for name in ("depends", "evolve"):
            if name in functions:
                raise ModelError(f"{model.name}: {name} is not for a Population; its θ is constant and whole.")
    if model.observations and "observation" not in functions:
        raise ModelError(f"{model.name} names observations but has no function observation(m, y, theta, a, z).")
    constants = _constants(model)
    return Source(
        model.name, model.state.dtype, model.hidden.dtype, functions,
        parameters(constants, model.next_states, len(model.observations), model.summary_size, len(model.actions)),
        model.next_states, len(model.observations), model.summary_size, len(model.actions), model.memory.dtype,
        {k: type(v).__name__ for k, v in constants.items() if not callable(v)},
    )  # fmt: skip


def _index(given: int | str, names: Sequence[str], what: str) -> int:
    if isinstance(given, str):
        if given in names:
            return list(names).index(given)
    elif isinstance(given, (int, np.integer)) and 0 <= int(given) < len(names):
        return int(given)
    raise UsageError(f"no {what} {given!r}; there are {', '.join(map(str, names)) or 'none'}.")


def _check_tuple(model: Model) -> None:
    if not isinstance(getattr(model, "state", None), State):
        raise ModelError(f"{model.name}.state must be a pomdplite.State(...).")
    if not isinstance(getattr(model, "hidden", None), (Hidden, Population)):
        raise ModelError(f"{model.name}.hidden must be a pomdplite.Hidden(...) or pomdplite.Population(...).")
    actions = getattr(model, "actions", None)
    if not isinstance(actions, (tuple, list)) or not actions:
        raise ModelError(f"{model.name}.actions must list at least one action name.")
    if not isinstance(model.memory, State):
        raise ModelError(f"{model.name}.memory must be a pomdplite.State(...).")
    for what, names in (("actions", actions), ("observations", model.observations)):
        if not isinstance(names, (tuple, list)) or len(set(names)) != len(names):
            raise ModelError(f"{model.name}.{what} must be a list of different names, not {names!r}.")
    discount = getattr(model, "discount", None)
    if not isinstance(discount, (int, float)) or not 0 <= discount <= 1:
        raise ModelError(f"{model.name}.discount must be a number from 0 to 1, not {discount!r}.")
    if model.beta is not None and not (isinstance(model.beta, (int, float)) and 0 <= model.beta < math.inf):
        raise ModelError(f"{model.name}.beta must be a number of at least 0, not {model.beta!r}.")
    if model.horizon is not None and not (isinstance(model.horizon, (int, np.integer)) and model.horizon >= 1):
        raise ModelError(f"{model.name}.horizon must be a whole number of at least 1, not {model.horizon!r}.")
    if model.search_depth is not None and not (
        isinstance(model.search_depth, (int, np.integer)) and model.search_depth >= 1
    ):
        raise ModelError(f"{model.name}.search_depth must be a whole number of at least 1, not {model.search_depth!r}.")
    if not isinstance(model.next_states, int) or model.next_states < 1:
        raise ModelError(f"{model.name}.next_states must be a whole number of at least 1, not {model.next_states!r}.")


def _check_arguments(model: Model, name: str, function: Any) -> None:
    expected = list(ARGUMENTS[name])
    if name == "transition" and model.next_states == 1:
        expected = expected[:-1]
    try:
        taken = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        raise ModelError(f"{model.name}.{name} must be a function ({', '.join(expected)}).") from None
    if len(taken) != len(expected):
        hint = ""
        if name == "transition" and len(taken) == len(expected) + 1:
            hint = " To give several next states with probabilities p, set next_states to the most that any action has."
        raise ModelError(
            f"{model.name}.{name} must take ({', '.join(expected)}), but takes ({', '.join(taken)}).{hint}"
        )


def _constants(model: Model) -> dict[str, Any]:
    """The numbers and arrays that the class and the instance define, by name."""
    constants: dict[str, Any] = {"discount": model.discount}
    for cls in reversed(type(model).__mro__):
        if cls is not Model and issubclass(cls, Model):
            constants.update(vars(cls))
    constants.update(model.__dict__)
    return {k: v for k, v in constants.items() if not k.startswith("_") and k not in _NOT_PARAMETERS}
