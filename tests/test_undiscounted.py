"""Models without a discount whose episodes are cut at a horizon, as users write them: planners against exact values."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.mdp.yardsticks import yardsticks
from pomdplite.planners import accepted
from pomdplite.testing import legal_actions


class Clerk(pl.Model):
    """Serve at the better of two counters. Watching is free and right 4 times out of 5; nothing ends the day."""

    hidden = pl.Hidden(better=("left", "right"))
    actions = ("watch", "left", "right")
    observations = ("busy-left", "busy-right")
    discount = 1.0
    horizon = 20

    def transition(m, x, theta, a, y):
        pass

    def observation(m, y, theta, a, z):
        right = 0.8 if a == 0 else 0.5
        z[theta.better] = right
        z[1 - theta.better] = 1 - right

    def reward(m, x, theta, a):
        return 0.0 if a == 0 else (1.0 if a - 1 == theta.better else -2.0)


class Bridge(pl.Model):
    """One of two bridges breaks, which costs 40 and ends the episode, like arriving. A test costs 1."""

    state = pl.State(over=bool)
    hidden = pl.Hidden(broken=("left", "right"))
    actions = ("test", "left", "right")
    observations = ("creaks-left", "creaks-right")
    discount = 1.0
    horizon = 15

    def transition(m, x, theta, a, y):
        y.over = a != 0

    def observation(m, y, theta, a, z):
        right = 0.85 if a == 0 else 0.5
        z[theta.broken] = right
        z[1 - theta.broken] = 1 - right

    def reward(m, x, theta, a):
        return -1.0 if a == 0 else (-40.0 if a - 1 == theta.broken else 10.0)

    def terminal(m, x):
        return x.over


class Errand(pl.Model):
    """Every step costs 1 until the right shop is reached, at one end of the street. A sign in the middle tells which."""

    state = pl.State(place=int, done=bool)
    hidden = pl.Hidden(shop=("west", "east"))
    actions = ("west", "east", "read")
    observations = ("says-west", "says-east", "nothing")
    discount = 1.0
    horizon = 30

    def transition(m, x, theta, a, y):
        y.place = x.place if a == 2 else max(-4, min(4, x.place + 2 * a - 1))
        y.done = y.place == 8 * theta.shop - 4

    def observation(m, y, theta, a, z):
        if a == 2 and y.place == 0:
            z[theta.shop] = 0.9
            z[1 - theta.shop] = 0.1
        else:
            z[2] = 1.0

    def reward(m, x, theta, a):
        return -1.0

    def terminal(m, x):
        return x.done


class Levers(pl.Model):
    """Learning by trying: one of four machines works, and a wage of 1 is certain. The lever pays 3 if it works."""

    hidden = pl.Hidden(works=("first", "second", "third", "mine"))
    actions = ("wage", "lever")
    observations = ("paid", "unpaid")
    discount = 1.0
    horizon = 12

    def transition(m, x, theta, a, y):
        pass

    def observation(m, y, theta, a, z):
        z[0 if a == 0 or theta.works == 3 else 1] = 1.0

    def reward(m, x, theta, a):
        return 1.0 if a == 0 else (3.0 if theta.works == 3 else 0.0)


class Fixed(Errand):
    """The same street, and no way to walk back: no state comes up twice."""

    def legal(m, x, a):
        return a == 1

    def transition(m, x, theta, a, y):
        y.place = x.place + 1
        y.done = y.place == 4


MODELS = {"free information": Clerk, "a trap": Bridge, "a goal with step costs": Errand, "learning by trying": Levers}


def best(model, x, b, left, known):
    """The Bayes-optimal value of so many steps from x with the belief b, by plain recursion over histories."""
    key = x.tobytes(), b.round(9).tobytes(), left
    if left == 0 or model.compiled_form.interpreted.terminal(x):
        return 0.0
    if key not in known:
        known[key] = max(
            reward + sum(p * best(model, y, later, left - 1, known) for p, y, _, later in outcomes)
            for reward, outcomes in (step(model, x, b, a) for a in legal_actions(model, x))
        )
    return known[key]


def step(model, x, b, a):
    """The mean reward of an action; and of every outcome its probability, y, o and the posterior belief."""
    run, reward, following = model.compiled_form.interpreted, 0.0, {}
    for i, weight in enumerate(b):
        theta = model.hidden.record([i])
        reward += weight * run.reward(x, theta, a)
        for y, p in run.transition(x, theta, a):
            for o, q in enumerate(run.observation(y, theta, a)):
                if weight * p * q > 0:
                    following.setdefault((y.tobytes(), o), (y.copy(), o, np.zeros(len(b))))[2][i] += weight * p * q
    return reward, [(w.sum(), y, o, w / w.sum()) for y, o, w in following.values()]


def earned(planner, x, b, left, known, decisions, history=()):
    """The value of a planner's policy, which depends on x and b alone, likewise."""
    model, place = planner.model, (x.tobytes(), b.round(9).tobytes())
    if left == 0 or model.compiled_form.interpreted.terminal(x):
        return 0.0
    if place not in decisions:
        planner.reset()
        for seen in history:
            planner.update(*seen)
        decisions[place] = planner.decide().action
    if (*place, left) not in known:
        a = decisions[place]
        reward, outcomes = step(model, x, b, a)
        known[*place, left] = reward + sum(
            p * earned(planner, y, later, left - 1, known, decisions, (*history, (a, y, o)))
            for p, y, o, later in outcomes
        )
    return known[*place, left]


def start(model):
    return model.initial_state(), model.hidden.components[0].prior, model.horizon


@pytest.fixture(scope="module")
def optima():
    """Each model with its optimal value."""
    models = {name: make() for name, make in MODELS.items()}
    return {name: (model, best(model, *start(model), {})) for name, model in models.items()}


# What planners may lose, as a part of the way from repeating one action to the optimum.
SOLVED = {"pomdp-lite": (0.1, {}), "sarsop": (0.1, {"solve_trials": 60})}
SEARCHED = {
    "pomdp-lite": (0.15, {"solver": "uct", "sims": 300}), "pomdp-lite-plus": (0.1, {"solve_trials": 60, "sims": 10}),
    "pomcp": (0.15, {"sims": 2000, "exploration": 36.0}),  # the range of returns
    "despot": (0.15, {"sims": 50, "scenarios": 100}),
}  # fmt: skip


@pytest.mark.parametrize("title", SOLVED)
@pytest.mark.parametrize("name", MODELS)
def test_planners_that_solve_come_close_to_the_optimum_of_cut_episodes(name, title, optima):
    (model, optimum), (share, parameters) = optima[name], SOLVED[title]
    value = earned(pl.make_planner(title, model, **parameters), *start(model), {}, {})
    assert optimum - share * (optimum - yardsticks(model).least) <= value <= optimum + 1e-9


LONGEST = "free information"  # episodes have 20 steps


@pytest.mark.slow
@pytest.mark.parametrize("title", SEARCHED)
@pytest.mark.parametrize("name", MODELS)
def test_planners_that_search_come_close_to_it(name, title, optima):
    (model, optimum), (share, parameters) = optima[name], SEARCHED[title]
    if name == LONGEST:  # to a search that does not see far, or fits its scenarios, what is free to learn can wait
        parameters = parameters | {"pomcp": {"sims": 20_000}, "despot": {"sims": 300, "pruning": 0.5}}.get(title, {})
    result = pl.evaluate(model, title, 60, 7, **parameters)
    assert result.mean >= optimum - share * (optimum - yardsticks(model).least) - 2 * result.stderr


@pytest.mark.parametrize("name", MODELS)
def test_the_bound_and_the_ends_of_the_scale_are_those_of_cut_episodes(name, optima):
    """Knowing the hidden value, the clerk earns 1 in each of 20 steps, and a trip takes 4 steps."""
    model, optimum = optima[name]
    yards = yardsticks(model)
    known = {"free information": 20.0, "a trap": 10.0, "a goal with step costs": -4.0, "learning by trying": 18.0}
    assert yards.most == pytest.approx(known[name]) and yards.least <= optimum <= yards.most
    values = [earned(Repeated(model, a), *start(model), {}, {}) for a in range(len(model.actions))]
    assert yards.least == pytest.approx(max(values))
    for title in ("qmdp", "sarsop"):
        planner = pl.make_planner(title, model, **({} if title == "qmdp" else {"solve_trials": 5}))
        planner.prepare()
        assert planner.value_bounds == (-np.inf, pytest.approx(yards.most))


class Repeated:
    """The policy that repeats one action."""

    def __init__(self, model, action):
        self.model, self.action = model, action

    def reset(self):
        pass

    def update(self, *step):
        pass

    def decide(self):
        return self


@pytest.mark.parametrize("title", ["pomdp-lite", "mean-mdp", "sarsop", "pomdp-lite-plus"])
def test_planners_without_a_clock_say_with_which_discount_they_plan(title):
    planner = pl.make_planner(title, Clerk(), **accepted(title, solve_trials=5))
    planner.prepare()
    assert planner.discount == 0.95 and planner.choices[-1] == (
        "plans with γ = 0.95, since the model's is 1 and its horizon 20"
    )


def test_where_no_state_comes_up_twice_or_a_discount_is_given_it_stays():
    fixed, discounted = Fixed(), type("Discounted", (Clerk,), {"discount": 0.9})()
    for model in (fixed, discounted, pl.make_model("battleship-5-2")):
        assert planning_discount(model) == model.discount
    planner = pl.PomdpLite(fixed)
    planner.reset()
    assert planner.decide().value == -4.0 and not any("plans with" in words for words in planner.choices)


def test_without_a_horizon_a_loop_that_earns_is_still_an_error():
    endless = type("Endless", (Clerk,), {"horizon": None})()
    for title in ("qmdp", "sarsop", "despot"):
        with pytest.raises(
            pl.NotConvergingError, match=r"with discount 1 .* earns forever. Use a discount below 1, or a"
        ):
            pl.make_planner(title, endless).prepare()
