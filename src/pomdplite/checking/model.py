"""check_model: run a model's functions as Python on reachable (x, θ, a) and say what is wrong, where, with numbers.

Everything here is interpreted, so an index out of bounds or an exception is met safely; at the end the compiled
functions are compared with what was seen. A function must be defined for every θ at every reachable x, also where
the history would rule that θ out: planners evaluate all of them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pomdplite.checking.hints import check_hints
from pomdplite.compile import abi
from pomdplite.compile.errors import left_out_message
from pomdplite.compile.jit import Words
from pomdplite.errors import ModelError
from pomdplite.model.model import Model
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population
from pomdplite.rng import stream, uniform

_STATES = 1000  # states looked at, at most
_CALLS = 20_000  # (x, θ, a) looked at, at most
_DRAWS, _POOL = 3, 8  # of a θ that cannot be listed: in one (x, a), and in all
_VALUES = 64  # values of one component (or joint values) looked at in one (x, a)
_SUM_TOLERANCE = 1e-6
_AGREEMENT = 1e-9  # between compiled and interpreted numbers


@dataclass(frozen=True)
class Finding:
    """One kind of mistake, with its first place."""

    kind: str
    message: str
    fatal: bool
    times: int

    def __str__(self) -> str:
        more = f" (and {self.times - 1} more like it)" if self.times > 1 else ""
        return f"{'error' if self.fatal else 'warning'}: {self.message}{more}"


@dataclass
class Report:
    """What check_model found."""

    model: str
    states: int = 0  # looked at
    calls: int = 0  # (x, θ, a) looked at
    complete: bool = True  # whether that was every reachable state
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """No errors; there may be warnings."""
        return not any(f.fatal for f in self.findings)

    def raise_if_wrong(self) -> None:
        """Raise a ModelError that lists the errors."""
        if not self.ok:
            raise ModelError("\n".join(str(f) for f in self.findings if f.fatal))

    def __str__(self) -> str:
        extent = "all" if self.complete else "the first"
        lines = [f"{self.model}: looked at {extent} {self.states:,} reachable states and {self.calls:,} (x, theta, a)."]
        lines += [f"  {f}" for f in self.findings]
        if not self.findings:
            lines.append("  no mistakes found.")
        return "\n".join(lines)


def check_model(model: Model, *, states: int = _STATES, calls: int = _CALLS, seed: int = 0) -> Report:
    """Look at up to that many reachable states and (x, θ, a)."""
    return _Check(model, states, calls, seed).run()


class _Check:
    def __init__(self, model: Model, states: int, calls: int, seed: int) -> None:
        self.model, self.most_states, self.most_calls = model, states, calls
        self.random = stream(seed)
        self.report = Report(model.name)
        self.first: dict[str, tuple[str, bool]] = {}
        self.times: dict[str, int] = {}
        self.seen_observations: set[int] = set()
        self.samples: list[tuple[Any, Any, int]] = []
        self.draws: list[Any] = []

    # ------------------------------------------------------------------ running

    def run(self) -> Report:
        try:
            self.plain = self.model.compiled_form.interpreted
            self.hidden = self.model.hidden
            self.factored = self.model.compiled_form.factored
            first = to_words(self.model.state.dtype, self.model.initial_state())
        except ModelError as error:
            self.note("definition", str(error))
            return self.finish()
        except Exception as error:  # noqa: BLE001  the user's start() may raise anything
            self.note("start", f"start raised {type(error).__name__}: {error}")
            return self.finish()
        self.explore(first)
        never = [str(n) for o, n in enumerate(self.model.observations) if o not in self.seen_observations]
        if never and not self.first and self.report.complete:
            told = f"observation {', '.join(map(repr, never))} has zero likelihood under every theta, everywhere."
            self.note("unused", told, fatal=False)  # harmless, but hardly what was meant
        if not self.wrong:
            check_hints(self)
        if not self.wrong:
            self.compare_compiled()
        return self.finish()

    def explore(self, first: Words) -> None:
        known, queue = {first.tobytes()}, [first]
        while queue:
            if self.report.states >= self.most_states or self.report.calls >= self.most_calls:
                self.report.complete = False
                return
            words = queue.pop(0)
            x = from_words(self.model.state.dtype, words)
            over = self.guard("terminal", lambda x=x: self.plain.terminal(x), f"x = ({self.model.describe_state(x)})")
            if over or over is None:
                continue
            self.report.states += 1
            legal = [a for a in range(len(self.model.actions)) if self.legal(x, a)]
            if not legal:
                where = f"x = ({self.model.describe_state(x)})"
                self.note("no action", f"no action is legal in {where}, which is not terminal.")
            for a in legal:
                for y in self.action(x, a):
                    after = to_words(self.model.state.dtype, y)
                    if after.tobytes() not in known:
                        known.add(after.tobytes())
                        queue.append(after)

    def legal(self, x: Any, a: int) -> bool:
        where = self.place(x, None, a)
        return bool(self.guard("legal", lambda: self.plain.legal(x, a), where))

    # ------------------------------------------------------------------ one (x, a)

    def action(self, x: Any, a: int) -> Iterator[Any]:
        """Check every θ that matters here; give the next states."""
        component = -1
        if self.factored:
            where = self.place(x, None, a)
            told = self.guard("depends", lambda: self.plain.depends(x, a), where)
            if told is None:
                return
            component = told
            if not -1 <= component < len(self.hidden.components):
                count = len(self.hidden.components)
                self.note(
                    "depends",
                    f"depends returned {component} at {where}; there are {count} components, numbered from 0 "
                    "(-1 for none).",
                )
                return
        for values in self.contexts(component):
            theta = self.draw() if values is None else self.hidden.record(values)
            found = self.triple(x, theta, a, component)
            if found is None:
                continue
            if self.factored and values is not None:
                self.independent(x, a, component, values, found)
            yield from found["next"]

    def contexts(self, component: int) -> Iterator[list[int] | None]:
        """Hidden values to try: each value of the component, the others at random; or joint values; None: a draw."""
        parts = self.hidden.components
        if isinstance(self.hidden, Population):
            yield from [None] * _DRAWS
        elif self.factored:
            for value in range(len(parts[component]) if component >= 0 else 1)[:_VALUES]:
                values = self.random_values()
                if component >= 0:
                    values[component] = value
                yield values
        elif self.hidden.size <= _VALUES:
            for joint in np.ndindex(*(len(c) for c in parts)):
                yield [int(i) for i in joint]
        else:
            for _ in range(_VALUES):
                yield self.random_values()

    @property
    def wrong(self) -> bool:
        """Whether an error was found."""
        return any(fatal for _, fatal in self.first.values())

    def any_theta(self) -> Any:
        """A hidden value."""
        return self.draw() if isinstance(self.hidden, Population) else self.hidden.record(self.random_values())

    def draw(self) -> Any:
        """One of a few draws of a θ that cannot be listed; drawing may be slow."""
        if len(self.draws) < _POOL:
            self.draws.append(self.plain.prior(self.random))
        return self.draws[int(uniform(self.random) * len(self.draws))]

    def random_values(self) -> list[int]:
        return [int(uniform(self.random) * len(c)) for c in self.hidden.components]

    def triple(self, x: Any, theta: Any, a: int, component: int) -> dict[str, Any] | None:
        """Check T, Z, R, φ at one (x, θ, a); what they gave, or None if they cannot be used."""
        self.report.calls += 1
        where = self.place(x, theta, a)
        reward = self.guard("reward", lambda: self.plain.reward(x, theta, a), where, x, theta)
        branches = self.guard("transition", lambda: self.plain.transition(x, theta, a), where, x, theta)
        later = self.guard("evolve", lambda: self.plain.evolve(x, theta, a), where, x, theta)
        if reward is None or branches is None or later is None:
            return None
        if not np.isfinite(reward):
            self.note("reward", f"reward gives {reward} at {where}.")
        elif reward != self.plain.reward(x, theta, a):
            self.note("reproducible", f"reward gives different numbers for the same arguments at {where}.")
        self.hidden_change(x, theta, a, later, component, where)
        usable = self.probabilities("transition", np.array([p for _, p in branches]), where)
        states = [to_words(self.model.state.dtype, y) for y, p in branches if p != 0]
        again = self.plain.transition(x, theta, a)
        chances = [p for _, p in branches]
        if [p for _, p in again] != chances or any(
            not np.array_equal(s, to_words(self.model.state.dtype, y))
            for s, y in zip(states, [y for y, p in again if p != 0], strict=False)
        ):
            self.note(
                "reproducible",
                f"transition gives different next states for the same arguments at {where}: once "
                f"{self.told(branches)}, then {self.told(again)}; give all next states with their probabilities.",
            )
        seen = []
        for y, p in branches:
            if p == 0:
                continue
            z = self.guard("observation", lambda y=y: self.plain.observation(y, later, a), where, y, later)
            if z is None:
                return None
            usable = self.probabilities("observation", z, where) and usable
            if not np.array_equal(z, self.plain.observation(y, later, a)):
                self.note("reproducible", f"observation gives different numbers for the same arguments at {where}.")
            self.seen_observations |= {int(o) for o in np.flatnonzero(z[:-1])}
            seen.append(z)
        if len(self.samples) < 500:
            self.samples.append((x, theta, a))
        return {"reward": reward, "chances": chances, "next": [from_words(self.model.state.dtype, s) for s in states],
                "words": states, "seen": seen, "later": later} if usable else None  # fmt: skip

    def hidden_change(self, x: Any, theta: Any, a: int, later: Any, component: int, where: str) -> None:
        """φ: a function, within the domain, of the declared component alone."""
        if not self.model.compiled_form.evolves:
            return
        once = to_words(self.hidden.dtype, later)
        if any(not np.array_equal(once, to_words(self.hidden.dtype, self.plain.evolve(x, theta, a))) for _ in range(3)):
            self.note(
                "by chance",
                f"not a POMDP-lite: evolve gives different hidden values for the same arguments at {where}, so the "
                "hidden variable changes by chance. In a POMDP-lite it is constant or a function of theta, x and a; "
                "move what changes by chance into the observed state.",
            )
            return
        now, then = self.hidden.indices(theta), self.hidden.indices(later)
        for c, (value, after) in enumerate(zip(now, then, strict=True)):
            name = self.hidden.components[c].name
            if after is None:
                fields = {n: np.asarray(later[n]).tolist() for n in self.hidden.dtype.names or ()}
                self.note("domain", f"evolve leaves the domain of {name} at {where}: theta becomes {fields}.")
            elif self.factored and c != component and after != value:
                self.note("dependence", f"evolve changes {name} at {where}, but depends names "
                          f"{self.component_name(component)}.")  # fmt: skip

    def independent(self, x: Any, a: int, component: int, values: list[int], found: dict[str, Any]) -> None:
        """The declared component is the only one that matters: others at random give the same."""
        other = self.random_values()
        if component >= 0:
            other[component] = values[component]
        theta = self.hidden.record(other)
        try:
            reward = self.plain.reward(x, theta, a)
            branches = self.plain.transition(x, theta, a)
            later = self.plain.evolve(x, theta, a)
            words = [to_words(self.model.state.dtype, y) for y, p in branches if p != 0]
            same_next = [p for _, p in branches] == found["chances"] and all(map(np.array_equal, words, found["words"]))
            seen = [self.plain.observation(y, later, a) for y, p in branches if p != 0]
        except Exception as error:  # noqa: BLE001  whatever the user's code raises is the finding
            self.note("raises", f"a function raised {type(error).__name__} at {self.place(x, theta, a)}: {error}")
            return
        here = self.place(x, None, a)
        pair = f"theta: {self.hidden.describe(self.hidden.record(values))} and theta: {self.hidden.describe(theta)}"
        declared = f"depends names {self.component_name(component)} at {here}, but"
        if reward != found["reward"]:
            self.note("dependence", f"{declared} reward is {found['reward']:g} and {reward:g} for {pair}.")
        if not same_next:
            self.note("dependence", f"{declared} transition differs between {pair}.")
        elif any(not np.array_equal(p, q) for p, q in zip(seen, found["seen"], strict=True)):
            self.note("dependence", f"{declared} observation differs between {pair}.")

    # ------------------------------------------------------------------ compiled code

    def compare_compiled(self) -> None:
        """The compiled functions give what Python gave."""
        try:
            view = self.model.compiled_form.kernel_view()
        except ModelError as error:
            self.note("compile", str(error))
            return
        space = np.zeros((self.model.next_states, self.model.state.words), np.uint64)
        z, p = np.zeros(len(self.model.observations) + 1), np.zeros(self.model.next_states)
        for x, theta, a in self.samples:
            words = to_words(self.model.state.dtype, x).reshape(1, -1)
            hidden = to_words(self.hidden.dtype, theta).reshape(1, -1)
            where = self.place(x, theta, a)
            reward = abi.reward(view.kernel_model, words, 0, hidden, 0, a)
            expected = self.plain.reward(x, theta, a)
            if not abs(reward - expected) <= _AGREEMENT * max(1.0, abs(expected)):
                self.note("compiled", f"reward is {expected} interpreted and {reward} compiled at {where}.")
            abi.transition(view.kernel_model, words, 0, hidden, 0, a, space, p)
            later = self.plain.evolve(x, theta, a)
            after = to_words(self.hidden.dtype, later).reshape(1, -1)
            compiled = after.copy()
            if self.model.compiled_form.evolves:
                abi.evolve(view.kernel_model, words, 0, hidden, 0, a, compiled)
            if not np.array_equal(compiled, after):
                self.note("compiled", f"evolve differs between interpreted and compiled at {where}.")
            judged = (abi.legal(view.kernel_model, words, 0, a), abi.terminal(view.kernel_model, words, 0))
            if judged != (self.plain.legal(x, a), self.plain.terminal(x)):
                self.note("compiled", f"legal or terminal differs between interpreted and compiled at {where}.")
            for i, (y, chance) in enumerate(self.plain.transition(x, theta, a)):
                if abs(p[i] - chance) > _AGREEMENT or (
                    chance > 0 and not np.array_equal(space[i], to_words(self.model.state.dtype, y))
                ):
                    self.note("compiled", f"transition differs between interpreted and compiled at {where}.")
                    break
                if chance > 0:
                    abi.observation(view.kernel_model, space, i, after, 0, a, z)
                    if not np.allclose(z, self.plain.observation(y, later, a), rtol=0, atol=_AGREEMENT):
                        self.note("compiled", f"observation differs between interpreted and compiled at {where}.")

    # ------------------------------------------------------------------ notes

    def probabilities(self, function: str, p: Any, where: str) -> bool:
        """Whether p is a distribution; said if not."""
        if not np.all(np.isfinite(p)):
            self.note(f"{function} number", f"{function} gives the probability {p[~np.isfinite(p)][0]} at {where}.")
        elif np.any(p < 0):
            self.note(f"{function} sign", f"{function} gives the negative probability {p.min():g} at {where}.")
        elif abs(p.sum() - 1) > _SUM_TOLERANCE:
            self.note(
                f"{function} sum", f"{function} gives probabilities that sum to {p.sum():.9g}, not 1, at {where}."
            )
        else:
            return True
        return False

    def guard(self, function: str, call: Any, where: str, x: Any = None, theta: Any = None) -> Any:
        """The result, or None after noting what the user's function raised or wrote to its arguments x and theta."""
        given = [(x, self.model.state.dtype), (theta, self.hidden.dtype)]
        before = [None if record is None else to_words(dtype, record) for record, dtype in given]
        try:
            result = call()
        except Exception as error:  # noqa: BLE001  whatever the user's code raises is the finding
            missing = re.search(r"'Parameters' object has no attribute '(\w+)'", str(error))
            left_out = self.plain.source.left_out
            told = (
                left_out_message(missing[1], left_out[missing[1]]) if missing and missing[1] in left_out else str(error)
            )
            self.note(function, f"{function} raised {type(error).__name__} at {where}: {told}")
            return None
        for (record, dtype), words in zip(given, before, strict=True):
            if words is not None and not np.array_equal(words, to_words(dtype, record)):
                self.note("writes", f"{function} changes x or theta at {where}; write to y, z or theta_next only.")
                for name in dtype.names or ():
                    record[name] = words.view(dtype)[0][name]
        return result

    def place(self, x: Any, theta: Any, a: int) -> str:
        hidden = "" if theta is None else f", theta: {self.hidden.describe(theta)}"
        return f"x = ({self.model.describe_state(x)}){hidden}, action {self.model.actions[a]!r}"

    def told(self, branches: list[tuple[Any, float]]) -> str:
        return ", ".join(f"({self.model.describe_state(y)}) with {p:g}" for y, p in branches if p != 0)

    def component_name(self, component: int) -> str:
        return self.hidden.components[component].name if component >= 0 else "no component"

    def note(self, kind: str, message: str, *, fatal: bool = True) -> None:
        self.first.setdefault(kind, (message, fatal))
        self.times[kind] = self.times.get(kind, 0) + 1

    def finish(self) -> Report:
        self.report.findings = [Finding(k, text, fatal, self.times[k]) for k, (text, fatal) in self.first.items()]
        return self.report
