"""The mixed-observability form (MOMDP; Ong et al. 2010): states x, each with a distribution over the present joint
values of θ. Full-information values and SARSOP's α-vectors are defined on it.

Theorem 1 carries the maps from initial to present values in the state. With vectors over all of Θ that is unnecessary:
RockSample(7,8) has 49 states x with 256 joint values here, but 12,544 states with maps there.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, kernel
from pomdplite.errors import TooLargeError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.outcomes import row_of
from pomdplite.mdp.reachable import STATE_LIMIT, Graph, Reachable, build
from pomdplite.model.compiled import KernelView
from pomdplite.model.hidden_table import JOINT_LIMIT
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden


class Joint(NamedTuple):
    """How joint values are numbered, and what each state-action does to them.

    Joint value j has value number (j // stride[c]) % size[c] in component c. The last component, for actions that
    depend on none, has one value and a stride of all joint values. later[pair, v] is the value that value v of the
    pair's component becomes.
    """

    size: Ints  # [component + 1]
    stride: Ints  # [component + 1]
    later: Small  # [pair, value]
    edge: Ints  # [pair] its first edge in the graph


class MomdpArrays(NamedTuple):
    """What kernels need of a MOMDP."""

    graph: Graph
    distinct: DistinctSteps
    joint: Joint


@dataclass(frozen=True)
class Momdp:
    """A model with listed hidden values, in mixed-observability form."""

    view: KernelView
    reachable: Reachable
    joint: Joint
    prior: Floats  # [joint value]

    @property
    def values(self) -> int:
        """The number of joint values of θ."""
        return len(self.prior)

    @property
    def arrays(self) -> MomdpArrays:
        """The form that kernels take."""
        return MomdpArrays(graph=self.reachable.graph, distinct=self.reachable.distinct, joint=self.joint)


def momdp_form(
    model: Model, *, limit: int = STATE_LIMIT, values: int = JOINT_LIMIT, deadline: Deadline = NO_DEADLINE
) -> Momdp:
    """The mixed-observability form of a model; TooLargeError if it has too many states or joint values."""
    hidden = model.hidden
    if not isinstance(hidden, Hidden):
        raise TooLargeError(f"{model.name}: its hidden values cannot be listed.")
    if hidden.size > values:
        raise TooLargeError(
            f"{model.name}: the hidden parameter has {hidden.size:,} joint values; the limit is {values:,}."
        )
    view = model.compiled_form.kernel_view().present_form()
    reachable = build(view, view.root(), limit=limit, deadline=deadline)
    sizes = np.diff(view.table.offsets)
    if view.table.joint:
        stride = np.array([1, hidden.size], np.int64)
    else:
        stride = np.append(np.cumprod(np.append(sizes[1:-1], 1)[::-1])[::-1], hidden.size).astype(np.int64)
    pairs, widest = reachable.state_actions, int(sizes.max())
    memory.require(
        memory.size(reachable) + pairs * (4 * widest + 8),
        f"{model.name}: listing how {widest:,} values of θ change in {pairs:,} state-actions", "use pomcp or despot",
    )  # fmt: skip
    later, edge = np.zeros((pairs, widest), np.int32), np.zeros(pairs, np.int64)
    theta = np.zeros((1, view.table.theta.shape[1]), np.uint64)
    clock, done = deadline.batches(), 1
    while done < reachable.states:
        deadline.check(f"{model.name}: listing how the hidden value changes")
        last = min(done + clock.portion(done), reachable.states)
        _list_changes(view.kernel_model, reachable.graph, reachable.distinct, later, edge, theta, done, last)
        done = last
    return Momdp(
        view=view,
        reachable=reachable,
        joint=Joint(size=sizes.astype(np.int64), stride=stride, later=later, edge=edge),
        prior=product_of([component.prior for component in hidden.components]),
    )


def product_of(marginals: list[Floats]) -> Floats:
    """The joint distribution of independent components."""
    b = np.ones(1)
    for marginal in marginals:
        b = np.outer(b, marginal).ravel()
    return b


@kernel
def _list_changes(
    model: KernelModel, graph: Graph, distinct: DistinctSteps, later: Small, edge: Ints, theta: Words, first_state: int,
    last_state: int,
) -> None:  # fmt: skip
    """Fill `later` and `edge` for some states. Building the graph has already checked the model for faults."""
    for s in range(first_state, last_state):
        at = graph.first_edge[s]
        for pair in range(graph.first[s], graph.first[s + 1]):
            edge[pair] = at
            at += distinct.branches[graph.step[pair]]
            component = distinct.component[graph.step[pair]]
            first, last = model.offsets[component], model.offsets[component + 1]
            for row in range(first, last):
                later[pair, row - first] = row - first
                if model.evolves and component < model.offsets.shape[0] - 2:
                    abi.evolve(model, graph.states, s, model.theta, row, graph.action[pair], theta)
                    later[pair, row - first] = row_of(model, component, theta, row) - first
