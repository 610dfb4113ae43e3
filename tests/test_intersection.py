"""The intersection: how the types drive, what gives them away, and the world in highway-env."""

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.problems.intersection.drivers import PRIOR, TYPES, UNIT, ZONE
from pomdplite.problems.intersection.rules import CRASHED, GOING, KEEPING, PASSED, SLOWING
from pomdplite.testing import legal_actions
from pomdplite.worlds.intersection.lattice import follow

TOUCH = 3.5  # m: half a length and half a width of highway-env's cars


@pytest.fixture(scope="module")
def model():
    return pl.Intersection()


@pytest.fixture(scope="module")
def highway(model):
    with pl.make_world("highway", model) as world:
        yield world


def at(model, ego, ego_speed, car, speed):
    return model.state_record({"ego": ego, "ego_speed": ego_speed, "car": [car], "speed": [speed], "over": "no"})


def changes(model, kind, x, action="keep"):
    """The chances of the changes of the other car's speed."""
    theta = model.hidden.record([kind])
    steps = model.compiled_form.interpreted.transition(x, theta, model.action_index(action))
    return {int(y.speed[0] - x.speed[0]): p for y, p in steps if p > 0}


# ---------------------------------------------------------------------- the types


def likeliest(model, x):
    found = {}
    for kind, name in enumerate(TYPES):
        chances = changes(model, kind, x)
        assert abs(sum(chances.values()) - 1) < 1e-12
        found[name] = max(chances, key=chances.get)
    return found


def test_the_types_react_as_they_are_described(model):
    """An ego that will be at the crossing first; one that stands; and one that is in the way."""
    first, stands, blocks = at(model, -10, 2, -24, 3), at(model, -10, 0, -24, 3), at(model, -2, 0, -24, 3)
    assert likeliest(model, first) == {"aggressive": 1, "normal": -1, "timid": -2, "inattentive": 0}
    assert likeliest(model, stands) == {"aggressive": 1, "normal": 0, "timid": -2, "inattentive": 0}
    assert likeliest(model, blocks) == {"aggressive": 1, "normal": -1, "timid": -2, "inattentive": 0}


def test_nobody_stops_in_the_crossing_and_a_timid_driver_waits_before_it(model):
    assert likeliest(model, at(model, -7, 1, -5, 1))["normal"] == 1
    waiting = at(model, -8, 0, -8, 0)
    assert (
        changes(model, TYPES.index("timid"), waiting)[1] < 0.1 < 0.5 < changes(model, TYPES.index("normal"), waiting)[1]
    )


def test_who_assumes_the_mean_driver_mixes_the_types_by_their_prior(model):
    x = at(model, -10, 2, -24, 3)
    mixed = changes(pl.Intersection(assume="mean"), 0, x)
    for change, p in mixed.items():
        assert abs(p - sum(PRIOR[k] * changes(model, k, x).get(change, 0.0) for k in range(4))) < 1e-12
    assert changes(pl.Intersection(assume="timid"), 0, x) == changes(model, TYPES.index("timid"), x)


def test_cars_move_by_constant_acceleration_and_collide_in_the_crossing(model):
    plain, inattentive = model.compiled_form.interpreted, model.hidden.record([TYPES.index("inattentive")])
    x = at(model, -8, 1, -12, 3)
    moved = {int(y.speed[0]): y for y, p in plain.transition(x, inattentive, GOING) if p > 0}
    assert (moved[3].ego, moved[3].ego_speed, moved[3].car[0]) == (-5, 2, -6)
    assert moved[3].over == 0 and moved[4].over == CRASHED  # which is a unit further on
    hit = {int(y.speed[0]): y for y, p in plain.transition(moved[3], inattentive, KEEPING) if p > 0}
    assert hit[3].over == CRASHED and pl.Intersection.reward(model, moved[3], inattentive, KEEPING, hit[3]) == -1001
    late = at(model, 3, 2, -12, 3)
    passed = [y for y, p in plain.transition(late, inattentive, KEEPING) if p > 0]
    assert all(y.over == PASSED and model.success(y, inattentive) for y in passed)


def test_two_drivers_react_independently():
    model = pl.Intersection(2)
    plain = model.compiled_form.interpreted
    x = model.state_record({"ego": -10, "ego_speed": 2, "car": [-24, -24], "speed": [3, 3], "over": "no"})
    steps = plain.transition(x, model.hidden.record([0, 2]), KEEPING)  # the left one aggressive, the right one timid
    best = max(steps, key=lambda step: step[1])[0]
    assert abs(sum(p for _, p in steps) - 1) < 1e-12
    assert (best.speed - x.speed).tolist() == [1, -2]


@pytest.mark.parametrize(("arguments", "message"), [((3,), "1 or 2 other cars"), ((1, "rude"), "assume one of")])
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(pl.UsageError, match=message):
        pl.Intersection(*arguments)


# ---------------------------------------------------------------------- what gives a driver away


def creep(x):
    """Come near at 4 m/s, creep on before the crossing at 2 m/s, and stop."""
    return SLOWING if (x.ego >= -12 and x.ego_speed > 1) or (x.ego >= -8 and x.ego_speed > 0) else KEEPING


def final_beliefs(model, world, episodes, steps=6):
    """The mean belief in the true type of the driver after some steps of creeping, by type."""
    found = {kind: [] for kind in range(len(TYPES))}
    for episode in range(episodes):
        world.reset(3, episode)
        belief, truth = pl.initial_belief(model), int(world.theta.driver[0])
        for _ in range(steps):
            x = world.x
            a = creep(x)
            assert a in legal_actions(model, x)
            result = world.step(a)
            belief.update(x, a, result.y, result.o)
            if result.terminated or result.y.car[0] >= ZONE:
                break
        found[truth].append(belief.marginals()[0][truth])
    return {TYPES[kind]: np.mean(beliefs) for kind, beliefs in found.items()}


@pytest.mark.parametrize("place", ["model", "highway"])
def test_the_belief_finds_out_each_type_from_its_behaviour(model, highway, place):
    world = pl.ModelWorld(model) if place == "model" else highway
    right = final_beliefs(model, world, episodes=60)
    assert all(belief > 0.5 > max(PRIOR) for belief in right.values()), right


# ---------------------------------------------------------------------- highway-env


def play(world, seed, episode, actions):
    world.reset(seed, episode)
    seen = []
    for a in actions:
        result = world.step(a)
        seen.append((result.y.tobytes(), result.reward, result.terminated))
        if result.terminated:
            break
    return seen, world._env.unwrapped.frames


def test_an_episode_in_highway_env_follows_from_its_seed_alone(model, highway):
    script = [KEEPING, SLOWING, KEEPING, KEEPING, KEEPING]
    first, frames = play(highway, 5, 7, script)
    play(highway, 5, 8, [KEEPING] * 9)
    assert play(highway, 5, 7, script) == (first, frames)
    with pl.make_world("highway", model) as other:
        assert play(other, 5, 7, script) == (first, frames)
    assert play(highway, 6, 7, script)[1] != frames


def test_a_collision_in_highway_env_is_a_collision_of_the_model(highway):
    """Drive on whatever comes: collisions are where both cars are in the crossing, and nowhere else."""
    endings = []
    for episode in range(40):
        seen, frames = play(highway, 9, episode, [KEEPING] * 12)
        both = [abs(f.ego) < TOUCH and abs(f.cars[0]) < TOUCH for f in frames]
        nearly = [abs(f.ego) < TOUCH + 0.8 and abs(f.cars[0]) < TOUCH + 0.8 for f in frames]  # a frame at full speed
        crashed = highway.x.over == CRASHED
        endings.append(crashed)
        assert crashed == seen[-1][2] if crashed else not any(both)
        if crashed:
            assert nearly[-1] and seen[-1][1] <= -1000 and highway.success is False
        else:
            assert highway.x.over == PASSED and highway.success is True
    assert 0 < sum(endings) < len(endings)


def test_the_lattice_stays_with_the_car(highway):
    for episode in range(12):
        highway.reset(11, episode)
        for _ in range(12):
            result = highway.step(creep(highway.x))
            frame = highway._env.unwrapped.frames[-1]
            if result.terminated or result.y.car[0] >= ZONE:
                break
            assert abs(UNIT * result.y.ego - frame.ego) < 1e-6
            assert abs(UNIT * result.y.car[0] - frame.cars[0]) < 1.4


def test_a_point_of_the_lattice_takes_the_level_that_brings_it_nearest_to_the_car():
    assert follow((-20, 3), -14.1, 2.9) == (-14, 3)
    assert follow((-20, 3), -15.6, 1.8) == (-15, 2)
    assert follow((-20, 3), -17.0, 0.4) == (-16, 1)  # the model knows no harder braking
    assert follow((4, 3), 10.0, 3.0) == (ZONE, 0)


def test_the_world_is_for_the_intersection_with_drivers_of_all_types():
    with pytest.raises(pl.UsageError, match="not for Tiger"):
        pl.make_world("highway", pl.Tiger())
    with pytest.raises(pl.UsageError, match="assumes none"):
        pl.make_world("highway", pl.Intersection(assume="timid"))


# ---------------------------------------------------------------------- drawing


def test_the_drawing_shows_cars_and_belief(model):
    x = at(model, -8, 1, -20, 2)
    text = model.draw(x, [np.array([0.0, 0.75, 0.25, 0.0])])
    assert "▲ -5.3 m, 2 m/s" in text and "▶ -13.3 m, 4 m/s: aggressive 0 %, normal 75 %, timid 25 %" in text
    rows = text.splitlines()
    assert sum("▶" in row for row in rows) == 2 and sum("▲" in row for row in rows) == 2
    assert "not in sight" in model.draw(model.initial_state(), [np.array(PRIOR)])
