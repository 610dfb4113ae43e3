"""Write a model to a .pomdp or .pomdpx file."""

from pathlib import Path

from pomdplite.errors import UsageError, shown
from pomdplite.formats.loading import is_model_file
from pomdplite.model.model import Model


def save(model: Model, path: str | Path) -> None:
    """Write a model to a .pomdp or .pomdpx file, which `load` and other programs read.

    Numbers are written in full. Where nothing may be observed, the file has an observation no-observation; an illegal
    action leads to a state illegal-action, with a reward so low that no good policy takes it.
    """
    from pomdplite.formats.listing import listing
    from pomdplite.formats.write_pomdp import pomdp_text
    from pomdplite.formats.write_pomdpx import pomdpx_text

    if not is_model_file(str(path)):
        raise UsageError(f"{shown(str(path))} must end in .pomdp or .pomdpx.")
    found = listing(model)
    text = pomdp_text(found) if str(path).lower().endswith(".pomdp") else pomdpx_text(found)
    try:
        Path(path).expanduser().write_text(text, encoding="ascii")
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}.") from None
