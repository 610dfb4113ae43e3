"""check_model finds each kind of mistake and names its place."""

import random

import numpy as np
import pytest
from problem_names import problem_names

import pomdplite as pl
from pomdplite.checking import model as checking


def findings(base=pl.Tiger, *args, compiled=False, **functions) -> str:
    """What the check says of a model with a mistake; most are run as Python, which saves compiling them."""
    report = pl.check_model(type("Broken", (base,), {**functions, "compiled": compiled})(*args))
    assert not report.ok
    with pytest.raises(pl.ModelError):
        report.raise_if_wrong()
    return str(report)


@pytest.mark.slow  # the conformance suite checks every problem, too, but lets warnings pass
@pytest.mark.parametrize("name", problem_names())
def test_the_shipped_problems_have_no_mistakes(name):
    report = pl.check_model(pl.make_model(name), states=60, calls=1500)
    assert report.ok and not report.findings and report.states > 0


def test_probabilities_that_do_not_sum_to_one():
    def observation(m, y, theta, a, z):
        if a == 0:
            z[0] = 0.5

    for compiled in (True, False):
        text = findings(observation=observation, compiled=compiled)
        assert "observation gives probabilities that sum to 0.5, not 1" in text
        assert "y = (opened=none), theta: tiger=left, action 'listen'" in text


class Walk(pl.Model):
    """Two next states; tests below make their probabilities wrong."""

    state = pl.State(place=int)
    hidden = pl.Hidden(slope=(0.2, 0.7))
    actions = ("step",)
    discount = 0.9
    next_states = 2
    sum, extra = 1.0, 0.0

    def transition(m, x, theta, a, y, p):
        y[0].place = 1
        p[0] = theta.slope + m.extra
        p[1] = m.sum - p[0]

    def reward(m, x, theta, a):
        return 0.0


def test_next_states_that_do_not_sum_to_one_or_are_negative():
    assert pl.check_model(Walk()).ok
    text = findings(Walk, sum=0.9, compiled=True)
    assert "transition gives probabilities that sum to 0.9, not 1, at x = (place=0), theta: slope=0.2" in text
    assert "transition gives the negative probability -0.2" in findings(Walk, extra=0.5)
    for wrong, words in (({"sum": 0.9}, "sum to 0.9"), ({"extra": 0.5}, "negative probability -0.2")):
        with pytest.raises(pl.ModelError, match=words):  # planning refuses it as well
            pl.PomdpLite(type("Broken", (Walk,), wrong)()).reset()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
def test_rewards_that_are_not_finite(wrong):
    def reward(m, x, theta, a):
        return m.wrong if a == 1 else 0.0

    text = findings(reward=reward, wrong=wrong, compiled=np.isnan(wrong))
    assert f"reward is {wrong} at x = (opened=none), theta: tiger=left, action 'open-left'" in text
    assert "(and 1 more like it)" in text
    with pytest.raises(pl.ModelError, match=f"reward is {wrong} at"):
        pl.PomdpLite(type("Broken", (pl.Tiger,), {"reward": reward, "wrong": wrong, "compiled": False})()).reset()


def test_random_next_states():
    def transition(m, x, theta, a, y):
        y.opened = np.random.randint(3)

    for compiled in (True, False):
        text = findings(transition=transition, compiled=compiled)
        assert "transition gives different next states for the same arguments" in text


def test_an_observation_that_never_occurs():
    def observation(m, y, theta, a, z):
        if a == 0:
            z[0] = 1.0

    report = pl.check_model(type("Odd", (pl.Tiger,), {"observation": observation})())
    assert report.ok and "warning: observation 'hear-right' has zero likelihood under every theta" in str(report)


def test_a_declared_dependence_that_is_not_true():
    def depends(m, x, a):
        return 0

    text = findings(pl.RockSample, 2, [(0, 0), (1, 1)], depends=depends, compiled=True)
    assert "depends returns rock[0] at" in text and "differs between theta: rock[0]=" in text

    def evolve(m, x, theta, a, theta_next):
        theta_next.rock[1] = 0

    assert "evolve changes rock[1] at" in findings(pl.RockSample, 2, [(0, 1), (1, 1)], evolve=evolve)


def test_a_component_that_does_not_exist():
    def depends(m, x, a):
        return 7

    assert "depends returned 7" in findings(pl.RockSample, 2, [(0, 0), (1, 1)], depends=depends)
    with pytest.raises(pl.ModelError, match="depends returned 7"):
        pl.PomdpLite(
            type("Broken", (pl.RockSample,), {"depends": depends, "compiled": False})(2, [(0, 0), (1, 1)])
        ).reset()


def test_no_legal_action():
    def legal(m, x, a):
        return False

    assert "no action is legal in x = (opened=none), which is not terminal" in findings(legal=legal)
    with pytest.raises(pl.ModelError, match="no action is legal in x = "):
        pl.PomdpLite(type("Broken", (pl.Tiger,), {"legal": legal, "compiled": False})()).reset()


def test_a_hidden_value_that_leaves_its_domain():
    def evolve(m, x, theta, a, theta_next):
        theta_next.tiger = theta.tiger + 1

    text = findings(evolve=evolve)
    assert "evolve leaves the domain of tiger at x = (opened=none), theta: tiger=right" in text
    with pytest.raises(pl.ModelError, match="evolve leaves the domain of tiger"):
        pl.PomdpLite(type("Broken", (pl.Tiger,), {"evolve": evolve, "compiled": False})()).reset()


def test_a_hidden_value_that_changes_at_random_is_not_a_pomdp_lite():
    def evolve(m, x, theta, a, theta_next):
        theta_next.tiger = random.randint(0, 1)

    text = findings(evolve=evolve)
    assert "not a POMDP-lite" in text and "changes at random" in text


def writes_to_x(m, x, theta, a, y):
    x.opened = a  # the line


def writes_to_theta(m, x, theta, a, y):
    theta.tiger = 1 - theta.tiger  # the line


def writes_to_a_parameter(m, x, theta, a, y):
    m.doors[0] = 1.0  # the line


@pytest.mark.parametrize("function", [writes_to_x, writes_to_theta, writes_to_a_parameter])
def test_writing_to_the_inputs(function):
    text = findings(transition=function, doors=np.zeros(2), compiled=True)
    assert "Broken.transition cannot be compiled" in text and "the line" in text and "it writes to" in text
    text = findings(transition=function, doors=np.zeros(2))
    assert "transition raised ValueError at x = (opened=none)" in text and "read-only" in text


def test_assigning_an_array_as_a_whole_says_how_to_write_it():
    """Compiled code would copy as many elements as the field has, however few there are."""

    def transition(m, x, theta, a, y):
        y.seen = m.short

    text = findings(
        transition=transition, state=pl.State(opened=int, seen=(float, 4)), short=np.zeros(2), compiled=True
    )
    assert "Broken.transition cannot be compiled" in text and "seen[:] = ..." in text


def test_an_exception_is_a_finding_and_not_a_crash():
    def observation(m, y, theta, a, z):
        z[5] = 1.0

    for compiled in (True, False):
        text = findings(observation=observation, compiled=compiled)
        assert "observation raised IndexError at y = (opened=none)" in text
        assert "index 5 is out of bounds for axis 0 with size 2" in text


def test_functions_that_differ_when_compiled():
    """Integers have 64 bits in compiled code, and as many as it takes in Python."""

    def reward(m, x, theta, a):
        return float(m.big * m.big)

    text = findings(reward=reward, big=2**40, compiled=True)
    assert f"reward ({2.0**80} and 0.0) differs between interpreted and compiled at x = (opened=none)" in text


def test_what_cannot_be_compiled_is_a_finding():
    def reward(m, x, theta, a):
        return float(eval("1.0"))

    assert "Broken.reward cannot be compiled" in findings(reward=reward, compiled=True)


def test_hints_that_name_illegal_actions_or_raise_are_errors():
    def preferred(m, x, h, f):
        f[:] = 1.0

    def policy(m, x, u):
        return 99 if u > 0.5 else 1

    def beyond(m, x, h, f):
        f[len(f) + 3] = 1.0

    def upper(m, x, theta):
        return np.inf

    rocks = [(0, 0), (1, 1)]
    assert "preferred names" in (text := findings(pl.RockSample, 3, rocks, preferred=preferred)) and "not legal" in text
    assert "policy returns 99, of 7 actions, at" in findings(pl.RockSample, 3, rocks, policy=policy)
    assert "preferred raised IndexError at x = (" in findings(pl.RockSample, 3, rocks, preferred=beyond)
    assert "upper is inf at x = (" in findings(pl.RockSample, 3, rocks, upper=upper)


def test_what_hints_remember_is_checked_along_histories():
    def remember(m, x, a, y, o, h):
        h.looks[m.rocks.shape[0] + (1 if a >= 5 else -1)] = 1  # beyond the last rock after a look

    assert "remember raised IndexError" in findings(pl.RockSample, 3, [(0, 0), (1, 1)], remember=remember)


class Drift(pl.Model):
    """A cart whose next position follows its unknown drift without noise."""

    state = pl.State(position=float, steps=int)
    hidden = pl.Hidden(drift=(0.125, 0.25, 0.375))
    actions = ("wait", "roll")
    discount = 0.9
    noise = 0.0
    next_states = 2

    def transition(m, x, theta, a, y, p):
        p[0] = 1.0
        for i in range(2):
            y[i].steps = x.steps + 1
            if a == 1:
                y[i].position = x.position + theta.drift + (0.125 * i if m.noise > 0.0 else 0.0)
        if m.noise > 0.0:
            p[0], p[1] = 1.0 - m.noise, m.noise

    def reward(m, x, theta, a):
        return theta.drift

    def terminal(m, x):
        return x.steps >= 2


def revealing(model):
    return [str(f) for f in pl.check_model(model).findings if f.kind == "revealing"]


def test_a_step_that_tells_theta_is_a_warning():
    (said,) = revealing(Drift())
    assert said.startswith("warning: the next state tells theta at x = (position=0.0 steps=0), action 'roll': every")
    assert "add noise to position, or round it." in said and pl.check_model(Drift()).ok
    noisy = Drift()
    noisy.noise = 0.4
    assert revealing(noisy) == []


class Label(Drift):
    """Whole numbers that follow θ."""

    state = pl.State(read=int, steps=int)
    next_states = 1

    def transition(m, x, theta, a, y):
        y.steps = x.steps + 1
        if a == 1:
            y.read = int(8 * theta.drift)


class DoorLabel(Label):
    """The same with two values of θ, as a door that opens or does not."""

    hidden = pl.Hidden(drift=(0.125, 0.25))


def test_whole_numbers_that_tell_one_of_several_values_are_told_and_a_door_is_not():
    assert "give several next states" in revealing(Label())[0] and revealing(DoorLabel()) == []


@pytest.mark.parametrize("problem", ["tiger", "rocksample-4-4", "battleship-5-2", "grasp"])
def test_the_problems_of_the_library_tell_theta_in_no_single_step(problem):
    report = pl.check_model(pl.make_model(problem), states=60, calls=1500)
    assert [f for f in report.findings if f.kind == "revealing"] == []


def test_a_missing_parameter_is_explained_alike_by_checking_and_compiling():
    class Walk(Drift):
        def reward(m, x, theta, a):
            return m.stride

    said = "m has no parameter 'stride': set it as a number or numeric array on the model (self.stride = ...)."
    (finding,) = pl.check_model(Walk()).findings
    assert said in finding.message
    with pytest.raises(pl.ModelError) as running:
        pl.evaluate(Walk(), episodes=1)
    with pytest.raises(pl.ModelError) as compiling:
        pl.initial_belief(Walk())
    assert said in str(running.value) and said in str(compiling.value)


def test_a_model_that_has_passed_is_not_checked_again(monkeypatch):
    """Neither the object nor another one with the same code and numbers."""

    def make(prize):
        def reward(m, x, theta, a):
            return m.prize * a

        return type("Bet", (pl.Tiger,), {"reward": reward, "prize": prize})()

    checked = []
    check = checking._check
    monkeypatch.setattr(checking, "_check", lambda model, *rest: checked.append(model.prize) or check(model, *rest))
    prize = float(np.random.default_rng().integers(2**50))  # a number that no earlier run of this test has checked
    first = make(prize)
    for model in (first, first, make(prize), make(prize + 1.0), make(prize + 1.0)):
        checking.check_before_planning(model)
    assert checked == [prize, prize + 1.0]
    simulated = type("Simulated", (pl.Tiger,), {"compiled": False, "prize": 0.0})
    for _ in range(2):  # may call anything, so only the object itself is known to have passed
        checking.check_before_planning(simulated())
    assert checked[2:] == [0.0, 0.0]
