import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pomdplite.mdp.hash_table import empty_table, first_slot, hash_row, next_slot, row_slot

WORDS = st.integers(0, 2**64 - 1) | st.integers(0, 3)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(WORDS, WORDS), unique=True, min_size=2, max_size=40))
def test_every_row_that_was_inserted_is_found_and_no_other(keys):
    rows = np.array(keys, np.uint64)
    table, inserted = empty_table(2 * len(rows)), len(rows) // 2
    for i in range(inserted):
        slot = row_slot(rows, table, rows, i)
        assert table[slot] == -1
        table[slot] = i
    assert [int(table[row_slot(rows, table, rows, i)]) for i in range(inserted)] == list(range(inserted))
    assert all(table[row_slot(rows, table, rows, i)] == -1 for i in range(inserted, len(rows)))


def test_rows_with_one_hash_slot_are_told_apart():
    table = empty_table(8)
    by_slot: dict[int, list[int]] = {}
    for word in range(100):
        h = np.uint64(hash_row(np.array([[word]], np.uint64), 0))
        by_slot.setdefault(int(first_slot(table, h)), []).append(word)
    rows = np.array(by_slot[7][:3], np.uint64).reshape(-1, 1)  # the last slot: probing goes on at the first
    slots = []
    for i in range(3):
        slots.append(int(row_slot(rows, table, rows, i)))
        table[slots[-1]] = i
    assert slots == [7, 0, 1] == [7, int(next_slot(table, 7)), int(next_slot(table, 0))]


@pytest.mark.parametrize(("slots", "size"), [(1, 1), (2, 2), (3, 4), (8, 8), (9, 16)])
def test_a_table_has_a_power_of_two_of_free_slots(slots, size):
    assert empty_table(slots).tolist() == [-1] * size
