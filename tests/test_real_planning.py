"""POMDP-lite on models with noise and readings: against exact solutions of listed twins, and as a user meets it."""

import math

import numpy as np
import pytest
from distributed_models import Sensor
from real_models import Counter, Pendulum, RealLightDark, interpreted

import pomdplite as pl
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.reward_range import reward_range
from pomdplite.mdp.search.drawn.solver import WideningSolver


def decide(model, seed=3, **parameters):
    planner = pl.PomdpLite(model, **parameters)
    planner.reset(seed)
    return planner.decide()


def same_q(one, other, tolerance):
    """Whether both decisions give every action the same value and the same parts of it."""
    found = [dict(zip(d.solution.actions.tolist(), d.solution.q, strict=True)) for d in (one, other)]
    assert found[0].keys() == found[1].keys()
    scale = max(1.0, *map(abs, found[1].values()))
    assert all(abs(found[0][a] - found[1][a]) < tolerance * scale for a in found[1]), found
    parts = [dict(zip(d.solution.actions.tolist(), d.solution.bonus_part, strict=True)) for d in (one, other)]
    assert all(abs(parts[0][a] - parts[1][a]) < tolerance * scale for a in parts[1]), parts


# ---------------------------------------------------------------------- listed twins


class Tunnel(pl.Model):
    """Walk along a tunnel of five places. A hidden drift adds a step; a listening post tells left from right."""

    state = pl.State(place=int)
    hidden = pl.Hidden(drift=(0, 1))
    actions = ("listen", "go", "back")
    observations = ("low", "high")
    discount = 0.9

    def transition(m, x, theta, a, y):
        if a == 1:
            y.place = min(4, x.place + 1 + theta.drift)
        if a == 2:
            y.place = max(0, x.place - 1)

    def observation(m, y, theta, a, z):
        if a == 0:
            z[1] = 0.8 if theta.drift == 1 else 0.3
            z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        if a == 0:
            return -0.5
        return 3.0 if a == 1 and x.place == 3 and theta.drift == 0 else -1.0

    def terminal(m, x):
        return x.place == 4


class ReadTunnel(Tunnel):
    """The same with a reading of two values."""

    observations = pl.Reading(n=int, noise=1)

    def observation(m, y, theta, a, z, u):
        p = 0.8 if theta.drift == 1 else 0.3
        z.n = 0 if a != 0 else (2 if 0.5 * math.erfc(-u[0] / math.sqrt(2.0)) < p else 1)

    def likelihood(m, y, theta, a, z):
        p = 0.8 if theta.drift == 1 else 0.3
        if a != 0:
            return 1.0 if z.n == 0 else 0.0
        return p if z.n == 2 else (1.0 - p if z.n == 1 else 0.0)


class NoisyTunnel(Tunnel):
    """The same with declared noise that does nothing, and places as real numbers."""

    state = pl.State(place=float)
    noise = pl.Gaussian(place=0.0)


@pytest.mark.parametrize(("kind", "tolerance"), [(ReadTunnel, 0.03), (NoisyTunnel, 0.01)])
@pytest.mark.parametrize("beta", [0.0, 2.0])
def test_values_agree_with_the_exact_solver_on_the_listed_twin(kind, tolerance, beta):
    """Readings are drawn for the bonus, so their twin may differ by 3 %; listed observations are summed over."""
    exact = decide(Tunnel(), beta=beta, solver="exact")
    found = decide(kind(), beta=beta, sims=20_000)
    same_q(found, exact, tolerance)
    assert found.name == exact.name and found.solution.solver == "UCT with progressive widening"


class Dice(pl.Model):
    """Noise with finitely many outcomes: stay or move on by chance, with a hidden probability."""

    state = pl.State(place=int)
    hidden = pl.Hidden(p=(0.3, 0.9))
    actions = ("try", "leave")
    discount = 0.95
    noise = 1

    def transition(m, x, theta, a, y, u):
        if a == 1:
            y.place = 3
        elif 0.5 * math.erfc(-u[0] / math.sqrt(2.0)) < theta.p:
            y.place = x.place + 1

    def density(m, x, theta, a, y):
        if a == 1:
            return 1.0 if y.place == 3 else 0.0
        return theta.p if y.place == x.place + 1 else (1.0 - theta.p if y.place == x.place else 0.0)

    def reward(m, x, theta, a):
        return x.place * 2.0 if a == 1 else -0.3

    def terminal(m, x):
        return x.place == 3


class ListedDice(Dice):
    """The same with its outcomes listed."""

    noise = None
    next_states = 2
    density = pl.Model.density

    def transition(m, x, theta, a, y, p):
        p[0] = 1.0
        if a == 1:
            y[0].place = 3
            return 1
        y[0].place = x.place + 1
        p[0] = theta.p
        p[1] = 1.0 - theta.p
        return 2


def test_outcomes_that_are_drawn_again_share_a_child_with_their_frequency():
    """Widening draws k n^α outcomes, a few dozen here, so their frequencies are good to a few percent."""
    exact = decide(ListedDice(), beta=1.0, solver="exact")
    found = decide(Dice(), beta=1.0, sims=100_000)
    same_q(found, exact, 0.05)
    assert found.name == exact.name and found.solution.states < 10


# ---------------------------------------------------------------------- budgets, seeds, memory


@pytest.mark.parametrize("kind", [Pendulum, RealLightDark])
def test_the_same_seed_and_simulations_give_the_same_decision(kind):
    one, two, other = (decide(kind(), seed=seed, beta=1.0, sims=60).solution for seed in (3, 3, 4))
    assert one.q.tolist() == two.q.tolist() and one.visits.tolist() == two.visits.tolist() and one.line == two.line
    assert one.simulations == 60 and one.q.tolist() != other.q.tolist()


def test_episodes_do_not_depend_on_the_number_of_workers():
    model = RealLightDark()
    results = [pl.evaluate(model, "pomdp-lite", 4, 1002, workers=w, beta=10.0, sims=30) for w in (1, 2)]
    assert results[0].returns.tolist() == results[1].returns.tolist()


def test_interpreted_models_are_planned_for_in_the_same_way():
    compiled, run = (decide(m, beta=1.0, sims=6, search_depth=3).solution for m in (Counter(), interpreted(Counter)))
    assert compiled.q.tolist() == run.q.tolist()


def test_the_tree_is_kept_while_the_belief_stays_the_same():
    planner = pl.PomdpLite(NoisyTunnel(), 0.0, sims=50)
    planner.reset(0)
    first = planner.decide()
    again = planner.decide()
    assert again.solution.states >= first.solution.states
    assert again.solution.visits.sum() >= first.solution.visits.sum() + 40


def test_a_full_tree_is_reported_and_the_search_goes_on():
    model = Pendulum()
    view = model.compiled_form.kernel_view()
    belief = pl.initial_belief(view)
    solver = WideningSolver(
        view, model.discount, 1.0, budget=Budget(None, 400), exploration=8.0, search_depth=50, nodes=300, pairs=300
    )
    found = solver.solve(view.kernel_model, view.root(), belief.probabilities)
    assert found.full and found.simulations == 400 and found.states <= 300


# ---------------------------------------------------------------------- what it does, and says


def test_light_dark_goes_to_the_light_and_stops_at_the_right_place():
    """Eight episodes with few simulations: most end with +100. A planner that does not look first gains in one of 61."""
    result = pl.evaluate(RealLightDark(), "pomdp-lite", 8, 1500, beta=10.0, sims=150)
    assert (result.returns > 20).sum() >= 6, result.returns
    blind = pl.evaluate(RealLightDark(), "mean-mdp", 8, 1500, sims=150)
    assert blind.returns.mean() < result.returns.mean() - 20


def test_the_pendulum_moves_up_from_hanging_down():
    """Within 60 steps of a few simulations it has been in the upper half, which no constant torque reaches."""
    model, highest = Pendulum(), -1.0
    planner, world = pl.PomdpLite(model, 0.8, sims=100), pl.ModelWorld(model)
    planner.reset(0)
    world.reset(1003)
    for _ in range(60):
        a = planner.decide().action
        y, o, *_ = world.step(a)
        planner.update(a, y, o)
        highest = max(highest, math.cos(y.angle))
    assert highest > 0.0
    assert planner.belief.probabilities[:-1].max() > 0.95


def test_a_hidden_number_with_a_distribution_is_planned_for():
    found = decide(Sensor(), beta=1.0, sims=50)
    change = pl.initial_belief(Sensor()).expected_change({"_": 0}, 0)
    assert abs(found.solution.mean_bonus[0] - change) < 0.1


class TwoSensors(pl.Model):
    """Two independent hidden numbers, each read by an action of its own with noise of its own."""

    hidden = pl.Hidden(one=(-1.0, 1.0), two=(-1.0, 1.0))
    actions = ("read one", "read two")
    observations = pl.Reading(d=float, noise=pl.Gaussian(d=1.0))
    discount = 0.5

    def depends(m, x, a):
        return a

    def transition(m, x, theta, a, y):
        pass

    def observation(m, y, theta, a, z, sd):
        z.d = theta.one if a == 0 else theta.two
        sd.d = 0.5 if a == 0 else 2.0

    def reward(m, x, theta, a):
        return 0.0


def test_factored_beliefs_change_by_what_the_action_tells_of_its_component():
    """For ±1 read with error σ, E‖b_z − b‖₁ is the total variation between N(±1, σ²): 2 Φ(1/σ) − 1."""
    found = decide(TwoSensors(), beta=1.0, sims=20).solution
    expected = [math.erf(1 / sd / math.sqrt(2)) for sd in (0.5, 2.0)]
    assert np.abs(found.mean_bonus - expected).max() < 0.06
    assert found.actions[np.argmax(found.q)] == 0


def test_it_says_that_it_searches_and_why():
    planner = pl.PomdpLite(Pendulum(), 1.0, time=0.05)
    planner.prepare()
    assert planner.choices[1:] == ("0.05 s per step", "searches, since it has noise in its steps")


@pytest.mark.parametrize("solver", ["exact", "uct-tree"])
def test_solvers_that_need_listed_outcomes_refuse_in_one_sentence(solver):
    with pytest.raises(pl.UnsuitableError, match=f'the solver "{solver}" needs the outcomes .* noise in its steps'):
        pl.PomdpLite(Pendulum(), 1.0, solver=solver).prepare()


def test_an_unbounded_value_is_named():
    class Forever(NoisyTunnel):
        discount = 1.0

        def reward(m, x, theta, a):
            return 1.0

    with pytest.raises(pl.NotConvergingError, match="with discount 1 the value is unbounded"):
        decide(Forever(), beta=0.0, sims=50)


def test_a_mistake_in_the_model_is_named_during_the_search():
    class Wrong(Pendulum):
        def reward(m, x, theta, a):
            return math.nan if x.speed > 0.3 else 0.0

    model = Wrong()
    view = model.compiled_form.kernel_view()
    solver = WideningSolver(view, 0.9, 1.0, budget=Budget(None, 3000), exploration=1.0, search_depth=50)
    with pytest.raises(pl.ModelError, match="reward"):
        solver.solve(view.kernel_model, view.root(), pl.initial_belief(view).probabilities)


# ---------------------------------------------------------------------- β


def test_the_range_of_rewards_is_that_of_random_episodes():
    assert reward_range(RealLightDark().compiled_form.kernel_view()) == (-100.0, 100.0)
    low, high = reward_range(Pendulum().compiled_form.kernel_view())
    assert low >= -(math.pi**2 + 0.1 * 8.3**2) and -16.5 < low < -12 and -1 < high <= 0


def test_beta_is_chosen_by_a_short_race_or_is_a_share_of_the_rewards():
    planner = pl.PomdpLite(ReadTunnel(), sims=20)
    planner.prepare()
    low, high = reward_range(planner.view)
    assert planner.chosen_beta.origin.startswith(("chosen from", "5% of the range of rewards"))
    assert 0 <= planner.chosen_beta.value <= 4 * (high - low)
    planner = pl.PomdpLite(Pendulum(), sims=20)
    planner.prepare()
    low, high = reward_range(planner.view)
    assert np.isclose(planner.chosen_beta.value, 0.05 * (high - low))
    assert "take too long for a choice" in planner.chosen_beta.origin
