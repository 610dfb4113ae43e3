"""The interpolation grid: its declaration, the triangulation, the sweeps, and POMDP-lite on it."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pomdplite as pl
from pomdplite.mdp.grid.simplex import allocate_simplex, axes_of, locate, write_point
from pomdplite.mdp.grid.sweeps import allocate_point_graph, evaluate, improve, shift
from pomdplite.testing import planner_conforms

TURN = 2 * math.pi


def placed(grid, state, x):
    """The vertices around x, as rows of numbers, and their weights."""
    axes = axes_of(grid.axes(state, "M"))
    simplex, words = allocate_simplex(axes), np.array([x], np.float64).view(np.uint64)
    locate(axes, words, 0, simplex)
    corners = np.zeros((len(simplex.vertex), len(x)))
    for i, point in enumerate(simplex.vertex):
        write_point(axes, int(point), corners.view(np.uint64), i)
    return simplex.vertex.copy(), corners, simplex.weight.copy()


# ---------------------------------------------------------------------- triangulation


@given(st.lists(st.tuples(st.floats(-3, 3), st.integers(2, 7)), min_size=1, max_size=4), st.data())
def test_interpolation_reproduces_affine_functions(sides, data):
    """A function that is affine on all of the box is the sum of its values at d + 1 vertices, weighted."""
    state = pl.State(**{f"x{k}": float for k in range(len(sides))})
    grid = pl.Grid(**{f"x{k}": (low, low + 1.5, points) for k, (low, points) in enumerate(sides)})
    x = np.array([low + 1.5 * data.draw(st.floats(0, 1)) for low, _ in sides])
    slope = np.array([data.draw(st.floats(-5, 5)) for _ in sides])
    _, corners, weights = placed(grid, state, x)
    assert len(weights) == len(sides) + 1
    assert (weights >= 0).all() and abs(weights.sum() - 1) < 1e-12
    assert abs(weights @ (corners @ slope + 2.0) - (x @ slope + 2.0)) < 1e-9
    spacing = np.array([1.5 / (points - 1) for _, points in sides])
    assert (np.abs(corners - x) <= spacing + 1e-9).all()  # vertices of the cell that x lies in


@pytest.mark.parametrize("low", [-math.pi, 0.0, 1.0])
def test_an_angle_with_a_full_turn_has_no_ends(low):
    """The cosine of an angle, interpolated, is continuous everywhere, also where angles jump from π to −π."""
    state, grid = pl.State(angle=pl.Angle), pl.Grid(angle=(low, low + TURN, 41))
    seen = set()
    for angle in np.linspace(-math.pi, math.pi, 400, endpoint=False):
        vertices, corners, weights = placed(grid, state, [angle])
        seen.update(vertices[weights > 0].tolist())
        distance = np.abs((corners[:, 0] - angle + math.pi) % TURN - math.pi)
        assert (distance[weights > 0] <= TURN / 40 + 1e-9).all()
        assert abs(weights @ np.cos(corners[:, 0]) - math.cos(angle)) <= (TURN / 40) ** 2 / 8 + 1e-9
    assert seen == set(range(40))  # the 41st point is the first


def test_states_beyond_the_range_count_as_its_ends():
    state = pl.State(speed=float, heading=pl.Angle)
    grid = pl.Grid(speed=(-8, 8, 5), heading=(-1, 1, 3))  # part of a turn: with ends
    for x, end in (((-9.5, 0.5), (-8, 0.5)), ((100.0, 3.0), (8, 1.0)), ((0.0, -1.5), (0.0, -1.0))):
        _, corners, weights = placed(grid, state, x)
        assert np.allclose(weights @ corners, end)


# ---------------------------------------------------------------------- sweeps


def test_sweeps_solve_a_random_mdp_as_linear_programming_does():
    """Modified policy iteration with bounds, against the linear program of the same discounted MDP."""
    from scipy.optimize import linprog

    draws, n, actions, gamma = np.random.default_rng(5), 30, 3, 0.95
    graph = allocate_point_graph(n, n * actions, n * actions * 4)
    rewards, chances = draws.normal(size=(n, actions)), np.zeros((n, actions, n + 1))
    edge = 0
    for i in range(n):
        graph.value[i] = 1 + i
        for a in range(actions):
            pair = i * actions + a
            graph.reward[pair], graph.bonus[pair] = rewards[i, a] - 0.25, 0.25
            for place, p in zip(draws.choice(n + 1, 4, replace=False), draws.dirichlet(np.ones(4)), strict=True):
                graph.next[edge], graph.chance[edge] = place, p
                chances[i, a, place] = p
                graph.counts[3] += place == 0
                edge += 1
            graph.first_edge[pair + 1] = edge
        graph.first[i + 1] = (i + 1) * actions
    graph.counts[:3] = n, n * actions, edge
    assert graph.counts[3] > 0  # some steps end the episode
    v, best, fresh, later = np.zeros(n + 1), np.zeros(n, np.int32), np.zeros(n), gamma / (1 - gamma)
    while True:
        low, high = improve(graph, gamma, v, best, fresh)
        if later * (high - low) / 2 < 1e-9:
            break
        evaluate(graph, gamma, best, True, v, 10)
    shift(graph, v, later * (low + high) / 2)
    rows = (gamma * chances[:, :, 1:] - np.eye(n)[:, None, :]).reshape(-1, n)
    expected = linprog(np.ones(n), A_ub=rows, b_ub=-rewards.ravel(), bounds=(None, None)).x
    assert v[0] == 0.0 and np.abs(v[1:] - expected).max() < 1e-6


# ---------------------------------------------------------------------- POMDP-lite on a grid


class Slide(pl.Model):
    """Push a sled along a line to 0 against an unknown wind. All states are whole numbers, written as reals."""

    state = pl.State(x=float)
    hidden = pl.Hidden(wind=(-1, 0, 1))
    actions = ("left", "stay", "right")
    observations = ("calm", "gusty")
    discount = 0.9
    horizon = 30
    grid = pl.Grid(x=(-6, 6, 13))
    next_states = 2

    def start(self, x):
        x.x = 4.0

    def transition(m, x, theta, a, y, p):
        y[0].x = min(6.0, max(-6.0, x.x + a - 1 + theta.wind))
        y[1].x = min(6.0, max(-6.0, x.x + a - 1))
        p[0] = 0.4
        p[1] = 0.6

    def observation(m, y, theta, a, z):
        z[1] = 0.3 + 0.2 * abs(theta.wind)
        z[0] = 1.0 - z[1]

    def reward(m, x, theta, a):
        return -(x.x**2) - 0.1 * abs(a - 1)

    def terminal(m, x):
        return x.x == -6.0


@pytest.mark.parametrize("beta", [0.0, 7.0])
def test_states_on_the_grid_have_the_values_of_the_exact_solver(beta):
    exact, grid = pl.PomdpLite(Slide(), beta, solver="exact"), pl.PomdpLite(Slide(), beta)
    assert "grid of 13 points" in " ".join(grid_choices(grid))
    world = pl.ModelWorld(Slide())
    for planner in (exact, grid):
        planner.reset()
    world.reset(1000, 0)
    for _ in range(8):
        one, other = exact.decide(), grid.decide()
        for name in ("q", "bonus_part", "mean_reward", "mean_bonus"):
            assert np.allclose(getattr(one.solution, name), getattr(other.solution, name), atol=1e-5), name
        assert one.action == other.action
        result = world.step(one.action)
        for planner in (exact, grid):
            planner.update(one.action, result.y, result.o)
    if beta > 0:
        assert (one.solution.bonus_part > 0).any()


def grid_choices(planner):
    planner.prepare()
    return planner.choices


class Turning(Slide):
    """A wind that turns when the sled stays, and a gear that decides how far a push goes."""

    state = pl.State(x=float, gear=("low", "high"))
    actions = ("left", "stay", "right", "shift")

    def transition(m, x, theta, a, y, p):
        push = (a - 1) * (1 + x.gear) if a < 3 else 0
        y[0].x = min(6.0, max(-6.0, x.x + push + theta.wind))
        y[1].x = min(6.0, max(-6.0, x.x + push))
        p[0] = 0.4
        p[1] = 0.6
        if a == 3:
            y[0].gear = 1 - x.gear
            y[1].gear = 1 - x.gear

    def evolve(m, x, theta, a, theta_next):
        if a == 1:
            theta_next.wind = -theta.wind

    def legal(m, x, a):
        return a != 3 or x.x > 0.0


class Still(Slide):
    """The same without chance."""

    next_states = 1

    def transition(m, x, theta, a, y):
        y.x = min(6.0, max(-6.0, x.x + a - 1 + theta.wind))


class Noisy(Still):
    """Steps with so little noise that there is none to speak of."""

    noise = pl.Gaussian(x=1e-9)

    def terminal(m, x):
        return x.x < -5.5


@pytest.mark.parametrize(("listed", "on_grid", "atol"), [(Turning, Turning, 1e-5), (Still, Noisy, 1e-4)])
def test_discrete_fields_changing_values_and_noise_agree_with_the_exact_solver(listed, on_grid, atol):
    exact, grid = pl.PomdpLite(listed(), 7.0, solver="exact"), pl.PomdpLite(on_grid(), 7.0, solver="grid")
    for planner in (exact, grid):
        planner.reset()
    for a, x, o in (("left", 3.0, "calm"), ("stay", 4.0, "gusty"), ("stay", 3.0, "calm")):
        one, other = exact.decide().solution, grid.decide().solution
        assert one.actions.tolist() == other.actions.tolist()
        assert np.allclose(one.q, other.q, atol=atol) and np.allclose(one.bonus_part, other.bonus_part, atol=atol)
        if listed is Turning:
            for planner in (exact, grid):
                planner.update(a, {"x": x, "gear": 0}, o)


class Decay(pl.Model):
    """x' = θ x costs x² a step, and nothing can be done about it: V(x) = −x² / (1 − γ E θ²)."""

    state = pl.State(x=float)
    hidden = pl.Hidden(rate={0.5: 0.25, 0.9: 0.75})
    actions = ("wait",)
    discount = 0.9
    points = 11

    def __init__(self, points):
        self.grid = pl.Grid(x=(-2, 2, points))

    def start(self, x):
        x.x = 1.37

    def transition(m, x, theta, a, y):
        y.x = theta.rate * x.x

    def reward(m, x, theta, a):
        return -(x.x**2)


def test_values_converge_with_the_square_of_the_spacing():
    """Interpolating a value of curvature c costs at most c h² / 8 a step, so γ / (1 − γ) times that in all."""
    p = 1 / (1 - 0.9 * (0.25 * 0.5**2 + 0.75 * 0.9**2))
    errors = []
    for points in (11, 41, 161):
        planner = pl.PomdpLite(Decay(points), 0.0)
        planner.reset()
        errors.append(-p * 1.37**2 - planner.decide().value)  # a concave function is underestimated
        assert 0 <= errors[-1] <= 0.9 / 0.1 * 2 * p * (4 / (points - 1)) ** 2 / 8
    assert errors[0] > 8 * errors[1] > 64 * errors[2]


def test_the_same_belief_gives_the_same_decision_whatever_came_before():
    model = pl.Pendulum(mass=1.4)
    planner = pl.PomdpLite(model, sims=1)
    planner.reset(3)
    first = planner.decide()
    for _ in range(3):
        planner.update(planner.decide().action, {"angle": 0.3, "speed": -1.0}, None)
    planner.reset(4)
    again = planner.decide()
    assert first.action == again.action and np.array_equal(first.solution.q, again.solution.q)


def test_a_planner_on_a_grid_conforms():
    planner_conforms(lambda model: pl.PomdpLite(model, 5.0, sims=1), Noisy())


def test_a_decision_ends_with_its_time_and_says_what_is_missing():
    """Values stay those of an earlier belief until there is time; then they are those of a planner that had it."""
    planner, other = pl.MeanMdp(pl.Pendulum()), pl.MeanMdp(pl.Pendulum(), sims=1)
    seconds = planner.budget.seconds
    for one in (planner, other):
        one.reset()
    for speed, budget in ((0.2, 1e-9), (0.4, 1e-9), (0.6, 60.0)):
        planner.budget = replace(planner.budget, seconds=budget)
        for one in (planner, other):
            one.update("+2", {"angle": -3.1, "speed": speed}, None)
            decision = one.decide()
            late = any("the time was over before the grid's steps were computed" in note for note in decision.notes)
            assert late == (one is planner and budget < seconds)
    assert np.allclose(planner.decide().solution.q, other.decide().solution.q, atol=1e-5)


# ---------------------------------------------------------------------- what is refused


def with_grid(grid, **more):
    return type("Model", (Slide,), {"grid": grid, **more})()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pl.Grid(), "Grid needs at least one field"),
        (lambda: pl.Grid(x=(1, 1, 5)), "the range of x is empty: 1 is not less than 1"),
        (lambda: pl.Grid(x=(0, math.inf, 5)), "the range of x is empty"),
        (lambda: pl.Grid(x=(0, 1)), r"x must be \(lowest, highest, points\), not \(0, 1\)"),
        (lambda: pl.Grid(x=(0, 1, 1)), "x needs at least 2 points, not 1"),
        (lambda: pl.Grid(x=(0, 1, 2.5)), "x needs at least 2 points, not 2.5"),
        (lambda: with_grid(pl.Grid(v=(0, 1, 5))), "the state has no field v; it has x"),
        (lambda: with_grid(pl.Grid(x=(0, 1, 5)), state=pl.State(x=float, v=float)), "the field v holds real numbers"),
        (lambda: with_grid(pl.Grid(x=(0, 1, 5)), state=pl.State(x=int)), "x is not a float or an Angle"),
        (lambda: with_grid(pl.Grid(x=(0, 9, 5)), state=pl.State(x=pl.Angle)), "0 to 9, is more than a full turn"),
        (lambda: with_grid(pl.Grid(x=(0, TURN, 2)), state=pl.State(x=pl.Angle)), "x needs at least 3 points"),
    ],
)
def test_grids_that_do_not_fit_are_refused(make, message):
    with pytest.raises(pl.ModelError, match=message):
        pl.check_model(make()).raise_if_wrong()


def test_an_attribute_that_is_no_grid_is_a_parameter():
    model = with_grid(np.arange(3.0), reward=lambda m, x, theta, a: m.grid[a])
    assert model.compiled_form.interpreted.reward(model.initial_state(), model.hidden.record([0]), 2) == 2.0


def test_the_grid_solver_needs_a_grid_and_a_discount():
    for model, message in (
        (with_grid(None), r'Model: solver="grid" needs a grid = Grid\(\.\.\.\) in the model'),
        (with_grid(Slide.grid, discount=1.0, horizon=None), "Model: values on a grid need a discount below 1, not 1"),
    ):
        with pytest.raises(pl.UnsuitableError, match=message):
            pl.PomdpLite(model, 0.0, solver="grid").prepare()
    planner = pl.PomdpLite(with_grid(Slide.grid, discount=1.0), 0.0, solver="grid")
    planner.prepare()
    assert planner.discount == 1 - 1 / 30 and planner.choices[-1].startswith("plans with γ = 0.9667, since")


def test_too_many_points_are_refused_and_searched_instead():
    model = with_grid(pl.Grid(x=(-6, 6, 2_000_001)))
    with pytest.raises(pl.TooLargeError, match="its grid has 2,000,001 points; the limit is 1,000,000: declare fewer"):
        pl.PomdpLite(model, 0.0, solver="grid").prepare()
    noisy = type("Model", (Noisy,), {"grid": model.grid})()
    said = grid_choices(pl.PomdpLite(noisy, 0.0))[-1]
    assert said.startswith("searches, since its grid has 2,000,001 points")


def test_the_check_warns_of_states_beyond_the_grid():
    report = pl.check_model(with_grid(pl.Grid(x=(-6, 3, 10))))
    assert report.ok and "the grid's range of x is -6 to 3, but states reach 6" in str(report)
    assert not pl.check_model(Slide()).findings
