"""One episode: Algorithm 1's loop between a planner and a world."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pomdplite import rng
from pomdplite.beliefs.protocol import StepNote
from pomdplite.compile.jit import Floats
from pomdplite.display import ShownInNotebooks
from pomdplite.errors import ImpossibleObservationError
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision
from pomdplite.worlds import ModelWorld, World


@dataclass(frozen=True)
class Episode(ShownInNotebooks):
    """The record of one episode."""

    index: int
    discounted: float  # the return Σ γ^t r_t
    undiscounted: float
    steps: int
    seconds: float  # planning time: deciding and updating the belief
    success: bool | None  # None if the problem does not define it
    cut: bool  # truncated by the step limit or by the world, before a terminal state
    notes: tuple[str, ...] = ()  # the planner's and the world's remarks, each once
    simulations: int = 0  # total over all decisions
    model_steps: int = 0  # simulated steps, total over all decisions


@dataclass(frozen=True)
class Step:
    """One step of an episode, for display."""

    t: int
    x: Any
    marginals: list[Floats]  # belief about the current hidden values, before the step
    decision: Decision
    reward: float
    observation: str
    y: Any
    marginals_after: list[Floats]
    terminated: bool
    truncated: bool
    theta: Any = None  # the hidden value before the step, a record; None if the world has none in the model's terms
    theta_after: Any = None


def rehearse(planner: Planner) -> None:
    """Prepare the planner and take one step in the model, so that nothing is left to compile when episodes count."""
    planner.prepare()
    world = ModelWorld(planner.model)
    world.reset(0)
    planner.reset()
    action = planner.decide().action
    result = world.step(action)
    planner.update(action, result.y, result.o)


def run_episode(
    planner: Planner,
    world: World,
    seed: int,
    index: int,
    on_step: Callable[[Step], None] | None = None,
    on_start: Callable[[], None] | None = None,
) -> Episode:
    """Play episode `index` of this seed, truncated after `model.episode_horizon` steps.

    If the world is not the model, something may happen that is impossible in the model: the belief is then mixed with
    the prior and the episode continues, with a note.
    """
    model = planner.model
    world.reset(seed, index)
    planner.reset(seed=int(rng.stream(seed, index, rng.PLANNER)[0]), x=None if world.is_model else world.x)
    if on_start:
        on_start()
    discounted = undiscounted = seconds = 0.0
    discount, t = 1.0, 0
    simulations = model_steps = 0
    notes: dict[str, None] = {}
    limit = model.episode_horizon
    terminated = truncated = False
    while not (terminated or truncated):
        started = planner.now()
        decision = planner.decide()
        seconds += planner.now() - started
        if decision.notes:
            notes.update(dict.fromkeys(note for note in decision.notes if not isinstance(note, StepNote)))
        simulations += decision.solution.simulations
        model_steps += decision.solution.steps
        x, before, theta = (planner.state, planner.belief.marginals(), world.theta) if on_step else (None, [], None)
        y, o, reward, terminated, truncated = world.step(decision.action)
        started = planner.now()
        try:
            planner.update(decision.action, y, o)
        except ImpossibleObservationError:
            if world.is_model:
                raise
            planner.recover(y)
            notes[f"step {t + 1} was impossible in the model; the belief was mixed with the prior"] = None
        seconds += planner.now() - started
        discounted += discount * reward
        undiscounted += reward
        discount *= model.discount
        t += 1
        truncated = not terminated and (truncated or t >= limit)
        if on_step:
            on_step(Step(t - 1, x, before, decision, reward, model.observation_name(o), planner.state,
                         planner.belief.marginals(), terminated, truncated, theta, world.theta))  # fmt: skip
    notes.update(dict.fromkeys(world.notes))
    return Episode(
        index, discounted, undiscounted, t, seconds, world.success, truncated, tuple(notes), simulations, model_steps
    )  # fmt: skip
