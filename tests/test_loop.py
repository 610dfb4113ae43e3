"""What a robot's own loop needs: states in any form, and beliefs that can be looked at."""

import numpy as np
import pytest

import pomdplite as pl


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
    with pytest.raises(pl.UsageError, match="1.7.* is not a value of the state's field cell"):
        planner.update(0, row[0], "left")
