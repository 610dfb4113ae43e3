"""Hidden numbers with distributions that change deterministically: beliefs, planners, and refusals."""

import numpy as np
import pytest
from scipy import stats

import pomdplite as pl
from pomdplite.experiments import run_episode
from pomdplite.mdp.real.changing import ChangingValues

STEPS = np.array([-1.0, 0.5, 2.0])


class Drift(pl.Model):
    """A place on a line that every step brings halfway to 0 and then moves by the action; a sensor reads it."""

    hidden = pl.Hidden(place=pl.Normal(3.0, 2.0))
    actions = ("left", "right", "far right")
    observations = pl.Reading(place=float, noise=pl.Gaussian(place=0.5))
    discount = 0.9
    horizon = 2000
    keep = 0.9

    def __init__(self):
        self.steps = STEPS

    def transition(m, x, theta, a, y):
        pass

    def evolve(m, x, theta, a, theta_next):
        theta_next.place = m.keep * theta.place + m.steps[a]

    def observation(m, y, theta, a, z):
        z.place = theta.place

    def reward(m, x, theta, a):
        return -abs(theta.place)


class DriftWithKind(Drift):
    """The same with a second number, which changes its sign, and a listed value, which doubles what is read."""

    hidden = pl.Hidden(place=pl.Normal(3.0, 2.0), tilt=pl.Normal(0.0, 1.0), kind=("plain", "double"))

    def evolve(m, x, theta, a, theta_next):
        theta_next.place = m.keep * theta.place + m.steps[a]
        theta_next.tilt = -theta.tilt

    def observation(m, y, theta, a, z):
        z.place = theta.place * (1 + theta.kind) + theta.tilt


def history(t, seed=1000):
    """Actions and readings of an episode, and the numbers c and d of the present place c θ₀ + d after every step."""
    random = np.random.default_rng(seed)
    place, c, d, found = 3.0 + 2.0 * random.normal(), 1.0, 0.0, []
    for _ in range(t):
        a = int(random.integers(3))
        place, c, d = 0.9 * place + STEPS[a], 0.9 * c, 0.9 * d + STEPS[a]
        found.append((a, place + 0.5 * random.normal(), c, d))
    return found


def told(belief, steps):
    for a, reading, _, _ in steps:
        belief.update((0,), a, (0,), reading)
    return belief


def moments(belief, field="place"):
    numbers = belief._numbers()[field]
    values, weights = numbers.values[0], numbers.weights[0]
    mean = weights @ values
    return mean, np.sqrt(weights @ (values - mean) ** 2)


@pytest.mark.parametrize("t", [1, 12, 40])
@pytest.mark.parametrize(("kind", "tolerance"), [(pl.QuadratureBelief, 1e-6), (pl.DrawnBelief, 0.35)])
def test_beliefs_agree_with_the_conjugate_posterior(kind, tolerance, t):
    """θ₀ is Normal given readings of c θ₀ + d, and so is the present place. Of 400 particles 200 are effective or more,
    so an error of 0.35 standard deviations is one in a million.
    """
    steps = history(t)
    precision = 1 / 2.0**2 + sum(c**2 / 0.5**2 for _, _, c, _ in steps)
    first = (3.0 / 2.0**2 + sum(c * (reading - d) / 0.5**2 for _, reading, c, d in steps)) / precision
    _, _, c, d = steps[-1]
    belief = told(kind(Drift(), *([400] if kind is pl.DrawnBelief else [])), steps)
    mean, sd = moments(belief)
    exact = c / np.sqrt(precision)
    assert abs(mean - (c * first + d)) < tolerance * exact and sd == pytest.approx(exact, rel=tolerance)
    assert belief.mean()["place"] == pytest.approx(mean) and belief.marginals()[0][0] == pytest.approx(mean)
    assert belief.initial_marginals()[0][0] == pytest.approx(first, abs=tolerance / np.sqrt(precision))


def test_particles_agree_with_the_grid_about_two_numbers_and_a_listed_value():
    steps = history(8)
    grid, particles = (
        told(pl.initial_belief(DriftWithKind()), steps),
        told(pl.DrawnBelief(DriftWithKind(), 2000), steps),
    )
    assert isinstance(grid, pl.QuadratureBelief)
    assert abs(grid.marginals()[2][0] - particles.marginals()[2][0]) < 0.1
    for field in ("place", "tilt"):
        (mean, sd), (other, spread) = moments(grid, field), moments(particles, field)
        assert abs(mean - other) < 0.25 * sd and spread == pytest.approx(sd, rel=0.2)


def test_present_values_follow_from_the_draws_of_the_first_ones():
    steps = history(30)
    belief = told(pl.DrawnBelief(Drift(), 100), steps)
    _, _, c, d = steps[-1]
    first, now = (rows.view(np.float64).ravel() for rows in (belief._theta.copy(), belief._now.copy()))
    assert np.allclose(now, c * first + d) and len(np.unique(first)) > 50
    belief.recover()
    first, now = (rows.view(np.float64).ravel() for rows in (belief._theta.copy(), belief._now.copy()))
    assert np.allclose(now, c * first + d) and first.std() > 1.0  # half of them are draws from the prior


def test_a_copy_goes_on_alike_and_a_seed_gives_the_same_bytes():
    steps = history(20)
    belief = told(pl.DrawnBelief(Drift(), 100), steps[:10])
    twin = belief.copy()
    bytes_of = [told(each, steps[10:])._now.tobytes() for each in (belief, twin, pl.DrawnBelief(Drift(), 100))]
    assert bytes_of[0] == bytes_of[1] != bytes_of[2]  # the last one has not heard the first ten
    assert told(pl.DrawnBelief(Drift(), 100), steps)._now.tobytes() == bytes_of[0]


class Docking(pl.Model):
    """Stop at 0 on a line; a sensor says on which side of 0 the robot is, and errs where it is near."""

    state = pl.State(over=bool)
    hidden = pl.Hidden(place=pl.Uniform(-6.0, 6.0))
    actions = ("left", "right", "stop")
    observations = ("left", "right")
    discount = 0.95
    horizon = 25
    return_range = 20.0

    def transition(m, x, theta, a, y):
        y.over = a == 2

    def evolve(m, x, theta, a, theta_next):
        theta_next.place = theta.place + (-1.0 if a == 0 else (1.0 if a == 1 else 0.0))

    def observation(m, y, theta, a, z):
        z[1] = 0.5 + 0.5 * theta.place / (0.1 + abs(theta.place))
        z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        if a == 2:
            return 10.0 if abs(theta.place) < 1.0 else -10.0
        return -0.2

    def terminal(m, x):
        return x.over


@pytest.mark.parametrize(
    "make", [lambda m: pl.Pomcp(m, sims=1000, particles=500), lambda m: pl.Despot(m, sims=20, scenarios=60)]
)
def test_simulating_planners_follow_the_change(make):
    """Stopping at once earns −6.7 on average, never stopping −2.9, and docking without a doubt at most 9."""
    model = Docking()
    assert pl.check_model(model, calls=2000).ok
    planner = make(model)
    planner.prepare()
    episodes = [run_episode(planner, pl.ModelWorld(model), 1000, i) for i in range(20)]
    mean, error = np.mean([e.discounted for e in episodes]), stats.sem([e.discounted for e in episodes])
    assert mean - error > 0.0


def best_plan(places, weights, depth, keep=0.9, gamma=0.9):
    """The best mean return of `depth` actions in Drift, by trying all of them: the value of the MDP with β = 0."""
    if depth == 0:
        return 0.0
    return max(
        -weights @ np.abs(places) + gamma * best_plan(keep * places + step, weights, depth - 1) for step in STEPS
    )


class BriefDrift(Drift):
    """Drift for those who do not care what comes after the search."""

    def heuristic(m, x):
        return 0.0


def test_the_search_finds_the_best_plan_under_the_frozen_belief():
    """Without a bonus, Drift is deterministic once the belief is frozen: all plans of four steps can be tried."""
    planner = pl.PomdpLite(BriefDrift(), 0.0, sims=4000, search_depth=4)
    planner.reset()
    for a, reading, _, _ in history(3):
        planner.update(a, (0,), reading)
    decision = planner.decide()
    theta, weights = planner.solver._model.theta, planner.solver._frozen.weight[:-1]
    places = theta[: len(weights)].view(np.float64).ravel()
    assert 30 < len(places) <= 64 and weights @ places == pytest.approx(planner.belief.mean()["place"], abs=0.02)
    expected = [
        -weights @ np.abs(places) + 0.9 * best_plan(0.9 * places + step, weights, 3) for step in STEPS
    ]  # fmt: skip
    assert decision.solution.q == pytest.approx(expected, abs=1e-9)
    assert "searches, since it has hidden numbers that change" in planner.choices


def test_equal_places_are_one_state_and_the_pool_says_when_it_is_full(monkeypatch):
    """Left and right lead back: after any number of steps, Docking is in one of few places."""
    planner = pl.PomdpLite(Docking(), 0.0, sims=3000, search_depth=6)
    planner.reset()
    found = planner.decide()
    # 13 places, some of them twice because of rounding; histories would be 127
    assert 13 < found.solution.states < 40 and not found.solution.full
    monkeypatch.setattr(ChangingValues.__init__, "__defaults__", (600, 64))  # rows, values
    small = pl.PomdpLite(Drift(), 0.0, sims=300)
    small.reset()
    assert small.decide().solution.full


def test_a_step_under_the_belief_is_that_of_its_present_values():
    belief = told(pl.initial_belief(Drift()), history(3))
    numbers = belief._numbers()["place"]
    reward = -numbers.weights[0] @ np.abs(numbers.values[0])
    assert belief.mean_reward((0,), "left") == pytest.approx(reward, abs=0.01)
    assert len(belief.mean_transition((0,), "left")) == 1
    changes = [belief.expected_change((0,), a) for a in range(3)]
    assert min(changes) > 0.1 and np.ptp(changes) < 0.02  # reading a place is worth the same wherever it is


def test_pomdp_lite_docks_and_mean_mdp_runs():
    """Stopping at once earns −6.7 on average, never stopping −2.9, and docking without a doubt at most 9."""
    model = Docking()
    lite = pl.evaluate(model, "pomdp-lite", episodes=20, seed=1000, beta=0.5, sims=300)
    assert lite.mean - lite.stderr > 0.0
    assert len(pl.evaluate(model, "mean-mdp", episodes=2, seed=1000, sims=100).episodes) == 2


def test_solvers_that_list_refuse_in_one_sentence():
    for solver in ("exact", "grid", "uct-tree"):
        with pytest.raises(pl.UnsuitableError, match=f'the solver "{solver}" needs a hidden value that is listed or '
                           "constant, but that of Docking has distributions and changes."):  # fmt: skip
            pl.PomdpLite(Docking(), solver=solver).prepare()
    for kind in (pl.Qmdp, pl.Sarsop, pl.BayesOptimal):
        with pytest.raises((pl.UnsuitableError, pl.TooLargeError), match=r"hidden values? .*listed"):
            kind(Docking()).prepare()


def test_an_impossible_step_leaves_the_belief_as_it_was():
    class Exact(Docking):
        def observation(m, y, theta, a, z):
            z[1 if theta.place > 0.0 else 0] = 1.0

    for kind in (pl.QuadratureBelief, pl.DrawnBelief):
        belief = kind(Exact())
        for o in ("right", "right"):
            belief.update((False,), "left", (False,), o)
        before = moments(belief)
        assert before[0] == pytest.approx(2.0, abs=0.1)  # at first from 2 to 6, now from 0 to 4
        with pytest.raises(pl.ImpossibleObservationError):
            belief.update((False,), "right", (False,), "left")
        assert moments(belief) == before


def test_a_reading_without_noise_is_found_and_explained():
    class Exact(Drift):
        observations = pl.Reading(place=float)

    report = pl.check_model(Exact(), calls=50)
    assert report.ok and "the reading place tells theta at" in str(report)
    with pytest.raises(pl.ImpossibleObservationError, match="If x or a reading follows from a hidden number without"):
        pl.initial_belief(Exact()).update((0,), "left", (0,), 1.2345)


def test_the_check_finds_a_change_by_chance_and_a_change_to_no_number():
    class Random(Docking):
        compiled = False

        def evolve(m, x, theta, a, theta_next):
            theta_next.place = theta.place + np.random.normal()

    class Endless(Docking):
        def evolve(m, x, theta, a, theta_next):
            theta_next.place = theta.place / 0.0 if a == 0 else theta.place

    assert "not a POMDP-lite: evolve gives different hidden values" in str(pl.check_model(Random(), calls=50))
    assert "evolve" in str(pl.check_model(Endless(), calls=50)) and not pl.check_model(Endless(), calls=50).ok


def test_depends_and_a_changing_population_stay_refused():
    class Whole(Docking):
        def depends(m, x, a):
            return 0

    class Drawn(Docking):
        hidden = pl.Population(place=float)

        def prior(m, theta, random):
            theta.place = pl.uniform(random)

    with pytest.raises(pl.ModelError, match="defines depends, but a hidden value with distributions is whole"):
        Whole().compiled_form.definition  # noqa: B018
    with pytest.raises(pl.ModelError, match="defines evolve, but the θ of a Population is constant"):
        Drawn().compiled_form.definition  # noqa: B018


def test_a_world_changes_the_hidden_number():
    world = pl.ModelWorld(Docking())
    world.reset(1000)
    before = float(world.theta.place)
    world.step(1)
    assert float(world.theta.place) == before + 1.0
