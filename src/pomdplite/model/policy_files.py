"""Policy files of other programs: what a model that comes from such a program's file says about them."""

from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import UsageError

_SUFFIXES = (".policy", ".policyx")


class StateVectors(NamedTuple):
    """α-vectors, each for one x. Joint values of θ count like digits: the last component changes fastest."""

    state: Ints  # [vector] the number of x
    action: Ints  # [vector]
    value: Floats  # [vector, joint value of θ]
    line: Ints  # [vector] in its file; 0 if it is in none


class PolicyFiles(Protocol):
    """Reads and writes policies in the numbering of the file that a model comes from."""

    def read(self, path: Path) -> StateVectors:
        """The vectors of a file; ModelError or UsageError if it is wrong or made for another model."""

    def write(self, path: Path, vectors: StateVectors) -> None:
        """Write vectors to a file."""


def is_policy_file(path: str | Path) -> bool:
    """Whether a file is a policy of another program, by its name."""
    return str(path).lower().endswith(_SUFFIXES)


def policy_files(model: Any, path: str | Path) -> PolicyFiles:
    """What reads and writes policies for this model; UsageError, which names the file, if nothing does."""
    found: PolicyFiles | None = model.policy_files
    if found is None:
        raise UsageError(
            f"{path}: a .policy file numbers the states of a .pomdp or .pomdpx file, and {model.name} does not come "
            "from one; write it to one with pomdplite export, or use a .npz file."
        )
    return found
