"""The paper's Section IV on models small enough to be solved exactly: which of its lemmas hold, and how."""

import functools
import itertools
import math

import numpy as np
import pytest
from known_values import TIGER_VALUE
from models import Tables, best_value, internal_mdp, start
from scipy import stats

import pomdplite as pl
from pomdplite import analysis
from pomdplite.analysis.frozen import frozen_mdp
from pomdplite.analysis.known import escape_of, known_set_of
from pomdplite.analysis.policy_values import PolicyNode, PolicyValues

CLOSED = {"opened": "none"}


def random_tables(seed: int, *, deterministic: bool = False) -> Tables:
    """Three steps in a layered model, 2 to 4 hidden values with a prior that may be very uneven; θ may change."""
    rng = np.random.default_rng([71, seed])
    thetas, actions, seen, width, depth = (
        int(rng.integers(2, 5)),
        int(rng.integers(1, 4)),
        int(rng.integers(1, 4)),
        2,
        3,
    )
    x = width * (depth + 1)
    t, z = np.zeros((x, thetas, actions, x)), rng.dirichlet(np.full(seen, 0.4), (x, thetas, actions))
    for layer in range(depth):
        here, there = slice(layer * width, (layer + 1) * width), slice((layer + 1) * width, (layer + 2) * width)
        t[here, :, :, there] = rng.dirichlet(np.full(width, 0.5), (width, thetas, actions))
    t[depth * width :, :, :, 0] = 1.0
    if deterministic:
        t, z = (np.eye(table.shape[-1])[table.argmax(axis=-1)] for table in (t, z))
    r = rng.normal(0, 1, (x, thetas, actions)) * rng.choice([0.1, 1, 10], (1, thetas, actions))
    later, terminal = rng.integers(0, thetas, (x, thetas, actions)), list(range(depth * width, x))
    return Tables(
        t, r, z, later, rng.dirichlet(np.full(thetas, 0.6)), terminal, np.ones((x, actions), bool),
        float(rng.choice([0.5, 0.8, 0.95, 0.99])), changes=not deterministic and seed % 3 == 0,
    )  # fmt: skip


@functools.cache
def random_model(seed: int) -> pl.Model:
    return random_tables(seed).model()


def planner_for(m: Tables, beta: float = 0.0, **options) -> pl.PomdpLite:
    return pl.PomdpLite(m.model(), beta, solver="exact", **options)


def optimal_for(planner: pl.PomdpLite) -> pl.BayesOptimal:
    best = pl.BayesOptimal(planner.model)
    best.reset()
    return best


# ---------------------------------------------------------------------- Lemma 3 (Optimistic)


def test_lemma_optimistic_holds_on_300_random_models_with_beta_at_least_gamma_over_2_1_minus_gamma():
    """Without the paper's ε, its |S|²|A|, or its assumption that the bonus decreases."""
    for seed in range(300):
        planner = pl.PomdpLite(random_model(seed), 0.0, solver="exact")
        beta = analysis.optimistic_beta(planner)
        found = analysis.optimism(planner, beta, optimal_for(planner))
        assert found.optimal[1] - found.optimal[0] < 1e-9
        assert found.least >= -1e-9 * found.unit, f"model {seed}: {found}"
        assert beta < analysis.paper_beta(planner)


def test_optimism_agrees_with_brute_force():
    for seed in range(12):
        m = random_tables(seed)
        planner = planner_for(m)
        found = analysis.optimism(planner, 0.7, optimal_for(planner))
        assert found.internal == pytest.approx(internal_mdp(m, 0.7)[0], abs=1e-7)
        assert found.optimal[0] == pytest.approx(best_value(m, start(m), 0), abs=1e-7)


def look_then_choose(discount: float) -> pl.Model:
    """Looking reveals which of two actions pays 1 in every step from then on."""
    t, r, z = np.zeros((3, 2, 2, 3)), np.zeros((3, 2, 2)), np.zeros((3, 2, 2, 2))
    t[0, :, :, 1] = t[1, :, :, 2] = t[2, :, :, 2] = 1.0
    r[1:, 0, 0] = r[1:, 1, 1] = 1.0
    z[1, 0, :, 0] = z[1, 1, :, 1] = 1.0
    return pl.tabular(t, r, z, discount=discount)


@pytest.mark.parametrize("discount", [0.5, 0.9, 0.95])
def test_no_smaller_beta_is_optimistic_on_every_model(discount):
    planner = pl.PomdpLite(look_then_choose(discount), 1.0, solver="exact")
    beta, best = analysis.optimistic_beta(planner), optimal_for(planner)
    assert beta == pytest.approx(discount / (2 * (1 - discount)))
    assert analysis.optimism(planner, beta, best).least == pytest.approx(0, abs=1e-5)
    assert analysis.optimism(planner, 0.99 * beta, best).most < -0.004 * beta


def test_the_lemma_in_the_appendix_fails_for_every_beta_even_if_the_bonus_decreases():
    """Lemma 5 bounds the regret of every history by its bonuses. A rare outcome changes the belief by almost 2, and the
    bonus is only what that is worth on average: δ times as much. Yet the bonus never increases, as Assumption 1 asks."""
    gamma = 0.9
    for beta in (1.0, 1e3, 1e6):
        delta = 0.01 / beta
        prior, likelihood = np.array([1 - delta, delta]), np.array([[1.0, 0.5], [0.0, 0.5]])
        found = analysis.bonus_by_visits(prior, likelihood, 3)
        assert found.monotone
        bonuses = beta * found.mean[0] * (1 + gamma)  # RB(b₀, s, a) of two steps
        regret = gamma * (1 - delta)  # |R(b₁) − R(b₀)| of the second, after the rare outcome, with R(θ) = θ
        assert bonuses < 0.1 * regret


# ---------------------------------------------------------------------- Lemma 4 (Accuracy), Definition 3


def test_lemma_accuracy_holds_on_300_random_models():
    positive = 0
    for seed in range(300):
        model = random_model(seed)
        beta = 0.02 * analysis.optimistic_beta(pl.PomdpLite(model, 0.0, solver="exact"))
        mdp = frozen_mdp(pl.PomdpLite(model, beta, solver="exact"))
        for epsilon in (0.05, 0.5):
            found = analysis.KnownMdp(known_set_of(mdp, epsilon)).accuracy
            assert -1e-9 <= found <= epsilon + 1e-9, f"model {seed}, ε = {epsilon}"
            positive += found > 1e-6
    assert positive > 100  # in many of them something known still has a bonus


def test_m_k_is_an_mdp_that_planners_solve():
    for seed in (1, 2, 4):
        planner = pl.PomdpLite(random_tables(seed).model(), 0.3, solver="exact")
        found = analysis.known_mdp(planner, 0.3)
        solved = pl.PomdpLite(pl.from_mdps(found.mdps()), 0.0, solver="exact")
        solved.reset()
        # π is greedy for Q̃, which also counts the bonuses on K, so that M_K's own optimum may be a little higher.
        assert (
            0 <= solved.decide().value - found.policy_values[found.known.mdp.state] <= 0.3 * found.known.mdp.scale.unit
        )


def test_m_k_is_the_internal_mdp_if_nothing_is_known_and_the_mean_mdp_if_everything_is():
    planner = pl.PomdpLite(pl.Tiger(), 30.0, solver="exact")
    nothing = analysis.known_mdp(planner, 1e-9)
    assert nothing.policy_values[1] == pytest.approx(planner.decide().value) == pytest.approx(400.0)
    everything = analysis.known_mdp(pl.PomdpLite(pl.Tiger(), 1e-6, solver="exact"), 0.5)
    assert len(everything.known) == 3 and everything.policy_values[1] == pytest.approx(-20.0)  # listens forever


def test_the_known_set_of_tiger():
    planner = pl.PomdpLite(pl.Tiger(), 30.0, solver="exact")
    known = analysis.known_set(planner, 0.1)
    assert known.threshold == pytest.approx(0.1 * 0.05 * 110)
    assert known.bonus(CLOSED, "listen") == pytest.approx(30 * 0.7)  # 4 · ½ · ½ · (0.85 − 0.15)
    assert (CLOSED, "listen") not in known and (CLOSED, "open-left") in known
    assert [pair.action for pair in known] == ["open-left", "open-right"]
    for _ in range(5):
        planner.update("listen", CLOSED, "hear-left")
    assert len(analysis.known_set(planner, 0.1)) == 3


def test_known_pairs_do_not_update_the_belief():
    frozen = pl.PomdpLite(pl.Tiger(), 0.5, solver="exact", known=0.1)  # a bonus of 0.35, below 0.55
    frozen.reset()
    frozen.update("listen", CLOSED, "hear-left")
    assert frozen.belief.marginals()[0].tolist() == [0.5, 0.5]
    curious = pl.PomdpLite(pl.Tiger(), 1.0, solver="exact", known=0.1)
    curious.reset()
    curious.update("listen", CLOSED, "hear-left")
    assert curious.belief.marginals()[0][0] == pytest.approx(0.85)


def test_known_pairs_still_change_the_hidden_value():
    """A single action swaps two hidden values, and an observation tells which it is now."""
    swapped = np.array([[[1], [0]]])
    z = np.eye(2)[None, :, None, :]
    model = pl.tabular(np.ones((1, 2, 1, 1)), np.arange(2.0)[None, :, None], z, discount=0.9, hidden_next=swapped)
    planner = pl.PomdpLite(model, 1e-9, solver="exact", known=0.5)
    planner.reset()
    maps = planner.belief.maps.copy()
    planner.update(0, {"state": 0}, 1)
    assert np.any(planner.belief.maps != maps) and planner.belief.marginals()[0].tolist() == [0.5, 0.5]


# ---------------------------------------------------------------------- escape, Theorem 2


def test_escape_probability_of_a_geometric_walk():
    t = np.zeros((3, 2, 1, 3))
    t[0, :, 0, :2], t[1, :, 0, 2], t[2, :, 0, 2] = [0.9, 0.1], 1.0, 1.0
    z = np.zeros((3, 2, 1, 2))
    z[2, 0, 0, 0] = z[2, 1, 0, 1] = 1.0  # the step from x1 tells θ
    r = np.zeros((3, 2, 1))
    r[2, 1] = 1.0
    planner = pl.PomdpLite(pl.tabular(t, r, z, discount=0.9), 5.0, solver="exact")
    for steps in (1, 2, 7):
        found = analysis.escape_probability(planner, 0.1, steps)
        assert found.in_known_mdp == found.in_world == pytest.approx(1 - 0.9 ** (steps - 1))


def test_escape_differs_between_the_mean_mdp_and_the_world():
    """θ = b always leads on, θ = a never; on average half the steps do, and a second try is as good as the first."""
    t = np.zeros((3, 2, 1, 3))
    t[0, 0, 0, 0] = t[0, 1, 0, 1] = t[1, :, 0, 2] = t[2, :, 0, 2] = 1.0
    z = np.zeros((3, 2, 1, 2))
    z[2, 0, 0, 0] = z[2, 1, 0, 1] = 1.0
    planner = pl.PomdpLite(pl.tabular(t, np.ones((3, 2, 1)), z, discount=0.9), 1.0, solver="exact")
    mdp = analysis.known_set(planner, 0.5).mdp
    halfway = mdp.reachable.find(planner.view.words(planner.model.state_record({"state": 1}), planner.belief.maps))
    known = analysis.KnownSet(mdp, 0.5, mdp.owner != halfway)
    for steps in (2, 3, 6):
        found = escape_of(known, steps)
        assert found.in_known_mdp == pytest.approx(1 - 0.5 ** (steps - 1)) and found.in_world == pytest.approx(0.5)


def independent_policy_value(planner: pl.PomdpLite, m: Tables) -> float:
    """The value of acting on a planner, by following every outcome of a layered model with planner.update."""

    def value(x: int, b: np.ndarray, history: tuple) -> float:
        if x in m.terminal:
            return 0.0
        planner.reset()
        for step in history:
            planner.update(*step)
        a = planner.decide().action
        total = float(b @ m.r[x, :, a])
        for y, o in itertools.product(range(m.t.shape[-1]), range(m.z.shape[-1])):
            weights = b * m.t[x, :, a, y] * m.z[y, :, a, o]
            if weights.sum() > 0:
                after = weights / weights.sum()
                total += m.discount * weights.sum() * value(y, after, (*history, (a, {"state": y}, o)))
        return total

    return value(0, m.prior, ())


@pytest.mark.parametrize("known", [None, 0.05])
def test_the_value_of_acting_on_a_planner_agrees_with_following_every_outcome(known):
    frozen = 0
    for seed in (1, 2, 4, 5, 7, 8):
        m = random_tables(seed)
        planner = planner_for(m, 0.3, known=known)
        expected = independent_policy_value(planner, m)
        planner.reset()
        root = PolicyNode(
            planner.solver.reachable.find(planner.s), planner.belief.probabilities, planner.belief.probabilities
        )
        values = PolicyValues(planner, [root])
        assert values.complete and values.bounds(root)[0] == pytest.approx(expected, abs=1e-7)
        frozen += known is not None and any(n.belief is not n.posterior for n in values._nodes)
    assert known is None or frozen


def test_theorem_2_holds_step_by_step_with_the_least_optimistic_beta():
    """V^A ≥ V* − 3ε − P(A_M)/(1 − γ)², with P(A_M) in M_K and T = 1/(1 − γ) ln(1/(ε(1 − γ)²))."""
    small = 0
    for seed in range(25):
        m = random_tables(seed)
        beta = analysis.optimistic_beta(planner_for(m))
        for epsilon in (0.02, 0.2):
            sure = np.eye(len(m.prior))[np.argmax(m.prior)]
            m.prior = (1 - 0.1 * epsilon) * sure + 0.1 * epsilon * m.prior  # otherwise nothing would be known
            planner = planner_for(m, beta, known=epsilon)
            planner.reset()
            gamma, unit = planner.discount, beta * 2 * (1 - planner.discount) / planner.discount
            steps = math.ceil(math.log(1 / (epsilon * (1 - gamma) ** 2)) / (1 - gamma))
            escape = analysis.escape_probability(planner, epsilon, steps).in_known_mdp
            root = PolicyNode(planner.solver.reachable.find(planner.s), *[planner.belief.probabilities] * 2)
            loss = (optimal_for(planner).decide().value - PolicyValues(planner, [root]).bounds(root)[1]) / unit
            assert loss <= 3 * epsilon + escape / (1 - gamma) ** 2 + 1e-9, (seed, epsilon)
            small += escape < epsilon * (1 - gamma) ** 2
    assert small > 10  # so that the loss is at most 4ε


def test_values_beyond_the_nodes_are_bounded():
    planner = pl.PomdpLite(pl.Tiger(), 30.0, solver="exact")
    planner.reset()
    root = PolicyNode(1, planner.belief.probabilities, planner.belief.probabilities)
    low, high = PolicyValues(planner, [root], limit=3).bounds(root)
    assert low < TIGER_VALUE[0.95] < high and high - low > 100


def test_suboptimal_steps_of_tiger():
    listens = analysis.suboptimal_steps(pl.PomdpLite(pl.Tiger(), 30.0, solver="exact"), 0.1, episodes=5)
    assert listens.counts == [0] * 5 and listens.steps[0].achieved[0] == pytest.approx(TIGER_VALUE[0.95], abs=1e-3)
    assert listens.horizon == math.ceil(20 * math.log(200)) and listens.visits == 9
    assert listens.bound == pytest.approx(9 / (0.1 * 0.05**3) * math.log(20) * math.log(200))
    rash = pl.PomdpLite(pl.tabular(*_rash_tiger(), discount=0.95, terminal=(1,)), 0.0, solver="exact")
    first = analysis.suboptimal_steps(rash, 0.5, episodes=1).steps[0]
    assert first.achieved[0] == pytest.approx(-45)  # for opening a door at once
    loss = (first.optimal[0] - first.achieved[0]) / 110
    for epsilon, expected in ((0.249 * loss, [1, 1, 1]), (0.251 * loss, [0, 0, 0])):
        assert analysis.suboptimal_steps(rash, epsilon, episodes=3).counts == expected


def _rash_tiger():
    """Tiger, in which listening for ever is worse than opening a door at random."""
    t, r, z = np.zeros((2, 2, 3, 2)), np.zeros((2, 2, 3)), np.zeros((2, 2, 3, 2))
    t[0, :, 0, 0] = t[0, :, 1:, 1] = t[1, :, :, 1] = 1.0
    r[0, :, 0] = -3.0
    r[0, [0, 1], [1, 2]], r[0, [0, 1], [2, 1]] = -100.0, 10.0
    z[0, 0, 0], z[0, 1, 0] = (0.85, 0.15), (0.15, 0.85)
    return t, r, z


# ---------------------------------------------------------------------- Definition 2, Lemma 2 (Deterministic)


def test_one_visit_is_enough_if_everything_is_deterministic():
    """Lemma 2: whatever else happens in between and afterwards."""
    informative = 0
    for seed in range(40):
        m = random_tables(seed, deterministic=True)
        model, rng = m.model(), np.random.default_rng(seed)
        for x, a in itertools.product(range(6), range(len(model.actions))):
            found = analysis.sample_complexity(model, {"state": x}, a, 1e-6, 1e6)
            assert found.worst == found.expected <= 1
            informative += found.worst == 1
        belief, visited = pl.CategoricalBelief(model), set()
        world = pl.ModelWorld(model)
        for episode in range(4):
            world.reset(seed)  # the same θ
            for _ in range(3):
                x, a = world.x.copy(), int(rng.integers(len(model.actions)))
                step = world.step(a)
                belief.update(x, a, step.y, step.o)
                visited.add((int(x.state), a))
                assert all(belief.expected_change({"state": s}, b) < 1e-12 for s, b in visited), (seed, episode)
    assert informative > 50


def test_sample_complexity_of_listening_for_the_tiger():
    """Hearing left and right in turn leads back to the prior: no number of visits is enough in the worst case. On
    average over what is heard, the bonus after n visits is 0.7 times the mean of 4 b(left) b(right)."""
    found = analysis.sample_complexity(pl.Tiger(), CLOSED, "listen", 0.1 * 0.05, 30.0)
    assert found.worst == math.inf and found.endless and not found.bonus.monotone
    for n in (1, 2, 5):
        mean = 0.0
        for lefts in range(n + 1):
            left, right = (0.85**k * 0.15 ** (n - k) for k in (lefts, n - lefts))
            both = math.comb(n, lefts) * (left + right) / 2
            mean += both * 0.7 * 4 * left * right / (left + right) ** 2
        assert found.bonus.mean[n] == pytest.approx(mean)
    assert found.expected == 9 and found.bonus.mean[9] < 0.55 / 30 <= found.bonus.mean[8]
    assert analysis.sample_complexity(pl.Tiger(), CLOSED, "open-left", 0.005, 30.0).worst == 0


# ---------------------------------------------------------------------- Assumption 1


def test_the_smallest_model_in_which_the_bonus_increases():
    """One state, one action, two hidden values, two observations: what was unlikely is heard."""
    prior, likelihood = np.array([0.9, 0.1]), np.array([[0.85, 0.15], [0.15, 0.85]])
    found = analysis.bonus_by_visits(prior, likelihood, 1)
    assert found.largest.tolist() == pytest.approx([0.252, 0.7 * 4 * 0.135 * 0.085 / 0.22**2])
    assert found.largest[1] > 2.6 * found.largest[0] and not found.monotone
    assert found.mean[1] < found.mean[0]  # on average it decreases: with two hidden values it always does


def test_with_three_hidden_values_the_bonus_may_increase_even_on_average():
    prior, likelihood = np.array([0.94, 0.05, 0.01]), np.array([[0.8, 0.95, 0.0], [0.2, 0.05, 1.0]])
    found = analysis.bonus_by_visits(prior, likelihood, 1)
    assert found.mean[1] > 1.4 * found.mean[0]


def test_with_two_hidden_values_the_mean_bonus_never_increases_and_otherwise_it_at_most_doubles():
    rng = np.random.default_rng(5)
    for _ in range(200):
        thetas = int(rng.integers(2, 5))
        prior, likelihood = rng.dirichlet(np.full(thetas, 0.5)), rng.dirichlet(np.full(3, 0.7), thetas).T
        mean = analysis.bonus_by_visits(prior, likelihood, 4).mean
        assert np.all(mean <= 2 * mean[0] + 1e-12)
        if thetas == 2:
            assert np.all(np.diff(mean) <= 1e-12)


def test_the_bonus_of_one_pair_increases_by_a_visit_of_another_even_if_all_is_deterministic():
    """θ is a, b or c, almost surely a. One action tells a from the rest, another b from the rest."""
    t = np.ones((1, 3, 2, 1))
    z = np.zeros((1, 3, 2, 2))
    z[0, [0, 1, 2], 0, [1, 0, 0]] = z[0, [0, 1, 2], 1, [0, 1, 0]] = 1.0
    model = pl.tabular(t, np.zeros((1, 3, 2)), z, discount=0.9, prior=[0.98, 0.01, 0.01])
    belief = pl.CategoricalBelief(model)
    assert belief.expected_change({"state": 0}, 1) == pytest.approx(4 * 0.01 * 0.99)
    belief.update({"state": 0}, 0, {"state": 0}, 0)  # not a
    assert belief.expected_change({"state": 0}, 1) == pytest.approx(1.0)


# ---------------------------------------------------------------------- Lemma 1 (Dirichlet)


def brute_force_mean_change(alpha):
    mean, total = alpha / alpha.sum(), 0.0
    for k in range(len(alpha)):
        after = alpha.copy()
        after[k] += 1
        total += mean[k] * np.abs(after / after.sum() - mean).sum()
    return total


def test_the_dirichlet_bonus_of_the_lemma_equals_brute_force_and_its_bound():
    rng = np.random.default_rng(3)
    for _ in range(100):
        alpha = rng.gamma(1.0, 3.0, int(rng.integers(2, 6)))
        assert analysis.mean_change(alpha) == pytest.approx(brute_force_mean_change(alpha))
        assert analysis.mean_change(alpha) <= analysis.mean_change_bound(alpha.sum())


def test_the_dirichlet_bonus_decreases_on_average_at_rate_1_over_n_but_not_for_every_outcome():
    alpha = np.array([2.0, 0.5, 1.0])
    for n in range(1, 5):
        mean = 0.0
        for outcomes in itertools.product(range(3), repeat=n):
            counts, chance = alpha.copy(), 1.0
            for k in outcomes:
                chance *= counts[k] / counts.sum()
                counts[k] += 1
            mean += chance * analysis.mean_change(counts)
        assert mean == pytest.approx(analysis.mean_change(alpha) * 3.5 / (3.5 + n))
    assert analysis.mean_change([9, 2]) > 1.5 * analysis.mean_change([9, 1])  # after the rarer outcome


def test_the_dirichlet_bonus_of_definition_1_is_another_one_and_decreases_like_1_over_root_n():
    for alpha in ([1.0, 1.0], [3.0, 0.5, 2.0]):
        total = sum(alpha)
        deviations = [stats.beta(a, total - a).expect(lambda p, m=a / total: abs(p - m)) for a in alpha]
        assert analysis.belief_change(alpha) == pytest.approx(sum(deviations), rel=1e-6)
    share = np.array([0.7, 0.3])
    limit = np.sqrt(2 * share * (1 - share) / np.pi).sum()
    for n in (1e3, 1e5):
        assert math.sqrt(n) * analysis.belief_change(n * share) == pytest.approx(limit, rel=1e-3)
        assert n * analysis.mean_change(n * share) == pytest.approx(2 * (1 - (share**2).sum()), rel=2e-3)


# ---------------------------------------------------------------------- bad input


@pytest.mark.parametrize("epsilon", [0.0, 1.0, -0.1, float("nan")])
def test_epsilon_is_between_0_and_1(epsilon):
    with pytest.raises(pl.UsageError, match="epsilon must be between 0 and 1"):
        analysis.known_set(pl.PomdpLite(pl.Tiger(), 1.0, solver="exact"), epsilon)
    with pytest.raises(pl.UsageError, match="known must be between 0 and 1"):
        pl.PomdpLite(pl.Tiger(), known=epsilon)


def test_models_that_cannot_be_analysed_are_refused():
    with pytest.raises(pl.UnsuitableError, match="Pendulum: the sample complexity needs listed hidden values"):
        analysis.sample_complexity(pl.Pendulum(), {}, 0, 0.1, 1.0)
    with pytest.raises(pl.UnsuitableError, match='small model with solver="exact" can be analysed'):
        analysis.known_set(pl.PomdpLite(pl.Tiger(), 1.0, solver="uct", sims=10), 0.1)
    with pytest.raises(pl.UsageError, match=r"known=0\.1 needs the exact solver, not 'uct'"):
        pl.PomdpLite(pl.Tiger(), 1.0, solver="uct", sims=10, known=0.1)
    with pytest.raises(pl.TooLargeError, match="Tiger: the analysis, which lists every state, is for smaller models: "):
        analysis.known_set(pl.PomdpLite(pl.Tiger(), 1.0, solver="exact", limit=1), 0.1)
    with pytest.raises(pl.UnsuitableError, match="needs a discount below 1"):
        analysis.known_set(pl.PomdpLite(pl.Tiger(discount=1.0), 1.0, solver="exact"), 0.1)
    with pytest.raises(pl.UsageError, match="takes a PomdpLite planner, not Qmdp"):
        analysis.known_set(pl.Qmdp(pl.Tiger()), 0.1)


def test_unknown_names_are_refused():
    with pytest.raises(pl.UsageError, match="'shout'"):
        analysis.sample_complexity(pl.Tiger(), CLOSED, "shout", 0.1, 1.0)
    with pytest.raises(pl.UsageError, match="ajar"):
        analysis.sample_complexity(pl.Tiger(), {"opened": "ajar"}, "listen", 0.1, 1.0)
    known = analysis.known_set(pl.PomdpLite(pl.Tiger(), 1.0, solver="exact"), 0.1)
    with pytest.raises(pl.UsageError, match=r"'listen' in x = \(opened=left\) is not among the pairs"):
        known.bonus({"opened": "left"}, "listen")


@pytest.mark.parametrize("arguments", [{"accuracy": 0}, {"beta": -1}, {"visits": 0}])
def test_arguments_of_the_sample_complexity_are_checked(arguments):
    given = {"accuracy": 0.1, "beta": 1.0, "visits": 5} | arguments
    with pytest.raises(pl.UsageError, match=f"{next(iter(arguments))} must be"):
        analysis.sample_complexity(pl.Tiger(), CLOSED, "listen", **given)


# ---------------------------------------------------------------------- unknown probabilities


def test_the_chain_has_the_bonus_of_lemma_1():
    """Five outcomes with one count each: 2 · (4/5) / 6 at the prior, and 5/(5 + n) of it after n visits, on average."""
    first = 2 * 0.8 / 6
    planner = pl.PomdpLite(pl.SlipperyChain(discount=0.9), 3.0, solver="exact")
    known = analysis.known_set(planner, 0.1)
    assert known.threshold == pytest.approx(0.1 * 0.1 * 10) and len(known) == 0 and known.pairs == 10
    assert known.bonus({"state": "1"}, "a") == pytest.approx(3 * first)
    found = analysis.sample_complexity(planner.model, {"state": "1"}, "a", 0.011, 3.0)
    assert found.bonus.mean[:40] == pytest.approx(first * 5 / (5 + np.arange(40)))
    assert found.expected == math.ceil(5 * (3 * first / 0.11 - 1)) and not found.bonus.monotone and not found.endless
    assert analysis.total_complexity(planner, 0.11) == 10 * found.expected
    # In the worst case the outcomes come in turn: after 5 m visits all have 1 + m counts.
    assert found.bonus.largest[20] == pytest.approx(2 * 0.8 / 26)
    assert found.worst == math.ceil(2 * 0.8 * 3 / 0.11 - 6)  # the first n with 2 (4/5) / (6 + n) < 0.11/3


def test_lemma_accuracy_and_escape_on_the_chain():
    planner = pl.PomdpLite(pl.SlipperyChain(discount=0.9), 0.3, solver="exact")
    planner.reset()
    world = pl.ModelWorld(planner.model)
    world.reset(1)
    sizes = set()
    for _ in range(300):
        action = planner.decide().action
        step = world.step(action)
        planner.update(action, step.y, step.o)
    for epsilon in (0.02, 0.1, 0.5):
        found = analysis.known_mdp(planner, epsilon)
        sizes.add(len(found.known))
        assert -1e-9 <= found.accuracy <= epsilon
    assert len(sizes) > 1 and found.known.mdp.values[found.known.mdp.state] == pytest.approx(planner.decide().value)
    escape = analysis.escape_probability(planner, 0.1)
    assert 0 <= escape.in_known_mdp <= 1 and escape.in_world is None


def test_known_pairs_of_the_chain_are_not_counted():
    planner = pl.PomdpLite(pl.SlipperyChain(discount=0.9), 0.1, solver="exact", known=0.9)
    planner.reset()
    before = planner.belief.counts.copy()
    planner.update("a", {"state": "2"}, None)
    assert np.array_equal(planner.belief.counts, before) and planner.state.state == 1


def test_v_star_of_unknown_probabilities_lies_between_the_bounds_from_draws():
    """Two arms that pay 1 with unknown probabilities: V* by following all counts for 16 steps."""

    @functools.cache
    def value(counts, steps):
        if steps == 0:
            return 0.5 / (1 - 0.6)  # the prior's mean for ever; 0.6^16 of it hardly matters
        found = []
        for arm in (0, 2):
            chance = counts[arm] / (counts[arm] + counts[arm + 1])
            won = value((*counts[:arm], counts[arm] + 1, *counts[arm + 1 :]), steps - 1)
            lost = value((*counts[: arm + 1], counts[arm + 1] + 1, *counts[arm + 2 :]), steps - 1)
            found.append(chance * (1 + 0.6 * won) + (1 - chance) * 0.6 * lost)
        return max(found)

    arms = {(0, a): [(0, 1.0), (0, 0.0)] for a in range(2)}
    model = pl.UnknownMdp(1, 2, {}, discount=0.6, outcomes=arms, counts={(0, 0): (3, 1), (0, 1): (1, 1)})
    found = analysis.optimism(pl.PomdpLite(model, 1.0, solver="exact"))
    low, high = found.optimal
    assert low < value((3, 1, 1, 1), 16) < high < low + 0.6
    assert found.least == pytest.approx(found.internal - high)


def test_what_needs_v_star_itself_is_refused_for_unknown_probabilities():
    planner = pl.PomdpLite(pl.SlipperyChain(discount=0.9), 1.0, solver="exact")
    with pytest.raises(pl.UnsuitableError, match="probabilities are unknown"):
        analysis.suboptimal_steps(planner, 0.1)
    with pytest.raises(pl.UnsuitableError, match="bonus of Definition 1"):
        analysis.optimistic_beta(planner)


def test_a_model_too_large_for_bayes_optimal_is_refused_in_one_sentence(monkeypatch):
    monkeypatch.setattr("pomdplite.analysis.optimistic._SECONDS", 1e-9)
    with pytest.raises(pl.TooLargeError) as refusal:
        analysis.optimism(pl.PomdpLite(pl.Tiger(), 1.0, solver="exact"))
    assert str(refusal.value).endswith("; V* is not known, and the analysis needs a smaller model.")
    assert "solve_time" not in str(refusal.value)
