"""check_model: call a model's functions at reachable (x, θ, a), and say what is wrong and where.

The walk through the states is compiled (walk.py); where it meets a fault, the functions run once more as Python to
explain it (step.py). At places drawn evenly from the walk, compiled and interpreted functions are compared, and
densities with draws (densities.py); the moves of a Population are tried on simulated histories (moves.py). A function
must be defined for every θ at every reachable x, even where the history rules that θ out: planners evaluate them all.
"""

from typing import Any, NamedTuple

from pomdplite.checking import remembered
from pomdplite.checking.agreement import check_agreement
from pomdplite.checking.densities import check_densities
from pomdplite.checking.grid import check_grid
from pomdplite.checking.hints import check_hints
from pomdplite.checking.moves import check_moves
from pomdplite.checking.probe import Probe
from pomdplite.checking.report import CheckReport
from pomdplite.checking.revealing import check_revealing
from pomdplite.checking.significance import ERROR_RATE
from pomdplite.checking.step import explain_fault
from pomdplite.checking.walk import (
    CALLS,
    EXPANDED,
    FAULT_FOUND,
    FINISHED,
    FOUND,
    LEFT_OUT,
    Draws,
    Walk,
    advance,
    allocate_walk,
)
from pomdplite.errors import ModelError
from pomdplite.model.compiled import KernelView
from pomdplite.model.faults import Fault, clear_fault, take_fault
from pomdplite.model.model import Model
from pomdplite.model.records import from_words, to_words
from pomdplite.rng import stream

_BATCH = 50_000  # (x, θ, a) per kernel call, so that Ctrl-C is noticed
_MOST_FAULTS = 500  # after which the walk ends


class Extent(NamedTuple):
    """How much a check looks at."""

    states: int
    calls: int  # (x, θ, a)
    samples: int  # (x, θ, a) at which compiled and interpreted functions are compared
    walks: int  # along which hints are asked for
    places: int  # (x, θ, a) at which densities are compared with draws
    draws: int  # in each of them
    episodes: int  # after which the `move` of a Population is tried


# For models that run as machine code, and for those that run as Python.
THOROUGH = (
    Extent(states=200_000, calls=2_000_000, samples=500, walks=8, places=6, draws=16_000, episodes=4000),
    Extent(states=1000, calls=20_000, samples=0, walks=8, places=2, draws=4000, episodes=200),
)
QUICK = (  # before planning
    Extent(states=2000, calls=10_000, samples=20, walks=2, places=2, draws=4000, episodes=0),
    Extent(states=50, calls=300, samples=0, walks=2, places=0, draws=0, episodes=0),
)


def check_model(model: Model, *, states: int | None = None, calls: int | None = None, seed: int = 0) -> CheckReport:
    """Check up to that many reachable states and (x, θ, a); by default, as many as a second or two allow.

    Densities that the model defines are compared with what it draws, and the moves of a Population with the posterior,
    by tests that report a right model once in a million checks at most. The seed decides the draws.
    """
    report = _check(model, _asked(states, calls), seed)
    if report.ok:
        check_revealing(Probe(model, report, seed))
    return report


def _asked(states: int | None, calls: int | None) -> tuple[Extent, Extent]:
    fast, slow = (e._replace(states=states or e.states, calls=calls or e.calls) for e in THOROUGH)
    return fast, slow


def check_before_planning(model: Model) -> None:
    """Raise a ModelError if a quick check finds a mistake. A model that has passed is not checked again."""
    if not remembered.has_passed(model):
        _check(model, QUICK, 0).raise_if_wrong()
        remembered.remember(model)


def _check(model: Model, extents: tuple[Extent, Extent], seed: int) -> CheckReport:
    report = CheckReport(model.name)
    try:
        probe = Probe(model, report, seed)
        start, extent = model.initial_state(), extents[0 if model.compiled_form.compiled else 1]
        view = model.compiled_form.kernel_view()
    except ModelError as error:
        report.add("definition", str(error))
        return report
    walk = _walk(probe, view, start, extent, seed)
    never = [str(name) for o, name in enumerate(model.observations) if not walk.observed[o]]
    if never and not report.findings and report.complete:
        names = ", ".join(map(repr, never))  # harmless, but hardly intended
        report.add("unused", f"observation {names} has zero likelihood under every theta, everywhere.", fatal=False)
    endless = model.discount == 1 and model.horizon is None
    if endless and "terminal" not in model.compiled_form.definition.functions:
        cut = f"they are cut after {model.episode_horizon:,} steps."
        text = "episodes never end, since discount is 1, and the model has neither a horizon nor terminal states: "
        report.add("endless", text + cut, fatal=False)
    check_grid(probe, walk.states[: walk.counts[FOUND]])
    if report.ok:
        check_hints(probe, extent.walks)
    samples = _samples(probe, walk)
    if report.ok:
        check_agreement(probe, view, samples[: extent.samples])
    if report.ok:
        try:
            check_densities(probe, view, _spread_out(samples, extent.places), extent.draws, ERROR_RATE / 2, seed)
            check_moves(probe, view, extent.episodes, ERROR_RATE / 2, seed)
        except ModelError as error:  # a function did something wrong that the walk has not met
            report.add("drawn", str(error))
    return report


def _walk(probe: Probe, view: KernelView, start: Any, extent: Extent, seed: int) -> Walk:
    """Walk through the states; every fault becomes a finding."""
    model, report, form = view.kernel_model, probe.report, probe.model.compiled_form
    words = to_words(probe.model.state.dtype, start)
    walk = allocate_walk(model, words, extent.states, max(extent.samples, extent.places), stream(seed, 1),
                         listed=view.listed, whole=view.counted)  # fmt: skip
    draws = Draws.of(model)
    clear_fault(form)
    status, faults = FAULT_FOUND, 0
    while status != FINISHED and faults < _MOST_FAULTS and walk.counts[CALLS] < extent.calls:
        pause = min(extent.calls, int(walk.counts[CALLS]) + _BATCH)
        status = advance(model, walk, draws, pause)
        if status == FAULT_FOUND:
            faults += 1
            _explain(probe)
    report.states, report.calls = int(walk.counts[EXPANDED]), int(walk.counts[CALLS])
    drawn = model.noise.numbers > 0 or walk.counts[LEFT_OUT] > 0
    report.complete = status == FINISHED and not drawn and faults == 0  # nobody looked behind a fault
    return walk


def _explain(probe: Probe) -> None:
    """Make a finding of the fault on record."""
    form = probe.model.compiled_form
    raised = form.functions.failures[0] if form.functions.failures else None
    if isinstance(raised, KeyboardInterrupt):
        clear_fault(form)
        raise raised
    fault: Fault = take_fault(form)
    explain_fault(probe, fault, raised)


def _samples(probe: Probe, walk: Walk) -> list[tuple[Any, Any, int]]:
    """The (x, θ, a) that the walk kept."""
    state, hidden = probe.model.state.dtype, probe.hidden.dtype
    kept = min(int(walk.counts[CALLS]), len(walk.sample_a))
    return [
        (from_words(state, walk.sample_x[i]), from_words(hidden, walk.sample_theta[i]), int(walk.sample_a[i]))
        for i in range(kept)
    ]


def _spread_out(samples: list[tuple[Any, Any, int]], count: int) -> list[tuple[Any, Any, int]]:
    """So many of the samples, with as many different actions as there are."""
    by_action: dict[int, list[tuple[Any, Any, int]]] = {}
    for sample in samples:
        by_action.setdefault(sample[2], []).append(sample)
    each = -(-count // max(1, len(by_action)))
    chosen = [own[k * len(own) // each] for k in range(each) for own in by_action.values() if k < len(own)]
    return chosen[:count]
