"""Every belief against brute force, and what all of them promise."""

from collections import defaultdict
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models import ChangingParts, FlatChangingParts, FlatParts, Parts, outcomes, start, tables

import pomdplite as pl
from pomdplite import rng

PARTICLES = 4000
KINDS = {
    "categorical": pl.CategoricalBelief,
    "factored": pl.FactoredBelief,
    "particles": lambda model: pl.ParticleBelief(model, PARTICLES),
    "rejection": lambda model: pl.RejectionBelief(model, PARTICLES),
}
CASES = [
    (kind, model) for model in (Parts, ChangingParts) for kind in KINDS if (kind, model) != ("particles", ChangingParts)
]
on_all_beliefs = pytest.mark.parametrize(("kind", "model_kind"), CASES)


def closeness(kind: str) -> float:
    """How far a probability may be off: rounding for exact beliefs, sampling error and correlated copies for particles."""
    return 1e-9 if kind in ("categorical", "factored") else 0.06


def play(belief: pl.Belief, seed: int, steps: int = 4) -> list[tuple]:
    """Update the belief along an episode of its model; the steps (x, a, y, o)."""
    model = belief.view.model
    world, history = pl.ModelWorld(model), []
    world.reset(seed)
    for t in range(steps):
        x, a = world.x, (seed + t) % len(model.actions)
        o = world.step(a).o
        history.append((x, a, world.x, o))
        belief.update(*history[-1])
    return history


def possible_values(model: pl.Model, history: list[tuple]) -> list[tuple]:
    """Every joint value as (its indices, its present record, its posterior probability), from the definitions alone."""
    plain, found = model.compiled_form.interpreted, []
    for indices in product(*(range(len(c)) for c in model.hidden.components)):
        p = float(np.prod([c.prior[i] for c, i in zip(model.hidden.components, indices, strict=True)]))
        theta = model.hidden.record(indices)
        for x, a, y, o in history:
            p *= sum(q for there, q in plain.transition(x, theta, a) if int(there.place) == int(y.place))
            theta = plain.evolve(x, theta, a)
            p *= plain.observation(y, theta, a)[o]
        found.append((indices, theta, p))
    total = sum(p for *_, p in found)
    return [(indices, theta, p / total) for indices, theta, p in found]


def marginals_of(model: pl.Model, values: list[tuple]) -> list[np.ndarray]:
    """P(component = value) of the first entry of each tuple, an index per component."""
    found = [np.zeros(len(c)) for c in model.hidden.components]
    for indices, p in values:
        for marginal, i in zip(found, indices, strict=True):
            marginal[i] += p
    return found


@on_all_beliefs
@pytest.mark.parametrize("seed", [1, 5, 11])
def test_every_answer_agrees_with_enumeration(kind, model_kind, seed):
    model = model_kind(seed)
    belief, plain, near = KINDS[kind](model), model.compiled_form.interpreted, closeness(kind)
    values = possible_values(model, play(belief, seed))
    initial = marginals_of(model, [(indices, p) for indices, _, p in values])
    present = marginals_of(model, [(model.hidden.indices(theta), p) for _, theta, p in values])
    np.testing.assert_allclose(np.concatenate(belief.initial_marginals()), np.concatenate(initial), atol=near)
    np.testing.assert_allclose(np.concatenate(belief.marginals()), np.concatenate(present), atol=near)
    assert belief.entropy() == pytest.approx(-sum(p * np.log(p) for *_, p in values if p > 0), abs=3 * near)
    stream = rng.stream(seed)
    drawn = marginals_of(model, [(model.hidden.indices(belief.sample(stream)), 1 / 4000) for _ in range(4000)])
    np.testing.assert_allclose(np.concatenate(drawn), np.concatenate(initial), atol=near + 0.035)
    for place, a in product(range(3), range(3)):
        x = model.state_record({"place": place})
        mean_reward, mean_transition, reached = 0.0, defaultdict(float), defaultdict(dict)
        for indices, theta, p in values:
            mean_reward += p * plain.reward(x, theta, a)
            for y, chance in plain.transition(x, theta, a):
                mean_transition[int(y.place)] += p * chance
                for o, likelihood in enumerate(plain.observation(y, plain.evolve(x, theta, a), a)):
                    cell = reached[(int(y.place), o)]
                    cell[indices] = cell.get(indices, 0.0) + p * chance * likelihood
        change = 0.0  # Definition 1 as written: posteriors by Bayes' rule, and their distance from the belief
        for cell in reached.values():
            chance = sum(cell.values())
            if chance > 0:
                change += chance * sum(abs(cell.get(indices, 0.0) / chance - p) for indices, _, p in values)
        assert belief.mean_reward(x, a) == pytest.approx(mean_reward, abs=10 * near)  # rewards are from -5 to 5
        assert belief.expected_change(x, a) == pytest.approx(change, abs=2 * near)
        got = {int(y.place): p for y, p in belief.mean_transition(x, a)}
        assert got == pytest.approx({y: p for y, p in mean_transition.items() if p > 0}, abs=near)


@on_all_beliefs
def test_kernels_see_the_same_belief(kind, model_kind):
    """The rows of kernel_model with their probabilities and the maps hold the marginals of the present θ."""
    model = model_kind(5)
    belief = KINDS[kind](model)
    play(belief, 5)
    b, offsets = belief.probabilities, belief.kernel_model.offsets
    assert len(b) == len(belief.kernel_model.theta) == offsets[-1] and b[-1] == 1.0
    for block in range(len(offsets) - 2):
        assert b[offsets[block] : offsets[block + 1]].sum() == pytest.approx(1.0)
    assert (len(belief.maps) > 0) == (model_kind is ChangingParts and kind != "rejection")


def test_the_joint_distribution_is_that_of_the_present_value():
    for kind in ("categorical", "factored"):
        model = ChangingParts(5)
        belief = KINDS[kind](model)
        expected = np.zeros((2, 2, 2))
        for _, theta, p in possible_values(model, play(belief, 5)):
            expected[tuple(model.hidden.indices(theta))] += p
        np.testing.assert_allclose(belief.joint(), expected.ravel(), atol=1e-9)


def same(one: pl.Belief, two: pl.Belief) -> bool:
    answers = [
        (b.probabilities.tolist(), b.maps.tolist(), b.entropy(), b.notes, b.key(), b.sample(rng.stream(3)).tobytes(),
         [m.tolist() for m in b.initial_marginals() + b.marginals()])
        for b in (one, two)
    ]  # fmt: skip
    return answers[0] == answers[1]


@on_all_beliefs
def test_a_copy_is_independent_and_lives_the_same_life(kind, model_kind):
    model = model_kind(5)
    belief = KINDS[kind](model)
    twin, third = belief.copy(), belief.copy()
    assert same(belief, twin)
    history = play(twin, 5)
    assert same(belief, third) and not same(belief, twin)
    for step in history:
        belief.update(*step)
    assert same(belief, twin)


def impossible_step(model: Parts) -> tuple:
    """(x, a, y, o) with a next state that the action cannot lead to."""
    for x, a, y in product(range(3), range(3), range(3)):
        if y not in model.to[x, a]:
            return {"place": x}, a, {"place": y}, None
    raise AssertionError


@on_all_beliefs
def test_an_impossible_step_leaves_the_belief_as_it_was(kind, model_kind):
    """Also its history and random numbers: the next step has the same effect as if nothing had happened."""
    model = model_kind(5)
    belief = KINDS[kind](model)
    history = play(belief, 5)
    twin = belief.copy()
    with pytest.raises(pl.ImpossibleObservationError):
        belief.update(*impossible_step(model))
    assert same(belief, twin)
    for b in (belief, twin):
        b.update(*history[0])
    assert same(belief, twin)


@on_all_beliefs
@pytest.mark.parametrize("seed", [1, 5, 11])
def test_a_recovered_belief_is_half_the_prior_and_half_what_it_was(kind, model_kind, seed):
    """θ keeps what the steps so far have changed: the prior's half changes as the other one did."""
    model = model_kind(seed)
    belief, near = KINDS[kind](model), closeness(kind)
    prior, history = belief.initial_marginals(), play(belief, seed, 8)
    before = belief.initial_marginals()
    belief.recover()
    after = belief.initial_marginals()
    for was, first, now in zip(before, prior, after, strict=True):
        np.testing.assert_allclose(now, (was + first) / 2, atol=near)
    exact = pl.FactoredBelief(model)
    for step in history:
        exact.update(*step)
    exact.recover()
    np.testing.assert_allclose(np.concatenate(belief.marginals()), np.concatenate(exact.marginals()), atol=near)


@pytest.mark.parametrize("kind", ["categorical", "particles", "rejection"])
def test_what_was_seen_before_a_recovery_no_longer_rules_values_out(kind):
    model = pl.Tiger(accuracy=1.0)
    belief, x = KINDS[kind](model), model.initial_state()
    belief.update(x, "listen", x, "hear-left")
    with pytest.raises(pl.ImpossibleObservationError):
        belief.update(x, "listen", x, "hear-right")
    assert belief.marginals()[0].tolist() == pytest.approx([1.0, 0.0])
    belief.recover()
    for _ in range(3):
        belief.update(x, "listen", x, "hear-right")
    assert belief.marginals()[0].tolist() == pytest.approx([0.0, 1.0])


def test_beliefs_that_do_not_fit_the_model_are_refused():
    with pytest.raises(pl.UsageError, match="a factored belief needs several components"):
        pl.FactoredBelief(pl.Tiger())
    with pytest.raises(pl.UsageError, match="a particle belief needs a constant θ"):
        pl.ParticleBelief(ChangingParts(1), 10)
    with pytest.raises(pl.UsageError, match="particles must be at least 1, not 0"):
        pl.RejectionBelief(pl.Tiger(), 0)


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(0, 2**32 - 1))
def test_update_is_bayes_rule(m, seed):
    """Against the definitions in plain Python, along a random history; static and changing θ."""
    choices = np.random.default_rng(seed)
    model = m.model()
    belief, reference, x = pl.initial_belief(model), start(m), 0
    for _ in range(6):
        if x in m.terminal:
            break
        a = int(choices.choice(np.flatnonzero(m.legal[x])))
        reached = outcomes(m, reference, x, a)
        record = model.state_record((x,))
        mean = sum(p * m.r[x, now, a] for (_, now), p in reference.items())
        assert abs(belief.mean_reward(record, a) - mean) < 1e-9
        chances = {}
        for (y, _), cell in reached.items():
            chances[y] = chances.get(y, 0.0) + sum(cell.values())
        got = {int(y.state): p for y, p in belief.mean_transition(record, a)}
        assert got == pytest.approx({y: p for y, p in chances.items() if p > 0}, abs=1e-9)
        y, o = list(reached)[choices.integers(len(reached))]
        cell = reached[(y, o)]
        if sum(cell.values()) == 0:
            break
        reference = {k: p / sum(cell.values()) for k, p in cell.items()}
        belief.update(record, a, model.state_record((y,)), o)
        expected = np.zeros(len(m.prior))
        present = np.zeros(len(m.prior))
        for (first, now), p in reference.items():
            expected[first] += p
            present[now] += p
        np.testing.assert_allclose(belief.vector, expected, atol=1e-9)
        np.testing.assert_allclose(belief.marginals()[0], present, atol=1e-9)
        x = y


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.booleans())
def test_factored_agrees_with_flattened(seed, changing):
    factored, flat = (ChangingParts(seed), FlatChangingParts(seed)) if changing else (Parts(seed), FlatParts(seed))
    one, two = pl.initial_belief(factored), pl.initial_belief(flat)
    assert isinstance(two, pl.CategoricalBelief) and not isinstance(one, pl.CategoricalBelief)
    world = pl.ModelWorld(factored)
    world.reset(seed)
    for t in range(8):
        x, a = world.x, (seed + t) % 3
        assert abs(one.expected_change(x, a) - two.expected_change(x, a)) < 1e-9
        assert abs(one.mean_reward(x, a) - two.mean_reward(x, a)) < 1e-9
        outcome = world.step(a)
        one.update(x, a, world.x, outcome.o)
        two.update(x, a, world.x, outcome.o)
        for mine, other in zip(
            one.initial_marginals() + one.marginals(), two.initial_marginals() + two.marginals(), strict=True
        ):
            np.testing.assert_allclose(mine, other, atol=1e-9)
        assert abs(one.entropy() - two.entropy()) < 1e-9


def test_sound_after_ten_thousand_updates():
    """5,000 hearings of one kind and then 5,001 of the other leave a lead of one; probabilities alone would underflow."""
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    for sound, times in (("hear-left", 5000), ("hear-right", 5001)):
        for _ in range(times):
            belief.update(x, "listen", x, sound)
    np.testing.assert_allclose(belief.vector, [0.15, 0.85], atol=1e-9)
    assert abs(belief.vector.sum() - 1) < 1e-12


def test_an_impossible_observation_is_named_and_leaves_the_belief_as_it_was():
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    with pytest.raises(pl.ImpossibleObservationError, match="observing '–' is impossible after 'listen'"):
        belief.update(x, "listen", x, None)
    with pytest.raises(pl.ImpossibleObservationError, match=r"next state x' = \(opened=left\) is impossible"):
        belief.update(x, "listen", {"opened": 1}, "hear-left")
    np.testing.assert_allclose(belief.vector, [0.5, 0.5])


def test_a_certain_sensor_rules_values_out_for_good():
    model = pl.Tiger(accuracy=1.0)
    belief = pl.initial_belief(model)
    x = model.initial_state()
    belief.update(x, "listen", x, "hear-left")
    assert belief.vector.tolist() == [1.0, 0.0]
    assert belief.entropy() == 0.0
    with pytest.raises(pl.ImpossibleObservationError, match="still possible"):
        belief.update(x, "listen", x, "hear-right")


def test_samples_follow_the_belief():
    belief = pl.initial_belief(pl.Tiger())
    x = belief.view.model.initial_state()
    belief.update(x, "listen", x, "hear-left")
    stream = rng.stream(7)
    left = sum(int(belief.sample(stream).tiger) == 0 for _ in range(4000)) / 4000
    assert abs(left - 0.85) < 4 * np.sqrt(0.85 * 0.15 / 4000)


def test_sampling_a_rock_turns_it_bad_and_keeps_the_belief_about_its_first_kind():
    model = pl.RockSample(2, [(0, 1)])
    belief = pl.initial_belief(model)
    x = model.initial_state()
    belief.update(x, "check-0", x, "good")
    assert belief.marginals()[0][1] == 1.0  # at distance 0 the sensor is certain
    belief.update(x, "sample", x, None)
    assert belief.marginals()[0].tolist() == [1.0, 0.0]
    assert belief.initial_marginals()[0].tolist() == [0.0, 1.0]
