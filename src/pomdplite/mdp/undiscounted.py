"""Models without a discount (γ = 1) whose episodes are cut after H steps: what solvers without a clock do about them.

A solver whose values do not depend on the time looks ahead without end. Without a discount a loop that earns is then
worth infinitely much; with a bonus for exploring, that is every loop in which something can be learned. A discount of

    γ' = 1 − 1/H

lets it look ahead H steps on average, as far as an episode goes. It is used only if a state can come up twice in an
episode; otherwise an episode ends by itself, and γ = 1 is exact. What is earned counts without discount all the same.

Bounds on what can be earned need no γ': the value of H steps for an agent that knows θ follows from H backups.
"""

import numpy as np

from pomdplite.compile.jit import Floats, Ints, kernel
from pomdplite.errors import TooLargeError
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.full_information import every_choice, full_information_q
from pomdplite.mdp.momdp import Momdp, MomdpArrays
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden
from pomdplite.rng import stream, uniform

_WALKS, _STEPS = 16, 60  # random walks on which a state would come up twice
_MOST_BACKUPS = 500_000_000  # of a (x, θ, a), some 5 s


def has_cut_episodes(model: Model) -> bool:
    """Whether rewards count in full until the horizon cuts the episode."""
    return model.discount == 1 and model.horizon is not None


def planning_discount(model: Model, *, on_grid: bool = False) -> float:
    """The discount for a solver without a clock: γ, or γ' if there is no discount, but a horizon, and states repeat.

    On a grid they do: points come up again where states do not.
    """
    repeating = on_grid or isinstance(model.hidden, Dirichlet)  # unknown probabilities are learned by repetition
    if not has_cut_episodes(model) or not (repeating or _states_repeat(model)):
        return float(model.discount)
    return 1.0 - 1.0 / model.episode_horizon


def _states_repeat(model: Model) -> bool:
    """Whether a state comes up twice on some random walk from the initial state."""
    return any(_repeats(model, number) for number in range(_WALKS))


def _repeats(model: Model, number: int) -> bool:
    run, x, random = model.compiled_form.interpreted, model.initial_state(), stream(0, number)
    if isinstance(model.hidden, Hidden):
        theta = model.hidden.record([int(uniform(random) * len(c)) for c in model.hidden.components])
    else:
        theta = model.compiled_form.draw_hidden(random)
    seen = {x.tobytes()}
    for _ in range(min(_STEPS, model.episode_horizon)):
        legal = [a for a in range(len(model.actions)) if run.legal(x, a)]
        if run.terminal(x) or not legal:
            return False
        a = legal[int(uniform(random) * len(legal))]
        branches = [y for y, p in run.transition(x, theta, a, run.calls["transition"].normals(random)) if p > 0]
        theta, x = run.evolve(x, theta, a), branches[int(uniform(random) * len(branches))]
        if x.tobytes() in seen:
            return True
        seen.add(x.tobytes())
    return False


def horizon_values(
    momdp: Momdp, steps: int, choice: Ints | None = None, *, deadline: Deadline = NO_DEADLINE
) -> tuple[Floats, Floats]:
    """What can be earned without discount if θ is known: in so many steps, and in 1 to so many steps at most.

    Both as [state, joint value]. If given, each state chooses among the pairs choice[state, 0]:choice[state, 1] alone.
    """
    name, states = momdp.view.model.name, momdp.reachable.states
    choice = every_choice(momdp) if choice is None else choice
    if steps * int((choice[:, 1] - choice[:, 0]).sum()) * momdp.values > _MOST_BACKUPS:
        raise TooLargeError(f"{name}: computing the values of a known θ for {steps:,} steps takes too long.")
    v, following, largest = np.zeros((states, momdp.values)), np.zeros((states, momdp.values)), None
    for _ in range(steps):
        deadline.check(f"{name}: computing the values of a known θ")
        _one_step_more(momdp.arrays, choice, v, following)
        settled = np.array_equal(v, following)
        v, following = following, v
        largest = v.copy() if largest is None else np.maximum(largest, v, out=largest)
        if settled:
            break
    assert largest is not None
    return v, largest


def bound_of_cut_episodes(momdp: Momdp) -> float:
    """Σ_θ b(θ) V_θ(x₀) of H steps, which no planner exceeds in an episode; infinite if computing it takes too long."""
    try:
        values, _ = horizon_values(momdp, momdp.view.model.episode_horizon)
    except TooLargeError:
        return np.inf
    return float(momdp.prior @ values[momdp.reachable.find(momdp.view.root())])


@kernel
def _one_step_more(arrays: MomdpArrays, choice: Ints, v: Floats, following: Floats) -> None:
    """The values of one step more than those of v."""
    for s in range(1, v.shape[0]):
        for j in range(v.shape[1]):
            best = -np.inf
            for pair in range(choice[s, 0], choice[s, 1]):
                best = max(best, full_information_q(arrays, v, s, pair, j, 1.0, False))
            following[s, j] = best
