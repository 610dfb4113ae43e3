"""check_model compares densities with draws, and the moves of a Population with the posterior.

Its error rate is one report in a million checks of right models. The seeds of these tests are fixed.
"""

import math

import numpy as np
import pytest
from density_zoo import KINDS, Zoo
from real_models import Counter

import pomdplite as pl
from pomdplite.checking.columns import columns_of
from pomdplite.checking.densities import check_densities
from pomdplite.checking.draws import DrawPlace
from pomdplite.checking.model import check_before_planning
from pomdplite.checking.moves import check_moves
from pomdplite.checking.probe import Probe
from pomdplite.checking.proposals import Proposal
from pomdplite.checking.report import CheckReport
from pomdplite.checking.significance import ERROR_RATE, strongest, suspicions

# ---------------------------------------------------------------------- the test itself


def test_numbers_around_zero_are_hardly_ever_suspicious():
    """At an error rate of 5%, fewer than 5% of 400 tests of skewed numbers with mean 0; shifted, all of them."""
    random = np.random.default_rng(1000)
    skewed = np.where(random.random((200, 400)) < 0.1, 0.9, -0.1)  # mean 0
    reported = [strongest(suspicions(skewed[:, i : i + 1], 1.0, [str]), 0.05) is not None for i in range(400)]
    assert np.mean(reported) < 0.05
    shifted = [strongest(suspicions(skewed[:, i : i + 1] + 0.2, 1.0, [str]), 0.05) is not None for i in range(400)]
    assert all(shifted)


def test_the_worst_of_many_tests_is_told():
    numbers = np.random.default_rng(1000).uniform(-1, 1, (5000, 3)) + np.array([0.0, 0.3, 0.1])
    worst = strongest(suspicions(numbers, 2.0, [lambda: "first", lambda: "second", lambda: "third"]), ERROR_RATE)
    assert worst is not None and worst.text() == "second" and strongest([], ERROR_RATE) is None


@pytest.mark.parametrize("kind", ["log-normal", "correlated", "mixture", "clipped", "angle"])
def test_draws_of_the_known_distribution_have_its_density(kind):
    """For Q fitted to one half of the draws, E_Q[r(y) / q(y)] = 1 for Q' = R fitted to the other half, whose r < 30 q."""
    model = Zoo(kind)
    x = np.zeros((2000, model.state.words), np.uint64)
    random, view = np.random.default_rng(1000), model.compiled_form.kernel_view()
    place = DrawPlace(view, x[:1], model.hidden.record([0]).view(np.uint64).reshape(1, -1), 0, False)
    fits = [
        Proposal(model.state, columns_of(model.state), place.drawn(random.normal(size=(1000, 3)))) for _ in range(2)
    ]
    drawn = fits[0].draw(random.normal(size=(20_000, fits[0].numbers)))
    ratios = np.exp(fits[1].log_density(drawn) - fits[0].log_density(drawn))
    assert ratios.max() < 30 and abs(ratios.mean() - 1) < 5 * ratios.std() / math.sqrt(20_000) and ratios.std() > 0.01


# ---------------------------------------------------------------------- densities


def finding(model, seed=1000, draws=16_000):
    """What the test of densities reports of the first step; an empty text if nothing."""
    report = CheckReport(model.name)
    samples = [(model.initial_state(), model.hidden.record([i]), 0) for i in (0, 1)]
    view = model.compiled_form.kernel_view()
    check_densities(Probe(model, report, seed), view, samples, draws, ERROR_RATE, seed)
    return report.findings[0].message if report.findings else ""


@pytest.mark.parametrize("kind", KINDS)
def test_right_densities_pass_whatever_the_seed(kind):
    model = Zoo(kind)
    assert [finding(model, seed, 4000) for seed in range(1000, 1015)] == [""] * 15


ABSOLUTE = ("log-normal", "correlated", "mixture", "clipped", "angle", "uniform", "cauchy")  # numbers of their own
COMPARED = ("following", "flag")  # some follow from others, so only different theta can be compared


@pytest.mark.parametrize("kind", ABSOLUTE)
def test_a_wrong_constant_is_found_with_its_size(kind):
    text = finding(Zoo(kind, factor=2.5))
    assert text.startswith("density is about 2.5") and " times too large at x = (v=0.0 " in text
    assert text.endswith(", action 'go', compared with what transition draws.")
    assert "times too small at" in finding(Zoo(kind, factor=1 / 1.2))


@pytest.mark.parametrize("kind", [*ABSOLUTE, *COMPARED])
def test_a_spread_that_is_wrong_by_a_fifth_and_a_shifted_mean_are_found(kind):
    much = 1.2 if kind != "cauchy" else 1.4  # its tails hide more
    for wrong in ({"widen": much}, {"widen": 1 / much}, {"shift": 0.25}):
        text = finding(Zoo(kind, **wrong))
        assert text.startswith("density is about ")
        assert ("compared with theta: rate=" in text) == (kind in COMPARED)


def test_a_missing_jacobian_is_found():
    assert "density is about" in finding(Zoo("log-normal", power=0.0))


@pytest.mark.parametrize("kind", COMPARED)
def test_a_constant_that_no_belief_depends_on_passes_where_numbers_follow_from_others(kind):
    assert finding(Zoo(kind, factor=2.5)) == ""


def altered(kind, **attributes):
    return type(kind.__name__, (kind,), attributes)()


def test_check_model_and_planning_find_wrong_likelihoods():
    def too_much(m, y, theta, a, z):
        p = 0.5 * math.erfc(-theta.rate / math.sqrt(2.0))
        return p if z.n == 1 else (1.1 - p if z.n == 0 else 0.0)

    def swapped(m, y, theta, a, z):
        p = 0.5 * math.erfc(-theta.rate / math.sqrt(2.0))
        return 1.0 - p if z.n == 1 else (p if z.n == 0 else 0.0)

    def elsewhere(m, y, theta, a, z):
        p = 0.5 * math.erfc(-theta.rate / math.sqrt(2.0))
        return p if z.n == 1 else (1.0 - p if z.n == 0 else 0.1)

    for likelihood, words in (
        (too_much, "likelihood is about 1.1 times too large at y = (v="),
        (swapped, " for n = "),
        (elsewhere, " times too large at y = (v="),
    ):
        report = pl.check_model(altered(Counter, likelihood=likelihood), calls=200)
        assert len(report.findings) == 1 and words in report.findings[0].message
        assert report.findings[0].message.endswith("compared with what observation draws.")
    with pytest.raises(pl.ModelError, match="likelihood is about"):
        check_before_planning(altered(Counter, likelihood=swapped))


def test_what_goes_wrong_with_rare_noise_is_a_finding():
    def transition(m, x, theta, a, y, u):
        if u[0] > 2.9:
            raise ValueError("too loud")
        y.v = math.exp(theta.rate + 0.5 * u[0])

    def reward(m, x, theta, a):
        return 0.0

    report = pl.check_model(altered(Counter, transition=transition, reward=reward, compiled=False), calls=20)
    assert "transition raised ValueError at " in report.findings[0].message and not report.ok


def test_models_that_run_as_python_are_tested_too():
    def density(m, x, theta, a, y):
        return 3.0

    text = str(pl.check_model(altered(Counter, density=density, compiled=False), calls=50))
    assert "density is about" in text and "compared with what transition draws" in text


class Brief(Zoo):
    """Most steps end the episode."""

    actions = ("go", "end", "stop", "leave")

    def terminal(m, x):
        return x.v > 3.0


def test_the_check_goes_deep_where_steps_have_noise_and_most_of_them_end():
    report = pl.check_model(altered(Brief, __init__=lambda self: Zoo.__init__(self, "log-normal")), calls=2000)
    assert report.states > 100 and not report.complete and report.ok


# ---------------------------------------------------------------------- moves


class Coin(pl.Model):
    """A coin of unknown bias with a uniform prior, tossed up to 30 times; x counts heads and tails.

    The move is Metropolis–Hastings on Beta(heads + 1, tails + 1), right or wrong as asked for.
    """

    state = pl.State(heads=int, tails=int)
    hidden = pl.Population(p=float, odd=bool)
    actions = ("toss",)
    observations = ("tails", "heads")
    discount = 0.9
    next_states = 2
    drift, blind, last = 0.0, False, False

    def transition(m, x, theta, a, y, p):
        y[0].heads += 1
        y[1].tails += 1
        p[0], p[1] = theta.p, 1.0 - theta.p

    def observation(m, y, theta, a, z):
        z[0] = z[1] = 0.5
        if theta.odd:
            z[0], z[1] = 0.9, 0.1

    def reward(m, x, theta, a):
        return 0.0

    def prior(m, theta, random):
        theta.p = pl.uniform(random)
        theta.odd = pl.uniform(random) < 0.5

    def move(m, x, theta, random):
        if m.last:
            theta.odd = pl.uniform(random) < 0.5  # x does not tell what was observed
        p = theta.p + 0.4 * (pl.uniform(random) - 0.5) + m.drift
        if not 0.0 < p < 1.0:
            return False
        heads, tails = (0, 0) if m.blind else (x.heads, x.tails)
        ratio = (p / theta.p) ** heads * ((1.0 - p) / (1.0 - theta.p)) ** tails
        if pl.uniform(random) < ratio:
            theta.p = p
            return True
        return False


def moved(model, seed=1000, histories=4000):
    report = CheckReport(model.name)
    check_moves(Probe(model, report, seed), model.compiled_form.kernel_view(), histories, ERROR_RATE, seed)
    return report.findings[0].message if report.findings else ""


def coin(**wrong):
    model = Coin()
    for name, value in wrong.items():
        setattr(model, name, value)
    return model


def test_right_moves_pass_whatever_the_seed():
    assert [moved(coin(), seed) for seed in range(1000, 1015)] == [""] * 15
    assert [moved(pl.make_model("battleship-5-2"), seed) for seed in range(1000, 1005)] == [""] * 5


def test_a_move_that_favours_one_side_is_found():
    text = moved(coin(drift=0.05))
    assert text.startswith("move does not preserve P(theta | x): p exceeds 0.")
    assert " before moves and 0." in text and " after 40 of them, " in text


def test_a_move_that_ignores_what_x_tells_is_found():
    assert "after histories that end with x." in moved(coin(blind=True))


def test_a_move_cannot_know_what_x_does_not_tell():
    assert "odd exceeds 0 with probability" in moved(coin(last=True))
    assert "after histories that end with the observation" in moved(coin(last=True))


def test_a_move_to_a_theta_that_cannot_lead_to_the_history_is_found_by_check_model():
    def move(m, x, theta, random):
        theta.p = 0.0
        return True

    report = pl.check_model(altered(Coin, move=move, compiled=False), calls=50)
    assert report.findings[0].message.startswith("move turns theta: p=0.")
    assert "which cannot lead to the history, at x = (heads=" in report.findings[0].message
