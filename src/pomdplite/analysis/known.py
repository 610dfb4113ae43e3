"""The known set, the known state-action MDP, and the probability of leaving the known set.

K = {(s, a) : RB(b, s, a) < ε(1 − γ)}                                                      (Definition 3)
M_K: as the mean MDP at b on K; a pair outside K pays Q̃(b, s, a) and leads to s₀, where nothing more is earned
P(A_M): the probability that π, greedy for Q̃(b, ·, ·), takes a pair outside K within T steps   (Theorem 2)
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import eye_array
from scipy.sparse.linalg import spsolve

from pomdplite.analysis.frozen import FrozenMdp, frozen_mdp
from pomdplite.analysis.mistakes import checked_epsilon, horizon
from pomdplite.compile.jit import Flags, Floats
from pomdplite.errors import TooLargeError, UsageError
from pomdplite.mdp.theorem1 import MdpSet
from pomdplite.model.hidden_table import JOINT_LIMIT
from pomdplite.model.records import to_words
from pomdplite.planners.pomdp_lite import PomdpLite

_MAX_ENTRIES = 50_000_000  # of the transition table of M_K
_S0 = "s0"
_DENSE = 64  # states: with fewer, T steps are the T-th power of a matrix


class Pair(NamedTuple):
    """A state-action (s, a) in words."""

    state: str
    action: str


@dataclass(frozen=True)
class KnownSet:
    """K at one belief: `(x, a) in known`, `len(known)`, `for state, action in known`."""

    mdp: FrozenMdp
    epsilon: float
    mask: Flags  # [state-action]

    @property
    def threshold(self) -> float:
        """ε(1 − γ) in the model's units of reward: the bonus of a known pair is below it."""
        return self.epsilon * (1 - self.mdp.gamma) * self.mdp.scale.unit

    @property
    def pairs(self) -> int:
        """All pairs (s, a), known or not."""
        return len(self.mask)

    @property
    def share(self) -> float:
        """|K| of all pairs."""
        return len(self) / self.pairs

    def bonus(self, x: Any, a: Any) -> float:
        """RB(b, s, a) in the model's units, for s = (x, the present maps of θ)."""
        return float(self.mdp.bonus[self._number(x, a)])

    def __contains__(self, pair: tuple[Any, Any]) -> bool:
        return bool(self.mask[self._number(*pair)])

    def __len__(self) -> int:
        return int(self.mask.sum())

    def __iter__(self) -> Iterator[Pair]:
        reachable = self.mdp.reachable
        for number in np.flatnonzero(self.mask):
            s = reachable.graph.states[self.mdp.owner[number]]
            yield Pair(reachable.view.describe(s), str(reachable.view.model.actions[reachable.graph.action[number]]))

    def _number(self, x: Any, a: Any) -> int:
        """The state-action of x, with the maps of the current state, and a."""
        reachable, model = self.mdp.reachable, self.mdp.reachable.view.model
        maps = reachable.view.maps(reachable.graph.states[self.mdp.state]) if self.mdp.state > 0 else None
        words = to_words(model.state.dtype, model.state_record(x))
        s = words if maps is None else np.concatenate([words, maps])
        state, action = reachable.find(s), model.action_index(a)
        for number in reachable.actions(state) if state > 0 else ():
            if reachable.graph.action[number] == action:
                return int(number)
        raise UsageError(
            f"{model.name}: {model.actions[action]!r} in x = ({model.describe_state(model.state_record(x))}) is not "
            "among the pairs that can come up."
        )


def known_set(planner: PomdpLite, epsilon: float) -> KnownSet:
    """K at the planner's present belief: every (s, a) whose bonus is below ε(1 − γ)."""
    return known_set_of(frozen_mdp(planner), epsilon)


def known_set_of(mdp: FrozenMdp, epsilon: float) -> KnownSet:
    """K of an internal-reward MDP."""
    epsilon = checked_epsilon(epsilon)
    return KnownSet(mdp, epsilon, mdp.bonus < epsilon * (1 - mdp.gamma) * mdp.scale.unit)


@dataclass(frozen=True)
class KnownMdp:
    """M_K and π, the greedy policy of the internal-reward MDP. In M_K, s₀ and END are worth nothing."""

    known: KnownSet

    @cached_property
    def policy_values(self) -> Floats:
        """V^π_{M_K}(s) for every state of the graph, in the model's units."""
        mdp = self.known.mdp
        chosen = mdp.policy[1:]
        known = self.known.mask[chosen]
        reward = np.where(known, mdp.reward[chosen], mdp.q[chosen])
        within = mdp.chance[chosen][:, 1:].multiply(known[:, None]).tocsc()
        values = spsolve((eye_array(len(chosen)) - mdp.gamma * within).tocsc(), reward)
        return np.concatenate([[0.0], np.atleast_1d(values)])

    @property
    def accuracy(self) -> float:
        """The largest Ṽ^π(b, s) − V^π_{M_K}(b, s), as a share of the range of rewards: at most ε by Lemma 4."""
        mdp = self.known.mdp
        return float((mdp.values - self.policy_values).max() / mdp.scale.unit)

    def mdps(self) -> MdpSet:
        """M_K as a set of one MDP, in the model's units: `from_mdps` makes it a model that every planner takes."""
        mdp, view = self.known.mdp, self.known.mdp.reachable.view
        graph, n, actions = mdp.reachable.graph, mdp.reachable.states, len(view.model.actions)
        if (n + 1) ** 2 * actions > _MAX_ENTRIES:
            raise TooLargeError(
                f"{view.model.name}: the transition table of M_K would have more than {_MAX_ENTRIES:,} entries."
            )
        transition, reward = np.zeros((1, n + 1, actions, n + 1)), np.zeros((1, n + 1, actions))
        legal = np.zeros((n + 1, actions), bool)
        owner, action, mask = mdp.owner, graph.action, self.known.mask
        transition[0, owner, action, :n] = mdp.chance.toarray() * mask[:, None]
        transition[0, owner[~mask], action[~mask], n] = 1.0
        reward[0, owner, action] = np.where(mask, mdp.reward, mdp.q)
        legal[owner, action] = legal[n] = True
        transition[0, 0, :, 0] = transition[0, n, :, n] = 1.0
        return MdpSet(
            transition=transition, reward=reward, legal=legal, prior=np.ones(1), discount=mdp.gamma, start=mdp.state,
            states=("END", *(view.describe(s) for s in graph.states[1:]), _S0), hidden=("mean",),
            actions=tuple(map(str, view.model.actions)),
        )  # fmt: skip


def known_mdp(planner: PomdpLite, epsilon: float) -> KnownMdp:
    """M_K at the planner's present belief (Definition 3)."""
    return KnownMdp(known_set(planner, epsilon))


class EscapeProbability(NamedTuple):
    """P(A_M), by the mean transitions that M_K has, and by those of θ drawn from the belief, as the world has them."""

    in_known_mdp: float
    in_world: float | None  # None if θ cannot be listed, since probabilities are unknown


def escape_probability(planner: PomdpLite, epsilon: float, steps: int | None = None) -> EscapeProbability:
    """The probability that π, with the belief frozen, takes a pair outside K within `steps` steps, T by default."""
    known = known_set(planner, epsilon)
    return escape_of(known, horizon(epsilon, known.mdp.gamma) if steps is None else steps)


def escape_of(known: KnownSet, steps: int) -> EscapeProbability:
    """The escape probability of a known set."""
    if steps < 1:
        raise UsageError(f"steps must be at least 1, not {steps!r}.")
    mdp = known.mdp
    table = mdp.reachable.view.table
    mean = _escape(known, steps, mdp.belief)
    if mdp.reachable.view.counted:
        return EscapeProbability(mean, None)
    size = table.hidden.size
    if size > JOINT_LIMIT:
        raise TooLargeError(
            f"{mdp.reachable.view.model.name}: θ has {size:,} values, more than the {JOINT_LIMIT:,} of which the world "
            "would be followed."
        )
    if table.blocks > 1:  # θ is drawn component by component
        weights = table.joint_distribution(mdp.belief)
        sizes = [int(n) for n in np.diff(table.offsets)[:-1]]
        rows = [np.unravel_index(v, sizes) for v in range(len(weights))]
    else:
        weights, rows = mdp.belief[:-1], [(np.intp(v),) for v in range(len(mdp.belief) - 1)]
    world = 0.0
    for weight, values in zip(weights, rows, strict=True):
        if weight > 0:
            theta = np.zeros_like(mdp.belief)
            theta[table.offsets[: len(values)] + np.array(values)] = theta[-1] = 1.0
            world += float(weight) * _escape(known, steps, theta)
    return EscapeProbability(mean, min(1.0, world))


def _escape(known: KnownSet, steps: int, b: Floats) -> float:
    """The escape probability if the transitions are those of the belief b."""
    mdp = known.mdp
    chosen = mdp.policy[1:]
    inside = known.mask[chosen]
    chance = mdp.step_chances(b)[chosen]
    if len(chosen) < _DENSE:
        # States without END, and one for having escaped.
        dense = np.zeros((len(chosen) + 1, len(chosen) + 1))
        dense[:-1, :-1] = chance[:, 1:].toarray() * inside[:, None]
        dense[:-1, -1], dense[-1, -1] = ~inside, 1.0
        return float(np.linalg.matrix_power(dense, steps)[mdp.state - 1, -1])
    escaped = np.zeros(mdp.reachable.states)
    for _ in range(steps):
        escaped[1:] = np.where(inside, chance @ escaped, 1.0)
    return float(escaped[mdp.state])
