"""One episode: Algorithm 1's loop between a planner and a world."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pomdplite import rng
from pomdplite.compile.jit import Floats
from pomdplite.errors import ImpossibleObservationError
from pomdplite.planners.base import Decision, Planner
from pomdplite.worlds import ModelWorld, World


@dataclass(frozen=True)
class Episode:
    """What an episode came to."""

    index: int
    discounted: float  # the return Σ γ^t r_t
    undiscounted: float
    steps: int
    seconds: float  # spent planning: deciding and updating the belief
    success: bool | None  # None where the problem does not define it
    cut: bool  # ended by the step limit
    notes: tuple[str, ...] = ()  # what the planner had to say, each once
    simulations: int = 0  # of all decisions together
    model_steps: int = 0  # simulated, of all decisions together


@dataclass(frozen=True)
class Step:
    """One step of an episode as a person would look at it."""

    t: int
    x: Any
    marginals: list[Floats]  # belief about the present hidden values, before the step
    decision: Decision
    reward: float
    observation: str
    y: Any
    marginals_after: list[Floats]
    over: bool


def rehearse(planner: Planner) -> None:
    """Prepare the planner and take one step in the model, so that nothing is left to compile in steps that count."""
    planner.prepare()
    world = ModelWorld(planner.model)
    world.reset(0)
    planner.reset()
    action = planner.decide().action
    outcome = world.step(action)
    planner._advance(action, outcome.y, outcome.o)


def run_episode(
    planner: Planner, world: World, seed: int, index: int, look: Callable[[Step], None] | None = None
) -> Episode:
    """Play episode `index` of this seed.

    Where the world is not the model, what happens may be impossible in the model: the belief is then mixed with the
    prior and the episode goes on, with a note.
    """
    model = planner.model
    world.reset(seed, index)
    planner.reset(seed=int(rng.stream(seed, index, rng.PLANNER)[0]))
    total = plain = seconds = 0.0
    discount, over, t = 1.0, False, 0
    simulations = model_steps = 0
    notes: dict[str, None] = {}
    limit = model.episode_horizon
    while not over and t < limit:
        started = planner.now()
        decision = planner.decide()
        seconds += planner.now() - started
        if decision.notes:
            notes.update(dict.fromkeys(decision.notes))
        simulations += decision.solution.simulations
        model_steps += decision.solution.steps
        x, before = (planner.state, planner.belief.marginals()) if look else (None, [])
        outcome = world.step(decision.action)
        started = planner.now()
        try:
            planner._advance(decision.action, outcome.y, outcome.o)
        except ImpossibleObservationError:
            if world.is_model:
                raise
            planner._recover(outcome.y)
            notes[f"step {t + 1} was impossible in the model; the belief was mixed with the prior"] = None
        seconds += planner.now() - started
        total += discount * outcome.reward
        plain += outcome.reward
        discount *= model.discount
        over = outcome.over
        if look:
            look(Step(t, x, before, decision, outcome.reward, model.observation_name(outcome.o), planner.state,
                      planner.belief.marginals(), over))  # fmt: skip
        t += 1
    notes.update(dict.fromkeys(world.notes))
    success = world.success
    return Episode(index, total, plain, t, seconds, success, not over, tuple(notes), simulations, model_steps)
