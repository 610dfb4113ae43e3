"""The grasping task without noise, solved by a second program that shares no code with the solvers or the model's rules.

Without noise every outcome is determined by the cup, so a belief is the set of cups that are still possible, a bit
mask. The rules are written out again on the model's tables (where the cup blocks a move, what the fingers feel, where
the cup is in the hand), and the value is found by plain value iteration on all reachable (state, set) pairs.
"""

import numpy as np

import pomdplite as pl
from pomdplite.problems.grasp.rules import (
    BACK,
    CLOSE,
    FORWARD,
    LEFT,
    MISSED,
    NONE,
    OPEN,
    PICK,
    PICKED,
    RIGHT,
    TOUCH_BOTH,
)

MOVES = {RIGHT: (1, 0), LEFT: (-1, 0), FORWARD: (0, 1), BACK: (0, -1)}
END = "end"


def step(model: pl.Grasp, x, cup: int, a: int):
    """(next x, observation, reward) where x = (column, row, whether the hand is closed, the move that was stopped)."""
    i, j, closed, stopped = x
    if a == PICK:
        picked = closed and model.held[cup, i, j] == 1.0
        return END, PICKED if picked else MISSED, 100.0 if picked else -100.0
    if a in MOVES:
        reward = model.cost[cup, i, j]
        if closed:
            y = (i, j, True, None)
        elif stopped == a or model.blocked[cup, i, j, a] == 1.0:
            return (i, j, False, a), int(model.sensed[cup, i, j, a].argmax()), reward
        else:
            y = (i + MOVES[a][0], j + MOVES[a][1], False, None)
    else:
        reward, y = -10.0, (i, j, a == CLOSE, None)
    return y, TOUCH_BOTH if y[2] and model.held[cup, y[0], y[1]] == 1.0 else NONE, reward


def legal(model: pl.Grasp, x) -> list[int]:
    within = [
        a for a, (di, dj) in MOVES.items() if 0 <= x[0] + di < len(model.sides) and 0 <= x[1] + dj < len(model.depths)
    ]
    return [*within, OPEN, CLOSE, PICK]


def by_outcome(model: pl.Grasp, x, a: int):
    """The cups that lead to each outcome and to each reward, as masks."""
    outcomes, rewards = {}, {}
    for cup in range(len(model.cups)):
        y, o, reward = step(model, x, cup, a)
        outcomes[y, o] = outcomes.get((y, o), 0) | 1 << cup
        rewards[reward] = rewards.get(reward, 0) | 1 << cup
    return [(y, mask) for (y, _), mask in outcomes.items()], list(rewards.items())


def solve(model: pl.Grasp, tolerance: float = 1e-9):
    """(Bayes-optimal value, value if the cup is known) from the start, every cup equally likely."""
    start = (int(np.argmin(abs(model.sides - model.start_side))), int(np.argmin(abs(model.depths))), False, None)
    everything = (1 << len(model.cups)) - 1
    roots = [(start, everything), *((start, 1 << cup) for cup in range(len(model.cups)))]
    numbers, queue, rules = {root: n for n, root in enumerate(roots)}, list(roots), {}
    owner, rewards, edge_pair, edge_next, edge_chance = [], [], [], [], []
    for x, cups in queue:  # grows
        node = numbers[x, cups]
        for a in legal(model, x):
            if (x, a) not in rules:
                rules[x, a] = by_outcome(model, x, a)
            outcomes, gains = rules[x, a]
            pair = len(owner)
            owner.append(node)
            rewards.append(sum(r * (cups & mask).bit_count() for r, mask in gains) / cups.bit_count())
            for y, mask in outcomes:
                left = cups & mask
                if left and y != END:
                    if (y, left) not in numbers:
                        numbers[y, left] = len(numbers)
                        queue.append((y, left))
                    edge_pair.append(pair)
                    edge_next.append(numbers[y, left])
                    edge_chance.append(left.bit_count() / cups.bit_count())
    owner, rewards, pairs = np.array(owner), np.array(rewards), len(owner)
    first = np.searchsorted(owner, np.arange(len(numbers)))
    edge_pair, edge_next, edge_chance = np.array(edge_pair), np.array(edge_next), model.discount * np.array(edge_chance)
    v, change = np.full(len(numbers), -100.0 / (1 - model.discount)), np.inf
    while change > tolerance:
        q = rewards + np.bincount(edge_pair, edge_chance * v[edge_next], pairs)
        new = np.maximum.reduceat(q, first)
        change, v = np.abs(new - v).max(), new
    return float(v[0]), float(v[1 : len(roots)].mean())


if __name__ == "__main__":
    print(solve(pl.Grasp()))
