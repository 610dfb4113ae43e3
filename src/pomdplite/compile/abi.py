"""The binary interface of a model: what kernels call.

Kernels hold states as rows of 8-byte words and know a model only as a `KernelModel`: a table of function addresses and
the table of hidden values. The functions of this module turn rows into addresses (addresses.py), call the model's
functions, and supply defaults. Slots, signatures and calls are derived from the table of model functions
(model/functions.py).
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.addresses import SLOTS, address, call
from pomdplite.compile.faults import ARGUMENTS, KIND, SLOT, FaultKind
from pomdplite.compile.jit import Floats, Ints, Words, inlined, inner
from pomdplite.compile.noise import Noise, add_noise, log_normal_words

OBSERVATION, TERMINAL, LEGAL, EVOLVE, HEURISTIC, POLICY, MOVE, UPPER, PREFERRED, REMEMBER = (
    SLOTS[name]
    for name in (
        "observation", "terminal", "legal", "evolve", "heuristic", "policy", "move", "upper", "preferred", "remember",
    )
)  # fmt: skip
_NO_ACTION = int(FaultKind.NO_ACTION)


class KernelModel(NamedTuple):
    """A model as kernels see it. A *row* is one value of one component of θ."""

    functions: Words  # [slot] addresses; 0 where the model does not define a function
    fault: Words  # the fault record (faults.py): where a function of the model first did something wrong
    theta: Words  # [row, theta_words] the record of θ with this row's component at this row's value
    offsets: Ints  # [component + 2] rows of component c: offsets[c]:offsets[c + 1]; last block: "no component"
    bonus_scale: Floats  # [component + 1] of the belief's expected change; below 1 if θ is a set of distributions
    map_word: Ints  # [row] word of the state that holds the present value for this initial value; -1 if none does
    map_shift: Words  # [row] its place in that word
    map_mask: Words  # [component + 1] its width, as a mask
    x_words: int  # words of x
    s_words: int  # words of s: x and the maps from initial to present hidden values
    next_states: int  # most next states of one (x, θ, a)
    actions: int
    observations: int  # observation number `observations` is null, "no observation"
    evolves: bool  # θ changes (deterministically)
    h_words: int  # words of the memory of the hints
    z_words: int  # words of a reading; 0 if observations are listed
    noise: Noise  # of steps; count 0 if next states are listed
    reading: Noise  # of readings
    scratch: Words  # [1, …] a next state or a reading, and behind it standard deviations or random numbers


# A record is row i of a table of words: x and y of tables of states (s starts with x), θ of model.theta or of a table
# of the caller's.


@inlined
def faulty(model: KernelModel) -> bool:
    """Whether a function of the model has done something wrong: time to return, and to let the caller raise it."""
    return model.fault[KIND] != 0


@inner
def note_no_action(model: KernelModel, x: Words, i: int) -> None:
    """Record that no action is legal in x, which is not terminal."""
    if model.fault[KIND] == 0:
        model.fault[KIND], model.fault[SLOT] = _NO_ACTION, LEGAL
        for w in range(model.x_words):
            model.fault[ARGUMENTS + w] = x[i, w]
        model.fault[ARGUMENTS + model.x_words] = 0


@inner
def note_fault(model: KernelModel, kind: int, slot: int, x: Words, i: int, theta: Words, t: int, a: int) -> None:
    """Record a fault that a kernel found in a function of (x, θ, a)."""
    if model.fault[KIND] == 0:
        model.fault[KIND], model.fault[SLOT] = kind, slot
        at = ARGUMENTS
        for w in range(model.x_words):
            model.fault[at + w] = x[i, w]
        at += model.x_words
        for w in range(theta.shape[1]):
            model.fault[at + w] = theta[t, w]
        model.fault[at + theta.shape[1]] = a


@inlined
def transition(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, y: Words, p: Floats) -> int:
    """T: write the next states of (x, θ, a) into the rows of y and their probabilities into p; return how many."""
    return call.transition(model.functions, address(x, i), address(theta, t), a, address(y, 0), address(p, 0))


@inner
def make_room(model: KernelModel, y: Words, count: int) -> None:
    """Behind `transition`, if rows of y are wider than x: move the next states, which lie close together, into rows."""
    width = y.shape[1]
    for i in range(count - 1, 0, -1):
        for w in range(model.x_words - 1, -1, -1):
            at = i * model.x_words + w
            y[i, w] = y[at // width, at % width]


@inner
def sampled_transition(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, y: Words, u: Floats) -> None:
    """T with noise: write the next state that the standard normal numbers u lead to into y[0]."""
    noise = model.noise
    if not noise.gaussian:
        call.transition(model.functions, address(x, i), address(theta, t), a, address(y, 0), address(u, 0))
        return
    spread = address(model.scratch, 0) + np.uint64(8 * model.x_words)
    call.transition(model.functions, address(x, i), address(theta, t), a, address(y, 0), spread)
    add_noise(noise, y, 0, model.scratch, model.x_words, u)


@inner
def sampled_reading(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int, u: Floats) -> None:
    """Z with readings: write the reading in y[j] that the standard normal numbers u lead to behind that state.

    It stays in model.scratch, too, with its standard deviations or random numbers.
    """
    noise, row = model.reading, model.scratch
    if not noise.gaussian:
        for k in range(noise.numbers):
            row.view(np.float64)[0, model.z_words + k] = u[k]
    call.observation(model.functions, address(y, j), address(theta, t), a, address(row, 0))
    if noise.gaussian:
        add_noise(noise, row, 0, row, model.z_words, u)
    for w in range(model.z_words):
        y[j, model.x_words + w] = row[0, w]


@inner
def transition_mean(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, rows: Words, r: int) -> None:
    """T with Gaussian noise: write the mean of the next state, and standard deviations behind it, into rows[r]."""
    spread = address(rows, r) + np.uint64(8 * model.x_words)
    call.transition(model.functions, address(x, i), address(theta, t), a, address(rows, r), spread)


@inner
def reading_mean(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int, rows: Words, r: int) -> None:
    """Z with Gaussian readings: write the mean of the reading, and standard deviations behind it, into rows[r]."""
    call.observation(model.functions, address(y, j), address(theta, t), a, address(rows, r))


@inner
def transition_log_density(
    model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, y: Words, j: int
) -> float:
    """log p(y[j] | x, θ, a) in a model with noise."""
    if not model.noise.gaussian:
        return call.density(model.functions, address(x, i), address(theta, t), a, address(y, j))
    mean = address(model.scratch, 0)
    spread = mean + np.uint64(8 * model.x_words)
    call.transition(model.functions, address(x, i), address(theta, t), a, mean, spread)
    return log_normal_words(model.noise, model.scratch, model.x_words, y, j, 0)


@inner
def reading_log_density(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int) -> float:
    """log p(z | y[j], θ', a) for the reading z behind y[j]."""
    if not model.reading.gaussian:
        reading = address(y, j) + np.uint64(8 * model.x_words)
        return call.likelihood(model.functions, address(y, j), address(theta, t), a, reading)
    call.observation(model.functions, address(y, j), address(theta, t), a, address(model.scratch, 0))
    return log_normal_words(model.reading, model.scratch, model.z_words, y, j, model.x_words)


@inlined
def observation(model: KernelModel, y: Words, j: int, theta: Words, t: int, a: int, z: Floats, first: int) -> int:
    """Z: write P(o | y, θ', a) into z from z[first] on, null last."""
    if model.functions[OBSERVATION] == 0:
        for o in range(model.observations):
            z[first + o] = 0.0
        z[first + model.observations] = 1.0
        return 0
    return call.observation(model.functions, address(y, j), address(theta, t), a, address(z, first))


@inlined
def reward(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int) -> float:
    """R(x, θ, a)."""
    return call.reward(model.functions, address(x, i), address(theta, t), a)


@inlined
def terminal(model: KernelModel, x: Words, i: int) -> bool:
    """Whether x ends the episode."""
    return model.functions[TERMINAL] != 0 and call.terminal(model.functions, address(x, i)) == 1


@inlined
def legal(model: KernelModel, x: Words, i: int, a: int) -> bool:
    """Whether action a is allowed in x."""
    return model.functions[LEGAL] == 0 or call.legal(model.functions, address(x, i), a) == 1


@inlined
def depends(model: KernelModel, x: Words, i: int, a: int) -> int:
    """The block of θ that (x, a) depends on: a component, or the last, "no component"."""
    none = model.offsets.shape[0] - 2
    if none == 1:
        return 0
    component = call.depends(model.functions, address(x, i), a)
    return none if component == -1 else component


@inlined
def evolve(model: KernelModel, x: Words, i: int, theta: Words, t: int, a: int, theta_next: Words) -> int:
    """Write θ' = φ(θ, x, a) into theta_next[0]."""
    return call.evolve(model.functions, address(x, i), address(theta, t), a, address(theta_next, 0))


@inlined
def has_heuristic(model: KernelModel) -> bool:
    """Whether the model estimates values."""
    return model.functions[HEURISTIC] != 0


@inlined
def heuristic(model: KernelModel, x: Words, i: int) -> float:
    """The model's estimate of the value of x; only if has_heuristic."""
    return call.heuristic(model.functions, address(x, i))


@inlined
def policy(model: KernelModel, x: Words, i: int, u: float) -> int:
    """A rollout action: the model's own policy, or uniform over the legal actions; a fault if none is legal."""
    if model.functions[POLICY] != 0:
        return call.policy(model.functions, address(x, i), u)
    count = 0
    for a in range(model.actions):
        if legal(model, x, i, a):
            count += 1
    left = int(u * count)
    for a in range(model.actions):
        if legal(model, x, i, a):
            if left == 0:
                return a
            left -= 1
    note_no_action(model, x, i)
    return 0


@inlined
def first_legal(model: KernelModel, x: Words, i: int) -> int:
    """The first action that is legal in x; a fault if none is."""
    for a in range(model.actions):
        if legal(model, x, i, a):
            return a
    note_no_action(model, x, i)
    return 0


@inlined
def prior(model: KernelModel, theta: Words, t: int, stream: Words) -> int:
    """Draw θ into theta[t]."""
    return call.prior(model.functions, address(theta, t), address(stream, 0))


@inlined
def move(model: KernelModel, x: Words, i: int, theta: Words, t: int, stream: Words) -> int:
    """Move theta[t] one step along a Markov chain that preserves P(θ | x); return 1 if it changed."""
    if model.functions[MOVE] == 0:
        return 0
    return call.move(model.functions, address(x, i), address(theta, t), address(stream, 0))


@inlined
def summary(model: KernelModel, theta: Words, t: int, f: Floats) -> int:
    """Write the numbers that describe θ to people into f."""
    return call.summary(model.functions, address(theta, t), address(f, 0))


@inlined
def upper(model: KernelModel, x: Words, i: int, theta: Words, t: int) -> float:
    """The model's upper bound on the value of x to an agent that knows θ; only if functions[UPPER] is not 0."""
    return call.upper(model.functions, address(x, i), address(theta, t))


@inlined
def preferred(model: KernelModel, x: Words, i: int, h: Words, k: int, f: Floats) -> int:
    """Write 1 into f for the actions that the model prefers in x after the history h[k], else 0; return how many.

    If it prefers none, all legal actions count as preferred.
    """
    count = 0
    if model.functions[PREFERRED] != 0:
        count = call.preferred(model.functions, address(x, i), address(h, k), address(f, 0))
    if count == 0:
        for a in range(model.actions):
            f[a] = 1.0 if legal(model, x, i, a) else 0.0
            count += 1 if f[a] > 0.0 else 0
    return count


@inlined
def remember(model: KernelModel, x: Words, a: int, y: Words, j: int, o: int, h: Words, k: int) -> int:
    """Update h[k] by the step (x, a, y, o)."""
    if model.functions[REMEMBER] == 0:
        return 0
    return call.remember(model.functions, address(x, 0), a, address(y, j), o, address(h, k))
