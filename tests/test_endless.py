"""Policies without a discount: finite where they come to rest, and not where they earn or cost forever."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.mdp import full_information
from pomdplite.mdp.full_information import policy_values, repeated_action
from pomdplite.mdp.momdp import momdp_form

STATES, VALUES, ACTIONS = 6, 2, 2


def random_tables(seed: int, sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Few next states each, so that loops are common; state 0 is the end, and some rewards are 0."""
    random = np.random.default_rng(seed)
    transition = np.zeros((STATES, VALUES, ACTIONS, STATES))
    for x, theta, a in np.ndindex(STATES, VALUES, ACTIONS):
        transition[x, theta, a, random.choice(STATES, size=2)] += 0.5
    transition /= transition.sum(axis=3, keepdims=True)
    reward = sign * random.integers(0, 3, size=(STATES, VALUES, ACTIONS))
    return transition, reward.astype(float)


def expected(p: np.ndarray, r: np.ndarray, sign: float) -> np.ndarray:
    """The value of a Markov chain with rewards: ±inf where a loop with a reward may be reached, else by equations."""
    n = len(r)
    reach = np.linalg.matrix_power((p > 0) | np.eye(n, dtype=bool), n) > 0
    recurrent = [all(reach[t, s] for t in range(n) if reach[s, t]) for s in range(n)]
    loops = [recurrent[s] and any(r[t] != 0 for t in range(n) if reach[s, t]) for s in range(n)]
    endless = np.array([any(loops[t] for t in range(n) if reach[s, t]) for s in range(n)])
    moving = ~endless & ~np.array(recurrent)
    value = np.where(endless, sign * np.inf, 0.0)
    value[moving] = np.linalg.solve(np.eye(moving.sum()) - p[np.ix_(moving, moving)], r[moving])
    return value


@pytest.mark.parametrize("sign", [-1.0, 1.0])
@pytest.mark.parametrize("seed", range(20))
def test_values_are_those_of_the_chain_and_loops_with_rewards_need_no_sweeps(seed, sign, monkeypatch):
    monkeypatch.setattr(full_information, "_MAX_SWEEPS", 2_000)  # a loop that goes unnoticed does not converge
    transition, reward = random_tables(seed, sign)
    model = pl.tabular(transition, reward, discount=1.0, start=STATES - 1, terminal=(0,))
    momdp = momdp_form(model)
    for a in range(ACTIONS):
        values = policy_values(momdp, repeated_action(momdp, a), 1.0)
        for theta in range(VALUES):
            p, r = transition[:, theta, a].copy(), reward[:, theta, a].copy()
            p[0], r[0] = np.eye(STATES)[0], 0.0
            exact = expected(p, r, sign)
            for s in range(1, momdp.reachable.states):
                x = int(momdp.view.record(momdp.reachable.graph.states[s])["state"])
                assert values[s, theta] == pytest.approx(exact[x], abs=0.2)


def test_a_loop_whose_rewards_may_cancel_is_left_to_sweeps(monkeypatch):
    monkeypatch.setattr(full_information, "_MAX_SWEEPS", 100)
    transition = np.zeros((3, 1, 1, 3))
    transition[0, :, :, 0] = transition[1, :, :, 2] = transition[2, :, :, 1] = 1.0
    model = pl.tabular(transition, np.array([[[0.0]], [[2.0]], [[-1.0]]]), discount=1.0, start=1, terminal=(0,))
    momdp = momdp_form(model)
    with pytest.raises(pl.NotConvergingError, match="some loop earns or costs forever"):
        policy_values(momdp, repeated_action(momdp, 0), 1.0)
