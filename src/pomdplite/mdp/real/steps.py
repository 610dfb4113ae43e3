"""Steps of models with noise or readings under a frozen belief: mean reward, next states, and Definition 1 by draws.

The bonus is the expected L1 change of the belief,

    E‖b_e − b‖₁,   b_e(v) ∝ b(v) p(y, z | θ_v, s, a),

over the outcomes e = (y, z) of the mean model. Outcome i takes a hidden value v_i ~ b and noise from the points of the
frozen belief; what it changes is computed for all kept values. Whatever is listed is summed over instead: the next
states of a model without noise in its steps, and listed observations.

Next states s' hold the later values (φ) of the kept values alone: states that differ in others are equal. Where θ has
distributions, its later values are added to the rows of θ when a step first leads to them (changing.py).
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.faults import FaultKind
from pomdplite.compile.jit import Floats, Ints, Words, inlined, inner, kernel
from pomdplite.compile.noise import add_noise, log_normal_scaled, log_scale
from pomdplite.mdp.hash_table import row_slot
from pomdplite.mdp.observation_rows import observation_row
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes, distinct_next_states, present_row, row_of
from pomdplite.mdp.real.densities import normal_logs
from pomdplite.mdp.real.frozen import MOST_VALUES, FrozenBelief
from pomdplite.mdp.sampling import pick

_DOMAIN = int(FaultKind.DOMAIN)


# Indices into StepWork.about.
_COMPONENT, _VALUES = range(2)


class StepWork(NamedTuple):
    """Room for one step. `next[:k]` and `chance[:k]` are results; the rest is scratch."""

    next: Words  # [k, s_words]
    chance: Floats  # [k] P(s' | b, s, a)
    about: Ints  # [2] the component that (s, a) depends on, and how many of its values are kept
    b: Floats  # [value] the frozen belief about it
    row: Ints  # [value] the row of each initial value
    arrived: Floats  # [value] the belief after the next state
    after: Floats  # [value] the belief after the reading, too
    step: Words  # [value, x_words + numbers] Gaussian noise: mean and standard deviations of the next state
    reading: Words  # [value, z_words + numbers] likewise of the reading
    step_scale: Floats  # [value] log_scale of the mean in `step`
    reading_scale: Floats  # [value] likewise in `reading`
    y: Words  # [1, x_words + z_words] a next state, with room for a reading behind it
    z: Words  # [1, z_words] a reading with Gaussian noise
    u: Floats  # [numbers] the noise of one outcome
    out: Outcomes


def allocate_step_work(model: KernelModel, outcomes: int, most: int = MOST_VALUES) -> StepWork:
    """Room for up to this many drawn outcomes, or for all listed next states, of beliefs thinned to `most` values."""
    branches = 1 if model.noise.numbers > 0 else model.next_states * most
    thinned = model._replace(offsets=np.array([0, most, most + 1], np.int64))
    steps, readings, room = model.noise.numbers, model.reading.numbers, max(outcomes, branches)
    return StepWork(
        next=np.zeros((room, model.s_words), np.uint64),
        chance=np.zeros(room),
        about=np.zeros(2, np.int64),
        b=np.zeros(most),
        row=np.zeros(most, np.int64),
        arrived=np.zeros(most),
        after=np.zeros(most),
        step=np.zeros((most, model.x_words + steps), np.uint64),
        reading=np.zeros((most, max(1, model.z_words + readings)), np.uint64),
        step_scale=np.zeros(most),
        reading_scale=np.zeros(most),
        y=np.zeros((1, model.x_words + model.z_words), np.uint64),
        z=np.zeros((1, max(1, model.z_words)), np.uint64),
        u=np.zeros(max(1, steps, readings)),
        out=allocate_outcomes(thinned, branches),
    )


@kernel
def mean_step(
    model: KernelModel, frozen: FrozenBelief, work: StepWork, states: Words, s: int, a: int, first: int, count: int
) -> tuple[float, float, int]:
    """Fill work.next[:k] and work.chance[:k] for (states[s], a): (mean reward, E‖b_e − b‖₁, k).

    `count` outcomes are drawn, from point `first` on. Noisy next states have the probability 1 / count each, and equal
    ones are listed again; listed next states are exact, whatever the count.
    """
    reward, change = begin_step(model, frozen, work, states, s, a), 0.0
    if model.noise.numbers == 0:
        k = list_next_states(model, work, states, s, a)
        return reward, listed_change(model, frozen, work, a, k, first, count), k
    for i in range(count):
        v = draw_next_state(model, frozen, work, states, s, a, first + i, i)
        change += drawn_change(model, frozen, work, states, s, a, first + i, v)
        work.chance[i] = 1.0 / count
    return reward, change / count, count


# ---------------------------------------------------------------------- what all outcomes of (s, a) share


@inner
def begin_step(model: KernelModel, frozen: FrozenBelief, work: StepWork, states: Words, s: int, a: int) -> float:
    """Fill `work` with what all outcomes of (states[s], a) share, for each kept value; the mean reward."""
    out, component = work.out, abi.depends(model, states, s, a)
    block = frozen.offsets[component]
    n, mean = frozen.offsets[component + 1] - block, 0.0
    work.about[_COMPONENT], work.about[_VALUES] = component, n
    evolving = model.evolves and component < model.offsets.shape[0] - 2
    for v in range(n):
        work.b[v], work.row[v] = frozen.weight[block + v], frozen.rows[block + v]
        out.present[v] = present_row(model, states, s, component, work.row[v])
        out.later[v] = out.present[v]
        if evolving:
            abi.evolve(model, states, s, model.theta, out.present[v], a, out.theta)
            # Values often move by the same number of rows, so look first where that would lead.
            guess = out.present[v] + (out.later[v - 1] - out.present[v - 1] if v > 0 else 0)
            out.later[v] = later_row(model, frozen, component, out.theta, guess)
            if out.later[v] < 0:
                abi.note_fault(model, _DOMAIN, abi.EVOLVE, states, s, model.theta, out.present[v], a)
                out.later[v] = out.present[v]
        mean += work.b[v] * abi.reward(model, states, s, model.theta, out.present[v], a)
        if model.noise.gaussian and model.noise.numbers > 0:
            abi.transition_mean(model, states, s, model.theta, out.present[v], a, work.step, v)
            work.step_scale[v] = log_scale(model.noise, work.step, v, model.x_words)
    return mean


@inner
def later_row(model: KernelModel, frozen: FrozenBelief, component: int, theta: Words, guess: int) -> int:
    """The row of a value that φ leads to; -1 if values are listed and it is none of them."""
    pool = frozen.pool
    if pool.table.shape[0] == 0:
        guess = min(max(guess, model.offsets[component]), model.offsets[component + 1] - 1)
        return row_of(model, component, theta, guess)
    slot = row_slot(model.theta, pool.table, theta, 0)
    if pool.table[slot] < 0:
        row = pool.used[0]
        for w in range(theta.shape[1]):
            model.theta[row, w] = theta[0, w]
        pool.table[slot], pool.slot[row], pool.used[0] = row, slot, row + 1
    return pool.table[slot]


@inlined
def pool_has_room(model: KernelModel, frozen: FrozenBelief, steps: int) -> bool:
    """Whether all values that so many steps may lead to can be added."""
    kept = frozen.offsets[1]
    return frozen.pool.table.shape[0] == 0 or frozen.pool.used[0] + steps * kept <= model.theta.shape[0]


@inlined
def kept_values(work: StepWork) -> int:
    """Behind `begin_step`: how many values the outcomes of the step are compared with."""
    return work.about[_VALUES]


@inner
def put_next(model: KernelModel, work: StepWork, states: Words, s: int, y: Words, j: int, at: int) -> None:
    """work.next[at]: x' = y[j], and the maps of states[s] with the later values of the kept rows."""
    for w in range(model.s_words):
        work.next[at, w] = y[j, w] if w < model.x_words else states[s, w]
    component = work.about[_COMPONENT]
    if model.s_words == model.x_words or component == model.offsets.shape[0] - 2:
        return
    mask, first = model.map_mask[component], model.offsets[component]
    for v in range(work.about[_VALUES]):
        word, shift = model.map_word[work.row[v]], model.map_shift[work.row[v]]
        later = np.uint64(work.out.later[v] - first)
        work.next[at, word] = (work.next[at, word] & ~(mask << shift)) | (later << shift)


@inner
def condition(b: Floats, logs: Floats, n: int) -> None:
    """Bayes' rule: turn log likelihoods into the posterior of b; b itself if no value explains what was seen."""
    highest, total = -np.inf, 0.0
    for v in range(n):
        if b[v] > 0.0:
            highest = max(highest, logs[v])
    for v in range(n):
        logs[v] = b[v] if highest == -np.inf else 0.0 if b[v] == 0.0 else b[v] * np.exp(logs[v] - highest)
        total += logs[v]
    for v in range(n):
        logs[v] /= total


# ---------------------------------------------------------------------- noisy next states


@inner
def draw_next_state(
    model: KernelModel, frozen: FrozenBelief, work: StepWork, states: Words, s: int, a: int, point: int, at: int
) -> int:
    """Behind `begin_step`: draw the next state of a point into work.next[at]; the hidden value behind it."""
    row = point % frozen.points.shape[0]
    v = pick(work.b, work.about[_VALUES], frozen.points[row, 0])
    for k in range(model.noise.numbers):
        work.u[k] = frozen.points[row, 1 + k]
    if model.noise.gaussian:
        for w in range(model.x_words):
            work.y[0, w] = work.step[v, w]
        add_noise(model.noise, work.y, 0, work.step[v : v + 1], model.x_words, work.u)
    else:
        abi.sampled_transition(model, states, s, model.theta, work.out.present[v], a, work.y, work.u)
    put_next(model, work, states, s, work.y, 0, at)
    return v


@inner
def drawn_change(
    model: KernelModel, frozen: FrozenBelief, work: StepWork, states: Words, s: int, a: int, point: int, v: int
) -> float:
    """Behind `draw_next_state`, which drew from value v: ‖b_e − b‖₁ of that outcome."""
    n = work.about[_VALUES]
    if n == 1:
        return 0.0
    if model.noise.gaussian:
        normal_logs(model.noise, work.step, work.step_scale, model.x_words, n, work.y, work.arrived)
    else:
        for i in range(n):
            present = work.out.present[i]
            work.arrived[i] = abi.transition_log_density(model, states, s, model.theta, present, a, work.y, 0)
    condition(work.b, work.arrived, n)
    if model.z_words == 0:
        return observed_change(model, work, a)
    begin_readings(model, work, a)
    return read_change(model, frozen, work, a, point, v)


@inner
def observed_change(model: KernelModel, work: StepWork, a: int) -> float:
    """In work.y, with the belief b_y in work.arrived: Σ_o P(o | y) ‖b_yo − b‖₁ = Σ_o Σ_v |b_y(v) Z(v, o) − b(v) P(o)|.

    P(o) = Σ_v b_y(v) Z(v, o).
    """
    out, n, change = work.out, work.about[_VALUES], 0.0
    for v in range(n):
        first = observation_row(model, work.y, 0, model.theta, out.later[v], a, out.rows)
        for o in range(model.observations + 1):
            out.likelihood[o, v] = work.arrived[v] * out.rows.z[first + o]
    for o in range(model.observations + 1):
        chance = 0.0
        for v in range(n):
            chance += out.likelihood[o, v]
        for v in range(n):
            change += abs(out.likelihood[o, v] - work.b[v] * chance)
    return change


# ---------------------------------------------------------------------- readings


@inner
def begin_readings(model: KernelModel, work: StepWork, a: int) -> None:
    """With Gaussian noise, the mean of the reading in work.y under each value that is possible there."""
    if model.reading.gaussian:
        for v in range(work.about[_VALUES]):
            if work.arrived[v] > 0.0:
                abi.reading_mean(model, work.y, 0, model.theta, work.out.later[v], a, work.reading, v)
                work.reading_scale[v] = log_scale(model.reading, work.reading, v, model.z_words)


@inner
def read_change(model: KernelModel, frozen: FrozenBelief, work: StepWork, a: int, point: int, v: int) -> float:
    """Behind `begin_readings`: draw the reading of a point under value v; ‖b_e − b‖₁, e with this reading."""
    n, row, later, change = work.about[_VALUES], point % frozen.points.shape[0], work.out.later, 0.0
    for k in range(model.reading.numbers):
        work.u[k] = frozen.points[row, 1 + model.noise.numbers + k]
    if model.reading.gaussian:
        for w in range(model.z_words):
            work.z[0, w] = work.reading[v, w]
        add_noise(model.reading, work.z, 0, work.reading[v : v + 1], model.z_words, work.u)
    else:
        abi.sampled_reading(model, work.y, 0, model.theta, later[v], a, work.u)
    for i in range(n):
        if work.arrived[i] == 0.0:
            work.after[i] = -np.inf
        elif model.reading.gaussian:
            scale = work.reading_scale[i]
            work.after[i] = log_normal_scaled(model.reading, work.reading, i, model.z_words, work.z, 0, 0, scale)
        else:
            work.after[i] = abi.reading_log_density(model, work.y, 0, model.theta, later[i], a)
    condition(work.arrived, work.after, n)
    for i in range(n):
        change += abs(work.after[i] - work.b[i])
    return change


# ---------------------------------------------------------------------- listed next states


@inner
def list_next_states(model: KernelModel, work: StepWork, states: Words, s: int, a: int) -> int:
    """Behind `begin_step`: the distinct next states and their probabilities under the belief; how many.

    work.out.chance holds their probabilities under each value.
    """
    out, n = work.out, work.about[_VALUES]
    k = distinct_next_states(model, states, s, a, n, out)
    for j in range(k):
        put_next(model, work, states, s, out.next, j, j)
        work.chance[j] = 0.0
        for v in range(n):
            work.chance[j] += work.b[v] * out.chance[j, v]
    return k


@inner
def listed_change(
    model: KernelModel, frozen: FrozenBelief, work: StepWork, a: int, k: int, first: int, count: int
) -> float:
    """Behind `list_next_states`: E‖b_e − b‖₁, summed over next states, with `count` readings drawn in all.

    Listed observations are summed over, too.
    """
    n, change, point = work.about[_VALUES], 0.0, first
    if n == 1:
        return 0.0
    for j in range(k):
        for w in range(model.x_words):
            work.y[0, w] = work.next[j, w]
        for v in range(n):
            work.arrived[v] = work.b[v] * work.out.chance[j, v] / work.chance[j]
        if model.z_words == 0:
            change += work.chance[j] * observed_change(model, work, a)
            continue
        begin_readings(model, work, a)
        draws, total = max(1, int(count * work.chance[j] + 0.5)), 0.0
        for _ in range(draws):
            v = pick(work.arrived, n, frozen.points[point % frozen.points.shape[0], 0])
            total += read_change(model, frozen, work, a, point, v)
            point += 1
        change += work.chance[j] * total / draws
    return change
