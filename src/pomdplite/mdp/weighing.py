"""How likely a step is under each hidden value, in models with noise or readings.

What is seen after a step is compared by its density: of the next state, if it has noise, and of the reading. Where they
are not noisy they have probabilities, as in listed models.
"""

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.faults import FaultKind
from pomdplite.compile.jit import Floats, Words, inner, kernel
from pomdplite.mdp.observation_rows import observation_row
from pomdplite.mdp.outcomes import Outcomes, advance_maps, present_row, row_of, ruled_out

_DOMAIN = int(FaultKind.DOMAIN)


@inner
def transition_log_probability(model: KernelModel, x: Words, i: int, a: int, y: Words, j: int, out: Outcomes) -> float:
    """log p(y[j] | x[i], θ, a) for the θ in out.past."""
    if model.noise.numbers > 0:
        return abi.transition_log_density(model, x, i, out.past, 0, a, y, j)
    chance = 0.0
    count = abi.transition(model, x, i, out.past, 0, a, out.y, out.p)
    if model.z_words > 0:
        abi.make_room(model, out.y, count)
    for k in range(count):
        same = out.p[k] > 0.0
        for w in range(model.x_words):
            if out.y[k, w] != y[j, w]:
                same = False
        if same:
            chance += out.p[k]
    return np.log(chance) if chance > 0.0 else -np.inf


@inner
def observation_log_probability(
    model: KernelModel, y: Words, j: int, theta: Words, a: int, o: int, out: Outcomes
) -> float:
    """log P(o | y[j], θ', a) for θ' = theta[0]; where there are readings, the log density of the one behind y[j]."""
    if model.z_words > 0:
        return abi.reading_log_density(model, y, j, theta, 0, a)
    seen = out.rows.z[observation_row(model, y, j, theta, 0, a, out.rows) + o]
    return np.log(seen) if seen > 0.0 else -np.inf


@kernel
def weigh_step(model: KernelModel, s: Words, a: int, y: Words, o: int, logs: Floats, out: Outcomes) -> tuple[int, bool]:
    """Fill logs[v] with log p(y[0], o | θ, s[0], a) for each initial value v of the component that (s, a) depends on.

    Return the component, and whether some value leads to y. out.next[0] is s after the step, with its maps.
    """
    component = abi.depends(model, s, 0, a)
    first = model.offsets[component]
    evolving = model.evolves and component < model.offsets.shape[0] - 2
    arrived = False
    for v in range(model.offsets[component + 1] - first):
        row = present_row(model, s, 0, component, first + v)
        out.later[v] = row
        for w in range(out.past.shape[1]):
            out.past[0, w] = model.theta[row, w]
            out.theta[0, w] = model.theta[row, w]
        logs[v] = transition_log_probability(model, s, 0, a, y, 0, out)
        changing = evolving and not ruled_out(model, first + v)
        if changing:
            abi.evolve(model, s, 0, out.past, 0, a, out.theta)
        if changing and model.s_words > model.x_words:
            out.later[v] = row_of(model, component, out.theta, row)
            if out.later[v] < 0:
                abi.note_fault(model, _DOMAIN, abi.EVOLVE, s, 0, out.past, 0, a)
                out.later[v] = row
        if logs[v] > -np.inf:
            arrived = True
            logs[v] += observation_log_probability(model, y, 0, out.theta, a, o, out)
    for w in range(model.s_words):
        out.next[0, w] = y[0, w] if w < model.x_words else s[0, w]
    if evolving and model.s_words > model.x_words:
        advance_maps(model, component, 1, out)
    return component, arrived
