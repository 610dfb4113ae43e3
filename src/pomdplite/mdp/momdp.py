"""The mixed-observability form (MOMDP; Ong et al. 2010): states x, each with a distribution over the present joint
values of θ. Full-information values and SARSOP's α-vectors are defined on it.

Theorem 1 carries the maps from initial to present values in the state. With vectors over all of Θ that is unnecessary:
RockSample(7,8) has 49 states x with 256 joint values here, but 12,544 states with maps there.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from pomdplite.model.hidden_table import JOINT_LIMIT, product_of
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden


class Joint(NamedTuple):
    """How joint values are numbered, and what each state-action does to them.

    Joint value j has value number (j // stride[c]) % size[c] in component c. The last component, for actions that
    depend on none, has one value and a stride of all joint values. later[pair, v] is the value that value v of the
    pair's component becomes.
    """

    size: Ints  # [component + 1]; 1 for a component that is left out
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
    components: tuple[int, ...]  # of θ; without the actions that depend on others, if some are left out

    @property
    def values(self) -> int:
        """The number of joint values of θ."""
        return len(self.prior)

    @property
    def arrays(self) -> MomdpArrays:
        """The form that kernels take."""
        return MomdpArrays(graph=self.reachable.graph, distinct=self.reachable.distinct, joint=self.joint)


def momdp_form(
    model: Model, *, limit: int = STATE_LIMIT, values: int = JOINT_LIMIT, components: Sequence[int] | None = None,
    observed: bool = True, deadline: Deadline = NO_DEADLINE,
) -> Momdp:  # fmt: skip
    """The mixed-observability form of a model; TooLargeError if it has too many states or joint values.

    With `components`, the form of the model without the actions that depend on other components of θ. If not
    `observed`, the form without observations, which mean nothing to an agent that knows θ.
    """
    hidden = model.hidden
    if not isinstance(hidden, Hidden):
        raise TooLargeError(f"{model.name}: its hidden values cannot be listed.")
    view = model.compiled_form.kernel_view().present_form()
    view = view if observed else view.unobserved()
    kept = tuple(range(len(hidden.components))) if components is None else tuple(sorted(components))
    sizes = np.array([len(c) if i in kept else 1 for i, c in enumerate(hidden.components)], np.int64)
    size = int(np.prod(sizes))
    if size > values:
        raise TooLargeError(f"{model.name}: the hidden parameter has {size:,} joint values; the limit is {values:,}.")
    if view.table.joint:
        sizes = np.array([size], np.int64)
    reachable = build(view, view.root(), limit=limit, deadline=deadline)
    if components is not None:
        reachable = _without_others(reachable, kept)
    stride = np.append(np.cumprod(np.append(sizes[1:], 1)[::-1])[::-1], size)
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
        joint=Joint(size=np.append(sizes, 1), stride=stride.astype(np.int64), later=later, edge=edge),
        prior=product_of([hidden.components[component].prior for component in kept]),
        components=kept,
    )


def _without_others(reachable: Reachable, kept: tuple[int, ...]) -> Reachable:
    """The same states without the state-actions that depend on a component that is not kept."""
    graph, distinct = reachable.graph, reachable.distinct
    none = len(reachable.view.table.offsets) - 2
    stays = np.isin(distinct.component[graph.step], [*kept, none])
    before, edges = np.append(0, np.cumsum(stays)), distinct.branches[graph.step].astype(np.int64)
    edges_before = np.append(0, np.cumsum(np.where(stays, edges, 0)))
    first = before[graph.first]
    if (np.diff(first)[1:] == 0).any():
        state = 1 + int(np.flatnonzero(np.diff(first)[1:] == 0)[0])
        raise TooLargeError(
            f"{reachable.view.model.name}: in x = ({reachable.view.describe(graph.states[state])}) every action "
            "depends on a component of θ that would have to be left out."
        )
    return replace(
        reachable,
        graph=graph._replace(
            first=first, split=before[graph.split], action=graph.action[stays], step=graph.step[stays],
            first_edge=edges_before[graph.first], split_edge=edges_before[graph.split],
            next=graph.next[np.repeat(stays, edges)],
        ),
    )  # fmt: skip


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
