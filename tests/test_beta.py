"""β chosen for a model: what it earns, on which grounds, and that it is chosen only once."""

import json
import pickle

import numpy as np
import pytest
from distributed_models import EveryKind
from known_values import TIGER_LEAD_VALUE
from test_said import command

import pomdplite as pl
from pomdplite.mdp.budget import CLOCKS, NO_DEADLINE
from pomdplite.planners import beta as choice
from pomdplite.planners import race
from pomdplite.planners.beta import share_of_rewards
from pomdplite.planners.raced_policies import SolvedPolicy


class Doors(pl.Tiger):
    """One-shot Tiger without a β of its own."""

    beta = None


class Crossing(pl.Model):
    """A driver at a crossing: edging forward shows, with errors, whether the other car gives way."""

    state = pl.State(gone=bool)
    hidden = pl.Hidden(other=("gives way", "drives on"))
    actions = ("wait", "edge forward", "go")
    observations = ("slows", "keeps speed")
    discount = 0.95
    horizon = 40

    def transition(m, x, theta, a, y):
        y.gone = a == 2

    def observation(m, y, theta, a, z):
        if a == 1:
            z[0] = 0.8 if theta.other == 0 else 0.25
            z[1] = 1.0 - z[0]

    def reward(m, x, theta, a):
        if a == 2:
            return 5.0 if theta.other == 0 else -200.0
        return -0.1

    def terminal(m, x):
        return x.gone


class Patrol(pl.Model):
    """An intruder in one of four rooms on a ring: listen, walk on, or arrest someone in this room."""

    state = pl.State(room=int, over=bool)
    hidden = pl.Hidden(room=(0, 1, 2, 3))
    actions = ("listen", "walk on", "arrest")
    observations = ("noise", "silence")
    discount = 0.95

    def transition(m, x, theta, a, y):
        if a == 1:
            y.room = (x.room + 1) % 4
        y.over = a == 2

    def observation(m, y, theta, a, z):
        if a == 0:
            z[0] = 0.75 if theta.room == y.room else 0.2
            z[1] = 1.0 - z[0]

    def reward(m, x, theta, a):
        if a == 2:
            return 10.0 if theta.room == x.room else -5.0
        return -0.2

    def terminal(m, x):
        return x.over


class Lift(pl.Model):
    """An unknown mass: too little force drops it, too much damages it; a tug tells roughly how heavy it is."""

    state = pl.State(over=bool)
    hidden = pl.Hidden(mass=(1, 2, 3, 4))
    actions = ("tug", "force 1", "force 2", "force 3", "force 4")
    observations = ("light", "heavy")
    discount = 0.95

    def transition(m, x, theta, a, y):
        y.over = a > 0

    def observation(m, y, theta, a, z):
        if a == 0:
            z[1] = 0.2 * theta.mass
            z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        if a == 0:
            return -0.05
        return 5.0 - 2.0 * (a - theta.mass) if a >= theta.mass else -50.0

    def terminal(m, x):
        return x.over


class LoosePopulation(Lift):
    """The same masses, drawn instead of listed."""

    hidden = pl.Population(mass=float)

    def prior(m, theta, random):
        theta.mass = 1.0 + int(4.0 * pl.uniform(random))

    def move(m, x, theta, random):
        return False


class EqualRewards(pl.Model):
    """Every step costs 1. A door in one of two rooms is open; the map on the wall, one step away, says in which."""

    state = pl.State(place=("start", "map", "left", "right"), out=bool)
    hidden = pl.Hidden(open=("left", "right"))
    actions = ("map", "left", "right", "push")
    observations = ("it is left", "it is right")
    discount = 0.95
    horizon = 60

    def __init__(self, told=0.95):
        self.told = told

    def transition(m, x, theta, a, y):
        if a == 0:
            y.place = 1
        elif a < 3:
            # Each room can only be reached from the start and the map; the way back leads over the start.
            y.place = a + 1 if x.place < 2 else 0
        else:
            y.out = x.place == theta.open + 2

    def observation(m, y, theta, a, z):
        if a == 0 and y.place == 1:
            z[theta.open] = m.told
            z[1 - theta.open] = 1.0 - m.told

    def reward(m, x, theta, a):
        return -1.0

    def terminal(m, x):
        return x.out


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of choices for this test alone."""
    monkeypatch.setattr(choice, "cache_folder", lambda: tmp_path)
    return tmp_path


def prepared(model, **parameters):
    planner = pl.PomdpLite(model, **parameters)
    planner.prepare()
    return planner


def no_race(*_):
    raise AssertionError("a race")


def test_on_tiger_the_chosen_beta_listens_as_the_optimal_policy_does(folder):
    planner = prepared(Doors())
    assert "chosen from 12 in" in planner.choices[0]
    assert pl.evaluate(Doors(), planner.title, 300, 9, beta=planner.beta).returns.tolist() == (
        pl.evaluate(Doors(), "bayes-optimal", 300, 9).returns.tolist()
    )


def test_returns_of_the_race_have_the_known_mean():
    planner = prepared(Doors(), beta=0.0)
    episodes = race.Episodes(planner.belief)
    for beta, lead in ((5.0, 2), (30.0, 3), (100.0, 4)):
        candidate = race.Candidate(beta, SolvedPolicy(planner.solver, beta, NO_DEADLINE))
        for episode in range(800):
            episodes.play(candidate, episode)
        error = np.std(candidate.returns) / 800**0.5
        assert abs(candidate.mean - TIGER_LEAD_VALUE[lead]) < 3.5 * error < 0.4


@pytest.mark.parametrize(
    ("model", "gain"),
    [
        pytest.param(Crossing, 0.0, marks=pytest.mark.slow), (Patrol, 0.5), pytest.param(Lift, 1.0, marks=pytest.mark.slow)
    ],
)  # fmt: skip
def test_auto_earns_at_least_what_a_share_of_the_rewards_earns(model, gain, folder):
    planner = prepared(model())
    share = share_of_rewards(planner.view, NO_DEADLINE).value
    chosen, before = (pl.evaluate(model(), episodes=1000, seed=77, beta=beta) for beta in (planner.beta, share))
    assert chosen.difference(before).mean >= gain


def test_the_same_beta_is_chosen_again_and_with_any_clock(monkeypatch, folder):
    monkeypatch.setattr(choice, "cache_folder", lambda: None)
    first = prepared(Patrol()).beta
    slow = pl.PomdpLite(Patrol())
    slow.now = iter(range(0, 10**9, 100)).__next__
    slow.prepare()
    assert slow.beta == first > 0


def test_a_choice_is_remembered_with_what_it_depends_on(monkeypatch, folder):
    chosen = prepared(Lift())
    with monkeypatch.context() as patched:
        patched.setattr(choice, "race", no_race)
        again = prepared(Lift(), beta="auto")
        assert again.beta == chosen.beta and again.choices[0].endswith("chosen from 11, remembered")
        for changed in ({"discount": 0.9}, {"horizon": 7}):
            with pytest.raises(AssertionError, match="a race"):
                prepared(type("Changed", (Lift,), changed)())
        with pytest.raises(AssertionError, match="a race"):
            prepared(Lift(), solver="uct", sims=10)
    (file,) = folder.glob("beta_*.json")
    file.write_text('{"beta": ')
    assert prepared(Lift()).beta == chosen.beta and json.loads(file.read_text())["beta"] == chosen.beta


def test_without_a_folder_a_choice_is_not_remembered(monkeypatch):
    monkeypatch.setattr(choice, "cache_folder", lambda: None)
    assert "remembered" not in prepared(Lift()).choices[0] + prepared(Lift()).choices[0]


def test_with_equal_rewards_beta_is_positive_if_information_matters(folder):
    """A share of the range of rewards would be 0."""
    useful, useless = prepared(EqualRewards()), prepared(EqualRewards(told=0.5))
    assert useful.beta > 0 and useless.beta == 0
    assert useless.choices[0].endswith("; exploring earns no more")
    evaluations = [pl.evaluate(EqualRewards(), episodes=300, seed=5, beta=beta) for beta in (useful.beta, 0.0)]
    assert evaluations[0].mean > evaluations[1].mean + 0.1


def test_if_the_hidden_value_does_not_matter_beta_is_0_without_a_race(monkeypatch, folder):
    monkeypatch.setattr(choice, "race", no_race)
    planner = prepared(pl.tabular([[[[1.0]], [[1.0]]]], [[[0.0], [4.0]]], discount=0.9))
    assert planner.choices[0] == "β = 0: knowing the hidden value would earn no more"


def test_without_discount_and_horizon_a_beta_that_pays_forever_is_not_chosen(folder):
    model = Doors(discount=1.0)
    with pytest.raises(pl.NotConvergingError):
        prepared(model, beta=30.0)
    assert prepared(model).beta == 0


def test_without_discount_a_horizon_makes_exploring_worth_something(folder):
    """β = 0 opens a door at once, which loses 45 on average."""
    model = type("Undiscounted", (Doors,), {"horizon": 100})(discount=1.0)
    chosen, blind = pl.evaluate(model, episodes=300, seed=4), pl.evaluate(model, "mean-mdp", episodes=300, seed=4)
    assert prepared(model).beta > 0 and chosen.mean > 3 and blind.mean < -20


def test_a_race_that_runs_out_of_work_falls_back_on_the_rewards_and_says_so(monkeypatch, folder):
    monkeypatch.setattr(choice, "WORK", 1_000_000)
    words = "β = 5.5: 5% of the range of rewards, -100 to 10 (episodes of this model take too long for a choice)"
    assert prepared(Doors()).choices[0] == prepared(Doors()).choices[0] == words


def test_a_race_keeps_to_solve_time_and_says_so(monkeypatch, folder):
    seconds = iter(range(10**9))
    monkeypatch.setitem(CLOCKS, "wall", lambda: float(next(seconds)))
    planner = prepared(Doors(), solve_time=40)
    said = "β = 5.5: 5% of the range of rewards, -100 to 10 (a choice takes longer than the 40 s of solve_time)"
    assert planner.choices[0] == said and not list(folder.glob("beta_*"))


def test_a_race_that_solve_time_ends_has_a_winner_which_is_not_remembered(monkeypatch, folder):
    """After eight episodes each the leader counts: it earns more than 5% of the range of rewards, 5.5."""
    seconds = iter(range(10**9))
    with monkeypatch.context() as patched:
        patched.setitem(CLOCKS, "wall", lambda: float(next(seconds)))
        planner = prepared(Doors(), solve_time=600)
    said = planner.choices[0]
    assert "chosen from " in said and said.endswith(" s, all that solve_time allows")
    assert not list(folder.glob("beta_*"))
    hurried, share = (pl.evaluate(Doors(), episodes=500, seed=3, beta=beta).mean for beta in (planner.beta, 5.5))
    assert hurried > share


def test_a_model_that_is_searched_is_raced_with_short_searches(monkeypatch, folder):
    monkeypatch.setattr(choice, "WORK", 300_000_000)
    planner = prepared(Lift(), solver="uct", sims=200)
    assert planner.choices == (planner.choices[0], "200 simulations per step") and "chosen from" in planner.choices[0]
    share = share_of_rewards(planner.view, NO_DEADLINE).value
    chosen, before = (
        pl.evaluate(Lift(), episodes=100, seed=3, solver="uct", sims=200, beta=beta) for beta in (planner.beta, share)
    )
    assert chosen.mean > before.mean


def test_particles_are_raced_too(monkeypatch, folder):
    monkeypatch.setattr(choice, "WORK", 500_000_000)
    few = {"particles": 200}
    planner = prepared(LoosePopulation(), **few)
    assert "chosen from" in planner.choices[0] and prepared(LoosePopulation(), **few).choices[0].endswith("remembered")
    share = share_of_rewards(planner.view, NO_DEADLINE).value
    chosen, before = (
        pl.evaluate(LoosePopulation(), episodes=100, seed=3, beta=beta, **few) for beta in (planner.beta, share)
    )
    assert chosen.mean > before.mean + 1


class Tank(pl.Model):
    """Fill a leaking tank and stop at the mark. Every reading tells something, and hardly anything about the leak."""

    state = pl.State(full=bool)
    hidden = pl.Hidden(level=pl.Uniform(0.0, 1.0), leak=pl.Uniform(0.0, 0.2))
    actions = ("open", "closed", "measure", "stop")
    observations = pl.Reading(gauge=float)
    discount = 0.98
    horizon = 40

    def transition(m, x, theta, a, y):
        y.full = a == 3

    def evolve(m, x, theta, a, theta_next):
        theta_next.level = min(2.0, max(0.0, theta.level + (0.15 if a == 0 else 0.0) - 0.2 * theta.leak))

    def observation(m, y, theta, a, z, sd):
        z.gauge = theta.level
        sd.gauge = 0.02 if a == 2 else 0.3

    def reward(m, x, theta, a):
        return 10.0 - 20.0 * abs(theta.level - 1.0) if a == 3 else -0.1

    def terminal(m, x):
        return x.full


def test_where_a_share_of_the_rewards_would_explore_for_ever_less_is_chosen(monkeypatch):
    monkeypatch.setattr(choice, "cache_folder", lambda: None)
    planner = prepared(Tank())
    share = share_of_rewards(planner.view, NO_DEADLINE).value
    assert "chosen from 5" in planner.choices[0] and 0 < planner.beta < 0.5 * share
    chosen, before = (
        pl.evaluate(Tank(), episodes=8, seed=3, beta=beta, sims=100).mean for beta in (planner.beta, share)
    )
    assert chosen > before + 3


def test_a_race_with_drawn_outcomes_that_cannot_end_in_time_is_not_begun(monkeypatch):
    monkeypatch.setattr(choice, "cache_folder", lambda: None)
    monkeypatch.setattr(choice, "REAL_WORK_AT_MOST", 400_000_000)
    monkeypatch.setattr(choice, "race", no_race)
    assert "take too long for a choice" in prepared(Tank()).choices[0]


class Priced:
    """Episodes whose returns and work depend on β alone, but for a little noise."""

    hurried = False

    def __init__(self, left, returns, work):
        self.left, self._returns, self._work = left, returns, work

    def play(self, candidate, episode):
        self.left -= self._work[candidate.beta]
        if self.left < 0:
            raise race.OutOfWorkError
        candidate.returns.append(self._returns[candidate.beta] + 0.01 * ((3 * episode + int(candidate.beta)) % 5))


@pytest.mark.parametrize(("left", "played"), [(1000, 8), (200, 4)])
def test_candidates_that_cost_much_and_earn_little_leave_early_where_work_is_scarce(left, played):
    """Eight episodes with each would cost 336."""
    candidates = [race.Candidate(beta, None) for beta in (0.0, 1.0, 7.0, 8.0)]
    episodes = Priced(left, {0.0: 5.0, 1.0: 6.0, 7.0: -3.0, 8.0: -4.0}, {0.0: 1, 1.0: 1, 7.0: 20, 8.0: 20})
    assert race.race(episodes, candidates)[0] is candidates[1]
    assert len(candidates[1].returns) >= 8 and min(len(c.returns) for c in candidates[2:]) >= played
    assert (len(candidates[3].returns) == 4) == (left == 200)


def test_the_work_of_a_race_counts_how_particles_are_moved():
    belief = pl.initial_belief(EveryKind())
    episodes, x = race.Episodes(belief, 10**9), np.zeros(1, np.uint64)
    readings = np.array([0.3, 0.5, 0.2]).view(np.uint64)
    for words in readings:
        left = episodes.left
        episodes._catch_up([(x, 0, np.array([0, words], np.uint64), 0)])
        assert left - episodes.left > race._TERM * belief.terms > race._TERM * belief.count


def test_workers_get_the_chosen_beta_with_its_origin(monkeypatch):
    monkeypatch.setattr(choice, "cache_folder", lambda: None)
    planner = prepared(Lift())
    monkeypatch.setattr(choice, "race", no_race)
    sent = pickle.loads(pickle.dumps(planner))
    sent.prepare()
    assert sent.choices == planner.choices and sent.beta == planner.beta
    own = pickle.loads(pickle.dumps(pl.PomdpLite(pl.Tiger())))
    assert str(own.chosen_beta) == "30: the problem's own"


def test_a_given_beta_and_a_problems_own_are_not_raced(monkeypatch):
    monkeypatch.setattr(choice, "race", no_race)
    assert prepared(pl.Tiger()).beta == 30.0 and prepared(Doors(), beta=2).beta == 2


def test_auto_is_accepted_wherever_beta_is(monkeypatch, capsys, tmp_path):
    ran = command(monkeypatch, capsys, "run", "tiger", "--beta", "auto", "-n", 5)
    assert "β = 38.6: chosen from 12" in ran and " 38.6 " in ran.split("β = ")[0]
    assert "β = 38.6: chosen from 12, remembered" in command(
        monkeypatch, capsys, "run", "tiger", "-o", "beta=auto", "-n", 5
    )
    study = pl.Study("doors", ["tiger"], ["pomdp-lite"], episodes=5, options={"beta": ["auto", 2]})
    table = pl.tables(study.run(tmp_path / "study.db"))
    assert "auto" in str(table)
    tuned = pl.tune("tiger", params={"beta": ["auto", 0.5]}, trials=2, episodes=200, out=tmp_path / "tune.db")
    assert tuned.best.values["beta"] == "auto"
