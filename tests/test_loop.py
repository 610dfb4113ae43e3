"""What a robot's own loop needs: states in any form, and beliefs that can be looked at."""

import numpy as np
import pytest

import pomdplite as pl
import pomdplite.testing
from pomdplite.beliefs.protocol import StepNote


class Door(pl.Model):
    """Every kind of field; the sensor tells the hidden side 80 % of the time."""

    state = pl.State(cell=int, door=("open", "shut"), seen=(bool, 4), force=np.float32)
    hidden = pl.Hidden(side=("left", "right"))
    actions = ("look", "wait")
    observations = ("left", "right")
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.cell = x.cell + 1
        y.door = 1
        y.seen[2] = 1
        y.force = np.float32(0.1)

    def observation(m, y, theta, a, z):
        z[theta.side] = 0.8
        z[1 - theta.side] = 0.2

    def reward(m, x, theta, a):
        return 1.0 if a == theta.side else 0.0

    def terminal(m, x):
        return x.cell >= 3


DOOR = Door()
NAMES = DOOR.state.dtype.names


def after_one_step():
    """The state after one step, as a record."""
    return DOOR.compiled_form.interpreted.transition(DOOR.initial_state(), DOOR.hidden.record([0]), 0)[0][0]


def packed(reverse=False):
    """The same record in another layout."""
    names = NAMES[::-1] if reverse else NAMES
    row = np.zeros(1, np.dtype([(n, DOOR.state.dtype[n]) for n in names]))
    for name in names:
        row[0][name] = after_one_step()[name]
    return row


def array():
    whole = np.zeros(1, DOOR.state.dtype)
    whole[0] = after_one_step()
    return whole


FORMS = {
    "np.record": after_one_step,
    "np.void": lambda: array()[0],
    "element of a recarray": lambda: array().view(np.recarray)[0],
    "array of one record": array,
    "recarray of one record": lambda: array().view(np.recarray),
    "array without dimensions": lambda: array().reshape(()),
    "another layout": lambda: packed()[0],
    "fields in another order": lambda: packed(reverse=True)[0],
    "dictionary": lambda: {"door": "shut", "cell": 1, "seen": [0, 0, 1, 0], "force": 0.1},
    "dictionary of fields": lambda: {n: after_one_step()[n] for n in NAMES},
    "tuple": lambda: tuple(after_one_step()),
    "tuple with names": lambda: (1, "shut", (0, 0, 1, 0), 0.1),
    "record.item()": lambda: after_one_step().item(),
}


@pytest.mark.parametrize("form", FORMS)
def test_planners_and_beliefs_take_a_state_in_every_form(form):
    planner, y = pl.PomdpLite(DOOR), FORMS[form]()
    planner.reset()
    planner.belief.update(DOOR.initial_state(), "look", y, "left")
    assert planner.belief.marginals()[0].tolist() == pytest.approx([0.8, 0.2])
    planner.reset()
    planner.update("look", y, "left")
    assert planner.state == after_one_step()
    planner.recover(y)
    assert planner.state == after_one_step()
    assert planner.belief.marginals()[0].tolist() == pytest.approx([0.65, 0.35])


def test_what_a_world_returns_is_taken_as_it_is():
    planner, world = pl.PomdpLite(DOOR), pl.make_world("model", DOOR)
    planner.reset()
    world.reset(3)
    result = world.step(0)
    planner.update(0, result.y, result.o)
    planner.recover(result.y)
    assert planner.state == result.y == after_one_step()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ((1, "shut", (0, 0, 1, 0)), "a state has the fields cell, door, seen, force"),
        (np.zeros(2, DOOR.state.dtype), "a state has the fields"),
        (np.zeros(1, np.dtype([("cell", int)]))[0], "a state has the fields"),
        ((1.5, "shut", (0, 0, 1, 0), 0.1), "1.5 is not a value of the state's field cell"),
        ((1, "ajar", (0, 0, 1, 0), 0.1), "'ajar' is not a value of the state's field door"),
        ((1, "shut", 1, 0.1), "1 is not a value of the state's field seen"),
    ],
)
def test_what_is_not_a_state_is_refused_by_name(given, message):
    planner = pl.PomdpLite(DOOR)
    planner.reset()
    for tell in (lambda: planner.update(0, given, "left"), lambda: planner.recover(given)):
        with pytest.raises(pl.UsageError, match=message):
            tell()


def test_a_record_of_other_types_is_not_rounded():
    """A record with the right names and a cell of 1.7 is refused, not cut off to 1."""
    row = np.zeros(1, np.dtype([(n, float if n == "cell" else DOOR.state.dtype[n]) for n in NAMES]))
    row["cell"] = 1.7
    planner = pl.PomdpLite(DOOR)
    planner.reset()
    with pytest.raises(pl.UsageError, match=r"1.7.* is not a value of the state's field cell"):
        planner.update(0, row[0], "left")


class Lift(pl.Model):
    """An unknown mass and grip that cannot be listed; pushing tells whether the mass is above a threshold."""

    state = pl.State(pushes=int)
    hidden = pl.Population(mass=float, grip=("good", "poor"), offset=(float, 2))
    actions = ("push softly", "push hard")
    observations = ("stays", "slides")
    discount = 0.9
    horizon = 6

    def prior(m, theta, random):
        theta.mass = 4.0 * pl.uniform(random)
        theta.grip = int(pl.uniform(random) < 0.25)
        theta.offset[0], theta.offset[1] = 1.0, 2.0

    def move(m, x, theta, random):
        return False

    def transition(m, x, theta, a, y):
        y.pushes = min(x.pushes + 1, 5)

    def observation(m, y, theta, a, z):
        threshold = 1.0 if a == 0 else 3.996
        z[int(theta.mass < threshold)] = 1.0

    def reward(m, x, theta, a):
        return -theta.mass if a == 1 else -1.0


LIFT = Lift()


@pytest.mark.parametrize("kind", [pl.ParticleBelief, pl.RejectionBelief])
def test_a_population_shows_its_particles_means_and_quantiles(kind):
    belief = kind(LIFT, 4000)
    near = 5 * 4 / np.sqrt(12 * 4000)  # standard errors of a mean of 4,000 draws, uniform from 0 to 4
    assert belief.mean()["mass"] == pytest.approx(2.0, abs=near)
    assert belief.mean()["offset"].tolist() == pytest.approx([1.0, 2.0])
    assert set(belief.mean()) == {"mass", "offset"}  # a grip has a name, not a number
    for q in (0.0, 0.05, 0.5, 0.95, 1.0):
        assert belief.quantile(q)["mass"] == pytest.approx(4 * q, abs=2 * near)
        assert belief.quantile(q)["offset"].tolist() == [1.0, 2.0]
    shown = belief.particles()
    assert len(shown) == 4000 and sum(p.probability for p in shown) == pytest.approx(1.0)
    belief.update((0,), "push softly", (1,), "stays")
    assert belief.quantile(0.0)["mass"] >= 1.0 and belief.mean()["mass"] == pytest.approx(2.5, abs=2 * near)
    probabilities = [p.probability for p in belief.particles()]
    assert probabilities == sorted(probabilities, reverse=True) and sum(probabilities) == pytest.approx(1.0)
    with pytest.raises(pl.UsageError, match="a quantile needs a probability from 0 to 1, not 95"):
        belief.quantile(95)


@pytest.mark.parametrize("kind", [pl.ParticleBelief, pl.RejectionBelief])
def test_a_population_without_a_summary_is_shown_field_by_field(kind):
    belief = kind(LIFT, 2000)
    mass, grip, offset = belief.marginals()
    assert mass.tolist() == pytest.approx([belief.mean()["mass"]])
    assert grip.tolist() == pytest.approx([0.75, 0.25], abs=0.05) and grip.sum() == pytest.approx(1.0)
    assert offset.tolist() == pytest.approx([1.0, 2.0])
    pl.testing.problem_conforms(LIFT)


class Bins(pl.Model):
    """Listed numbers and names: nothing is ever learnt about them."""

    state = pl.State()
    hidden = pl.Hidden(mass={0.5: 0.2, 1.0: 0.3, 4.0: 0.5}, colour=("red", "blue"), load=pl.independent(2, (1, 3)))
    actions = ("wait",)
    discount = 0.9

    def transition(m, x, theta, a, y):
        pass

    def reward(m, x, theta, a):
        return 0.0


def test_an_exact_belief_shows_its_values_means_and_quantiles():
    belief = pl.initial_belief(Bins())
    assert belief.mean()["mass"] == pytest.approx(2.4) and belief.mean()["load"].tolist() == [2.0, 2.0]
    assert set(belief.mean()) == {"mass", "load"}
    medians = [belief.quantile(q)["mass"] for q in (0.0, 0.2, 0.21, 0.5, 0.51, 1.0)]
    assert medians == [0.5, 0.5, 1.0, 1.0, 4.0, 4.0]
    shown = belief.particles()
    assert len(shown) == 3 * 2 * 4 and sum(p.probability for p in shown) == pytest.approx(1.0)
    assert shown[0].theta.mass == 4.0 and shown[0].probability == pytest.approx(0.5 / 8)


def test_the_values_of_a_belief_are_present_ones_and_impossible_ones_are_left_out():
    model = pl.make_model("tiger")
    belief, x = pl.initial_belief(pl.Tiger(accuracy=1.0)), model.initial_state()
    belief.update(x, "listen", x, "hear-right")
    ((theta, p),) = belief.particles()
    assert theta.tiger == 1 and p == 1.0 and belief.mean() == {}
    with pytest.raises(pl.UsageError, match="1,048,576 joint values, more than the 65,536 that are listed"):
        pl.initial_belief(pl.make_model("rocksample-20-20")).particles()


@pytest.mark.parametrize("kind", [pl.ParticleBelief, pl.RejectionBelief])
def test_few_effective_particles_are_told(kind):
    """A mass of at least 3.996 leaves one particle in a thousand; a mass of at least 1 leaves three in four."""
    belief = kind(LIFT, 3000)
    belief.update((0,), "push softly", (1,), "stays")
    (quality,) = belief.notes
    assert isinstance(quality, StepNote) and 0.7 * 3000 < int(quality.split()[0]) < 0.8 * 3000
    assert quality.endswith(f" effective particles of 3000, {belief.acceptance:.0%} of moves accepted")
    belief.update((1,), "push hard", (2,), "stays")
    (note,) = (n for n in belief.notes if not isinstance(n, StepNote))
    assert note.startswith("step 2 left ") and note.endswith(" effective particles of 3000; use more particles")
    assert 0 < int(note.split()[3]) < 0.02 * 3000
    belief.reset()
    assert belief.notes == ()


def test_few_effective_particles_are_told_with_decisions():
    planner = pl.PomdpLite(LIFT, sims=20, particles=3000)
    planner.reset()
    planner.update("push hard", (1,), "stays")
    assert any("effective particles of 3000" in note for note in planner.decide().notes)
