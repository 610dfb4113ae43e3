"""What is observed and what is hidden in a file: the POMDP-lite that it describes, found step by step."""

from contextlib import suppress
from itertools import product

import numpy as np

from pomdplite.errors import TooLargeError
from pomdplite.formats.classes import find_classes
from pomdplite.formats.collector import collector_paused
from pomdplite.formats.factored import Factored, NotFactored
from pomdplite.formats.factors import Restriction
from pomdplite.formats.file_model import Found
from pomdplite.formats.flat import Flat
from pomdplite.formats.flatten import flattened
from pomdplite.formats.histories import find_histories
from pomdplite.formats.network import Network, Variable

_MOST_ROWS = 100_000  # of a transition that is searched for chances


@collector_paused()
def structure_of_network(net: Network) -> Found:
    """Observed variables are x, hidden ones θ; if that fails, the same for the list of all states."""
    declared = {v.name for v in net.states if v.observed}
    if len(net.states) == 1 and not declared:
        with suppress(TooLargeError):  # a list of states, as programs write it that know no variables
            return structure_of_states(flattened(net, declared))
    try:
        return Factored(net, _with_known(net, declared)).found()
    except NotFactored as reason:
        Factored(net, declared).start()
        try:
            return structure_of_states(flattened(net, declared))
        except TooLargeError as error:
            raise TooLargeError(f"{error} They have to be multiplied out since {reason}.") from None


def structure_of_states(flat: Flat) -> Found:
    """Classes of states that the history tells are x; if θ cannot number their states, θ is the initial state."""
    return find_classes(flat) or find_histories(flat)


def _with_known(net: Network, observed: set[str]) -> set[str]:
    """The observed variables, and those whose values follow from what is known: first value and steps are certain."""
    known = set(observed)
    while True:
        more = {v.name for v in net.states if v.name not in known and _follows(net, v, known)}
        if not more:
            return known
        known |= more


def _follows(net: Network, variable: Variable, known: set[str]) -> bool:
    names = {v.name for v in net.actions} | {variable.name}
    names |= {name for v in net.states if v.name in known for name in (v.name, v.after)}
    factor = net.transition[variable.after]
    sizes = [size for size, name in zip(factor.sizes, factor.variables, strict=True) if name != variable.after]
    first = Restriction(net.initial[variable.name], set()).at({}).table
    if len(variable.values) == 1:
        return False  # nothing to know
    if not set(factor.parents) <= names or first.ndim > 1 or 1 not in first or np.prod(sizes) > _MOST_ROWS:
        return False
    rows = Restriction(factor, set(factor.parents))
    return all(
        1 in rows.at(dict(zip(factor.parents, values, strict=True))).table for values in product(*map(range, sizes))
    )
