"""Gymnasium environments as worlds: what they return is translated, and what they break is reported by name."""

import importlib.util
import pickle

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.cli.main import execute

gymnasium = pytest.importorskip("gymnasium")

TWO_DOORS = '''
"""Tiger in somebody else's environment, whose microphone is worse than the model's."""

import gymnasium
import numpy as np

import pomdplite as pl


class TwoDoors(gymnasium.Env):
    """Returns (door that is open, side that was heard); both are 0 for none."""

    observation_space = gymnasium.spaces.MultiDiscrete([3, 3])
    action_space = gymnasium.spaces.Discrete(3)
    metadata = {"render_modes": ["rgb_array"]}
    tiger = 0
    patience = 40

    def __init__(self, render_mode=None):
        self.render_mode = render_mode
        self.closed = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return np.array([0, 0]), {}

    def step(self, action):
        self.t += 1
        if action > 0:
            return np.array([action, 0]), -100.0 if action - 1 == self.tiger else 10.0, True, False, {}
        right = self.np_random.random() < 0.8
        heard = self.tiger if right else 1 - self.tiger
        return np.array([0, 1 + heard]), -1.0, False, self.t >= self.patience, {}

    def render(self):
        return np.full((20, 30, 3), 10 * self.t, np.uint8)

    def close(self):
        self.closed += 1


def state(seen):
    return {"opened": ("none", "left", "right")[seen[0]]}


def observation(seen):
    return (None, "hear-left", "hear-right")[seen[1]]


def hidden(env, theta):
    env.unwrapped.tiger = int(theta.tiger)


def make():
    return TwoDoors("rgb_array")


doors = pl.GymnasiumWorld(make, state=state, observation=observation, hidden=hidden, name="two-doors")
number = 3
'''


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("doors") / "doors.py"
    path.write_text(TWO_DOORS)
    return path


@pytest.fixture(scope="module")
def doors(file):
    spec = importlib.util.spec_from_file_location("doors", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def model():
    return pl.Tiger()


def recipe(doors, env=None, **changes):
    """The world of the file, or the same around another environment."""
    functions = {"state": doors.state, "observation": doors.observation, "hidden": doors.hidden} | changes
    return pl.GymnasiumWorld(doors.make if env is None else lambda: env, **functions)


def play(world, actions, seed=0, episode=0):
    world.reset(seed, episode)
    return [world.step(a) for a in actions]


def test_what_an_environment_returns_is_told_in_the_models_terms(doors, model):
    with recipe(doors)(model) as world:
        listened, opened = play(world, [0, 1])
        assert (listened.y.opened, listened.reward, listened.terminated, listened.truncated) == (0, -1.0, False, False)
        assert model.observations[listened.o] in ("hear-left", "hear-right")
        assert opened.y.opened == 1 and opened.o == len(model.observations) and opened.terminated
        left = world.theta.tiger == 0
        assert opened.reward == (-100.0 if left else 10.0) and world.success is not left
        assert world.truth == f"tiger={'left' if left else 'right'}"


def test_hidden_values_are_those_that_other_worlds_of_the_model_draw(doors, model):
    own, env = pl.ModelWorld(model), recipe(doors)(model)
    drawn = set()
    for episode in range(20):
        own.reset(7, episode)
        env.reset(7, episode)
        assert own.theta == env.theta and env._env.tiger == env.theta.tiger
        drawn.add(int(env.theta.tiger))
    assert drawn == {0, 1}


def test_an_episode_depends_on_seed_and_number_only(doors, model):
    one, other = recipe(doors)(model), recipe(doors)(model)
    listen = [0] * 12
    wanted = [result.o for result in play(one, listen, 3, 5)]
    play(other, listen, 3, 4)
    assert [result.o for result in play(other, listen, 3, 5)] == wanted
    assert wanted != [result.o for result in play(other, listen, 4, 5)] or wanted != [
        result.o for result in play(other, listen, 5, 5)
    ]


def test_the_number_of_processes_changes_nothing(file):
    world = f"{file}:doors"
    one, two = (pl.evaluate("tiger", "pomdp-lite", 8, 2, world=world, workers=n) for n in (1, 2))
    assert [e.discounted for e in one.episodes] == [e.discounted for e in two.episodes]
    assert one.problem == f"tiger in {world}" and one.success_rate > 0.5


def test_an_environment_may_truncate(doors, model):
    impatient = doors.TwoDoors()
    impatient.patience = 2
    results = play(recipe(doors, impatient)(model), [0, 0])
    assert [result.truncated for result in results] == [False, True] and not results[-1].terminated


def test_pictures_are_the_environments_own(doors, model):
    world = recipe(doors)(model)
    play(world, [0, 0])
    assert world.picture().shape == (20, 30, 3) and (world.picture() == 20).all()
    blind = recipe(doors, doors.TwoDoors())(model)
    play(blind, [0])
    assert blind.picture() is None


def test_an_environment_is_closed_once_and_made_again_when_needed(doors, model):
    made = []

    def make():
        made.append(doors.TwoDoors())
        return made[-1]

    world = pl.GymnasiumWorld(make, state=doors.state)(model)
    assert not made  # nothing is made before it is needed
    world.reset(0)
    world.close()
    world.close()
    world.reset(0)
    world.close()
    assert [env.closed for env in made] == [1, 1]


def test_evaluating_closes_the_environment(doors):
    env = doors.TwoDoors()
    pl.evaluate("tiger", "pomdp-lite", 2, world=recipe(doors, env))
    assert env.closed == 1


class Leveled(pl.Tiger):
    """Tiger on one of many floors."""

    state = pl.State(opened=("none", "left", "right"), level=float)


def test_an_episode_starts_where_the_environment_starts(doors):
    def state(seen):
        return doors.state(seen) | {"level": 2.5}

    model = Leveled()
    world, planner, seen = recipe(doors, state=state)(model), pl.PomdpLite(model), []
    played = pl.run_episode(planner, world, 0, 0, on_step=seen.append)
    assert seen[0].x.level == 2.5 != model.initial_state().level
    assert not any("impossible" in note for note in played.notes)


def test_a_registered_environment_is_known_by_its_id():
    class Cart(pl.Model):
        """Which way a cart runs away is seen in its angle."""

        state = pl.State(angle=float)
        hidden = pl.Hidden(bias=(0.0,))
        actions = ("left", "right")
        discount = 0.9

        def transition(m, x, theta, a, y):
            y.angle = x.angle + 0.1 * a

        def reward(m, x, theta, a):
            return 0.0

    model = Cart()
    with pl.GymnasiumWorld("CartPole-v1", state=lambda seen: {"angle": float(seen[2])})(model) as world:
        results = play(world, [0] * 8, seed=1)
        assert all(result.reward == 1.0 for result in results) and world.notes == ()
        assert results[5].y.angle > results[0].y.angle  # the pole falls to the other side
        assert world.picture().ndim == 3
        assert world.constants() == {"environment": "CartPole-v1 of gymnasium"}


def test_a_recipe_can_be_sent_to_another_process():
    sent = pl.GymnasiumWorld("CartPole-v1", state=str)
    assert pickle.loads(pickle.dumps(sent)) == sent and sent.__name__ == "CartPole-v1"


# ---------------------------------------------------------------------- what can be broken


BROKEN = [
    ("reset", lambda *_, **__: np.array([0, 0]), r"two-doors: reset returned .* instead of an observation and a dictionary"),
    ("step", lambda *_: (np.array([0, 0]), 0.0, False, {}), r"two-doors: step\(0\) returned .* instead of observation, reward"),
    ("step", lambda *_: (np.array([0, 0]), np.nan, False, False, {}), r"returned the reward nan, which is no finite number"),
    ("step", lambda *_: (np.array([0, 0]), "much", False, False, {}), r"returned the reward 'much', which is no finite"),
    ("step", lambda *_: (np.array([0, 0]), "12", False, False, {}), r"returned the reward '12', which is no finite"),
    ("step", lambda *_: (np.array([0, 0]), 0.0, False, False, None), r"truncated and a dictionary"),
    ("reset", lambda *_, **__: (np.array([0, 0]), None), r"instead of an observation and a dictionary"),
    ("close", lambda *_: 1 / 0, r"two-doors: close raised ZeroDivisionError: division by zero"),
    ("step", lambda *_: (np.array([0, 0]), 0.0, None, False, {}), r"returned terminated = None, neither True nor False"),
    ("step", lambda *_: 1 / 0, r"two-doors: step raised ZeroDivisionError: division by zero"),
    ("step", lambda *_: (np.array([7, 0]), 0.0, False, False, {}), r"two-doors: state raised IndexError"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "does", "message"), BROKEN)
def test_an_environment_that_breaks_its_contract_is_named(doors, model, method, does, message):
    env = doors.TwoDoors()
    setattr(env, method, does)
    with pytest.raises(pl.WorldError, match=message), recipe(doors, env, name="two-doors")(model) as world:
        play(world, [0])


def test_an_environment_without_a_name_is_called_by_its_class(doors, model):
    env = doors.TwoDoors()
    env.step = lambda action: None
    nameless = recipe(doors, env)
    assert nameless.__name__ == "an environment"  # in tables, before it is made
    with pytest.raises(pl.WorldError, match=r"^TwoDoors: step\(0\) returned None"):
        play(nameless(model), [0])


@pytest.mark.parametrize("picture", [None, np.zeros((20, 30), np.uint8), np.full((20, 30, 3), 0.5)])
def test_what_is_no_picture_is_refused(doors, model, picture):
    env = doors.make()
    env.render = lambda: picture
    world = recipe(doors, env)(model)
    world.reset(0)
    with pytest.raises(pl.WorldError, match=r"TwoDoors: render returned an array of shape .*, which is no picture"):
        world.picture()


def test_what_lies_outside_of_the_observation_space_is_noted(doors):
    class Loud(doors.TwoDoors):
        observation_space = gymnasium.spaces.MultiDiscrete([3, 1])

    played = pl.evaluate("tiger", "pomdp-lite", 1, world=recipe(doors, Loud(), name="loud"))
    assert "loud returned an observation outside of its observation_space" in played.episodes[0].notes


def test_an_environment_that_ignores_its_seed_is_noted(doors, model):
    class Moody(doors.TwoDoors):
        resets = 0

        def reset(self, *, seed=None, options=None):
            super().reset(seed=seed)
            self.resets += 1
            return np.array([0, self.resets % 2]), {}

    world = recipe(doors, Moody(), name="moody")(model)
    world.reset(0)
    assert world.notes == ("moody starts differently when it is reset with the same seed",)


@pytest.mark.parametrize(
    ("level", "message"),
    [(np.nan, "no state of the model: Leveled: nan is not a value"), (np.inf, "no state to plan for: level = inf")],
)
def test_states_that_are_not_finite_are_refused(doors, level, message):
    lost = recipe(doors, state=lambda seen: {"opened": "none", "level": level}, name="two-doors")(Leveled())
    with pytest.raises(pl.WorldError, match=f"two-doors: what state returns is {message}"):
        lost.reset(0)


def test_observations_that_the_model_does_not_have_are_refused(doors, model):
    with pytest.raises(pl.WorldError, match=r"two-doors: what observation returns is none of the model's: .*growl"):
        play(recipe(doors, observation=lambda seen: "growl", name="two-doors")(model), [0])


def test_what_is_not_installed_is_said(model):
    def make():
        import no_such_simulator  # noqa: F401

    with pytest.raises(pl.WorldError, match=r"make_env needs the package no_such_simulator; it is not installed"):
        pl.GymnasiumWorld(make, state=str)(model).reset(0)
    with pytest.raises(pl.WorldError, match="make_env raised NameNotFound"):
        pl.GymnasiumWorld("NoSuchThing-v0", state=str)(model).reset(0)
    with pytest.raises(pl.WorldError, match=r"^an environment: make_env returned None, which has no reset and no step"):
        pl.GymnasiumWorld(lambda: None, state=str)(model).reset(0)


def test_an_environment_is_no_recipe_for_one(doors):
    with pytest.raises(pl.UsageError, match="make_env must be a function that makes an environment, or the id of one"):
        pl.GymnasiumWorld(doors.TwoDoors(), state=str)


def test_an_environment_without_a_space_is_refused(doors, model):
    env = doors.TwoDoors()
    env.observation_space = None
    with pytest.raises(pl.WorldError, match="which has no observation_space"):
        recipe(doors, env)(model).reset(0)


# ---------------------------------------------------------------------- the command line


def test_a_world_of_the_users_own_goes_into_every_command(file, tmp_path, capsys):
    world = f"{file}:doors"
    assert execute(["run", "tiger", "--world", world, "--planner", "qmdp", "-n", "3", "--seed", "1"]) == 0
    assert execute(["compare", "tiger", "--world", world, "-n", "3", "--planners", "pomdp-lite,qmdp"]) == 0
    assert execute(["watch", "tiger", "--world", world, "--seed", "1", "--pictures", str(tmp_path / "steps")]) == 0
    assert len(list((tmp_path / "steps").glob("step-*.png"))) > 1
    study = tmp_path / "study.toml"
    study.write_text(f'seed = 1\nepisodes = 2\n[[cells]]\nproblems = ["tiger in {world}"]\nplanners = ["qmdp"]\n')
    assert execute(["bench", str(study), "--out", str(tmp_path / "s.db"), "--workers", "2"]) == 0
    assert pl.Results.read(tmp_path / "s.db").missing == 0
    file.write_text(TWO_DOORS + "\n# another version\n")
    assert execute(["bench", str(study), "--out", str(tmp_path / "s.db")]) == 2
    assert "has changed" in capsys.readouterr().err
    file.write_text(TWO_DOORS)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("windows", "it has no windows; refer to what makes a world from a model"),
        ("number", "number is 3; refer to what makes a world from a model"),
        ("state", "state raised"),
    ],
)
def test_what_is_no_world_is_refused_in_a_sentence(file, capsys, name, message):
    assert execute(["run", "tiger", "--world", f"{file}:{name}", "-n", "1"]) == 2
    assert message in capsys.readouterr().err
