""".pomdp files: what is read, how their states are split into x and θ, and what is refused."""

import textwrap
from pathlib import Path

import numpy as np
import pytest
from scipy.sparse import csr_matrix

import pomdplite as pl
from pomdplite.formats.cassandra import read_pomdp
from pomdplite.formats.classes import find_classes
from pomdplite.formats.flat import Flat
from pomdplite.formats.histories import find_histories
from pomdplite.formats.numbering import one_list
from pomdplite.formats.structure import structure_of_states

SHARED = Path(__file__).parents[2] / "shared" / "data"
needs_shared = pytest.mark.skipif(not SHARED.is_dir(), reason="needs the files in ../shared/data")

PREAMBLE = """\
# a comment
discount: 0.9
values: reward   # another
states: a b c
actions: go stay
observations: no yes
"""


def read(text: str) -> Flat:
    return read_pomdp(textwrap.dedent(text).encode(), "test.pomdp")


def dense(matrices) -> np.ndarray:
    return np.array([m.toarray() for m in matrices])


# ---------------------------------------------------------------------- the grammar

EVERYTHING = (
    PREAMBLE
    + """\
start: 0.2 0.3
  # in the middle of a list
  0.5
T: * uniform
T: stay
identity
T: go : a
0.25 0.25 0.5
T: go : 1 : 2 1.0   # entries replace single numbers of a row
T: go : b : a 0.0
T: go : b : b 0
T : go:c:* .0
T: go : c reset
O: * : * : no 0.5
O: *:*:yes 5e-1
O: stay : c
1.0 0.0
O: go
0.1 0.9
1 0
uniform_is_no_number
"""
)


def test_every_form_of_a_statement_is_read():
    flat = read(EVERYTHING.replace("uniform_is_no_number", "0.3 0.7") + "R: * : * : * : * 1\n")
    np.testing.assert_array_equal(flat.start, [0.2, 0.3, 0.5])
    np.testing.assert_array_equal(dense(flat.transition)[0], [[0.25, 0.25, 0.5], [0, 0, 1], [0.2, 0.3, 0.5]])
    np.testing.assert_array_equal(dense(flat.transition)[1], np.eye(3))
    np.testing.assert_array_equal(dense(flat.sight)[0], [[0.1, 0.9], [1, 0], [0.3, 0.7]])
    np.testing.assert_array_equal(dense(flat.sight)[1], [[0.5, 0.5], [0.5, 0.5], [1, 0]])
    assert flat.discount == 0.9 and flat.states == ["a", "b", "c"]


REST = "T: * identity\nO: * uniform\n"


@pytest.mark.parametrize(
    "start, belief",
    [
        ("", [1 / 3, 1 / 3, 1 / 3]), ("start: uniform", [1 / 3, 1 / 3, 1 / 3]), ("start: b", [0, 1, 0]),
        ("start: 2", [0, 0, 1]), ("start: 0.5 0.25 0.25", [0.5, 0.25, 0.25]), ("start include: a 2", [0.5, 0, 0.5]),
        ("start exclude: a", [0, 0.5, 0.5]), ("start include : b", [0, 1, 0]),
        ("start: 0.33333 0.33333 0.33333", [1 / 3, 1 / 3, 1 / 3]),
    ],
)  # fmt: skip
def test_every_form_of_the_initial_belief_is_read(start, belief):
    np.testing.assert_allclose(read(PREAMBLE + start + "\n" + REST).start, belief, rtol=1e-15)


def rewards(statements: str, values: str = "reward") -> np.ndarray:
    text = (
        PREAMBLE.replace("values: reward", f"values: {values}") + "T: go\n0.5 0.5 0\n0 0 1\n0 1 0\nT: stay identity\n"
    )
    return read(text + "O: * \n0.25 0.75\n1 0\n0 1\n" + statements).reward.T


def test_rewards_with_all_four_references_are_averaged():
    statements = """\
R: * : * : * : * 1
R: go : a : b : * 3
R: go : a : a : yes 5
R: stay : c : * : * -2
R: go : b : c
7 8
R: go : c
1 2
3 4
5 6
"""
    # go in a: to a (0.5) with no (0.25, 1) or yes (0.75, 5), to b (0.5, 3)
    assert rewards(statements).tolist() == [[0.5 * (0.25 * 1 + 0.75 * 5) + 0.5 * 3, 8, 3], [1, 1, -2]]
    assert rewards(statements, "cost").tolist() == [[-3.5, -8, -3], [-1, -1, 2]]


def test_the_last_of_several_rewards_counts_whatever_it_names():
    assert rewards("R: go : a : a : yes 5\nR: go : a : * : * 2\n")[0, 0] == 2
    assert rewards("R: * : * : * : * 5\nR: go : * : b : * 2\nR: go : a : * : * 4\nR: go : * : a : * 0\n")[
        0
    ].tolist() == [2, 5, 2]


def test_numbers_for_names_and_no_observations():
    """Without observations the state is seen, as in an MDP."""
    flat = read(
        "discount: 1\nstates: 2\nactions: 2\nstart: 0\nT: 0 : 0 : 1 1\nT: 0 : 1 : 0 1\nT: 1 identity\nR: 0 : 1 : * : * 2\n"
    )
    assert flat.states == ["s0", "s1"] and flat.actions == ["a0", "a1"]
    assert dense(flat.transition)[0].tolist() == [[0, 1], [1, 0]] and flat.reward.tolist() == [[0, 0], [2, 0]]
    model = structure_of_states(flat).model()
    assert model.hidden.size == 1 and len(model.state.labels["state"]) == 2


def test_a_long_run_of_entries_is_read_like_single_ones(monkeypatch):
    """Whatever the size of the parts in which it is read, and with comments between."""
    rng = np.random.default_rng(0)
    places = [(a, s, y) for a in range(2) for s in range(3) for y in range(3)]
    t = rng.dirichlet(np.ones(3), (2, 3))
    lines = [f"T: {a} : {'abc'[s]} : {y} {float(t[a, s, y])!r}{'  # why' if y == 1 else ''}" for a, s, y in places]
    text = PREAMBLE + "\n".join(lines) + "\nO: * uniform\n"
    for size in (4_000_000, 50, 1):
        monkeypatch.setattr("pomdplite.formats.cassandra._CHUNK", size)
        np.testing.assert_array_equal(dense(read(text).transition), t)


# ---------------------------------------------------------------------- x and θ

ONE_SHOT = """\
discount: 0.95
states: tiger-left tiger-right done
actions: listen open-left open-right
observations: hear-left hear-right nothing
start exclude: done
T: listen identity
T: open-left : * : done 1
T: open-right : * : done 1
O: * : * : nothing 1
O: listen : tiger-left
0.85 0.15 0
O: listen : tiger-right
0.15 0.85 0
R: listen : * : * : * -1
R: * : done : * : * 0
R: open-left : tiger-left : * : * -100
R: open-left : tiger-right : * : * 10
R: open-right : tiger-left : * : * 10
R: open-right : tiger-right : * : * -100
"""


def test_one_shot_tiger_is_found_to_be_constant():
    """The value is that of our own: 3.770, of listening until one side leads by three."""
    model = structure_of_states(read(ONE_SHOT)).model()
    assert model.hidden.components[0].labels == ("tiger-left", "tiger-right")
    assert not model.compiled_form.evolves and model.state.labels["state"] == ("tiger-left or 1 more", "done")
    assert model.ends.tolist() == [False, True] and pl.check_model(model).ok
    values = []
    for m in (model, pl.make_model("tiger")):
        planner = pl.Sarsop(m, solve_time=20, precision=1e-4)
        planner.prepare()
        values.append(planner.bounds[0])
    assert values[0] == pytest.approx(values[1], abs=1e-3) == pytest.approx(3.770, abs=1e-3)


@needs_shared
def test_tiger_is_refused_because_opening_a_door_moves_the_tiger():
    with pytest.raises(
        pl.NotPomdpLiteError, match=r"after open-left in tiger-left .* tiger-left or tiger-right by chance"
    ):
        pl.make_model(str(SHARED / "Tiger.pomdp"))


@needs_shared
def test_hallway_is_refused():
    flat = read_pomdp((SHARED / "Hallway.pomdp").read_bytes(), "Hallway.pomdp")
    assert len(flat.states) == 60 and np.allclose([m.sum() for m in flat.transition], 60)
    with pytest.raises(pl.NotPomdpLiteError, match=r"after a1 in s0 the hidden state is s0 or s5 by chance"):
        structure_of_states(flat)


def test_chance_that_is_seen_before_the_next_step_is_found_by_histories():
    """Any state may be the first, but every observation tells the state: classes would join all of them."""
    flat = read(
        "discount: 0.9\nstates: a b\nactions: go\nobservations: A B\nT: * uniform\nO: * identity\nR: go : b : * : * 1\n"
    )
    assert find_classes(flat) is None
    model = find_histories(flat).model()
    assert model.hidden.components[0].labels == ("a", "b") and pl.check_model(model).ok
    assert flat_value(flat, flat.start, 4) == pytest.approx(
        model_value(model, model.hidden.components[0].prior, None, 4)
    )


def random_flat(seed: int) -> Flat:
    """A small POMDP whose states change by chance in few places."""
    rng = np.random.default_rng(seed)
    s, a, o = rng.integers(1, 5), rng.integers(1, 3), rng.integers(1, 4)
    chance = rng.choice([0.0, 0.1, 0.3])
    t, z = np.zeros((a, s, s)), np.zeros((a, s, o))
    for i in range(a):
        t[i, np.arange(s), rng.integers(0, s, s)] = 1
        for j in range(s):
            if rng.random() < chance:
                t[i, j] = rng.dirichlet(np.ones(s))
            z[i, j] = rng.dirichlet(np.ones(o)) if rng.random() < 0.5 else np.eye(o)[rng.integers(o)]
    start = rng.random(s) < 0.6
    start[rng.integers(s)] = True
    names = [f"s{i}" for i in range(s)], [f"a{i}" for i in range(a)], [f"o{i}" for i in range(o)]
    return Flat("random", *names, [csr_matrix(m) for m in t], [csr_matrix(m) for m in z],
                rng.integers(-5, 6, (s, a)).astype(float), start / start.sum(), 0.9, one_list(s))  # fmt: skip


def flat_value(flat: Flat, belief: np.ndarray, depth: int) -> float:
    """The optimal value of a few steps, by recursion over beliefs on states."""
    if depth == 0:
        return 0.0
    values = []
    for a in range(len(flat.actions)):
        value = belief @ flat.reward[:, a]
        after = (belief @ flat.transition[a].toarray())[:, None] * flat.sight[a].toarray()
        for column in after.T:
            if column.sum() > 0:
                value += flat.discount * column.sum() * flat_value(flat, column / column.sum(), depth - 1)
        values.append(value)
    return max(values)


def model_value(model: pl.Model, belief: np.ndarray, x, depth: int, now=None) -> float:
    """The same over beliefs on the initial θ, with the functions of the model."""
    f = model.compiled_form.interpreted
    x = model.initial_state() if x is None else x
    now = [model.hidden.record([i]) for i in range(len(belief))] if now is None else now
    if depth == 0 or f.terminal(x):
        return 0.0
    values = []
    for a in range(len(model.actions)):
        value, cells, states = 0.0, {}, {}
        later = [f.evolve(x, theta, a) for theta in now]
        for i, p in enumerate(belief):
            if p == 0:
                continue
            value += p * f.reward(x, now[i], a)
            for y, q in f.transition(x, now[i], a):
                for o, r in enumerate(f.observation(y, later[i], a) if q > 0 else ()):
                    states[int(y["state"])] = y.copy()
                    cells.setdefault((int(y["state"]), o), np.zeros(len(belief)))[i] += p * q * r
        for (y, _), cell in cells.items():
            if cell.sum() > 0:
                value += (
                    model.discount * cell.sum() * model_value(model, cell / cell.sum(), states[y], depth - 1, later)
                )
        values.append(value)
    return max(values)


def leaves_open(flat: Flat) -> bool:
    """Whether some history leaves open what an initial state has become; by listing histories, for small POMDPs."""
    done, waiting = set(), [tuple(frozenset([s]) if p > 0 else frozenset() for s, p in enumerate(flat.start))]
    while waiting:
        now = waiting.pop()
        if now in done:
            continue
        done.add(now)
        for a in range(len(flat.actions)):
            t, z = flat.transition[a].toarray(), flat.sight[a].toarray()
            for o in range(len(flat.observations)):
                after = tuple(
                    frozenset(y for s in states for y in np.flatnonzero(t[s] * z[:, o]).tolist()) for states in now
                )
                if any(len(states) > 1 for states in after):
                    return True
                if any(after):
                    waiting.append(after)
    return False


def test_random_files_keep_their_values_or_are_refused_rightly():
    """What is found has the value of the POMDP; what is refused has a history that leaves a state open."""
    kept = refused = by_classes = changing = 0
    for seed in range(150):
        flat = random_flat(seed)
        try:
            found = structure_of_states(flat)
        except pl.NotPomdpLiteError as error:
            assert leaves_open(flat), seed
            assert "by chance" in str(error)
            refused += 1
            continue
        assert not leaves_open(flat), seed
        forms = [found] if (classes := find_classes(flat)) is None else [classes, find_histories(flat)]
        by_classes += classes is not None
        for form in forms:
            model = form.model()
            model.compiled = False
            changing += type(model).__name__ == "ChangingFileModel"
            prior = model.hidden.components[0].prior
            assert model_value(model, prior, None, 3) == pytest.approx(flat_value(flat, flat.start, 3), abs=1e-9), seed
        kept += 1
    assert kept > 40 and refused > 20 and by_classes > 20 and changing > 10


# ---------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "change, cause",
    [
        (("discount: 0.9", "discount: 2"), "line 2: the discount is 2"),
        (("discount: 0.9\n", ""), "line 1: the file has no discount:"),
        (("states: a b c", "states: a b a"), "line 4: a is listed twice in states"),
        (("states: a b c", "states: 0"), "line 4: states must be a number from 1"),
        (("states: a b c", "states: 99999999999999"), "line 4: states must be a number from 1"),
        (("actions: go", "values: cost\nactions: go"), "line 5: there is a second values:"),
        (("T: * identity", "T: run identity"), "line 7: 'run' is not one of the 2 actions"),
        (("T: * identity", "T: go identity"), r"line 1: the transition probabilities of action stay and state a sum to 0"),
        (("T: * identity", "T: * identity\nT: go : b : 7 1.0"), "line 8: '7' is not one of the 3 states"),
        (("T: * identity", "T: * identity\nT: go : b : a 1.0.0"), "line 8: '1.0.0' is not a finite number"),
        (("T: * identity", "T: * identity\n\nT: go : a : a 1\nT: go : b : a 0.5"),
         "line 10: the transition probabilities of action go and state b sum to 1.5, not 1"),
        (("T: * identity", "T: * identity\nT: go : b : a -0.5\nT: go : b : b 1.5"), "line 8: the probability -0.5 is negative"),
        (("T: * identity", "T: *\n1 0 0\n0 1 0"), "line 8: expected 9 numbers, found 6"),
        (("O: * uniform", "O: * reset"), "line 8: reset cannot stand here"),
        (("O: * uniform", "O: * uniform\nR: go : a : a uniform"), "line 9: uniform cannot stand here"),
        (("O: * uniform", "O: * :"), r"line 9: the file ends within a statement"),
        (("O: * uniform", "O: * uniform\nQ: * 1"), r"line 9: .*'Q.*' is not expected here|line 9: cannot be read from"),
        (("O: * uniform", "O: * uniform\n%%%"), "line 9: cannot be read from '%%%' on"),
        (("O: * uniform", "O: * uniform\nstart: 3"), "line 9: there is no state 3"),
        (("O: * uniform", "O: * uniform\nstart: 0.5 0.6 0.1"), "line 9: the initial belief sums to 1.2, not 1"),
        (("O: * uniform", "O: * uniform\nstart exclude: a b c"), "line 9: no state is left"),
    ],
)  # fmt: skip
def test_mistakes_are_reported_with_their_line(change, cause):
    text = PREAMBLE + REST
    assert change[0] in text
    with pytest.raises(pl.ModelError, match=f"^test.pomdp, ({cause})"):
        read(text.replace(*change))


@pytest.mark.parametrize(
    "text",
    [
        "discount: 1\nstates: 1000000\nactions: 1000000\nobservations: 2\n",
        "discount: 1\nstates: 100000\nactions: 2\nobservations: 2\nT: * uniform\n",
        "discount: 1\nstates: 1000\nactions: 1000\nobservations: 2\nT: * : * : * 0.001\n",
    ],
)
def test_what_does_not_fit_into_memory_is_refused_before_it_is_made(text):
    with pytest.raises(pl.TooLargeError, match=r"^test.pomdp.* (too many|more than)"):
        read(text)


def test_a_file_is_a_problem_for_every_command(tmp_path):
    from pomdplite.cli.main import execute

    (tmp_path / "One.pomdp").write_text(ONE_SHOT)
    assert execute(["check", str(tmp_path / "One.pomdp")]) == 0
    assert execute(["run", str(tmp_path / "One.pomdp"), "--planner", "qmdp", "-n", "3"]) == 0
    assert execute(["check", str(tmp_path / "Two.pomdp")]) == 2


def test_a_byte_order_mark_is_no_part_of_the_file():
    assert (
        read_pomdp(b"\xef\xbb\xbf" + ONE_SHOT.encode(), "test.pomdp").states
        == read_pomdp(ONE_SHOT.encode(), "test.pomdp").states
    )
