"""POMCP (Silver and Veness 2010): Monte-Carlo tree search over histories, from a root of particles.

    search(h): repeat: s ~ B(h), simulate(s, h, 0)
    simulate(s, h, depth):
        if h is not in the tree: add its actions; return rollout(s, h, depth)
        a ← argmax_b V(hb) + c √(log N(h) / N(hb))
        (s', o, r) ~ G(s, a)
        R ← r + γ simulate(s', hao, depth + 1)
        N(h), N(ha) ← + 1,  V(ha) ← V(ha) + (R − V(ha)) / N(ha)

A state is (x, θ); x is seen, so a history goes on with (x', o). As in the authors' program, a history enters the tree
when it is met for the second time, and rollouts draw from the actions that the model prefers alone. In the tree these
have a head start: other actions are looked at once each preferred one was tried ten times on average. (The program
gives them ten tries of a fixed value instead, which must fit the scale of the returns to be a help.) The tree under
what was done and seen is kept.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from pomdplite.beliefs import UnweightedParticles, initial_belief
from pomdplite.checking import faults
from pomdplite.checking.faults import RAISED
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes, draw_hidden, simulate
from pomdplite.mdp.reachable import hash_words, reward_range
from pomdplite.model.model import Model
from pomdplite.planners.base import Decision, Planner, choose
from pomdplite.rng import mix, stream, uniform

PARTICLES = 1000
NODE_LIMIT = 1_000_000
PAIR_LIMIT = 12_000_000
PREFERRED_TRIES = 10  # of each preferred action before others are looked at
_DRAWS = 4  # of any action, before preferred ones are counted off
_LOG = 1 << 18  # first steps of simulations that are remembered for the next belief

# Places in counts.
NODES, PAIRS, SIMULATIONS, STEPS, DEEPEST, FULL, LOGGED = range(7)


class Tree(NamedTuple):
    """Histories, each known by the pair (history, action) that it follows and what was seen then."""

    counts: Ints  # [7]
    table: Small  # hash table of nodes, -1 where empty
    parent: Ints  # [node] the pair that it follows
    states: Words  # [node, x_words]
    seen: Small  # [node] observation
    visits: Ints  # [node]
    first: Ints  # [node] its first pair
    pairs: Small  # [node]
    favoured: Small  # [node] how many of them are preferred: they come first
    action: Small  # [pair]
    tries: Ints  # [pair]
    value: Floats  # [pair]


class FirstSteps(NamedTuple):
    """What the first step of each simulation showed, and of which particle."""

    particle: Small
    action: Small
    y: Words
    o: Small


class Pomcp(Planner):
    """Search over histories.

    time, sims   seconds or simulations per step
    exploration  the constant c; left out, the model's return_range, or the range of its rewards
    particles    draws of θ in the root
    """

    title: ClassVar[str] = "pomcp"
    exact: ClassVar[bool] = False  # whether the root is the exact belief instead of particles

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        exploration: float | None = None,
        particles: int = PARTICLES,
    ) -> None:
        super().__init__(model)
        self.budget: Budget = Budget.of(time, sims)
        if exploration is not None and not exploration >= 0:
            raise UsageError(f"exploration must be a number of at least 0, not {exploration!r}.")
        if particles < 1:
            raise UsageError(f"particles must be at least 1, not {particles!r}.")
        self.time, self.sims, self.exploration, self.particles = time, sims, exploration, particles

    @property
    def parameters(self) -> dict[str, Any]:
        """The budget, c, and the number of particles."""
        return {"time": self.time, "sims": self.sims, "exploration": self.exploration, "particles": self.particles}

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        model = self.view.kernel_model
        if self.exact:
            self.belief = initial_belief(self.view, self.particles)
        else:
            self.belief = UnweightedParticles(self.view, self.particles)
            self.view = self.belief.view
        c = self.exploration if self.exploration is not None else self.model.return_range
        if c is None:
            low, high = reward_range(self.view)
            c = high - low
        self.c = c
        self._tree = _tree(model)
        log = 1 if self.exact else _LOG
        self._log = FirstSteps(np.zeros(log, np.int32), np.zeros(log, np.int32),
                               np.zeros((log, model.x_words), np.uint64), np.zeros(log, np.int32))  # fmt: skip
        self._buffer = allocate_outcomes(model, max(2, model.next_states))
        self._memory = np.zeros((2, model.h_words), np.uint64)  # after the real history; along a simulation
        self._x = np.zeros((1, model.x_words), np.uint64)
        self._theta = np.zeros((1, model.theta.shape[1]), np.uint64)
        self._preferred = np.zeros(model.actions)
        horizon = self.model.episode_horizon
        self._path = np.zeros((horizon + 1, 2), np.int64)
        self._gains = np.zeros(horizon + 1)
        self._forget(0)
        self.s = self.view.root()
        self._search(Budget(None, 2))  # compiles what searching takes

    def reset(self, seed: int = 0) -> None:
        """Back to the first state and the prior, with an empty tree."""
        super().reset(seed)
        self._forget(seed)

    def _forget(self, seed: int) -> None:
        """An empty tree; the seed names the random numbers of the episode."""
        self._stream = stream(seed, 1)
        self._memory[:] = 0
        self._root = -1

    def _decide(self) -> Decision:
        self._search(self.budget)
        return self._decision()

    def _search(self, budget: Budget) -> None:
        clock = budget.start()
        tree, model = self._tree, self.belief.kernel_model
        crowded = tree.counts[NODES] > 0.5 * len(tree.parent) or tree.counts[PAIRS] > 0.5 * len(tree.value)
        if self._root < 0 or crowded:
            _clear(tree)
            self._root = int(_add_root(model, tree, self.s.reshape(1, -1), self._memory, self._preferred))
        tree.counts[SIMULATIONS:] = 0
        drawn, b = self._theta, np.zeros(0)
        if isinstance(self.belief, UnweightedParticles):
            drawn = self.belief.present
        else:
            b = self.belief.probabilities
        while (count := clock.portion(int(tree.counts[SIMULATIONS]))) > 0:
            failed = _simulate(
                model, tree, self._log, b, self.s.reshape(1, -1), drawn, self._root, count, self.c,
                self.model.discount, len(self._gains) - 1, self._memory, self._x, self._theta, self._preferred,
                self._path, self._gains, self._buffer, self._stream,
            )  # fmt: skip
            if failed >= 0:
                raise faults.raised_in(self.view, self._x[0], self._theta[0], int(failed))

    def _decision(self) -> Decision:
        tree = self._tree
        pairs = slice(int(tree.first[self._root]), int(tree.first[self._root] + tree.pairs[self._root]))
        q, tries, actions = tree.value[pairs].copy(), tree.tries[pairs].copy(), tree.action[pairs].copy()
        q[tries == 0] = -np.inf  # nothing is known of them
        action, zero = choose(actions, q), np.zeros(len(q))
        notes = ("the search ran out of space for new histories",) if tree.counts[FULL] else ()
        return Decision(
            action, str(self.model.actions[action]), float(q.max()), actions, q, zero, zero, zero, "POMCP",
            int(tree.counts[NODES]), visits=tries.astype(np.int32), simulations=int(tree.counts[SIMULATIONS]),
            steps=int(tree.counts[STEPS]), deepest=int(tree.counts[DEEPEST]),
            notes=notes + tuple(getattr(self.belief, "notes", ())),
        )  # fmt: skip

    def advance(self, a: int, y: Words, o: int) -> None:
        """Take in what happened: the next belief, and the part of the tree that is still true."""
        before = self.s[: self.model.state.words].copy()
        if not isinstance(self.belief, UnweightedParticles):
            super().advance(a, y, o)
        else:
            logged = min(int(self._tree.counts[LOGGED]), len(self._log.action)) if self._root >= 0 else 0
            log = self._log
            same = (log.action[:logged] == a) & (log.o[:logged] == o) & (log.y[:logged] == y).all(axis=1)
            self.s = self.belief.advance(before, a, y, o, log.particle[:logged][same])
        abi.remember(self.belief.kernel_model, before.reshape(1, -1), 0, a, y.reshape(1, -1), 0, o, self._memory, 0)
        if self._root >= 0:
            self._root = int(_follow(self._tree, self._root, a, y.reshape(1, -1), o))

    def recover(self, y: Words) -> None:
        """Go on in state y with a new tree."""
        super().recover(y)
        self._root = -1


class PomcpExact(Pomcp):
    """POMCP with our belief in the root (exact where θ can be listed) instead of its own particles."""

    title: ClassVar[str] = "pomcp-exact"
    exact: ClassVar[bool] = True


def _tree(model: KernelModel) -> Tree:
    """Space for a tree; the system hands memory out as it is used."""
    nodes, pairs = NODE_LIMIT, min(PAIR_LIMIT, NODE_LIMIT * model.actions)
    return Tree(
        np.zeros(7, np.int64), np.full(1 << (2 * nodes - 1).bit_length(), -1, np.int32), np.zeros(nodes, np.int64),
        np.zeros((nodes, model.x_words), np.uint64), np.zeros(nodes, np.int32), np.zeros(nodes, np.int64),
        np.zeros(nodes, np.int64), np.zeros(nodes, np.int32), np.zeros(nodes, np.int32), np.zeros(pairs, np.int32),
        np.zeros(pairs, np.int64), np.zeros(pairs),
    )  # fmt: skip


def _clear(tree: Tree) -> None:
    tree.table[:] = -1
    tree.counts[:] = 0


@kernel
def _add_root(model: KernelModel, tree: Tree, x: Words, memory: Words, preferred: Floats) -> int:
    return add_node(model, tree, -1, x, -1, memory, 0, preferred)


@inlined
def slot_of(tree: Tree, pair: int, y: Words, o: int) -> Any:
    """Where the history that goes on from a pair with (y, o) is in the table, or would go."""
    slot = np.int64(mix(hash_words(y, 0) ^ np.uint64(np.int64(pair * 64 + o + 1))) & np.uint64(tree.table.shape[0] - 1))
    while tree.table[slot] >= 0:
        node = tree.table[slot]
        same = tree.parent[node] == pair and tree.seen[node] == o
        for w in range(tree.states.shape[1]):
            same = same and tree.states[node, w] == y[0, w]
        if same:
            break
        slot = (slot + 1) & (tree.table.shape[0] - 1)
    return slot


@kernel
def _follow(tree: Tree, root: int, a: int, y: Words, o: int) -> int:
    """The node of what was done and seen, -1 if it is not in the tree."""
    for pair in range(tree.first[root], tree.first[root] + tree.pairs[root]):
        if tree.action[pair] == a:
            return tree.table[slot_of(tree, pair, y, o)]
    return -1


@inlined
def add_node(
    model: KernelModel, tree: Tree, pair: int, y: Words, o: int, h: Words, k: int, preferred: Floats, 
) -> int:  # fmt: skip
    """A new history with its legal actions; -1 if there is no space."""
    node, first = tree.counts[NODES], tree.counts[PAIRS]
    if node + 1 >= tree.parent.shape[0] or first + model.actions >= tree.value.shape[0]:
        tree.counts[FULL] = 1
        return -1
    tree.table[slot_of(tree, pair, y, o)] = node
    tree.parent[node], tree.seen[node], tree.visits[node] = pair, o, 0
    for w in range(tree.states.shape[1]):
        tree.states[node, w] = y[0, w]
    abi.preferred(model, y, 0, h, k, preferred)
    tree.first[node] = first
    for turn in range(2):
        for a in range(model.actions):
            if (preferred[a] > 0.0) == (turn == 0) and abi.legal(model, y, 0, a):
                tree.action[first], tree.tries[first], tree.value[first] = a, 0, 0.0
                first += 1
        if turn == 0:
            tree.favoured[node] = first - tree.first[node]
    tree.pairs[node] = first - tree.first[node]
    tree.counts[NODES], tree.counts[PAIRS] = node + 1, first
    return node


@inlined
def select(tree: Tree, node: int, c: float, random: Words) -> int:
    """UCB1; an action that was not tried comes first, and equals are drawn."""
    log = np.log(tree.visits[node] + 1.0)
    best, chosen, ties = -np.inf, -1, 0
    count = tree.favoured[node] if tree.visits[node] < PREFERRED_TRIES * tree.favoured[node] else tree.pairs[node]
    for pair in range(tree.first[node], tree.first[node] + count):
        score = np.inf if tree.tries[pair] == 0 else tree.value[pair] + c * np.sqrt(log / tree.tries[pair])
        if score > best:
            best, chosen, ties = score, pair, 1
        elif score == best:
            ties += 1
            if uniform(random) * ties < 1.0:
                chosen = pair
    return chosen


@inlined
def roll_action(model: KernelModel, x: Words, h: Words, preferred: Floats, random: Words) -> int:
    """The rollout policy: uniform over preferred actions, or the model's policy, or uniform over legal actions."""
    if model.functions[abi.PREFERRED] == 0:
        return abi.policy(model, x, 0, uniform(random))
    count = abi.preferred(model, x, 0, h, 1, preferred)
    for _ in range(_DRAWS if _DRAWS * count > model.actions else 0):  # quicker where many are preferred
        a = int(uniform(random) * model.actions)
        if preferred[a] > 0.0:
            return a
    left = int(uniform(random) * count)
    for a in range(model.actions):
        if preferred[a] > 0.0:
            if left == 0:
                return a
            left -= 1
    return -1


@kernel
def _simulate(
    model: KernelModel, tree: Tree, log: FirstSteps, b: Floats, s: Words, drawn: Words, root: int, simulations: int,
    c: float, gamma: float, horizon: int, h: Words, x: Words, theta: Words, preferred: Floats, path: Ints,
    gains: Floats, out: Outcomes, random: Words,
) -> int:  # fmt: skip
    """Run simulations; the action in which the model raised an error at (x, theta), -1 if none did."""
    for _ in range(simulations):
        particle = 0
        if b.shape[0] > 0:
            draw_hidden(model, s, b, theta, 0, random)
        else:
            particle = int(uniform(random) * drawn.shape[0])
            for w in range(theta.shape[1]):
                theta[0, w] = drawn[particle, w]
        for w in range(x.shape[1]):
            x[0, w] = s[0, w]
        for w in range(h.shape[1]):
            h[1, w] = h[0, w]
        node, depth, inside = root, 0, True  # inside: of the tree, where choices are recorded
        recorded = 0
        while depth < horizon:
            pair = -1
            if inside:
                pair = select(tree, node, c, random)
                a = int(tree.action[pair])
                path[recorded, 0], path[recorded, 1] = node, pair
                recorded += 1
            else:
                a = roll_action(model, x, h, preferred, random)
            i, o, gain = simulate(model, x, theta, a, uniform(random), uniform(random), out)
            if i == RAISED:
                return a
            gains[depth] = gain
            depth += 1
            if depth == 1 and b.shape[0] == 0:
                at = tree.counts[LOGGED] % log.action.shape[0]
                log.particle[at], log.action[at], log.o[at] = particle, a, o
                for w in range(x.shape[1]):
                    log.y[at, w] = out.y[i, w]
                tree.counts[LOGGED] += 1
            abi.remember(model, x, 0, a, out.y, i, o, h, 1)
            for w in range(x.shape[1]):
                x[0, w] = out.y[i, w]
            for w in range(theta.shape[1]):
                theta[0, w] = out.theta[0, w]
            if abi.terminal(model, x, 0):
                break
            if inside:
                node = tree.table[slot_of(tree, pair, x, o)]
                if node < 0 and tree.tries[pair] > 0:
                    node = add_node(model, tree, pair, x, o, h, 1, preferred)
                inside = node >= 0
        total = 0.0
        for d in range(depth - 1, -1, -1):
            total = gains[d] + gamma * total
            if d < recorded:
                tree.visits[path[d, 0]] += 1
                pair = path[d, 1]
                tree.tries[pair] += 1
                tree.value[pair] += (total - tree.value[pair]) / tree.tries[pair]
        tree.counts[SIMULATIONS] += 1
        tree.counts[STEPS] += depth
        tree.counts[DEEPEST] = max(tree.counts[DEEPEST], recorded)
    return -1
