"""From the model that a user wrote to its checked definition: presence and form of the tuple, functions, parameters."""

import inspect
import math
from typing import Any

import numpy as np

from pomdplite.compile.definition import Definition, Sizes, parameters
from pomdplite.errors import ModelError, shown
from pomdplite.model import readings
from pomdplite.model.actions import Action
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.functions import FUNCTIONS, Form, Kind, ModelFunction, Need
from pomdplite.model.grid import declared_grid
from pomdplite.model.interface import METHODS, ModelInterface, Settings, defined
from pomdplite.model.readings import Gaussian, NoiseLayout, Reading
from pomdplite.model.spaces import Distributed, Hidden, Population, State

SETTINGS = tuple(Settings.__annotations__)


def define(model: Any, base: type[ModelInterface]) -> Definition:
    """The model's functions, layouts and parameters; ModelError if something is missing or has the wrong form.

    `base` is the library's class, on top of which the user's classes set parameters.
    """
    _check_tuple(model)
    _check_settings(model)
    noise, read = _noises(model)
    form = Form(model.next_states, noise.form, read.form)
    functions = {function.name: _checked(model, function, form) for function in FUNCTIONS}
    given = {name: function for name, function in functions.items() if function is not None}
    extended = {
        function.name for function in FUNCTIONS if function.name in given and _is_extended(model, function, form)
    }
    for name in METHODS:
        if not callable(getattr(type(model), name)):
            raise ModelError(f"{model.name}.{name} must be a method; give the attribute another name.")
    sizes = Sizes(
        next_states=model.next_states,
        observations=len(model.observations),
        summary=model.summary_size,
        actions=len(model.actions),
        components=len(model.hidden.components),
    )
    words = {"state": model.state.words, "hidden": model.hidden.words, "memory": model.memory.words}
    reading = model.observations if isinstance(model.observations, Reading) else None
    if reading is not None:
        words["reading"] = reading.words
    actions = model.actions if isinstance(model.actions, Action) else None
    constants, left_out = _attributes(model, base)
    return Definition(
        title=model.name,
        state=model.state.dtype,
        theta=model.hidden.dtype,
        memory=model.memory.dtype,
        actions=actions,
        reading=None if reading is None else reading.dtype,
        noise=noise,
        reading_noise=read,
        angles={"state": model.state.angles, "reading": () if reading is None else reading.space.angles},
        functions=given,
        extended=frozenset(extended),
        bounds_check=bool(model.bounds_check),
        sizes=sizes,
        parameters=parameters(constants, sizes, words, (noise, read), actions),
        left_out=left_out,
    )


def _check_tuple(model: Any) -> None:
    if not isinstance(getattr(model, "state", None), State):
        raise ModelError(f"{model.name}.state must be a pomdplite.State(...).")
    if not isinstance(getattr(model, "hidden", None), (Hidden, Population, Dirichlet)):
        raise ModelError(
            f"{model.name}.hidden must be a pomdplite.Hidden(...), pomdplite.Population(...) or "
            "pomdplite.Dirichlet(...)."
        )
    actions = getattr(model, "actions", None)
    if not isinstance(actions, (tuple, list, Action)) or not actions:
        raise ModelError(
            f"{model.name}.actions must list at least one action name, or be a pomdplite.Action(...) with ranges."
        )
    for what, names in (("actions", actions), ("observations", model.observations)):
        if isinstance(names, (Reading, Action)) and isinstance(names, Reading) == (what == "observations"):
            continue
        if not isinstance(names, (tuple, list)) or len(set(names)) != len(names):
            other = ", or a pomdplite.Reading(...)" if what == "observations" else ""
            raise ModelError(f"{model.name}.{what} must be a list of distinct names{other}, not {names!r}.")
    discount = getattr(model, "discount", None)
    if not isinstance(discount, (int, float)) or not 0 <= discount <= 1:
        raise ModelError(f"{model.name}.discount must be a number from 0 to 1, not {discount!r}.")


def _check_settings(model: Any) -> None:
    if not isinstance(model.memory, State):
        raise ModelError(f"{model.name}.memory must be a pomdplite.State(...).")
    if model.beta is not None and not (isinstance(model.beta, (int, float)) and 0 <= model.beta < math.inf):
        raise ModelError(f"{model.name}.beta must be a finite number of at least 0, not {model.beta!r}.")
    for name, optional in (("horizon", True), ("search_depth", True), ("next_states", False)):
        value = getattr(model, name)
        if not (value is None and optional) and not (isinstance(value, (int, np.integer)) and value >= 1):
            raise ModelError(f"{model.name}.{name} must be a positive integer, not {value!r}.")
    grid = declared_grid(model)
    if grid is not None:
        grid.axes(model.state, model.name)


def _noises(model: Any) -> tuple[NoiseLayout, NoiseLayout]:
    """The noise of the model's steps and of its readings.

    `noise` may also be a parameter of a listed model: a number counts as a declaration only together with `density`,
    or in the body of a class none of whose functions uses it.
    """
    noise, read = NoiseLayout("none"), NoiseLayout("listed")
    declared: Any = getattr(model, "noise", None)
    if isinstance(declared, Gaussian):
        noise = readings.gaussian_noise(model.state, declared.sds, f"{model.name}.noise")
    elif callable(defined(model, "density")) and readings.is_count(declared):
        noise = readings.given_noise(declared)
    elif declared is not None and "noise" not in vars(model) and not _mentions(model, "noise"):
        if readings.is_count(declared):
            raise ModelError(
                f"{model.name}.noise is {declared}, so the model must define density(m, x, theta, a, y), that of the "
                "next state; for normal noise, write noise = Gaussian(...), and the library derives it."
            )
        raise ModelError(
            f"{model.name}.noise must be Gaussian(...), with the standard deviation of each field that has noise, or "
            f"how many standard normal numbers a step draws, not {shown(declared)}."
        )
    if noise.form != "none" and model.next_states > 1:
        raise ModelError(f"{model.name} has noise, so a step leads to one next state: leave next_states at 1.")
    if isinstance(model.observations, Reading):
        read = readings.reading_noise(model.observations, f"{model.name}.observations")
    return noise, read


def _mentions(model: Any, name: str) -> bool:
    """Whether a function of the user's classes mentions an attribute of this name."""
    own = (cls for cls in type(model).__mro__ if not cls.__module__.startswith("pomdplite."))
    codes = [getattr(value, "__code__", None) for cls in own for value in vars(cls).values()]
    while codes:
        code = codes.pop()
        if code is not None and name in code.co_names:
            return True
        codes += [inner for inner in getattr(code, "co_consts", ()) if hasattr(inner, "co_names")]
    return False


def _checked(model: Any, function: ModelFunction, form: Form) -> Any:
    """The model's function, its arguments checked; None if the model does not define it and need not."""
    given, population = defined(model, function.name), isinstance(model.hidden, Population)
    distributed = isinstance(model.hidden, Distributed)
    for need, kind in ((Need.NOISE, form.noise), (Need.READING_NOISE, form.reading)):
        if function.need is need and kind != "given":
            return None  # whatever has that name is no function of the tuple
    if given is None:
        if function.need is Need.ALWAYS:
            call = function.call(form)
            raise ModelError(f"{model.name} does not define {call}; see help(pomdplite.Model).")
        if function.need is Need.READING_NOISE:
            raise ModelError(f"{model.name}.observations has noise given by a number, so the model must define "
                             f"{function.call(form)}, the density of a reading.")  # fmt: skip
        if function.need is Need.OBSERVATIONS and form.reading != "listed":
            raise ModelError(f"{model.name}.observations is a Reading, but the model does not define "
                             f"{function.call(form)}.")  # fmt: skip
        if function.need is Need.OBSERVATIONS and model.observations:
            raise ModelError(f"{model.name} names observations but does not define {function.call()}.")
        if function.need is Need.POPULATION and population and not distributed:
            raise ModelError(f"{model.name}.hidden is a Population, so the model must define {function.call()}.")
        if function.name == "depends" and isinstance(model.hidden, Dirichlet) and len(model.hidden.components) > 1:
            raise ModelError(
                f"{model.name}.hidden has several distributions, so the model must define {function.call()}, the "
                "number of the one that the outcome is drawn from."
            )
        return None
    if isinstance(model.hidden, Dirichlet) and not function.for_outcomes:
        raise ModelError(f"{model.name} defines {function.name}, but its hidden probabilities are constant and whole.")
    if distributed and function.name in ("prior", "move"):
        raise ModelError(
            f"{model.name} defines {function.name}, but the distributions in hidden already give the prior, and the "
            "library moves their numbers itself."
        )
    if distributed and not function.for_distributions:
        raise ModelError(f"{model.name} defines {function.name}, but a hidden value with distributions is whole.")
    if population and not distributed and not function.for_population:
        raise ModelError(f"{model.name} defines {function.name}, but the θ of a Population is constant and whole.")
    expected = function.passed(form)
    try:
        taken = list(inspect.signature(given).parameters)
    except (TypeError, ValueError):
        raise ModelError(f"{model.name}.{function.name} must be a function of ({', '.join(expected)}).") from None
    if len(taken) != len(expected) and not _is_extended(model, function, form):
        hint = _noise_hint(model, function, form, taken)
        if not hint and Kind.PROBABILITIES in function.arguments.values() and len(taken) == len(expected) + 1:
            hint = (
                " To give several next states with their probabilities p, set next_states to the most that any "
                "(x, theta, a) has."
            )
        raise ModelError(
            f"{model.name}.{function.name} must take ({', '.join(expected)}), but takes ({', '.join(taken)}).{hint}"
        )
    return given


def _noise_hint(model: Any, function: ModelFunction, form: Form, taken: list[str]) -> str:
    """What to declare for the random numbers or standard deviations that a function takes."""
    last = taken[-1] if taken else ""
    if function.name == "transition" and form.noise == "none" and last == "u":
        return " For random numbers u, set noise to their number and define density(m, x, theta, a, y)."
    if function.name == "transition" and form.noise == "none" and last == "sd":
        return " For standard deviations sd, set noise = Gaussian(...)."
    if function.name == "observation" and form.reading != "given" and last == "u":
        return " For random numbers u, set observations = Reading(..., noise=n)."
    if function.name == "observation" and form.reading == "listed" and last == "sd":
        return " For standard deviations sd, set observations = Reading(...)."
    if form.noise == "gaussian" or form.reading == "gaussian":
        further = ", ".join(function.further(form))
        return f" It may also take {further}." if further else ""
    return ""


def _is_extended(model: Any, function: ModelFunction, form: Form) -> bool:
    """Whether the model's function names the optional arguments of the table, too."""
    given, further = defined(model, function.name), function.further(form)
    if given is None or not further:
        return False
    taken = list(inspect.signature(given).parameters)
    wanted = len(function.passed(form, extended=True))
    return len(taken) == wanted and taken[-len(further) :] == list(further)


def _attributes(model: Any, base: type[ModelInterface]) -> tuple[dict[str, Any], dict[str, str]]:
    """The attributes that the user's classes and the object set: possible parameters, and why others are left out."""
    found: dict[str, Any] = {"discount": model.discount}
    for cls in reversed(type(model).__mro__):
        if cls is not base and issubclass(cls, base):
            found.update(vars(cls))
    found.update(model.__dict__)
    constants, left_out = {}, {}
    for name, value in found.items():
        if name in SETTINGS:
            left_out[name] = f"m.{name} does not exist: {name} is a setting of the library, not a parameter."
        elif not name.startswith("_") and not callable(value):
            constants[name] = value
            left_out[name] = (
                f"m.{name} does not exist: it is a {type(value).__name__}, and only numbers and numeric arrays are "
                "passed to model functions."
            )
    return constants, left_out
