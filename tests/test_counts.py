"""Unknown transition probabilities: the belief's counts, the bonus, and the exact solver, against plain computations."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite import rng
from pomdplite.mdp.counts import solver
from pomdplite.mdp.counts.solver import CountsSolver

STATES, ACTIONS = 6, 2


@pytest.fixture(params=["elimination", "sweeps"])
def method(request, monkeypatch):
    """Both ways of solving: that of few states, and that of many."""
    if request.param == "sweeps":
        monkeypatch.setattr(solver, "MOST_STATES", 0)
    return request.param


def random_mdp(seed=0, gamma=0.9, **given):
    """Six states, two actions, three possible next states each, and counts that are no whole numbers."""
    draw = np.random.default_rng(seed)
    counts = np.zeros((STATES, ACTIONS, STATES))
    for s in range(STATES):
        for a in range(ACTIONS):
            counts[s, a, draw.choice(STATES, 3, replace=False)] = draw.uniform(0.2, 3.0, 3)
        counts[s, 0, (s + 1) % STATES] = 1.5  # every state is reached
    reward = draw.uniform(-1, 1, (STATES, ACTIONS))
    return pl.UnknownMdp(STATES, ACTIONS, reward, discount=gamma, counts=counts, **given), counts, reward


def slippery(ties, **given):
    """Two actions, left and right, that slip to the other side: the k-th outcome is 0, as meant, or 1, slipped."""
    outcomes = {(s, a): [max(0, s - 1), min(3, s + 1)][:: 1 if a == 0 else -1] for s in range(4) for a in range(2)}
    reward = np.zeros((4, 2))
    reward[3] = 1.0
    return pl.UnknownMdp(4, ("left", "right"), reward, discount=0.9, outcomes=outcomes, ties=ties, **given)


EVERYWHERE = [(s, a) for s in range(4) for a in range(2)]


def expected_l1_by_brute_force(alpha):
    """E‖mean after one more outcome − mean now‖₁, outcome by outcome."""
    total = alpha.sum()
    change = 0.0
    for k in range(len(alpha)):
        later = alpha.copy()
        later[k] += 1
        change += alpha[k] / total * np.abs(later / later.sum() - alpha / total).sum()
    return change


def test_the_bonus_is_the_expected_change_of_the_mean_over_all_outcomes():
    model, counts, _ = random_mdp()
    belief = pl.initial_belief(model)
    for s in range(STATES):
        for a in range(ACTIONS):
            alpha = counts[s, a][counts[s, a] > 0]
            total = alpha.sum()
            closed_form = 2 * (alpha * (total - alpha)).sum() / (total**2 * (total + 1))
            found = belief.expected_change((s,), a)
            assert found == pytest.approx(expected_l1_by_brute_force(alpha), abs=1e-12)
            assert found == pytest.approx(closed_form, abs=1e-12)
            assert found <= 2 / (1 + total)  # the bound in the proof of the lemma


def test_the_bonus_of_outcomes_that_look_alike_is_that_of_the_shared_count():
    model = slippery({"slip": EVERYWHERE}, counts={"slip": (3.0, 1.0)})
    # At the left wall both outcomes of "left" differ, 0 and 1; make them alike in a state of its own.
    same = pl.UnknownMdp(
        2, 1, [[0.0], [0.0]], discount=0.9, outcomes={(0, 0): [1, 1, 0], (1, 0): [0, 1, 1]},
        ties={"t": [(0, 0), (1, 0)]}, counts={"t": (2.0, 1.0, 3.0)},
    )  # fmt: skip
    assert pl.initial_belief(model).expected_change((0,), 0) == pytest.approx(2 * 2 * 0.75 * 0.25 / 5)
    belief = pl.initial_belief(same)
    before = belief.counts / belief.counts.sum()
    change = 0.0
    for y, p in belief.mean_transition((0,), 0):
        after = belief.copy()
        after.update((0,), 0, y, None)
        change += p * np.abs(after.counts / after.counts.sum() - before).sum()
    assert belief.expected_change((0,), 0) == pytest.approx(change, abs=1e-12)


def test_the_belief_counts_what_happens():
    model, counts, _ = random_mdp()
    world, belief = pl.ModelWorld(model), pl.initial_belief(model)
    world.reset(5)
    draws, plain = rng.stream(1), counts.copy()
    for _ in range(200):
        x, a = world.x, int(rng.uniform(draws) * ACTIONS)
        result = world.step(a)
        belief.update(x, a, result.y, result.o)
        plain[x.state, a, result.y.state] += 1
    expected = np.concatenate([plain[s, a][counts[s, a] > 0] for s in range(STATES) for a in range(ACTIONS)])
    assert belief.counts == pytest.approx(expected, abs=1e-9)
    for s in range(STATES):
        for a in range(ACTIONS):
            mean = {int(y.state): p for y, p in belief.mean_transition((s,), a)}
            assert mean == pytest.approx({i: n / plain[s, a].sum() for i, n in enumerate(plain[s, a]) if n > 0})


def test_tied_pairs_share_their_counts():
    model = slippery({"left": EVERYWHERE[::2], "right": EVERYWHERE[1::2]})
    belief = pl.initial_belief(model)
    belief.update((1,), "right", (2,), None)
    belief.update((2,), "right", (1,), None)  # it slips
    belief.update((2,), "right", (3,), None)
    belief.update((1,), "left", (0,), None)
    assert {name: mean.tolist() for name, mean in belief.mean().items()} == {
        "left": pytest.approx([2 / 3, 1 / 3]),
        "right": pytest.approx([3 / 5, 2 / 5]),
    }


def test_a_shared_count_keeps_the_mean_of_the_exact_posterior():
    """Of θ ~ Dirichlet(2, 1, 3) after an outcome that may be 0 or 1, by weighing a million draws from the prior."""
    model = pl.UnknownMdp(
        2, 1, [[0.0], [0.0]], discount=0.9, outcomes={(0, 0): [1, 1, 0], (1, 0): [0, 1, 1]},
        ties={"t": [(0, 0), (1, 0)]}, counts={"t": (2.0, 1.0, 3.0)},
    )  # fmt: skip
    belief = pl.initial_belief(model)
    belief.update((0,), 0, (1,), None)
    draws = np.random.default_rng(0).dirichlet((2.0, 1.0, 3.0), 1_000_000)
    weights = draws[:, 0] + draws[:, 1]
    exact = (weights[:, None] * draws).sum(axis=0) / weights.sum()
    assert belief.mean()["t"] == pytest.approx(exact, abs=2e-3)  # eight standard errors


def test_rewards_can_be_learned_as_parts_of_outcomes():
    """A bandit: pulling pays 1 or 0, with unknown probability."""
    model = pl.UnknownMdp(
        1, ("pull", "rest"), {(0, 1): 0.4}, discount=0.9, outcomes={(0, 0): [(0, 0.0), (0, 1.0)], (0, 1): [0]},
        truth={(0, 0): (0.3, 0.7), (0, 1): (1.0,)},
    )  # fmt: skip
    assert model.observations == ("reward 0", "reward 1")
    belief = pl.initial_belief(model)
    belief.update((0,), "pull", (0,), "reward 1")
    belief.update((0,), "pull", (0,), "reward 1")
    assert belief.mean_reward((0,), "pull") == pytest.approx(3 / 4)
    assert belief.mean_reward((0,), "rest") == pytest.approx(0.4)
    world = pl.ModelWorld(model)
    world.reset(0)
    paid = [world.step(0) for _ in range(2000)]
    assert all(result.o == int(result.reward) for result in paid)
    assert np.mean([result.reward for result in paid]) == pytest.approx(0.7, abs=0.06)  # six standard errors


def test_the_world_draws_from_the_prior_or_is_as_given():
    model, counts, _ = random_mdp()
    world, drawn = pl.ModelWorld(model), []
    for episode in range(4000):
        world.reset(0, episode)
        drawn.append(world.distributions.copy())
    mean = np.concatenate([counts[s, a][counts[s, a] > 0] / counts[s, a].sum() for s in range(6) for a in range(2)])
    assert np.mean(drawn, axis=0) == pytest.approx(mean, abs=0.045)  # the largest sd is 0.45: six standard errors
    alpha = counts[0, 0][counts[0, 0] > 0]
    p = alpha / alpha.sum()
    variance = p * (1 - p) / (alpha.sum() + 1)
    assert np.var([d[: len(alpha)] for d in drawn], axis=0) == pytest.approx(variance, abs=0.02)
    known = slippery({"slip": EVERYWHERE}, truth={"slip": (0.8, 0.2)})
    world = pl.ModelWorld(known)
    world.reset(3, 7)
    assert world.distributions.tolist() == [0.8, 0.2]
    assert world.truth == "slip: 0.80 0.20"


def plain_value_iteration(counts, reward, gamma, beta, terminal=()):
    """Value iteration on the mean MDP with the bonus, in NumPy."""
    total = counts.sum(axis=2)
    mean = counts / total[:, :, None]
    bonus = 2 * (mean * (1 - mean)).sum(axis=2) / (total + 1)
    v = np.zeros(len(counts))
    for _ in range(20_000):
        q = reward + beta * bonus + gamma * mean @ v
        q[list(terminal)] = 0.0
        later = q.max(axis=1)
        if np.abs(later - v).max() < 1e-13:
            break
        v = later
    return q


@pytest.mark.parametrize(("gamma", "beta"), [(0.9, 0.0), (0.9, 2.0), (0.99, 0.5), (0.0, 1.0)])
def test_the_exact_solution_is_that_of_plain_value_iteration_after_every_step(gamma, beta, method):
    model, counts, reward = random_mdp(seed=3, gamma=gamma)
    planner = pl.PomdpLite(model, beta=beta, solver="exact")
    world = pl.ModelWorld(model)
    planner.reset()
    world.reset(1)
    plain, draws = counts.copy(), rng.stream(2)
    for _ in range(25):
        decision, x = planner.decide(), world.x
        q = plain_value_iteration(plain, reward, gamma, beta)
        assert decision.solution.q == pytest.approx(q[x.state], abs=3e-6)
        assert decision.solution.solver == ("policy iteration" if method == "elimination" else "value iteration")
        a = int(rng.uniform(draws) * ACTIONS)
        result = world.step(a)
        planner.update(a, result.y, result.o)
        plain[x.state, a, result.y.state] += 1


def test_the_bonus_part_is_the_value_of_the_bonuses_under_the_greedy_policy(method):
    model, counts, reward = random_mdp(seed=4)
    planner = pl.PomdpLite(model, beta=1.5, solver="exact")
    planner.reset()
    found = planner.decide().solution
    q = plain_value_iteration(counts, reward, 0.9, 1.5)
    policy, mean = q.argmax(axis=1), counts / counts.sum(axis=2)[:, :, None]
    bonus = 1.5 * 2 * (mean * (1 - mean)).sum(axis=2) / (counts.sum(axis=2) + 1)
    rows = np.arange(STATES)
    worth = np.linalg.solve(np.eye(STATES) - 0.9 * mean[rows, policy], bonus[rows, policy])
    assert found.bonus_part == pytest.approx(bonus[0] + 0.9 * mean[0] @ worth, abs=1e-5)


def test_a_warm_solution_is_that_of_a_new_solver(method):
    model, _, _ = random_mdp(seed=5, gamma=0.97)
    view = model.compiled_form.kernel_view()
    belief, warm = pl.initial_belief(model), CountsSolver(view, 0.97, 1.0)
    warm.reset(belief.probabilities, 0)
    world = pl.ModelWorld(model)
    world.reset(2)
    for step in range(40):
        x = world.x
        result = world.step(step % ACTIONS)
        belief.update(x, step % ACTIONS, result.y, result.o)
        warm.solve(belief.kernel_model, view.root(), belief.probabilities)
    cold = CountsSolver(view, 0.97, 1.0)
    cold.solve(belief.kernel_model, view.root(), belief.probabilities)
    assert warm.values == pytest.approx(cold.values, abs=2e-6)


def test_a_search_finds_the_values_of_the_exact_solver():
    model, _, _ = random_mdp(seed=6)
    exact, search = pl.PomdpLite(model, 1.0, solver="exact"), pl.PomdpLite(model, 1.0, solver="uct", sims=20_000)
    for planner in (exact, search):
        planner.reset()
        planner.update(0, (1,), None)
    assert search.decide().solution.q == pytest.approx(exact.decide().solution.q, abs=0.02)


def test_terminal_states_and_illegal_actions_need_no_counts(method):
    counts = np.ones((3, 2, 3))
    counts[2] = 0.0
    counts[0, 1] = 0.0
    legal = [[True, False], [True, True], [True, True]]
    model = pl.UnknownMdp(3, 2, [[0, 0], [0, 1], [0, 0]], discount=0.9, counts=counts, terminal=[2], legal=legal)
    pl.check_model(model).raise_if_wrong()
    planner = pl.PomdpLite(model, 0.5)
    planner.reset()
    assert planner.decide().solution.actions.tolist() == [0]
    planner.update(0, (1,), None)
    found = planner.decide().solution
    assert found.actions.tolist() == [0, 1]
    counts[0, 0, 1] += 1
    counts[0, 1] = counts[2] = 1.0  # never used
    q = plain_value_iteration(counts, np.array([[0, -99], [0, 1], [0, 0]]), 0.9, 0.5, terminal=[2])
    assert found.q == pytest.approx(q[1], abs=1e-5)


BAD = [
    ({"counts": -np.ones((2, 1, 2))}, r"the prior count of \(s0, a0\) for s0 is -1; counts are positive, or 0"),
    ({"counts": {(0, 0): (1.0, -2.0)}}, r"the prior counts of 's0, a0' must be positive, unlike -2"),
    ({"counts": np.zeros((2, 1, 2))}, r"\(s0, a0\) has no possible next state"),
    ({"counts": np.ones((2, 2))}, r"counts has shape \(2, 2\); expected \(2, 1, 2\), \[s, a, s'\]"),
    ({"outcomes": {(0, 0): []}}, r"\(s0, a0\) has no possible next state"),
    ({"outcomes": {(0, 0): [1, 1]}}, r"\(s0, a0\) lists an outcome twice"),
    ({"outcomes": {(0, 0): [2]}}, "no state 2; there are 2 states"),
    ({"outcomes": {(0, 0): [1]}, "ties": {"t": [(0, 0), (1, 0)]}},
     r"the tie 't' has different supports: \(s0, a0\) has 1 outcomes and \(s1, a0\) has 2"),
    ({"ties": {"t": [(0, 0)], "u": [(0, 0)]}}, r"\(s0, a0\) is in two ties, 't' and 'u'"),
    ({"truth": {(0, 0): (0.5, 0.6), (1, 0): (0.5, 0.5)}}, "the true probabilities of 's0, a0' must sum to 1, but sum to 1.1"),
    ({"truth": {(0, 0): (0.5, 0.5)}}, r"truth gives nothing for \(s1, a0\)"),
    ({"outcomes": {(0, 0): [1]}, "truth": np.full((2, 1, 2), 0.5)}, r"truth lets \(s0, a0\) lead to s0, which is not"),
    ({"reward": np.zeros(2)}, r"reward has shape \(2,\); expected \(2, 1\), \[s, a\], or \(2, 1, 2\)"),
    ({"reward": [[np.nan], [0.0]]}, r"reward is not a number at \(s0, a0\)"),
    ({"legal": [True]}, r"legal has shape \(1,\); expected \(2, 1\)"),
    ({"legal": np.zeros((2, 1))}, "every state is terminal or has no legal action"),
    ({"counts": {(0, 0): {"s0": 2}}}, r"what counts gives \(s0, a0\) must be numbers, not {'s0': 2}"),
    ({"counts": [[[1, 2]], [[1]]]}, r"counts must be numbers, not \[\[\[1, 2\]\], \[\[1\]\]\]"),
    ({"counts": np.ones((2, 1, 2)), "outcomes": {(0, 0): [1]}}, r"counts lets \(s0, a0\) lead to s0, which is not one"),
    ({"outcomes": {(0, 0): 1}}, r"the outcomes of \(s0, a0\) must be a list, not 1"),
    ({"outcomes": {(0, 0): "s1"}}, r"the outcomes of \(s0, a0\) must be a list, not 's1'"),
    ({"ties": [(0, 0), (1, 0)]}, r"ties must be a dictionary {name: \[\(s, a\), …\]}, not \[\(0, 0\)"),
    ({"reward": {0: 1.0}}, r"reward has the key 0; expected \(s, a\) or \(s, a, s'\)"),
    ({"reward": {(0, 0): "much"}}, r"reward is not a number at \(0, 0\): 'much'"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "message"), BAD)
def test_bad_input_is_explained_in_one_sentence(given, message):
    with pytest.raises(pl.ModelError, match=message):
        pl.UnknownMdp(2, 1, given.pop("reward", np.zeros((2, 1))), discount=0.9, **given)


def test_planners_that_need_probabilities_say_so():
    model, _, _ = random_mdp()
    for name in ("sarsop", "qmdp", "most-likely", "pomcp", "pomcp-exact", "pomcpow", "pft-dpw", "despot",
                 "bayes-optimal", "pomdp-lite-plus"):  # fmt: skip
        with pytest.raises(pl.UnsuitableError, match="probabilities of next states for each hidden value"):
            pl.make_planner(name, model).reset()
