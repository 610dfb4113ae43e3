"""Values of every x and θ in a table that kernels look up by the words of x and of the present θ.

Searches that draw θ ask for the value of one (x, θ) at a time: DESPOT for its bounds, POMCP and its relatives for the
value of a new leaf. The values are those of mdp/full_information.py.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined
from pomdplite.mdp.hash_table import row_slot
from pomdplite.mdp.momdp import Momdp
from pomdplite.model.model import Model


class ValueTable(NamedTuple):
    """Values by x and joint value of θ."""

    states: Words  # [state, x_words] of the graph over x; none if the table is empty
    table: Small  # hash table of states
    values: Floats  # [state, joint θ]
    mask: Words  # [component, theta_words] the bits of θ that hold the component
    value: Words  # [row, theta_words] the θ of a row
    offsets: Ints  # [component + 1] the rows of each component
    stride: Ints  # [component]


def value_table(momdp: Momdp, values: Floats) -> ValueTable:
    """The table of these values, one for each state and joint value of a mixed-observability form."""
    table, graph = momdp.view.table, momdp.reachable.graph
    mask = np.zeros((table.blocks, table.theta.shape[1]), np.uint64)
    for c in range(table.blocks):
        for row in range(table.offsets[c], table.offsets[c + 1]):
            mask[c] |= table.theta[row] ^ table.theta[-1]
    return ValueTable(
        states=graph.states, table=graph.table, values=values, mask=mask, value=table.theta, offsets=table.offsets,
        stride=momdp.joint.stride,
    )  # fmt: skip


def empty_value_table(model: Model) -> ValueTable:
    """A table without values."""
    no_theta = np.zeros((0, model.hidden.words), np.uint64)
    return ValueTable(
        states=np.zeros((0, model.state.words), np.uint64), table=np.zeros(1, np.int32), values=np.zeros((0, 0)),
        mask=no_theta, value=no_theta, offsets=np.zeros(1, np.int64), stride=np.zeros(0, np.int64),
    )  # fmt: skip


@inlined
def state_number(known: ValueTable, x: Words, i: int) -> int:
    """The number of x[i] in the table; not positive if it has none."""
    if known.states.shape[0] == 0:
        return 0
    return known.table[row_slot(known.states, known.table, x, i)]


@inlined
def joint_number(known: ValueTable, thetas: Words, i: int) -> int:
    """The number of thetas[i] among the joint values of θ; 0 if the table is empty."""
    joint = 0
    for c in range(known.mask.shape[0]):
        for row in range(known.offsets[c], known.offsets[c + 1]):
            same = True
            for w in range(known.mask.shape[1]):
                if (thetas[i, w] ^ known.value[row, w]) & known.mask[c, w]:
                    same = False
                    break
            if same:
                joint += (row - known.offsets[c]) * known.stride[c]
                break
    return joint
