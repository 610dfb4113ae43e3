"""Matplotlib, imported only when a picture is drawn (extra `plots`)."""

from pathlib import Path
from typing import Any

from pomdplite.errors import PomdpLiteError, UsageError


def require_matplotlib() -> Any:
    """Matplotlib's Figure class, or an error that says what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise PomdpLiteError("pictures need matplotlib: pip install 'pomdplite[plots]'.") from None
    return Figure


def new_figure(width: float, height: float) -> Any:
    """A figure of this size in inches, without pyplot's global state."""
    return require_matplotlib()(figsize=(width, height), layout="constrained")


def check_format(picture: Path) -> None:
    """Raise UsageError if matplotlib cannot write files with this suffix."""
    try:
        known = require_matplotlib()().canvas.get_supported_filetypes()
    except PomdpLiteError:
        return  # drawing the picture will report that matplotlib is missing
    if picture.suffix.removeprefix(".").lower() not in known:
        raise UsageError(f"cannot write {picture}: use one of {', '.join(f'.{k}' for k in known)}.")
