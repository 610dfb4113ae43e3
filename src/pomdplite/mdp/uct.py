"""The internal-reward MDP, searched online from the present state: UCT (Kocsis and Szepesvári 2006) in two forms.

The paper's form, `simulate_tree`: a tree; each simulation goes down by UCB1, adds one node, plays on from there by a
rollout policy, and averages the return into every action on its way.

The graph form, `simulate_graph`, our default (docs/decisions/0003): equal states are one node, a node's value is that
of its best action, an action's value is its mean reward and bonus plus the values of its next states, and new states
are valued by the model's heuristic. Averaging is right on a tree; where states are merged it mixes the returns of the
many ways that lead through a state, and max backups are right.
"""

import numpy as np

from pomdplite.checking import faults
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined, kernel
from pomdplite.errors import NotConvergingError
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes, outcomes
from pomdplite.mdp.sampling import pick
from pomdplite.mdp.search_graph import (
    END,
    EXPANDED,
    FAULTY,
    NO_ROOM,
    NO_SPACE,
    NODES,
    NOT_EXPANDED,
    PAIRS,
    STAMP,
    SearchGraph,
    back_up_node,
    clear,
    expand,
    find_node,
    search_space,
)  # fmt: skip
from pomdplite.mdp.solution import Solution
from pomdplite.model.compiled import KernelView
from pomdplite.rng import uniform

NODE_LIMIT = 400_000  # states that a search can hold
PAIR_LIMIT = 6_000_000  # state-actions; together about 600 MB when full
_WANDER = 0.02  # share of steps taken at random, so that no state stays out of reach of a small constant c

# Places in the tally of a search.
SIMULATIONS, STEPS, DEEPEST, FULL = range(4)


class Uct:
    """Keeps the search graph from step to step while the belief stays the same."""

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, budget: Budget, exploration: float, tree: bool = False,
        search_depth: int = 90, nodes: int = NODE_LIMIT, pairs: int = PAIR_LIMIT,
    ) -> None:  # fmt: skip
        self.view, self.gamma, self.beta, self.budget = view, gamma, beta, budget
        self.exploration, self.tree, self.search_depth = exploration, tree, search_depth
        self._graph = search_space(view.kernel_model, nodes, pairs)
        self._buffer = allocate_outcomes(view.kernel_model, max(2, view.kernel_model.next_states))
        self._path = np.zeros(2 * search_depth + 2, np.int64)
        self._stream = np.zeros(1, np.uint64)
        self._belief: Floats | None = None  # the belief that the graph's numbers are for

    def reset(self, prior: Floats, seed: int) -> None:
        """Forget the search; the seed names the random numbers of the episode."""
        self._stream[0] = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
        self._belief = None

    def warm_up(self, kernel_model: KernelModel, s: Words, b: Floats) -> None:
        """Compile what searching takes, so that no step's budget pays for it."""
        budget, self.budget = self.budget, Budget(None, 1)
        for _ in range(2):  # the second time on the graph of the first
            self.solve(kernel_model, s, b)
        self.budget = budget

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Search from s under the belief b until the budget is spent."""
        # One step ahead there is one node to expand.
        clock = (self.budget if self.search_depth > 1 else Budget(None, 1)).start()
        if len(self._buffer.reward) < int(np.max(np.diff(kernel_model.offsets))):
            self._buffer = allocate_outcomes(kernel_model, self._buffer.next.shape[0])
        root = self._root(s, b)
        tally, fault = np.zeros(4, np.int64), np.zeros(5, np.int64)
        simulate = simulate_tree if self.tree else simulate_graph
        while (count := clock.portion(int(tally[SIMULATIONS]))) > 0:
            why = simulate(
                kernel_model, self._graph, b, self.beta, self.gamma, self.exploration, self._buffer, root, count,
                self.search_depth, self._path, self._stream, tally, fault,
            )  # fmt: skip
            if why == FAULTY:
                a, component, code, value = (int(f) for f in fault[:4])
                raise faults.model_error(self.view, self._graph.states[fault[4]].copy(), a, component, code, value)
            if why == NO_ROOM:
                self._buffer = allocate_outcomes(kernel_model, 2 * self._buffer.next.shape[0])
        self._refuse_endless_gain(root)
        return self._solution(root, tally)

    def _refuse_endless_gain(self, root: int) -> None:
        """Without discount, a loop that earns has no value."""
        graph = self._graph
        if np.isfinite(graph.value[root]) or graph.value[root] == -np.inf:
            return
        for node in range(1, int(graph.counts[NODES])):
            first = int(graph.first[node])
            for pair in range(first, first + int(graph.pairs[node])) if first != NOT_EXPANDED else ():
                if graph.next[graph.first_edge[pair]] == node and graph.q[pair] == np.inf:
                    model = self.view.model
                    raise NotConvergingError(
                        f"{model.name}: with discount {self.gamma:g} the value is unbounded: in x = "
                        f"({self.view.describe(graph.states[node])}) {model.actions[graph.action[pair]]!r} earns "
                        f"{graph.reward[pair] + graph.gain[pair]:g} a step for ever. Use a discount below 1, or beta=0."
                    )

    def _root(self, s: Words, b: Floats) -> int:
        """The node of s in the graph kept from the last step if the belief is the same; or a new graph."""
        graph, root = self._graph, -1
        crowded = graph.counts[NODES] > 0.5 * len(graph.value) or graph.counts[PAIRS] > 0.5 * len(graph.q)
        if not self.tree and self._belief is not None and np.array_equal(self._belief, b) and not crowded:
            root = int(find_node(graph, s.reshape(1, -1)))
        if root < 0:
            clear(graph, s)
            root = 1
        self._belief = b.copy()
        return root

    def _solution(self, root: int, tally: Ints) -> Solution:
        graph = self._graph
        pairs = slice(int(graph.first[root]), int(graph.first[root] + graph.pairs[root]))
        q, bonus = graph.q[pairs].copy(), graph.q_bonus[pairs].copy()
        tried = graph.tries[pairs] > 0
        if self.tree:
            q[~tried] = -np.inf  # nothing is known of them
            if not tried.any():
                q[:] = graph.reward[pairs] + graph.gain[pairs]
        return Solution(
            "UCT on a tree" if self.tree else "UCT on a graph", graph.action[pairs].copy(), q, bonus,
            graph.reward[pairs].copy(), graph.gain[pairs].copy(), int(graph.counts[NODES]),
            visits=graph.tries[pairs].copy(), simulations=int(tally[SIMULATIONS]), steps=int(tally[STEPS]),
            deepest=int(tally[DEEPEST]), line=self._line(root), full=bool(tally[FULL]),
        )  # fmt: skip

    def _line(self, node: int, most: int = 12) -> tuple[int, ...]:
        """The principal line of play: the best action, its likeliest next state, and so on."""
        graph, seen = self._graph, set[int]()
        line: list[int] = []
        while node != END and graph.first[node] != NOT_EXPANDED and node not in seen and len(line) < most:
            seen.add(node)
            first = int(graph.first[node])
            pair = first + int(np.argmax(graph.q[first : first + graph.pairs[node]]))
            line.append(int(graph.action[pair]))
            edges = slice(int(graph.first_edge[pair]), int(graph.first_edge[pair + 1]))
            node = int(graph.next[edges][np.argmax(graph.chance[edges])])
        return tuple(line)


@inlined
def select(graph: SearchGraph, node: int, c: float, untried_first: bool) -> int:
    """UCB1: the pair with the highest q + c √(ln N / n)."""
    log = np.log(graph.visits[node] + 1.0)
    best, chosen = -np.inf, -1
    for pair in range(graph.first[node], graph.first[node] + graph.pairs[node]):
        n = graph.tries[pair]
        if n == 0 and untried_first:
            return pair
        score = graph.q[pair] + c * np.sqrt(log / (n + 1.0 if not untried_first else n))
        if score > best and (untried_first or not leads_back(graph, pair)):
            best, chosen = score, pair
    return chosen


@inlined
def leads_back(graph: SearchGraph, pair: int) -> bool:
    """Whether the action leads for certain to a state that this simulation has been to: nothing new is there."""
    first = graph.first_edge[pair]
    return graph.first_edge[pair + 1] == first + 1 and graph.stamp[graph.next[first]] == graph.counts[STAMP]


@inlined
def follow(graph: SearchGraph, pair: int, stream: Words) -> int:
    """A next node drawn from the mean transition."""
    first, last = graph.first_edge[pair], graph.first_edge[pair + 1]
    if last == first + 1:
        return graph.next[first]
    u, total = uniform(stream), 0.0
    for edge in range(first, last):
        total += graph.chance[edge]
        if u < total:
            return graph.next[edge]
    return graph.next[last - 1]


@kernel
def simulate_graph(
    model: KernelModel, graph: SearchGraph, b: Floats, beta: float, gamma: float, c: float, out: Outcomes,
    root: int, simulations: int, search_depth: int, path: Ints, stream: Words, tally: Ints, fault: Ints,
) -> int:  # fmt: skip
    """Up to that many simulations with merged states and max backups; why it stopped."""
    for _ in range(simulations):
        node, depth = root, 0
        graph.counts[STAMP] += 1
        while node != END and depth < search_depth and graph.stamp[node] != graph.counts[STAMP]:
            graph.stamp[node] = graph.counts[STAMP]
            if graph.first[node] == NOT_EXPANDED:
                guess = graph.value[node]
                if not abi.has_heuristic(model) and depth > 0:
                    guess = play_on(model, graph, b, beta, gamma, out, node, search_depth - depth, stream, tally)
                done = expand(model, graph, b, beta, out, node, guess, True, fault)
                if done in (NO_ROOM, FAULTY):
                    fault[4] = node
                    return done
                if done == NO_SPACE:
                    tally[FULL] = 1
                    break
                back_up_node(graph, node, gamma)
                graph.visits[node] += 1
                break
            if uniform(stream) < _WANDER:
                pair = graph.first[node] + np.int64(uniform(stream) * graph.pairs[node])
                if leads_back(graph, pair):
                    pair = select(graph, node, c, False)
            else:
                pair = select(graph, node, c, False)
            graph.visits[node] += 1
            if pair < 0:
                back_up_node(graph, node, gamma)
                break
            graph.tries[pair] += 1
            path[2 * depth], path[2 * depth + 1] = node, pair
            node = follow(graph, pair, stream)
            depth += 1
        for i in range(depth - 1, -1, -1):
            back_up_node(graph, path[2 * i], gamma)
        tally[SIMULATIONS] += 1
        tally[STEPS] += depth + 1
        tally[DEEPEST] = max(tally[DEEPEST], depth)
    return EXPANDED


@kernel
def simulate_tree(
    model: KernelModel, graph: SearchGraph, b: Floats, beta: float, gamma: float, c: float, out: Outcomes,
    root: int, simulations: int, search_depth: int, path: Ints, stream: Words, tally: Ints, fault: Ints,
) -> int:  # fmt: skip
    """Up to that many simulations in a tree with averaged returns; why it stopped."""
    for _ in range(simulations):
        node, depth = root, 0
        total, total_bonus = 0.0, 0.0
        while node != END and depth < search_depth:
            if graph.first[node] == NOT_EXPANDED:
                if depth > 0:
                    total = play_on(model, graph, b, beta, gamma, out, node, search_depth - depth, stream, tally)
                done = expand(model, graph, b, beta, out, node, 0.0, False, fault)
                if done in (NO_ROOM, FAULTY):
                    fault[4] = node
                    return done
                if done == NO_SPACE:
                    tally[FULL] = 1
                if depth > 0 or done == NO_SPACE:
                    break
            pair = select(graph, node, c, True)
            graph.visits[node] += 1
            path[2 * depth], path[2 * depth + 1] = node, pair
            node = follow(graph, pair, stream)
            depth += 1
        for i in range(depth - 1, -1, -1):
            pair = path[2 * i + 1]
            total = graph.reward[pair] + graph.gain[pair] + gamma * total
            total_bonus = graph.gain[pair] + gamma * total_bonus
            graph.tries[pair] += 1
            share = 1.0 / graph.tries[pair]
            graph.q[pair] = (1.0 - share) * graph.q[pair] + share * total
            graph.q_bonus[pair] = (1.0 - share) * graph.q_bonus[pair] + share * total_bonus
        tally[SIMULATIONS] += 1
        tally[STEPS] += depth + 1
        tally[DEEPEST] = max(tally[DEEPEST], depth)
    return EXPANDED


@kernel
def play_on(
    model: KernelModel, graph: SearchGraph, b: Floats, beta: float, gamma: float, out: Outcomes, node: int, steps: int,
    stream: Words, tally: Ints,
) -> float:  # fmt: skip
    """The internal return of a rollout from a node, belief frozen: the model's policy, or uniform legal actions."""
    total, discount = 0.0, 1.0
    here = out.here
    for w in range(model.s_words):
        here[0, w] = graph.states[node, w]
    for _ in range(steps):
        a = abi.policy(model, here, 0, uniform(stream))
        component, k, e = outcomes(model, here, 0, a, out)
        if k < 0:
            return total  # told when the node itself is expanded
        offset = model.offsets[component]
        n = model.offsets[component + 1] - offset
        block = b[offset : offset + n]
        v = pick(block, n, uniform(stream))
        mean = 0.0
        for i in range(n):
            mean += block[i] * out.reward[i]
        total += discount * (mean + beta * expected_l1_change(block, out.likelihood[:e, :n]))
        discount *= gamma
        u, seen, j = uniform(stream), 0.0, 0
        for i in range(k):
            seen += out.chance[i, v]
            j = i
            if u < seen:
                break
        tally[STEPS] += 1
        if abi.terminal(model, out.next, j) or discount < 1e-3:
            break
        for w in range(model.s_words):
            here[0, w] = out.next[j, w]
    return total
