"""The value of a new leaf (x, θ) of a search.

full-information  V_θ(x), what an agent that knows θ can expect: looked up where every x and θ can be listed
                  (mdp/full_information.py), else the model's `upper`. It is optimistic: the tree itself has to show
                  what it costs not to know θ
heuristic         the model's estimate for x, whatever θ is
rollouts          one simulated return of the model's preferred actions, of its policy, or of random actions

"auto" takes rollouts where the model says which actions they should prefer, as Silver and Veness do; else full
information where it is to be had, as Sunberg and Kochenderfer do; else rollouts of the model's policy, its heuristic,
or random rollouts, whichever is there first.
Random actions are a poor guide wherever some action ends the episode at a loss: every leaf then looks terrible.
"""

from typing import NamedTuple

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inlined
from pomdplite.errors import UnsuitableError, UsageError
from pomdplite.mdp.budget import Deadline
from pomdplite.mdp.value_table import ValueTable, empty_value_table, joint_number, state_number, value_table
from pomdplite.mdp.yardsticks import CHEAP, known_values
from pomdplite.model.model import Model
from pomdplite.planners.monte_carlo.simulation import Simulation

AUTO = "auto"
LEAVES = (AUTO, "full-information", "heuristic", "rollouts")
FULL_INFORMATION, HEURISTIC, ROLLOUTS = range(3)


class LeafValues(NamedTuple):
    """How leaves are valued."""

    kind: int
    known: ValueTable  # V_θ(x); empty unless it is looked up


def checked_leaves(wanted: str) -> str:
    """The way to value leaves that a user gave; UsageError if there is none of that name."""
    if wanted not in LEAVES:
        raise UsageError(f"no way {wanted!r} to value leaves; there are {', '.join(LEAVES)}.")
    return wanted


def leaf_values(model: Model, wanted: str, deadline: Deadline) -> LeafValues:
    """How leaves are valued if the user wants it like this; UnsuitableError if that is impossible."""
    has, empty = model.compiled_form.definition.functions, empty_value_table(model)
    if wanted == "rollouts" or (wanted == AUTO and "preferred" in has):
        return LeafValues(ROLLOUTS, empty)
    if wanted == "heuristic":
        if "heuristic" not in has:
            raise UnsuitableError(f"{model.name}: it has no heuristic, so leaves cannot be valued by one.")
        return LeafValues(HEURISTIC, empty)
    found = known_values(model, CHEAP, deadline)
    if found is not None:
        return LeafValues(FULL_INFORMATION, value_table(*found))
    if "upper" in has:
        return LeafValues(FULL_INFORMATION, empty)
    if wanted == AUTO:
        return LeafValues(HEURISTIC if "heuristic" in has and "policy" not in has else ROLLOUTS, empty)
    raise UnsuitableError(
        f"{model.name}: the values of a known θ take too much to compute, and the model has no function upper: use "
        "rollouts for leaves."
    )


@inlined
def needs_rollout(model: KernelModel, leaves: LeafValues, simulation: Simulation) -> bool:
    """Whether the value of the simulation's (x, θ) has to be simulated."""
    if leaves.kind != FULL_INFORMATION:
        return leaves.kind == ROLLOUTS
    return model.functions[abi.UPPER] == 0 and state_number(leaves.known, simulation.x, 0) <= 0


@inlined
def leaf_value(model: KernelModel, leaves: LeafValues, simulation: Simulation) -> float:
    """The value of the simulation's (x, θ), unless it needs a rollout."""
    if leaves.kind == HEURISTIC:
        return abi.heuristic(model, simulation.x, 0)
    state = state_number(leaves.known, simulation.x, 0)
    if state > 0:
        return leaves.known.values[state, joint_number(leaves.known, simulation.theta, 0)]
    return abi.upper(model, simulation.x, 0, simulation.theta, 0)
