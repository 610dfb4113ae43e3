"""Kitchen and doorman: the person's policy, what is learned from it, and what help is worth."""

import math
from functools import cache

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.problems.assistance.kitchen_plans import generated_recipes
from pomdplite.testing import legal_actions

TOAST = {"toast": ("bread", "butter"), "egg": ("egg",)}  # a kitchen that takes no time to solve


@pytest.fixture(scope="module")
def kitchen():
    return pl.Kitchen()


@pytest.fixture(scope="module")
def doorman():
    return pl.Doorman()


@pytest.fixture(scope="module")
def toast():
    return pl.Kitchen(TOAST, size=(3, 3))


def key(x):
    return tuple(int(x[name]) for name in x.dtype.names)


def follow(model, theta, *, wait_only):
    """Every state that a person with this goal can reach, and what each action of the assistant leads to, by hand."""
    plain, first = model.compiled_form.interpreted, model.initial_state()
    graph, records, left = {}, {key(first): first}, [first]
    while left:
        x = left.pop()
        graph[key(x)] = {}
        for a in [] if x.done else [0] if wait_only else legal_actions(model, x):
            branches = [(y, float(p)) for y, p in plain.transition(x, theta, a) if p > 0]
            graph[key(x)][a] = [(key(y), p) for y, p in branches]
            for y, _ in branches:
                if key(y) not in records:
                    records[key(y)] = y
                    left.append(y)
    return graph, records


def fewest_steps(graph, records):
    """Shortest ways to the end when the assistant waits, by relaxing all edges until nothing changes."""
    steps = {x: 0.0 if records[x].done else math.inf for x in graph}
    changed = True
    while changed:
        changed = False
        for x, actions in graph.items():
            for to, _ in actions.get(0, []):
                if steps[to] + 1 < steps[x]:
                    steps[x], changed = steps[to] + 1, True
    return steps


@pytest.mark.parametrize("problem", ["kitchen", "doorman"])
def test_the_person_follows_the_boltzmann_policy_of_values_computed_independently(problem, request):
    model = request.getfixturevalue(problem)
    theta = model.hidden.record([1])
    graph, records = follow(model, theta, wait_only=True)
    steps, checked = fewest_steps(graph, records), 0
    for actions in graph.values():
        for to, p in actions.get(0, []):
            weights = {y: math.exp(1.5 * -(1 + steps[y])) for y, _ in actions[0]}
            assert p == pytest.approx(weights[to] / sum(weights.values()), abs=1e-12)
            checked += 1
    assert checked > 200 and len(graph) == len(records)


def test_values_also_hold_where_the_assistant_has_changed_the_kitchen(kitchen):
    """The cook's shortest way from a state with something in the hatch or an open door, from his moves alone."""
    theta = kitchen.hidden.record([0])
    graph, records = follow(kitchen, theta, wait_only=False)
    steps = fewest_steps(graph, records)
    plain, helped = kitchen.compiled_form.interpreted, 0
    for x, record in records.items():
        if record.hatch and not record.done:
            branches = [(key(y), float(p)) for y, p in plain.transition(record, theta, 0) if p > 0]
            best = min(steps[y] for y, _ in branches)
            assert steps[x] == best + 1
            odds = {p / math.exp(-1.5 * (steps[y] - best)) for y, p in branches}
            assert max(odds) == pytest.approx(min(odds), rel=1e-9)
            helped += 1
    assert helped > 100


@pytest.mark.parametrize("make", [pl.Kitchen, pl.Doorman])
def test_a_perfectly_rational_person_takes_a_shortest_way(make):
    model = make(rationality=math.inf, assistant=False)
    planner, world = pl.Qmdp(model), pl.ModelWorld(model)
    for episode in range(20):
        played = pl.run_episode(planner, world, 1000, episode)
        goal = model.hidden.indices(world.theta)[0]
        assert played.success and played.steps == model.alone[goal]


def test_ways_through_the_small_kitchen_are_those_counted_on_its_map():
    """To a container d cells from the counter and back: 2 d moves, open, take and pour."""
    trip = {name: 2 * d + 3 for name, d in {"flour": 3, "egg": 1, "milk": 2, "butter": 2}.items()}
    model = pl.Kitchen(rationality=math.inf)
    assert model.alone.tolist() == [sum(trip[item] for item in recipe) for recipe in model.recipes.values()]


def test_ways_in_the_doormans_grid_are_two_actions_a_cell_and_one_to_pick_up():
    model = pl.Doorman(rationality=math.inf)
    moves = {name: abs(column - 3) + abs(row - 3) for name, (column, row) in model.resources.items()}
    assert model.alone.tolist() == [2 * moves[name] + 1 for name in model.resources]  # blocked cells force no detour


def test_the_expected_effort_without_help_is_that_of_episodes(doorman):
    alone = pl.Doorman(assistant=False)
    result = pl.evaluate(alone, pl.Qmdp(alone), episodes=2000, seed=1000)
    assert abs(result.mean + doorman.alone.mean()) < 4 * result.stderr
    assert result.success_rate == 1.0


@pytest.mark.parametrize(("problem", "least"), [("kitchen", 0.8), ("doorman", 0.6)])
def test_the_belief_concentrates_on_the_true_goal(problem, least, request):
    """Before the last step. Of the doorman's goals, some are on the way to others."""
    model = request.getfixturevalue(problem)
    planner, world, last = pl.Qmdp(model), pl.ModelWorld(model), []
    for episode in range(40):
        steps = []
        pl.run_episode(planner, world, 1000, episode, on_step=steps.append)
        goal = model.hidden.indices(world.theta)[0]
        last.append(steps[-1].marginals[0][goal])
        assert steps[0].marginals[0] == pytest.approx(np.full(model.hidden.size, 1 / model.hidden.size))
    assert np.mean(last) > least and min(last) > 0


def test_the_cook_begins_and_then_the_assistant_can_open_fetch_and_clear(toast):
    plain, x = toast.compiled_form.interpreted, toast.initial_state()
    names = lambda state: [toast.actions[a] for a in legal_actions(toast, state)]  # noqa: E731
    assert names(x) == ["wait"]
    x = toast.state_record(dict(cell=4, open=0, hand=0, hatch=0, bowl=0, begun=True, done=False))
    assert names(x) == ["wait", "open-bread", "open-butter", "open-egg"]
    theta = toast.hidden.record([0])

    def after(state, action):
        return max(plain.transition(state, theta, toast.action_index(action)), key=lambda branch: branch[1])[0]

    x = toast.state_record({**{n: x[n] for n in x.dtype.names}, "open": 3})
    assert "fetch-egg" in names(x) and "open-egg" not in names(x)
    y = after(x, "fetch-egg")
    assert y.hatch == 3 and y.open == 0 and "clear" in names(y) and "open-egg" not in names(y)
    assert after(y, "clear").hatch == 0


def test_the_cook_pours_what_is_handed_to_him_if_his_recipe_needs_it(toast):
    plain = toast.compiled_form.interpreted
    x = toast.state_record(dict(cell=4, open=0, hand=0, hatch=3, bowl=0, begun=True, done=False))
    egg, bread = toast.hidden.record([1]), toast.hidden.record([0])
    y, p = max(plain.transition(x, egg, 0), key=lambda branch: branch[1])
    assert y.done and y.bowl == 0b100 and p == pytest.approx(1 / (1 + 4 * math.exp(-1.5 * 2)))
    assert all(y.hatch == 3 and y.bowl == 0 for y, p in plain.transition(x, bread, 0) if p > 0)


@cache
def optimal_steps(problem):
    """Bounds on the least expected number of actions."""
    model = {"toast": lambda: pl.Kitchen(TOAST, size=(3, 3)), "doorman": pl.Doorman}[problem]()
    planner = pl.Sarsop(model, solve_trials=20)
    planner.reset()
    low, high = planner.decide().bounds
    return -high, -low, float(model.alone.mean())


@pytest.mark.parametrize("problem", ["toast", pytest.param("doorman", marks=pytest.mark.slow)])
def test_help_that_is_planned_optimally_never_costs_effort(problem):
    least, most, alone = optimal_steps(problem)
    assert least <= most + 1e-6 and most < 0.85 * alone


def test_qmdp_on_the_small_kitchen_saves_effort_and_stays_above_its_bound(kitchen):
    planner = pl.Qmdp(kitchen)
    result = pl.evaluate(kitchen, planner, episodes=200, seed=1000)
    planner.reset()
    assert -kitchen.alone.mean() < result.mean - 4 * result.stderr
    assert result.mean < planner.decide().bounds[1] + 4 * result.stderr


def test_pomdp_lite_with_the_doormans_own_beta_is_as_good_as_qmdp():
    """With the β that the library chooses, it takes 0.4 actions more."""
    lite, qmdp = (pl.evaluate("doorman", name, episodes=300, seed=1000) for name in ("pomdp-lite", "qmdp"))
    assert lite.difference(qmdp).mean > -0.2


def test_generated_kitchens_have_that_many_different_recipes():
    for count in (2, 10, 11, 50):
        recipes = generated_recipes(count)
        assert len(set(map(frozenset, recipes.values()))) == count == len(recipes)
        assert all(2 <= len(recipe) <= 4 for recipe in recipes.values())
    assert pl.make_model("kitchen-7").hidden.size == 7
    for name in ("kitchen-51", "kitchen-1", "kitchen-0"):
        with pytest.raises(pl.UsageError, match="there are 2 to 50 generated recipes"):
            pl.make_model(name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.Kitchen({}), "there must be recipes"),
        (lambda: pl.Kitchen({"air": ()}), "none without ingredients"),
        (lambda: pl.Kitchen({"eggs": ("egg", "egg")}), "an ingredient twice"),
        (lambda: pl.Kitchen(size=(2, 9)), "a room of at least 3 × 3"),
        (lambda: pl.Kitchen(rationality=-1), "a number from 0 to infinity, not -1"),
        (lambda: pl.Doorman(rationality=math.nan), "a number from 0 to infinity, not nan"),
        (lambda: pl.Doorman({"wood": (1, 1)}), r"wood is at \(1, 1\), which is blocked"),
        (lambda: pl.Doorman({"wood": (9, 0)}), "outside the 7 × 7 grid"),
        (lambda: pl.Doorman({"wood": (0, 0)}, blocked=((0, 1), (1, 0))), "no way to wood"),
        (lambda: pl.Doorman({}), "there must be a resource"),
    ],
)
def test_impossible_rooms_are_refused(make, message):
    with pytest.raises(pl.UsageError, match=message):
        make()


def test_drawings_show_the_room_what_is_where_and_the_belief(kitchen, doorman):
    x = kitchen.state_record(dict(cell=2, open=1, hand=2, hatch=4, bowl=0b100, begun=True, done=False))
    drawn = kitchen.draw(x, [np.array([0.75, 0.25, 0.0, 0.0])])
    assert "[flour]" in drawn and "C –" in drawn and "bowl A" in drawn  # the egg of this container is in his hand
    assert "bowl: milk   cook: egg   hatch: butter" in drawn
    assert f"pancakes    {'█' * 18}{' ' * 8} 75.0 %" in drawn
    x = doorman.state_record(dict(cell=24, door="east", begun=True, done=False))
    drawn = doorman.draw(x, [np.full(8, 1 / 8)])
    assert "P→" in drawn and drawn.count("12.5 %") == 8 and drawn.count("###") == 5
