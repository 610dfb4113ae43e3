"""What can follow (s, a): the one derivation from T, Z, R and φ that beliefs, graphs and searches share.

s = (x, maps): the observed state and, where θ changes, the map from each component's initial value to its
present one (second half of Theorem 1), so that the belief can stay on the initial values.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.checking.faults import BAD_COMPONENT, LEFT_DOMAIN, RAISED
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined, kernel
from pomdplite.rng import uniform

FULL = -1  # no room for another next state; negative, like the fault codes, so that it can stand in for a count


class Outcomes(NamedTuple):
    """What can follow one (s, a), for each of the n initial values of the component that it depends on."""

    reward: Floats  # [n]
    next: Words  # [k, s_words] the different next states
    chance: Floats  # [k, n] P(s' | θ, s, a)
    likelihood: Floats  # [e, n] P(s', o | θ, s, a)
    branch: Ints  # [e] which next state
    seen: Ints  # [e] which observation
    # scratch
    present: Ints  # [n] row of the present value before the step
    later: Ints  # [n] and after it
    y: Words  # [outcomes, x_words]
    p: Floats  # [outcomes]
    z: Floats  # [observations + 1]
    theta: Words  # [1, theta_words]
    here: Words  # [1, s_words] the state of a rollout
    past: Words  # [1, theta_words] θ along a history
    other: Words  # [1, theta_words] a θ kept aside


def allocate_outcomes(model: KernelModel, branches: int) -> Outcomes:
    """Space for up to this many different next states."""
    n = int(np.max(np.diff(model.offsets)))
    pairs = branches * (model.observations + 1)
    return Outcomes(
        np.zeros(n), np.zeros((branches, model.s_words), np.uint64), np.zeros((branches, n)), np.zeros((pairs, n)),
        np.zeros(pairs, np.int64), np.zeros(pairs, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64),
        np.zeros((model.next_states, model.x_words), np.uint64), np.zeros(model.next_states),
        np.zeros(model.observations + 1), np.zeros((1, model.theta.shape[1]), np.uint64),
        *(np.zeros((1, n), np.uint64) for n in (model.s_words, model.theta.shape[1], model.theta.shape[1])),
    )  # fmt: skip


@inlined
def present_row(model: KernelModel, states: Words, s: int, component: int, row: int) -> int:
    """The row of the present value of a component whose initial value is `row`; itself where there are no maps."""
    if model.s_words == model.x_words or component == model.offsets.shape[0] - 2:
        return row
    held = states[s, model.map_word[row]] >> model.map_shift[row]
    return model.offsets[component] + np.int64(held & model.map_mask[component])


@inlined
def row_of(model: KernelModel, component: int, theta: Words, guess: int) -> int:
    """The row of the component's value in this record of θ, -1 if it is none of its values."""
    first, last = model.offsets[component], model.offsets[component + 1]
    for i in range(first - 1, last):
        row = guess if i < first else i
        same = True
        for w in range(theta.shape[1]):
            if model.theta[row, w] != theta[0, w]:
                same = False
        if same:
            return row
    return -1


@inlined
def outcomes(model: KernelModel, states: Words, s: int, a: int, out: Outcomes) -> tuple[int, int, int]:
    """Fill `out` for (states[s], a): (component, number of next states, number of (next state, observation) pairs).

    A negative number of next states is a fault; the component's value that it happened at then stands in
    for the number of pairs.
    """
    component = abi.depends(model, states, s, a)
    if component > model.offsets.shape[0] - 2:
        return component, BAD_COMPONENT, 0
    first = model.offsets[component]
    n = model.offsets[component + 1] - first
    evolving = model.evolves and component < model.offsets.shape[0] - 2
    for v in range(n):
        out.present[v] = present_row(model, states, s, component, first + v)
        out.later[v] = out.present[v]
        if evolving:
            if abi.evolve(model, states, s, model.theta, out.present[v], a, out.theta) == abi.FAILED:
                return component, RAISED, v
            out.later[v] = row_of(model, component, out.theta, out.present[v])
            if out.later[v] < 0:
                return component, LEFT_DOMAIN, v
        out.reward[v] = abi.reward(model, states, s, model.theta, out.present[v], a)

    # T: the different next states, and how likely each is under each value.
    k = 0
    for v in range(n):
        count = abi.transition(model, states, s, model.theta, out.present[v], a, out.y, out.p)
        if count == abi.FAILED:
            return component, RAISED, v
        for i in range(count):
            if out.p[i] == 0.0:
                continue
            j = 0
            while j < k:
                same = True
                for w in range(model.x_words):
                    if out.next[j, w] != out.y[i, w]:
                        same = False
                if same:
                    break
                j += 1
            if j == k:
                if k == out.next.shape[0]:
                    return component, FULL, v
                k += 1
                for u in range(n):
                    out.chance[j, u] = 0.0
                for w in range(model.s_words):
                    out.next[j, w] = out.y[i, w] if w < model.x_words else states[s, w]
            out.chance[j, v] += out.p[i]
    if evolving and model.s_words > model.x_words:
        for v in range(n):
            word, shift = model.map_word[first + v], model.map_shift[first + v]
            value = np.uint64(out.later[v] - first)
            for j in range(k):
                cleared = out.next[j, word] & ~(model.map_mask[component] << shift)
                out.next[j, word] = cleared | (value << shift)

    # Z: split each next state by what is observed there.
    e = 0
    for j in range(k):
        base = e
        for o in range(model.observations + 1):
            for v in range(n):
                out.likelihood[base + o, v] = 0.0
        for v in range(n):
            if out.chance[j, v] == 0.0:
                continue
            if abi.observation(model, out.next, j, model.theta, out.later[v], a, out.z) == abi.FAILED:
                return component, RAISED, v
            for o in range(model.observations + 1):
                out.likelihood[base + o, v] = out.chance[j, v] * out.z[o]
        for o in range(model.observations + 1):
            possible = False
            for v in range(n):
                if out.likelihood[base + o, v] != 0.0:
                    possible = True
            if possible:
                out.branch[e] = j
                out.seen[e] = o
                if e != base + o:
                    for v in range(n):
                        out.likelihood[e, v] = out.likelihood[base + o, v]
                e += 1
    return component, k, e


@inlined
def pick(p: Floats, count: int, u: float) -> int:
    """The index that the uniform number u falls on."""
    total = 0.0
    last = 0
    for i in range(count):
        if p[i] > 0.0:
            total += p[i]
            last = i
            if u < total:
                return i
    return last


@kernel
def simulate(
    model: KernelModel, x: Words, theta: Words, a: int, u: float, v: float, out: Outcomes
) -> tuple[int, int, float]:
    """One step of the world from x[0], θ[0]: (row of the next state in out.y, observation, reward); θ' in out.theta.

    u decides the next state and v the observation, so that the world's noise is the same for every planner.
    """
    gained = abi.reward(model, x, 0, theta, 0, a)
    count = abi.transition(model, x, 0, theta, 0, a, out.y, out.p)
    for w in range(theta.shape[1]):
        out.theta[0, w] = theta[0, w]
    failed = count == abi.FAILED
    if not failed and model.evolves:
        failed = abi.evolve(model, x, 0, theta, 0, a, out.theta) == abi.FAILED
    if failed:
        return RAISED, 0, 0.0
    i = pick(out.p, count, u)
    if abi.observation(model, out.y, i, out.theta, 0, a, out.z) == abi.FAILED:
        return RAISED, 0, 0.0
    return i, pick(out.z, model.observations + 1, v), gained


@inlined
def draw_hidden(model: KernelModel, s: Words, b: Floats, theta: Words, t: int, stream: Words) -> None:
    """Draw the present θ from the belief b about initial values, in state s[0], into theta[t].

    A row of one component has the others at their first value, as the row of "no component" has all, and components
    lie in different bits: what the rows differ in from that one is put together.
    """
    none = model.offsets.shape[0] - 2
    for w in range(theta.shape[1]):
        theta[t, w] = model.theta[model.offsets[none], w]
    for c in range(none):
        first, last = model.offsets[c], model.offsets[c + 1]
        row = present_row(model, s, 0, c, first + pick(b[first:last], last - first, uniform(stream)))
        for w in range(theta.shape[1]):
            theta[t, w] ^= model.theta[row, w] ^ model.theta[model.offsets[none], w]


@kernel
def history_log_probability(
    model: KernelModel, x: Words, a: Ints, y: Words, o: Ints, steps: int, theta: Words, t: int, out: Outcomes
) -> float:
    """log P(what was seen in the first steps | initial θ = theta[t]); `out` is used up."""
    total = 0.0
    for w in range(theta.shape[1]):
        out.past[0, w] = theta[t, w]
    for i in range(steps):
        count = abi.transition(model, x, i, out.past, 0, a[i], out.y, out.p)
        chance = 0.0
        for j in range(max(count, 0)):
            same = out.p[j] > 0.0
            for w in range(model.x_words):
                if out.y[j, w] != y[i, w]:
                    same = False
            if same:
                chance += out.p[j]
        if chance == 0.0:
            return -np.inf
        if model.evolves:
            abi.evolve(model, x, i, out.past, 0, a[i], out.theta)
            for w in range(theta.shape[1]):
                out.past[0, w] = out.theta[0, w]
        abi.observation(model, y, i, out.past, 0, a[i], out.z)
        if out.z[o[i]] <= 0.0:
            return -np.inf
        total += np.log(chance * out.z[o[i]])
    return total
