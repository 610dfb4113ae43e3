"""Load a model from a .pomdp or .pomdpx file."""

import hashlib
from pathlib import Path

from pomdplite.errors import UsageError, shown
from pomdplite.formats.places import read_bytes
from pomdplite.model.model import Model

SUFFIXES = (".pomdp", ".pomdpx")
MARK = "Written by pomdplite"  # in every file that the library writes

_digests: dict[str, str] = {}  # of files as they were when last loaded


def is_model_file(name: str) -> bool:
    """Whether a problem's name is that of a .pomdp or .pomdpx file."""
    return name.lower().endswith(SUFFIXES)


def load(path: str | Path) -> Model:
    """The model in a .pomdp or .pomdpx file.

    What is observed, what is hidden, and how the hidden part changes is found in the file. NotPomdpLiteError says
    which state and action show that it changes by chance; any other mistake is a ModelError with file, line and cause.
    """
    from pomdplite.formats.cassandra import read_pomdp  # with SciPy, which few programs need
    from pomdplite.formats.pomdpx import read_pomdpx
    from pomdplite.formats.structure import structure_of_network, structure_of_states

    if not is_model_file(str(path)):
        raise UsageError(f"{shown(str(path))} is not the name of a .pomdp or .pomdpx file.")
    data = read_bytes(path)
    _digests[str(Path(path).expanduser().resolve())] = hashlib.sha256(data).hexdigest()
    if str(path).lower().endswith(".pomdp"):
        return structure_of_states(read_pomdp(data, str(path))).model()
    return structure_of_network(read_pomdpx(data, str(path))).model()


def file_digest(path: str) -> str:
    """A digest of a model file as it was last loaded."""
    known = _digests.get(str(Path(path).expanduser().resolve()))
    return known or hashlib.sha256(read_bytes(path)).hexdigest()
