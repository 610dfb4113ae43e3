"""A race between values of β: policies play the same simulated episodes, and those that earn less drop out.

All candidates meet the hidden values and the noise of the same episodes, so they are compared in pairs. Hidden values
are drawn in blocks of eight episodes, one from each eighth of the prior (stratified sampling). What a policy earns in a
step is counted as its mean under the belief, R(b, s, a): the expected return is the same, and a rare penalty counts a
little in every episode instead of a lot in a few. The mean over particles is only approximate, so there the rewards
are drawn, and hidden values are drawn independently. So are unknown probabilities.

After 32, 64, … episodes, a candidate drops out if it earns clearly less than the leader; after four, if the work would
not suffice for eight with all. Work is counted, not timed, so a race ends the same way on every machine. When half of
the work is spent, half of the candidates have to go, and half of those when three quarters are; if it runs out, or the
time to prepare does, the leader wins.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from pomdplite import rng
from pomdplite.beliefs import Belief, DrawnBelief
from pomdplite.compile import abi
from pomdplite.compile.jit import Floats, Words
from pomdplite.errors import NotConvergingError
from pomdplite.mdp.budget import NO_DEADLINE, Deadline, OutOfTimeError
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.sampling import outcome_row, pick, simulate
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Population
from pomdplite.planners.decision import choose
from pomdplite.planners.raced_policies import RACE_SEED, Policy, race_number

# Units of work, each some 3 ns: an exact solver's state-action is one.
WORK = 1_500_000_000
REAL_WORK = 450_000_000  # of searches with drawn outcomes
REAL_WORK_AT_MOST = 3 * REAL_WORK  # of them, if the fewest episodes take that
_PARTICLE = 300  # updating one particle
_TERM = 100  # a log probability of a step, by which particles with distributions are moved
_STEP = 2_000  # a step of an episode
_NEW_STEP = 8_000  # updating the belief or deciding, where that has not been done before
_SLOWER = 20  # a model that Python runs
FEWEST = 8  # episodes on which a choice may rest
_ROUNDS = (FEWEST, 16, 32, 64, 128, 256, 512)  # episodes after which candidates are compared
_GLANCE = 4  # episodes after which candidates may drop out if the work would not suffice for the fewest
_TESTED = 32  # episodes from which on standard errors are trusted
_SETTLED = 64  # episodes after which candidates that have always earned the same need not play on
_CLEARLY = 3.0  # standard errors
_DIGITS = 9  # of a probability, in telling beliefs apart
_TAIL = 0.01  # an episode is cut when rewards weigh less than this
_STRATA = 8  # of hidden values
_END = -1


class OutOfWorkError(Exception):
    """The work of a race is spent."""


@dataclass(eq=False)
class Candidate:
    """A β and what it has earned so far."""

    beta: float
    policy: Policy
    returns: list[float] = field(default_factory=list)  # of episodes 0, 1, …
    decisions: dict[int, tuple[int, float]] = field(default_factory=dict)  # node → action and its mean reward

    @property
    def mean(self) -> float:
        """The mean return."""
        return float(np.mean(self.returns))


class Episodes:
    """Plays episodes of a model. Pairs of a state and a belief are numbered, so that no update is computed twice."""

    def __init__(self, belief: Belief, work: int = WORK, deadline: Deadline = NO_DEADLINE) -> None:
        self.belief, self.view, self.left, self._deadline = belief, belief.view, work, deadline
        self._new_step = _NEW_STEP + (0 if self.view.listed else _PARTICLE * len(belief.probabilities))
        self._model = self.view.model
        self._horizon, self._later = _cut(self._model)
        self.hurried = False  # whether a race has ended because the time was up
        self._slower = 1 if self._model.compiled_form.compiled else _SLOWER
        self._buffer = allocate_outcomes(self.view.kernel_model, 1)
        self._root = self.view.root()[: self._model.state.words]
        self._hidden: list[Words] = []  # of episodes 0, 1, …
        self._distributions: dict[int, Floats] = {}  # the same, if probabilities are hidden
        self._nodes: dict[bytes, int] = {}
        self._unlike = 0  # pairs that are not kept
        self._following: dict[tuple[int, int, bytes, int], int] = {}  # node, action, next state and observation → node

    def play(self, candidate: Candidate, episode: int) -> None:
        """Play an episode and add its return to the candidate's."""
        self._deadline.check(f"{self._model.name}: choosing β")
        belief, policy, kernel_model = self.belief, candidate.policy, self.view.kernel_model
        belief.reset(race_number(episode, rng.PLANNER))
        if episode == len(self._hidden):
            self._hidden.append(self._draw_hidden(episode))
        theta, distributions = self._hidden[episode], self._distributions.get(episode)
        noise = rng.stream(RACE_SEED, episode, rng.RACE, rng.WORLD)
        policy.begin(belief, episode)
        x, node, total, weight = self._root, self._node(self._root), 0.0, 1.0
        behind: list[tuple[Words, int, Words, int]] = []  # steps that the belief has not been updated with
        for _ in range(self._horizon):
            known = candidate.decisions.get(node)
            if known is None:
                self._deadline.check(f"{self._model.name}: choosing β")
                self._catch_up(behind)
                known = self._decide(policy, x)
                if policy.keeps:
                    candidate.decisions[node] = known
            a, mean = known
            u, v = rng.uniform(noise), rng.uniform(noise)
            if distributions is not None:
                row = outcome_row(kernel_model, distributions, x.reshape(1, -1), a, u)
                theta = kernel_model.theta[row : row + 1]
            i, o, drawn = simulate(kernel_model, x.reshape(1, -1), theta, a, u, v, self._buffer)
            self.view.raise_fault()
            reward = mean if self.view.listed else drawn
            total, weight = total + weight * reward, weight * self._model.discount
            self._spend(_STEP)
            y, theta = self._buffer.y[i].copy(), self._buffer.theta.copy()
            behind.append((x, a, y, o))
            step, x = (node, a, y.tobytes(), o), y[: len(x)]
            if step not in self._following:
                self._catch_up(behind)
                over = abi.terminal(kernel_model, x.reshape(1, -1), 0)
                self._following[step] = _END if over else self._node(x)
            node = self._following[step]
            if node == _END:
                break
        else:
            total += weight * reward * self._later
        candidate.returns.append(total)

    def try_out(self, candidates: Sequence[Candidate]) -> None:
        """Play one episode with each; OutOfWorkError if, going by these, the fewest episodes take too long."""
        before = self.left
        for candidate in candidates:
            self.play(candidate, 0)
        if (before - self.left) * FEWEST > before:
            raise OutOfWorkError

    def _draw_hidden(self, episode: int) -> Words:
        """The words of the hidden value: in each block of episodes, one value from every part of the prior."""
        hidden, values = self._model.hidden, []
        if isinstance(hidden, Dirichlet):
            self._distributions[episode] = hidden.draw(rng.stream(RACE_SEED, episode, rng.RACE, rng.HIDDEN))
            return np.zeros((1, hidden.words), np.uint64)
        if isinstance(hidden, Population):
            theta = np.zeros((1, hidden.words), np.uint64)
            self.view.draw_prior(theta, rng.stream(RACE_SEED, episode, rng.RACE, rng.HIDDEN))
            return theta
        for number, component in enumerate(hidden.components):
            draw = rng.stream(RACE_SEED, episode // _STRATA, rng.RACE, rng.HIDDEN, number)
            order = np.argsort([rng.uniform(draw) for _ in range(_STRATA)])
            within = [rng.uniform(draw) for _ in range(_STRATA)]
            at = episode % _STRATA
            values.append(int(pick(component.prior, len(component), (order[at] + within[at]) / _STRATA)))
        return to_words(hidden.dtype, hidden.record(values)).reshape(1, -1)

    def _node(self, x: Words) -> int:
        """The number of x with the present belief, whatever the order in which the same evidence came."""
        if self.belief.key() is None:  # particles are never the same again
            self._unlike += 1
            return -1 - self._unlike
        b = self.belief.probabilities.round(_DIGITS) + 0.0
        return self._nodes.setdefault(x.tobytes() + b.tobytes() + self.belief.maps.tobytes(), len(self._nodes))

    def _catch_up(self, behind: list[tuple[Words, int, Words, int]]) -> None:
        for step in behind:
            self.belief._advance(*step)
            moved = _TERM * self.belief.terms if isinstance(self.belief, DrawnBelief) else 0
            self._spend(self._new_step + moved)
        behind.clear()

    def _decide(self, policy: Policy, x: Words) -> tuple[int, float]:
        before = policy.work
        found = policy.solve(self.belief, self.belief._state(x))
        self.view.raise_fault()
        self._spend(_NEW_STEP + policy.work - before)
        a = choose(found.actions, found.q)
        return a, float(found.mean_reward[list(found.actions).index(a)])

    def _spend(self, work: int) -> None:
        self.left -= work * self._slower
        if self.left < 0:
            raise OutOfWorkError


def _cut(model: Model) -> tuple[int, float]:
    """The steps of an episode, and the weight of later ones: the last reward is taken to go on."""
    gamma, horizon = model.discount, model.episode_horizon
    if not 0 < gamma < 1:
        return horizon, 0.0
    steps = min(horizon, math.ceil(math.log(_TAIL) / math.log(gamma)))
    later = math.inf if model.horizon is None else horizon - steps
    return steps, (1 - gamma**later) / (1 - gamma)


def race(episodes: Episodes, candidates: Sequence[Candidate], rounds: Sequence[int] = _ROUNDS) -> list[Candidate]:
    """The candidates that are still in the race, best first; all have played the same episodes.

    OutOfWorkError or OutOfTimeError if the work or the time does not suffice for a choice.
    """
    running, whole = list(candidates), episodes.left
    try:
        if min(len(c.returns) for c in running) == 0:
            running = _play(episodes, running, _GLANCE)
            if (whole - episodes.left) * FEWEST > _GLANCE * whole:
                best = max(running, key=lambda c: np.mean(c.returns[:_GLANCE]))
                running = [c for c in running if not better(best, c, fewest=_GLANCE)]
        for count in rounds:
            running = _play(episodes, running, count)
            spent = 1 - episodes.left / whole
            running = _remaining(running, max(2, len(candidates) >> max(0, int(4 * spent) - 1)))
            if len(running) == 1 or (count >= _SETTLED and all(_tied(other, running[0]) for other in running)):
                break
    except (OutOfWorkError, OutOfTimeError) as end:
        if min(len(c.returns) for c in running) < FEWEST:
            raise
        episodes.hurried = isinstance(end, OutOfTimeError)
    played = min(len(c.returns) for c in running)
    for candidate in running:
        del candidate.returns[played:]
    return sorted(running, key=lambda c: -c.mean)


def _play(episodes: Episodes, running: list[Candidate], count: int) -> list[Candidate]:
    """Play up to this number of episodes, one after the other; those whose MDP has no finite value drop out."""
    for episode in range(count):
        for candidate in list(running):
            if len(candidate.returns) > episode:
                continue
            try:
                episodes.play(candidate, episode)
            except NotConvergingError:
                if len(running) == 1:
                    raise
                running.remove(candidate)
    return running


def _remaining(running: list[Candidate], most: int) -> list[Candidate]:
    """The best that are not clearly worse than the leader, at most so many; those that tie count as one."""
    ranked, kept = sorted(running, key=lambda c: -c.mean), list[Candidate]()
    for candidate in ranked:
        less = np.array(ranked[0].returns) - candidate.returns
        clear = len(less) >= _TESTED and less.mean() > _CLEARLY * less.std(ddof=1) / np.sqrt(len(less))
        if any(_tied(candidate, other) for other in kept):
            kept.append(candidate)
        elif not clear and most > 0:
            kept.append(candidate)
            most -= 1
    return kept


def _tied(one: Candidate, other: Candidate) -> bool:
    """Whether both have earned the same in every episode, up to rounding."""
    return bool(np.allclose(one.returns, other.returns, rtol=1e-9, atol=1e-9))


def better(one: Candidate, other: Candidate, errors: float = _CLEARLY, fewest: int = FEWEST) -> bool:
    """Whether one has earned more than the other in the episodes that both have played, by so many standard errors."""
    both = min(len(one.returns), len(other.returns))
    more = np.array(one.returns[:both]) - other.returns[:both]
    return both >= fewest and bool(more.mean() > errors * more.std(ddof=1) / np.sqrt(both))


def winners(ranked: Sequence[Candidate]) -> list[Candidate]:
    """The leader and all that tie with it, in the order of β."""
    return sorted((c for c in ranked if _tied(c, ranked[0])), key=lambda c: c.beta)
