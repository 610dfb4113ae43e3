"""Draws from a model and the probability of a history: what simulations and particle filters are made of."""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined, inner, kernel
from pomdplite.mdp.observation_rows import observation_row
from pomdplite.mdp.outcomes import Outcomes, present_row
from pomdplite.mdp.weighing import observation_log_probability, transition_log_probability
from pomdplite.rng import noise_from, uniform


class History(NamedTuple):
    """The steps of an episode: action a[i] in x[i] led to y[i], where o[i] was observed. Later rows are spare room."""

    x: Words  # [row, x_words]
    a: Ints  # [row]
    y: Words  # [row, x_words + z_words] with the reading behind the state
    o: Ints  # [row]
    steps: int
    forgotten: int  # the first steps: they still change θ, but no longer count as evidence


def distinct(theta: Words, weights: Floats) -> tuple[Words, Floats]:
    """The different rows and their total weights."""
    rows, group = np.unique(theta, axis=0, return_inverse=True)
    return rows, np.bincount(group.ravel(), weights).astype(np.float64)


@inlined
def pick(p: Floats, count: int, u: float) -> int:
    """Invert the cumulative distribution p[:count] at the uniform number u."""
    return pick_from(p, 0, count, u)


@inlined
def pick_from(p: Floats, first: int, count: int, u: float) -> int:
    """Invert the cumulative distribution p[first : first + count] at the uniform number u."""
    total = 0.0
    last = 0
    for i in range(count):
        if p[first + i] > 0.0:
            total += p[first + i]
            last = i
            if u < total:
                return i
    return last


@kernel
def simulate(
    model: KernelModel, x: Words, theta: Words, a: int, u: float, v: float, out: Outcomes
) -> tuple[int, int, float]:
    """One step from x[0] and θ[0]: (row of the next state in out.y, observation, reward); θ' is in out.theta.

    u decides the next state and v the observation, so every planner meets the same noise. A reading lies behind the
    next state in its row, and the observation is then 0.
    """
    gained = abi.reward(model, x, 0, theta, 0, a)
    i = 0
    if model.noise.numbers > 0:
        noise_from(u, model.noise.numbers, out.noise)
        abi.sampled_transition(model, x, 0, theta, 0, a, out.y, out.noise)
    else:
        count = abi.transition(model, x, 0, theta, 0, a, out.y, out.p)
        if model.z_words > 0:
            abi.make_room(model, out.y, count)
        i = pick(out.p, count, u)
    for w in range(theta.shape[1]):
        out.theta[0, w] = theta[0, w]
    if model.evolves:
        abi.evolve(model, x, 0, theta, 0, a, out.theta)
    if model.z_words > 0:
        noise_from(v, model.reading.numbers, out.noise)
        abi.sampled_reading(model, out.y, i, out.theta, 0, a, out.noise)
        return i, 0, gained
    first = observation_row(model, out.y, i, out.theta, 0, a, out.rows)
    return i, pick_from(out.rows.z, first, model.observations + 1, v), gained


@kernel
def outcome_row(model: KernelModel, distributions: Floats, x: Words, a: int, u: float) -> int:
    """The row of θ for a step from x[0] if θ is a set of distributions: that of the outcome that the number u picks."""
    component = abi.depends(model, x, 0, a)
    row = model.offsets[component]
    if component < model.offsets.shape[0] - 2:
        last = model.offsets[component + 1]
        row += pick(distributions[row:last], last - row, u)
    return row


@inlined
def draw_hidden(model: KernelModel, s: Words, b: Floats, theta: Words, t: int, stream: Words) -> None:
    """Draw the present θ in state s[0] from the belief b over initial values, into theta[t].

    Components occupy different bits of θ, and a row of one component has all others at their first value, as the row
    of "no component" has. So θ is the XOR of the differences between the drawn rows and that row.
    """
    none = model.offsets.shape[0] - 2
    for w in range(theta.shape[1]):
        theta[t, w] = model.theta[model.offsets[none], w]
    for c in range(none):
        first, last = model.offsets[c], model.offsets[c + 1]
        row = present_row(model, s, 0, c, first + pick(b[first:last], last - first, uniform(stream)))
        for w in range(theta.shape[1]):
            theta[t, w] ^= model.theta[row, w] ^ model.theta[model.offsets[none], w]


@inner
def history_log_probability(model: KernelModel, history: History, theta: Words, t: int, out: Outcomes) -> float:
    """log P(next states and observations of the history | θ₀ = theta[t]). Overwrites `out`."""
    total, real = 0.0, model.noise.numbers > 0 or model.z_words > 0
    for w in range(theta.shape[1]):
        out.past[0, w] = theta[t, w]
    for i in range(history.steps):
        chance = 1.0
        if real and i >= history.forgotten:
            total += transition_log_probability(model, history.x, i, history.a[i], history.y, i, out)
        elif i >= history.forgotten:
            chance = _transition_probability(model, history, i, out)
            if chance == 0.0:
                return -np.inf
        if model.evolves:
            abi.evolve(model, history.x, i, out.past, 0, history.a[i], out.theta)
            for w in range(theta.shape[1]):
                out.past[0, w] = out.theta[0, w]
        if real and i >= history.forgotten and total > -np.inf:
            a, o = history.a[i], history.o[i]
            total += observation_log_probability(model, history.y, i, out.past, a, o, out)
        if total == -np.inf:
            return total
        if not real and i >= history.forgotten:
            first = observation_row(model, history.y, i, out.past, 0, history.a[i], out.rows)
            seen = out.rows.z[first + history.o[i]]
            if seen <= 0.0:
                return -np.inf
            total += np.log(chance * seen)
    return total


@inlined
def _transition_probability(model: KernelModel, history: History, i: int, out: Outcomes) -> float:
    """P(y[i] | x[i], θ, a[i]) for the θ in out.past."""
    chance = 0.0
    for j in range(abi.transition(model, history.x, i, out.past, 0, history.a[i], out.y, out.p)):
        same = out.p[j] > 0.0
        for w in range(model.x_words):
            if out.y[j, w] != history.y[i, w]:
                same = False
        if same:
            chance += out.p[j]
    return chance


@kernel
def replay(model: KernelModel, history: History, theta: Words, out: Outcomes) -> None:
    """Turn initial values of θ into present ones: apply φ of every step of the history."""
    for t in range(theta.shape[0]):
        for i in range(history.steps):
            abi.evolve(model, history.x, i, theta, t, history.a[i], out.theta)
            for w in range(theta.shape[1]):
                theta[t, w] = out.theta[0, w]
