"""A model's functions as Python runs them.

`Plain` calls them on records, and is the reference that compiled code must equal. `interpreted` gives kernels the
same functions through ctypes callbacks, for models that cannot be compiled (`compiled = False`, a simulator)
and for debugging (NUMBA_DISABLE_JIT=1).
"""

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.definition import Functions, Source
from pomdplite.errors import ModelError
from pomdplite.model.records import to_words

THETA = object()  # stands for the record that is changed in place


class Plain:
    """The model's functions as Python runs them, on records; the reference that compiled code must equal."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.m = source.parameters.values

    def transition(self, x: Any, theta: Any, a: int) -> list[tuple[Any, float]]:
        """Every next state that T gives, with its probability as given."""
        source = self.source
        words = to_words(source.state, x)
        y = np.tile(words, source.next_states).view(source.state).view(np.recarray)
        p = np.zeros(source.next_states)
        if source.next_states > 1:
            source.functions["transition"](self.m, x, theta, a, y, p)
        else:
            source.functions["transition"](self.m, x, theta, a, y[0])
            p[0] = 1.0
        return [(y[i], float(p[i])) for i in range(source.next_states)]

    def observation(self, y: Any, theta: Any, a: int) -> Any:
        """P(o | y, θ', a), null last."""
        z = np.zeros(self.source.observations + 1)
        if "observation" in self.source.functions:
            self.source.functions["observation"](self.m, y, theta, a, z[:-1])
        if not z.any():
            z[-1] = 1.0
        return z

    def reward(self, x: Any, theta: Any, a: int) -> float:
        """R(x, θ, a)."""
        return _number("reward", self.source.functions["reward"](self.m, x, theta, a))

    def terminal(self, x: Any) -> bool:
        """Whether x ends the episode."""
        function = self.source.functions.get("terminal")
        return bool(function(self.m, x)) if function else False

    def legal(self, x: Any, a: int) -> bool:
        """Whether a may be chosen in x."""
        function = self.source.functions.get("legal")
        return bool(function(self.m, x, a)) if function else True

    def depends(self, x: Any, a: int) -> int:
        """The component of θ that (x, a) depends on, -1 for none."""
        return int(_number("depends", self.source.functions["depends"](self.m, x, a)))

    def heuristic(self, x: Any) -> float:
        """The model's guess of the value of x."""
        return float(self.source.functions["heuristic"](self.m, x))

    def policy(self, x: Any, u: float) -> int:
        """The model's action to play on with."""
        return int(self.source.functions["policy"](self.m, x, u))

    def upper(self, x: Any, theta: Any) -> float:
        """The model's bound on the value of x to an agent who knows θ."""
        return float(self.source.functions["upper"](self.m, x, theta))

    def preferred(self, x: Any, h: Any) -> Any:
        """Which actions the model prefers: [action] of 0 and 1."""
        f = np.zeros(self.source.actions)
        self.source.functions["preferred"](self.m, x, h, f)
        return f

    def remember(self, x: Any, a: int, y: Any, o: int, h: Any) -> bool:
        """Take a step into the memory of the hints; True, so that who asks can tell it from an error."""
        self.source.functions["remember"](self.m, x, a, y, o, h)
        return True

    def prior(self, random: Any) -> Any:
        """θ drawn from the prior."""
        theta = np.zeros(1, self.source.theta).view(np.recarray)[0]
        self.source.functions["prior"](self.m, theta, random)
        return theta

    def evolve(self, x: Any, theta: Any, a: int) -> Any:
        """θ' = φ(θ, x, a)."""
        after = to_words(self.source.theta, theta).view(self.source.theta).view(np.recarray)[0]
        if "evolve" in self.source.functions:
            self.source.functions["evolve"](self.m, x, theta, a, after)
        return after


def _number(function: str, value: Any) -> float:
    if value is None:
        raise ModelError(f"{function} returned nothing")
    return float(value)


def interpreted(source: Source) -> Functions:
    """The model's functions for kernels, run by Python through ctypes callbacks."""
    plain = Plain(source)
    failures: list[BaseException] = []
    x_words, theta_words = source.state.itemsize // 8, source.theta.itemsize // 8

    def words_at(address: int, count: int) -> Any:
        return np.ctypeslib.as_array((ctypes.c_uint64 * count).from_address(address))

    def state_at(address: int) -> Any:
        return words_at(address, x_words).view(source.state).view(np.recarray)[0]

    def theta_at(address: int) -> Any:
        return words_at(address, theta_words).view(source.theta).view(np.recarray)[0]

    def transition(m: int, x: int, theta: int, a: int, y: int, p: int) -> int:
        out = words_at(y, x_words * source.next_states).reshape(source.next_states, x_words)
        chance = words_at(p, source.next_states).view(np.float64)
        for i, (record, probability) in enumerate(plain.transition(state_at(x), theta_at(theta), a)):
            out[i] = to_words(source.state, record)
            chance[i] = probability
        return source.next_states

    def observation(m: int, y: int, theta: int, a: int, z: int) -> int:
        words_at(z, source.observations + 1).view(np.float64)[:] = plain.observation(state_at(y), theta_at(theta), a)
        return 0

    def evolve(m: int, x: int, theta: int, a: int, theta_next: int) -> int:
        words_at(theta_next, theta_words)[:] = to_words(source.theta, plain.evolve(state_at(x), theta_at(theta), a))
        return 0

    def in_place(name: str, theta: int, *arguments: Any) -> int:
        """Run a function that changes theta, and write the whole record back."""
        words = words_at(theta, theta_words)
        record = theta_at(theta)
        result = source.functions[name](plain.m, *(record if a is THETA else a for a in arguments))
        words[:] = to_words(source.theta, record)
        return int(bool(result))

    def stream_at(address: int) -> Any:
        return words_at(address, 1)

    def summary(m: int, theta: int, f: int) -> int:
        source.functions["summary"](plain.m, theta_at(theta), words_at(f, source.summary).view(np.float64))
        return 0

    def memory_at(address: int) -> Any:
        return words_at(address, source.memory.itemsize // 8).view(source.memory).view(np.recarray)[0]

    def preferred(m: int, x: int, h: int, f: int) -> int:
        chosen = plain.preferred(state_at(x), memory_at(h))
        words_at(f, source.actions).view(np.float64)[:] = chosen
        return int((chosen > 0).sum())

    def remember(m: int, x: int, a: int, y: int, o: int, h: int) -> int:
        plain.remember(state_at(x), a, state_at(y), o, memory_at(h))
        return 0

    callbacks: dict[str, Callable[..., Any]] = {
        "transition": transition,
        "observation": observation,
        "reward": lambda m, x, theta, a: plain.reward(state_at(x), theta_at(theta), a),
        "terminal": lambda m, x: int(plain.terminal(state_at(x))),
        "legal": lambda m, x, a: int(plain.legal(state_at(x), a)),
        "depends": lambda m, x, a: plain.depends(state_at(x), a),
        "heuristic": lambda m, x: plain.heuristic(state_at(x)),
        "policy": lambda m, x, u: plain.policy(state_at(x), u),
        "evolve": evolve,
        "prior": lambda m, theta, random: in_place("prior", theta, THETA, stream_at(random)),
        "move": lambda m, x, theta, random: in_place("move", theta, state_at(x), THETA, stream_at(random)),
        "summary": summary,
        "upper": lambda m, x, theta: plain.upper(state_at(x), theta_at(theta)),
        "preferred": preferred,
        "remember": remember,
    }

    def guarded(name: str, callback: Callable[..., Any]) -> Callable[..., Any]:
        failed: Any = abi.RAISED_IN_DEPENDS if name == "depends" else abi.FAILED
        if name in ("reward", "heuristic", "upper"):
            failed = float("nan")

        def call(*arguments: int) -> Any:
            try:
                return callback(*arguments)
            except BaseException as error:  # noqa: BLE001  ctypes would swallow it: kept, and raised by the caller
                failures.append(error)
                return failed

        return call

    pointers = {name: abi.c_function_type(name)(guarded(name, callbacks[name])) for name in source.functions}
    addresses = {name: int(ctypes.cast(f, ctypes.c_void_p).value or 0) for name, f in pointers.items()}
    return Functions(addresses, (pointers,), failures)
