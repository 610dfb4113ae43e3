"""The problems under names of Gymnasium's registry."""

import gymnasium

from pomdplite.problems import PROBLEMS

_ID = "pomdplite/{}-v0"


def register() -> list[str]:
    """Register every problem that is not registered yet; the ids of all."""
    for problem in PROBLEMS:
        name = _ID.format(problem)
        if name not in gymnasium.registry:
            gymnasium.register(
                name,
                entry_point="pomdplite.environments.single:ModelEnv",
                vector_entry_point="pomdplite.environments.vector:ModelVectorEnv",
                kwargs={"model": problem},
            )
    return [_ID.format(problem) for problem in PROBLEMS]
