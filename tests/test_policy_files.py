"""Policies of APPL: read, written, and played on models from files, in APPL's own numbering of states."""

import re
from itertools import product

import numpy as np
import pytest
from pomdpx_documents import ROVER, ROVER_TABLES, document, functions, table, variables

import pomdplite as pl
from pomdplite.cli.main import execute
from pomdplite.formats.cassandra import read_pomdp
from pomdplite.formats.pomdpx import read_pomdpx
from pomdplite.formats.structure import structure_of_network, structure_of_states

# RockSampleSimple of APPL's documentation of PomdpX: a rover at the rock (s0), beside it (s1) or gone (s2).
SIMPLE = document(
    variables({"rover": ("s0 s1 s2", True), "rock": ("good bad", False)}, {"see": "ogood obad"}, "amw ame ac as"),
    functions(
        [table("rover_0", "null", ("-", "1 0 0")), table("rock_0", "null", ("-", "uniform"))],
        [
            table(
                "rover_1", "act rover_0", ("amw s0 s0", "1"), ("amw s1 s0", "1"), ("ame s0 s1", "1"),
                ("ame s1 s2", "1"), ("ac - -", "identity"), ("as - -", "identity"), ("* s2 s2", "1"),
            ),
            table("rock_1", "act rover_0 rock_0", ("* * - -", "identity"), ("as s0 * -", "0 1")),
        ],
        [table("see", "act rover_1 rock_1", ("* * * -", "1 0"), ("ac s0 - -", "identity"))],
        [table("gain", "act rover_0 rock_0", ("ame s1 *", "10"), ("as s0 -", "10 -10"))],
    ),
)  # fmt: skip

# The policy that APPL's documentation of PolicyX gives for it.
PUBLISHED = """<?xml version="1.0" encoding="ISO-8859-1"?>
<Policy version="0.1" type="value" model="RockSampleSimple.pomdpx">
<AlphaVector vectorLength="2" numObsValue="3" numVectors="6">
<Vector action="1" obsValue="0">9.5 9.5 </Vector>
<Vector action="3" obsValue="0">19.025 -0.975 </Vector>
<Vector action="2" obsValue="0">18.0737 9.025 </Vector>
<Vector action="1" obsValue="1">10 10 </Vector>
<Vector action="0" obsValue="1">17.1701 8.57375 </Vector>
<Vector action="3" obsValue="2">0 0 </Vector>
</AlphaVector> </Policy>
"""

# Two doors, a torch that is not declared observed but follows from the actions, and the hidden part in between.
TORCH = document(
    variables(
        {"tiger": ("left right", False), "place": ("inside outside", True), "torch": ("off on", False)},
        {"heard": "hl hr"}, "listen light open-left open-right",
    ),
    functions(
        [
            table("tiger_0", "null", ("-", "0.3 0.7")), table("place_0", "null", ("-", "1 0")),
            table("torch_0", "null", ("-", "1 0")),
        ],
        [
            table("tiger_1", "tiger_0", ("- -", "identity")),
            table(
                "place_1", "act place_0", ("* - -", "identity"), ("open-left inside -", "0 1"),
                ("open-right inside -", "0 1"),
            ),
            table("torch_1", "act torch_0", ("* - -", "identity"), ("light * -", "0 1")),
        ],
        [
            table(
                "heard", "act tiger_1 torch_1", ("* * * -", "0.5 0.5"), ("listen - on -", "0.9 0.1 0.1 0.9"),
                ("listen - off -", "0.6 0.4 0.4 0.6"),
            ),
        ],
        [
            table(
                "gain", "act place_0 tiger_0", ("listen inside *", "-1"), ("light inside *", "-2"),
                ("open-left inside -", "-100 10"), ("open-right inside -", "10 -100"),
            ),
        ],
    ),
)  # fmt: skip

# Only observations tell what is known, so x are classes of states; the goal is a hidden corner of a corridor.
CORRIDOR = """
discount: 0.9
values: reward
states: w-a w-b m-a m-b e-a e-b gone
actions: west east take
observations: west middle east nothing
start: 0.0 0.0 0.4 0.6 0.0 0.0 0.0
T: west
1 0 0 0 0 0 0
0 1 0 0 0 0 0
1 0 0 0 0 0 0
0 1 0 0 0 0 0
0 0 1 0 0 0 0
0 0 0 1 0 0 0
0 0 0 0 0 0 1
T: east
0 0 1 0 0 0 0
0 0 0 1 0 0 0
0 0 0 0 1 0 0
0 0 0 0 0 1 0
0 0 0 0 1 0 0
0 0 0 0 0 1 0
0 0 0 0 0 0 1
T: take
uniform
T: take : * : *  0
T: take : * : gone 1
O: * : * : * 0
O: * : w-a : west 1
O: * : w-b : west 1
O: * : m-a : middle 1
O: * : m-b : middle 1
O: * : e-a : east 1
O: * : e-b : east 1
O: * : gone : nothing 1
R: take : w-a : * : * 10
R: take : w-b : * : * -5
R: take : e-a : * : * -5
R: take : e-b : * : * 8
"""


def from_pomdpx(data: bytes) -> pl.Model:
    return structure_of_network(read_pomdpx(data, "test.pomdpx")).model()


def from_pomdp(text: str) -> pl.Model:
    return structure_of_states(read_pomdp(text.encode(), "test.pomdp")).model()


@pytest.fixture(scope="module")
def simple():
    return from_pomdpx(SIMPLE)


def vectors_of(text: str) -> list[tuple[int, int, list[float]]]:
    """What a policy file says, read by a regular expression."""
    found = re.findall(r'<Vector action="(\d+)" obsValue="(\d+)">([^<]*) </Vector>', text)
    return [(int(a), int(o), [float(number) for number in values.split()]) for a, o, values in found]


def best(vectors, obs_value: int, belief: list[float]) -> tuple[float, int]:
    """Value and action of a policy as APPL's getBestAction defines them."""
    return max((float(np.dot(values, belief)), a) for a, o, values in vectors if o == obs_value)


# ---------------------------------------------------------------------- reading


def test_the_published_policy_has_its_published_values(simple, tmp_path):
    path = tmp_path / "simple.policy"
    path.write_text(PUBLISHED)
    planner = pl.load_planner(path, simple)
    assert planner.bounds[0] == pytest.approx((18.0737 + 9.025) / 2)
    optimum = pl.Sarsop(simple, precision=1e-9).bounds
    assert planner.bounds[0] == pytest.approx(optimum[0], abs=1e-4)  # they print six digits
    planner.reset()
    assert planner.decide().action == simple.action_index("ac")
    # Look; a good rock is sampled: γ 10 + γ³ 10, a bad one is left: γ² 10.
    returns = set(np.round(pl.evaluate(simple, planner, episodes=20, seed=3).returns, 6))
    assert returns == {round(0.95 * 10 + 0.95**3 * 10, 6), round(0.95**2 * 10, 6)}


def test_a_policy_by_hand_has_the_value_of_its_decision_rule(tmp_path):
    """Listen once and open the other door, in a file with a variable that only we count as known."""
    model, g = from_pomdpx(TORCH), 0.95
    assert model.structure == "observed: place, torch; hidden: tiger"
    # Places: tiger is the first hidden variable of the file and torch the last: left off, left on, right off, right on.
    right, left = np.array([10.0, 10, -100, -100]), np.array([-100.0, -100, 10, 10])
    heard_left = np.array([0.6, 0.9, 0.4, 0.1])
    once = -1 + g * (heard_left * right + (1 - heard_left) * left)
    lit = -2 + g * once[[1, 1, 3, 3]]
    rows = [("3", right), ("2", left), ("0", once), ("1", lit)]
    listed = [f'<Vector action="{a}" obsValue="0">{" ".join(map(str, v))}</Vector>' for a, v in rows]
    listed.append('<SparseVector action="0" obsValue="1"><Entry>0 0</Entry></SparseVector>')
    path = tmp_path / "hand.policyx"
    path.write_text(f'<Policy><AlphaVector vectorLength="4" numObsValue="2">{"".join(listed)}</AlphaVector></Policy>')
    planner = pl.Sarsop(model, policy=str(path))
    b = np.array([0.3, 0, 0.7, 0])
    assert planner.bounds[0] == pytest.approx(max(float(v @ b) for _, v in rows), abs=1e-12)
    planner.reset()
    planner.update("light", {"state": "place=inside torch=on"}, "hl")
    planner.decide()
    state = planner.momdp.reachable.find(planner.s)
    there = planner._vectors.value[planner._vectors.state == state] @ [0.3, 0.7]
    assert there.max() == pytest.approx(max(float(v @ [0, 0.3, 0, 0.7]) for _, v in rows), abs=1e-12)


def broken(old: str, new: str) -> str:
    assert old in PUBLISHED
    return PUBLISHED.replace(old, new, 1)


@pytest.mark.parametrize(("text", "words"), [
    (broken('vectorLength="2"', 'vectorLength="3"'), "line 3: vectorLength is 3, but test.pomdpx has 2 joint values of its hidden part; it was made for RockSampleSimple.pomdpx"),
    (broken('vectorLength="2"', 'vectorLength="two"'), "line 3: vectorLength must be a whole number, not 'two'"),
    (broken('vectorLength="2"', ""), "line 3: <AlphaVector> has no attribute vectorLength"),
    (broken('numObsValue="3"', 'numObsValue="7"'), "line 3: numObsValue is 7, but test.pomdpx has 3 observed states"),
    (broken('numVectors="6"', 'numVectors="60"'), "line 3: numVectors is 60, but there are 6 vectors"),
    (broken('action="3"', 'action="4"'), "line 5: there is no action 4; test.pomdpx numbers them from 0 to 3"),
    (broken('action="3"', 'action="-1"'), "line 5: action must be a whole number, not '-1'"),
    (broken('action="3" ', ""), "line 5: <Vector> has no attribute action"),
    (broken('obsValue="2"', 'obsValue="3"'), "line 9: there is no obsValue 3; test.pomdpx numbers them from 0 to 2"),
    (broken("10 10 ", "10 10 10 "), "line 7: expected 2 numbers, found 3"),
    (broken("10 10 ", "10 1O "), "line 7: '1O' is not a finite number"),
    (broken("10 10 ", "10 nan "), "line 7: 'nan' is not a finite number"),
    (broken("10 10 ", "10 <b>1</b> "), "line 7: <b> is not expected in <Vector>"),
    (broken('<Vector action="3" obsValue="2">0 0 </Vector>', '<SparseVector action="3" obsValue="2"><Entry>2 1</Entry></SparseVector>'), "line 9: there is no place 2; vectors have 2 numbers"),
    (broken('<Vector action="3" obsValue="2">0 0 </Vector>', '<SparseVector action="3" obsValue="2"><Entry>1</Entry></SparseVector>'), "line 9: <Entry> must hold a place and a number, not '1'"),
    (broken("19.025 -0.975", "29.025 -0.975"), r"line 5: the α-vector promises 29.025 in x = (s0), but no policy earns more than 19.025 there in test.pomdpx; it was made for another model"),
    (broken('obsValue="1">10 10', 'obsValue="2">0 0').replace('obsValue="1"', 'obsValue="2"').replace("17.1701 8.57375", "0 0"), "has no α-vector with a legal action for x = (s1)"),
    (broken('type="value"', 'type="graph"'), "line 2: the type of the policy is 'graph'"),
    (broken("</AlphaVector>", ""), "line 10: not well-formed XML: mismatched tag"),
    (broken("<Policy", "<!DOCTYPE x [<!ENTITY a 'b'>]>\n<Policy"), "line 2: a DTD or entity is declared here"),
    (broken("9.5 9.5", "&x; 9.5"), "line 4: not well-formed XML: undefined entity"),
    ("<pomdpx/>", "line 1: a policy file consists of <Policy>, not <pomdpx>"),
    ("<Policy><AlphaVector vectorLength='2'/></Policy>", "line 1: the policy has no vectors"),
    ("", "line 1: not well-formed XML: no element found"),
])  # fmt: skip
def test_a_wrong_file_is_refused_with_line_and_cause(simple, tmp_path, text, words):
    path = tmp_path / "wrong.policy"
    path.write_text(text)
    with pytest.raises(pl.PomdpLiteError, match=re.escape(words)) as refused:
        pl.load_planner(path, simple)
    assert str(path) in str(refused.value)


def test_what_has_no_file_has_no_policy_files(simple, tmp_path):
    path = tmp_path / "tiger.policy"
    path.write_text(PUBLISHED)
    for act in (lambda: pl.load_planner(path, pl.Tiger()), lambda: pl.Sarsop(pl.Tiger()).save(path)):
        with pytest.raises(pl.UsageError, match=r"tiger\.policy: a \.policy file numbers the states of .* Tiger does"):
            act()
    with pytest.raises(pl.UsageError, match=r"holds α-vectors, which qmdp does not have; sarsop and"):
        pl.Qmdp(simple).save(path)
    with pytest.raises(pl.UsageError, match=r"cannot read .*missing\.policy: No such file"):
        pl.load_planner(tmp_path / "missing.policy", simple)


# ---------------------------------------------------------------------- writing


@pytest.mark.parametrize("make", [
    lambda: from_pomdpx(document(ROVER, ROVER_TABLES)),
    lambda: from_pomdpx(TORCH),
    lambda: from_pomdp(CORRIDOR),
], ids=["MOMDP", "known variable", "classes"])  # fmt: skip
@pytest.mark.parametrize("kind", [pl.Sarsop, pl.PomdpLitePlus])
def test_a_written_policy_plays_the_same_episodes(make, kind, tmp_path):
    model, path = make(), tmp_path / "out.policy"
    planner = kind(model, solve_trials=30)
    planner.save(path)
    twin = pl.load_planner(path, model)
    if kind is pl.Sarsop:
        assert twin.bounds[0] == pytest.approx(planner.bounds[0], rel=1e-14)
        assert {row.tobytes() for row in twin.vectors} <= {row.tobytes() for row in planner.vectors}
    else:
        path.rename(tmp_path / "plus.policy")
        planner = pl.Sarsop(model, policy=str(tmp_path / "plus.policy"))
        planner.save(path)
        assert pl.load_planner(path, model).vectors.tobytes() == twin.vectors.tobytes()
    mine, other = (pl.evaluate(model, p, episodes=30, seed=5) for p in (planner, twin))
    assert mine.returns.tolist() == other.returns.tolist()


def test_a_written_policy_has_the_same_values_for_every_state_of_a_momdp(tmp_path):
    """At random beliefs, the file's vectors and ours have the same maximum; the joint numbers are computed here."""
    model = from_pomdpx(TORCH)
    planner = pl.Sarsop(model, solve_trials=50)
    planner.save(tmp_path / "out.policy")
    text = (tmp_path / "out.policy").read_text()
    assert 'vectorLength="4" numObsValue="2"' in text and text.startswith('<?xml version="1.0"')
    vectors, rng = vectors_of(text), np.random.default_rng(0)
    assert len(vectors) == int(re.search(r'numVectors="(\d+)"', text)[1])
    for torch, _ in product((0, 1), range(20)):
        b = rng.dirichlet([1, 1])
        belief = np.zeros(4)
        belief[[torch, 2 + torch]] = b  # tiger · 2 + torch
        state = planner.momdp.reachable.find(np.array([model.state.labels["state"].index(
            f"place=inside torch={('off', 'on')[torch]}")], np.uint64))  # fmt: skip
        here = planner._vectors.state == state
        assert best(vectors, 0, belief)[0] == pytest.approx((planner._vectors.value[here] @ b).max(), rel=1e-14)
    assert best(vectors, 1, belief)[0] == 0  # outside, nothing is earned


def test_a_written_policy_covers_every_state_of_a_pomdp_file(tmp_path):
    model = from_pomdp(CORRIDOR)
    pl.Sarsop(model, precision=1e-9).save(tmp_path / "out.policy")
    vectors = vectors_of((tmp_path / "out.policy").read_text())
    assert {len(values) for *_, values in vectors} == {7} and {o for _, o, _ in vectors} == {0}
    known = [10, 0.81 * 8, 9, 7.2, 8.1, 8, 0]  # walk to the right corner and take
    assert all(best(vectors, 0, np.eye(7)[s])[0] <= value + 1e-9 for s, value in enumerate(known))
    assert best(vectors, 0, np.eye(7)[6])[0] == 0  # gone
    # The better corner on average: 0.4 · 10 − 0.6 · 5 in the west, −0.4 · 5 + 0.6 · 8 in the east.
    assert best(vectors, 0, [0, 0, 0.4, 0.6, 0, 0, 0]) == (pytest.approx(0.9 * 2.8), 1)
    assert best(vectors, 0, [0, 0, 0, 0, 0.4, 0.6, 0]) == (pytest.approx(2.8), 2)


# ---------------------------------------------------------------------- commands


def test_solve_and_run_use_policy_files(simple, tmp_path, capsys):
    problem, path = tmp_path / "test.pomdpx", tmp_path / "out.policy"
    problem.write_bytes(SIMPLE)
    assert execute(["solve", str(problem), "--policy", str(path), "--time", "5"]) == 0
    assert "value in [13.5494, 13.5494]" in capsys.readouterr().out
    assert execute(["run", str(problem), "--planner", str(path), "-n", "5", "--json"]) == 0
    assert '"planner": "sarsop"' in capsys.readouterr().out
    assert execute(["solve", str(problem), "--policy", str(path), "--planner", "qmdp"]) == 2
    assert "which qmdp does not have" in capsys.readouterr().err
    path.write_text("my notes")
    assert execute(["solve", str(problem), "--policy", str(path)]) == 2
    assert "is not a policy of that format, so it is not overwritten" in capsys.readouterr().err
