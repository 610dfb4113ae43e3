"""Models as Gymnasium environments: Gymnasium's own checks, the episodes of the model's world, and one kernel for many."""

import copy
import math
import pickle
import sys
import warnings

import numpy as np
import pytest
from problem_names import problem_names

import pomdplite as pl
from pomdplite import rng

gymnasium = pytest.importorskip("gymnasium")
from gymnasium import spaces  # noqa: E402
from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402

LATER = frozenset(
    {
        "acrobot-listed",
        "battleship-10-5",
        "grasp-gantry",
        "grasp-jaco",
        "intersection-2",
        "kitchen-10",
        "kitchen-50",
        "rocksample-20-20",
    }
)  # members of families whose first member is tested
NAMES = problem_names(slow=LATER)
NO_BOUNDS = "A Box observation space (minimum|maximum) value is -?infinity"  # numbers of a model need not have any


def checked(env):
    """Gymnasium's check, whose warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", f".*{NO_BOUNDS}")
        check_env(env)


def some_legal(masks, random):
    """A random legal action for each row; 0 where the episode is over."""
    return np.array([random.choice(np.flatnonzero(mask)) if mask.any() else 0 for mask in masks])


def same(one, other):
    return data_equivalence(one, other, exact=True)


# ---------------------------------------------------------------------- every problem


@pytest.mark.parametrize("name", NAMES)
def test_every_problem_passes_gymnasiums_own_check(name):
    assert f"pomdplite/{name}-v0" in pl.register_envs()
    checked(gymnasium.make(f"pomdplite/{name}-v0", belief=True).unwrapped)


@pytest.mark.parametrize("name", NAMES)
def test_episodes_are_those_of_the_models_world_and_beliefs_those_of_planners(name):
    model = pl.make_model(name)
    env, world, random = pl.to_gymnasium(model, belief=True), pl.ModelWorld(model), np.random.default_rng(0)
    belief = pl.initial_belief(model)
    for episode in range(3):
        seen, info = env.reset(seed=7) if episode == 0 else env.reset()
        world.reset(7, episode)
        belief.reset(int(rng.stream(7, episode, rng.PLANNER)[0]))
        over, t = False, 0
        while not over and t < 25:
            for field in model.state.dtype.names:
                if field != "_":
                    assert np.array_equal(np.ravel(seen[f"state_{field}"]), np.ravel(world.x[field]))
            unknown = isinstance(model.hidden, pl.Dirichlet)
            for field, value in info["hidden"].items():
                assert np.array_equal(value, world.distributions if unknown else world.theta[field])
            known = np.concatenate([np.ravel(part) for key, part in seen.items() if key.startswith("belief_")])
            assert known == pytest.approx(np.concatenate(belief.marginals()), abs=1e-9)
            action, x = int(some_legal([info["action_mask"]], random)[0]), world.x
            seen, reward, over, truncated, info = env.step(action)
            result, t = world.step(action), t + 1
            belief.update(x, action, result.y, result.o)
            assert (reward, over) == (result.reward, result.terminated)
            assert truncated == (not over and t == model.episode_horizon)
            if model.reading is None:
                assert seen["observation"] == result.o
            else:
                for field in model.reading.dtype.names:
                    assert np.array_equal(np.ravel(seen[f"reading_{field}"]), np.ravel(result.o[field]))
            over = over or truncated


@pytest.mark.parametrize("name", NAMES)
def test_many_environments_at_once_do_what_gymnasium_does_with_single_ones(name):
    model, random = pl.make_model(name), np.random.default_rng(1)
    sync = SyncVectorEnv([lambda: pl.to_gymnasium(model, belief=True)] * 3)
    batch = pl.to_gymnasium_vector(model, 3, belief=True)
    assert batch.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP is sync.metadata["autoreset_mode"]
    assert batch.observation_space == sync.observation_space and batch.action_space == sync.action_space
    wanted, found = sync.reset(seed=5), batch.reset(seed=5)
    assert same(wanted, found)
    for _ in range(30):
        assert found[0] in batch.observation_space
        actions = some_legal(found[-1]["action_mask"], random)
        wanted, found = sync.step(actions), batch.step(actions)
        assert same(wanted, found)
    assert same(sync.reset(seed=[4, 2, 3]), batch.reset(seed=[4, 2, 3]))
    assert same(sync.reset(), batch.reset())


def test_a_planner_earns_in_the_environment_what_evaluate_reports():
    model = pl.make_model("rocksample-4-4")
    env, planner, returns = pl.to_gymnasium(model), pl.PomdpLite(model), []
    wanted = pl.evaluate(model, "pomdp-lite", episodes=6, seed=3)
    for episode in range(6):
        seen, _ = env.reset(seed=3, options={"episode": episode})
        planner.reset()
        total, t, over = 0.0, 0, False
        while not over:
            action = planner.decide().action
            seen, reward, terminated, truncated, _ = env.step(action)
            state = {name: seen[f"state_{name}"][0] for name in ("col", "row")}
            planner.update(action, state, int(seen["observation"]))
            total, t, over = total + model.discount**t * reward, t + 1, terminated or truncated
        returns.append(total)
    assert returns == pytest.approx([episode.discounted for episode in wanted.episodes], abs=1e-12)
    assert len(set(returns)) > 1


# ---------------------------------------------------------------------- spaces


class Fields(pl.Model):
    """A field of every kind, and a sensor."""

    state = pl.State(
        door=("open", "shut", "gone"), lit=bool, seen=(bool, 3), heading=pl.Angle, turns=(pl.Angle, 2), speed=float,
        small=np.float32, place=(float, (2, 2)), count=np.int16, level=np.uint8,
    )  # fmt: skip
    hidden = pl.Hidden(
        mass=pl.Uniform(1.0, 3.0), rate=pl.independent(2, pl.Gamma(2.0, 1.0)), share=pl.Beta(2.0, 2.0),
        shift=pl.Normal(0.0, 1.0), kind=("cup", "bowl", "box"),
    )  # fmt: skip
    actions = ("wait", "flip")
    observations = pl.Reading(weight=float, on=bool, noise=pl.Gaussian(weight=0.5))
    discount = 1.0

    def transition(m, x, theta, a, y):
        if a == 1:
            y.lit = not x.lit
            y.seen[1] = 1
            y.door = 2
        y.heading = x.heading + 3.0
        y.turns[0] = 1.0
        y.place[1, 0] = 5.0
        y.count = x.count - 2

    def observation(m, y, theta, a, z):
        z.weight = theta.mass
        z.on = y.lit

    def reward(m, x, theta, a):
        return theta.mass


def box(low, high, shape=(1,), dtype=np.float64):
    return spaces.Box(low, high, shape, dtype)


def test_every_kind_of_field_has_its_space():
    env = pl.to_gymnasium(Fields(), belief=True)
    inf, pi = np.inf, math.pi
    assert dict(env.observation_space) == {
        "state_door": spaces.Discrete(3),
        "state_lit": spaces.Discrete(2),
        "state_seen": spaces.MultiBinary((3,)),
        "state_heading": box(-pi, pi),
        "state_turns": box(-pi, pi, (2,)),
        "state_speed": box(-inf, inf),
        "state_small": box(-inf, inf, dtype=np.float32),
        "state_place": box(-inf, inf, (2, 2)),
        "state_count": box(-32768, 32767, dtype=np.int16),
        "state_level": box(0, 255, dtype=np.uint8),
        "reading_weight": box(-inf, inf),
        "reading_on": spaces.Discrete(2),
        "belief_mass": box(1.0, 3.0, (3,)),
        "belief_rate": box(0.0, inf, (2, 3)),
        "belief_share": box(0.0, 1.0, (3,)),
        "belief_shift": box(-inf, inf, (3,)),
        "belief_kind": box(0.0, 1.0, (3,)),
    }
    assert env.action_space == spaces.Discrete(2)


class Map(pl.RockSample):
    """A map, run by Python."""

    compiled = False


def test_numbers_are_bounded_by_the_states_that_can_be_reached():
    for model, size in ((pl.make_model("rocksample-4-4"), 4), (Map(3, [(1, 1)]), 3)):
        env = pl.to_gymnasium(model)
        assert env.observation_space["state_col"] == box(0, size, dtype=np.int16)  # `size` is past the east edge
        assert env.observation_space["state_row"] == box(0, size - 1, dtype=np.int16)


class Blind(pl.Model):
    """Neither a state nor observations."""

    compiled = False
    hidden = pl.Hidden(coin=("heads", "tails"))
    actions = ("heads", "tails")
    discount = 1.0
    horizon = 3

    def transition(m, x, theta, a, y):
        pass

    def reward(m, x, theta, a):
        return 1.0 if a == theta.coin else -1.0


class Endless(Blind):
    """A counter that never stops, and two numbers whose range depends on what is hidden."""

    state = pl.State(count=np.int32, level=float, pair=(np.int8, 2))

    def transition(m, x, theta, a, y):
        y.count += m.pace
        y.level = 0.5 - theta.coin
        y.pair[0], y.pair[1] = -3, 4 * a

    def __init__(self, pace):
        self.pace = pace


def test_bounds_hold_for_every_hidden_value_and_are_left_out_where_states_have_no_end():
    known = pl.to_gymnasium(Endless(0)).observation_space
    assert known["state_level"] == box(-0.5, 0.5) and known["state_count"] == box(0, 0, dtype=np.int32)
    assert known["state_pair"] == spaces.Box(np.array([-3, 0], np.int8), np.array([0, 4], np.int8), dtype=np.int8)
    endless = pl.to_gymnasium(Endless(1)).observation_space
    assert endless["state_level"] == box(-np.inf, np.inf)
    assert endless["state_count"] == box(-(2**31), 2**31 - 1, dtype=np.int32)


def test_every_kind_of_field_is_observed_as_the_model_wrote_it():
    env = pl.to_gymnasium(Fields(), belief=True)
    first, _ = env.reset(seed=1)
    assert all(not np.any(value) for name, value in first.items() if not name.startswith("belief"))
    seen, reward, *_, info = env.step("flip")
    assert seen in env.observation_space
    assert (seen["state_door"], seen["state_lit"], seen["state_count"][0]) == (2, 1, -2)
    assert seen["state_seen"].tolist() == [0, 1, 0] and seen["state_turns"].tolist() == [1.0, 0.0]
    assert seen["state_place"].tolist() == [[0.0, 0.0], [5.0, 0.0]]
    assert env.step(0)[0]["state_heading"][0] == pytest.approx(6.0 - 2 * math.pi)  # wrapped
    assert seen["reading_on"] == 1 and abs(seen["reading_weight"][0] - info["hidden"]["mass"]) < 4
    assert reward == info["hidden"]["mass"]


def test_an_observation_of_nothing_has_the_last_number():
    env = pl.to_gymnasium(pl.Tiger())
    assert env.observation_space["observation"] == spaces.Discrete(3)
    first, _ = env.reset(seed=0)
    assert first["observation"] == 2 and env.step("listen")[0]["observation"] in (0, 1)
    assert env.step("open-left")[0]["observation"] == 2


def test_a_model_without_state_observes_that_there_is_nothing_and_ends_at_its_horizon():
    env = pl.to_gymnasium(Blind())
    seen, info = env.reset(seed=0)
    assert seen == {"observation": 0} and seen in env.observation_space
    steps = [env.step(info["hidden"]["coin"]) for _ in range(3)]
    assert [step[1:4] for step in steps] == [(1.0, False, False), (1.0, False, False), (1.0, False, True)]


# ---------------------------------------------------------------------- the belief


def test_the_belief_follows_bayes_rule():
    env = pl.to_gymnasium(pl.Tiger(), belief=True)
    seen, _ = env.reset(seed=2)
    assert seen["belief_tiger"].tolist() == [0.5, 0.5]
    lead = 0
    for _ in range(6):
        seen, *_ = env.step("listen")
        lead += 1 if seen["observation"] == 0 else -1
        odds = (0.85 / 0.15) ** lead
        assert seen["belief_tiger"] == pytest.approx([odds / (1 + odds), 1 / (1 + odds)], abs=1e-12)


def test_the_belief_about_numbers_is_their_mean_and_interval():
    seen, _ = pl.to_gymnasium(Fields(), belief=True).reset(seed=2)
    assert seen["belief_mass"] == pytest.approx([2.0, 1.05, 2.95], abs=0.05)  # of Uniform(1, 3)
    assert seen["belief_share"] == pytest.approx([0.5, 0.0943, 0.9057], abs=0.04)  # scipy.stats.beta(2, 2)
    assert seen["belief_kind"] == pytest.approx([1 / 3] * 3, abs=0.05)


class Drifting(Fields):
    """The mass grows, so its distribution does not bound it."""

    hidden = pl.Hidden(mass=pl.Uniform(1.0, 3.0))

    def evolve(m, x, theta, a, theta_next):
        theta_next.mass = theta.mass + 1.0


def test_numbers_that_change_have_no_bounds():
    env = pl.to_gymnasium(Drifting(), belief=True)
    assert env.observation_space["belief_mass"] == box(-np.inf, np.inf, (3,))
    env.reset(seed=0)
    for _ in range(5):
        seen, *_, info = env.step("wait")
    assert seen["belief_mass"][1] > 5.0 and info["hidden"]["mass"] > 5.0


def test_the_belief_is_no_part_of_an_observation_unless_asked_for():
    env = pl.to_gymnasium(pl.Tiger(), render_mode="ansi")  # which draws the belief
    assert set(env.reset()[0]) == {"state_opened", "observation"}


# ---------------------------------------------------------------------- seeds


def listened(env, **how):
    env.reset(**how)
    return [int(env.step("listen")[0]["observation"]) for _ in range(20)]


def test_the_same_seed_gives_the_same_hidden_values_and_noise():
    one, other = pl.to_gymnasium(pl.Tiger()), pl.to_gymnasium(pl.Tiger())
    first, second = listened(one, seed=9), listened(one)
    listened(other, seed=8)
    assert [listened(other, seed=9), listened(other)] == [first, second] and first != second
    assert listened(other, seed=9, options={"episode": 1}) == second
    assert listened(pl.to_gymnasium(pl.Tiger())) != listened(pl.to_gymnasium(pl.Tiger()))  # 2 in 10⁵ by chance


def test_hidden_values_follow_the_prior():
    env = pl.to_gymnasium_vector(pl.Tiger(), 4000)
    _, infos = env.reset(seed=0)
    left = int((infos["hidden"]["tiger"] == 0).sum())
    assert abs(left - 2000) < 190  # six standard deviations: wrong once in 5 · 10⁸


# ---------------------------------------------------------------------- actions


def test_illegal_actions_are_refused_in_a_sentence():
    env = pl.to_gymnasium(pl.make_model("rocksample-4-4"))
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [1, 1, 1, 0, 0, 1, 1, 1, 1]  # at the west edge, no rock
    with pytest.raises(pl.UsageError, match=r"action 'west' is illegal in x = \(col=0 row=2\); info\['action_mask'\]"):
        env.step(3)
    many = pl.to_gymnasium_vector(env.model, 3)
    many.reset(seed=0)
    with pytest.raises(pl.UsageError, match="action 'west' of environment 1 is illegal"):
        many.step([2, 3, 2])
    seen, *_ = many.step([2, 2, 2])  # nothing had happened before
    assert seen["state_col"].tolist() == [[1], [1], [1]]


def test_with_a_reward_for_them_illegal_actions_change_nothing():
    env = pl.to_gymnasium(pl.make_model("rocksample-4-4"), illegal_reward=-7.0, belief=True)
    before, _ = env.reset(seed=0)
    seen, reward, terminated, truncated, _ = env.step("west")
    assert same(seen, before) and (reward, terminated, truncated) == (-7.0, False, False)
    random = np.random.default_rng(0)
    sync = SyncVectorEnv([lambda: pl.to_gymnasium(env.model, illegal_reward=-7.0, belief=True)] * 4)
    many = pl.to_gymnasium_vector(env.model, 4, illegal_reward=-7.0, belief=True)
    assert same(sync.reset(seed=1), many.reset(seed=1))
    refused = 0
    for _ in range(100):  # more than the horizon: illegal actions are steps
        actions = random.integers(9, size=4)
        wanted, found = sync.step(actions), many.step(actions)
        assert same(wanted, found)
        refused += int((found[1] == -7.0).sum())
    assert refused > 50


def test_samples_of_the_action_space_are_legal():
    env = pl.to_gymnasium(pl.make_model("rocksample-4-4"))
    env.action_space.seed(0)
    tried = set()
    for _ in range(5):
        env.reset()
        over = False
        while not over:
            action = env.action_space.sample()
            tried.add(int(action))
            _, _, terminated, truncated, info = env.step(action)
            over = terminated or truncated
    assert tried == set(range(9))
    assert not info["action_mask"].any()  # the last episode ended in a terminal state, not at the horizon


def test_actions_go_by_number_name_or_array():
    env = pl.to_gymnasium(pl.Tiger())
    for action in ("listen", 0, np.int64(0), np.array(0)):
        env.reset(seed=1)
        assert env.step(action)[1] == -1.0
    for action in ("jump", 3, -1, 0.5, np.array([0.5])):
        with pytest.raises(pl.UsageError, match="unknown action"):
            env.step(action)


class Push(Blind):
    """Actions from a range."""

    actions = pl.Action(force=(-1.0, 1.0, 5))

    def reward(m, x, theta, a):
        return a.force


def test_actions_with_fields_are_listed_and_may_be_given_by_their_values():
    model = Push()
    env = pl.to_gymnasium(model)
    assert env.action_space == spaces.Discrete(5)
    env.reset(seed=0)
    assert env.step(np.array([0.4]))[1] == 0.5 and env.step({"force": -0.9})[1] == -1.0
    wide = gymnasium.wrappers.TransformAction(env, lambda a: a, spaces.Box(-1.0, 1.0, (1,)))
    wide.reset(seed=0)
    assert wide.step(np.array([0.1], np.float32))[1] == 0.0


def test_bad_batches_of_actions_are_refused_in_a_sentence():
    env = pl.to_gymnasium_vector(pl.Tiger(), 2)
    with pytest.raises(pl.UsageError, match="call reset"):
        env.step([0, 0])
    env.reset(seed=0)
    for actions, message in (
        ([0], r"numbers of 2 actions, not one of type int64 and shape \(1,\)"),
        ([0.0, 1.0], "not one of type float64"),
        ([0, 3], "unknown action 3; the model has listen, open-left, open-right"),
    ):
        with pytest.raises(pl.UsageError, match=message):
            env.step(actions)


# ---------------------------------------------------------------------- models of every kind


class SlowTiger(pl.Tiger):
    """Tiger, run by Python."""

    compiled = False


def test_interpreted_models_play_the_same_episodes():
    fast, slow = (pl.to_gymnasium_vector(model, 3, belief=True) for model in (pl.Tiger(), SlowTiger()))
    random = np.random.default_rng(0)
    assert same(fast.reset(seed=1), slow.reset(seed=1))
    for _ in range(10):
        actions = random.integers(3, size=3)
        assert same(fast.step(actions), slow.step(actions))


class Failing(SlowTiger):
    """Its rewards fail."""

    def reward(m, x, theta, a):
        return 1.0 / (a - 1)


def test_mistakes_of_a_model_are_reported_with_their_place():
    for env, action in ((pl.to_gymnasium(Failing()), 1), (pl.to_gymnasium_vector(Failing(), 2), [0, 1])):
        env.reset(seed=0)
        with pytest.raises(pl.ModelError, match="Failing: reward raised ZeroDivisionError at x"):
            env.step(action)


def test_models_in_files_are_environments(tmp_path):
    pytest.importorskip("lark")
    pl.save(pl.Tiger(), tmp_path / "tiger.pomdp")
    env = pl.to_gymnasium(str(tmp_path / "tiger.pomdp"), belief=True)
    _, info = env.reset(seed=0)
    steps = [env.step("listen") for _ in range(3)]
    assert [step[1] for step in steps] == [-1.0] * 3 and info["action_mask"].all()
    (belief,) = (name for name in env.observation_space if name.startswith("belief_"))
    assert np.sort(steps[0][0][belief].ravel()) == pytest.approx([0.15, 0.85]) and steps[0][0] in env.observation_space


class Finished(Blind):
    """It is over before it begins."""

    def terminal(m, x):
        return True


def test_what_is_no_environment_is_refused_in_a_sentence(monkeypatch):
    for make, message in (
        (lambda: pl.to_gymnasium(pl.Tiger), "needs a model object or the name of a problem, not <class"),
        (lambda: pl.to_gymnasium("tigger"), "no problem 'tigger'"),
        (lambda: pl.to_gymnasium(pl.Tiger(), render_mode="human"), "no render_mode 'human'; there are rgb_array, ansi"),
        (lambda: pl.to_gymnasium(pl.Tiger(), illegal_reward=math.nan), "illegal_reward must be a finite number"),
        (
            lambda: pl.to_gymnasium(pl.Tiger(), illegal_reward="much"),
            "illegal_reward must be a finite number, not 'much'",
        ),
        (lambda: pl.to_gymnasium(Finished()), "Finished: the initial state is terminal"),
        (lambda: pl.to_gymnasium_vector(pl.Tiger(), 0), "num_envs must be an integer of at least 1, not 0"),
        (lambda: pl.to_gymnasium_vector(pl.Tiger(), 2).reset(seed=[1]), "one seed for each of 2 environments, not 1"),
        (lambda: pl.to_gymnasium(pl.Tiger()).reset(options={"hidden": 1}), "no option 'hidden'; its one option is"),
        (lambda: pl.to_gymnasium(pl.Tiger()).reset(options={"episode": -1}), "integer of at least 0, not -1"),
        (lambda: pl.to_gymnasium(pl.Tiger()).step(0), r"the episode is over: call reset\(\)"),
        (lambda: pl.to_gymnasium(pl.Tiger()).render(), "render needs a render_mode"),
    ):
        with pytest.raises(pl.UsageError, match=message):
            make()
    env = pl.to_gymnasium(pl.Tiger())
    env.reset()
    env.step("open-left")
    with pytest.raises(pl.UsageError, match="the episode is over"):
        env.step("listen")
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    for missing in (lambda: pl.to_gymnasium("tiger"), lambda: pl.to_gymnasium_vector("tiger", 2), pl.register_envs):
        with pytest.raises(pl.PomdpLiteError, match=r"pip install 'pomdplite\[gymnasium\]'"):
            missing()


def test_copies_are_new_environments_with_functions_of_their_own():
    """A kernel would call functions by addresses that mean nothing in another process."""
    for env in (pl.to_gymnasium(pl.Tiger(), belief=True), pl.to_gymnasium_vector(pl.Tiger(), 2, belief=True)):
        env.reset(seed=1)
        for other in (pickle.loads(pickle.dumps(env)), copy.deepcopy(env)):
            with pytest.raises(pl.UsageError, match="call reset"):
                other.step([0, 0] if hasattr(env, "num_envs") else 0)
            assert other._play._batch._view is other.model.compiled_form.kernel_view() is not env._play._batch._view
            assert same(other.reset(seed=1), env.reset(seed=1))


# ---------------------------------------------------------------------- pictures, names


def test_text_is_the_models_own_drawing():
    model = pl.Tiger()
    env = pl.to_gymnasium(model, render_mode="ansi")
    env.reset(seed=0)
    drawn = "\n".join(line.rstrip() for line in model.draw(model.initial_state(), [np.array([0.5, 0.5])]).splitlines())
    assert env.render() == drawn + "\n"
    env.step("listen")
    assert "85.0 %" in env.render()


def test_pictures_change_with_the_belief():
    pytest.importorskip("matplotlib")
    env = pl.to_gymnasium(pl.Tiger(), render_mode="rgb_array")
    env.reset(seed=0)
    before = env.render()
    env.step("listen")
    after = env.render()
    assert before.shape == after.shape == (500, 600, 3) and before.dtype == np.uint8
    assert np.array_equal(after, env.render()) and not np.array_equal(before, after)


def test_registered_problems_are_made_by_their_id():
    assert set(pl.register_envs()) == set(pl.register_envs()) == {f"pomdplite/{name}-v0" for name in pl.PROBLEMS}
    env = gymnasium.make("pomdplite/rocksample-4-4-v0", belief=True)
    assert env.reset(seed=0)[0]["belief_rock"].shape == (4, 2)
    assert type(env.unwrapped.model) is pl.RockSample
    many = gymnasium.make_vec("pomdplite/tiger-v0", num_envs=5, belief=True)
    assert same(many.reset(seed=3), pl.to_gymnasium_vector("tiger", 5, belief=True).reset(seed=3))
