"""SARSOP (Kurniawati, Hsu, Lee 2008) in mixed-observability form (Ong et al. 2010): bounds on the Bayes-optimal value,
solved offline and made tighter where an optimal policy goes.

    repeat until the bounds at the root are close, or time is over
        sample a path of beliefs from the root:
            L' ← max{L, max_a Q_low(b, a)},  U' ← max{U, max_a Q_low(b, a) + ε γ^-t}
            stop if V̂(b) ≤ L and V_high(b) ≤ max{U, V_low(b) + ε γ^-t}, V̂(b) being what b seems to be worth
            a ← argmax_a Q_high(b, a)
            e ← argmax_e P(e | b, a) (V_high(b_e) − V_low(b_e) − ε γ^-(t+1))
            L, U ← what b_e must be worth for Q(b, a) to reach L', U'
        back up the path's beliefs, last first: an α-vector each, and a better bound from above
        prune α-vectors that are best at no sampled belief that an optimal policy may reach, nor part of such a vector

The bounds and what they are made of are in alpha_vectors.py. ε is half of the present gap at the root. V̂(b) is the mean
value of sampled beliefs that are like b in entropy and in the value of an agent who knows θ; where there are none it is
the bound from above, so the search goes deep only where that may pay.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import ExactBelief, exact_belief
from pomdplite.compile.jit import Floats, Ints, kernel
from pomdplite.errors import NotConvergingError, TooLargeError, UsageError
from pomdplite.mdp.full_information import full_information_values, policy_values, repeated_action
from pomdplite.mdp.momdp import Momdp, momdp_form
from pomdplite.model.model import Model
from pomdplite.planners.base import Decision, Planner, choose
from pomdplite.planners.sarsop import search as av
from pomdplite.planners.sarsop.files import load, save
from pomdplite.planners.sarsop.pruning import forget, prune, reached, thin
from pomdplite.planners.sarsop.search import NODES, NOW, VECTORS, Nodes, Problem, Scratch, Vectors

_DEPTH = 500  # longest path
_SHARE = 0.5  # of the root's gap: ε
_BINS = 24  # of entropy, and of the value of an agent who knows θ
_MOST_NODES, _MOST_VECTORS = 500_000, 500_000
_GROWTH = 1.3  # of the sets between two prunings
_WORTH = 0.01  # of ε: how much better a bound from above must be to be told to others


@dataclass(frozen=True)
class Progress:
    """Where solving stands."""

    seconds: float
    trials: int
    lower: float
    upper: float
    vectors: int
    points: int


class Sarsop(Planner):
    """Anytime, offline, with bounds on the optimal value.

    seconds    how long to solve
    precision  stop when the bounds at the root are this close
    trials     a number of sampled paths instead of seconds: then the result does not depend on the clock
    policy     a file that `save` wrote: nothing is solved
    memory     gigabytes that solving may take
    """

    title: ClassVar[str] = "sarsop"
    deterministic = True

    belief: ExactBelief
    progress: Callable[[Progress], None] | None = None  # called about once a second while solving

    def __init__(
        self,
        model: Model,
        *,
        seconds: float = 60.0,
        precision: float = 0.001,
        trials: int | None = None,
        policy: str | None = None,
        memory: float = 2.0,
    ) -> None:
        super().__init__(model)
        for name, value in (("seconds", seconds), ("precision", precision), ("memory", memory)):
            if not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be a positive number, not {value!r}.")
        if trials is not None and trials < 1:
            raise UsageError(f"trials must be at least 1, not {trials!r}.")
        self.seconds, self.precision, self.trials, self.policy, self.memory = seconds, precision, trials, policy, memory
        self._handed_over: tuple[Vectors, tuple[float, float]] | None = None  # solved in another process
        self._notes: tuple[str, ...] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """When to stop solving, a policy file, and gigabytes."""
        return {"seconds": self.seconds, "precision": self.precision, "trials": self.trials, "policy": self.policy,
                "memory": self.memory}  # fmt: skip

    @property
    def bounds(self) -> tuple[float, float]:
        """On the optimal value at the first state and the prior."""
        self.prepare()
        return self._bounds

    @property
    def vectors(self) -> Floats:
        """The α-vectors, [vector, joint value of θ]."""
        self.prepare()
        return self._vectors.value

    def _prepare(self) -> None:
        self.momdp = momdp_form(self.model)
        self.view = self.model.compiled_form.kernel_view()
        self.belief = exact_belief(self.view)
        corner = full_information_values(self.momdp, self.model.discount, memory=int(self.memory * 1e9))
        self._problem = av.arrange(self.momdp, corner, self.model.discount)
        if self._handed_over is not None:
            self._vectors, self._bounds = self._handed_over
            self._points = av.empty_nodes(self._problem, 1)
        elif self.policy is None:
            solver = Solver(self.momdp, self._problem, self.memory)
            seconds = self.seconds if self.trials is None else math.inf
            solver.run(seconds, self.precision, self.trials, self.progress, self.now)
            self._vectors, self._points, self._bounds = *solver.result(), solver.bounds
            if solver.full:
                self._notes = (f"solving ended early: {self.memory:g} GB were full of α-vectors",)
        else:
            self._vectors, self._bounds = load(Path(self.policy), self.momdp, self._problem)
            self._points = av.empty_nodes(self._problem, 1)
        self._scratch = av.scratch(self._problem, 1)

    def __reduce__(self) -> Any:
        """A solved planner takes its vectors along to another process."""
        if not self._ready:
            return super().__reduce__()
        return _remake_solved, (self.model, self.parameters, self.clock, self._vectors, self._bounds)

    def save(self, path: str | Path) -> None:
        """Write the policy to a file that `policy` takes."""
        self.prepare()
        save(Path(path), self.momdp, self._vectors, self._bounds)

    def _decide(self) -> Decision:
        r, t = self.momdp.reachable, self._points
        state = r.find(self.s[: self.model.state.words])
        if state < 0:
            raise UsageError(
                f"{self.model.name}: x = ({self.view.describe(self.s)}) cannot be reached in the model, so SARSOP has "
                "no α-vectors for it."
            )
        pairs, node, now = r.actions(state), len(t.state) - 1, np.iinfo(np.int64).max
        counts = np.array([node, 0, 0, 0, 0, 0], np.int64)
        t.table[:] = -1  # nodes that were solved for are points only; the present belief takes the last place
        av.make_node(self._problem, t, counts, state, self.belief.joint(), np.inf)
        av.expand(self._problem, t, self._scratch, counts, node)
        av.look_low(self._problem, self._vectors, t, self._scratch, node, now)
        av.look_high(self._problem, t, self._scratch, node, now)
        av.look_ahead(self._problem, t, self._scratch, node)
        order = pairs - r.graph.first[state]
        q, q_high = self._scratch.q_low[order], self._scratch.q_high[order]
        low = max(float(q.max()), float(t.low[node]))
        high = max(low, min(float(q_high.max()), float(t.corner[node])))
        actions, zero = r.graph.action[pairs], np.zeros(len(pairs))
        action = choose(actions, q)
        return Decision(
            action, str(self.model.actions[action]), float(q.max()), actions, q, zero, t.reward[order], zero,
            f"SARSOP, {len(self._vectors.value):,} α-vectors", r.states, residual=high - low, bounds=(low, high),
            notes=self._notes,
        )  # fmt: skip


def _remake_solved(
    model: Model, parameters: dict[str, Any], clock: str, vectors: Vectors, bounds: tuple[float, float]
) -> Sarsop:
    planner = Sarsop(model, **parameters)
    planner.use_clock(clock)
    planner._handed_over = (vectors, bounds)
    return planner


# ---------------------------------------------------------------------- solving


class Solver:
    """Γ and the sampled beliefs, growing."""

    def __init__(self, momdp: Momdp, problem: Problem, memory: float) -> None:
        self.momdp, self.problem = momdp, problem
        states, values = problem.corner.shape
        available = memory * 1e9 - problem.corner.nbytes
        vectors = min(_MOST_VECTORS, int(0.4 * available / (8 * values + 4 * av.most_outcomes(problem) + 28)))
        nodes = min(_MOST_NODES, int(0.6 * available / (av.node_bytes(problem) + 16)))
        self.depth = min(_DEPTH, nodes // 4, vectors // 4)
        if self.depth < 2:
            raise TooLargeError(
                f"{momdp.view.model.name}: {values:,} joint values of θ and {states:,} states leave no room for "
                f"α-vectors in {memory:g} GB."
            )
        self.vectors = av.empty_vectors(problem, vectors)
        self.nodes = av.empty_nodes(problem, nodes)
        self.counts = np.zeros(6, np.int64)
        self.scratch = av.scratch(problem, self.depth)
        self.bins = np.zeros((_BINS * _BINS, 2))
        self.trials, self._pruned = 0, 0
        self.full = False  # of vectors, before the time was over
        self._repeat_actions()
        self._first = int(self.counts[VECTORS])
        root = int(momdp.reachable.find(momdp.view.root()))
        av.make_node(problem, self.nodes, self.counts, root, momdp.prior, np.inf)
        av.look_own(self.vectors, self.nodes, 0, int(self.counts[NOW]))

    def _repeat_actions(self) -> None:
        """The first vectors: policies that repeat one action wherever it is legal, else the first legal one."""
        p, model = self.problem, self.momdp.view.model
        found = False
        for action in range(len(model.actions)):
            try:
                v = policy_values(self.momdp, repeated_action(self.momdp, action), p.gamma)
            except NotConvergingError:
                continue
            if not np.isfinite(v).all():
                continue
            found = True
            if self.counts[VECTORS] + len(v) > len(self.vectors.value) - self.depth:
                raise TooLargeError(
                    f"{model.name}: the first α-vectors, {len(v):,} for each action, do not fit the memory."
                )
            _add_first(p, self.vectors, self.counts, action, v)
        if not found:
            raise NotConvergingError(
                f"{model.name}: with discount 1 no policy that repeats an action has a finite value."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        """At the root."""
        return float(self.nodes.low[0]), max(float(self.nodes.high[0]), float(self.nodes.low[0]))

    def run(
        self, seconds: float, precision: float, trials: int | None, progress: Callable[[Progress], None] | None,
        clock: Callable[[], float],
    ) -> None:  # fmt: skip
        """Sample, back up and prune until the bounds are close or the budget is spent; Ctrl-C ends it, too."""
        started = told = clock()
        try:
            while True:
                low, high = self.bounds
                now = clock()
                over = high - low <= precision or now - started >= seconds or self.trials == trials
                if progress is not None and (over or now - told >= 1.0):
                    told = now
                    linked = int(np.count_nonzero(self.nodes.newer[: self.counts[NODES]] != -2))
                    progress(Progress(now - started, self.trials, low, high, int(self.counts[VECTORS]), linked))
                if over:
                    break
                if not self._make_room():
                    self.full = True
                    break
                epsilon = max(_SHARE * (high - low), 0.9 * precision)
                trial(self.problem, self.vectors, self.nodes, self.scratch, self.counts, self.bins, epsilon)
                self.trials += 1
                if self.trials == 1:
                    self._prune()
                    started = clock()  # what came before may have had to be compiled
        except KeyboardInterrupt:
            if self.trials == 0:
                raise

    def _make_room(self) -> bool:
        """Prune what has grown; False if a path's vectors no longer fit."""
        p, g, t, counts = self.problem, self.vectors, self.nodes, self.counts
        full = counts[VECTORS] + self.depth > len(g.value)
        if full or counts[VECTORS] > _GROWTH * self._pruned + 50:
            self._prune()
        if counts[NODES] + self.depth > len(t.state):
            forget(p, t, counts, int(0.5 * len(t.state)))
            self.bins[:] = 0.0
        return bool(counts[VECTORS] + self.depth <= len(g.value))

    def _prune(self) -> None:
        """Drop vectors and points that nothing needs."""
        p, g, t, counts = self.problem, self.vectors, self.nodes, self.counts
        nodes = int(counts[NODES])
        flags, new = np.zeros(nodes, np.bool_), np.full(int(counts[VECTORS]), -1, np.int32)
        reached(p, t, self.scratch, flags, np.zeros(nodes, np.int32))
        prune(g, t, counts, flags, new, self._first)
        self._pruned = int(counts[VECTORS])
        thin(t, _WORTH * (t.high[0] - t.low[0]), len(p.corner))

    def result(self) -> tuple[Vectors, Nodes]:
        """The vectors, and the points with room for one more, in no more memory than they need."""
        forget(self.problem, self.nodes, self.counts, len(self.nodes.state))
        n, count = int(self.counts[VECTORS]), int(self.counts[NODES])
        per_vector = Vectors._fields[: Vectors._fields.index("newest")]
        kept = self.vectors._replace(**{name: getattr(self.vectors, name)[:n].copy() for name in per_vector})
        points = av.empty_nodes(self.problem, 1)
        grown = {
            name: np.concatenate([getattr(self.nodes, name)[:count], getattr(points, name)])
            for name in Nodes._fields[: Nodes._fields.index("latest")]
        }
        return kept, points._replace(**grown, latest=self.nodes.latest.copy())


@kernel
def _add_first(p: Problem, g: Vectors, counts: Ints, action: int, v: Floats) -> None:
    """Add a policy's vector to each state in which none is as good everywhere."""
    for s in range(1, v.shape[0]):
        a = g.newest[s]
        while a >= 0:
            better = False
            for j in range(v.shape[1]):
                if v[s, j] > g.value[a, j]:
                    better = True
                    break
            if not better:
                break
            a = g.next[a]
        if a < 0:
            av.add_vector(g, counts, s, action, v[s])


@kernel
def _look(p: Problem, g: Vectors, t: Nodes, s: Scratch, counts: Ints, node: int, worth: float) -> tuple[int, int]:
    """All bounds at a node as they are now; the best state-actions by the lower and by the upper bound."""
    if t.edge[node] < 0:
        av.expand(p, t, s, counts, node)
    av.look_low(p, g, t, s, node, counts[NOW])
    av.look_high(p, t, s, node, counts[NOW])
    av.look_ahead(p, t, s, node)
    x = t.state[node]
    low = high = 0
    for i in range(1, p.graph.first[x + 1] - p.graph.first[x]):
        if s.q_low[i] > s.q_low[low]:
            low = i
        if s.q_high[i] > s.q_high[high]:
            high = i
    av.lower_high(t, counts, node, s.q_high[high], worth)
    return low, high


@kernel
def _predict(p: Problem, t: Nodes, bins: Floats, node: int) -> float:
    """V̂(b): the mean of the beliefs in its bin, the upper bound if there are no others."""
    if t.bin[node] < 0:
        b = t.belief[node]
        entropy = 0.0
        for j in range(b.shape[0]):
            if b[j] > 0.0:
                entropy -= b[j] * np.log(b[j])
        scale = max(1.0, np.log(b.shape[0]))
        place = 0.5 + 0.25 * t.corner[node] / max(abs(t.corner[0]), 1e-9)
        first = int(min(_BINS - 1.0, max(0.0, place * _BINS)))
        t.bin[node] = first * _BINS + int(min(_BINS - 1.0, entropy / scale * _BINS))
        t.bin_value[node] = t.high[node]
        bins[t.bin[node], 0] += 1.0
        bins[t.bin[node], 1] += t.high[node]
    at = t.bin[node]
    return t.high[node] if bins[at, 0] < 2.0 else bins[at, 1] / bins[at, 0]


@kernel
def trial(p: Problem, g: Vectors, t: Nodes, s: Scratch, counts: Ints, bins: Floats, epsilon: float) -> None:
    """Sample one path, and back it up."""
    worth = _WORTH * epsilon
    node, length, slack = 0, 0, epsilon
    target_low, target_high = t.low[0], t.low[0] + epsilon
    while True:
        low, high = _look(p, g, t, s, counts, node, worth)
        s.path[length] = node
        length += 1
        value = max(t.low[node], s.q_low[low])
        if length == s.path.shape[0] or t.high[node] - value <= slack:
            break
        if _predict(p, t, bins, node) <= target_low and t.high[node] <= max(target_high, value + slack):
            break
        target_low, target_high = max(target_low, value), max(target_high, value + slack)
        slack /= p.gamma
        x = t.state[node]
        pair = p.graph.first[x] + high
        rest_low = rest_high = t.reward[t.pair[node] + high]
        best, chosen = 0.0, -1
        base = t.edge[node] - p.first_edge[p.first[x]]
        for edge in range(p.first_edge[p.first[x]], p.first_edge[p.first[x + 1]]):
            if p.pair[edge] == pair and t.edge_chance[base + edge] > 0.0:
                rest_low += p.gamma * t.edge_low[base + edge]
                rest_high += p.gamma * t.edge_high[base + edge]
                excess = t.edge_high[base + edge] - t.edge_low[base + edge] - slack * t.edge_chance[base + edge]
                if excess > best:
                    best, chosen = excess, edge
        if chosen < 0:
            break
        at = base + chosen
        chance = p.gamma * t.edge_chance[at]
        target_low = (target_low - rest_low + p.gamma * t.edge_low[at]) / chance
        target_high = (target_high - rest_high + p.gamma * t.edge_high[at]) / chance
        if t.edge_child[at] < 0:
            av.posterior(p, t.belief[node], chosen, s.b)
            for j in range(s.b.shape[0]):
                s.b[j] /= t.edge_chance[at]
            to = p.graph.next[0]
            for i in range(p.first[x], p.first[x + 1]):
                if p.first_edge[i] <= chosen:
                    to = p.to[i]
            t.edge_child[at] = av.make_node(p, t, counts, to, s.b, t.edge_high[at] / t.edge_chance[at])
        node = t.edge_child[at]
    for i in range(length - 1, -1, -1):
        node = s.path[i]
        low, high = _look(p, g, t, s, counts, node, worth)
        av.back_up(p, g, t, s, counts, node, p.graph.first[t.state[node]] + low)
        if t.bin[node] >= 0:
            bins[t.bin[node], 1] += t.high[node] - t.bin_value[node]
            t.bin_value[node] = t.high[node]
