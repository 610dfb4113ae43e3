"""The tree of PFT-DPW: histories, each with its belief, up to m weighted particles of θ."""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Small, Words
from pomdplite.mdp import memory
from pomdplite.planners.monte_carlo.nodes import NODE_LIMIT, PAIR_LIMIT
from pomdplite.planners.monte_carlo.widening import (
    OUTCOME_BYTES,
    OUTCOME_PAIR_BYTES,
    OutcomeTree,
    allocate_outcome_tree,
)


class FilterTree(NamedTuple):
    """Histories and their beliefs. Node 0 is the real history; its particles are drawn anew for each of its children.

    Particles of a node are in the places from m times its number on.
    """

    wide: OutcomeTree
    theta: Words  # [place, theta_words]
    weight: Floats  # [place] normalised
    size: Small  # [node] particles, at most m
    reward: Floats  # [node] the mean reward of the step that leads there
    memory: Words  # [node, h_words] what the model remembers there
    root_reward: Floats  # [action] the mean reward in the real history
    log: Floats  # [m] space for log weights


def allocate_filter_tree(model: KernelModel, m: int, held: int) -> FilterTree:
    """Space for a tree, beside so many bytes; the operating system commits memory as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    pairs, words = min(PAIR_LIMIT, NODE_LIMIT * model.actions), model.theta.shape[1]
    node = OUTCOME_BYTES + 8 * (model.x_words + model.z_words + model.h_words) + 12
    node += 8 * (words + 1) * m + OUTCOME_PAIR_BYTES * pairs / NODE_LIMIT
    nodes = memory.capacity(NODE_LIMIT, node, "nodes of the search tree", held=held)
    pairs = max(int(pairs * (nodes / NODE_LIMIT)), 2 * model.actions)
    return FilterTree(
        wide=allocate_outcome_tree(model, nodes, pairs),
        theta=np.zeros((m * nodes, words), np.uint64),
        weight=np.zeros(m * nodes),
        size=np.zeros(nodes, np.int32),
        reward=np.zeros(nodes),
        memory=np.zeros((nodes, model.h_words), np.uint64),
        root_reward=np.zeros(model.actions),
        log=np.zeros(m),
    )
