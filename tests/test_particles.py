"""Particle beliefs against exact enumeration, and Battleship's rules."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pomdplite as pl
from pomdplite import rng
from pomdplite.beliefs.protocol import StepNote


def boards(model: pl.Battleship) -> np.ndarray:
    """Every valid board as [board, cell], by trying all placements."""
    n, found = model.size * model.size, []
    for places in product(*(range(count) for count in model.places)):
        cells, valid = np.zeros(model.cells.shape[2], np.uint64), True
        for ship, place in enumerate(places):
            for other in range(ship):
                if np.any(model.cells[ship, place] & model.halo[other, places[other]]):
                    valid = False
            cells |= model.cells[ship, place]
        if valid:
            found.append([(int(cells[c // 64]) >> (c % 64)) & 1 for c in range(n)])
    return np.array(found)


MODEL = pl.Battleship(5, 2)
BOARDS = boards(MODEL)


BOTH = pytest.mark.parametrize("kind", [pl.ParticleBelief, pl.RejectionBelief])


def fire(belief: pl.Belief, s: np.ndarray, cell: int, hit: bool) -> np.ndarray:
    """Tell the belief of a shot; the next state."""
    y = s.copy()
    y[0] |= np.uint64(1 << cell)
    if hit:
        y[1] |= np.uint64(1 << cell)
        y[2] -= np.uint64(1)
    belief.update(belief.view.record(s), cell, belief.view.record(y), int(hit))
    return y


def shoot(belief: pl.Belief, truth: np.ndarray, shots: list[int]) -> np.ndarray:
    """Fire at the cells of a known board; the boards that remain possible."""
    s, possible = belief.view.root(), BOARDS
    for cell in shots:
        if s[-1] == 0:
            break
        s = fire(belief, s, cell, bool(truth[cell]))
        possible = possible[possible[:, cell] == truth[cell]]
    return possible


def test_prior_is_uniform_over_valid_boards():
    draws = np.zeros((20_000, MODEL.hidden.words), np.uint64)
    MODEL.compiled_form.kernel_view().draw_prior(draws, rng.stream(5))
    names = {int((row << np.arange(25)).sum()): i for i, row in enumerate(BOARDS)}
    counts = np.bincount([names[int(d[0])] for d in draws], minlength=len(BOARDS))
    expected = len(draws) / len(BOARDS)
    chi2 = ((counts - expected) ** 2 / expected).sum()
    freedom = len(BOARDS) - 1
    assert abs(chi2 - freedom) < 4 * np.sqrt(2 * freedom)


EXAMPLES, CELLS, ERROR_RATE = 25, 25, 1e-4  # the rate at which a correct belief fails the test below
# Copies are correlated until they have moved apart. Over 57 histories, each replayed with 40 seeds, the variance of a
# marginal was at most 2.4 (weighted) and 9.3 (rejection) times that of independent draws.
CORRELATION = {pl.ParticleBelief: 4, pl.RejectionBelief: 14}


def bernstein(p: np.ndarray, draws: float) -> np.ndarray:
    """How far the frequencies of events of probability p may be from p, all of them, up to the error rate."""
    log = np.log(2 * CELLS * EXAMPLES / ERROR_RATE)
    return np.sqrt(2 * p * (1 - p) * log / draws) + 2 * log / (3 * draws)


@BOTH
@settings(max_examples=EXAMPLES, deadline=None)
@given(st.integers(0, len(BOARDS) - 1), st.permutations(list(range(25))), st.integers(0, 14), st.integers(0, 1000))
def test_posterior_agrees_with_enumeration(kind, truth, order, shots, seed):
    """Marginals after any history of shots. The prior draws that agree with the history are independent; moves help."""
    belief = kind(MODEL, 2000)
    belief.reset(seed)
    possible = shoot(belief, BOARDS[truth], list(order[:shots]))
    exact = possible.mean(axis=0)
    got = belief.marginals()[0]
    draws = 2000 * max(len(possible) / len(BOARDS), 1 / CORRELATION[kind])
    assert np.all(np.abs(got - exact) < bernstein(exact, draws)), np.abs(got - exact).max()
    assert not any("recovered" in note for note in belief.notes)


@BOTH
def test_the_bound_on_the_posterior_would_notice_a_shot_that_is_ignored(kind):
    """The bound is wide enough for chance and too narrow for a belief that is wrong."""
    belief = kind(MODEL, 2000)
    shoot(belief, BOARDS[0], [0, 7, 12])
    after = shoot(kind(MODEL, 2), BOARDS[0], [0, 7, 12, 18, 16])  # two more shots than the belief knows of
    draws = 2000 * max(len(after) / len(BOARDS), 1 / CORRELATION[kind])
    exact = after.mean(axis=0)
    assert np.any(np.abs(belief.marginals()[0] - exact) > bernstein(exact, draws))


@BOTH
def test_means_and_bonus_from_particles_agree_with_enumeration(kind):
    belief = kind(MODEL, 4000)
    x = MODEL.initial_state()
    for a in (0, 7, 12):
        p = BOARDS[:, a].mean()
        assert abs(belief.expected_change(x, a) - 4 * p * (1 - p)) < 0.06  # Σ_o 2 P(o) (1 − P(o))
        assert belief.mean_reward(x, a) == pytest.approx(-1.0)
        chances = {int(y.left): q for y, q in belief.mean_transition(x, a)}
        assert set(chances) == {4, 5} and abs(chances[4] - p) < 0.04 and abs(chances[5] - (1 - p)) < 0.04


@BOTH
def test_an_emptied_belief_is_recovered_and_says_so(kind):
    """Few particles and a sudden truth: none agrees, some are found by moving, and the result agrees with the history."""
    recovered = 0
    for seed in range(30):
        belief = kind(MODEL, 3)
        belief.reset(seed)
        truth = BOARDS[(seed * 37) % len(BOARDS)]
        possible = shoot(belief, truth, [12, 6, 18, 8, 16, 2, 22, 10, 14])
        told = [note for note in belief.notes if not isinstance(note, StepNote)]
        recovered += len(told)
        assert all("of 3 were recovered from" in note for note in told)
        consistent = {int((row << np.arange(25)).sum()) for row in possible}
        assert all(int(t[0]) in consistent for t in belief.kernel_model.theta[:3])
    assert recovered > 0


@BOTH
def test_what_no_board_explains_is_told(kind):
    belief = kind(MODEL, 50)
    s = belief.view.root()
    with pytest.raises(pl.ImpossibleObservationError, match="none of 50 particles explains observing 'hit' after"):
        for cell in range(0, 24, 2):  # hits that no two ships could make
            s = fire(belief, s, cell, True)


@BOTH
def test_recovered_particles_are_half_new(kind):
    belief = kind(MODEL, 4001)  # an odd number: the halves are not equally many
    shoot(belief, BOARDS[0], list(range(25)))
    known, prior = belief.marginals()[0], BOARDS.mean(axis=0)
    assert set(np.round(known, 9)) == {0.0, 1.0}
    belief.recover()
    np.testing.assert_allclose(belief.marginals()[0], (known + prior) / 2, atol=4.5 * np.sqrt(0.25 / 4000) / 2)


class Combination(pl.Model):
    """A dial shows one of 1,000 symbols at random; reading it tells θ. Until then nothing does."""

    state = pl.State(read=np.int64)
    hidden = pl.Population(theta=np.int64)
    actions = ("watch", "read")
    observations = tuple(f"symbol {i}" for i in range(1000))
    discount = 0.99

    def prior(m, theta, random):
        theta.theta = int(rng.uniform(random) * 100)

    def move(m, x, theta, random):
        if x.read == 0:
            theta.theta = int(rng.uniform(random) * 100)
        changed = x.read > 0 and theta.theta != x.read - 1
        if changed:
            theta.theta = x.read - 1
        return changed

    def transition(m, x, theta, a, y):
        y.read = theta.theta + 1 if a == 1 else x.read

    def observation(m, y, theta, a, z):
        z[:] = 1.0 / 1000.0

    def reward(m, x, theta, a):
        return 0.0


@BOTH
def test_a_long_history_does_not_keep_a_belief_from_recovering(kind):
    """120 observations of probability 1/1000: the probability of the history, 1e-360, is 0 to a computer."""
    belief = kind(Combination(), 5)
    values = {int(belief.sample(rng.stream(i)).theta) for i in range(100)}
    for t in range(120):
        belief.update((0,), "watch", (0,), t)
    truth = next(
        v for v in range(100) if v not in values | {int(belief.sample(rng.stream(i)).theta) for i in range(100)}
    )
    belief.update((0,), "read", (truth + 1,), 0)
    assert int(belief.sample(rng.stream(0)).theta) == truth
    told = [note for note in belief.notes if not isinstance(note, StepNote)]
    assert told[-1].startswith("no particle matched step 121; ")


def test_moves_are_reported():
    belief = pl.ParticleBelief(MODEL, 500)
    assert 0.5 < belief.acceptance <= 1.0 and belief.effective == 500
    shoot(belief, BOARDS[0], [0, 24, 12])
    assert 0 < belief.effective <= 500 and 0 < belief.acceptance <= 1.0
    assert belief.entropy() > 0


def test_battleship_rules():
    plain, x = MODEL.compiled_form.interpreted, MODEL.initial_state()
    theta = plain.prior(rng.stream(1))
    ship = next(c for c in range(25) if (int(theta.board[0]) >> c) & 1)
    water = next(c for c in range(25) if not (int(theta.board[0]) >> c) & 1)
    ((hit, _),), ((miss, _),) = plain.transition(x, theta, ship), plain.transition(x, theta, water)
    assert (int(hit.left), int(miss.left)) == (4, 5) and not plain.legal(hit, ship) and plain.legal(hit, water)
    assert plain.observation(hit, theta, ship).tolist() == [0, 1, 0]
    assert plain.reward(x, theta, ship) == -1.0
    x.left = 1
    assert plain.reward(x, theta, ship) == 24.0 and plain.reward(x, theta, water) == -1.0


@pytest.mark.slow
def test_battleship_is_played_well():
    """Random play needs most of the board; the posterior's best cell far less."""
    result = pl.evaluate("battleship-10-5", episodes=6, seed=3, sims=2, particles=300)
    assert result.mean > 50 and result.success_rate == 1.0


@pytest.mark.parametrize("size_and_ships", [(3, 3), (2, 5), (1, 1), (4, 3), (5, 0)])
def test_boards_on_which_the_ships_do_not_fit_are_refused(size_and_ships):
    with pytest.raises(pl.UsageError, match=r"Battleship\("):
        pl.Battleship(*size_and_ships)


def test_a_population_needs_its_functions():
    class NoPrior(pl.Battleship):
        prior = None

    with pytest.raises(pl.ModelError, match="must define prior"):
        pl.initial_belief(NoPrior(5, 2))
    with pytest.raises(pl.UsageError, match="needs every hidden value listed"):
        pl.BayesOptimal(MODEL).reset()
    with pytest.raises(pl.TooLargeError, match=r'more than 1,600 reachable states. Use the .*: solver="uct"'):
        pl.PomdpLite(MODEL, solver="exact").reset()
    with pytest.raises(pl.UsageError, match="particles must be at least 2, not 1"):
        pl.ParticleBelief(MODEL, 1)


def test_random_rocksample_maps_are_the_same_for_the_same_seed():
    one, two, other = (pl.make_model(f"rocksample-9-6-{seed}") for seed in (4, 4, 5))
    assert one.rocks.tolist() == two.rocks.tolist() != other.rocks.tolist()
    assert len({tuple(r) for r in one.rocks.tolist()}) == 6
    with pytest.raises(pl.UsageError, match="do not fit"):
        pl.make_model("rocksample-2-5-1")
