"""A tuning: which parameters of a planner are searched, and what was found.

The episodes are held out: they belong to a seed that no evaluation can have (`held_out_seed`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pomdplite import rng
from pomdplite.checking.remembered import model_digest
from pomdplite.errors import PomdpLiteError, UsageError, shown
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.statistics import FLIPS, LEVEL, Difference, paired_differences, sign_flip_p
from pomdplite.experiments.studies.definition import inline_table
from pomdplite.experiments.studies.results import CellResult
from pomdplite.experiments.studies.rows import is_parameters, is_texts
from pomdplite.experiments.studies.tables import BUDGETS, Entry, compared
from pomdplite.experiments.tuning.file import ReferenceRecord, TrialRecord, TuningFile
from pomdplite.experiments.tuning.space import Choice, Parameter, Range, parse_parameter, typed_parameter
from pomdplite.mdp.budget import CLOCKS
from pomdplite.model.model import Model
from pomdplite.planners.beta import AUTO
from pomdplite.worlds import Scenario

_FIRST_RUNG = 25  # episodes before a trial can be abandoned


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


# What a file says about its tuning, with a check of each value.
_STORED: dict[str, Callable[[Any], bool]] = {
    "problem": _is_text, "planner": _is_text, "parameters": is_texts, "options": is_parameters,
    "episodes": _is_whole, "seed": _is_whole, "clock": _is_text,
}  # fmt: skip


def held_out_seed(seed: int) -> int:
    """The seed of a tuning's episodes: derived from the user's seed, with the highest of its 64 bits set.

    The seed of an evaluation is a number from 0 to 2⁶³ − 1, so it is never this one.
    """
    return int(rng.stream(seed, rng.TUNING)[0]) | 1 << 63


@dataclass(frozen=True)
class Tuning:
    """What is tuned, and how."""

    scenario: Scenario
    planner: str
    parameters: tuple[Parameter, ...]
    options: dict[str, Any]  # the planner's fixed parameters, including the budget per step
    episodes: int  # of a trial that is not abandoned
    seed: int  # the user's; the episodes are those of held_out_seed(seed)
    clock: str  # how time is measured: wall or cpu

    def __post_init__(self) -> None:
        if self.episodes < 2:
            raise UsageError(f"episodes must be at least 2, not {self.episodes}.")
        object.__setattr__(self, "seed", rng.checked_seed(self.seed))
        if self.seed < 0 or self.seed >= 2**63:
            raise UsageError(f"seed must be an integer from 0 to 2^63 − 1, not {self.seed}.")
        if self.clock not in CLOCKS:
            raise UsageError(f"clock must be {' or '.join(CLOCKS)}, not {self.clock!r}.")
        if not self.parameters:
            raise UsageError("name what to tune, for example --param beta=0.1:100:log.")
        typed = tuple(typed_parameter(p, self.planner) for p in self.parameters)
        object.__setattr__(self, "parameters", typed)

    @cached_property
    def model(self) -> Model:
        """The model to plan with, loaded once for all trials."""
        return self.scenario.planning_model()

    @property
    def problem(self) -> str:
        """The problem, and the world if it is not the model."""
        return self.scenario.label

    def configuration(self) -> dict[str, Any]:
        """Everything that identifies a tuning, as its file stores it."""
        return {
            "problem": self.problem, "planner": self.planner, "parameters": [p.text for p in self.parameters],
            "options": self.options, "episodes": self.episodes, "seed": self.seed, "clock": self.clock,
            "source": self.scenario.source if self.scenario.model is None else model_digest(self.scenario.model),
        }  # fmt: skip

    @classmethod
    def from_configuration(cls, configuration: Mapping[str, Any]) -> Self:
        """The tuning that a file was started with."""
        for name, fits in _STORED.items():
            if name not in configuration or not fits(configuration[name]):
                raise UsageError(f"the file's tuning is damaged: {name} is {shown(configuration.get(name))}.")
        stored = {name: configuration[name] for name in _STORED if name != "problem"}
        parameters = tuple(parse_parameter(text) for text in stored["parameters"])
        return cls(Scenario.parse(configuration["problem"]), **stored | {"parameters": parameters})

    def cell(self, values: Mapping[str, Any]) -> Cell:
        """A trial with these values, as the cell of a study."""
        return Cell(self.scenario, self.planner, {**self.options, **values}, self.episodes)

    @property
    def reference(self) -> Cell | None:
        """β = auto, with other tuned parameters at their defaults; None if β is not tuned, or auto is a choice."""
        for p in self.parameters:
            if p.name == "beta" and not (isinstance(p, Choice) and AUTO in p.values):
                return self.cell({"beta": AUTO})
        return None

    @property
    def rungs(self) -> list[int]:
        """Numbers of episodes after which a trial is compared to the best; the last is all of them."""
        rungs = [_FIRST_RUNG * 2**k for k in range(self.episodes.bit_length())]
        return [n for n in rungs if n < self.episodes] + [self.episodes]


@dataclass(frozen=True)
class Trial:
    """Values that were tried, and their results."""

    number: int
    values: dict[str, Any]
    entry: Entry  # its episodes, and for a finished trial how it compares to the best
    pruned: bool  # abandoned: worse than another

    @property
    def evaluation(self) -> Evaluation | None:
        """Returns and their statistics; None without episodes."""
        return self.entry.evaluation

    @property
    def finished(self) -> bool:
        """Whether all its episodes were played."""
        return self.entry.finished and self.entry.evaluation is not None

    @property
    def alike(self) -> bool:
        """Whether it is the best, or not distinguishable from it."""
        return self.entry.best or self.entry.equal


@dataclass(frozen=True)
class Verdict:
    """The best trial against β = auto, on the same episodes."""

    automatic: Evaluation
    difference: Difference  # the best trial's return less that of auto
    better: bool  # whether the best trial is significantly better


@dataclass(frozen=True)
class TuningResult:
    """The results of a tuning so far."""

    tuning: Tuning
    trials: tuple[Trial, ...]  # in the order in which they were tried; repeated values once
    reference: CellResult | None = None  # β = auto on the same episodes, if β is tuned

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The results in a tuning's file, finished or not."""
        with TuningFile(Path(path)) as file:
            return cls.from_file(file)

    @classmethod
    def from_file(cls, file: TuningFile) -> Self:
        """The trials in an open file, with the finished ones compared to the best of them."""
        tuning = Tuning.from_configuration(file.configuration)
        distinct: list[TrialRecord] = []
        for record in sorted(file.records(tuning.parameters), key=lambda r: -len(r.episodes)):
            if not any(record.values == other.values for other in distinct):
                distinct.append(record)
        distinct.sort(key=lambda r: r.number)
        entries = {r.number: _entry(tuning, r) for r in distinct}
        finished = [r.number for r in distinct if r.state == "COMPLETE"]
        for number, entry in zip(finished, compared([entries[n] for n in finished]), strict=True):
            assert entry is not None
            entries[number] = entry
        trials = tuple(Trial(r.number, r.values, entries[r.number], r.state == "PRUNED") for r in distinct)
        return cls(tuning, trials, _reference(tuning, file.reference()))

    @property
    def best(self) -> Trial:
        """The finished trial with the highest mean; of several with equal returns, the middle one."""
        best = [t for t in self.trials if t.entry.best]
        if not best:
            reasons = [t.entry.result.reason for t in self.trials if t.entry.result.reason]
            raise PomdpLiteError(f"no trial has finished{f': {reasons[0]}' if reasons else '.'}")
        if len(self.tuning.parameters) == 1 and isinstance(self.tuning.parameters[0], Range):
            best.sort(key=lambda t: t.values[self.tuning.parameters[0].name])
            return best[len(best) // 2]
        return best[0]

    @property
    def alike(self) -> Sequence[Trial]:
        """The best trial and all that are not distinguishable from it."""
        return [t for t in self.trials if t.alike]

    @property
    def verdict(self) -> Verdict | None:
        """Whether the best trial is better than β = auto; None until auto has played all episodes, or if it cannot.

        The best trial was selected on these episodes, so each finished trial counts as a comparison (Bonferroni).
        """
        if self.reference is None or len(self.reference.episodes) < self.tuning.episodes or not self.alike:
            return None
        differences = paired_differences(self.best.entry.result.episodes, self.reference.episodes)
        comparisons = sum(t.finished for t in self.trials)
        p = comparisons * sign_flip_p(differences, max(FLIPS, 100 * comparisons))
        automatic = self.reference.evaluation(held_out_seed(self.tuning.seed))
        return Verdict(automatic, Difference.of(differences), bool(differences.mean() > 0 and p < LEVEL))

    @property
    def line(self) -> str:
        """The best values as a line for a study's [[cells]], without the budget, which the study sets itself."""
        options = {name: value for name, value in self.tuning.options.items() if name not in BUDGETS}
        return f"{self.tuning.planner} = {inline_table({**self.best.values, **options})}"


def _reference(tuning: Tuning, record: ReferenceRecord) -> CellResult | None:
    cell = tuning.reference
    return None if cell is None else CellResult(cell, record.episodes, record.reason, chosen=record.chosen)


def _entry(tuning: Tuning, record: TrialRecord) -> Entry:
    result = CellResult(tuning.cell(record.values), record.episodes, record.reason)
    return Entry(result, result.evaluation(held_out_seed(tuning.seed)) if record.episodes else None)
