"""MDPs whose transition probabilities are not known, from plain tables: a Dirichlet prior for every (s, a)."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pomdplite.errors import ModelError
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model
from pomdplite.model.spaces import State
from pomdplite.model.unknown_tables import Names, listed_outcomes, outcome_tables


class UnknownMdp(Model):
    """An MDP with known states and actions and unknown transition probabilities, which planners learn as they act.

    states    names, or their number
    actions   names, or their number
    reward    R[s, a] or R[s, a, s'], or a dictionary {(s, a) or (s, a, s'): reward}, 0 by default
    discount  γ
    outcomes  {(s, a): next states that are possible}; all states by default. An outcome may also be (s', reward): then
              the reward is learned, too
    counts    of the Dirichlet prior: a number for each outcome; an array [s, a, s'] with 0 for what is impossible; or
              {(s, a) or name of a tie: numbers in the order of the outcomes}
    ties      {name: [(s, a), …]}: these (s, a) share one distribution over the numbers of their outcomes. The k-th
              outcome of one corresponds to the k-th outcome of the others, so each needs a list in `outcomes`
    truth     the real probabilities, which planners do not know: an array [s, a, s'], or a dictionary as for counts.
              By default every episode draws them from the prior
    start, terminal, legal  the initial state, the states that end an episode, and [s, a] where a is allowed
    horizon   steps after which an episode is cut
    beta      weight of exploration, if you know a good one

    Tied outcomes may lead to the same next state. What is seen then leaves several of them possible, and a count is
    shared among them (beliefs/counts.py).
    """

    def __init__(
        self, states: int | Sequence[str], actions: int | Sequence[str], reward: Any, *, discount: float,
        outcomes: Mapping[Any, Any] | None = None, counts: Any = 1.0, ties: Mapping[str, Any] | None = None,
        truth: Any = None, start: int | str = 0, terminal: Sequence[int | str] = (), legal: Any = None,
        horizon: int | None = None, beta: float | None = None,
    ) -> None:  # fmt: skip
        names = Names(states, actions)
        ends = np.zeros(len(names.states), bool)
        for end in terminal:
            ends[names.state(end)] = True
        allowed = np.ones((len(names.states), len(names.actions)), bool) if legal is None else np.asarray(legal, bool)
        if allowed.shape != (len(names.states), len(names.actions)):
            raise ModelError(f"legal has shape {allowed.shape}; expected {names.shape}, [s, a].")
        used = allowed & ~ends[:, None]
        listed = listed_outcomes(names, used, reward, outcomes, counts)
        tables = outcome_tables(names, listed, ties or {}, counts, truth)
        self.after, self.gain, self.group, self.label = tables.after, tables.gain, tables.group, tables.label
        self.ends, self.allowed = ends, allowed
        self.first, self.discount, self.horizon, self.beta = names.state(start), discount, horizon, beta
        self.state = State(state=names.states)
        self.actions, self.observations = names.actions, tables.observations
        self.hidden = Dirichlet(tables.counts, tables.truth)

    @property
    def name(self) -> str:
        """What messages call this model."""
        return "unknown MDP" if type(self) is UnknownMdp else type(self).__name__

    def start(self, x: Any) -> None:
        x.state = self.first

    def depends(m: Any, x: Any, a: int) -> int:
        return m.group[x.state, a]

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        y.state = m.after[x.state, a, theta.outcome]

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        seen = m.label[theta.distribution, theta.outcome]
        if seen >= 0:
            z[seen] = 1.0

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        return m.gain[x.state, a, theta.outcome]

    def terminal(m: Any, x: Any) -> bool:
        return m.ends[x.state]

    def legal(m: Any, x: Any, a: int) -> bool:
        return m.allowed[x.state, a]
