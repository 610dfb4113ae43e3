"""Battleship's belief: the prior over boards, and the Markov chain that keeps particles diverse.

The prior is uniform over valid boards and sampled exactly. The chain leaves the posterior given all shots unchanged;
it moves one ship at a time or two at once. A board that contradicts a shot has no weight under the posterior and is
first repaired.
"""

from typing import Any

import numpy as np

from pomdplite.problems.battleship.bitboards import count_bits
from pomdplite.rng import uniform

TAKEN, MISSED, UNEXPLAINED = range(3)  # rows of the constraints on one ship
PAIR_PROBABILITY = 0.3  # of moving two ships at once
INVERSE_TEMPERATURE = 3.0  # of repairs: the penalty for each shot that a placement contradicts
NOWHERE = -1  # no placement
NO_SHIP = -1


def sample_board(m: Any, theta: Any, random: Any) -> None:
    """Draw a board from the prior: place all ships independently, and start over if two overlap or touch."""
    while True:  # about one board in thirty is valid on the published sizes
        valid = True
        for ship in range(m.ships):
            theta.place[ship] = int(uniform(random) * m.places[ship])
            for other in range(ship):
                if touches(m, ship, theta.place[ship], other, theta.place[other]):
                    valid = False
            if not valid:
                break
        if valid:
            break
    fill_board(m, theta)


def move_board(m: Any, x: Any, theta: Any, random: Any) -> bool:
    """Take one step of the chain. Return whether the board changed."""
    if not is_consistent(x, theta):
        return repair(m, x, theta, random)
    if m.ships > 1 and uniform(random) < PAIR_PROBABILITY:
        return move_pair(m, x, theta, random)
    ship = int(uniform(random) * m.ships)
    chosen, _ = sample_place(m, constraints_on(m, x, theta, ship, NO_SHIP, True), ship, random)
    return place_ship(m, theta, ship, chosen)


def move_pair(m: Any, x: Any, theta: Any, random: Any) -> bool:
    """Remove two ships; put the first anywhere it fits and the second where it explains all remaining hits.

    This is a Metropolis–Hastings step. The first ship is drawn from a set that does not depend on where the two were;
    the second from n places, where the reverse step has n₀. The step is therefore accepted with probability n / n₀. It
    connects boards on which two ships explain each other's hits, which no move of a single ship does.
    """
    one = int(uniform(random) * m.ships)
    two = int(uniform(random) * (m.ships - 1))
    if two >= one:
        two += 1
    old_one = theta.place[one]
    before = count_places(m, constraints_on(m, x, theta, two, NO_SHIP, True), two)
    new_one, _ = sample_place(m, constraints_on(m, x, theta, one, two, False), one, random)
    theta.place[one] = new_one
    new_two, after = sample_place(m, constraints_on(m, x, theta, two, NO_SHIP, True), two, random)
    theta.place[one] = old_one
    if new_two == NOWHERE or uniform(random) * before >= after:
        return False
    changed = place_ship(m, theta, one, new_one)
    return place_ship(m, theta, two, new_two) or changed


def repair(m: Any, x: Any, theta: Any, random: Any) -> bool:
    """Move one ship to a place that contradicts few shots: w contradictions have weight exp(−INVERSE_TEMPERATURE · w).

    These are Gibbs steps on a softened posterior, so nearly consistent boards become consistent and dead ends are left.
    """
    ship = int(uniform(random) * m.ships)
    constraints = constraints_on(m, x, theta, ship, NO_SHIP, True)
    total, chosen = 0.0, NOWHERE
    for place in range(m.places[ship]):
        wrong, touching = 0, False
        for word in range(constraints.shape[1]):
            cells = m.cells[ship, place, word]
            touching = touching or (cells & constraints[TAKEN, word]) != 0
            wrong += count_bits(cells & constraints[MISSED, word]) + count_bits(constraints[UNEXPLAINED, word] & ~cells)
        if touching:
            continue
        weight = np.exp(-INVERSE_TEMPERATURE * wrong)
        total += weight
        if uniform(random) * total < weight:
            chosen = place
    return place_ship(m, theta, ship, chosen)


def touches(m: Any, ship: int, place: int, other: int, other_place: int) -> bool:
    """Whether two placements overlap or touch."""
    for word in range(m.cells.shape[2]):
        if m.cells[ship, place, word] & m.halo[other, other_place, word]:
            return True
    return False


def is_consistent(x: Any, theta: Any) -> bool:
    """Whether a board explains every hit and every miss."""
    for word in range(theta.board.shape[0]):
        if theta.board[word] & (x.fired[word] & ~x.hits[word]) or x.hits[word] & ~theta.board[word]:
            return False
    return True


def constraints_on(m: Any, x: Any, theta: Any, ship: int, ignored: int, explain: bool) -> Any:
    """Cells that constrain a ship, given all others except `ignored`: [TAKEN | MISSED | UNEXPLAINED, word].

    With `explain`, the ship must cover every hit that the others leave unexplained.
    """
    constraints = np.zeros((3, theta.board.shape[0]), np.uint64)
    for word in range(theta.board.shape[0]):
        constraints[MISSED, word] = x.fired[word] & ~x.hits[word]
        constraints[UNEXPLAINED, word] = x.hits[word] if explain else np.uint64(0)
        for other in range(m.ships):
            if other not in (ship, ignored):
                constraints[TAKEN, word] |= m.halo[other, theta.place[other], word]
                constraints[UNEXPLAINED, word] &= ~m.cells[other, theta.place[other], word]
    return constraints


def fits(m: Any, constraints: Any, ship: int, place: int) -> bool:
    """Whether a placement covers no miss, touches no other ship and explains the hits it must."""
    for word in range(constraints.shape[1]):
        cells = m.cells[ship, place, word]
        if cells & (constraints[TAKEN, word] | constraints[MISSED, word]) or constraints[UNEXPLAINED, word] & ~cells:
            return False
    return True


def count_places(m: Any, constraints: Any, ship: int) -> int:
    """Count the placements that fit."""
    count = 0
    for place in range(m.places[ship]):
        if fits(m, constraints, ship, place):
            count += 1
    return count


def sample_place(m: Any, constraints: Any, ship: int, random: Any) -> tuple[int, int]:
    """Draw uniformly from the placements that fit (NOWHERE if none does). Return it with their number."""
    count = count_places(m, constraints, ship)
    left = int(uniform(random) * count)
    for place in range(m.places[ship] if count else 0):
        if fits(m, constraints, ship, place):
            if left == 0:
                return place, count
            left -= 1
    return NOWHERE, count


def place_ship(m: Any, theta: Any, ship: int, place: int) -> bool:
    """Put a ship at a place, unless that is NOWHERE. Return whether the board changed."""
    if place == NOWHERE or place == theta.place[ship]:
        return False
    theta.place[ship] = place
    fill_board(m, theta)
    return True


def fill_board(m: Any, theta: Any) -> None:
    """Recompute theta.board from the ships' places."""
    for word in range(theta.board.shape[0]):
        theta.board[word] = 0
        for ship in range(m.ships):
            theta.board[word] |= m.cells[ship, theta.place[ship], word]
