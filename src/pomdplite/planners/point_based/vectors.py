"""The set Γ of α-vectors: V̲(x, b) = max_{α ∈ Γ_x} Σ_j b(j) α(j).

Vectors are numbered in the order in which they were added, and each state has a list of its vectors from the newest
to the oldest. A clock counts additions, so that a belief need only look at vectors added since it last looked.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Small, kernel
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp, widest

# Indices into AlphaVectors.counts.
VECTORS, VECTOR_CLOCK = range(2)


class AlphaVectors(NamedTuple):
    """Γ, with the action and the successors of each vector."""

    value: Floats  # [vector, joint value] α
    state: Small  # [vector] x
    action: Small  # [vector]
    added: Ints  # [vector] when, on the clock
    successors: Small  # [vector, outcome] the vectors it was backed up from, then -1; of no meaning for initial ones
    next: Small  # [vector] the one added before it for the same state, -1 if there is none
    # Per vector up to here.
    newest: Small  # [state] the vector added last, -1 if there is none
    counts: Ints  # [2]


_PER_VECTOR = AlphaVectors._fields[: AlphaVectors._fields.index("newest")]


def allocate_vectors(model: GroupedMomdp, count: int) -> AlphaVectors:
    """Space for so many vectors; the operating system commits memory as it is used."""
    states, values = model.corner.shape
    return AlphaVectors(
        value=np.empty((count, values)),
        state=np.zeros(count, np.int32),
        action=np.zeros(count, np.int32),
        added=np.zeros(count, np.int64),
        successors=np.zeros((count, widest(model).outcomes_of_pair), np.int32),
        next=np.zeros(count, np.int32),
        newest=np.full(states, -1, np.int32),
        counts=np.zeros(2, np.int64),
    )


def vector_bytes(model: GroupedMomdp) -> int:
    """What one vector takes."""
    return 8 * model.corner.shape[1] + 4 * widest(model).outcomes_of_pair + 28


def trimmed(vectors: AlphaVectors) -> AlphaVectors:
    """The same vectors in no more memory than they need."""
    count = int(vectors.counts[VECTORS])
    return vectors._replace(**{name: getattr(vectors, name)[:count].copy() for name in _PER_VECTOR})


@kernel
def add_vector(vectors: AlphaVectors, state: int, action: int, value: Floats) -> int:
    """Add a vector to Γ_x; its number."""
    alpha = vectors.counts[VECTORS]
    vectors.counts[VECTORS] += 1
    vectors.counts[VECTOR_CLOCK] += 1
    for j in range(value.shape[0]):
        vectors.value[alpha, j] = value[j]
    vectors.state[alpha], vectors.action[alpha] = state, action
    vectors.added[alpha] = vectors.counts[VECTOR_CLOCK]
    vectors.next[alpha] = vectors.newest[state]
    vectors.newest[state] = alpha
    return alpha


@kernel
def add_policy(vectors: AlphaVectors, action: int, values: Floats) -> None:
    """Add a policy's values [state, joint value] to each state where no vector is at least as good everywhere."""
    for state in range(1, values.shape[0]):
        alpha = vectors.newest[state]
        while alpha >= 0:
            dominates = True
            for j in range(values.shape[1]):
                if values[state, j] > vectors.value[alpha, j]:
                    dominates = False
                    break
            if dominates:
                break
            alpha = vectors.next[alpha]
        if alpha < 0:
            add_vector(vectors, state, action, values[state])


def append_vectors(vectors: AlphaVectors, more: AlphaVectors) -> None:
    """Add all vectors of another set, in their order."""
    for alpha in range(int(more.counts[VECTORS])):
        add_vector(vectors, int(more.state[alpha]), int(more.action[alpha]), more.value[alpha])


class KeptVectors(NamedTuple):
    """Where a set of vectors ends: later ones are added behind it."""

    newest: Small
    counts: Ints


def kept_vectors(vectors: AlphaVectors) -> KeptVectors:
    """What `remove_later_vectors` needs to remove the vectors that are added from now on."""
    return KeptVectors(newest=vectors.newest.copy(), counts=vectors.counts.copy())


def first_vectors(vectors: AlphaVectors, count: int) -> KeptVectors:
    """What `remove_later_vectors` needs to keep only so many."""
    newest = np.full_like(vectors.newest, -1)
    newest[vectors.state[:count]] = np.arange(count)  # of several for one state, the last one stays
    clock = int(vectors.added[count - 1])
    return KeptVectors(newest=newest, counts=np.array([count, clock]))


def restore_vectors(vectors: AlphaVectors, known: AlphaVectors, kept: KeptVectors) -> None:
    """Make the vectors what they were: all those of `known`, where the set ended at `kept`."""
    count = len(known.value)
    for name in _PER_VECTOR:
        getattr(vectors, name)[:count] = getattr(known, name)
    remove_later_vectors(vectors, kept)


def remove_later_vectors(vectors: AlphaVectors, kept: KeptVectors) -> None:
    """Remove the vectors that were added since; none may have been pruned."""
    vectors.newest[:], vectors.counts[:] = kept.newest, kept.counts
