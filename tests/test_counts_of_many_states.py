"""The exact solver of unknown probabilities with many states, against policy iteration with dense linear algebra."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite import rng
from pomdplite.mdp.counts import solver as solvers
from pomdplite.mdp.counts.bonuses import expected_change, until_known
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.mdp.value_iteration import TOLERANCE

STATES, ACTIONS = 90, 3
BETA, VISITS = 2.0, 2


@pytest.fixture(autouse=True)
def _so_few_count_as_many(monkeypatch):
    monkeypatch.setattr(solvers, "MOST_STATES", 0)


def scattered(seed, terminal=(), scale=1.0):
    """Five random next states for each action: what is learned anywhere matters nearly everywhere."""
    draw = np.random.default_rng(seed)
    counts = np.zeros((STATES, ACTIONS, STATES))
    for s in range(STATES):
        for a in range(ACTIONS):
            counts[s, a, draw.choice(STATES, 5, replace=False)] = draw.uniform(0.2, 3.0, 5)
        counts[s, 0, (s + 1) % STATES] = 1.0  # every state is reached
    return made(counts, scale * draw.uniform(-1, 1, (STATES, ACTIONS)), terminal)


def ring():
    """One action leads on, for certain, the others back, or perhaps not: the eigenvalues lie on a circle."""
    counts = np.zeros((STATES, ACTIONS, STATES))
    for s in range(STATES):
        counts[s, 0, (s + 1) % STATES] = 1.0
        counts[s, 1:, [s, (s - 1) % STATES]] = 1.0
    return made(counts, np.random.default_rng(0).uniform(-1, 1, (STATES, ACTIONS)), ())


def grid():
    """Cells of 9 × 10 whose moves lead to a neighbour or nowhere: what is learned matters little far away."""
    counts = np.zeros((STATES, ACTIONS, STATES))
    for s in range(STATES):
        r, c = divmod(s, 10)
        near = [
            10 * i + j
            for i, j in ((r, c), (r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
            if 0 <= i < 9 and 0 <= j < 10
        ]
        counts[s][:, near] = 1.0
    reward = np.zeros((STATES, ACTIONS))
    reward[-1] = 1.0
    return made(counts, reward, ())


def made(counts, reward, terminal):
    return (
        pl.UnknownMdp(STATES, ACTIONS, reward, discount=0.9, counts=counts, terminal=terminal),
        counts,
        reward,
        terminal,
    )


def dense(counts, prior, reward, terminal, gamma, rule):
    """Q and its bonus part by policy iteration."""
    total = counts.sum(axis=2)
    mean, closed = counts / total[:, :, None], np.zeros_like(total, bool)
    differ = 2 * (mean * (1 - mean)).sum(axis=2)
    extra = BETA * differ / (1 + total)
    if rule is not expected_change:
        closed = (counts.sum(axis=2) - prior.sum(axis=2) < VISITS) & (differ > 0)
        extra = np.where(closed, BETA, 0.0)
    ends, rows = np.isin(np.arange(STATES), terminal), np.arange(STATES)
    gain = np.where(closed, 0.0, reward) + extra
    step = np.where((closed | ends[:, None])[:, :, None], 0.0, gamma * mean)
    gain[ends] = extra[ends] = 0.0
    policy = np.zeros(STATES, int)
    for _ in range(1000):
        v, bonus = np.linalg.solve(
            np.eye(STATES) - step[rows, policy], np.c_[gain[rows, policy], extra[rows, policy]]
        ).T
        q = gain + step @ v
        better = np.where(q.max(axis=1) > q[rows, policy] + 1e-11 * (1 + np.abs(v)), q.argmax(axis=1), policy)
        if (better == policy).all():
            return q, extra + step @ bonus
        policy = better
    raise AssertionError("policy iteration goes round in circles")


def agree(solver, made_model, gamma, rule, steps, tolerance=TOLERANCE):
    """Walk through the model at random; the solution is right after every step."""
    model, prior, reward, terminal = made_model
    world, belief, counts, draws = pl.ModelWorld(model), pl.initial_belief(model), prior.copy(), rng.stream(3)
    world.reset(5)
    solver.reset(belief.probabilities, 0)
    for _ in range(steps):
        q, bonus = dense(counts, prior, reward, terminal, gamma, rule)
        x = world.x
        found = solver.solve(
            belief.kernel_model, solver.view.words(x, solver.view.maps(solver.view.root())), belief.probabilities
        )
        assert found.q == pytest.approx(q[x.state], abs=tolerance)
        assert found.bonus_part == pytest.approx(bonus[x.state], abs=tolerance)
        states = solver.reachable.graph.states[1:, 0].astype(int)
        assert solver.values[1:] == pytest.approx(q.max(axis=1)[states], abs=tolerance)
        a = int(rng.uniform(draws) * ACTIONS)
        result = world.step(a)
        belief.update(x, a, result.y, result.o)
        counts[x.state, a, result.y.state] += 1
        if result.terminated:
            return


def solver_of(made_model, gamma, rule=expected_change):
    return CountsSolver(made_model[0].compiled_form.kernel_view(), gamma, BETA, rule=rule)


@pytest.mark.parametrize("gamma", [0.5, 0.9, 0.99, 0.999])
@pytest.mark.parametrize("terminal", [(), (7, 40, 41)], ids=["goes on", "ends"])
def test_scattered_next_states(gamma, terminal):
    model = scattered(int(1000 * gamma), terminal)
    agree(solver_of(model, gamma), model, gamma, expected_change, steps=25)


@pytest.mark.parametrize("gamma", [0.9, 0.999])
def test_steps_that_are_not_believed(gamma):
    model, rule = scattered(4), until_known(VISITS)
    agree(solver_of(model, gamma, rule), model, gamma, rule, steps=60)


@pytest.mark.parametrize("model", [ring(), grid()], ids=["ring", "grid"])
@pytest.mark.parametrize("gamma", [0.9, 0.995])
def test_next_states_nearby(model, gamma):
    agree(solver_of(model, gamma), model, gamma, expected_change, steps=25)


def test_values_at_the_limits_of_a_number():
    """Where rewards are millions, a threshold of 10⁻⁶ is beyond 16 digits; it still ends, and has most of them."""
    model = scattered(5, scale=1e7)
    agree(solver_of(model, 0.999), model, 0.999, expected_change, steps=3, tolerance=1e-3)


def test_the_number_of_sweeps_does_not_grow_with_the_discount():
    """Plain sweeps would take some 30 for γ = 0.5 and 20,000 for γ = 0.999."""
    work = {}
    for gamma in (0.5, 0.999):
        model = scattered(6)
        solver = solver_of(model, gamma)
        agree(solver, model, gamma, expected_change, steps=20)
        work[gamma] = solver.evaluated / (STATES * ACTIONS) / 20  # sweeps over everything, for each solution
    assert work[0.999] < 4 * work[0.5]


def test_what_is_learned_on_a_grid_is_solved_nearby():
    model = grid()
    solver = solver_of(model, 0.5)
    belief = pl.initial_belief(model[0])
    solver.reset(belief.probabilities, 0)
    belief.update((0,), 0, (1,), None)
    found = solver.solve(belief.kernel_model, solver.view.root(), belief.probabilities)
    assert 0 < found.solved < STATES
