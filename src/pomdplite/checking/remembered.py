"""Which models have passed the check before planning: remembered in the model, and on disk under its digest.

Worker processes get the model with the mark, and later processes find its digest, so no model is checked twice. A model
that is run as Python may call anything, so only the object itself is marked.
"""

import hashlib
import logging
from pathlib import Path

from pomdplite.compile.cache import cache_folder
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.model.spaces import Distributed, Hidden

log = logging.getLogger("pomdplite")

_MARK = "_passed_check"
_VERSION = 2  # of the check: models that have passed an earlier one are checked again


def has_passed(model: Model) -> bool:
    """Whether this model, or one with the same code and the same numbers, has passed."""
    if model.__dict__.get(_MARK):
        return True
    path = _path(model)
    return path is not None and path.exists()


def remember(model: Model) -> None:
    """The model has passed."""
    model.__dict__[_MARK] = True
    path = _path(model)
    if path is not None:
        try:
            path.touch()
        except OSError as error:  # a full disk: the next process checks the model again
            log.debug("%s: %s", path, error)


def _path(model: Model) -> Path | None:
    name, folder = model_digest(model), cache_folder()
    return None if name is None or folder is None else folder / f"checked_{_VERSION}_{name}"


def model_digest(model: Model) -> str | None:
    """A name for everything that the model's numbers depend on; None if that cannot be known."""
    form = model.compiled_form
    if form.functions.key is None:
        return None
    definition, found = form.definition, hashlib.sha256(form.functions.key.encode())
    found.update(repr((definition.sizes, definition.parameters.layout, list(map(str, model.actions)))).encode())
    for (name, _, ndim), value in zip(definition.parameters.layout, definition.parameters.values, strict=True):
        found.update(
            repr((name, value)).encode() if ndim == 0 else repr((name, value.shape)).encode() + value.tobytes()
        )
    if definition.actions is not None:
        found.update(definition.actions.records.tobytes())
    if model.compiled_form.kernel_view().real:
        found.update(repr((definition.noise, definition.reading_noise, model.observations)).encode())
    if isinstance(model.hidden, Hidden):
        for component in model.hidden.components:
            found.update(repr((component.name, component.labels, component.values)).encode())
            found.update(component.prior.tobytes())
    elif isinstance(model.hidden, (Distributed, Dirichlet)):
        found.update(model.hidden.identity.encode())
    found.update(to_words(model.state.dtype, model.initial_state()).tobytes())
    return found.hexdigest()[:32]
