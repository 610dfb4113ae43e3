"""The table of model functions, and everything that follows from it."""

import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import pomdplite as pl
from pomdplite.compile import addresses
from pomdplite.model.functions import FUNCTIONS
from pomdplite.model.interface import METHODS, ModelInterface, Settings

ENTRY = """
import importlib.util, sys
from pathlib import Path

source = Path(sys.argv[1]) / "src" / "pomdplite" / "model" / "functions.py"
spec = importlib.util.spec_from_file_location("pomdplite.model.functions", source)
table = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(table)
Kind = table.Kind
table.FUNCTIONS += (
    table.ModelFunction(
        "surprise", {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.HIDDEN, "u": Kind.UNIFORM},
        table.Returns.NUMBER, table.Section.HINT, "Return how surprising theta is.",
    ),
    table.ModelFunction(
        "favour", {"m": Kind.PARAMETERS, "x": Kind.STATE, "f": Kind.ACTION_FLAGS},
        table.Returns.NOTHING, table.Section.HINT, "Set f[a] = 1 for good actions.",
    ),
)

import numpy as np
import pomdplite as pl
from pomdplite.compile import addresses, codegen, wrappers
from pomdplite.compile.jit import kernel

class Odd(pl.Tiger):
    scale = 4.0
    def surprise(m, x, theta, u):
        if u > 0.9:
            raise ValueError("too much")
        return m.scale * theta.tiger + u
    def favour(m, x, f):
        f[1] = 1.0
        f[2] = 1.0

@kernel
def surprise(model, x, theta, u):
    return addresses.call.surprise(model.functions, addresses.address(x, 0), addresses.address(theta, 1), u)

@kernel
def favour(model, x, f):
    return addresses.call.favour(model.functions, addresses.address(x, 0), addresses.address(f, 0))

assert (addresses.SLOTS["surprise"], addresses.SLOTS["favour"]) == (len(table.FUNCTIONS) - 1, len(table.FUNCTIONS))
text = wrappers.module_text(Odd().compiled_form.definition)
assert '@cfunc("float64(uint64, uint64, uint64, float64)")\\ndef surprise(m, x, theta, u):' in text
for compiled in (True, False):
    model = Odd() if compiled else type("Slow", (Odd,), {"compiled": False})()
    view, f = model.compiled_form.kernel_view(), np.full(3, 9.0)
    x = view.root().reshape(1, -1)
    assert surprise(view.kernel_model, x, view.table.theta, 0.5) == 4.5
    assert surprise(view.kernel_model, x, view.table.theta, 0.95) == 0.0
    try:
        view.raise_fault()
    except pl.ModelError as error:
        assert "surprise raised ValueError at x = (opened=none), theta: tiger=right: too much" in str(error), error
    else:
        raise AssertionError("the fault is not on record")
    assert favour(view.kernel_model, x, f) == 2 and f.tolist() == [0.0, 1.0, 1.0]
    interpreted = model.compiled_form.interpreted
    assert interpreted.surprise(model.initial_state(), model.hidden.record([1]), 0.5) == 4.5
    assert interpreted.favour(model.initial_state()).tolist() == [0.0, 1.0, 1.0]
try:
    type("Wrong", (Odd,), {"surprise": lambda m, x: 0.0})().compiled_form
except pl.ModelError as error:
    assert "surprise must take (m, x, theta, u), but takes (m, x)" in str(error)
else:
    raise AssertionError("the arguments were not checked")
assert "surprise(m, x, theta, u)" in pl.Model.__doc__ and "Return how surprising theta is." in pl.Model.__doc__
assert "surprise raised ValueError" in str(pl.check_model(Odd()))
print("everything follows")
"""


def test_one_entry_in_the_table_is_all_that_a_new_function_needs(tmp_path):
    """Slot, signature, wrapper, call from kernels and from Python, argument check, check of hints, documentation."""
    script, root = tmp_path / "entry.py", Path(__file__).parents[1]
    script.write_text(ENTRY)
    done = subprocess.run([sys.executable, script, root], capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "everything follows", done.stderr


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_stubs_agree_with_the_table(function):
    stub = getattr(pl.Model, function.name)
    assert tuple(inspect.signature(stub).parameters) == tuple(function.passed())
    assert inspect.getdoc(stub).splitlines()[0] == function.doc
    assert function.call() in pl.Model.__doc__ and function.doc in pl.Model.__doc__


def test_every_stub_is_a_function_of_the_table_or_a_method():
    stubs = {name for name, value in vars(ModelInterface).items() if inspect.isfunction(value)}
    assert stubs == {f.name for f in FUNCTIONS} | set(METHODS)
    for name in METHODS:
        assert inspect.getdoc(getattr(pl.Model, name)) and f"{name}(self, " in pl.Model.__doc__
    for name in Settings.__annotations__:
        assert name in pl.Model.__doc__


def test_slots_follow_the_order_of_the_table():
    assert [addresses.SLOTS[f.name] for f in FUNCTIONS] == list(range(1, len(FUNCTIONS) + 1))
    assert addresses.PARAMETERS == 0


class Least(pl.Model):
    hidden = pl.Hidden(coin=("heads", "tails"))
    actions = ("call",)
    discount = 0.5

    def transition(m, x, theta, a, y):
        pass

    def reward(m, x, theta, a):
        return theta.coin


def test_a_stub_that_is_not_overridden_counts_as_not_defined():
    model = Least()
    assert set(model.compiled_form.definition.functions) == {"transition", "reward"}
    table = model.compiled_form.kernel_view().kernel_model.functions
    given = {addresses.PARAMETERS, addresses.SLOTS["transition"], addresses.SLOTS["reward"]}
    assert {slot for slot, address in enumerate(table) if address} == given
    world = pl.ModelWorld(model)
    world.reset(0, 0)
    assert world.success is None
    planner = pl.PomdpLite(model)
    planner.reset()
    assert planner.decide().name == "call"
    assert pl.check_model(model).ok


def test_a_function_may_be_taken_away_by_none():
    class Blind(pl.Tiger):
        observations = ()
        observation = None
        heuristic = None

    assert not {"observation", "heuristic"} & set(Blind().compiled_form.definition.functions)
