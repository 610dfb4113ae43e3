"""The rivals for unknown probabilities, each against its formula on a small MDP; and the problems they are compared on."""

import numpy as np
import pytest
from test_counts import STATES, random_mdp

import pomdplite as pl
from pomdplite import rng
from pomdplite.planners import beta
from pomdplite.problems.unknown.frozen_lake import MAP, frozen_lake_table
from pomdplite.testing import planner_conforms, problem_conforms

GAMMA = 0.9
UNKNOWN = ["chain", "chain-semi-tied", "chain-tied", "flag-maze", "flag-maze-tied", "frozen-lake", "taxi"]


def solved(mean, reward, gamma=GAMMA):
    """Q of an MDP, by plain value iteration."""
    v = np.zeros(len(reward))
    for _ in range(5000):
        q = reward + gamma * mean @ v
        v = q.max(axis=1)
    return q


def walked(name, **parameters):
    """A planner after some steps on a small MDP, with the counts that it should have."""
    model, counts, reward = random_mdp(seed=8, gamma=GAMMA)
    planner, world, plain = pl.make_planner(name, model, **parameters), pl.ModelWorld(model), counts.copy()
    planner.reset(3)
    world.reset(4)
    for _ in range(30):
        x, a = world.x, planner.decide().action
        result = world.step(a)
        planner.update(a, result.y, result.o)
        plain[x.state, a, result.y.state] += 1
    return planner, plain, counts, reward


def test_beb_adds_beta_over_one_plus_the_counts():
    planner, plain, _, reward = walked("beb", beta=2.0)
    total = plain.sum(axis=2)
    q = solved(plain / total[:, :, None], reward + 2.0 / (1 + total))
    assert planner.decide().solution.q == pytest.approx(q[planner.state.state], abs=1e-5)


def test_the_variance_bonus_is_the_deviation_of_the_probabilities():
    planner, plain, _, reward = walked("variance-bonus", beta=0.7)
    total = plain.sum(axis=2)
    mean = plain / total[:, :, None]
    alpha = plain[2, 1][plain[2, 1] > 0]  # the variance in the formula is that of a Dirichlet, here from draws
    drawn = np.random.default_rng(0).dirichlet(alpha, 400_000).var(axis=0).sum()
    variance = (mean * (1 - mean)).sum(axis=2) / (total + 1)
    assert variance[2, 1] == pytest.approx(drawn, rel=0.02)
    q = solved(mean, reward + 0.7 * np.sqrt(variance))
    assert planner.decide().solution.q == pytest.approx(q[planner.state.state], abs=1e-5)


def test_r_max_believes_the_best_of_what_it_has_tried_too_rarely():
    planner, plain, counts, reward = walked("r-max", visits=3)
    tried = (plain - counts).sum(axis=2)
    mean = plain / plain.sum(axis=2)[:, :, None]
    v = np.zeros(STATES)
    for _ in range(5000):
        q = np.where(tried < 3, reward.max() / (1 - GAMMA), reward + GAMMA * mean @ v)
        v = q.max(axis=1)
    assert (tried < 3).any() and (tried >= 3).any()
    assert planner.decide().solution.q == pytest.approx(q[planner.state.state], abs=1e-5)


def test_mean_mdp_has_no_bonus():
    planner, plain, _, reward = walked("mean-mdp")
    q = solved(plain / plain.sum(axis=2)[:, :, None], reward)
    assert planner.decide().solution.q == pytest.approx(q[planner.state.state], abs=1e-5)


def test_psrl_acts_optimally_in_what_it_has_drawn():
    model, counts, reward = random_mdp(seed=8, gamma=GAMMA)
    planner = pl.Psrl(model, resample=4)
    planner.reset(3)
    drawn = pl.initial_belief(model).sample(rng.stream(3, rng.PLANNER))
    mean = np.zeros_like(counts)
    mean[counts > 0] = drawn
    q = solved(mean, reward)
    seen = []
    for _ in range(4):
        x, decision = planner.state.state, planner.decide()
        assert decision.solution.q == pytest.approx(q[x], abs=1e-5)
        y = int(np.flatnonzero(counts[x, decision.action])[0])
        planner.update(decision.action, (y,), None)
        seen.append(planner._drawn)
    planner.decide()
    assert all(one is seen[0] for one in seen) and planner._drawn is not seen[0]  # drawn anew after four steps


def test_psrl_draws_again_when_visits_have_doubled():
    """One (s, a): draws before visits 0, 1, 2, 4, 8, … of it."""
    model = pl.UnknownMdp(1, 1, {}, discount=0.9, outcomes={(0, 0): [(0, 0.0), (0, 1.0)]})
    planner = pl.Psrl(model)
    planner.reset(0)
    draws = []
    for visit in range(40):
        planner.decide()
        if not draws or planner._drawn is not draws[-1][1]:
            draws.append((visit, planner._drawn))
        planner.update(0, (0,), "reward 1")
    assert [visit for visit, _ in draws] == [0, 1, 2, 4, 8, 16, 32]


@pytest.mark.parametrize("name", ["pomdp-lite", "mean-mdp", "beb", "variance-bonus", "r-max", "psrl"])
def test_planners_conform_on_unknown_probabilities(name):
    chain = pl.SlipperyChain("semi-tied", horizon=40)
    given = {"beta": 2.0} if name == "pomdp-lite" else {}
    planner_conforms(lambda model: pl.make_planner(name, model, **given), chain)


@pytest.mark.parametrize("name", ["beb", "variance-bonus", "r-max", "psrl"])
def test_they_say_that_they_are_for_unknown_probabilities(name):
    with pytest.raises(pl.UnsuitableError, match=f"the planner {name} learns unknown probabilities"):
        pl.make_planner(name, pl.Tiger()).reset()


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [("beb", {"beta": -1.0}, "beta must be a number of at least 0"), ("r-max", {"visits": 0}, "visits must be at least 1"),
     ("psrl", {"resample": 0}, "resample must be at least 1")],
)  # fmt: skip
def test_bad_parameters_are_explained(name, parameters, message):
    with pytest.raises(pl.UsageError, match=message):
        pl.make_planner(name, pl.SlipperyChain(), **parameters)


def best_total(p, reward, steps):
    """The largest expected total reward of so many steps from state 0, by backward induction."""
    v = np.zeros(len(p))
    for _ in range(steps):
        v = ((p * reward).sum(axis=2) + p @ v).max(axis=1)
    return v[0]


def chain_tables(slip=0.2):
    p, reward = np.zeros((5, 2, 5)), np.zeros((5, 2, 5))
    for s in range(5):
        p[s, 0, min(s + 1, 4)], p[s, 0, 0] = 1 - slip, slip
        p[s, 1, 0], p[s, 1, min(s + 1, 4)] = 1 - slip, slip
    reward[:, :, 0], reward[4, :, 4] = 2.0, 10.0
    return p, reward


def test_the_optimum_of_the_chain_is_the_published_one():
    """3677 for 1,000 steps (Poupart et al. 2006) is what action a earns in the long run; from state 1, a little less."""
    p, reward = chain_tables()
    stationary = np.linalg.matrix_power(p[:, 0], 1000)[0]
    assert 1000 * stationary @ (p[:, 0] * reward[:, 0]).sum(axis=1) == pytest.approx(3677, abs=0.5)
    assert best_total(p, reward, 1000) == pytest.approx(3665.8, abs=0.1)


def test_a_known_chain_is_played_optimally():
    p, reward = chain_tables()
    known = pl.UnknownMdp(5, ("a", "b"), reward, discount=1.0, counts=1e9 * p, truth=p, horizon=400)
    found = pl.evaluate(known, "mean-mdp", episodes=12, seed=5, workers=1)
    totals = np.array([episode.undiscounted for episode in found.episodes])
    error = totals.std(ddof=1) / np.sqrt(len(totals))
    assert abs(totals.mean() - best_total(p, reward, 400)) < 8 * error  # of 11 degrees of freedom: one in 10⁵ fails


def test_the_maze_has_the_published_size_and_pays_for_flags():
    maze = pl.FlagMaze()
    assert len(maze.state.labels["state"]) == 264
    world = pl.ModelWorld(pl.FlagMaze(slip=0.0))
    world.reset(0)
    way = "down down right right up up right down down right right up up right"  # flag, and on to the goal
    rewards = [world.step(maze.action_index(move)).reward for move in way.split()]
    assert sum(rewards) == 1.0 and rewards[-1] == 1.0
    assert world.x.state == 0  # back at the start, without flags


@pytest.mark.parametrize("name", UNKNOWN)
def test_problems_conform(name):
    problem_conforms(pl.make_model(name), episodes=2)


def test_the_number_of_workers_does_not_change_a_result():
    model = pl.SlipperyChain("tied", horizon=60)
    one, two = (pl.evaluate(model, "psrl", episodes=6, seed=2, workers=workers) for workers in (1, 2))
    assert [e.undiscounted for e in one.episodes] == [e.undiscounted for e in two.episodes]


def test_beta_is_chosen_on_mdps_that_are_drawn_from_the_prior(monkeypatch):
    monkeypatch.setattr(beta, "cache_folder", lambda: None)
    monkeypatch.setattr(beta, "WORK", 300_000_000)  # a fifth
    model, _, _ = random_mdp(seed=11, gamma=0.8, horizon=20)
    planner = pl.PomdpLite(model, "auto")
    planner.prepare()
    assert "chosen from" in planner.choices[0]


@pytest.mark.parametrize(
    ("name", "known"), [("FrozenLake-v1", "state"), ("FrozenLake-v1", "action"), ("Taxi-v4", "state")]
)
def test_gymnasiums_tables_are_the_real_probabilities(name, known):
    gymnasium = pytest.importorskip("gymnasium")
    env = gymnasium.make(name)
    model = pl.unknown_from_gymnasium(env, known=known, horizon=50)
    start, world, table = int(env.reset(seed=0)[0]), pl.ModelWorld(model), env.unwrapped.P
    world.reset(0)
    draws, hidden = rng.stream(0), model.hidden
    for _ in range(50):
        s, a = int(world.x.state), int(rng.uniform(draws) * len(model.actions))
        expected = {}
        for p, after, reward, over in table[s][a]:
            outcome = (start if over else after, reward)
            expected[outcome] = expected.get(outcome, 0.0) + p
        g = int(model.group[s, a])
        own = world.distributions[hidden.offsets[g] : hidden.offsets[g + 1]]
        found = {(int(model.after[s, a, k]), float(model.gain[s, a, k])): p for k, p in enumerate(own) if p > 0}
        assert found == pytest.approx(expected)
        if known == "action":
            assert len(own) == len(expected)
        result = world.step(a)
        assert (int(result.y.state), result.reward) in expected


@pytest.mark.parametrize(("name", "made"), [("FrozenLake-v1", pl.FrozenLake), ("Taxi-v4", pl.Taxi)])
@pytest.mark.parametrize("known", ["state", "action"])
def test_frozen_lake_and_taxi_are_those_of_gymnasium(name, made, known):
    gymnasium = pytest.importorskip("gymnasium")
    theirs = pl.unknown_from_gymnasium(gymnasium.make(name), known=known)
    ours = made(known=known)
    assert ours.first == theirs.first
    for table in ("after", "gain", "group", "label"):
        assert np.array_equal(getattr(ours, table), getattr(theirs, table))
    assert np.array_equal(ours.hidden.counts, theirs.hidden.counts)
    assert ours.hidden.truth == pytest.approx(theirs.hidden.truth)


def test_the_best_policy_crosses_the_frozen_lake_in_14_of_17_walks():
    table, v = frozen_lake_table(MAP, slippery=True), np.zeros(16)
    for _ in range(3000):
        v = [
            max(sum(p * (r + (not over) * v[t]) for p, t, r, over in rows) for rows in table[s].values())
            for s in range(16)
        ]
    assert v[0] == pytest.approx(14 / 17)


def test_a_lake_of_other_letters_is_refused():
    with pytest.raises(pl.UsageError, match="a lake has rows of equal length"):
        pl.FrozenLake(("SFX", "FFG"))
    with pytest.raises(pl.UsageError, match="known must be 'state' or 'action', not 'nothing'"):
        pl.Taxi(known="nothing")


def test_an_environment_without_a_table_is_refused():
    with pytest.raises(pl.UsageError, match="has no table P"):
        pl.unknown_from_gymnasium(object())
