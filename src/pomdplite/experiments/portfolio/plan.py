"""`plan`: a planner for those who just want one, chosen by a race within the seconds given (contest.py).

Preparing comes first, in the order of CONTENDERS: none may take more than a fifth of the seconds, and all of them no
more than three fifths, a little of which is kept for each one that is still to come. If one has bounds which prove that
no planner earns noticeably more, there is nothing to race for. If none gets ready within its share, those that ran out
of time get all the time that is left, one after the other, until one is ready. The choice is kept on disk, under the
model's digest, as a planner file with the facts as its note.
"""

import hashlib
import logging
import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pomdplite import rng
from pomdplite.checking.model import check_before_planning
from pomdplite.checking.remembered import model_digest
from pomdplite.compile.cache import cache_folder, write_once
from pomdplite.errors import UnsuitableError, UsageError, shown
from pomdplite.experiments.episodes.episode import rehearse
from pomdplite.experiments.episodes.players import CANNOT_PLAN, interrupts_restored
from pomdplite.experiments.portfolio.contest import FASTEST, Contender, Contest, Report
from pomdplite.experiments.portfolio.scored_world import ScoredWorld
from pomdplite.experiments.portfolio.standings import Plan, PlanFacts, Standing, tightened
from pomdplite.mdp.budget import CLOCKS, Budget, Deadline, OutOfTimeError
from pomdplite.mdp.yardsticks import CHEAP, Yardsticks, yardsticks
from pomdplite.model.model import Model
from pomdplite.planners import PLANNERS, Planner, accepted, load_planner, make_planner
from pomdplite.planners.files import read_planner
from pomdplite.planners.qmdp import Qmdp
from pomdplite.problems import make_model
from pomdplite.worlds import ModelWorld, World

log = logging.getLogger("pomdplite")

CONTENDERS = ("pomdp-lite-plus", "sarsop", "pomdp-lite", "qmdp", "despot", "pomcp")  # the first wins a tie
_SOLVING = ("pomdp-lite-plus", "sarsop", "qmdp")  # which solve before the first step; others are ready earlier
REAL_CONTENDERS = ("pft-dpw", "pomcpow")  # after them, on models with noise or readings
SECONDS = 30.0
_LONGEST = 1e6  # seconds
_VERSION = 2  # of the race: what is kept on disk from another one does not count
_PREPARING, _PREPARING_ALL = 0.2, 0.6  # of the seconds, for one planner and for all
_KEPT = 0.02  # of the seconds, for each planner that is still to be prepared
_ALONE = 0.2  # of the seconds, for the episodes of a planner that has nobody to race with
_BOUNDING = 0.1  # of the seconds, for the yardsticks
_PROVEN = 0.01  # gap between a planner's own bounds below which there is nothing to race for


@dataclass(frozen=True)
class _Task:
    """What is asked for."""

    model: Model
    seconds: float
    time: float | None
    sims: int | None
    seed: int
    clock: str

    @property
    def step(self) -> str:
        return str(Budget.of(self.time, self.sims))


def plan(
    model: Model | str,
    seconds: float = SECONDS,
    *,
    time: float | None = None,
    sims: int | None = None,
    seed: int = 0,
    clock: str = "wall",
    report: Report | None = None,
) -> Plan:
    """Choose a planner for a model by racing those that can handle it, and return it ready to act.

    model    a model object, or a problem's name
    seconds  that choosing may take, preparing included; compiling does not count
    time     seconds per step that the planner will have (0.1 by default); sims, simulations per step instead
    seed     of the simulated episodes, which are none of those that `evaluate` plays
    clock    "wall" or "cpu", also of the planner that is returned

    The choice is remembered. Ctrl-C ends the race, and the best planner so far is returned.
    """
    if not 0 < seconds <= _LONGEST:
        raise UsageError(f"seconds must be a positive number of at most {_LONGEST:,.0f}, not {shown(seconds)}.")
    if clock not in CLOCKS:
        raise UsageError(f"no clock {clock!r}; there are {', '.join(CLOCKS)}.")
    Budget.of(time, sims)  # refuses what is no budget
    model = make_model(model) if isinstance(model, str) else model
    if not isinstance(model, Model):
        raise UsageError(f"plan needs a model object or a problem's name, not {shown(model)}.")
    task = _Task(model, float(seconds), time, sims, rng.checked_seed(seed), clock)
    path = _path(task)
    known = None if path is None else _read(path, model)
    if known is not None:
        return known
    found = _choose(task, report or log.debug)
    if path is not None and not found.facts.interrupted:
        _write(path, found)
    return found


def _choose(task: _Task, report: Report) -> Plan:
    whole, interrupted = Deadline(task.seconds, task.clock), False
    field = _Field(task, whole, report)
    race: Contest | None = None
    try:
        field.prepare()
        seed = int(rng.stream(task.seed, rng.RACE)[0])
        alone = field.proven is not None or len(field.contenders) == 1
        seconds = min(whole.left, _ALONE * task.seconds) if alone else whole.left
        race = Contest(field.contenders, field.world(), seed, Deadline(max(0.0, seconds), task.clock), report)
        race.run()
    except KeyboardInterrupt:
        if race is None or race.leader is None:
            raise
        interrupted = True
    best = race.leader or next((c for c in field.contenders if not c.failed), None)
    if best is None:
        failed = [*field.left_out, *(Standing.of(c, c) for c in field.contenders)]
        reasons = "; ".join(f"{s.title}: {(s.reason or '').removesuffix('.')}" for s in failed)
        raise UnsuitableError(f"{task.model.name}: no planner can handle it ({reasons}).")
    best, proven = _promising(field.contenders, best, field.proven)
    others = [Standing.of(c, best) for c in field.contenders if c is not best]
    others.sort(key=lambda s: (s.reason is not None, -s.mean if s.episodes else 0.0))
    standings = (Standing.of(best, best), *others, *field.left_out)
    facts = PlanFacts(standings, task.step, whole.elapsed, field.yardsticks, proven, interrupted=interrupted)
    return Plan(best.planner, facts)


def _promising(
    contenders: Sequence[Contender], best: Contender, proven: float | None
) -> tuple[Contender, float | None]:
    """The best one, and what it is proven to earn.

    One that had no time to play enough episodes is better if it is proven to earn more than the others have earned.
    """
    for contender in contenders:
        bounds = None if contender.reason is None or contender.failed else contender.planner.value_bounds
        earned = best.mean if best.reason is None and best.returns else -math.inf
        if bounds is not None and bounds[0] > max(earned, -math.inf if proven is None else proven):
            best, proven = contender, bounds[0]
    return best, proven


class _Field:
    """The planners as they are prepared."""

    def __init__(self, task: _Task, whole: Deadline, report: Report) -> None:
        self.task, self._whole, self._report = task, whole, report
        self.contenders: list[Contender] = []
        self.left_out: list[Standing] = []
        self.yardsticks: Yardsticks | None = None
        self.proven: float | None = None  # what one of them earns at least, if no planner earns noticeably more

    def prepare(self) -> None:
        """Prepare one planner after the other, until one is proven to be good enough."""
        task, clock = self.task, self.task.clock
        check_before_planning(task.model)
        self.yardsticks = yardsticks(task.model, work=10 * CHEAP, deadline=Deadline(_BOUNDING * task.seconds, clock))
        titles, late = _titles(task.model), list[str]()
        for later, title in zip(reversed(range(len(titles))), titles, strict=True):
            if self.proven is not None:
                self._leave_out(title, f"not raced, since {self.contenders[0].title} is proven to be as good")
                continue
            most = (_PREPARING_ALL - later * _KEPT) * task.seconds - self._whole.elapsed
            allowed = min(_PREPARING * task.seconds, most)
            if self._try(title, allowed):
                late.append(title)
        for title in sorted(late, key=lambda title: title in _SOLVING):
            if not self.contenders and self._whole.left > 0:
                self.left_out = [standing for standing in self.left_out if standing.title != title]
                self._try(title, self._whole.left)

    def _try(self, title: str, allowed: float) -> bool:
        """Prepare a planner within so many seconds, or leave it out with the reason; whether they were too few."""
        if allowed <= 0:
            self._leave_out(title, "no time was left to prepare it")
            return True
        self._report(f"preparing {title}")
        try:
            planner = self._prepared(title, allowed)
        except OutOfTimeError:
            self._leave_out(title, f"preparing it takes longer than the {allowed:.2g} s it may")
            return True
        except CANNOT_PLAN as error:
            self._leave_out(title, str(error))
        else:
            if planner.stand_in is None:
                self._add(Contender(planner))
            else:
                self._leave_out(title, f"it decides as {planner.stand_in} here")
        return False

    def world(self) -> World:
        """Where the contenders race: one that pays for decisions instead of luck, if QMDP can keep the score."""
        for contender in self.contenders:
            if isinstance(contender.planner, Qmdp):
                return ScoredWorld(contender.planner)
        return ModelWorld(self.task.model)

    def _prepared(self, title: str, allowed: float) -> Planner:
        task = self.task
        given = accepted(title, time=task.time, sims=task.sims, solve_time=allowed)
        planner = make_planner(title, task.model, **given)
        planner.use_clock(task.clock)
        with interrupts_restored():
            planner.prepare()
            with Contender(planner, pace=FASTEST).at_its_pace():
                rehearse(planner)
        return planner

    def _add(self, contender: Contender) -> None:
        self.contenders.append(contender)
        bounds, self.yardsticks = contender.planner.value_bounds, tightened(self.yardsticks, contender.planner)
        if bounds is None or self.yardsticks is None or not math.isfinite(bounds[0]):
            return
        gap = self.yardsticks.gap(bounds[0])
        if gap is not None and gap <= _PROVEN:
            self.proven = bounds[0]
            self.contenders, raced = [contender], [c for c in self.contenders if c is not contender]
            for other in raced:
                self._leave_out(other.title, f"not raced, since {contender.title} is proven to be as good")

    def _leave_out(self, title: str, reason: str) -> None:
        self.left_out.append(Standing(title, reason=reason))


def _titles(model: Model) -> list[str]:
    """The planners that are raced, if they can handle the model."""
    real = REAL_CONTENDERS if model.compiled_form.kernel_view().real else ()
    return [title for title in (*CONTENDERS, *real) if title in PLANNERS]


def _path(task: _Task) -> Path | None:
    """The file of the choice; None if it cannot be kept."""
    digest, folder = model_digest(task.model), cache_folder()
    if digest is None or folder is None:
        return None
    model, able = task.model, _titles(task.model)
    budget = Budget.of(task.time, task.sims)
    settings = [model.beta, model.exploration, model.search_depth, model.return_range, model.episode_horizon]
    depends = repr((_VERSION, digest, float(model.discount), settings, able, task.seconds, budget, task.seed,
                    task.clock))  # fmt: skip
    return folder / f"plan_{hashlib.sha256(depends.encode()).hexdigest()[:32]}.npz"


def _read(path: Path, model: Model) -> Plan | None:
    """The plan in a file; None if there is none, and if it cannot be used, in which case it is deleted."""
    if not path.exists():
        return None
    try:
        facts = PlanFacts.from_json(read_planner(path, model).note)
        return Plan(load_planner(path, model), facts)
    except (*CANNOT_PLAN, OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        log.debug("%s: %s", path, error)
        path.unlink(missing_ok=True)
        return None


def _write(path: Path, found: Plan) -> None:
    try:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path.name
            found.planner.save(file, note=found.facts.to_json())
            write_once(path, file.read_bytes())
    except OSError as error:  # a full disk: the next process chooses again
        log.debug("%s: %s", path, error)
