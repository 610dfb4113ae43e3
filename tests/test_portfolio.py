"""A planner chosen by a race: what it earns, on which grounds, that it is chosen only once, and planners in files."""

import json
import zipfile
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from models import best_value, start, tables
from problem_names import PLANNERS_OF_LISTED_MODELS
from test_beta import EqualRewards, Lift, LoosePopulation
from test_said import Nap, command

import pomdplite as pl
from pomdplite.cli.main import execute
from pomdplite.compile import cache
from pomdplite.experiments.episodes.episode import run_episode
from pomdplite.experiments.portfolio import contest
from pomdplite.experiments.portfolio import plan as portfolio
from pomdplite.experiments.portfolio.contest import Contender, Contest
from pomdplite.experiments.portfolio.scored_world import ScoredWorld
from pomdplite.experiments.portfolio.standings import Standing
from pomdplite.mdp.budget import CLOCKS, OutOfTimeError
from pomdplite.mdp.yardsticks import Yardsticks, yardsticks
from pomdplite.planners import accepted, beta
from pomdplite.planners.point_based.solver import PointBasedSolver
from pomdplite.worlds import ModelWorld


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder of choices for this test alone."""
    cache = tmp_path / "cache"
    cache.mkdir()
    monkeypatch.setattr(portfolio, "cache_folder", lambda: cache)
    return cache


def contenders(monkeypatch, *titles):
    monkeypatch.setattr(portfolio, "CONTENDERS", titles)


def no_work(*_, **__):
    raise AssertionError("a race or a solution")


# ---------------------------------------------------------------------- choosing


def test_a_planner_whose_bounds_meet_is_chosen_without_a_race():
    model = pl.Tiger()
    found = pl.plan(model)
    assert found.title == "pomdp-lite-plus" and len(found.facts.raced) == 1 and found.facts.proven > 3.75
    assert "sarsop, pomdp-lite, qmdp, despot, pomcp left out: not raced, since pomdp-lite-plus is proven" in str(found)
    mine, best = (pl.evaluate(model, planner, 100, 3) for planner in (found.planner, "bayes-optimal"))
    assert mine.returns.tolist() == best.returns.tolist()


def test_a_planner_without_time_for_episodes_is_chosen_for_what_it_is_proven_to_earn():
    model = pl.make_model("rocksample-4-4")
    plus = pl.PomdpLitePlus(model, sims=1, solve_trials=100)
    plus.prepare()
    promise = plus.value_bounds[0]
    slow = contest.Contender(plus, reason="8 episodes take 60 s, its share was 4 s")
    for earned, chosen, proven in ((promise - 1, slow, promise), (promise + 1, None, None)):
        raced = contest.Contender(pl.Qmdp(model), returns=[earned] * 8)
        best, shown = portfolio._promising([slow, raced], raced, None)
        assert best is (chosen or raced) and shown == proven
    failed = contest.Contender(plus, reason="it cannot", failed=True)
    assert portfolio._promising([failed, raced], raced, None) == (raced, None)


def test_the_planner_that_earns_most_wins_and_unknown_names_are_skipped(monkeypatch):
    contenders(monkeypatch, "qmdp", "a planner to come", "pomdp-lite")
    found = pl.plan(EqualRewards(), 20)
    assert found.title == "pomdp-lite" and [s.title for s in found.facts.standings] == ["pomdp-lite", "qmdp"]
    best, other = found.facts.standings
    assert best.mean > other.mean and best.episodes >= contest.FEWEST
    assert f"pomdp-lite {best.mean:.2f} ± {best.stderr:.2f} ({best.episodes} episodes)" in found.facts.line
    assert "if the hidden value were known; the gap is " in found.facts.line


def test_one_that_has_nobody_to_race_with_plays_no_more_than_it_needs_for_a_mean(monkeypatch):
    contenders(monkeypatch, "qmdp")
    ticks = count()
    monkeypatch.setitem(CLOCKS, "wall", lambda: 0.01 * next(ticks))  # a few episodes take more than hardly any time
    found = pl.plan(Nap(), 60)
    (only,) = found.facts.raced
    assert only.episodes == 32 and found.facts.seconds < 0.3 * 60


def test_if_none_is_ready_in_time_those_that_ran_out_of_it_get_the_rest_and_searches_come_first(monkeypatch):
    contenders(monkeypatch, "sarsop", "qmdp", "pomdp-lite", "pomcp")
    tried, prepared = [], portfolio._Field._prepared

    def slow(field, title, allowed):
        tried.append((title, allowed))
        if title != "qmdp" and len(tried) <= 4:
            raise OutOfTimeError("too long")
        if title == "qmdp":
            raise pl.TooLargeError("too large")
        return prepared(field, title, allowed)

    monkeypatch.setattr(portfolio._Field, "_prepared", slow)
    found = pl.plan(Lift(), 8, sims=20)
    assert [title for title, _ in tried] == ["sarsop", "qmdp", "pomdp-lite", "pomcp", "pomdp-lite"]
    assert found.title == "pomdp-lite" and tried[-1][1] > 2 * tried[0][1]
    assert {s.title: s.reason for s in found.facts.standings if s.reason}["pomcp"].startswith(
        "preparing it takes longer"
    )


def test_planners_that_cannot_are_left_out_with_their_reasons(monkeypatch):
    contenders(monkeypatch, "sarsop", "qmdp", "pomcp")
    monkeypatch.setattr(contest, "_MOST", 16)
    found = pl.plan(LoosePopulation(), 10, sims=5)
    assert found.title == "pomcp" and found.planner.sims == 5
    assert "sarsop, qmdp left out: LoosePopulation: its hidden values cannot be listed" in str(found)
    contenders(monkeypatch, "sarsop")
    with pytest.raises(pl.UnsuitableError, match=r"no planner can handle it \(sarsop: .*cannot be listed"):
        pl.plan(LoosePopulation(), 2)


def test_a_planner_too_slow_for_a_comparison_is_left_out(monkeypatch):
    contenders(monkeypatch, "qmdp", "pomcp")
    found = pl.plan(pl.Tiger(), 2, time=20, clock="cpu")  # 0.2 s per step at the highest pace
    assert found.title == "qmdp" and "pomcp left out: 8 episodes take " in str(found)
    assert found.facts.seconds < 4


def test_without_time_for_a_single_episode_the_choice_is_said_to_be_blind():
    race = Contest([entrant("one", []), entrant("other", [])], None, 0, contest.Deadline(0), no_work)
    race.run()
    assert [c.reason for c in race.running] == ["no time was left to race it"] * 2


def test_all_contenders_meet_the_same_episodes_which_are_not_those_of_an_evaluation(monkeypatch):
    contenders(monkeypatch, "pomdp-lite", "sarsop")
    monkeypatch.setattr(portfolio, "_PROVEN", -1.0)
    model = pl.Tiger()
    found = pl.plan(model, 20)  # both play optimally
    one, other = found.facts.standings
    assert other.difference.mean == other.difference.stderr == 0 and other.difference.episodes >= 64
    returns = pl.evaluate(model, found.planner, one.episodes, 0).returns
    assert abs(returns.mean() - one.mean) > 1e-9


def test_ctrl_c_keeps_the_best_so_far_and_does_not_remember_it(monkeypatch, folder):
    contenders(monkeypatch, "qmdp", "pomdp-lite")

    def stop(words):
        if words.startswith("pomdp-lite leads"):
            raise KeyboardInterrupt

    found = pl.plan(EqualRewards(), 20, report=stop)
    assert found.title == "pomdp-lite" and found.facts.interrupted and "interrupted" in str(found)
    assert not list(folder.iterdir())

    def stop_at_once(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        pl.plan(EqualRewards(), 20, report=stop_at_once)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"seconds": 0}, "seconds must be"),
        ({"time": 1, "sims": 3}, "not both"),
        ({"clock": "sun"}, "no clock"),
        ({"seed": 1.5}, "seed must be"),
        ({"model": pl.Tiger}, "plan needs a model object"),
    ],
)
def test_invalid_arguments_are_refused(wrong, words):
    with pytest.raises(pl.UsageError, match=words):
        pl.plan(**{"model": pl.Tiger()} | wrong)


def test_python_names_the_function_that_chooses():
    with pytest.raises(pl.UsageError, match=r"no planner 'auto'; .*pomdplite\.plan\(model\) chooses one"):
        pl.evaluate("tiger", "auto")


# ---------------------------------------------------------------------- the race


class Short(EqualRewards):
    """Every step costs 1, so an episode of two steps costs less than reaching the exit."""

    horizon = 2


class ShortPaid(Short):
    """Every step earns 1, so an episode of two steps earns less than staying forever."""

    def reward(m, x, theta, a):
        return 1.0


def entrant(title, returns):
    return Contender(SimpleNamespace(title=title), list(returns))


def test_the_lead_needs_a_standard_error_over_one_that_has_played_more():
    noise = np.tile([1.0, -1.0], 200)
    steady = entrant("steady", noise)
    for gain, leads in ((0.01, "steady"), (0.5, "other")):
        other = entrant("other", noise[:16] + gain + np.tile([0.3, -0.3], 8))
        assert contest._leader([steady, other]).title == leads
    assert contest._leader([steady, entrant("other", noise[:7] + 5)]).title == "steady"


def test_one_that_cannot_play_enough_episodes_races_with_less_time_per_step_and_acts_with_all_of_it():
    slow, fast = (Contender(planner) for planner in (pl.Pomcp(pl.Tiger(), time=0.2), pl.Qmdp(pl.Tiger())))
    for contender in (slow, fast):
        contender.planner.prepare()
    race = Contest([slow, fast], ModelWorld(slow.planner.model), 0, contest.Deadline(8), lambda _: None)
    race._round(contest.FEWEST)
    # An episode of POMCP has two steps or more: 32 take 13 s or more with 0.2 s per step, and its share is below 8 s.
    assert slow.pace < 1 and slow.reason is None and len(slow.returns) >= contest.FEWEST and fast.pace == 1
    said = Standing.of(slow, fast)
    assert said.step == f"{0.2 * slow.pace:g} s per step" and f"episodes, with {said.step})" in said.number
    assert slow.planner.budget.seconds == 0.2


def test_a_scored_world_pays_what_a_policy_earns_on_average_and_with_less_noise():
    """Of the policies in question the means are known: Tiger's at a lead of one, 0.85 · 10 − 0.15 · 100 after −1."""
    model, returns = pl.Tiger(), {}
    scorer = pl.Qmdp(model)
    scorer.prepare()
    for world in (ModelWorld(model), ScoredWorld(scorer)):
        returns[world] = np.array([_listen_once(world, episode) for episode in range(2000)])
    drawn, scored = returns.values()
    expected = -1 + 0.95 * (0.85 * 10 - 0.15 * 100)
    assert scored == pytest.approx(expected, abs=1e-6)
    assert drawn.std() > 30 and drawn.mean() == pytest.approx(expected, abs=4 * drawn.std() / np.sqrt(2000))


def _listen_once(world, episode):
    """The return of listening once and opening the other door."""
    world.reset(7, episode)
    first = world.step(0)
    return first.reward + 0.95 * world.step(2 if first.o == 0 else 1).reward


@pytest.mark.parametrize("model", [Short(), ShortPaid(), Lift()])
def test_the_score_of_an_episode_that_the_horizon_cuts_has_the_mean_of_its_return(model):
    scorer, player = pl.Qmdp(model), pl.MeanMdp(model)
    scorer.prepare()
    drawn, scored = (
        np.array([run_episode(player, world, 3, episode).discounted for episode in range(300)])
        for world in (ModelWorld(model), ScoredWorld(scorer))
    )
    difference = scored - drawn
    assert abs(difference.mean()) <= 4 * difference.std() / np.sqrt(300) + 1e-6


def test_clearly_worse_and_equal_contenders_drop_out():
    best = entrant("best", np.tile([1.0, 3.0], 50))
    worse, equal = entrant("worse", np.tile([0.9, 2.7], 20)), entrant("equal", np.tile([1.0, 3.0], 32))
    few, close = entrant("few", np.zeros(9)), entrant("close", np.tile([3.0, 0.9], 50))
    race = Contest([best, worse, equal, few, close], None, 0, contest.Deadline(1000), no_work)
    race._reject()
    assert [c.title for c in race.running] == ["best", "few", "close"]


# ---------------------------------------------------------------------- remembering


def test_a_choice_is_remembered_with_what_it_depends_on(monkeypatch, folder):
    contenders(monkeypatch, "qmdp", "pomdp-lite")
    first = pl.plan(EqualRewards(), 5, sims=10)
    mine = pl.evaluate(first.planner.model, first.planner, 20, 5)
    with monkeypatch.context() as patched:
        patched.setattr(Contest, "run", no_work)
        again = pl.plan(EqualRewards(), 5, sims=10)
        assert again.facts.remembered and "remembered" in again.facts.how and again.title == first.title
        assert str(again.facts.standings) == str(first.facts.standings) and again.facts.bound == first.facts.bound
        for workers in (1, 2):
            result = pl.evaluate(again.planner.model, again.planner, 20, 5, workers=workers)
            assert result.returns.tolist() == mine.returns.tolist()
        for model, others in (
            (EqualRewards(), {"seconds": 5.5, "sims": 10}),
            (EqualRewards(), {"seconds": 5, "sims": 11}),
            (EqualRewards(told=0.6), {"seconds": 5, "sims": 10}),
        ):
            with pytest.raises(AssertionError, match="a race"):
                pl.plan(model, **others)


def test_a_choice_that_cannot_be_used_is_made_again(monkeypatch, folder):
    contenders(monkeypatch, "qmdp")
    monkeypatch.setattr(contest, "_MOST", 16)
    pl.plan(pl.Tiger(), 9)
    (file,) = folder.glob("plan_*.npz")
    pl.MeanMdp(pl.Tiger()).save(file, note="no facts")
    assert not pl.plan(pl.Tiger(), 9).facts.remembered and pl.plan(pl.Tiger(), 9).facts.remembered
    file.write_bytes(file.read_bytes()[:100])
    assert not pl.plan(pl.Tiger(), 9).facts.remembered and pl.plan(pl.Tiger(), 9).facts.remembered
    contenders(monkeypatch, "qmdp", "mean-mdp")
    monkeypatch.delitem(pl.PLANNERS, "qmdp")
    assert pl.plan(pl.Tiger(), 9).title == "mean-mdp"


def test_only_the_newest_choices_are_kept(monkeypatch, folder):
    contenders(monkeypatch, "qmdp")
    monkeypatch.setattr(contest, "_MOST", 8)
    monkeypatch.setattr(cache, "KEPT_PLANS", 2)
    for seconds in (9, 10, 11):
        pl.plan(pl.Tiger(), seconds)
    assert len(list(folder.glob("plan_*.npz"))) == 2 and pl.plan(pl.Tiger(), 11).facts.remembered


# ---------------------------------------------------------------------- bounds and gaps


def test_the_yardsticks_of_tiger():
    """Knowing the tiger's place earns 10 at once; listening forever costs 1 / (1 − 0.95), opening a door 45."""
    yards = yardsticks(pl.Tiger())
    assert yards.most == pytest.approx(10, abs=0.01) and yards.least == pytest.approx(-20, abs=0.01)
    assert yards.gap(10.0) == pytest.approx(0, abs=1e-3) and yards.gap(-5.0) == pytest.approx(0.5, abs=1e-3)
    assert yards.gap(11.0) == 0 and yards.tightened(Yardsticks(12.0, "x")) == yards
    tight = yards.tightened(Yardsticks(4.0, "sarsop"))
    assert tight.gap(1.0) == pytest.approx(0.1, abs=1e-3) and "(a bound found by sarsop)" in tight.text(1.0)
    assert yardsticks(LoosePopulation()) is None and yardsticks(pl.make_model("rocksample-11-11")) is None


class Repeating(pl.Model):
    """Waiting earns 1 forever, whatever is hidden; stepping aside once costs 4 and changes nothing else."""

    state = pl.State(aside=bool)
    hidden = pl.Hidden(colour=("red", "blue"))
    actions = ("wait", "aside")
    discount = 0.97

    def transition(m, x, theta, a, y):
        y.aside = a == 1

    def reward(m, x, theta, a):
        return -4.0 if a == 1 or x.aside else 1.0


def test_there_is_no_gap_where_repeating_one_action_is_the_best_policy():
    """Waiting forever earns 1 / (1 − 0.97), known θ or not; what iteration and the horizon leave is no distance."""
    yards = yardsticks(Repeating())
    assert yards.most == pytest.approx(1 / 0.03, rel=1e-3) and yards.least == pytest.approx(1 / 0.03, rel=1e-3)
    assert yards.scale is None and yards.gap(yards.least) == 0.0 and yards.gap(0.0) is None
    assert yards.text(yards.least).endswith("if the hidden value were known; repeating one action earns as much")


class Undiscounted(EqualRewards):
    """Repeating any one action may never reach the exit, and then costs 1 forever."""

    discount = 1.0
    horizon = None


class Cut(Undiscounted):
    """The same for 30 steps."""

    horizon = 30


def test_without_discount_and_horizon_a_loss_forever_is_no_end_of_the_scale():
    yards = yardsticks(Undiscounted())
    assert yards.least is None and yards.scale is None and yards.gap(-30.0) is None


def test_bounds_of_a_planner_that_plans_with_another_discount_prove_nothing(monkeypatch):
    contenders(monkeypatch, "qmdp", "pomdp-lite-plus")
    monkeypatch.setattr(contest, "_MOST", 32)
    found = pl.plan(Cut(), 10)
    assert len(found.facts.raced) == 2 and found.facts.proven is None


@settings(max_examples=60, deadline=None)
@given(tables(layered=True))
def test_no_value_is_above_the_bound(m):
    yards = yardsticks(m.model())
    value = best_value(m, start(m), 0)
    assert value <= yards.most + 1e-6 and yards.least <= value + 1e-3


@pytest.mark.parametrize("model", [Short(), ShortPaid()])
def test_bounds_hold_for_episodes_that_the_horizon_cuts(model):
    found = pl.evaluate(model, "qmdp", 20)
    assert found.cut and found.mean <= yardsticks(model).most
    for planner in (pl.Sarsop(model, solve_trials=50), pl.Qmdp(model)):
        planner.prepare()
        assert planner.value_bounds[0] <= found.mean <= planner.value_bounds[1]


# ---------------------------------------------------------------------- planners in files


@pytest.mark.parametrize("title", PLANNERS_OF_LISTED_MODELS)
def test_a_saved_planner_starts_without_choosing_or_solving_again(title, tmp_path, monkeypatch):
    model, path = Lift(), tmp_path / "planner.npz"
    planner = pl.make_planner(title, model, **accepted(title, sims=20, solve_trials=20))
    planner.save(path)
    monkeypatch.setattr(beta, "cache_folder", lambda: None)
    monkeypatch.setattr(beta, "race", no_work)
    monkeypatch.setattr(PointBasedSolver, "solve", no_work)
    twin = pl.load_planner(path, Lift())
    assert twin.title == title and twin.choices == planner.choices and twin.clock == planner.clock
    mine, other = (pl.evaluate(p.model, p, 6, 2).returns.tolist() for p in (planner, twin))
    assert mine == other


def test_a_saved_planner_keeps_its_solver_and_gets_time_to_prepare(tmp_path):
    pl.PomdpLite(pl.Tiger(), solve_time=2.0).save(tmp_path / "p.npz")
    twin = pl.load_planner(tmp_path / "p.npz", pl.Tiger(), clock="cpu")
    assert twin.solver_name == "exact" and twin.solve_time == 300.0 and twin.clock == "cpu"


def test_the_last_bits_of_a_models_numbers_do_not_matter(tmp_path):
    """Another machine's exp or pow may differ in them."""
    pl.Sarsop(pl.Tiger(accuracy=0.85), solve_trials=5).save(tmp_path / "p.npz")
    assert pl.load_planner(tmp_path / "p.npz", pl.Tiger(accuracy=np.nextafter(0.85, 1))).vectors.size
    far = pl.Sarsop(pl.Tiger(accuracy=0.85 + 4e-7), policy=str(tmp_path / "p.npz"))
    with pytest.raises(pl.UsageError, match=r"made for another model: its numbers differ"):
        far.prepare()


def rewritten(path, **changes):
    """The file with other texts."""
    with np.load(path) as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    for name, value in changes.items():
        if name in arrays:
            arrays[name] = np.array(value)
        else:
            about[name] = value
    arrays["about"] = np.array(json.dumps(about))
    np.savez(path, **arrays)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"title": "oracle"}, "cannot be used: no planner 'oracle'"),
        ({"parameters": {"speed": 3}}, "cannot be used: planner qmdp has no parameter 'speed'"),
        ({"parameters": {"ties": "thrice"}}, "cannot be used: no way 'thrice' to break ties"),
        ({"clock": "sun"}, "cannot be used: no clock 'sun'"),
        ({"parameters": [1]}, "is not a planner file, or it is damaged"),
        ({"format": "pomdplite planner 99"}, "of another version: 'pomdplite planner 99'"),
        ({"numbers": [1.0, 2.0]}, "made for another model: probabilities or rewards of Tiger differ"),
    ],
)
def test_bad_planner_files_are_refused(changes, words, tmp_path):
    path = tmp_path / "planner.npz"
    pl.Qmdp(pl.Tiger()).save(path)
    rewritten(path, **changes)
    with pytest.raises(pl.UsageError, match=words):
        pl.load_planner(path, pl.Tiger())


def test_files_without_what_the_planner_needs_and_policies_of_other_planners_are_refused(tmp_path):
    path, short = tmp_path / "planner.npz", tmp_path / "short.npz"
    pl.Sarsop(pl.Tiger(), solve_trials=5).save(path)
    with zipfile.ZipFile(path) as source, zipfile.ZipFile(short, "w") as target:
        for name in set(source.namelist()) - {"own_action.npy"}:
            target.writestr(name, source.read(name))
    with pytest.raises(pl.UsageError, match=r"short\.npz is damaged: what its planner needs cannot be read"):
        pl.load_planner(short, pl.Tiger())
    pl.Qmdp(pl.Tiger()).save(path)
    with pytest.raises(pl.UsageError, match="holds the planner 'qmdp', not sarsop; use load_planner"):
        pl.Sarsop(pl.Tiger(), policy=str(path)).prepare()


# ---------------------------------------------------------------------- the command line


def test_run_chooses_a_planner_for_a_model_of_ones_own(monkeypatch, capsys, tmp_path):
    (tmp_path / "own.py").write_text("from test_beta import Lift\nlift = Lift()\n")
    own, file = f"{tmp_path / 'own.py'}:lift", tmp_path / "lift.npz"
    ran = command(monkeypatch, capsys, "run", own, "-n", 5)
    assert "auto: pomdp-lite-plus " in ran and "proven to earn at least 2.16 on average" in ran
    assert "at most 2.16 is possible (a bound found by pomdp-lite-plus); the gap is" in ran
    again = json.loads(command(monkeypatch, capsys, "run", own, "-n", 5, "--json"))
    assert again["planner"] == "pomdp-lite-plus" and "remembered" in again["choice"] and again["upper_bound"] < 2.17
    assert "auto: " not in command(monkeypatch, capsys, "run", own, "-n", 5, "--beta", 1)
    tiger = command(monkeypatch, capsys, "run", "tiger", "-n", 5)
    assert "pomdp-lite" in tiger and "at most 10.00 is possible if the hidden value were known; the gap is" in tiger
    assert "auto: pomdp-lite-plus" in command(monkeypatch, capsys, "compare", own, "--planners", "qmdp,auto", "-n", 5)
    assert "auto: pomdp-lite-plus" in command(monkeypatch, capsys, "watch", own, "-p", "auto")
    assert "saved to" in command(monkeypatch, capsys, "solve", own, "-p", "auto", "--policy", file)
    loaded = json.loads(command(monkeypatch, capsys, "run", own, "-p", file, "-n", 5, "--json"))
    assert loaded["mean"] == again["mean"] and loaded["choice"] is None
    assert "β = 0.379" in command(monkeypatch, capsys, "solve", own, "-p", "pomdp-lite", "--policy", file)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "tiger", "-p", "auto", "--beta", "3"), "so beta cannot be given"),
        (("run", "tiger", "-p", "auto", "-o", "seconds=soon"), "seconds must be a number"),
        (("run", "tiger", "-p", "nowhere.npz"), "there is no planner file nowhere.npz"),
    ],
)
def test_what_auto_and_files_do_not_take_is_refused_in_one_line(arguments, words, capsys):
    assert execute(list(arguments)) == 2
    said = capsys.readouterr().err
    assert words in said and said.count("\n") == 1
