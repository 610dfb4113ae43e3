"""Mistakes deep in the state space of a model: no planner may crash, hang or report a wrong number.

Every case is a corridor with one mistake at its far end. A planner that meets the mistake must name the function; one
that does not meet it must act exactly as on the healthy corridor. All mistakes are in one class, and a parameter says
which of them is made, so that they are compiled once.
"""

import inspect
import math
import textwrap

import numpy as np
import pytest

import pomdplite as pl

PLACES = 63  # of the corridor; the mistake is in the last few
STATES = 4 * 4096  # of the larger one that the check walks through


class Corridor(pl.Model):
    """Walk right past a fork that only θ knows; looking tells which way is right."""

    state = pl.State(place=int, load=float, small=np.int8, seen=(np.int8, 3))
    hidden = pl.Hidden(way=("up", "down"))
    actions = ("on", "far", "look")
    observations = ("up", "down")
    discount = 0.9
    next_states = 2
    horizon = 12
    memory = pl.State(count=int)
    deep = 60
    table = np.linspace(0.0, 1.0, 64)

    def __init__(self, places=PLACES):
        self.places, self.deep = places, places - 4
        self.table = np.linspace(0.0, 1.0, places + 1)

    def transition(m, x, theta, a, y, p):
        p[0] = 1.0
        if a == 0:
            y[0].place = min(x.place + 1, m.places)
            p[0], p[1] = 0.75, 0.25
        elif a == 1:
            y[0].place = min(2 * x.place + 8, m.places)

    def observation(m, y, theta, a, z):
        z[0] = 0.5
        if a == 2:
            z[0] = 0.8 if theta.way == 0 else 0.2
        z[1] = 1.0 - z[0]

    def reward(m, x, theta, a):
        if a == 2:
            return -0.1
        return m.table[x.place] * (1.0 if theta.way == 0 else -0.5)

    def terminal(m, x):
        return x.place >= m.places

    def legal(m, x, a):
        return a != 1 or x.place % 2 == 0

    def heuristic(m, x):
        return 0.1 * x.place / m.places

    def policy(m, x, u):
        return 0 if u < 0.9 else 2

    def upper(m, x, theta):
        return 10.0

    def preferred(m, x, h, f):
        f[0] = 1.0

    def remember(m, x, a, y, o, h):
        h.count += 1


def deep_in(name, statement):
    """A mistake at the beginning of a function."""
    return name, "first", statement


def last(name, statement):
    """A mistake at its end."""
    return name, "last", statement


# What is wrong, and a word of the message that must name it.
MISTAKES = {
    "transition reads beyond an array": (deep_in("transition", "y[0].load = m.table[x.place + 100]"), "IndexError"),
    "transition reads before an array": (deep_in("transition", "y[0].load = m.table[-x.place - 100]"), "IndexError"),
    "transition writes beyond a field": (deep_in("transition", "y[0].seen[x.place] = 1"), "IndexError"),
    "transition writes a third state": (deep_in("transition", "y[x.place].load = 1.0"), "IndexError"),
    "transition writes a third probability": (deep_in("transition", "p[x.place] = 1.0"), "IndexError"),
    "transition writes nan": (deep_in("transition", "y[0].load = math.nan"), "writes nan into y.load"),
    "transition writes inf": (deep_in("transition", "y[0].load = math.inf"), "writes inf into y.load"),
    "transition overflows a field": (deep_in("transition", "y[0].small = 100 + x.place"), "OverflowError"),
    "transition overflows an element": (deep_in("transition", "y[0].seen[1] = -100 - x.place"), "OverflowError"),
    "transition divides by zero": (deep_in("transition", "y[0].load = 1.0 / (x.small * 0)"), "by zero"),
    "transition raises": (deep_in("transition", "raise ValueError('no way')"), "no way"),
    "transition sums to 0.4": (last("transition", "p[0], p[1] = 0.2, 0.2"), "sum to 0.4"),
    "transition is negative": (last("transition", "p[0], p[1] = 1.5, -0.5"), "negative probability -0.5"),
    "transition is nan": (last("transition", "p[0] = math.nan"), "probability nan"),
    "transition gives no state": (last("transition", "p[0], p[1] = 0.0, 0.0"), "sum to 0, not 1"),
    "observation reads beyond an array": (deep_in("observation", "z[0] = m.table[y.place + 100]"), "IndexError"),
    "observation writes beyond z": (deep_in("observation", "z[y.place] = 1.0"), "IndexError"),
    "observation sums to 0.4": (last("observation", "z[0], z[1] = 0.2, 0.2"), "sum to 0.4"),
    "observation is negative": (last("observation", "z[0], z[1] = 1.5, -0.5"), "negative probability -0.5"),
    "observation is nan": (last("observation", "z[1] = math.nan"), "probability nan"),
    "reward reads beyond an array": (deep_in("reward", "return m.table[x.place + 100]"), "IndexError"),
    "reward raises": (deep_in("reward", "raise ValueError('no pay')"), "no pay"),
    "reward is nan": (deep_in("reward", "return math.nan"), "reward is nan"),
    "reward is inf": (deep_in("reward", "return -math.inf"), "reward is -inf"),
    "terminal raises": (deep_in("terminal", "raise ValueError('no end')"), "no end"),
    "terminal reads beyond an array": (deep_in("terminal", "return m.table[x.place + 9] > 0"), "IndexError"),
    "legal raises": (deep_in("legal", "raise ValueError('no law')"), "no law"),
    "legal allows nothing": (deep_in("legal", "return False"), "no action is legal"),
    "heuristic is nan": (deep_in("heuristic", "return math.nan"), "heuristic is nan"),
    "heuristic raises": (deep_in("heuristic", "return m.table[x.place + 100]"), "IndexError"),
    "policy returns no action": (deep_in("policy", "return 99"), "policy returns 99"),
    "policy returns -1": (deep_in("policy", "return -1"), "policy returns -1"),
    "upper is inf": (deep_in("upper", "return math.inf"), "upper is inf"),
    "preferred writes beyond f": (deep_in("preferred", "f[x.place] = 1.0"), "IndexError"),
    "remember raises": (deep_in("remember", "raise ValueError('no memory')"), "no memory"),
}
HINTS = ("heuristic", "policy", "upper", "preferred", "remember")

PLANNERS = {
    "exact": lambda model: pl.PomdpLite(model, beta=1.0, solver="exact"),
    "uct": lambda model: pl.PomdpLite(model, beta=1.0, solver="uct", sims=300),
    "pomcp": lambda model: pl.Pomcp(model, sims=300),
    "despot": lambda model: pl.Despot(model, sims=5, scenarios=50),
    "qmdp": lambda model: pl.Qmdp(model),
    "sarsop": lambda model: pl.Sarsop(model, solve_trials=20),
    "pomdp-lite-plus": lambda model: pl.PomdpLitePlus(model, solve_trials=20, sims=20),
    "bayes-optimal": lambda model: pl.BayesOptimal(model, search_depth=4),
}


def with_mistakes(name):
    """The corridor's function with all mistakes in it: number m.mistake is made near the end of the corridor."""
    state = "y" if name == "observation" else "x"
    wrong = {"first": [], "last": []}
    for number, ((function, place, statement), _) in enumerate(MISTAKES.values()):
        if function == name:
            wrong[place].append(f"    if m.mistake == {number} and {state}.place >= m.deep:\n        {statement}\n")
    head, body = textwrap.dedent(inspect.getsource(getattr(Corridor, name))).split("\n", 1)
    scope = {"math": math}
    exec(f"{head}\n{''.join(wrong['first'])}{body}{''.join(wrong['last'])}", scope)  # noqa: S102  the test's own text
    return scope[name]


NAMES = list(MISTAKES)
Broken = type("Broken", (Corridor,), {name: with_mistakes(name) for name in {m[0][0] for m in MISTAKES.values()}})
Slow = type("Slow", (Broken,), {"compiled": False})


def broken(mistake, places=PLACES, kind=Broken):
    """The corridor with one of the mistakes, or with none."""
    model = kind(places)
    model.mistake = NAMES.index(mistake) if mistake else -1
    return model


def episode(model, planner):
    """The rewards and states of one episode in the healthy corridor, planned with a model."""
    world = pl.ModelWorld(broken(None))
    world.reset(3, 0)
    found = PLANNERS[planner](model)
    found.reset(3)
    steps = []
    for _ in range(6):
        decision = found.decide()
        result = world.step(decision.action)
        steps.append((decision.action, result.reward, int(result.y.place)))
        if result.terminated:
            break
        found.update(decision.action, result.y, result.o)
    return steps


@pytest.fixture(scope="module")
def healthy():
    return {}


def named_or_unmet(healthy, mistake, planner, kind=Broken):
    """True if the planner names the mistake, False if it does not meet it and acts as if it were not there."""
    if planner not in healthy:
        healthy[planner] = episode(broken(None), planner)
    try:
        played = episode(broken(mistake, kind=kind), planner)
    except pl.ModelError as error:
        assert MISTAKES[mistake][1] in str(error), error
        return True
    assert played == healthy[planner]
    return False


@pytest.mark.parametrize("planner", PLANNERS)
def test_a_planner_names_the_mistake_or_does_not_meet_it(healthy, planner, monkeypatch):
    """Without the check before planning, which would find most of these first."""
    monkeypatch.setattr("pomdplite.planners.base.check_before_planning", lambda model: None)
    met = [mistake for mistake in MISTAKES if named_or_unmet(healthy, mistake, planner)]
    print(f"{planner}: {len(met)} of {len(MISTAKES)} mistakes named, the others not met")
    functions = {mistake.split()[0] for mistake in met}
    assert {"transition", "observation", "reward", "terminal", "legal"} <= functions


def test_interpreted_models_name_the_same_mistakes(healthy, monkeypatch):
    monkeypatch.setattr("pomdplite.planners.base.check_before_planning", lambda model: None)
    for mistake in MISTAKES:
        if not mistake.startswith(HINTS):
            assert named_or_unmet(healthy, mistake, "exact", Slow), mistake


def test_the_check_finds_every_mistake_at_the_far_end_of_a_large_state_space():
    """Deeper than anybody would look by hand: only the last few of thousands of states are at fault."""
    healthy = pl.check_model(broken(None, STATES))
    assert healthy.ok and healthy.complete and healthy.states > STATES - 4, healthy
    for mistake, (_, words) in MISTAKES.items():
        if mistake.startswith(HINTS):
            continue
        report = pl.check_model(broken(mistake, STATES))
        assert not report.ok and words in str(report), (mistake, str(report))


def test_bounds_checking_can_be_switched_off_but_not_silently(caplog):
    with caplog.at_level("WARNING", "pomdplite"):
        assert type("Trusted", (pl.Tiger,), {"bounds_check": False})().compiled_form.functions
    assert "Trusted: bounds checking is off" in caplog.text
