"""Models with real numbers: noise of steps, readings, angles; compiled and interpreted, in worlds and checks."""

import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from real_models import KINDS, Compass, Counter, Pendulum, RealLightDark, interpreted

import pomdplite as pl
from pomdplite import rng
from pomdplite.compile.noise import nodes, wrapped
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import simulate
from pomdplite.model.records import to_words
from pomdplite.planners.identity import described, sampled_numbers

# ---------------------------------------------------------------------- draws


def played(model, steps=12, seed=3):
    world, found = pl.ModelWorld(model), []
    world.reset(seed)
    for t in range(steps):
        y, o, reward, terminated, _ = world.step(t % len(model.actions))
        found.append((y.tobytes(), o if isinstance(o, int) else o.tobytes(), reward))
        if terminated:
            break
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_compiled_and_interpreted_models_draw_the_same_bits(kind):
    assert played(kind()) == played(interpreted(kind))


def draws(model, x, theta, a, count):
    """Seen rows after one step, [draw, words]."""
    view = model.compiled_form.kernel_view()
    out, stream = allocate_outcomes(view.kernel_model, 1), rng.stream(5)
    words = to_words(model.state.dtype, model.state_record(x)).reshape(1, -1)
    hidden = to_words(model.hidden.dtype, model.hidden.record(theta)).reshape(1, -1)
    rows = np.zeros((count, out.y.shape[1]), np.uint64)
    for i in range(count):
        row, _, _ = simulate(view.kernel_model, words, hidden, a, rng.uniform(stream), rng.uniform(stream), out)
        rows[i] = out.y[row]
    view.raise_fault()
    return rows


def test_noise_has_the_declared_moments():
    """20,000 draws: means within 5 standard errors, which a right model misses once in a million."""
    n = 20_000
    rows = draws(Compass(), {"turns": 4, "heading": (0.0, 0.0), "still": 1.0}, (0, 1), 1, n)
    ints, floats = rows.view(np.int64), rows.view(np.float64)
    assert set(ints[:, 0]) == {4} and set(rows[:, 3]) == {0}  # -0.0 is 0.0
    for column, mean, sd in ((1, 0.5, 0.2), (2, -0.5, 0.5), (4, 0.7, math.hypot(0.2, 0.3))):
        drawn = floats[:, column]
        assert abs(drawn.mean() - mean) < 5 * sd / math.sqrt(n)
        assert abs(drawn.std() / sd - 1) < 5 / math.sqrt(2 * n)
    assert set(ints[:, 5]) == {4}
    noise = (floats[:, 1] - 0.5, floats[:, 2] + 0.5, floats[:, 4] - floats[:, 1] - 0.2)
    correlations = np.corrcoef(noise) - np.eye(3)
    assert np.abs(correlations).max() < 5 / math.sqrt(n)


def test_given_numbers_are_standard_normal():
    rows = draws(Counter(), {"v": 1.0}, (1,), 0, 20_000)
    u = (np.log(rows[:, 0].view(np.float64)) - 1.0) / 0.5
    assert abs(u.mean()) < 5 / math.sqrt(20_000) and abs(u.std() - 1) < 5 / math.sqrt(40_000)
    share = rows[:, 1].view(np.int64).mean()
    assert abs(share - 0.5 * math.erfc(-1 / math.sqrt(2))) < 5 * 0.5 / math.sqrt(20_000)


def test_angles_stay_between_minus_pi_and_pi():
    rows = draws(Compass(), {"turns": 0, "heading": (0.1, -0.1), "still": 0.0}, (1, 1), 0, 2000)
    angles = rows.view(np.float64)[:, [1, 2, 4]]
    assert (angles >= -math.pi).all() and (angles < math.pi).all() and (np.abs(angles).max(axis=0) > 2).all()
    for angle in (math.pi, -math.pi, 7.0, -1e6, 0.0, np.nextafter(-math.pi, -4), np.nextafter(math.pi, 4)):
        inside = wrapped(angle)
        assert -math.pi <= inside < math.pi and math.isclose(math.cos(inside), math.cos(angle), abs_tol=1e-9)


def test_one_uniform_number_gives_independent_normal_ones():
    found, n = np.zeros((4000, 3)), 4000
    stream = rng.stream(1)
    for row in found:
        u = rng.uniform(stream)
        rng.noise_from(u, 3, row)
        assert row[0] == rng.normal_quantile(u)
    assert np.abs(found.mean(axis=0)).max() < 5 / math.sqrt(n)
    assert np.abs(np.corrcoef(found.T) - np.eye(3)).max() < 5 / math.sqrt(n)


@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_nodes_of_noise_have_the_moments_of_normal_numbers(count):
    at, weights = nodes(count)
    assert math.isclose(weights.sum(), 1) and np.allclose(weights @ at, 0)
    assert np.allclose(at.T @ (weights[:, None] * at), np.eye(count))


@pytest.mark.parametrize("kind", [Compass, Counter])
def test_a_reward_of_the_next_state_is_averaged_over_the_noise(kind):
    """E[y.heading[0]] is the mean, and E[exp(r + u / 2)] = exp(r + 1/8), here by five nodes."""
    expected = {Compass: 0.5, Counter: math.exp(0.5 + 0.125)}[kind]
    for model in (kind(), interpreted(kind)):
        world = pl.ModelWorld(model)
        theta = model.hidden.record([0] * len(model.hidden.components))
        world.reset(0)
        world._theta = to_words(model.hidden.dtype, theta).reshape(1, -1)
        assert math.isclose(world.step(0).reward, expected, rel_tol=1e-4)


# ---------------------------------------------------------------------- in and out of the library


def test_a_reading_is_a_record_in_python():
    world = pl.ModelWorld(RealLightDark())
    world.reset(1)
    result = world.step(0)
    assert isinstance(result.o.position, float) and not result.terminated
    model = world.model
    assert model.observation_name(result.o) == f"position={float(result.o.position)}"
    for same in (result.o, {"position": 2.5}, (2.5,), 2.5, None):
        words, number = model.seen_words({"over": False}, same)
        value = words.view(np.float64)[1]
        assert number == 0 and value == (0.0 if same is None else result.o.position if same is result.o else 2.5)
    with pytest.raises(pl.UsageError, match="RealLightDark: a reading has the fields position"):
        model.seen_words({"over": False}, {"place": 1.0})
    assert "readings" in repr(model)


def test_hints_remember_readings():
    for model in (Counter(), interpreted(Counter)):
        run = model.compiled_form.interpreted
        h, y = pl.State(seen=int).dtype, model.initial_state()
        memory = np.zeros(1, h).view(np.recarray)[0]
        run.remember(y, 0, y, model.reading_record(7), memory)
        assert memory.seen == 7


@pytest.mark.parametrize("kind", KINDS)
def test_right_models_pass_the_check(kind):
    for model in (kind(), interpreted(kind)):
        report = pl.check_model(model, calls=2000)
        assert report.ok and not report.findings, report.findings


def test_the_check_finds_a_reading_that_depends_on_another_component():
    class Confused(Compass):
        def depends(m, x, a):
            return 0

        def reward(m, x, theta, a):
            return 0.0

    findings = pl.check_model(Confused(), calls=500).findings
    assert any("depends returns rate" in f.message and "observation differs" in f.message for f in findings), findings


@pytest.mark.parametrize("compiled", [True, False])
def test_the_check_finds_draws_whose_density_is_zero(compiled):
    def density(m, x, theta, a, y):
        return 1.0 if 1.0 <= y.v <= 2.0 else 0.0

    def likelihood(m, y, theta, a, z):
        return 1.0 if z.n == 0 else 0.0

    for name, function, wrong in (("density", density, "transition"), ("likelihood", likelihood, "observation")):
        report = pl.check_model(changed(Counter, compiled=compiled, **{name: function})(), calls=200)
        assert not report.ok and f"{name} is 0 for what {wrong} draws at " in report.findings[0].message


def test_models_that_differ_in_a_density_alone_have_different_identities():
    def density(m, x, theta, a, y):
        return 1.0

    assert not np.array_equal(sampled_numbers(changed(Counter, density=density)()), sampled_numbers(Counter()))


@pytest.mark.parametrize("planner", sorted(pl.PLANNERS.keys() - {"pomdp-lite", "mean-mdp", "pomcpow", "pft-dpw"}))
@pytest.mark.parametrize(("kind", "has"), [(Pendulum, "noise in its steps"), (RealLightDark, "readings instead of")])
def test_planners_that_need_listed_outcomes_refuse_in_one_sentence(planner, kind, has):
    with pytest.raises(pl.UnsuitableError, match=f"{planner} needs .* {kind.__name__} has {has}"):
        pl.make_planner(planner, kind()).prepare()


def test_models_that_differ_in_noise_alone_have_different_identities():
    class Louder(Pendulum):
        noise = pl.Gaussian(speed=0.06)

    assert described(Louder()) != described(Pendulum())
    assert not np.array_equal(sampled_numbers(Louder()), sampled_numbers(Pendulum()))
    assert np.array_equal(sampled_numbers(Compass()), sampled_numbers(Compass()))


SECOND = """
import sys
sys.path.insert(0, sys.argv[1])
import real_models, pomdplite as pl
from numba.core import event
compiled = []
class Count(event.Listener):
    def on_start(self, e): compiled.append(str(e.data))
    def on_end(self, e): pass
with event.install_listener("numba:run_pass", Count()):
    for kind in (real_models.Compass, real_models.Counter):
        world = pl.ModelWorld(kind()); world.reset(0); world.step(0)
print(len(compiled))
"""


def test_a_second_process_compiles_nothing():
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", SECOND, str(Path(__file__).parent)], capture_output=True, text=True, check=True
        )
    assert run.stdout.strip() == "0"


# ---------------------------------------------------------------------- refusals


def changed(kind, **attributes):
    return type(kind.__name__, (kind,), attributes)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: pl.Gaussian(), "Gaussian needs the standard deviation"),
        (lambda: pl.Gaussian(v=-0.1), "the standard deviation of v must be at least 0, not -0.1"),
        (lambda: pl.Gaussian(v="much"), "the standard deviation of v must be at least 0"),
        (lambda: pl.Reading(), "Reading needs at least one field"),
        (lambda: pl.Reading(d=float, noise=0.5), "noise must be a Gaussian"),
        (lambda: changed(Pendulum, noise=pl.Gaussian(mass=1.0))(), "Pendulum.noise: there is no field mass"),
        (lambda: changed(Compass, noise=pl.Gaussian(turns=1.0))(), "turns cannot have noise"),
        (lambda: changed(Compass, noise=pl.Gaussian(heading=(1, 2, 3)))(), "heading has the shape"),
        (lambda: changed(Compass, observations=pl.Reading(turns=int, noise=pl.Gaussian(turns=1.0)))(),
         "Compass.observations: turns cannot have noise"),
        (lambda: changed(Pendulum, next_states=2)(), "leave next_states at 1"),
        (lambda: changed(Counter, noise=0.5)(), r"Counter.noise must be Gaussian\(...\), .*, not 0.5"),
        (lambda: changed(Pendulum, noise={"speed": 0.1})(), r"Pendulum.noise must be Gaussian\(...\)"),
        (lambda: changed(Counter, density=None)(), "Counter.noise is 1, so the model must define density"),
        (lambda: changed(Counter, noise=None)(), "set noise to their number and define density"),
        (lambda: changed(Counter, likelihood=pl.Model.likelihood)(), "so the model must define likelihood"),
        (lambda: changed(RealLightDark, observation=pl.Model.observation)(),
         r"is a Reading, but the model does not define observation\(m, y, theta, a, z\)"),
        (lambda: changed(Compass, transition=lambda m, x, theta, a, y, u: None)(), r"It may also take sd\."),
        (lambda: changed(RealLightDark, observations=("near", "far"))(), r"set observations = Reading\(\.\.\.\)"),
    ],
)  # fmt: skip
def test_wrong_declarations_are_refused_in_one_sentence(model, message):
    with pytest.raises(pl.ModelError, match=message):
        made = model()
        made.compiled_form.definition.form  # noqa: B018


def test_a_number_called_noise_stays_a_parameter():
    class Shaky(pl.Tiger):
        noise = 2

        def reward(m, x, theta, a):
            return m.noise + 0.0

    world = pl.ModelWorld(Shaky())
    world.reset(0)
    assert world.step(0).reward == 2.0


@pytest.mark.parametrize("compiled", [True, False])
def test_a_wrong_standard_deviation_is_named(compiled):
    def transition(m, x, theta, a, y, sd):
        sd.speed = -1.0

    def observation(m, y, theta, a, z, sd):
        z.position = math.nan

    with pytest.raises(pl.ModelError, match=r"transition gives the standard deviation -1 at x = \(angle=.*; it must"):
        played(changed(Pendulum, transition=transition, compiled=compiled)())
    with pytest.raises(pl.ModelError, match=r"observation writes nan at y = \(over=False\), theta: position=.*left-10"):
        played(changed(RealLightDark, observation=observation, compiled=compiled)())


def test_the_check_says_what_python_raises_where_compiled_code_goes_on_with_nan():
    def transition(m, x, theta, a, y):
        y.speed = math.log(x.speed - 5.0)

    report = pl.check_model(changed(Pendulum, transition=transition)(), calls=50)
    assert "transition writes nan at x = (angle=" in str(report)
    assert "; as Python it raises ValueError: math domain error." in str(report)


def test_the_check_warns_of_episodes_without_end_and_of_angles_that_do_not_wrap():
    class Unwrapped(Pendulum):
        state = pl.State(angle=float, speed=float)
        grid = pl.Grid(angle=(-math.pi, math.pi, 21), speed=(-8, 8, 11))
        discount = 1.0
        horizon = None

        def start(self, x):
            x.angle = 3.0
            x.speed = 7.0

    report = pl.check_model(Unwrapped(), states=2000)
    assert report.ok and "neither a horizon nor terminal states: they are cut after 10,000 steps." in str(report)
    assert "If it is an angle, declare angle=Angle, which wraps around." in str(report)


@pytest.mark.parametrize("compiled", [True, False])
def test_an_exception_under_some_noise_is_replayed(compiled):
    def transition(m, x, theta, a, y, u):
        if u[0] > 0.5:
            raise ValueError("too loud")

    def reward(m, x, theta, a):
        return 0.0

    with pytest.raises(pl.ModelError, match=r"transition raised ValueError at .*: too loud"):
        played(changed(Counter, transition=transition, reward=reward, compiled=compiled)(), steps=40)


class Cart(pl.Model):
    """A cart of unknown mass; only its speed has noise."""

    state = pl.State(place=float, speed=float)
    hidden = pl.Hidden(mass=pl.Uniform(0.5, 2.0))
    actions = ("wait", "push")
    noise = pl.Gaussian(speed=0.02)
    discount = 0.95
    horizon = 20

    def transition(m, x, theta, a, y):
        y.speed = x.speed + a / theta.mass
        y.place = x.place + y.speed

    def reward(m, x, theta, a):
        return -abs(x.place - 1.0)


def test_a_number_without_noise_beside_noisy_ones_is_found_and_explained():
    report = pl.check_model(Cart(), calls=50)
    assert report.ok and "y.place tells theta at x = (place=0.0 speed=0.0), action 'push': it has no noise" in str(
        report
    )
    assert str(report).count("tells theta") == 1
    with pytest.raises(pl.ImpossibleObservationError, match=r"If x\.place follows from a hidden number without noise"):
        pl.initial_belief(Cart()).update((0.0, 0.0), "push", (0.8, 0.81), None)


def test_a_number_that_follows_from_x_alone_needs_no_noise():
    def transition(m, x, theta, a, y):
        y.speed = x.speed + a / theta.mass
        y.place = x.place + x.speed

    assert "tells theta" not in str(pl.check_model(changed(Cart, transition=transition)(), calls=50))
