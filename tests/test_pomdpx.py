"""POMDPX files: what is read, what is found to be hidden, and what is refused."""

from pathlib import Path

import numpy as np
import pomdpx_documents as documents
import pytest
from pomdpx_documents import diagram, document, functions, leaf, node, sub, table, variables

import pomdplite as pl
from pomdplite.formats.pomdpx import read_pomdpx
from pomdplite.formats.structure import structure_of_network
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import momdp_form

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the files in ../shared/data")


def read(data: bytes) -> pl.Model:
    return structure_of_network(read_pomdpx(data, "test.pomdpx")).model()


def arrays(model):
    """Everything that the model's functions read."""
    return {k: v for k, v in vars(model).items() if isinstance(v, np.ndarray)}


def function_values(model, x: str, theta: list[str], a: str):
    """T, φ, R, and Z of each next state, by name, as the interpreted functions give them."""
    f = model.compiled_form.interpreted
    state = {"state": x}
    hidden = model.hidden.record([c.labels.index(v) for c, v in zip(model.hidden.components, theta, strict=True)])
    number, record = model.action_index(a), model.state_record(state)
    steps = {model.describe_state(y): p for y, p in f.transition(record, hidden, number) if p > 0}
    later = f.evolve(record, hidden, number)
    seen = {
        y: dict(zip([*model.observations, None], f.observation(model.state_record({"state": y}), later, number), strict=True))
        for y in steps
    }  # fmt: skip
    return steps, model.hidden.describe(later), f.reward(record, hidden, number), seen


# ---------------------------------------------------------------------- files that others wrote


@pytest.fixture(scope="module")
def rocks():
    return pl.load(SHARED / "RockSample_7_8.pomdpx"), pl.make_model("rocksample-7-8")


@needs_shared
def test_rocksample_comes_out_with_eight_components(rocks):
    model, _ = rocks
    assert [c.name for c in model.hidden.components] == [f"rock{i}" for i in range(8)]
    assert model.compiled_form.factored and model.compiled_form.evolves
    assert len(model.state.labels["state"]) == 50 and model.ends.sum() == 1


@needs_shared
def test_rocksample_has_the_values_of_our_own(rocks):
    """V of an agent that knows θ, for every cell and all 256 values of θ."""
    found = []
    for model in rocks:
        momdp = momdp_form(model, observed=False)
        values = full_information_values(momdp, model.discount)
        cells = {}
        for number in range(1, momdp.reachable.states):
            x = model.state.describe(momdp.view.record(momdp.reachable.graph.states[number]))
            cells[x.removeprefix("state=s").replace("col=", "").replace(" row=", "")] = values[number]
        found.append(cells)
    theirs, ours = found
    assert theirs.keys() == ours.keys() and len(ours) == 49
    assert max(np.abs(theirs[cell] - ours[cell]).max() for cell in ours) < 1e-9


@needs_shared
def test_rocksample_has_the_functions_of_our_own(rocks):
    """T, φ and R exactly; Z to the six digits of the file."""
    theirs, ours = (model.compiled_form.interpreted for model in rocks)
    model, own = rocks
    names = ["amn", "ams", "ame", "amw", "as", *(f"ac{i}" for i in range(8))]
    compared = 0
    for col in range(7):
        for row in range(7):
            x, mine = model.state_record({"state": f"s{col}{row}"}), own.state_record({"col": col, "row": row})
            for a, name in enumerate(names):
                b = model.action_index(name)
                if not ours.legal(mine, a):
                    theta = model.hidden.record([0] * 8)
                    assert theirs.reward(x, theta, b) == -100
                    continue
                assert model.which[x["state"], b] == ours.depends(mine, a)
                for value in (0, 1):
                    theta, same = model.hidden.record([value] * 8), own.hidden.record([value] * 8)
                    assert theirs.reward(x, theta, b) == ours.reward(mine, same, a)
                    later, again = theirs.evolve(x, theta, b), ours.evolve(mine, same, a)
                    assert model.hidden.indices(later) == own.hidden.indices(again)
                    (y, p), (z, _) = theirs.transition(x, theta, b)[0], ours.transition(mine, same, a)[0]
                    assert p == 1
                    assert model.describe_state(y) == ("st" if z.col == 7 else f"s{z.col}{z.row}")
                    if name.startswith("ac"):
                        good, bad, nothing = theirs.observation(y, later, b)
                        assert nothing == 0
                        assert [bad, good] == pytest.approx(ours.observation(z, again, a)[:2], abs=1e-6)
                    compared += 1
    assert compared > 1000


@needs_shared
def test_a_tiger_that_moves_by_chance_is_refused():
    with pytest.raises(
        pl.NotPomdpLiteError, match=r"after open-left in tiger-left .* tiger-left or tiger-right by chance"
    ):
        pl.load(SHARED / "Tiger.pomdpx")


# ---------------------------------------------------------------------- tables and diagrams


@pytest.fixture(scope="module")
def rover():
    return read(document(documents.ROVER, documents.ROVER_TABLES))


def test_tables_are_read(rover):
    steps, later, reward, seen = function_values(rover, "rock", ["good"], "sample")
    assert (steps, later, reward) == ({"rock": 1.0}, "rock=bad", 10.0)
    assert seen == {"rock": {"sgood": 1.0, "sbad": 0.0, None: 0.0}}
    assert function_values(rover, "middle", ["bad"], "look")[3] == {"middle": {"sgood": 0.2, "sbad": 0.8, None: 0.0}}
    assert function_values(rover, "middle", ["bad"], "east")[:3] == ({"out": 1.0}, "rock=bad", 10.0)
    assert rover.compiled_form.interpreted.terminal(rover.state_record({"state": "out"}))
    assert pl.check_model(rover).ok


def test_decision_diagrams_mean_the_same_as_tables(rover):
    again = read(document(documents.ROVER, documents.ROVER_DIAGRAMS))
    assert arrays(again).keys() == arrays(rover).keys()
    for name, array in arrays(rover).items():
        np.testing.assert_array_equal(getattr(again, name), array, err_msg=name)


def test_planners_run_on_it(rover):
    planner = pl.Sarsop(rover, solve_trials=100)
    planner.reset()
    # Look from the middle costs a step; the best plan is known: go west, look, then sample if good; leave.
    assert planner.decide().name in ("west", "look")
    mean = pl.evaluate(rover, planner, episodes=50, seed=1000).mean
    assert planner.bounds[0] - 3 < mean < 20


# ---------------------------------------------------------------------- what is hidden

TWO = {"x": ("here there", True), "u": ("u0 u1", False), "v": ("v0 v1", False)}
STAY = [table("x_1", "act x_0", ("* - -", "identity")), table("u_1", "u_0", ("- -", "identity")),
        table("v_1", "v_0", ("- -", "identity"))]  # fmt: skip
BEGIN = [
    table("x_0", "null", ("-", "1 0")),
    table("u_0", "null", ("-", "0.3 0.7")),
    table("v_0", "null", ("-", "uniform")),
]


def two(seen: str, *, initial=BEGIN, transition=STAY, reward=("go here", "1")) -> pl.Model:
    return read(document(
        variables(TWO, {"z": "no yes"}, "look go"),
        functions(initial, transition, [seen], [table("gain", "act x_0", reward)]),
    ))  # fmt: skip


def test_hidden_variables_that_never_matter_together_are_components():
    seen = table("z", "act u_1 v_1", ("look - * -", "0.9 0.1 0.2 0.8"), ("go * - -", "0.6 0.4 0.4 0.6"))
    model = two(seen)
    assert [c.name for c in model.hidden.components] == ["u", "v"]
    assert [float(c.prior[1]) for c in model.hidden.components] == [0.7, 0.5]
    assert model.which.tolist() == [[0, 1]]  # "there" cannot be reached


def test_hidden_variables_that_matter_to_one_observation_are_one_component():
    model = two(table("z", "u_1 v_1", ("- - -", "0.9 0.1 0.8 0.2 0.3 0.7 0.4 0.6")))
    assert [c.labels for c in model.hidden.components] == [("u0 v0", "u0 v1", "u1 v0", "u1 v1")]
    np.testing.assert_allclose(model.hidden.components[0].prior, [0.15, 0.15, 0.35, 0.35], rtol=1e-15)
    assert function_values(model, "here", ["u1 v0"], "look")[3]["here"]["yes"] == 0.7


def test_hidden_variables_that_begin_together_are_one_component():
    together = [*BEGIN[:2], table("v_0", "u_0", ("u0 -", "0.2 0.8"), ("u1 -", "1 0"))]
    seen = table("z", "act u_1 v_1", ("look - * -", "0.9 0.1 0.2 0.8"), ("go * - -", "0.6 0.4 0.4 0.6"))
    model = two(seen, initial=together)
    np.testing.assert_allclose(model.hidden.components[0].prior, [0.06, 0.24, 0.7, 0.0], rtol=1e-15)


def test_a_hidden_variable_that_depends_on_another_becomes_one_with_it():
    changing = [*STAY[:2], table("v_1", "act u_0 v_0", ("* * - -", "identity"), ("go u1 * -", "0 1"))]
    model = two(table("z", "v_1", ("- -", "0.9 0.1 0.2 0.8")), transition=changing)
    assert function_values(model, "here", ["u1 v0"], "go")[1] == "u+v=u1 v1"
    assert function_values(model, "here", ["u0 v0"], "go")[1] == "u+v=u0 v0"


def test_a_variable_that_follows_from_what_is_known_is_observed():
    """It is not declared so, but its first value and its steps are certain."""
    moving = [table("x_1", "act x_0", ("look - -", "identity"), ("go * there", "1")), *STAY[1:]]
    declared = two(table("z", "u_1", ("- -", "0.9 0.1 0.2 0.8")), transition=moving)
    data = document(
        variables(TWO | {"x": ("here there", False)}, {"z": "no yes"}, "look go"),
        functions(BEGIN, moving, [table("z", "u_1", ("- -", "0.9 0.1 0.2 0.8"))], [table("gain", "act x_0", ("go here", "1"))]),
    )  # fmt: skip
    assert arrays(read(data)).keys() == arrays(declared).keys()
    for name, array in arrays(declared).items():
        np.testing.assert_array_equal(getattr(read(data), name), array, err_msg=name)


def test_what_changes_by_chance_but_is_seen_is_observed():
    """u moves by chance and the observation tells it: u is x although the file calls it hidden. v stays hidden."""
    moving = [STAY[0], table("u_1", "act u_0", ("* * -", "0.5 0.5")), STAY[2]]
    seen = [table("z", "u_1", ("- -", "identity")), table("w", "act v_1", ("* - -", "0.7 0.3 0.1 0.9"))]
    model = read(document(
        variables(TWO, {"z": "no yes", "w": "low high"}, "look go"),
        functions([*BEGIN[:1], table("u_0", "null", ("-", "1 0")), BEGIN[2]], moving, seen,
                  [table("gain", "act u_0 v_0", ("go u1 v1", "1"))]),
    ))  # fmt: skip
    assert len(model.state.labels["state"]) == 2 and model.hidden.size == 2
    assert not model.compiled_form.evolves
    assert pl.check_model(model).ok


def test_what_changes_by_chance_and_is_not_seen_is_refused():
    moving = [*STAY[:2], table("v_1", "act v_0", ("look - -", "identity"), ("go * -", "0.5 0.5"))]
    with pytest.raises(pl.NotPomdpLiteError, match=r"after go in x=here u=u0 v=v0 .* v=v0 or .* v=v1 by chance"):
        two(table("z", "v_1", ("- -", "0.9 0.1 0.2 0.8")), transition=moving)


def test_a_reward_may_depend_on_what_follows():
    """Its expectation counts."""
    moving = [table("x_1", "act x_0 u_0", ("look - * -", "identity"), ("go here u0 -", "0.25 0.75"), ("go here u1 -", "1 0"),
                    ("go there * -", "0 1")), *STAY[1:]]  # fmt: skip
    model = read(document(
        variables(TWO, {"z": "no yes"}, "look go"),
        functions(BEGIN, moving, [table("z", "u_1", ("* -", "uniform"))], [table("gain", "act x_0 x_1", ("go here there", "8"))]),
    ))  # fmt: skip
    assert function_values(model, "here", ["u0", "v0"], "go")[2] == 6.0
    assert function_values(model, "here", ["u1", "v0"], "go")[2] == 0.0


def test_numbers_of_values_and_several_actions():
    """<NumValues> names values s0, s1, …; two action variables make every combination an action."""
    text = document(documents.ROVER, documents.ROVER_TABLES).decode()
    text = text.replace("<ValueEnum>bad good</ValueEnum>", "<NumValues>2</NumValues>").replace(
        "<RewardVar", "<ActionVar vname='other'><NumValues>3</NumValues></ActionVar><RewardVar"
    )
    model = read(text.encode())
    assert model.hidden.components[0].labels == ("s0", "s1")
    assert len(model.actions) == 12 and model.actions[:4] == ("west a0", "west a1", "west a2", "east a0")


# ---------------------------------------------------------------------- what is refused

LAUGHS = b"""<?xml version="1.0"?>
<!DOCTYPE lolz [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">]>
<pomdpx><Discount>&b;</Discount></pomdpx>"""


@pytest.mark.parametrize(
    "change, cause",
    [
        (("<Discount>0.95</Discount>", "<Discount>1.5</Discount>"), "line 2: the discount is 1.5"),
        (("<Discount>0.95</Discount>", ""), "line 1: <pomdpx> has no <Discount>"),
        (("0.2 0.8 0.8 0.2", "0.2 0.8 0.8"), r"line \d+: expected 4 numbers, found 3"),
        (("0.2 0.8 0.8 0.2", "0.2 0.8 0.8 x"), r"line \d+: 'x' is not a finite number"),
        (("0.2 0.8 0.8 0.2", "0.2 0.8 0.8 0.3"), r"line \d+: the probability of see after look sums to 1.1, not 1"),
        (("0.2 0.8 0.8 0.2", "0.2 0.8 1.8 -0.8"), r"line \d+: the probability of see after look is negative: -0.8"),
        (("look middle - -", "look moddle - -"), r"line \d+: 'moddle' is not a value of rover_1"),
        (("look middle - -", "look middle -"), r"line \d+: expected 4 values, .*; found 3"),
        (("act rover_1 rock_1", "act rover_2 rock_1"), r"line \d+: 'rover_2' cannot be a parent of see"),
        (("<Instance>-</Instance><ProbTable>0 1 0<", "<Instance>-</Instance><ProbTable>0 0.5 0.5<"),
         r"line \d+: rover_0 is observed but begins with different values by chance"),
        (("</pomdpx>", ""), r"line \d+: not well-formed XML"),
        (("type='TBL'", "type='GBL'"), r"line \d+: the type of a parameter is TBL or DD, not 'GBL'"),
        (("<ValueEnum>bad good</ValueEnum>", "<NumValues>9e15</NumValues>"), r"line \d+: <NumValues> must be"),
        (("<ValueEnum>bad good</ValueEnum>", "<ValueEnum>bad bad</ValueEnum>"), r"line \d+: <ValueEnum> must list"),
        (("<RewardFunction>", "<RewardFunktion>"), "mismatched tag"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_their_line(change, cause):
    text = document(documents.ROVER, documents.ROVER_TABLES).decode()
    assert change[0] in text
    with pytest.raises(pl.ModelError, match=f"^test.pomdpx, .*{cause}"):
        read(text.replace(*change).encode())


def test_entities_are_refused_before_they_are_expanded():
    with pytest.raises(pl.ModelError, match=r"line 2: a DTD or entity is declared here"):
        read(LAUGHS)


def test_a_diagram_that_holds_itself_is_refused():
    inner = "<SubDAGTemplate id='t'>" + node("act", look=sub("template", idref="t"), go=leaf(1)) + "</SubDAGTemplate>"
    with pytest.raises(pl.ModelError, match="the template 't' holds itself"):
        two(diagram("z", "act", sub("template", idref="t"), inner))


def test_tables_too_large_for_memory_are_refused_before_they_are_made():
    states = {f"v{i}": (" ".join(f"n{k}" for k in range(50)), False) for i in range(6)}
    names = " ".join(f"v{i}_1" for i in range(6))
    data = document(variables(states, {"z": "no yes"}, "look go"), functions(
        [table(f"v{i}_0", "null", ("-", "uniform")) for i in range(6)],
        [table(f"v{i}_1", f"v{i}_0", ("- -", "identity")) for i in range(6)],
        [table("z", names, ("- " * 7, "uniform"))], [table("gain", "act", ("go", "1"))],
    ))  # fmt: skip
    with pytest.raises(pl.TooLargeError, match="a table of 31,250,000,000 numbers"):
        read(data)


def test_a_missing_file_is_reported():
    with pytest.raises(pl.UsageError, match=r"cannot read nowhere.pomdpx: No such file"):
        pl.load("nowhere.pomdpx")


# ---------------------------------------------------------------------- files as other programs write them


def test_one_hidden_variable_is_a_list_of_states_with_an_end():
    """POMDPs.jl writes every model with one state variable that is not observed."""
    model = read(document(
        variables({"state": ("bad good gone", False)}, {"o": "yes no"}, "look take"),
        functions(
            [table("state_0", "null", ("-", "0.5 0.5 0"))],
            [table("state_1", "act state_0", ("look - -", "Identity"), ("take * gone", "1"))],
            [table("o", "act state_1", ("* * -", "Uniform"), ("look - -", "0.2 0.8 0.9 0.1 0.5 0.5"))],
            [table("gain", "act state_0", ("take -", "-10 10 0"), ("look *", "-1"), ("look gone", "0"))],
        ),
    ))  # fmt: skip
    assert model.state.labels["state"] == ("bad or 1 more", "gone") and model.ends.tolist() == [False, True]
    assert model.hidden.components[0].labels == ("bad", "good")
    steps, later, reward, seen = function_values(model, "bad or 1 more", ["good"], "take")
    assert (steps, later, reward) == ({"gone": 1.0}, "state=good", 10.0) and seen["gone"]["yes"] == 0.5
    assert function_values(model, "bad or 1 more", ["good"], "look")[3]["bad or 1 more"]["yes"] == 0.9


def test_a_network_too_large_to_multiply_out_is_refused_with_what_changes_by_chance(monkeypatch):
    monkeypatch.setattr("pomdplite.formats.flatten._MOST_STATES", 2)
    moves = [table("x_1", "act x_0", ("* - -", "identity")), table("u_1", "u_0", ("- -", "0.9 0.1 0.1 0.9")), STAY[2]]
    with pytest.raises(pl.TooLargeError, match=r"multiplied out since u changes by chance after look in here\."):
        two(table("z", "u_1", ("- -", "0.9 0.1 0.2 0.8")), transition=moves)
