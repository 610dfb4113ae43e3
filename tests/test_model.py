"""What a model may hold, what is refused, and why."""

import pickle
import re

import numpy as np
import pytest

import pomdplite as pl


def refusal(base=pl.Tiger, /, **attributes) -> str:
    with pytest.raises(pl.ModelError) as caught:
        pl.initial_belief(type("Broken", (base,), attributes)())
    return str(caught.value)


def test_parameters_are_numbers_and_arrays_of_the_class_and_the_object():
    class Shelf(pl.Tiger):
        weights = (1, 2, 3)
        label = "not for compiled code"

        def __init__(self):
            super().__init__()
            self.table = np.arange(6.0).reshape(2, 3)
            self.eager = True

        def reward(m, x, theta, a):
            return m.table[1, m.weights[0]] + (0.5 if m.eager else 0.0)

    planner = pl.MeanMdp(Shelf())
    planner.reset()
    assert planner.decide().solution.mean_reward.tolist() == [4.5] * 3


def test_a_model_in_use_does_not_change():
    model = pl.Tiger()
    pl.initial_belief(model)
    with pytest.raises(pl.ModelError, match="already in use, so accuracy cannot change"):
        model.accuracy = 0.9
    pickle.loads(pickle.dumps(model)).accuracy = 0.9  # a copy is not in use


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"reward": lambda m, x, a: 0.0}, r"reward must take \(m, x, theta, a\), but takes \(m, x, a\)"),
        (
            {"transition": lambda m, x, theta, a, y, p: None},
            r"set next_states to the most that any \(x, theta, a\) has",
        ),
        ({"reward": 3.0}, r"reward must be a function of \(m, x, theta, a\)"),
        ({"draw": 3}, "draw must be a method"),
        ({"discount": 1.5, "__init__": lambda self: None}, "discount must be a number from 0 to 1, not 1.5"),
        ({"actions": ("go", "go")}, "distinct names"),
        ({"actions": 4}, "actions must list at least one"),
        ({"hidden": ("left", "right")}, r"hidden must be a pomdplite.Hidden"),
        ({"hidden": pl.Population(tiger=int)}, r"must define prior\(m, theta, random\)"),
        ({"observation": None}, r"names observations but does not define observation\(m, y, theta, a, z\)"),
        ({"reward": None}, r"does not define reward\(m, x, theta, a\)"),
        ({"next_states": 0}, "next_states must be a positive integer, not 0"),
        ({"beta": -3.0}, "beta must be a finite number of at least 0"),
        ({"horizon": 0}, "horizon must be a positive integer, not 0"),
        ({"memory": 3}, "memory must be a pomdplite.State"),
        ({"huge": 10**30}, "does not fit into 64 bits"),
    ],
)
def test_a_model_with_a_mistake_in_its_definition_is_refused(attributes, message):
    assert re.search(message, refusal(**attributes))


def test_a_population_has_no_components_and_does_not_evolve():
    attributes = {"hidden": pl.Population(tiger=int), "prior": lambda m, theta, random: None}
    assert "the θ of a Population is constant" in refusal(**attributes, depends=lambda m, x, a: 0)


def test_users_may_call_their_attributes_what_they_like():
    """Names that the library uses for what it derives, and names of functions that this model does not define."""

    class Named(pl.Tiger):
        source = 1.0
        plain = 2.0
        interpreted = 4.0

        def __init__(self):
            super().__init__()
            self.functions = np.array([8.0, 16.0])
            self.definition, self.factored, self.evolves, self.kernel_view = 32.0, 64.0, 128.0, 256.0
            self.start, self.success, self.move, self.upper = 512.0, 1024.0, 2048.0, 4096.0

        def reward(m, x, theta, a):
            derived = m.source + m.plain + m.interpreted + m.functions[0] + m.functions[1]
            own = m.definition + m.factored + m.evolves + m.kernel_view
            return derived + own + m.start + m.success + m.move + m.upper

    model = Named()
    planner = pl.MeanMdp(model)
    planner.reset()
    assert planner.decide().solution.mean_reward.tolist() == [8191.0] * 3
    assert not model.compiled_form.evolves
    world = pl.ModelWorld(model)
    world.reset(0, 0)
    assert world.success is False  # Tiger's own method


@pytest.mark.parametrize("name", ["action_index", "initial_state", "describe_state", "state_record", "compiled_form"])
def test_hiding_a_method_that_the_library_calls_is_refused(name):
    message = f"Broken.{name}: the library uses that name"
    with pytest.raises(pl.ModelError, match=message):
        type("Broken", (pl.Tiger,), {name: 3})
    with pytest.raises(pl.ModelError, match=message):
        setattr(type("Broken", (pl.Tiger,), {})(), name, 3)


def test_a_method_of_the_library_may_be_overridden_by_a_method():
    class Spoken(pl.Tiger):
        name = "the tiger"

        def describe_state(self, x):
            return "somewhere"

    assert "the tiger" in repr(Spoken()) and Spoken().describe_state(None) == "somewhere"


def test_settings_are_not_parameters():
    message = "m.beta does not exist: beta is a setting of the library, not a parameter"
    assert message in refusal(reward=lambda m, x, theta, a: m.beta)
    assert not {"beta", "next_states", "compiled"} & set(pl.Tiger().compiled_form.definition.parameters.values._fields)


def test_attributes_that_are_not_numeric_are_named_with_their_type():
    message = "m.mode does not exist: it is a str, and only numbers and numeric arrays"
    assert message in refusal(reward=lambda m, x, theta, a: m.mode * 1.0, mode="fast")
    broken = type("Broken", (pl.Tiger,), {"reward": lambda m, x, theta, a: m.mode, "mode": "x"})()
    assert message in str(pl.check_model(broken))
