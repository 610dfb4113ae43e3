"""Models written to .pomdp and .pomdpx files are the same models when they are read back."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from models import ChangingParts, Tables, tables
from rich.console import Console

import pomdplite as pl
from pomdplite.cli.main import execute
from pomdplite.formats.cassandra import read_pomdp
from pomdplite.formats.file_model import ILLEGAL, NO_OBSERVATION
from pomdplite.formats.listing import distinct_names, listing
from pomdplite.formats.structure import structure_of_states
from pomdplite.formats.write_pomdp import _PairWriter, pomdp_text
from pomdplite.views.text import drawing

few = settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def reachable(m: Tables) -> list[int]:
    """The states that can be reached, in order."""
    found, waiting = {0}, [0]
    while waiting:
        x = waiting.pop()
        if x in m.terminal:
            continue
        after = {int(y) for a in np.flatnonzero(m.legal[x]) for y in np.flatnonzero(m.t[x, :, a].any(axis=0))}
        waiting += after - found
        found |= after
    return sorted(found)


def likelihoods(m: Tables, y: int, theta: int, a: int) -> list[float]:
    """Z with null last."""
    row = m.z[y, theta, a]
    return [*row.tolist(), 0.0 if row.any() else 1.0]


@few
@given(m=tables())
def test_a_pomdpx_file_holds_the_same_functions(m, tmp_path):
    """T, Z, R, φ, prior, legal actions and ends, exactly, at every state that can be reached."""
    path, original = tmp_path / "model.pomdpx", m.model(compiled=False)
    pl.save(original, path)
    model = pl.load(path)
    model.compiled = False
    states = reachable(m)
    number = {x: i for i, x in enumerate(states)}
    assert [n for n in model.state.labels["state"] if n != ILLEGAL] == [f"x{x}" for x in states]
    assert model.hidden.components[0].prior.tolist() == original.hidden.components[0].prior.tolist()
    assert model.discount == m.discount
    f = model.compiled_form.interpreted
    thetas = [model.hidden.record([i]) for i in range(len(m.prior))]
    for x in states:
        here = model.state_record({"state": f"x{x}"})
        if x in m.terminal:
            assert f.terminal(here)
            continue
        for a in range(len(model.actions)):
            assert f.legal(here, a) == m.legal[x, a]
            for theta, record in enumerate(thetas if m.legal[x, a] else ()):
                assert f.reward(here, record, a) == m.r[x, theta, a]
                later = int(m.later[x, theta, a]) if m.changes else theta
                assert model.hidden.indices(f.evolve(here, record, a)) == [later]
                after = {int(y["state"]): p for y, p in f.transition(here, record, a) if p > 0}
                assert after == {number[y]: p for y, p in enumerate(m.t[x, theta, a].tolist()) if p > 0}
                for y in np.flatnonzero(m.t[x, theta, a]).tolist():
                    there = model.state_record({"state": f"x{y}"})
                    seen = dict(zip([*model.observations, None], f.observation(there, thetas[later], a), strict=True))
                    expected = likelihoods(m, y, later, a)
                    assert [seen.get(f"o{o}", 0.0) for o in range(len(expected) - 1)] == expected[:-1]
                    assert seen[None] == expected[-1]


@few
@given(m=tables())
def test_a_pomdp_file_holds_the_same_probabilities(m):
    """The states are all (x, θ) in order; what is read is exactly what was written."""
    original = m.model(compiled=False)
    written = _PairWriter(listing(original))
    flat = read_pomdp("\n".join(written.lines()).encode(), "model.pomdp")
    states, thetas = reachable(m), len(m.prior)
    start = np.zeros(len(flat.states))
    start[:thetas] = original.hidden.components[0].prior
    assert flat.start.tolist() == start.tolist()
    earned = [m.r[x, :, a].min() for x in states if x not in m.terminal for a in np.flatnonzero(m.legal[x])]
    worst = min(0, *earned) / (1 - m.discount)  # what any policy loses at most
    for i, x in enumerate(states):
        for theta in range(thetas):
            for a in range(len(flat.actions)):
                row = flat.transition[a].toarray()[i * thetas + theta]
                if x in m.terminal:
                    assert row[i * thetas + theta] == 1 and flat.reward[i * thetas + theta, a] == 0
                elif not m.legal[x, a]:
                    assert row[flat.states.index(ILLEGAL)] == 1 and flat.reward[i * thetas + theta, a] < worst
                else:
                    later = int(m.later[x, theta, a]) if m.changes else theta
                    expected = np.zeros(len(flat.states))
                    expected[np.arange(len(states)) * thetas + later] = m.t[x, theta, a, states]
                    assert row.tolist() == expected.tolist()
                    assert flat.reward[i * thetas + theta, a] == m.r[x, theta, a]
                    for y in np.flatnonzero(m.t[x, theta, a]).tolist():
                        seen = flat.sight[a].toarray()[states.index(y) * thetas + later]
                        names = [*(f"o{o}" for o in range(m.z.shape[-1])), NO_OBSERVATION]
                        if not written.certain:
                            names = [f"x{y}-{name}" for name in names]
                        told = {n: p for n, p in zip(flat.observations, seen.tolist(), strict=True) if p > 0}
                        assert told == {n: p for n, p in zip(names, likelihoods(m, y, later, a), strict=True) if p > 0}


@pytest.mark.parametrize("suffix", [pytest.param(".pomdp", marks=pytest.mark.slow), ".pomdpx"])
def test_the_same_seeds_give_the_same_returns(suffix, tmp_path):
    """Tiger, and a tabular model with chances and changes; states and outcomes keep their order."""
    rng = np.random.default_rng(1000)
    t = rng.dirichlet(np.ones(3), (3, 2, 2))
    table = pl.tabular(t, rng.integers(-5, 6, (3, 2, 2)), rng.dirichlet(np.ones(2), (3, 2, 2)), discount=0.9,
                       hidden_next=rng.integers(0, 2, (3, 2, 2)), prior=[0.3, 0.7])  # fmt: skip
    for i, model in enumerate((pl.Tiger(), table)):
        path = tmp_path / f"model{i}{suffix}"
        pl.save(model, path)
        again = pl.load(path)
        planners = [pl.Qmdp(model), pl.Qmdp(again)]
        one, other = (pl.evaluate(p.model, p, episodes=40, seed=1000) for p in planners)
        assert one.returns.tolist() == other.returns.tolist()
        assert len(set(one.returns.tolist())) > 1


def test_components_are_found_again(tmp_path):
    model = ChangingParts(7)
    pl.save(model, tmp_path / "parts.pomdpx")
    again = pl.load(tmp_path / "parts.pomdpx")
    touched = {int(c) for c in model.which[0] if c >= 0}
    names = [c.name for c in again.hidden.components]
    assert names == ["part-0", "part-1", "part-2"] and again.compiled_form.factored
    assert {int(c) for c in np.unique(again.which) if c >= 0} <= touched
    for ours, theirs in zip(model.hidden.components, again.hidden.components, strict=True):
        assert ours.prior.tolist() == theirs.prior.tolist()
    values = [pl.PomdpLite(m, beta=1.0) for m in (model, again)]
    decisions = []
    for planner in values:
        planner.reset()
        decisions.append(planner.decide())
    assert decisions[0].solution.q == pytest.approx(decisions[1].solution.q, abs=1e-9)


def test_rocksample_survives_both_formats(tmp_path):
    """8 components in one, a single hidden value of 256 in the other; every reward and change is there."""
    model = pl.make_model("rocksample-4-4")
    pl.save(model, tmp_path / "rocks.pomdpx")
    again = pl.load(tmp_path / "rocks.pomdpx")
    assert len(again.hidden.components) == 4 and again.observations == ("bad", "good")
    assert len(again.state.labels["state"]) == 16 + 4 + 1  # cells, exits, and the state of illegal actions
    flat = read_pomdp(pomdp_text(listing(model)).encode(), "rocks.pomdp")
    whole = structure_of_states(flat).model()
    assert whole.hidden.size == 16 and whole.compiled_form.evolves and NO_OBSERVATION not in whole.observations
    bounds = []
    for m in (model, again, whole):
        planner = pl.Qmdp(m)
        planner.reset()
        bounds.append(max(planner.decide().solution.q))
    assert bounds[1:] == pytest.approx([bounds[0]] * 2, abs=1e-9)


def test_names_are_made_fit_for_both_formats():
    assert distinct_names(["a b", "a-b", "T", "3", "é", "uniform", "no-observation"]) == [
        "a-b", "a-b_1", "T_2", "s3", "x", "uniform_5", "no-observation_6"
    ]  # fmt: skip


def test_models_that_no_file_can_hold_are_refused(tmp_path):
    for name in ("pendulum", "light-dark", "battleship-5-2"):
        with pytest.raises(pl.UnsuitableError, match="cannot be written to a file"):
            pl.save(pl.make_model(name), tmp_path / "model.pomdpx")


def test_the_command_writes_a_file_and_spares_others(tmp_path, capsys):
    path = tmp_path / "tiger.pomdpx"
    assert execute(["export", "tiger", str(path)]) == 0
    assert f"{path.stat().st_size:,} bytes" in capsys.readouterr().out.replace("\n", "")
    assert execute(["export", "tiger", str(path)]) == 0  # its own file may be overwritten
    path.write_text("<pomdpx>mine</pomdpx>")
    assert execute(["export", "tiger", str(path)]) == 2
    assert "is not overwritten" in capsys.readouterr().err and path.read_text() == "<pomdpx>mine</pomdpx>"
    assert execute(["export", "tiger", str(tmp_path / "tiger.xml")]) == 2


def test_what_is_printed_of_a_file_has_its_names(tmp_path, capsys):
    """A state by its name, and one line for each of several components with two values."""
    path = tmp_path / "rocks.pomdpx"
    pl.save(pl.make_model("rocksample-4-4"), path)
    model, console = pl.load(path), Console(width=80)
    console.print(drawing(model, model.initial_state(), [np.array([0.25, 0.75])] * 4))
    state, *lines = capsys.readouterr().out.splitlines()
    assert state.strip() == model.describe_state(model.initial_state()) and "=" not in state
    assert [line.split()[:2] for line in lines] == [[f"rock-{i}", "good"] for i in range(4)]
    assert all(line.rstrip().endswith("75.0%") for line in lines)
