"""The tree of POMCPOW: histories with weighted particles, B(hao) and W(hao).

x is part of the history, so particles are values of θ. Those of a history are a block of a pool, with the sums of their
weights; a full block is copied into one of twice its size. Weights are relative to that of the first particle, the one
from whose simulation the outcome comes: densities have no scale of their own.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined
from pomdplite.mdp import memory
from pomdplite.planners.monte_carlo.nodes import FULL, NODE_LIMIT, PAIR_LIMIT
from pomdplite.planners.monte_carlo.widening import (
    OUTCOME_BYTES,
    OUTCOME_PAIR_BYTES,
    OutcomeTree,
    allocate_outcome_tree,
)
from pomdplite.rng import uniform

_PARTICLES_PER_NODE = 12  # for which there is room, on average
_FIRST_BLOCK = 4  # particles
_MOST_RELATIVE_LOG = 600.0  # beyond that, sums of weights would overflow


class ParticleTree(NamedTuple):
    """Histories and their particles."""

    wide: OutcomeTree
    first: Ints  # [node] its first particle in the pool
    size: Ints  # [node] how many it has
    room: Ints  # [node] for how many there is space
    log_first: Floats  # [node] log weight of the first one
    theta: Words  # [place, theta_words] the pool
    total: Floats  # [place] the sum of weights from the first particle of the history to this one
    used: Ints  # [1] places of the pool


def allocate_particle_tree(model: KernelModel, held: int) -> ParticleTree:
    """Space for a tree, beside so many bytes; the operating system commits memory as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    pairs, words = min(PAIR_LIMIT, NODE_LIMIT * model.actions), model.theta.shape[1]
    node = OUTCOME_BYTES + 8 * (model.x_words + model.z_words) + 32 + OUTCOME_PAIR_BYTES * pairs / NODE_LIMIT
    node += 8 * (words + 1) * _PARTICLES_PER_NODE
    nodes = memory.capacity(NODE_LIMIT, node, "nodes of the search tree", held=held)
    pairs, places = max(int(pairs * (nodes / NODE_LIMIT)), 2 * model.actions), _PARTICLES_PER_NODE * nodes
    return ParticleTree(
        wide=allocate_outcome_tree(model, nodes, pairs),
        first=np.zeros(nodes, np.int64),
        size=np.zeros(nodes, np.int64),
        room=np.zeros(nodes, np.int64),
        log_first=np.zeros(nodes),
        theta=np.zeros((places, words), np.uint64),
        total=np.zeros(places),
        used=np.zeros(1, np.int64),
    )


@inlined
def add_particle(tree: ParticleTree, node: int, theta: Words, log_weight: float) -> None:
    """Append theta[0] to B(hao) and its weight to W(hao), unless that is 0."""
    count, weight = tree.size[node], 1.0
    if count == 0:
        tree.log_first[node] = log_weight
    else:
        weight = np.exp(min(log_weight - tree.log_first[node], _MOST_RELATIVE_LOG))
    if not weight > 0.0 or (count == tree.room[node] and not _moved(tree, node)):
        return
    place = tree.first[node] + count
    for w in range(theta.shape[1]):
        tree.theta[place, w] = theta[0, w]
    tree.total[place] = weight + (tree.total[place - 1] if count > 0 else 0.0)
    tree.size[node] = count + 1


@inlined
def _moved(tree: ParticleTree, node: int) -> bool:
    """Move the particles of a node to a block of twice the size; False if there is no space."""
    first, start, room = tree.first[node], tree.used[0], max(_FIRST_BLOCK, 2 * tree.room[node])
    if start + room > tree.total.shape[0]:
        tree.wide.nodes.counts[FULL] = 1
        return False
    for k in range(tree.size[node]):
        tree.total[start + k] = tree.total[first + k]
        for w in range(tree.theta.shape[1]):
            tree.theta[start + k, w] = tree.theta[first + k, w]
    tree.first[node], tree.room[node], tree.used[0] = start, room, start + room
    return True


@inlined
def draw_particle(tree: ParticleTree, node: int, theta: Words, random: Words) -> None:
    """s' ∈ B(hao) with probability W / ΣW, into theta[0]; theta stays as it is if there are no particles."""
    if tree.size[node] == 0:
        return
    low = tree.first[node]
    high = low + tree.size[node] - 1
    sought = uniform(random) * tree.total[high]
    while low < high:
        middle = (low + high) // 2
        if tree.total[middle] > sought:
            high = middle
        else:
            low = middle + 1
    for w in range(theta.shape[1]):
        theta[0, w] = tree.theta[low, w]
