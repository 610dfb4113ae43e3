"""DESPOT (Somani, Ye, Hsu, Lee 2013; Ye, Somani, Hsu, Lee 2017): anytime search of a sparse tree of scenarios.

A scenario is a value of θ drawn from the belief and a stream of random numbers; it makes every policy's course certain.
A node b holds the scenarios Φ_b that agree with its history, and bounds ℓ(b) ≤ μ(b) on the best regularised value,
weighted by γ^depth |Φ_b| / K so that children add up to their parent:

    repeat until ε(b₀) = μ(b₀) − ℓ(b₀) is small or time is up:
        b ← b₀
        while b is not too deep and has excess uncertainty E(b) = ε(b) − |Φ_b|/K · ξ ε(b₀) > 0, and is not pruned:
            expand b;  a ← argmax_a μ(b, a);  b ← argmax_b' E(b') among the children of a
        back the bounds up:  ℓ(b) = max{ℓ₀(b), max_a ρ(b, a) + Σ_b' ℓ(b')},  the same for μ,
                             ρ(b, a) = γ^depth Σ_Φ R / K − λ
    return argmax_a ℓ(b₀, a), or the default policy's action if ℓ₀(b₀) is as good

ℓ₀ is the value of a default policy: the model's policy, or the best action to repeat. μ₀ is what an agent who knows θ
can have. Both come from tables over every x and θ (mdp/informed.py) where these fit. Where not, the default policy is
played on the scenarios, and μ₀ is the model's `upper`, or else the largest reward for ever.
"""

import math
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pomdplite.beliefs import PARTICLES, initial_belief
from pomdplite.checking import faults
from pomdplite.checking.faults import RAISED
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.errors import TooLargeError, UsageError
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.reachable import state_slot
from pomdplite.mdp.sampling import draw_hidden, simulate
from pomdplite.model.model import Model
from pomdplite.planners.base import Decision, Planner
from pomdplite.planners.despot.bounds import Bounds, find_bounds, joint_number
from pomdplite.rng import mix, stream, uniform

SCENARIOS = 500
XI = 0.95  # how much of the root's gap a trial tries to close
NODE_LIMIT, PAIR_LIMIT, POOL_LIMIT, THETA_LIMIT = 1_000_000, 8_000_000, 24_000_000, 1_000_000
_CLOSED = 1e-6
_ROOT_SHARE = 0.25  # of a step's time: what the first node should take
_FEWEST = 10  # scenarios
_MANY = 1 << 40
NOT_EXPANDED, END = -1, -1

# Places in counts; why a trial stopped.
NODES, PAIRS, POOL, THETAS, TRIALS, STEPS, DEEPEST, FULL = range(8)
DONE, CLOSED = -1, -2


class Tree(NamedTuple):
    """The DESPOT. Scenarios of a node lie together in the pool; so do the children of a pair."""

    counts: Ints  # [8]
    states: Words  # [node, x_words]
    seen: Small  # [node] observation
    parent: Ints  # [node] the pair that it follows
    depth: Small  # [node]
    scenarios: Ints  # [node] the first of its scenarios in the pool
    size: Small  # [node] |Φ_b|
    default: Floats  # [node] ℓ₀
    lower: Floats  # [node] ℓ
    upper: Floats  # [node] μ
    first: Ints  # [node] its first pair, NOT_EXPANDED before
    pairs: Small  # [node]
    owner: Small  # [pair] its node
    action: Small  # [pair]
    gain: Floats  # [pair] ρ
    pair_lower: Floats
    pair_upper: Floats
    child: Ints  # [pair] its first child
    children: Small  # [pair]
    scenario: Small  # [pool] number of the scenario
    theta: Small  # [pool] its present θ, a row of `thetas`
    thetas: Words  # [·, theta_words]
    joint: Ints  # [·] its number among all values of θ


class Scratch(NamedTuple):
    """Space for expanding a node."""

    x: Words  # [1, x_words]
    theta: Words  # [1, theta_words]
    child: Small  # [scenario]
    after: Small  # [scenario] θ after the step
    members: Small  # [scenario] how many scenarios each child has
    path: Ints  # [depth]


class Despot(Planner):
    """Search over scenarios.

    time, sims  seconds or trials per step
    scenarios   K; left out, 500, or as many as let the first node take no more than a quarter of a step's time
    pruning     λ, the price of a node of the policy tree
    xi          ξ, how much of the root's gap a trial tries to close
    particles   draws of θ in the belief, where θ cannot be listed
    """

    title: ClassVar[str] = "despot"

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        scenarios: int | None = None,
        pruning: float = 0.0,
        xi: float = XI,
        particles: int = PARTICLES,
    ) -> None:
        super().__init__(model)
        self.budget: Budget = Budget.of(time, sims)
        if scenarios is not None and scenarios < 1:
            raise UsageError(f"scenarios must be at least 1, not {scenarios!r}.")
        if not (math.isfinite(pruning) and pruning >= 0):
            raise UsageError(f"pruning must be a number of at least 0, not {pruning!r}.")
        if not 0 <= xi < 1:
            raise UsageError(f"xi must be at least 0 and below 1, not {xi!r}.")
        self.time, self.sims, self.scenarios = time, sims, scenarios
        self.pruning, self.xi, self.particles = pruning, xi, particles

    @property
    def parameters(self) -> dict[str, Any]:
        """The budget, K, λ, ξ, and the size of a particle belief."""
        return {
            "time": self.time, "sims": self.sims, "scenarios": self.scenarios, "pruning": self.pruning, "xi": self.xi,
            "particles": self.particles,
        }  # fmt: skip

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.belief = initial_belief(self.view, self.particles)
        model = self.belief.kernel_model
        self._bounds = find_bounds(self.model)
        self._buffer = allocate_outcomes(model, max(2, model.next_states))
        self._start()
        self._take_scenarios(1 if self.scenarios is None else self.scenarios)
        self._plant()  # compiles it
        started = self.now()
        self._plant()
        root, allowed = self.now() - started, self.budget.seconds if self.budget.seconds is not None else math.inf
        if self.scenarios is None:
            self._take_scenarios(max(_FEWEST, int(min(SCENARIOS, _ROOT_SHARE * allowed / root))))
            root *= len(self._seeds)
        if root > allowed:
            raise TooLargeError(
                f"{self.model.name}: one node of {model.actions} actions × {len(self._seeds)} scenarios takes "
                f"{root:.2g} s, and a step has {allowed:g} s; give more time."
            )
        self._search(Budget(None, 1))  # compiles the rest

    def _take_scenarios(self, k: int) -> None:
        """Space for so many scenarios."""
        model = self.belief.kernel_model
        self._tree = _tree(model, k)
        self._scratch = Scratch(
            np.zeros((1, model.x_words), np.uint64), np.zeros((1, model.theta.shape[1]), np.uint64),
            np.zeros(k, np.int32), np.zeros(k, np.int32), np.zeros(k, np.int32),
            np.zeros(self.model.episode_horizon + 2, np.int64),
        )  # fmt: skip
        self._seeds = np.zeros(k, np.uint64)
        self._stream = stream(0, 1)

    def reset(self, seed: int = 0) -> None:
        """Back to the first state and the prior; the seed names the random numbers of the episode."""
        super().reset(seed)
        self._stream = stream(seed, 1)

    def _plant(self) -> int:
        s, b = self.s.reshape(1, -1), self.belief.probabilities
        return int(
            _plant(
                self.belief.kernel_model, self._tree, self._bounds, self._scratch, self._buffer, s, b,
                self.model.discount,
                self.model.episode_horizon, self.pruning, self._seeds, self._stream,
            )
        )  # fmt: skip

    def _search(self, budget: Budget) -> None:
        clock = budget.start()
        tree, model, gamma, horizon = (
            self._tree,
            self.belief.kernel_model,
            self.model.discount,
            self.model.episode_horizon,
        )
        failed = self._plant()
        while failed == DONE and (count := clock.portion(int(tree.counts[TRIALS]))) > 0:
            # A trial may expand many nodes: where time counts, the clock is looked at between nodes.
            trials, nodes = (count, _MANY) if budget.seconds is None else (_MANY, count)
            failed = _explore(
                model, tree, self._bounds, self._scratch, self._buffer, trials, nodes, gamma, horizon, self.xi,
                self.pruning, self._seeds,
            )  # fmt: skip
        if failed >= 0:
            raise faults.raised_in(self.view, self._scratch.x[0], self._scratch.theta[0], int(failed))

    def _decide(self) -> Decision:
        self._search(self.budget)
        tree, model = self._tree, self.belief.kernel_model
        pairs = slice(int(tree.first[0]), int(tree.first[0] + tree.pairs[0]))
        actions, low, high = tree.action[pairs].copy(), tree.pair_lower[pairs].copy(), tree.pair_upper[pairs]
        zero = np.zeros(len(actions))
        best = int(np.lexsort((actions, -high, -low))[0])
        action, notes = int(actions[best]), self.belief.notes
        if tree.default[0] >= low[best] and model.functions[abi.POLICY] != 0:
            action = int(abi.policy(model, self.s.reshape(1, -1), 0, uniform(self._stream)))
        if tree.counts[FULL]:
            notes = ("the search ran out of space for new nodes", *notes)
        return Decision(
            action, str(self.model.actions[action]), float(tree.lower[0]), actions, low, zero, tree.gain[pairs].copy(),
            zero, f"DESPOT, {len(self._seeds)} scenarios", int(tree.counts[NODES]),
            bounds=(float(tree.lower[0]), float(tree.upper[0])), simulations=int(tree.counts[TRIALS]),
            steps=int(tree.counts[STEPS]), deepest=int(tree.counts[DEEPEST]), notes=notes,
        )  # fmt: skip


def _tree(model: KernelModel, scenarios: int) -> Tree:
    """Space for a tree; the system hands memory out as it is used."""
    n, p = NODE_LIMIT, min(PAIR_LIMIT, NODE_LIMIT * model.actions)

    def small(count: int) -> Small:
        return np.zeros(count, np.int32)

    return Tree(
        np.zeros(8, np.int64), np.zeros((n, model.x_words), np.uint64), small(n), np.zeros(n, np.int64), small(n),
        np.zeros(n, np.int64), small(n), np.zeros(n), np.zeros(n), np.zeros(n), np.zeros(n, np.int64), small(n),
        small(p), small(p), np.zeros(p), np.zeros(p), np.zeros(p), np.zeros(p, np.int64), small(p),
        small(POOL_LIMIT), small(POOL_LIMIT),
        np.zeros((THETA_LIMIT + scenarios, model.theta.shape[1]), np.uint64),
        np.zeros(THETA_LIMIT + scenarios, np.int64),
    )  # fmt: skip


@inlined
def number(seeds: Words, scenario: int, step: int, which: int) -> float:
    """The scenario's random number for one step: 0 decides the next state, 1 the observation, 2 the default policy."""
    z = mix(seeds[scenario] + np.uint64(4 * step + which) * np.uint64(0x9E3779B97F4A7C15))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@kernel
def _plant(
    model: KernelModel, tree: Tree, bounds: Bounds, scratch: Scratch, out: Outcomes, s: Words, b: Floats,
    gamma: float, horizon: int, pruning: float, seeds: Words, random: Words,
) -> int:  # fmt: skip
    """A new tree: its root with scenarios drawn from the belief; the action in which the model raised, or DONE."""
    for i in range(tree.counts.shape[0]):
        tree.counts[i] = 0
    for k in range(seeds.shape[0]):
        random[0] += np.uint64(0x9E3779B97F4A7C15)
        seeds[k] = mix(random[0])
        draw_hidden(model, s, b, tree.thetas, k, random)
        tree.scenario[k] = tree.theta[k] = k
        tree.joint[k] = joint_number(bounds, tree.thetas, k)
    tree.counts[THETAS] = tree.counts[POOL] = seeds.shape[0]
    tree.counts[NODES] = 1
    for w in range(tree.states.shape[1]):
        tree.states[0, w] = s[0, w]
    tree.parent[0], tree.depth[0], tree.scenarios[0], tree.size[0] = -1, 0, 0, seeds.shape[0]
    tree.first[0], tree.pairs[0] = NOT_EXPANDED, 0
    failed = value_node(model, tree, bounds, scratch, out, 0, gamma, horizon, seeds)
    if failed != DONE:
        return failed
    return expand(model, tree, bounds, scratch, out, 0, gamma, horizon, pruning, seeds)


@kernel
def value_node(
    model: KernelModel, tree: Tree, bounds: Bounds, scratch: Scratch, out: Outcomes, node: int, gamma: float,
    horizon: int, seeds: Words,
) -> int:  # fmt: skip
    """ℓ₀ and μ₀ of a new node; the action in which the model raised an error, DONE if none did."""
    weight = gamma ** tree.depth[node] / seeds.shape[0]
    first, last = tree.scenarios[node], tree.scenarios[node] + tree.size[node]
    at = 0 if bounds.states.shape[0] == 0 else bounds.table[state_slot(bounds.states, bounds.table, tree.states, node)]
    upper = weight * full_information(model, tree, bounds, node, at, gamma, horizon)
    lower = -np.inf
    if at > 0 and bounds.defaults.shape[0] > 0:
        for policy in range(bounds.defaults.shape[0]):
            total = 0.0
            for i in range(first, last):
                total += bounds.defaults[policy, at, tree.joint[tree.theta[i]]]
            lower = max(lower, total)
    elif model.functions[abi.POLICY] != 0:
        lower, failed = play_default(model, tree, scratch, out, node, -1, gamma, horizon, seeds)
        if failed != DONE:
            return failed
    else:
        for a in range(model.actions):
            if abi.legal(model, tree.states, node, a):
                repeated, failed = play_default(model, tree, scratch, out, node, a, gamma, horizon, seeds)
                if failed != DONE:
                    return failed
                lower = max(lower, repeated)
    tree.default[node] = tree.lower[node] = weight * lower
    tree.upper[node] = max(upper, tree.default[node])
    return DONE


@kernel
def full_information(
    model: KernelModel, tree: Tree, bounds: Bounds, node: int, at: int, gamma: float, horizon: int
) -> float:
    """Σ over the node's scenarios of what an agent who knows θ can have; `at` is the state's number, 0 if none."""
    first, last = tree.scenarios[node], tree.scenarios[node] + tree.size[node]
    total = 0.0
    if at > 0:
        for i in range(first, last):
            total += bounds.values[at, tree.joint[tree.theta[i]]]
        return total
    if model.functions[abi.UPPER] != 0:
        for i in range(first, last):
            total += abi.upper(model, tree.states, node, tree.thetas, tree.theta[i])
        return total
    left = horizon - tree.depth[node]
    each = bounds.highest * ((1.0 - gamma**left) / (1.0 - gamma) if gamma < 1.0 else left)
    return max(each, 0.0) * (last - first)


@kernel
def play_default(
    model: KernelModel, tree: Tree, scratch: Scratch, out: Outcomes, node: int, repeated: int, gamma: float,
    horizon: int, seeds: Words,
) -> tuple[float, int]:  # fmt: skip
    """Σ over the node's scenarios of the default policy's return; the action in which the model raised, or DONE.

    The policy is the model's, or `repeated` where that is legal and the first legal action where not.
    """
    total = 0.0
    for i in range(tree.scenarios[node], tree.scenarios[node] + tree.size[node]):
        scenario, discount = tree.scenario[i], 1.0
        for w in range(scratch.x.shape[1]):
            scratch.x[0, w] = tree.states[node, w]
        for w in range(scratch.theta.shape[1]):
            scratch.theta[0, w] = tree.thetas[tree.theta[i], w]
        for step in range(tree.depth[node], horizon):
            a = repeated
            if repeated < 0:
                a = abi.policy(model, scratch.x, 0, number(seeds, scenario, step, 2))
            elif not abi.legal(model, scratch.x, 0, a):
                a = 0
                while not abi.legal(model, scratch.x, 0, a):
                    a += 1
            u, v = number(seeds, scenario, step, 0), number(seeds, scenario, step, 1)
            j, _, gain = simulate(model, scratch.x, scratch.theta, a, u, v, out)
            if j == RAISED:
                return 0.0, a
            total += discount * gain
            discount *= gamma
            tree.counts[STEPS] += 1
            if abi.terminal(model, out.y, j):
                break
            for w in range(scratch.x.shape[1]):
                scratch.x[0, w] = out.y[j, w]
            for w in range(scratch.theta.shape[1]):
                scratch.theta[0, w] = out.theta[0, w]
    return total, DONE


@kernel
def expand(
    model: KernelModel, tree: Tree, bounds: Bounds, scratch: Scratch, out: Outcomes, node: int, gamma: float,
    horizon: int, pruning: float, seeds: Words,
) -> int:  # fmt: skip
    """Every legal action on every scenario of the node, and the children that they lead to."""
    size, depth = tree.size[node], tree.depth[node]
    if (
        tree.counts[NODES] + model.actions * size >= tree.lower.shape[0]
        or tree.counts[PAIRS] + model.actions >= tree.gain.shape[0]
        or tree.counts[POOL] + model.actions * size >= tree.scenario.shape[0]
        or tree.counts[THETAS] + model.actions * size >= tree.thetas.shape[0]
    ):
        tree.counts[FULL] = 1
        return DONE
    weight = gamma**depth / seeds.shape[0]
    pair = tree.counts[PAIRS]
    first = pair
    for a in range(model.actions):
        if not abi.legal(model, tree.states, node, a):
            continue
        gained, begin, children = 0.0, tree.counts[NODES], 0
        for i in range(size):
            at = tree.scenarios[node] + i
            scenario = tree.scenario[at]
            for w in range(scratch.x.shape[1]):
                scratch.x[0, w] = tree.states[node, w]
            for w in range(scratch.theta.shape[1]):
                scratch.theta[0, w] = tree.thetas[tree.theta[at], w]
            u, v = number(seeds, scenario, depth, 0), number(seeds, scenario, depth, 1)
            j, o, gain = simulate(model, scratch.x, scratch.theta, a, u, v, out)
            if j == RAISED:
                return a
            gained += gain
            tree.counts[STEPS] += 1
            scratch.child[i] = END
            if abi.terminal(model, out.y, j):
                continue
            scratch.after[i] = keep_theta(tree, bounds, tree.theta[at], out.theta)
            c = 0
            while c < children:
                same = tree.seen[begin + c] == o
                for w in range(tree.states.shape[1]):
                    same = same and tree.states[begin + c, w] == out.y[j, w]
                if same:
                    break
                c += 1
            if c == children:
                children += 1
                scratch.members[c] = 0
                tree.seen[begin + c] = o
                for w in range(tree.states.shape[1]):
                    tree.states[begin + c, w] = out.y[j, w]
            scratch.child[i] = c
            scratch.members[c] += 1
        tree.owner[pair], tree.action[pair], tree.gain[pair] = node, a, weight * gained - pruning
        tree.child[pair], tree.children[pair] = begin, children
        tree.counts[NODES] = begin + children
        for c in range(children):
            child = begin + c
            tree.parent[child], tree.depth[child], tree.size[child] = pair, depth + 1, 0
            tree.first[child], tree.pairs[child] = NOT_EXPANDED, 0
            tree.scenarios[child] = tree.counts[POOL]
            tree.counts[POOL] += scratch.members[c]
        for i in range(size):
            if scratch.child[i] != END:
                child = begin + scratch.child[i]
                at = tree.scenarios[child] + tree.size[child]
                tree.scenario[at] = tree.scenario[tree.scenarios[node] + i]
                tree.theta[at] = scratch.after[i]
                tree.size[child] += 1
        for c in range(children):
            failed = value_node(model, tree, bounds, scratch, out, begin + c, gamma, horizon, seeds)
            if failed != DONE:
                return failed
        back_up_pair(tree, pair)
        pair += 1
        tree.counts[PAIRS] = pair
    tree.first[node], tree.pairs[node] = first, pair - first
    back_up(tree, node)
    return DONE


@inlined
def keep_theta(tree: Tree, bounds: Bounds, before: int, theta: Words) -> int:
    """The row of θ after a step: the same one if it did not change."""
    same = True
    for w in range(theta.shape[1]):
        same = same and tree.thetas[before, w] == theta[0, w]
    if same:
        return before
    row = tree.counts[THETAS]
    for w in range(theta.shape[1]):
        tree.thetas[row, w] = theta[0, w]
    tree.joint[row] = joint_number(bounds, tree.thetas, row)
    tree.counts[THETAS] = row + 1
    return row


@inlined
def back_up_pair(tree: Tree, pair: int) -> None:
    """ρ(b, a) + Σ over children, for both bounds."""
    low = high = tree.gain[pair]
    for child in range(tree.child[pair], tree.child[pair] + tree.children[pair]):
        low += tree.lower[child]
        high += tree.upper[child]
    tree.pair_lower[pair], tree.pair_upper[pair] = low, high


@inlined
def back_up(tree: Tree, node: int) -> None:
    """ℓ(b) and μ(b): the default policy, or the best action."""
    low = high = tree.default[node]
    for pair in range(tree.first[node], tree.first[node] + tree.pairs[node]):
        low, high = max(low, tree.pair_lower[pair]), max(high, tree.pair_upper[pair])
    tree.lower[node] = max(tree.lower[node], low)
    tree.upper[node] = max(min(tree.upper[node], high), tree.lower[node])


@inlined
def excess(tree: Tree, node: int, xi: float) -> float:
    """E(b) = ε(b) − |Φ_b| / K · ξ ε(b₀)."""
    root = tree.upper[0] - tree.lower[0]
    return tree.upper[node] - tree.lower[node] - tree.size[node] / tree.size[0] * xi * root


@inlined
def pruned(tree: Tree, path: Ints, length: int, pruning: float) -> bool:
    """Whether what is left to gain at some node on the path is less than the price of the path below it."""
    if pruning > 0.0:
        for i in range(length):
            node = path[i]
            if tree.upper[node] - tree.default[node] <= pruning * (length - i):
                return True
    return False


@kernel
def _explore(
    model: KernelModel, tree: Tree, bounds: Bounds, scratch: Scratch, out: Outcomes, trials: int, nodes: int,
    gamma: float, horizon: int, xi: float, pruning: float, seeds: Words,
) -> int:  # fmt: skip
    """Trials, until so many nodes were expanded.

    The action in which the model raised an error, DONE if none did, CLOSED if nothing is left to do.
    """
    for _ in range(trials):
        if tree.upper[0] - tree.lower[0] <= _CLOSED or tree.counts[FULL] == 1:
            return CLOSED
        node, length = 0, 0
        while True:
            scratch.path[length] = node
            length += 1
            if tree.depth[node] >= horizon or pruned(tree, scratch.path, length, pruning):
                tree.lower[node] = tree.upper[node] = tree.default[node]
                break
            if tree.first[node] == NOT_EXPANDED:
                if nodes == 0:
                    break
                nodes -= 1
                failed = expand(model, tree, bounds, scratch, out, node, gamma, horizon, pruning, seeds)
                if failed != DONE:
                    return failed
                if tree.first[node] == NOT_EXPANDED:
                    break
            best, chosen = -np.inf, -1
            for pair in range(tree.first[node], tree.first[node] + tree.pairs[node]):
                if tree.pair_upper[pair] > best:
                    best, chosen = tree.pair_upper[pair], pair
            most, next_node = 0.0, -1
            for child in range(tree.child[chosen], tree.child[chosen] + tree.children[chosen]):
                left = excess(tree, child, xi)
                if left > most:
                    most, next_node = left, child
            if next_node < 0:
                break
            node = next_node
        for i in range(length - 1, -1, -1):
            node = scratch.path[i]
            if tree.first[node] != NOT_EXPANDED:
                back_up(tree, node)
            if tree.parent[node] >= 0:
                back_up_pair(tree, tree.parent[node])
        tree.counts[TRIALS] += 1
        tree.counts[DEEPEST] = max(tree.counts[DEEPEST], length - 1)
        if nodes == 0:
            break
    return DONE
