"""check_model's look at a model's hints: along random walks, since what hints remember depends on the history."""

from typing import Any, Protocol

import numpy as np

from pomdplite.compile.interpreted import Plain
from pomdplite.compile.jit import Words
from pomdplite.model.model import Model
from pomdplite.rng import uniform

HINTS = ("heuristic", "policy", "upper", "preferred", "remember")
_WALKS, _STEPS = 8, 40
_NUMBERS = (0.0, 0.3, 0.6, 0.999)  # random numbers that a policy is tried with


class Checker(Protocol):
    """What of check_model is needed here."""

    model: Model
    plain: Plain
    random: Words

    def guard(self, function: str, call: Any, where: str, x: Any = None, theta: Any = None) -> Any:
        """The result of a user's function, or None after noting what is wrong with it."""

    def note(self, kind: str, message: str) -> None:
        """Keep a finding."""

    def any_theta(self) -> Any:
        """A hidden value."""


def check_hints(check: Checker) -> None:
    """Walk at random, and ask for every hint on the way."""
    given = [name for name in HINTS if name in check.plain.source.functions]
    for _ in range(_WALKS if given else 0):
        x, theta = check.model.initial_state(), check.any_theta()
        memory = np.zeros(1, check.plain.source.memory).view(np.recarray)[0]
        for _ in range(_STEPS):
            if check.plain.terminal(x):
                break
            legal = [a for a in range(len(check.model.actions)) if check.plain.legal(x, a)]
            _ask(check, given, x, theta, memory, legal)
            a = legal[int(uniform(check.random) * len(legal))]
            x, theta, o, y = *_step(check, x, theta, a), x
            if "remember" in given:
                where = f"x = ({check.model.describe_state(y)}), action {check.model.actions[a]!r}"
                step = (y, a, x, o, memory)
                if check.guard("remember", lambda g=step: check.plain.remember(*g), where, y) is None:
                    return


def _ask(check: Checker, given: list[str], x: Any, theta: Any, memory: Any, legal: list[int]) -> None:
    """Every hint in one state."""
    where, names = f"x = ({check.model.describe_state(x)})", check.model.actions
    for name in ("heuristic", "upper"):
        if name in given:
            hint, arguments = getattr(check.plain, name), (x,) if name == "heuristic" else (x, theta)
            value = check.guard(name, lambda f=hint, g=arguments: f(*g), where, x, theta)
            if value is not None and not np.isfinite(value):
                check.note(name, f"{name} gives {value} at {where}.")
    if "policy" in given:
        for u in _NUMBERS:
            a = check.guard("policy", lambda u=u: check.plain.policy(x, u), where, x)
            if a is not None and a not in legal:
                told = repr(names[a]) if 0 <= a < len(names) else f"{a}, of {len(names)} actions,"
                check.note("policy", f"policy gives {told} at {where}, where that is not legal.")
    if "preferred" in given:
        f = check.guard("preferred", lambda: check.plain.preferred(x, memory), where, x)
        for a in [] if f is None else [int(a) for a in np.flatnonzero(f)]:
            if a not in legal:
                check.note("preferred", f"preferred names {names[a]!r} at {where}, where that is not legal.")


def _step(check: Checker, x: Any, theta: Any, a: int) -> tuple[Any, Any, int]:
    """The next state, hidden value and observation, drawn."""
    branches = check.plain.transition(x, theta, a)
    y = branches[_draw(check, [p for _, p in branches])][0]
    later = check.plain.evolve(x, theta, a)
    return y, later, _draw(check, check.plain.observation(y, later, a))


def _draw(check: Checker, chances: Any) -> int:
    return int(np.searchsorted(np.cumsum(chances), uniform(check.random) * sum(chances), side="right"))
