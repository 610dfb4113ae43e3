"""Random models for tests, and independent brute-force solvers for them in plain Python."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import pomdplite as pl


@dataclass
class Tables:
    """A small model as plain arrays, which the reference code reads, and as a pomdplite model."""

    t: np.ndarray  # [x, θ, a, y]
    r: np.ndarray  # [x, θ, a]
    z: np.ndarray  # [y, θ, a, o]
    later: np.ndarray  # [x, θ, a]
    prior: np.ndarray
    terminal: list[int]
    legal: np.ndarray
    discount: float
    changes: bool

    def model(self, *, compiled: bool = True) -> pl.Model:
        model = pl.tabular(
            self.t, self.r, self.z, discount=self.discount, prior=self.prior, terminal=self.terminal,
            legal=self.legal, hidden_next=self.later if self.changes else None,
        )  # fmt: skip
        if not compiled:
            model.compiled = False
        return model


def _distributions(rng: np.random.Generator, shape: tuple[int, ...], sparse: bool) -> np.ndarray:
    weights = rng.integers(0 if sparse else 1, 4, shape).astype(float)
    weights[..., 0] += weights.sum(axis=-1) == 0
    return weights / weights.sum(axis=-1, keepdims=True)


@st.composite
def tables(draw: Any, *, layered: bool = False, changes: bool | None = None) -> Tables:
    """Draw a small random model. If layered, time is part of the state and every episode ends after three steps."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    thetas, actions, seen = draw(st.integers(1, 3)), draw(st.integers(1, 3)), draw(st.integers(0, 2))
    changing = draw(st.booleans()) if changes is None else changes
    if layered:
        width, depth = 2, 3
        x = width * (depth + 1)
        t = np.zeros((x, thetas, actions, x))
        for layer in range(depth):
            here = slice(layer * width, (layer + 1) * width)
            there = slice((layer + 1) * width, (layer + 2) * width)
            t[here, :, :, there] = _distributions(rng, (width, thetas, actions, width), sparse=True)
        t[depth * width :, :, :, 0] = 1.0
        terminal, discount = list(range(depth * width, x)), 1.0
    else:
        x = draw(st.integers(1, 4))
        t = _distributions(rng, (x, thetas, actions, x), sparse=True)
        terminal, discount = [x - 1] if x > 2 and draw(st.booleans()) else [], draw(st.sampled_from([0.5, 0.9, 0.95]))
    z = np.zeros((x, thetas, actions, seen))
    if seen:
        z = _distributions(rng, (x, thetas, actions, seen), sparse=True)
        z[rng.random((x, thetas, actions)) < 0.2] = 0.0  # no observation
    legal = rng.random((x, actions)) < 0.8
    legal[:, 0] = True
    return Tables(
        t, rng.integers(-5, 6, (x, thetas, actions)).astype(float), z, rng.integers(0, thetas, (x, thetas, actions)),
        _distributions(rng, (thetas,), sparse=False), terminal, legal, discount, changing,
    )  # fmt: skip


def outcomes(m: Tables, belief: dict[tuple[int, int], float], x: int, a: int) -> dict[tuple[int, int], dict]:
    """Return (x', o) -> unnormalized belief over (initial θ, current θ), directly from the definitions of T, Z and φ."""
    after: dict[tuple[int, int], dict[tuple[int, int], float]] = {}
    silent = m.z.shape[-1]
    for (first, now), p in belief.items():
        later = int(m.later[x, now, a]) if m.changes else now
        for y in range(m.t.shape[-1]):
            chance = p * m.t[x, now, a, y]
            if chance == 0:
                continue
            row = m.z[y, later, a]
            seen = {o: row[o] for o in range(silent) if row[o] > 0} or {silent: 1.0}
            for o, q in seen.items():
                cell = after.setdefault((y, o), {})
                cell[(first, later)] = cell.get((first, later), 0.0) + chance * q
    return after


def start(m: Tables) -> dict[tuple[int, int], float]:
    """Return the prior as a belief over (initial θ, current θ)."""
    return {(theta, theta): float(p) for theta, p in enumerate(m.prior)}


def best_value(m: Tables, belief: dict[tuple[int, int], float], x: int) -> float:
    """Return the optimal value of a layered POMDP by plain recursion over beliefs."""
    if x in m.terminal:
        return 0.0
    best = -np.inf
    for a in range(m.t.shape[2]):
        if not m.legal[x, a]:
            continue
        value = sum(p * m.r[x, now, a] for (_, now), p in belief.items())
        for (y, _), cell in outcomes(m, belief, x, a).items():
            chance = sum(cell.values())
            value += m.discount * chance * best_value(m, {k: p / chance for k, p in cell.items()}, y)
        best = max(best, value)
    return best


def comes_close(kind: Any, m: Tables, fewest: int) -> None:
    """A Monte-Carlo planner decides about as well as the Bayes-optimal one, with this many simulations or some more.

    Its values are averages that include the cost of exploring, about c² log N / N, so it may need many.
    """
    model, q = m.model(), action_values(m)
    for sims in (fewest, 10 * fewest, 100 * fewest):
        planner = kind(model, sims=sims, exploration=30.0)  # the range of the returns
        planner.reset(3)
        decision = planner.decide()
        if q[decision.action] >= max(q.values()) - 0.3:
            return
    raise AssertionError((planner.title, q, decision.solution.q))


def action_values(m: Tables) -> dict[int, float]:
    """Q of each legal first action, by recursion over beliefs."""
    b, found = start(m), {}
    for a in np.flatnonzero(m.legal[0]):
        value = sum(p * m.r[0, now, a] for (_, now), p in b.items())
        for (y, _), cell in outcomes(m, b, 0, a).items():
            chance = sum(cell.values())
            value += m.discount * chance * best_value(m, {k: p / chance for k, p in cell.items()}, y)
        found[int(a)] = value
    return found


def internal_mdp(m: Tables, beta: float) -> tuple[float, dict[int, float]]:
    """Return value and Q of the internal-reward MDP at the start and the prior, from Definition 1 and Equation 2 as
    written: posteriors by Bayes' rule, their L1 distance to the prior, value iteration over (x, map of θ)."""
    b0 = m.prior
    identity = tuple(range(len(b0)))

    def step(x: int, now: tuple[int, ...], a: int) -> tuple[float, dict[tuple[int, tuple[int, ...]], float]]:
        belief = {(theta, now[theta]): float(b0[theta]) for theta in range(len(b0))}
        reward = sum(p * m.r[x, value, a] for (_, value), p in belief.items())
        bonus, following = 0.0, {}
        later = tuple(int(m.later[x, value, a]) if m.changes else value for value in now)
        for (y, _), cell in outcomes(m, belief, x, a).items():
            chance = sum(cell.values())
            if chance == 0:
                continue
            posterior = np.zeros(len(b0))
            for (theta, _), p in cell.items():
                posterior[theta] += p / chance
            bonus += chance * np.abs(posterior - b0).sum()
            following[(y, later)] = following.get((y, later), 0.0) + chance
        return reward + beta * bonus, following

    moves: dict = {}
    todo = [(0, identity)]
    while todo:
        s = todo.pop()
        if s in moves or s[0] in m.terminal:
            continue
        moves[s] = {a: step(*s, a) for a in range(m.t.shape[2]) if m.legal[s[0], a]}
        todo += [y for _, following in moves[s].values() for y in following]
    v = dict.fromkeys(moves, 0.0)

    def q(s: Any, a: int) -> float:
        reward, following = moves[s][a]
        return reward + m.discount * sum(p * v.get(y, 0.0) for y, p in following.items())

    for _ in range(2000):
        change = 0.0
        for s in moves:
            new = max(q(s, a) for a in moves[s])
            change, v[s] = max(change, abs(new - v[s])), new
        if change < 1e-12:
            break
    root = (0, identity)
    return v[root], {a: q(root, a) for a in moves[root]}


class Parts(pl.Model):
    """A factored model from random arrays: three hidden components; which one an action depends on is random."""

    state = pl.State(place=np.int64)
    observations = ("no", "yes")
    discount = 0.9
    next_states = 2

    def __init__(self, seed: int, values: int = 2, places: int = 3, count: int = 3) -> None:
        rng = np.random.default_rng(seed)
        self.hidden = pl.Hidden(part=pl.independent(3, tuple(f"v{i}" for i in range(values)),
                                                    prior=_distributions(rng, (3, values), sparse=False)))  # fmt: skip
        self.actions = tuple(f"a{i}" for i in range(count))
        self.which = rng.integers(-1, 3, (places, count))
        self.to = rng.integers(0, places, (places, count, 2))
        self.chance = rng.random((places, count, values))
        self.sight = rng.random((places, count, values))
        self.gain = rng.integers(-5, 6, (places, count, values)).astype(float)
        self.turns = rng.integers(0, values, (places, count, values))
        self.silent = rng.random((places, count)) < 0.3

    def transition(m, x, theta, a, y, p):
        v = value_at(m, x, theta, a)
        y[0].place = m.to[x.place, a, 0]
        y[1].place = m.to[x.place, a, 1]
        p[0] = m.chance[x.place, a, v]
        p[1] = 1.0 - p[0]

    def observation(m, y, theta, a, z):
        # Z sees y, not x, so the component that an action depends on must not vary with x.
        if not m.silent[y.place, a] and m.which[0, a] >= 0:
            v = theta.part[m.which[0, a]]
            z[1] = m.sight[y.place, a, v]
            z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        return m.gain[x.place, a, value_at(m, x, theta, a)]

    def depends(m, x, a):
        return m.which[0, a]


class ChangingParts(Parts):
    """Parts with components that change."""

    def evolve(m, x, theta, a, theta_next):
        if m.which[0, a] >= 0:
            theta_next.part[m.which[0, a]] = m.turns[x.place, a, theta.part[m.which[0, a]]]


def value_at(m, x, theta, a):
    """Return the value of the component that action a depends on; 0 if it depends on none."""
    return theta.part[m.which[0, a]] if m.which[0, a] >= 0 else 0


class FlatParts(Parts):
    """Parts with Θ listed as a whole."""

    depends = None


class FlatChangingParts(ChangingParts):
    """ChangingParts with Θ listed as a whole."""

    depends = None
