"""Table carrying: the person as the paper describes them, and planners against a solution that shares no code."""

import itertools

import pytest
from known_values import TABLE_CARRYING

import pomdplite as pl
from pomdplite.testing import problem_conforms

ALPHAS = (0.0, 0.25, 0.5, 0.75, 1.0)
RAREST = 1e-9  # histories less probable than this are left out
NAMES = {"A": "turn-to-A", "B": "turn-to-B"}


def mode(turns):
    """The commonest letter, the last one if two are equally common."""
    return max("AB", key=lambda way: (turns.count(way), turns.endswith(way)))


def person(robots, persons, memory, alpha, preference):
    """What the person does next with which probability, given all turns so far, as letters."""
    if not persons:
        return {preference: 1.0}
    own, other = mode(persons[-memory:]), mode(robots[-memory:])
    return {own: 1.0} if own == other else {own: 1.0 - alpha, other: alpha}


def record(model, robots, persons):
    """The state after these turns."""
    signs = {"A": 1, "B": -1}
    rotation = sum(signs[r] for r, p in zip(robots, persons, strict=True) if r == p)
    last = [[signs[way] for way in turns[::-1]][: model.steps_remembered] for turns in (persons, robots)]
    return model.state_record((rotation, *(turns + [0] * (model.steps_remembered - len(turns)) for turns in last)))


@pytest.mark.parametrize("memory", [1, 2, 3])
def test_the_person_moves_as_the_bounded_memory_model_says(memory):
    """All histories of up to three steps, and all hidden values."""
    model = pl.TableCarrying(memory=memory)
    plain = model.compiled_form.interpreted
    for length in range(4):
        for turns in itertools.product(itertools.product("AB", repeat=2), repeat=length):
            robots, persons = ("".join(way) for way in (zip(*turns, strict=True) if turns else ("", "")))
            for (i, alpha), (j, preference), robot in itertools.product(enumerate(ALPHAS), enumerate("AB"), "AB"):
                found = {}
                x, theta = record(model, robots, persons), model.hidden.record([i, j])
                for y, p in plain.transition(x, theta, model.action_index(NAMES[robot])):
                    found[y.tobytes()] = found.get(y.tobytes(), 0.0) + p
                expected = {
                    record(model, robots + robot, persons + way).tobytes(): p
                    for way, p in person(robots, persons, memory, alpha, preference).items()
                }
                assert {y: p for y, p in found.items() if p} == {y: p for y, p in expected.items() if p}


def game_value(choose=None, steps=40):
    """What the game with a memory of one step is worth, up to this step: with the robot's turns that
    choose(robots, persons) gives, or with the best ones.

    After the first step, which shows the preference, all that matters is the rotation, the last turns, and how often the
    person gave way and how often not: α has the weight α^gave_way (1 − α)^stayed.
    """
    known = {}

    def after(robots, persons, rotation, gave_way, stayed, chance):
        if abs(rotation) == 4 or len(robots) == steps or chance < RAREST:
            return 0.0
        key = (robots[-1], persons[-1], rotation, gave_way, stayed, len(robots))
        if key not in known:
            ways = choose(robots, persons) if choose else "AB"
            known[key] = max(turned(way, robots, persons, rotation, gave_way, stayed, chance) for way in ways)
        return known[key]

    def turned(robot, robots, persons, rotation, gave_way, stayed, chance):
        weights, total = [a**gave_way * (1.0 - a) ** stayed for a in ALPHAS], 0.0
        for way in "AB":
            p = sum(w * person(robots, persons, 1, a, "").get(way, 0.0) for w, a in zip(weights, ALPHAS, strict=True))
            if p > 0.0:
                p /= sum(weights)
                differed, same = robots[-1] != persons[-1], way == persons[-1]
                gave, kept = gave_way + (differed and not same), stayed + (differed and same)
                total += p * (gain(robot, way, rotation) + 0.95 * after(
                    robots + robot, persons + way, rotation + move(robot, way), gave, kept, chance * p))  # fmt: skip
        return total

    first = choose("", "") if choose else "AB"
    return max(
        sum(0.5 * 0.95 * after(robot, preference, move(robot, preference), 0, 0, 0.5) for preference in "AB")
        for robot in first
    )


def move(robot, way):
    return 0 if robot != way else 1 if way == "A" else -1


def gain(robot, way, rotation):
    return {4: 20.0, -4: 15.0}.get(rotation + move(robot, way), 0.0)


def chooser(planner, model):
    """The robot's turns by a planner."""

    def choose(robots, persons):
        planner.reset()
        for step, robot in enumerate(robots):
            planner.update(NAMES[robot], record(model, robots[: step + 1], persons[: step + 1]), None)
        return planner.decide().name[-1]

    return choose


@pytest.fixture(scope="module")
def model():
    return pl.TableCarrying()


@pytest.fixture(scope="module")
def optimal(model):
    planner = pl.BayesOptimal(model, search_depth=40)
    planner.reset()
    return planner


def test_the_bayes_optimal_value_is_that_of_the_game(optimal):
    low, high = optimal.decide().bounds
    assert high - low < 1e-6
    assert low == pytest.approx(TABLE_CARRYING["bayes-optimal"], abs=1e-6)
    missing = low - game_value(steps=24)  # what later steps earn
    assert 0.0 < missing < 1e-4


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bayes-optimal", {"search_depth": 40}),
        ("pomdp-lite-plus", {"sims": 1, "solve_time": 5}),
        ("pomdp-lite", {"beta": 0.3}),
        ("mean-mdp", {}),
        ("qmdp", {}),
        ("most-likely", {}),
    ],
)
def test_planners_earn_what_the_page_says(model, name, options):
    planner = pl.make_planner(name, model, **options)
    assert game_value(chooser(planner, model)) == pytest.approx(TABLE_CARRYING[name], abs=1e-5)


def test_robots_that_always_insist_or_give_way_for_good_earn_less():
    """Against a person who prefers B, a robot that insists waits for the first time that they give way."""
    insist = game_value(lambda robots, persons: "A")
    waiting = sum(0.95 * a / (1.0 - 0.95 * (1.0 - a)) for a in ALPHAS) / len(ALPHAS)
    assert insist == pytest.approx(0.5 * 20.0 * 0.95**3 * (1.0 + waiting), abs=1e-3)  # α = 0.25 may take 40 steps
    assert insist == pytest.approx(TABLE_CARRYING["insist"], abs=1e-3)
    give_way = game_value(lambda robots, persons: persons[:1] or "A")
    assert give_way == pytest.approx(TABLE_CARRYING["give way"], abs=1e-5)


def test_the_robot_insists_three_times_against_a_person_who_never_gives_way(model, optimal):
    choose, robots = chooser(optimal, model), ""
    while len(robots) < 7:
        robots += choose(robots, "B" * len(robots))
    assert robots == "AAABBBB"


def test_a_person_who_gave_way_once_is_worth_insisting_on(model, optimal):
    """Both changed their mind at once: the robot now knows that α > 0, and turns to A again."""
    assert chooser(optimal, model)("AAAB", "BBBA") == "A"


def test_rewards_ends_and_success(model):
    for rotation, name, way, reward, over, success in (
        (3, "A", "A", 20.0, True, True),
        (-3, "B", "B", 15.0, True, False),
        (3, "B", "A", 0.0, False, False),
        (0, "A", "A", 0.0, False, False),
    ):
        sign = {"A": 1, "B": -1}[way]
        theta = model.hidden.record([0, 0])
        x = model.state_record((rotation, [sign], [sign]))  # they agreed, so the person goes on
        belief = pl.initial_belief(model)
        assert belief.mean_reward(x, NAMES[name]) == reward
        y, p = model.compiled_form.interpreted.transition(x, theta, model.action_index(NAMES[name]))[0]
        assert p == 1.0 and model.compiled_form.interpreted.terminal(y) == over and model.success(y, theta) == success


def test_other_sizes_conform_and_wrong_ones_are_refused():
    problem_conforms(pl.TableCarrying(turns=2, memory=3))
    for sizes in ({"turns": 0}, {"memory": 0}):
        with pytest.raises(pl.UsageError, match="turns and memory must be at least 1"):
            pl.TableCarrying(**sizes)


def test_the_drawing_shows_the_table_and_the_belief(model, optimal):
    chooser(optimal, model)("AA", "BB")
    lines = model.draw(record(model, "AAA", "BBA"), optimal.belief.marginals()).splitlines()
    assert lines[0] == "way B ◂ · · · · · ● · · · ▸ way A" and lines[1] == "last turns: robot A, person A"
    assert [line.split()[2] for line in lines[3:8]] == ["40", "30", "20", "10", "0"]  # 1 − α, in proportion
    assert lines[8] == "preferred way: A 0 %, B 100 %"
