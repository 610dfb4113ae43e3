"""Worlds: the interface, the simulated gantry and the simulated Jaco."""

import builtins
import importlib.util
import sys

import numpy as np
import pytest

import pomdplite as pl
from pomdplite.cli import main as cli
from pomdplite.experiments import run_episode
from pomdplite.problems.grasp.symbols import CLOSE, FORWARD, PICK
from pomdplite.worlds import Scenario
from pomdplite.worlds.grasp.simulator import import_mujoco


class Stubborn(pl.World):
    """A world for Tiger that is not the model: on the second listening a door opens by itself."""

    def reset(self, seed, episode=0):
        self.t = 0

    def step(self, a):
        self.t += 1
        opened = {1: "none", 2: "left"}.get(self.t, "right" if a else "none")
        return self.step_result({"opened": opened}, "hear-left" if self.t == 1 else None, -1.0)

    @property
    def x(self):
        return self.model.initial_state()


class Ajar(Stubborn):
    """The same, but it continues: nothing is heard on the second listening, which is impossible in the model."""

    def step(self, a):
        self.t += 1
        over = self.t == 5
        return self.step_result({"opened": "left" if over else "none"}, None if self.t == 2 else "hear-left", -1.0)


@pytest.mark.parametrize("problem", ["tiger", "rocksample-4-4", "grasp"])
def test_a_control_loop_of_planner_and_world(problem):
    """The loop of a robot's program: what the world returns is what the planner takes."""
    model = pl.make_model(problem)
    planner, world = pl.PomdpLite(model), pl.make_world("model", model)
    world.reset(seed=1, episode=2)
    planner.reset(seed=1)
    discounted, discount = 0.0, 1.0
    while True:
        decision = planner.decide()
        result = world.step(decision.action)
        planner.update(decision.action, result.y, result.o)
        assert planner.state == result.y == world.x
        discounted += discount * result.reward
        discount *= model.discount
        if result.terminated or result.truncated:
            break
    assert discounted == run_episode(planner, world, 1, 2).discounted


def test_a_returned_state_does_not_change_with_later_steps():
    model = pl.make_model("rocksample-4-4")
    world = pl.ModelWorld(model)
    world.reset(0)
    first = world.step(model.action_index("east"))
    before = model.describe_state(first.y)
    world.step(model.action_index("east"))
    assert model.describe_state(first.y) == before != model.describe_state(world.x)


def test_a_world_may_truncate_an_episode():
    class Impatient(pl.ModelWorld):
        def reset(self, seed, episode=0):
            super().reset(seed, episode)
            self.t = 0

        def step(self, a):
            self.t += 1
            return super().step(a)._replace(truncated=self.t == 2)

    played = pl.evaluate("tiger", "pomdp-lite", 5, world=Impatient, beta=100.0)
    assert played.cut == 5 and played.steps_mean == 2


def test_a_scenario_is_read_back_from_its_label():
    for scenario, label in ((Scenario("tiger"), "tiger"), (Scenario("grasp", "jaco"), "grasp in jaco")):
        assert scenario.label == label and Scenario.parse(label) == scenario
    assert Scenario("tiger", Ajar).label == "tiger in Ajar"


def test_headings_leave_out_the_folders_of_files():
    assert Scenario("robots/arm.py:Arm", "labs/bench.py:Bench").title == "arm.py:Arm in bench.py:Bench"
    assert (
        Scenario("/data/Hallway.pomdp").title == "Hallway.pomdp" and Scenario("grasp", "jaco").title == "grasp in jaco"
    )


def test_worlds_are_known_by_name():
    assert set(pl.WORLDS) == {"model", "gantry", "jaco", "acrobot", "highway"}
    assert isinstance(pl.make_world("model", pl.Tiger()), pl.ModelWorld)
    assert Scenario("grasp", "jaco").planning_problem == "grasp-jaco" and Scenario("tiger").planning_problem == "tiger"
    with pytest.raises(pl.UsageError, match=r"no world 'moon'; there are model, gantry, jaco.*path\.py:name"):
        pl.make_world("moon", pl.Tiger())


@pytest.mark.parametrize("planner", ["pomdp-lite", "pomcp", "pomcp-exact", "despot"])
def test_impossible_steps_are_noted_and_recovered_from(planner):
    parameters = {"beta": 30} if planner == "pomdp-lite" else {"sims": 20}
    played = pl.evaluate("tiger", planner, 2, world=Ajar, **parameters)
    assert played.problem == "tiger in Ajar"
    for episode in played.episodes:
        assert any("impossible in the model; the belief was mixed with the prior" in note for note in episode.notes)


def test_in_the_models_own_world_the_impossible_is_an_error():
    class Pretending(Ajar):
        is_model = True

    with pytest.raises(pl.ImpossibleObservationError):
        pl.evaluate("tiger", "pomdp-lite", 1, world=Pretending)


def test_a_world_over_processes_gives_the_same():
    one, two = (pl.evaluate("tiger", "pomdp-lite", 4, world=Stubborn, workers=w) for w in (1, 2))
    assert [e.discounted for e in one.episodes] == [e.discounted for e in two.episodes]
    assert all(e.success is None for e in one.episodes)


# ---------------------------------------------------------------------- without the extra


def test_a_world_without_mujoco_says_what_to_install(monkeypatch, tmp_path):
    real = builtins.__import__

    def missing(name, *rest):
        if name == "mujoco":
            raise ModuleNotFoundError("No module named 'mujoco'", name="mujoco")
        return real(name, *rest)

    monkeypatch.setitem(sys.modules, "mujoco", None)
    monkeypatch.delitem(sys.modules, "mujoco")
    monkeypatch.setattr(builtins, "__import__", missing)
    for name in ("gantry", "jaco"):
        with pytest.raises(pl.PomdpLiteError, match=r"pip install 'pomdplite\[robot\]'"):
            pl.make_world(name, pl.make_model(f"grasp-{name}"))
    study = pl.Study("two places", ["tiger", "grasp in jaco"], ["qmdp"], episodes=1)
    with pytest.raises(pl.PomdpLiteError, match="this world needs MuJoCo"):
        study.run(tmp_path / "s.db", workers=1)
    assert pl.Results.read(tmp_path / "s.db").missing == 2  # reported before anything is played


def test_missing_robot_files_are_reported(monkeypatch):
    pytest.importorskip("mujoco")
    from pomdplite.worlds.grasp import jaco

    real = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "dm_control" else real(name))
    with pytest.raises(pl.PomdpLiteError, match="the Jaco's files come with the package dm_control"):
        jaco.robot_files()


# ---------------------------------------------------------------------- the gantry


@pytest.fixture(scope="module")
def gantry():
    pytest.importorskip("mujoco")
    with pl.make_world("gantry", pl.make_model("grasp-gantry")) as world:
        yield world


def until_stopped(world, action=FORWARD):
    for _ in range(30):
        outcome = world.step(action)
        if world.x.stopped:
            return outcome
    raise AssertionError("nothing was in the way")


def test_gantry_picks_a_cup_off_the_grid(gantry):
    gantry.place_cup(np.array([0.0043, 0.1834]))
    outcome = until_stopped(gantry)
    assert outcome.o == gantry.model.observation_index("both") and not outcome.terminated
    assert np.abs(gantry.cup_place - [0.0043, 0.1834]).max() < 0.003  # a guarded move does not push the cup about
    assert gantry.step(CLOSE).o == gantry.model.observation_index("both")
    outcome = gantry.step(PICK)
    assert outcome.terminated and outcome.reward == 100.0 and gantry.success and gantry.data.xpos[gantry._cup][2] > 0.45


def test_gantry_feels_the_cup_with_the_finger_that_meets_it(gantry):
    for action, finger in (("+x", "left"), ("-x", "right")):
        gantry.place_cup(np.array([0.002, 0.17]))
        for _ in range(11):
            gantry.step(FORWARD)
        felt = until_stopped(gantry, gantry.model.action_index(action)).o
        assert gantry.model.observation_name(felt) == finger


def test_gantry_stops_at_its_fingertip_and_feels_nothing_inside(gantry):
    gantry.place_cup(np.array([0.066, 0.17]))
    assert until_stopped(gantry).o == gantry.model.observation_index("none")
    assert gantry.x.depth < 0.06 and not gantry.success


def test_gantry_misses_where_there_is_no_cup(gantry):
    gantry.place_cup(np.array([0.0, 0.2]))
    gantry.step(CLOSE)
    outcome = gantry.step(PICK)
    assert outcome.terminated and outcome.reward == -100.0 and not gantry.success


def test_costs_are_those_of_the_true_region(gantry):
    gantry.place_cup(np.array([0.035, 0.2]))
    assert gantry.step(FORWARD).reward == -5.0
    gantry.place_cup(np.array([0.015, 0.2]))
    assert gantry.step(FORWARD).reward == -2.0


def test_planning_in_the_gantry_succeeds():
    pytest.importorskip("mujoco")
    played = pl.evaluate("grasp", "pomdp-lite", 8, seed=3, world="gantry")
    assert played.success_rate >= 0.75 and played.problem == "grasp in gantry"


def test_a_cup_that_falls_ends_the_trial(gantry):
    gantry.place_cup(np.array([0.0, 0.6]))
    outcome = gantry.step(FORWARD)
    for _ in range(3):
        outcome = outcome if outcome.terminated else gantry.step(FORWARD)
    assert outcome.terminated and outcome.reward == -100.0 and not gantry.success
    assert any("fell off the shelf" in note for note in gantry.notes)


def test_a_simulation_that_diverges_ends_the_trial(gantry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    gantry.place_cup(np.array([0.0, 0.2]))
    gantry.data.qvel[:] = np.nan
    outcome = gantry.step(FORWARD)
    assert outcome.terminated and outcome.reward == -100.0 and not gantry.success
    assert any("diverged" in note for note in gantry.notes) and not list(tmp_path.iterdir())
    gantry.place_cup(np.array([0.0, 0.2]))
    assert not gantry.step(FORWARD).terminated  # the next trial is unaffected


def test_a_shelf_is_not_for_tigers():
    pytest.importorskip("mujoco")
    with pytest.raises(pl.UsageError, match="for grasp, not for Tiger"):
        pl.make_world("gantry", pl.Tiger())


# ---------------------------------------------------------------------- pictures


@pytest.fixture(scope="module")
def camera(gantry):
    gantry.place_cup(np.array([0.0, 0.2]))
    try:
        gantry.picture()
    except pl.PomdpLiteError as error:
        pytest.skip(str(error))
    return gantry


def test_the_camera_sees_the_cup(camera):
    seen = camera.picture().astype(int)
    red = (seen[..., 0] > 100) & (seen[..., 1] < 80) & (seen[..., 2] < 80)
    assert seen.shape == (480, 640, 3) and 300 < red.sum() < 100_000


def test_missing_opengl_is_reported(gantry, monkeypatch):
    def refuse(*arguments):
        raise RuntimeError("no display")

    monkeypatch.setattr(gantry.camera, "_renderer", None)
    monkeypatch.setattr(gantry._mj, "Renderer", refuse)
    with pytest.raises(pl.PomdpLiteError, match="cannot render off-screen here"):
        gantry.picture()


@pytest.mark.parametrize("suffix", ["gif", "mp4"])
def test_a_film_of_an_episode(camera, suffix, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    from pomdplite.views.pictures import pixels, step_figure
    from pomdplite.views.video import Video

    film, planner = Video(tmp_path / f"out.{suffix}"), pl.PomdpLite(camera.model)
    shown = []

    def look(step):
        if step.t < 2:
            shown.append(step)
            film.add(pixels(step_figure(camera.model, step, camera.picture())))

    run_episode(planner, camera, 0, 0, look)
    film.save()
    assert len(film.frames) == 2 and film.path.stat().st_size > 5_000


def test_bad_films_are_refused_before_they_begin(tmp_path):
    from pomdplite.views.video import Video

    for path, message in ((tmp_path / "out.avi", "must end in .gif or .mp4"), (tmp_path / "no" / "x.gif", "no folder")):
        with pytest.raises(pl.UsageError, match=message):
            Video(path)


def test_pictures_without_matplotlib_are_refused_before_they_begin(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    monkeypatch.setattr(sys, "argv", ["pomdplite", "watch", "tiger", "--pictures", str(tmp_path / "p")])
    with pytest.raises(SystemExit):
        cli.main()
    said = capsys.readouterr()
    assert "pictures need matplotlib: pip install 'pomdplite[plots]'" in said.err and not said.out
    assert not (tmp_path / "p").exists()


# ---------------------------------------------------------------------- the Jaco


@pytest.fixture(scope="module")
def jaco():
    pytest.importorskip("mujoco")
    if importlib.util.find_spec("dm_control") is None:
        pytest.skip("the robot files of dm_control are not installed")
    with pl.make_world("jaco", pl.make_model("grasp-jaco")) as world:
        yield world


def test_jaco_picks_a_cup(jaco):
    jaco.place_cup(np.array([-0.0037, 0.1921]))
    assert until_stopped(jaco).o != jaco.model.observation_index("none")
    assert jaco.step(CLOSE).o == jaco.model.observation_index("both")
    assert jaco.step(PICK).reward == 100.0 and jaco.success


def test_a_world_reports_its_constants(jaco):
    constants = Scenario("grasp", "jaco").constants(Scenario("grasp", "jaco").planning_model())
    assert constants["robot"].startswith("Kinova Jaco") and constants["simulator"].startswith("MuJoCo ")
    assert "opening 111 mm" in constants["gripper and cup"] and constants["β"] == f"{jaco.model.beta:g}"


def test_jaco_moves_where_it_is_commanded(jaco):
    jaco.place_cup(np.array([0.0, 0.21]))
    for action in ["+x"] * 7 + ["+y"] * 5 + ["-x"] * 14 + ["-y"] * 5:
        jaco.step(jaco.model.action_index(action))
        assert np.abs(jaco.palm_place - [jaco.x.side, jaco.x.depth]).max() < 0.0015
    assert (jaco.x.side, jaco.x.depth) == (-0.07, 0.0)


def test_the_jacos_geometry_is_that_of_its_hand(jaco):
    """The fit of benchmarks/fit_grasp.py, on a coarser grid."""
    jaco.place_cup(np.array([0.0, 0.25]))
    palm = jaco.palm_place.copy()
    grid = [np.array([dx, dy]) for dx in np.arange(-0.1, 0.11, 0.01) for dy in np.arange(0.03, 0.13, 0.01)]
    wrong = sum(jaco.overlaps(palm + p) != bool(jaco.grasp.geometry.overlaps(*p)) for p in grid)
    assert wrong <= 0.06 * len(grid)


def test_an_arm_that_cannot_reach_says_so(jaco):
    with pytest.raises(pl.PomdpLiteError, match="cannot move its palm to"):
        jaco._arm_control(np.array([0.0, 2.0, 0.45]))


@pytest.mark.parametrize("name", ["gantry", "jaco"])
def test_same_seed_same_trial_to_the_last_digit(name, request):
    world = request.getfixturevalue(name)
    planner = pl.PomdpLite(world.model)
    first = run_episode(planner, world, 5, 1)
    end = world.data.qpos.copy(), world.data.qvel.copy(), world.data.time
    run_episode(planner, world, 5, 2)
    with pl.make_world(name, world.model) as other:
        for place in (other, world):
            again = run_episode(planner, place, 5, 1)
            assert (again.discounted, again.steps, again.notes) == (first.discounted, first.steps, first.notes)
            assert all(map(np.array_equal, end, (place.data.qpos, place.data.qvel, place.data.time)))


def test_mujoco_that_cannot_be_imported_says_why(monkeypatch):
    real = builtins.__import__

    def broken(name, *rest):
        if name == "mujoco":
            raise ImportError("cannot load OSMesa")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(pl.PomdpLiteError, match="cannot load OSMesa; try MUJOCO_GL=disable"):
        import_mujoco()
