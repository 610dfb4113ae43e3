"""The hash table of every graph and tree in the package: open addressing with linear probing.

A table is an array of a power of two slots. A slot holds the number of an entry, or -1 if it is free; the entries
themselves are the caller's arrays. Two kinds of caller:

- Entries that are known by a row of words (a state, a history): `row_slot` finds the slot of a row.
- Entries with an equality of their own (beliefs that agree to ten digits): start at `first_slot` and take `next_slot`
  while the slot holds another entry.

Either way the slot found holds the entry sought, or is free: to insert the entry, write its number there. Tables do
not grow and entries are never removed one by one; the caller keeps a table at most half full.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Small, Words, inlined


def empty_table(slots: int) -> Small:
    """A table without entries, of the smallest power of two that is at least `slots`."""
    return np.full(1 << (slots - 1).bit_length(), -1, np.int32)


@inlined
def hash_row(rows: Words, i: int) -> np.uint64:
    """A hash of rows[i]."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(rows.shape[1]):
        h = (h ^ rows[i, w]) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


@inlined
def first_slot(table: Small, h: np.uint64) -> Any:
    """The slot at which to start looking for an entry with this hash."""
    return np.int64(h & np.uint64(table.shape[0] - 1))


@inlined
def next_slot(table: Small, slot: int) -> Any:
    """The slot to look at after one that holds another entry."""
    return (slot + 1) & (table.shape[0] - 1)


@inlined
def row_slot(rows: Words, table: Small, sought: Words, i: int) -> Any:
    """The slot that holds the entry whose row equals sought[i]; the free slot where it belongs if there is none."""
    slot = first_slot(table, hash_row(sought, i))
    while table[slot] >= 0:
        same = True
        for w in range(sought.shape[1]):
            if rows[table[slot], w] != sought[i, w]:
                same = False
                break
        if same:
            break
        slot = next_slot(table, slot)
    return slot
