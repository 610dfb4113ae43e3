"""Spaces of Gymnasium for the fields of records, and the columns of records that lie in them.

    a tuple of names, bool      Discrete
    an array of bool            MultiBinary
    an angle                    Box from −π to π
    any other number or array   Box with the type of the field: the values that it takes in the states that can be
                                reached, if these are few and their successors listed; else all numbers of that type

A number that is no array has the shape (1,): most learning libraries stack and flatten arrays of one dimension or more.
"""

import math
from typing import Any

import numpy as np
from gymnasium import spaces

from pomdplite.model.spaces import State

_NO_FIELD = "_"  # of a model that observes no state


def fields_of(layout: State) -> list[str]:
    """The fields that hold something."""
    return [name for name in layout.dtype.names or () if name != _NO_FIELD]


def field_space(layout: State, name: str, known: Any = None) -> spaces.Space:
    """The space of a field; known: all records that there are, if they are known."""
    kind = layout.dtype[name]
    base, shape = kind.base, kind.shape or (1,)
    if name in layout.labels:
        return spaces.Discrete(len(layout.labels[name]))
    if base.kind == "b":
        return spaces.Discrete(2)
    if name in layout.flags:
        return spaces.MultiBinary(shape)
    if name in layout.angles:
        return spaces.Box(-math.pi, math.pi, shape, base.type)
    if known is not None:
        values = known[name].reshape(len(known), *shape)
        return spaces.Box(values.min(axis=0), values.max(axis=0), shape, base.type)
    if base.kind == "f":
        return spaces.Box(-np.inf, np.inf, shape, base.type)
    return spaces.Box(np.iinfo(base).min, np.iinfo(base).max, shape, base.type)


def column(space: spaces.Space, records: Any, name: str) -> Any:
    """[row] a field of several records, as a batch of the field's space."""
    values = records[name].astype(space.dtype)
    return values.reshape(len(values), *space.shape)


class LegalActions(spaces.Discrete):  # type: ignore[misc]
    """The numbers of the actions. `sample` draws a legal one, unless it is given a mask."""

    def __init__(self, legal: Any) -> None:
        super().__init__(len(legal))
        self._first = legal.copy()  # at the start of an episode
        self.legal = self._first

    def seed(self, seed: Any = None) -> Any:
        """Seed the samples. What is drawn before the next reset is for the start of an episode."""
        self.legal = self._first
        return super().seed(seed)

    def sample(self, mask: Any = None, probability: Any = None) -> Any:
        """Draw an action; by default a legal one."""
        if mask is None and probability is None and self.legal.any():
            mask = self.legal
        return super().sample(mask, probability)
