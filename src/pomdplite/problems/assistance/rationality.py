"""How the person who is helped acts: for a goal of their own, mostly the right way, as if nobody helped.

Alone, they pay 1 for every action until they are done, and actions are certain. So

    Q*(s, u) = −(1 + n(s')),        n(s) the fewest actions from s to the goal, s' the state after u,

and they take action u with a probability proportional to exp(rationality · Q*(s, u)): a Boltzmann policy. What the
assistant does changes s, and they react to that, but they do not count on help to come.
"""

import math

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints
from pomdplite.errors import UsageError

ILLEGAL = -1
FAR = 10_000  # more actions than any goal needs
_PRECISION = 1e-9  # steps: the change at which iteration ends
_STRICT = 1e6  # stands for infinity: probabilities of other than the best actions underflow to 0


def steps_to_go(after: Ints, goal: Flags) -> Ints:
    """The fewest actions from each state to a goal, by value iteration.

    after[state, action] is ILLEGAL where there is no such action. A goal that cannot be reached is FAR.
    """
    steps = np.append(np.where(goal, 0, FAR), FAR)  # the last one is that of an illegal action
    while True:
        closer = np.where(goal, 0, np.minimum(1 + steps[after].min(axis=1), FAR))
        if np.array_equal(closer, steps[:-1]):
            return closer
        steps[:-1] = closer


def expected_steps(after: Ints, steps: Ints, rationality: float, start: int) -> float:
    """How many actions they take on average from the start if nobody helps; steps: the fewest actions to the goal."""
    if steps[start] == FAR:
        return math.inf
    states = np.array([start])
    while True:  # to all that they can reach
        further = np.union1d(states, after[states])
        further = further[further != ILLEGAL]
        if len(further) == len(states):
            break
        states = further
    legal, to = after[states] != ILLEGAL, np.searchsorted(states, after[states]).clip(0, len(states) - 1)
    excess = np.where(legal, 1 + steps[states][to] - steps[states][:, None], FAR)
    chance = np.where(legal, np.exp(-rationality * excess.clip(0)), 0.0)
    chance /= chance.sum(axis=1, keepdims=True).clip(np.finfo(float).tiny)
    at_work, expected = steps[states] > 0, np.zeros(len(states))
    while True:
        more = at_work * (1.0 + (chance * expected[to]).sum(axis=1))
        if np.abs(more - expected).max() < _PRECISION:
            return float(more[np.searchsorted(states, start)])
        expected = more


def checked_rationality(rationality: float) -> float:
    """The parameter of the Boltzmann policy as models use it; UsageError if it is negative or not a number."""
    if math.isnan(rationality) or rationality < 0:
        raise UsageError(f"the rationality of a person must be a number from 0 to infinity, not {rationality!r}.")
    return min(float(rationality), _STRICT)


def to_probabilities(p: Floats, rationality: float) -> None:
    """Turn steps to go after each action into the probabilities of the Boltzmann policy; −1 stands for no action."""
    least, total = np.inf, 0.0
    for i in range(p.shape[0]):
        if p[i] >= 0.0:
            least = min(least, p[i])
    for i in range(p.shape[0]):
        p[i] = math.exp(-rationality * (p[i] - least)) if p[i] >= 0.0 else 0.0
        total += p[i]
    for i in range(p.shape[0]):
        p[i] /= total
