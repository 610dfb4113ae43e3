"""The weight β of exploration: a model's own, or chosen for the model by a race (race.py).

The candidates follow from what information can be worth: Σ_θ b(θ) V_θ(x), the value if θ were known, less what β = 0
earns. One step changes the belief by at most 2, so a bonus of that size needs a β of about half of it; bonuses add up
over the steps that the frozen belief lets the agent expect, so that a good β can also be far smaller. Candidates are
therefore 0, seven values over three decades below 4 times that scale, and 5 % of the range of rewards; then values
halfway to the neighbours of the winner. If several tie, having earned the same in every episode, the middle one wins,
or 0 if it is one of them.

Searches with drawn outcomes take longer, so that their races are short. There 0, a tenth, a third and three times of
the 5 % are candidates, and the 5 % stand unless another one is clearly better.

The choice is kept on disk under the model's digest, together with everything that it depends on.
"""

import hashlib
import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from pomdplite.beliefs import Belief
from pomdplite.checking.remembered import model_digest
from pomdplite.compile.cache import cache_folder, write_once
from pomdplite.mdp.budget import Deadline, OutOfTimeError
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.mdp.exact_solver import ExactSolver
from pomdplite.mdp.grid.solver import GridSolver
from pomdplite.mdp.population_solver import PopulationSolver
from pomdplite.mdp.reward_range import reward_range
from pomdplite.mdp.search.drawn.solver import WideningSolver
from pomdplite.mdp.search.listed.solver import UctSolver
from pomdplite.mdp.solution import MdpSolver
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.mdp.yardsticks import known_values
from pomdplite.model.compiled import KernelView
from pomdplite.planners.race import (
    FEWEST,
    REAL_WORK,
    REAL_WORK_AT_MOST,
    WORK,
    Candidate,
    Episodes,
    OutOfWorkError,
    better,
    race,
    winners,
)
from pomdplite.planners.raced_policies import CountingPolicy, Policy, SearchedPolicy, SolvedPolicy

log = logging.getLogger("pomdplite")

AUTO = "auto"
SHARE = 0.05  # of the range of rewards: a candidate, and β where there is no race
_VERSION = 2  # of the race: what is kept on disk from another one does not count
_HIGHEST, _RATIO, _VALUES = 4.0, 10**0.5, 7  # the grid, from the highest down, in units of what information is worth
# The candidates of a short race, as multiples of that share.
_SHORT_MULTIPLES = (0.0, 0.1, 10**-0.5, 1.0, 10**0.5)
_FIRST_SHARE = 0.7  # of the work, for the grid; the rest is for the neighbours of its winner
_KNOWN_VALUES = 2_000_000  # most (x, θ, a) for which the value of a known θ is computed
_NOTHING = 1e-6  # of the value: what information is worth, up to rounding
_LARGEST = WORK // 500  # state-actions of a graph on which candidates can be compared


class ChosenBeta(NamedTuple):
    """The weight of exploration, and where it comes from."""

    value: float
    origin: str

    def __str__(self) -> str:
        return f"{self.value:g}: {self.origin}"


def share_of_rewards(view: KernelView, deadline: Deadline) -> ChosenBeta:
    """5 % of the range of rewards, or of the reward if all are equal."""
    low, high = reward_range(view, deadline=deadline)
    if low == high:
        return ChosenBeta(SHARE * abs(low), f"{100 * SHARE:g}% of the reward, always {low:g}")
    return ChosenBeta(SHARE * (high - low), f"{100 * SHARE:g}% of the range of rewards, {low:g} to {high:g}")


class _Choice(NamedTuple):
    """What is kept on disk."""

    beta: float
    origin: str
    raced: bool  # whether it is the result of a race
    hurried: bool = False  # whether the time to prepare ended the race; it depends on the machine then, and is not kept

    def told(self, how: str) -> ChosenBeta:
        """The choice, with words on how it came about."""
        nothing = "; exploring earns no more" if self.beta == 0 else ""
        hurry = ", all that solve_time allows" if self.hurried else ""
        return ChosenBeta(self.beta, f"{self.origin}{how}{hurry}{nothing}" if self.raced else self.origin)


def automatic_beta(belief: Belief, solver: MdpSolver, deadline: Deadline, now: Callable[[], float]) -> ChosenBeta:
    """The β that earns most with this solver: remembered, or found by a race, which uses the belief."""
    path, started = _path(belief, solver), now()
    known = None if path is None else _read(path)
    if known is not None:
        return known.told(", remembered")
    share = share_of_rewards(belief.view, deadline)
    try:
        found = _choose(belief, solver, share, deadline)
    except OutOfTimeError:  # depends on the machine, so it is not remembered
        return ChosenBeta(
            share.value, f"{share.origin} (a choice takes longer than the {deadline.seconds:g} s of solve_time)"
        )
    if path is not None and not found.hurried:
        _write(path, found)
    return found.told(f" in {now() - started:.1f} s")


def _choose(belief: Belief, solver: MdpSolver, share: ChosenBeta, deadline: Deadline) -> _Choice:
    view, policy = belief.view, _policies(solver, deadline)
    if policy is None:
        what = "episodes on a grid take too long" if isinstance(solver, GridSolver) else "its graph is too large"
        return _Choice(share.value, f"{share.origin} ({what} for a choice)", raced=False)
    if isinstance(solver, WideningSolver):
        return _short_race(Episodes(belief, REAL_WORK_AT_MOST, deadline), policy, share)
    episodes = Episodes(belief, round(_FIRST_SHARE * WORK), deadline)
    zero, default = (Candidate(beta, policy(beta)) for beta in (0.0, _rounded(share.value)))
    try:
        for episode in range(FEWEST):
            episodes.play(zero, episode)
        worth = _worth_of_information(view, zero, deadline)
        scale = share.value / SHARE if worth is None else worth
        if scale <= _NOTHING * max(1.0, abs(zero.mean)):
            return _Choice(0.0, "knowing the hidden value would earn no more", raced=False)
        grid = [_rounded(_HIGHEST * scale / _RATIO**i) for i in range(_VALUES)]
        others = sorted({*grid, default.beta} - {0.0})
        ranked = race(episodes, [zero, *(default if b == default.beta else Candidate(b, policy(b)) for b in others)])
    except OutOfWorkError:
        return _too_long(share)
    best, count = winners(ranked), 1 + len(others)
    near = [] if episodes.hurried else _between_and_around(best[0].beta, best[-1].beta)
    episodes.left += round((1 - _FIRST_SHARE) * WORK)
    try:
        again = [Candidate(c.beta, c.policy, decisions=c.decisions) for c in best]
        if near:
            best = winners(race(episodes, [*again, *(Candidate(beta, policy(beta)) for beta in near)]))
            count += len(near)
    except OutOfTimeError:
        episodes.hurried = True
    except OutOfWorkError:
        log.debug("%s: no work left for β near %g", view.model.name, best[0].beta)
    chosen = 0.0 if best[0].beta == 0 else best[len(best) // 2].beta
    return _Choice(chosen, f"chosen from {count}", raced=True, hurried=episodes.hurried)


def _short_race(episodes: Episodes, policy: Callable[[float], Policy], share: ChosenBeta) -> _Choice:
    """The share of rewards, unless another value is clearly better in a race with few episodes.

    Then the least of these that is about as good as the best: with more simulations than the race has, a search finds
    more to explore.
    """
    betas = [_rounded(multiple * share.value) for multiple in _SHORT_MULTIPLES]
    running = [Candidate(beta, policy(beta)) for beta in betas]
    default = running[_SHORT_MULTIPLES.index(1.0)]
    try:
        episodes.try_out(running)
        ranked = race(episodes, running, (FEWEST,))
        episodes.left -= REAL_WORK_AT_MOST - REAL_WORK
        if episodes.left > 0:
            ranked = race(episodes, ranked)
    except OutOfWorkError:
        return _too_long(share)
    leader, clear = ranked[0], [candidate for candidate in ranked if better(candidate, default)]
    if not clear:
        return _Choice(share.value, f"{share.origin}; none of {len(running)} earns clearly more", raced=False)
    least = min(candidate.beta for candidate in clear if not better(leader, candidate, errors=1.0))
    return _Choice(least, f"chosen from {len(running)}", raced=True, hurried=episodes.hurried)


def _too_long(share: ChosenBeta) -> _Choice:
    return _Choice(share.value, f"{share.origin} (episodes of this model take too long for a choice)", raced=False)


def _between_and_around(lowest: float, highest: float) -> list[float]:
    """In the middle of the values that tie, and half a step of the grid beyond them."""
    half = _RATIO**0.5
    found = [highest * half, lowest / half, np.sqrt(lowest * highest)]
    return sorted({_rounded(beta) for beta in found} - {0.0, lowest, highest})


def _policies(solver: MdpSolver, deadline: Deadline) -> Callable[[float], Policy] | None:
    """Makes the policy for a β; None if the graph is too large for a race, or a decision takes too long."""
    if isinstance(solver, CountsSolver):
        return lambda beta: CountingPolicy(solver, beta)
    if isinstance(solver, UctSolver | WideningSolver | PopulationSolver):
        return lambda beta: SearchedPolicy(solver, beta)
    if isinstance(solver, ExactSolver) and solver.reachable.state_actions <= _LARGEST:
        return lambda beta: SolvedPolicy(solver, beta, deadline)
    return None


def _worth_of_information(view: KernelView, zero: Candidate, deadline: Deadline) -> float | None:
    """How much more than β = 0 an agent earns that knows θ, at most; None if that takes long to compute."""
    solved = known_values(view.model, _KNOWN_VALUES, deadline) if view.listed and not view.counted else None
    if solved is None:
        return None
    momdp, values = solved
    known = float(momdp.prior @ values[momdp.reachable.find(momdp.view.root())])
    error = 2 * float(np.std(zero.returns, ddof=1)) / np.sqrt(len(zero.returns))
    return max(0.0, known - zero.mean + error) if np.isfinite(known) else None


def _rounded(beta: float) -> float:
    """Three significant digits."""
    return float(f"{beta:.3g}")


def _path(belief: Belief, solver: MdpSolver) -> Path | None:
    """The file of the choice; None if it cannot be kept."""
    model, folder = belief.view.model, cache_folder()
    digest = model_digest(model)
    if digest is None or folder is None:
        return None
    uses: list[Any] = [type(solver).__name__, len(belief.probabilities)]
    if isinstance(solver, ExactSolver | PopulationSolver | CountsSolver):
        uses.append(solver.tolerance)
    search = solver.otherwise if isinstance(solver, PopulationSolver) else solver
    if isinstance(search, UctSolver):
        uses += [search.tree, search.parameters.c, search.parameters.search_depth]
    if isinstance(search, WideningSolver):
        uses += search.parameters._replace(beta=0.0)
    depends = repr((_VERSION, digest, planning_discount(model), model.episode_horizon, uses))
    return folder / f"beta_{hashlib.sha256(depends.encode()).hexdigest()[:32]}.json"


def _read(path: Path) -> _Choice | None:
    """What a file holds; None if there is none, and if it is damaged, in which case it is deleted."""
    try:
        held = json.loads(path.read_text())
        return _Choice(float(held["beta"]), str(held["origin"]), bool(held["raced"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.debug("%s: %s", path, error)
        path.unlink(missing_ok=True)
        return None


def _write(path: Path, found: _Choice) -> None:
    try:
        write_once(path, json.dumps(found._asdict()))
    except OSError as error:  # a full disk: the next process chooses again
        log.debug("%s: %s", path, error)
