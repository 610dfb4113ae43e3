"""Time and memory are kept: planners stay within what they are given, or refuse in one sentence.

The clocks here advance by a fixed amount for each call of a model function, or whenever they are read, so no test
depends on the speed of the machine.
"""

import itertools
import re
import tracemalloc

import numpy as np
import pytest
from problem_names import PLANNERS_OF_LISTED_MODELS
from typer.testing import CliRunner

import pomdplite as pl
from pomdplite.cli.main import app
from pomdplite.mdp import memory
from pomdplite.mdp.budget import CLOCKS, Budget, Deadline
from pomdplite.mdp.reachable import build

CALL = 20e-6  # seconds that a call of a Python function takes, about
LOOK = 200e-6  # seconds between two looks at the clock, at least
SEARCHING = ("pomdp-lite", "pomdp-lite-plus", "mean-mdp", "pomcp", "pomcp-exact", "pomcpow", "pft-dpw", "despot")


class CallClock:
    """Advances by a fixed time for each call of a model function, and for each look at it: some searches call none."""

    def __init__(self) -> None:
        self.calls = self.looks = 0

    def __call__(self) -> float:
        self.looks += 1
        return CALL * self.calls + LOOK * self.looks


CLOCK = CallClock()


class Wide(pl.Model):
    """A ring of places, with as many actions, observations and hidden values as asked for."""

    state = pl.State(place=np.int64)
    compiled = False
    discount = 0.95
    horizon = 40

    def __init__(self, actions: int = 3, observations: int = 2, thetas: int = 2, places: int = 4) -> None:
        self.hidden = pl.Hidden(goal=tuple(f"g{i}" for i in range(thetas)))
        self.actions = tuple(f"a{i}" for i in range(actions))
        self.observations = tuple(f"o{i}" for i in range(observations))
        self.places, self.thetas, self.seen = places, thetas, observations

    def transition(m, x, theta, a, y):
        CLOCK.calls += 1
        y.place = (x.place + 1 + a) % m.places

    def observation(m, y, theta, a, z):
        CLOCK.calls += 1
        z[:] = 0.5 / m.seen
        z[(theta.goal + a) % m.seen] += 0.5

    def reward(m, x, theta, a):
        CLOCK.calls += 1
        return 1.0 if (x.place + a) % m.thetas == theta.goal else -0.01 * a


WIDE = {
    "500 actions": {"actions": 500},
    "500 observations": {"observations": 500},
    "5,000 values of θ": {"thetas": 5000},
    "small": {},
}


@pytest.fixture
def clock(monkeypatch):
    CLOCK.calls = CLOCK.looks = 0
    monkeypatch.setitem(CLOCKS, "wall", CLOCK)
    return CLOCK


def within(seconds: float) -> float:
    """What a budget of so many seconds may take."""
    return 1.1 * seconds + 0.02


FAST = {*itertools.product(PLANNERS_OF_LISTED_MODELS, ("500 observations", "small")), ("pomcp", "500 actions")}
EVERY = [
    pytest.param(name, case, marks=() if (name, case) in FAST else pytest.mark.slow)
    for name, case in itertools.product(PLANNERS_OF_LISTED_MODELS, WIDE)
]


@pytest.mark.parametrize(("name", "case"), EVERY)
def test_every_planner_keeps_its_budget_or_refuses(name, case, clock):
    step, solve_time = 0.1, 2.0
    budget = {"time": step} if name in SEARCHING else {}
    model = Wide(**WIDE[case])
    planner = pl.make_planner(name, model, solve_time=solve_time, **budget)
    started = clock()
    try:
        planner.prepare()
    except pl.TooLargeError as error:
        assert case != "small" and re.search(r"takes (longer than )?.* s", str(error)), error
        assert clock() - started <= within(solve_time) + len(model.actions) * 0.001
        return
    assert clock() - started <= within(solve_time) + len(model.actions) * 0.001  # checking the model comes on top
    world = pl.ModelWorld(model)
    world.reset(0)
    planner.reset(0)
    for _ in range(4):
        before = clock()
        action = planner.decide().action
        decided = clock() - before
        result = world.step(action)
        before = clock()
        planner.update(action, result.y, result.o)
        if budget:
            assert decided + clock() - before <= within(step)


@pytest.mark.parametrize("name", ["pomcp", "pomcp-exact", "pomdp-lite"])
def test_updates_are_part_of_a_steps_time(name, clock):
    """Particles are simulated and moved along a growing history: 0.3 s with 1,000 of them after thirty steps."""
    model = Wide(thetas=50)
    planner = pl.make_planner(name, model, time=0.02)
    world = pl.ModelWorld(model)
    planner.reset(0)
    world.reset(0)
    for _ in range(30):
        before = clock()
        action = planner.decide().action
        result = world.step(action)
        planner.update(action, result.y, result.o)
        assert clock() - before <= within(0.02)


def test_an_update_without_a_time_limit_uses_every_particle(clock):
    belief = pl.RejectionBelief(Wide(thetas=50), particles=200)
    belief.update({"place": 0}, 0, {"place": 1}, 0)
    in_time = pl.RejectionBelief(Wide(thetas=50), particles=200)
    in_time.update_budget = Budget(1000.0)
    in_time.update({"place": 0}, 0, {"place": 1}, 0)
    assert belief.draws.tolist() == in_time.draws.tolist()
    before = clock()
    in_time.update_budget = Budget(0.002)
    in_time.update({"place": 1}, 0, {"place": 2}, 1)
    assert clock() - before < 0.004 and len(np.unique(in_time.draws)) < len(np.unique(belief.draws))


def test_a_belief_that_is_not_recovered_in_time_stays_as_it_was(clock):
    class Certain(Wide):
        def observation(m, y, theta, a, z):
            CLOCK.calls += 1
            z[theta.goal % m.seen] = 1.0

    belief = pl.RejectionBelief(Certain(thetas=1000, observations=1000), particles=50)
    belief.update_budget = Budget(1e-4)
    before = belief.draws.copy()
    missing = next(v for v in range(1000) if v not in before)
    belief.update({"place": 0}, 0, {"place": 1}, missing)
    assert belief.draws.tolist() == before.tolist()
    assert "within the time of an update" in belief.notes[0]


class Tickets(pl.Model):
    """Buy one of many lottery tickets: an optimum over few scenarios buys one that happens to win in them."""

    state = pl.State(at=("shop", "won", "lost", "over"))
    hidden = pl.Hidden(weather=("dry", "wet"))
    actions = tuple(f"ticket {i}" for i in range(4))
    observations = ()
    compiled = False
    discount = 0.95
    next_states = 2

    def transition(m, x, theta, a, y, p):
        CLOCK.calls += 1
        if x.at == 0:
            y[0].at, y[1].at = 1, 2
            p[0], p[1] = 0.002, 0.998
        else:
            y[0].at = 3
            p[0] = 1.0

    def reward(m, x, theta, a):
        CLOCK.calls += 1
        return 1000.0 if x.at == 1 else -0.01 * a

    def terminal(m, x):
        return x.at == 3


def test_despot_spends_the_time_that_is_left_on_more_scenarios(clock):
    planner = pl.Despot(Tickets(), time=1.2)
    planner.reset(1)
    before = clock()
    decision = planner.decide()
    took = clock() - before
    scenarios = int(re.search(r"bounds estimated on (\d+) scenarios", decision.solution.solver)[1])
    assert scenarios >= 1000 and 0.5 < took <= within(1.2)
    planner.update(decision.action, {"at": "lost"}, None)
    planner.decide()


def test_despot_with_a_number_of_scenarios_keeps_it(clock):
    for budget in ({"time": 1.0, "scenarios": 100}, {"sims": 50, "scenarios": 100}):
        planner = pl.Despot(Tickets(), **budget)
        planner.reset(1)
        assert planner.decide().solution.solver.endswith("on 100 scenarios")


@pytest.mark.parametrize("name", ["qmdp", "bayes-optimal", "pomdp-lite", "despot"])
def test_preparing_ends_when_its_time_is_over(name, monkeypatch):
    """On a clock that advances by a second whenever it is read: kernels that call no model function are timed, too."""
    readings = itertools.count()
    monkeypatch.setitem(CLOCKS, "wall", lambda: float(next(readings)))
    options = {"solver": "exact"} if name == "pomdp-lite" else {}
    with pytest.raises(pl.TooLargeError, match=r"takes longer than the 5 s allowed: allow more with solve_time"):
        pl.make_planner(name, pl.make_model("rocksample-4-4"), solve_time=5.0, **options).prepare()
    assert next(readings) < 40


def test_sarsop_solves_within_its_time_with_all_that_precedes(monkeypatch):
    readings = itertools.count()
    monkeypatch.setitem(CLOCKS, "wall", lambda: 0.001 * next(readings))
    planner = pl.Sarsop(pl.make_model("rocksample-4-4"), solve_time=2.0, precision=1e-9)
    planner.prepare()
    assert 0.5 < planner._deadline.elapsed <= within(2.0) and planner.bounds[0] < planner.bounds[1]


def test_compiling_does_not_count_towards_preparing(monkeypatch):
    from numba.core import event

    deadline, seconds = Deadline(10.0), [0.0]
    monkeypatch.setitem(CLOCKS, "wall", lambda: seconds[0])
    deadline = Deadline(10.0)
    with event.trigger_event("numba:compile"), event.trigger_event("numba:compile"):
        seconds[0] += 100.0
    seconds[0] += 4.0
    assert deadline.elapsed == 4.0 and deadline.left == 6.0


def test_sarsop_decides_by_its_vectors_where_looking_ahead_would_take_long(monkeypatch):
    """The vectors' own actions: as good as the lower bound promises."""
    model = pl.make_model("rocksample-4-4")
    planner = pl.Sarsop(model, solve_trials=60)
    planner.reset()
    ahead = planner.decide()
    monkeypatch.setattr("pomdplite.planners.sarsop.planner.LONGEST_LOOK", 0.0)
    again = pl.Sarsop(model, solve_trials=60)
    again.reset()
    decision = again.decide()
    assert decision.value == pytest.approx(again.bounds[0]) and decision.value <= ahead.value + 1e-9
    assert decision.bounds[1] >= ahead.bounds[1] - 1e-9
    np.testing.assert_allclose(decision.solution.mean_reward, ahead.solution.mean_reward)
    result = pl.evaluate(model, again, episodes=300, seed=1)
    assert result.mean > again.bounds[0] - 3 * result.stderr


class Heavy(pl.Model):
    """A counter in a state of eight kilobytes."""

    state = pl.State(count=np.int64, ballast=(np.int64, 1000))
    hidden = pl.Hidden(sign=("plus", "minus"))
    actions = ("up", "twice")
    observations = ()
    compiled = False
    discount = 0.95
    horizon = 20

    def transition(m, x, theta, a, y):
        y.count = x.count + 1 + a

    def reward(m, x, theta, a):
        return 1.0 if theta.sign == a else 0.0


LISTING = {"qmdp": {}, "sarsop": {}, "bayes-optimal": {}, "pomdp-lite": {"solver": "exact"}}


@pytest.mark.parametrize("name", LISTING)
def test_a_graph_that_outgrows_the_memory_is_refused(name, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "20MB")
    with pytest.raises(
        pl.TooLargeError, match=r"would need .* MB of memory, and the limit is 20 MB: use .*POMDPLITE_MEM"
    ):
        pl.make_planner(name, Heavy(), **LISTING[name]).prepare()


def test_a_growing_graph_stays_below_the_limit(monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "20MB")
    view = Heavy().compiled_form.kernel_view()
    tracemalloc.start()
    try:
        with pytest.raises(pl.TooLargeError, match="the limit is 20 MB"):
            build(view, view.root())
        assert 8e6 < tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["pomcp", "pomcp-exact", "despot", "pomdp-lite", "mean-mdp"])
def test_a_search_gets_as_much_room_as_there_is_memory(name, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "60MB")
    budget = {"sims": 3, "scenarios": 5} if name == "despot" else {"sims": 20}
    if name in ("pomdp-lite", "mean-mdp"):
        budget["solver"] = "uct"
    planner = pl.make_planner(name, Heavy(), **budget)
    planner.reset()
    planner.decide()
    held = [part for part in vars(planner).values() if isinstance(part, tuple)]
    solver = getattr(planner, "solver", None)
    assert 30e6 < memory.size(*held, *vars(solver).values() if solver else ()) < 61e6
    monkeypatch.setenv(memory.VARIABLE, "4MB")
    with pytest.raises(pl.TooLargeError, match="the limit is 4 MB"):
        pl.make_planner(name, Heavy(), **budget).prepare()


def test_the_room_for_what_may_follow_an_action_is_limited(monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "10MB")
    with pytest.raises(pl.TooLargeError, match=r"next states × 500 observations × 5,000 values of θ\) would need"):
        pl.initial_belief(Wide(thetas=5000, observations=500))


def test_memory_refused_by_the_system_is_explained(monkeypatch):
    def refuse(self):
        raise MemoryError

    monkeypatch.setattr(pl.Qmdp, "_prepare", refuse)
    with pytest.raises(pl.TooLargeError, match="the system refused more memory"):
        pl.Qmdp(pl.Tiger()).prepare()


@pytest.mark.parametrize(
    ("text", "count"), [("4GB", 4e9), ("800 MB", 8e8), ("1.5g", 1.5e9), ("2e9", 2e9), ("123", 123), ("7 kb", 7000)]
)
def test_the_limit_is_given_with_a_unit(text, count, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, text)
    assert memory.limit() == count


@pytest.mark.parametrize("text", ["", "much", "-1GB", "0", "1.2.3GB", "4 PB"])
def test_a_limit_that_is_no_amount_is_refused(text, monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, text)
    with pytest.raises(pl.UsageError, match="POMDPLITE_MEMORY must be"):
        memory.limit()


def test_the_default_is_half_of_what_is_available_and_processes_share_it(monkeypatch):
    monkeypatch.delenv(memory.VARIABLE, raising=False)
    monkeypatch.setattr(memory, "_machine", lambda: [8_000_000_000])
    monkeypatch.setattr(memory, "_container", lambda: [6_000_000_000])
    monkeypatch.setattr(memory, "_address_space", list)
    memory._default_limit.cache_clear()
    try:
        assert memory.limit() == 3_000_000_000
        monkeypatch.setenv(memory.VARIABLE, "3GB")
        memory.share(3)
        assert memory.limit() == 1_000_000_000
    finally:
        memory._default_limit.cache_clear()


def test_a_batch_that_would_end_late_is_not_begun(clock):
    """Simulations of 70 ms in a budget of 100 ms: the second would end at 140 ms."""
    search, done = Budget(0.1).start(), 0
    while (count := search.portion(done)) > 0:
        done += count
        clock.calls += round(0.07 * count / CALL)
    assert done == 1 and clock() <= within(0.1)


def test_show_and_run_name_the_budgets(monkeypatch):
    monkeypatch.setenv(memory.VARIABLE, "3GB")
    shown = CliRunner().invoke(app, ["show", "tiger"]).output
    assert "0.1 s per step (--time), 300 s to prepare" in shown and "3 GB (POMDPLITE_MEMORY)" in shown
    done = CliRunner().invoke(app, ["run", "tiger", "--planner", "pomcp", "--time", "0.01", "-n", "1"]).output
    assert "; 0.01 s per step; memory limit 3 GB (POMDPLITE_MEMORY)" in done
