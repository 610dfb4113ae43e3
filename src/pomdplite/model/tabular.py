"""Small models from plain arrays or dictionaries, without a subclass."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import ModelError, NotPomdpLiteError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State

_SUM_TOLERANCE = 1e-9


def tabular(
    transition: Any,
    reward: Any,
    observation: Any = None,
    *,
    discount: float,
    prior: Sequence[float] | None = None,
    start: int | str = 0,
    terminal: Sequence[int | str] = (),
    legal: Any = None,
    hidden_next: Any = None,
    states: Sequence[str] | None = None,
    hidden: Sequence[str] | None = None,
    actions: Sequence[str] | None = None,
    observations: Sequence[str] | None = None,
) -> "Tabular":
    """A model from tables, indexed in the order of the arguments of the paper's functions.

    transition   T[x, θ, a, x'] or T[x, a, x'], probabilities
    reward       R[x, θ, a] or R[x, a]
    observation  Z[x', θ, a, o] or Z[x', a, o]; a row of zeros means "no observation"
    legal        [x, a], True where a is allowed
    hidden_next  φ[x, θ, a] → θ', or probabilities [x, θ, a, θ'] which must all be 0 or 1

    or dictionaries keyed by names, with "*" for any:

    transition   {(x, θ, a) or (x, a): {x': p} or x'}
    reward       {(x, θ, a) or (x, a): r}; 0 by default
    observation  {(x', θ, a) or (x', a): {o: p}}; none by default
    hidden_next  {(x, θ, a): θ'}; unchanged by default

    Dictionaries need states, hidden, actions and, if there are any, observations.
    """
    names = _Names(states, hidden, actions, observations)
    if isinstance(transition, Mapping):
        names.need("states", "hidden", "actions")
        tables = _from_dictionaries(names, transition, reward, observation, hidden_next)
    else:
        tables = _from_arrays(names, transition, reward, observation, hidden_next, prior)
    t, r, z, later = tables
    x_count, theta_count, a_count, _ = t.shape
    names.fill(x_count, theta_count, a_count, z.shape[-1])
    allowed = np.ones((x_count, a_count), bool) if legal is None else np.asarray(legal, bool)
    if allowed.shape != (x_count, a_count):
        raise ModelError(f"legal has shape {allowed.shape}; expected {(x_count, a_count)}, [x, a].")
    ends = np.zeros(x_count, bool)
    for end in terminal:
        ends[names.index("states", end)] = True
    # Rows of terminal states and illegal actions may be left out: they are never used.
    for x, theta, a in np.argwhere((t.sum(axis=-1) == 0) & (ends[:, None, None] | ~allowed[:, None, :])):
        t[x, theta, a, x] = 1.0
    _check_probabilities("transition", t, names, "x'", zero_allowed=False)
    _check_probabilities("observation", z, names, "o", zero_allowed=True)
    if not np.all(np.isfinite(r)):
        x, theta, a = (int(i) for i in np.argwhere(~np.isfinite(r))[0])
        raise ModelError(f"reward is {r[x, theta, a]} at {names.place(x, theta, a)}.")
    weights = np.full(theta_count, 1 / theta_count) if prior is None else np.asarray(prior, float)
    if weights.shape != (theta_count,):
        raise ModelError(f"prior has {weights.size} probabilities for {theta_count} hidden values.")
    kind = Tabular if later is None else ChangingTabular
    return kind(t, r, z, later, allowed, ends, weights, names.index("states", start), discount, names)


class Tabular(Model):
    """A model whose T, Z and R are tables."""

    def __init__(
        self, t: Floats, r: Floats, z: Floats, later: Ints | None, allowed: NDArray[np.bool_], ends: NDArray[np.bool_],
        prior: Floats, start: int, discount: float, names: "_Names",
    ) -> None:  # fmt: skip
        # At least two, so that all tabular models share their compiled functions.
        self.next_states = max(2, int((t > 0).sum(axis=-1).max()))
        order = np.argsort(-(t > 0).astype(int), axis=-1, kind="stable")[..., : self.next_states]
        short = max(0, self.next_states - order.shape[-1])
        self.after = np.pad(order, [(0, 0)] * 3 + [(0, short)])  # [x, θ, a, k] next state
        self.chance = np.pad(np.take_along_axis(t, order, axis=-1), [(0, 0)] * 3 + [(0, short)])
        self.gain, self.sight = r, z
        self.allowed, self.ends = allowed, ends
        if later is not None:
            self.later = later
        self.first, self.discount = start, discount
        self.state = State(state=tuple(names.states))
        self.hidden = Hidden(theta=dict(zip(names.hidden, prior.tolist(), strict=True)))
        self.actions, self.observations = tuple(names.actions), tuple(names.observations)

    @property
    def name(self) -> str:
        """What messages call this model."""
        return "tabular model"

    def start(self, x: Any) -> None:
        x.state = self.first

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        for k in range(p.shape[0]):
            y[k].state = m.after[x.state, theta.theta, a, k]
            p[k] = m.chance[x.state, theta.theta, a, k]

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        for o in range(z.shape[0]):
            z[o] = m.sight[y.state, theta.theta, a, o]

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return m.gain[x.state, theta.theta, a]

    def terminal(m: Any, x: Any) -> bool:
        return m.ends[x.state]

    def legal(m: Any, x: Any, a: int) -> bool:
        return m.allowed[x.state, a]


class ChangingTabular(Tabular):
    """A tabular model whose hidden value changes deterministically."""

    def evolve(m: Any, x: Any, theta: Any, a: int, theta_next: Any) -> None:
        theta_next.theta = m.later[x.state, theta.theta, a]


class _Names:
    """The names of states, hidden values, actions and observations: given, or generated."""

    def __init__(self, states: Any, hidden: Any, actions: Any, observations: Any) -> None:
        self.given = {"states": states, "hidden": hidden, "actions": actions, "observations": observations}
        self.states, self.hidden, self.actions, self.observations = (
            [str(n) for n in names] if names is not None else [] for names in self.given.values()
        )

    def need(self, *kinds: str) -> None:
        for kind in kinds:
            if self.given[kind] is None:
                raise ModelError(f"tables given as dictionaries need names: pass {kind}=(...).")

    def fill(self, *counts: int) -> None:
        for (kind, given), letter, count in zip(self.given.items(), ("x", "theta", "a", "o"), counts, strict=True):
            if given is None:
                setattr(self, kind, [f"{letter}{i}" for i in range(count)])
            elif len(getattr(self, kind)) != count:
                raise ModelError(f"{len(given)} names in {kind}, but the tables have {count}.")

    def index(self, kind: str, name: int | str) -> int:
        known: list[str] = getattr(self, kind)
        if isinstance(name, str):
            if name not in known:
                raise ModelError(f"{name!r} is not in {kind}, which are {', '.join(known)}.")
            return known.index(name)
        if not 0 <= int(name) < len(known):
            raise ModelError(f"index {name} is out of range: {kind} has {len(known)} entries.")
        return int(name)

    def place(self, x: int, theta: int, a: int) -> str:
        return f"x = {self.states[x]}, theta = {self.hidden[theta]}, action {self.actions[a]!r}"


_Tables = tuple[Floats, Floats, Floats, Ints | None]


def _from_arrays(
    names: _Names, transition: Any, reward: Any, observation: Any, hidden_next: Any, prior: Any
) -> _Tables:
    t, r = np.asarray(transition, float), np.asarray(reward, float)
    z = None if observation is None else np.asarray(observation, float)
    sizes = {a.shape[1] for a, full in ((t, 4), (r, 3), (z, 4)) if a is not None and a.ndim == full}
    if names.hidden:
        sizes.add(len(names.hidden))
    if prior is not None:
        sizes.add(len(prior))
    if hidden_next is not None:
        sizes.add(np.asarray(hidden_next).shape[1])
    if len(sizes) != 1:
        raise ModelError(
            f"the tables disagree on the number of hidden values: {sorted(sizes)}." if sizes else
            "no table depends on the hidden value: give transition as [x, theta, a, x'] or reward as [x, theta, a]."
        )  # fmt: skip
    thetas = sizes.pop()
    t = _with_theta("transition", t, 4, thetas, "[x, theta, a, x'] or [x, a, x']")
    x_count, _, a_count, y_count = t.shape
    if y_count != x_count:
        raise ModelError(f"transition has {x_count} states x but {y_count} next states.")
    r = _with_theta("reward", r, 3, thetas, "[x, theta, a] or [x, a]")
    z = np.zeros((x_count, thetas, a_count, 0)) if z is None else _with_theta(
        "observation", z, 4, thetas, "[x', theta, a, o] or [x', a, o]"
    )  # fmt: skip
    for what, table in (("reward", r), ("observation", z)):
        if table.shape[:3] != (x_count, thetas, a_count):
            raise ModelError(
                f"{what} has shape {table.shape}, but transition has {x_count} states and {a_count} actions."
            )
    return t, r, z, None if hidden_next is None else _deterministic(np.asarray(hidden_next), x_count, thetas, a_count)


def _with_theta(what: str, table: Floats, full: int, thetas: int, shape: str) -> Floats:
    if table.ndim == full - 1:
        table = np.repeat(table[:, None], thetas, axis=1)
    if table.ndim != full:
        raise ModelError(f"{what} has {table.ndim} dimensions; expected {shape}.")
    return np.array(table, order="C")  # a copy: the caller keeps its own


def _deterministic(later: NDArray[Any], x_count: int, thetas: int, a_count: int) -> Ints:
    """φ as indices; probabilities are accepted if they are all 0 or 1."""
    shape = (x_count, thetas, a_count)
    if later.ndim == 4:
        if later.shape != (*shape, thetas):
            raise ModelError(f"hidden_next has shape {later.shape}; expected {(*shape, thetas)}, [x, theta, a, next].")
        chance = np.argwhere((later != 0) & (later != 1))
        if len(chance):
            x, theta, a, after = (int(i) for i in chance[0])
            raise NotPomdpLiteError(
                "not a POMDP-lite: the hidden value changes at random. "
                f"P(theta' = {after} | x = {x}, theta = {theta}, a = {a}) = {later[x, theta, a, after]:g}. In a "
                "POMDP-lite the hidden value is constant or changes as a function of theta, x and a; move what changes "
                "at random into the observed state, or use a POMDP solver."
            )
        if not np.all(later.sum(axis=-1) == 1):
            raise ModelError("hidden_next must have exactly one next hidden value for each (x, theta, a).")
        later = later.argmax(axis=-1)
    if later.shape != shape:
        raise ModelError(f"hidden_next has shape {later.shape}; expected {shape}, [x, theta, a].")
    if np.any((later < 0) | (later >= thetas)):
        raise ModelError(f"hidden_next is out of range: hidden values are numbered 0 to {thetas - 1}.")
    return np.ascontiguousarray(later, np.int64)


def _from_dictionaries(names: _Names, transition: Any, reward: Any, observation: Any, hidden_next: Any) -> _Tables:
    shape = (len(names.states), len(names.hidden), len(names.actions))
    t, r = np.zeros((*shape, shape[0])), np.zeros(shape)
    z = np.zeros((*shape, len(names.observations)))
    for place, entry in _entries(names, "transition", transition):
        t[place] = 0.0
        for y, p in entry.items() if isinstance(entry, Mapping) else [(entry, 1.0)]:
            t[(*place, names.index("states", y))] = p
    for place, value in _entries(names, "reward", reward):
        r[place] = value
    for place, entry in _entries(names, "observation", observation or {}):
        z[place] = 0.0
        for o, p in entry.items() if isinstance(entry, Mapping) else [(entry, 1.0)]:
            z[(*place, names.index("observations", o))] = p
    if hidden_next is None:
        return t, r, z, None
    later = np.broadcast_to(np.arange(shape[1])[None, :, None], shape).copy()
    for place, after in _entries(names, "hidden_next", hidden_next):
        if isinstance(after, Mapping):
            raise NotPomdpLiteError(
                f"not a POMDP-lite: at {names.place(*place)} the hidden value changes at random, to {dict(after)}. "
                "In a POMDP-lite it is constant or changes as a function of theta, x and a."
            )
        later[place] = names.index("hidden", after)
    return t, r, z, later


def _entries(names: _Names, what: str, table: Any) -> Any:
    """((x, θ, a), entry) pairs, general keys first, so that specific ones take precedence."""
    if not isinstance(table, Mapping):
        raise ModelError(f"{what} must be a dictionary, like transition.")
    keys = []
    for key in table:
        if not isinstance(key, tuple) or len(key) not in (2, 3):
            raise ModelError(f"{what}: the key {key!r} is not (x, theta, a) or (x, a).")
        full = key if len(key) == 3 else (key[0], "*", key[1])
        keys.append((sum(k == "*" for k in full), full, key))
    for _, full, key in sorted(keys, key=lambda k: -k[0]):
        ranges = [
            range(len(getattr(names, kind))) if part == "*" else [names.index(kind, part)]
            for kind, part in zip(("states", "hidden", "actions"), full, strict=True)
        ]
        for place in product(*ranges):
            yield place, table[key]


def _check_probabilities(what: str, table: Floats, names: _Names, over: str, *, zero_allowed: bool) -> None:
    wrong = np.argwhere((table < 0) | ~np.isfinite(table))
    if len(wrong):
        x, theta, a, _ = (int(i) for i in wrong[0])
        raise ModelError(f"{what} has the probability {table[tuple(wrong[0])]:g} at {names.place(x, theta, a)}.")
    sums = table.sum(axis=-1)
    bad = np.abs(sums - 1) > _SUM_TOLERANCE
    if zero_allowed:
        bad &= sums != 0
    if bad.any():
        x, theta, a = (int(i) for i in np.argwhere(bad)[0])
        raise ModelError(f"{what} sums to {sums[x, theta, a]:.9g} over {over}, not 1, at {names.place(x, theta, a)}.")
