"""The grasping task without noise, solved by a second program that shares no code with the solvers or the model's rules.

Without noise every outcome is determined by the cup, so a belief is the set of cups that are still possible, a bit
mask. The rules are written out again on the model's tables (where the cup blocks a move, what the fingers feel, where
the cup is in the hand), and the value is found by heuristic search over (state, set) pairs.
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


def cup_known_values(model: pl.Grasp, start) -> list[dict]:
    """For every cup the value of each x that can be reached from the start, by value iteration."""
    found = []
    for cup in range(len(model.cups)):
        moves, queue = {}, [start]
        for x in queue:  # grows
            if x not in moves:
                moves[x] = [(y, reward) for y, _, reward in (step(model, x, cup, a) for a in legal(model, x))]
                queue += [y for y, _ in moves[x] if y != END and y not in moves]
        v, change = dict.fromkeys(moves, -100.0), 1.0  # picking at once is worth at least that
        v[END] = 0.0
        while change > 0.0:
            change = 0.0
            for x, choices in moves.items():
                best = max(reward + model.discount * v[y] for y, reward in choices)
                change, v[x] = max(change, abs(best - v[x])), best
        found.append(v)
    return found


class Search:
    """LAO* (Hansen and Zilberstein 2001) over pairs (x, set of cups), from above: the value of knowing the cup."""

    def __init__(self, model: pl.Grasp) -> None:
        self.model = model
        column, row = (
            int(np.argmin(abs(line - at)))
            for line, at in ((model.sides, model.start_side), (model.depths, model.start_depth))
        )
        self.start = (column, row, False, None)
        self.known = cup_known_values(model, self.start)
        self.rules, self.actions, self.v = {}, {}, {}

    def value(self, pair) -> float:
        if pair not in self.v:
            x, cups = pair
            members = [cup for cup in range(len(self.known)) if cups >> cup & 1]
            self.v[pair] = sum(self.known[cup][x] for cup in members) / len(members)
        return self.v[pair]

    def expand(self, pair) -> None:
        """List the actions of a pair: reward, and (probability, next pair) of every outcome."""
        (x, cups), count = pair, pair[1].bit_count()
        self.actions[pair] = []
        for a in legal(self.model, x):
            if (x, a) not in self.rules:
                self.rules[x, a] = by_outcome(self.model, x, a)
            outcomes, gains = self.rules[x, a]
            reward = sum(r * (cups & mask).bit_count() for r, mask in gains) / count
            after = [
                ((cups & mask).bit_count() / count, (y, cups & mask))
                for y, mask in outcomes
                if y != END and cups & mask
            ]
            self.actions[pair].append((reward, after))

    def back_up(self, pair) -> list:
        """Update the value of a pair; what follows its best action."""
        gamma = self.model.discount
        best, after = max(
            ((r + gamma * sum(p * self.value(y) for p, y in after), after) for r, after in self.actions[pair]),
            key=lambda found: found[0],
        )
        self.change = max(self.change, abs(best - self.value(pair)))
        self.v[pair] = best
        return [y for _, y in after]

    def improve(self, root) -> bool:
        """Expand and back up, last pairs first, what the best actions lead to; whether anything changed."""
        self.change, new, order, stack, seen = 0.0, 0, [], [root], {root}
        while stack:
            pair = stack.pop()
            order.append(pair)
            if pair not in self.actions:
                new += 1
                self.expand(pair)
                continue
            for y in self.back_up(pair):
                if y not in seen:
                    seen.add(y)
                    stack.append(y)
        for pair in reversed(order):
            self.back_up(pair)
        return new > 0 or self.change > 1e-10


def solve(model: pl.Grasp) -> tuple[float, float]:
    """(Bayes-optimal value, value if the cup is known) from the start, every cup equally likely."""
    search = Search(model)
    root = (search.start, (1 << len(model.cups)) - 1)
    cup_known = search.value(root)
    while search.improve(root):
        pass
    return search.value(root), cup_known


if __name__ == "__main__":
    print(solve(pl.Grasp()))
