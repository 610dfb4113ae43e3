"""A walk through a model's reachable states that calls every function at every (x, θ, a), in compiled code.

The functions' wrappers notice what is wrong (compile/faults.py). The walk adds what takes more than one call: a second
call must agree with the first, components that `depends` leaves out must not matter, and φ must stay within Θ. It stops
at a fault and continues behind it when it is called again.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.addresses import SLOTS
from pomdplite.compile.faults import FaultKind
from pomdplite.compile.jit import Flags, Floats, Ints, Small, Words, inlined, inner, kernel
from pomdplite.mdp.hash_table import empty_table, row_slot
from pomdplite.rng import noise_from, uniform

# Why the walk returned.
FINISHED, PAUSED, FAULT_FOUND = range(3)

# Indices into Walk.counts.
FOUND, STATE, ACTION, VALUE, EXPANDED, CALLS, LEGAL_ACTIONS, LEFT_OUT = range(8)

_VALUES = 64  # of one component, or of a joint or drawn θ, that are tried in one (x, a)
_PENDING = 16  # states that wait; where steps have noise, further ones are followed only now and then
_DRAWS = 3  # of a θ that cannot be listed
_DIFFERS, _DOMAIN, _DENSITY_ZERO = (int(k) for k in (FaultKind.DIFFERS, FaultKind.DOMAIN, FaultKind.DENSITY_ZERO))
_TRANSITION = SLOTS["transition"]
_REPEATS = 3  # of φ, whose value is drawn from few


class Walk(NamedTuple):
    """States in the order of discovery, and how far the walk has come."""

    counts: Ints  # [8] states found; the present state, action and value; states that are not terminal; (x, θ, a)
    #                   called; legal actions of the present state; whether a state was left out for lack of space
    states: Words  # [limit, x_words]
    table: Small  # hash table of state numbers, -1 where empty
    observed: Flags  # [observation] whether it ever had a positive likelihood
    sample_x: Words  # [sample, x_words] (x, θ, a) drawn evenly from the walk
    sample_theta: Words  # [sample, theta_words]
    sample_a: Ints  # [sample]
    random: Words
    listed: bool  # whether model.theta holds every hidden value; if not, it holds draws
    whole: bool  # whether a row of model.theta is all of θ; if not, one component of it
    # scratch
    theta: Words  # [2, theta_words] θ, and θ with the components redrawn that do not matter
    later: Words  # [2, theta_words] the same after the step
    later_again: Words  # [1, theta_words]
    y: Words  # [next_states, x_words]
    y_again: Words
    p: Floats  # [next_states]
    p_again: Floats
    z: Floats  # [observations + 1]
    z_again: Floats


class Draws(NamedTuple):
    """Scratch for a model with noise or readings. Listed models have none, so they do not compile what uses it."""

    noise: Floats  # [random numbers of a step or of a reading]
    seen: Words  # [1, x_words + z_words] a next state with its reading
    reading: Words  # [1, …] a reading with its noise

    @classmethod
    def of(cls, model: KernelModel) -> "Draws | None":
        """None if all outcomes of a step are listed."""
        if model.noise.numbers == 0 and model.z_words == 0:
            return None
        return cls(
            noise=np.zeros(max(1, model.noise.numbers, model.reading.numbers)),
            seen=np.zeros((1, model.x_words + model.z_words), np.uint64),
            reading=np.zeros_like(model.scratch),
        )


def allocate_walk(
    model: KernelModel, start: Words, limit: int, samples: int, random: Words, *, listed: bool, whole: bool
) -> Walk:  # fmt: skip
    """A walk from a state through at most this many; listed, whole: as in `Walk`."""
    theta_words = model.theta.shape[1]
    walk = Walk(
        counts=np.zeros(8, np.int64),
        states=np.zeros((limit, model.x_words), np.uint64),
        table=empty_table(2 * limit + 1),
        observed=np.zeros(model.observations + 1, np.bool_),
        sample_x=np.zeros((samples, model.x_words), np.uint64),
        sample_theta=np.zeros((samples, theta_words), np.uint64),
        sample_a=np.zeros(samples, np.int64),
        random=random,
        listed=listed,
        whole=whole,
        theta=np.zeros((2, theta_words), np.uint64),
        later=np.zeros((2, theta_words), np.uint64),
        later_again=np.zeros((1, theta_words), np.uint64),
        y=np.zeros((model.next_states, model.x_words), np.uint64),
        y_again=np.zeros((model.next_states, model.x_words), np.uint64),
        p=np.zeros(max(model.next_states, model.noise.numbers)),
        p_again=np.zeros(max(model.next_states, model.noise.numbers)),
        z=np.zeros(model.observations + 1),
        z_again=np.zeros(model.observations + 1),
    )
    walk.states[0] = start
    walk.table[row_slot(walk.states, walk.table, walk.states, 0)] = 0
    walk.counts[FOUND] = 1
    return walk


@kernel
def advance(model: KernelModel, walk: Walk, draws: Draws | None, pause: int) -> int:
    """Walk on until every state found is done, until `pause` (x, θ, a) have been called, or until a fault."""
    counts = walk.counts
    while counts[STATE] < counts[FOUND]:
        s = counts[STATE]
        if counts[CALLS] >= pause:
            return PAUSED
        if counts[ACTION] == 0 and counts[VALUE] == 0:
            if abi.terminal(model, walk.states, s):
                counts[STATE] += 1
                if abi.faulty(model):
                    return FAULT_FOUND
                continue
            counts[EXPANDED] += 1
        while counts[ACTION] < model.actions:
            if not _try_values(model, walk, draws, s, counts[ACTION]):
                return FAULT_FOUND
            counts[ACTION] += 1
            counts[VALUE] = 0
        legal = counts[LEGAL_ACTIONS]
        counts[STATE], counts[ACTION], counts[LEGAL_ACTIONS] = s + 1, 0, 0
        if legal == 0:
            abi.note_no_action(model, walk.states, s)
            return FAULT_FOUND
    return FINISHED


@inner
def _try_values(model: KernelModel, walk: Walk, draws: Draws | None, s: int, a: int) -> bool:
    """Try every value of θ that matters to (x, a); return False at a fault, with the counts behind it."""
    counts = walk.counts
    legal = abi.legal(model, walk.states, s, a)
    component = abi.depends(model, walk.states, s, a) if legal else 0
    if abi.faulty(model):
        counts[ACTION] += 1
        counts[VALUE] = 0
        counts[LEGAL_ACTIONS] += 1
        return False
    if not legal:
        return True
    if counts[VALUE] == 0:
        counts[LEGAL_ACTIONS] += 1
    values = _values(model, component, walk.listed)
    while counts[VALUE] < values:
        counts[VALUE] += 1
        _try(model, walk, draws, s, a, component, counts[VALUE] - 1, values)
        if abi.faulty(model):
            return False
    return True


@inlined
def _values(model: KernelModel, component: int, listed: bool) -> int:
    """How many values of θ to try in an (x, a) that depends on this component."""
    if not listed:
        return _DRAWS
    return min(_VALUES, model.offsets[component + 1] - model.offsets[component])


@inner
def _try(
    model: KernelModel, walk: Walk, draws: Draws | None, s: int, a: int, component: int, value: int, values: int
) -> None:
    """Call T, Z, R and φ at (x, θ, a) twice, and add the next states to the walk."""
    first = model.offsets[component]
    n = model.offsets[component + 1] - first
    row = first + value if values == n else first + int(uniform(walk.random) * n)
    _compose(model, walk, component, row, 0)
    _compose(model, walk, component, row, 1)  # the same where there is no other component
    _keep_sample(walk, s, a)
    walk.counts[CALLS] += 1
    if abi.reward(model, walk.states, s, walk.theta, 0, a) != abi.reward(model, walk.states, s, walk.theta, 1, a):
        _note_difference(model, walk, s, a)
    abi.transition(model, walk.states, s, walk.theta, 0, a, walk.y, walk.p)
    abi.transition(model, walk.states, s, walk.theta, 1, a, walk.y_again, walk.p_again)
    if draws is not None:
        _draw_next(model, walk, draws, s, a)
    for i in range(model.next_states):
        if walk.p[i] != walk.p_again[i] or (walk.p[i] > 0.0 and not _same(walk.y, walk.y_again, i)):
            _note_difference(model, walk, s, a)
    _evolve(model, walk, s, a, component, row)
    for i in range(model.next_states):
        if walk.p[i] > 0.0 and not abi.faulty(model):
            if draws is not None and model.z_words > 0:
                _read(model, walk, draws, s, a, i)
            else:
                _observe(model, walk, s, a, i)
            if draws is None or _follows(model, walk, s, values):
                _add_state(walk, i)


@inner
def _draw_next(model: KernelModel, walk: Walk, draws: Draws, s: int, a: int) -> None:
    """T with noise under both θ, from the same random numbers."""
    if model.noise.numbers > 0:
        noise_from(uniform(walk.random), model.noise.numbers, draws.noise)
        abi.sampled_transition(model, walk.states, s, walk.theta, 0, a, walk.y, draws.noise)
        abi.sampled_transition(model, walk.states, s, walk.theta, 1, a, walk.y_again, draws.noise)
        walk.p[0], walk.p_again[0] = 1.0, 1.0
        if not model.noise.gaussian:
            if abi.transition_log_density(model, walk.states, s, walk.theta, 0, a, walk.y, 0) == -np.inf:
                abi.note_fault(model, _DENSITY_ZERO, _TRANSITION, walk.states, s, walk.theta, 0, a)


@inner
def _follows(model: KernelModel, walk: Walk, s: int, values: int) -> bool:
    """Whether to follow a next state. Where every step leads to a new one, only some are, for depth before width."""
    few = walk.counts[FOUND] - s <= _PENDING
    return model.noise.numbers == 0 or few or uniform(walk.random) * model.actions * values < 1.0


@inner
def _compose(model: KernelModel, walk: Walk, component: int, row: int, t: int) -> None:
    """Write θ with this row's value of one component, and the others drawn evenly, into walk.theta[t].

    Components occupy different bits of θ, and a row of one component has the others at their first value.
    """
    none, theta = model.offsets.shape[0] - 2, walk.theta
    base, whole = model.offsets[none], walk.whole or none == 1
    for w in range(theta.shape[1]):
        theta[t, w] = model.theta[row, w] if whole else model.theta[base, w]
    if whole:
        return
    for c in range(none):
        first = model.offsets[c]
        drawn = first + int(uniform(walk.random) * (model.offsets[c + 1] - first))
        if c == component:
            drawn = row
        for w in range(theta.shape[1]):
            theta[t, w] ^= model.theta[drawn, w] ^ model.theta[base, w]


@inner
def _evolve(model: KernelModel, walk: Walk, s: int, a: int, component: int, row: int) -> None:
    """φ: only the component may change, to another of its values; the same change in both θ."""
    theta, later = walk.theta, walk.later
    for w in range(theta.shape[1]):
        later[0, w], later[1, w] = theta[0, w], theta[1, w]
    if not model.evolves:
        return
    abi.evolve(model, walk.states, s, theta, 0, a, later)
    for _ in range(_REPEATS):
        abi.evolve(model, walk.states, s, theta, 0, a, walk.later_again)
        for w in range(theta.shape[1]):
            if later[0, w] != walk.later_again[0, w]:
                _note_difference(model, walk, s, a)
    known = not walk.listed  # a number with a distribution may become any other
    for other in range(model.offsets[component], model.offsets[component + 1]):
        same = True
        for w in range(theta.shape[1]):
            if later[0, w] != theta[0, w] ^ model.theta[row, w] ^ model.theta[other, w]:
                same = False
        known = known or same
    if not known:
        abi.note_fault(model, _DOMAIN, abi.EVOLVE, walk.states, s, theta, 0, a)
    for w in range(theta.shape[1]):
        later[1, w] ^= theta[0, w] ^ later[0, w]


@inner
def _observe(model: KernelModel, walk: Walk, s: int, a: int, i: int) -> None:
    """Z in the next state y[i] under both θ."""
    abi.observation(model, walk.y, i, walk.later, 0, a, walk.z, 0)
    abi.observation(model, walk.y, i, walk.later, 1, a, walk.z_again, 0)
    for o in range(model.observations + 1):
        if walk.z[o] > 0.0:
            walk.observed[o] = True
        if walk.z[o] != walk.z_again[o]:
            _note_difference(model, walk, s, a)


@inner
def _read(model: KernelModel, walk: Walk, draws: Draws, s: int, a: int, i: int) -> None:
    """Z with readings in the next state y[i] under both θ, from the same random numbers."""
    noise_from(uniform(walk.random), model.reading.numbers, draws.noise)
    for w in range(model.x_words):
        draws.seen[0, w] = walk.y[i, w]
    for t in range(2):
        abi.sampled_reading(model, draws.seen, 0, walk.later, t, a, draws.noise)
        for w in range(model.z_words + model.reading.numbers):
            if t == 1 and draws.reading[0, w] != model.scratch[0, w]:
                _note_difference(model, walk, s, a)
            draws.reading[0, w] = model.scratch[0, w]
    if not model.reading.gaussian and abi.reading_log_density(model, draws.seen, 0, walk.later, 1, a) == -np.inf:
        abi.note_fault(model, _DENSITY_ZERO, abi.OBSERVATION, draws.seen, 0, walk.later, 1, a)


@inner
def _note_difference(model: KernelModel, walk: Walk, s: int, a: int) -> None:
    """Record that some function of (x, θ, a) does not repeat itself; step.py finds out which."""
    abi.note_fault(model, _DIFFERS, _TRANSITION, walk.states, s, walk.theta, 0, a)


@inlined
def _same(rows: Words, others: Words, i: int) -> bool:
    for w in range(rows.shape[1]):
        if rows[i, w] != others[i, w]:
            return False
    return True


@inner
def _add_state(walk: Walk, i: int) -> None:
    """Add the next state y[i], if it is new and there is space."""
    slot = row_slot(walk.states, walk.table, walk.y, i)
    if walk.table[slot] >= 0:
        return
    number = walk.counts[FOUND]
    if number == walk.states.shape[0]:
        walk.counts[LEFT_OUT] = 1
        return
    for w in range(walk.states.shape[1]):
        walk.states[number, w] = walk.y[i, w]
    walk.table[slot] = number
    walk.counts[FOUND] = number + 1


@inner
def _keep_sample(walk: Walk, s: int, a: int) -> None:
    """Reservoir sampling: every (x, θ, a) of the walk is equally likely to be kept."""
    place, size = walk.counts[CALLS], walk.sample_a.shape[0]
    if place >= size:
        place = int(uniform(walk.random) * (place + 1))
    if place < size:
        walk.sample_a[place] = a
        for w in range(walk.states.shape[1]):
            walk.sample_x[place, w] = walk.states[s, w]
        for w in range(walk.theta.shape[1]):
            walk.sample_theta[place, w] = walk.theta[0, w]
