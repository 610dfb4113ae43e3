"""Touch: contact forces between hand and cup, and the observation that the model has for them.

A finger feels what pushes against its inner face. The palm feels the cup as well, which counts as both fingers.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.problems.grasp.symbols import NONE, TOUCH_BOTH, TOUCH_LEFT, TOUCH_RIGHT

NOTHING, LEFT_FINGER, RIGHT_FINGER, PALM = range(4)  # the role of a geom in a contact with the cup
_FORWARD = 0.5  # cosine: how far straight ahead a push against the palm must point to count


class TouchSensors:
    """The contacts of the hand with the cup."""

    def __init__(self, mj: Any, simulation: Any, data: Any, cup: int, roles: Any, inward: float) -> None:
        self._mj, self._simulation, self._data = mj, simulation, data
        self._cup, self._roles = cup, roles  # the cup's geom, and the role of every geom
        self._inward = inward  # cosine: how far inward a push against a finger must point to count
        self._force = np.zeros(6)

    def overlap(self) -> bool:
        """Whether the hand and the cup occupy the same space."""
        contacts = self._data.contact
        pairs = contacts.geom[(contacts.geom == self._cup).any(axis=1) & (contacts.dist < 0)]
        return bool((self._roles[pairs] != NOTHING).any())

    def resistance(self, direction: Floats) -> float:
        """The force of the cup against a motion, in N."""
        return sum(force * max(0.0, float(towards[:2] @ direction)) for _, towards, force in self._pushes())

    def observation(self, threshold: float) -> int:
        """The model's observation for what the sensors feel; forces below the threshold, in N, are not felt."""
        felt = [0.0, 0.0]
        for role, towards, force in self._pushes():
            if role == PALM and towards[1] > _FORWARD:
                felt = [f + force for f in felt]
            elif role == LEFT_FINGER and towards[0] > self._inward:
                felt[0] += force
            elif role == RIGHT_FINGER and -towards[0] > self._inward:
                felt[1] += force
        return (NONE, TOUCH_LEFT, TOUCH_RIGHT, TOUCH_BOTH)[(felt[0] >= threshold) + 2 * (felt[1] >= threshold)]

    def _pushes(self) -> list[tuple[int, Floats, float]]:
        """Contacts of the hand with the cup: role of the part, direction towards the cup, and force in N."""
        data, found = self._data, []
        for i in np.flatnonzero((data.contact.geom == self._cup).any(axis=1)):
            contact = data.contact[i]
            second = contact.geom[1] == self._cup
            role = int(self._roles[contact.geom[0 if second else 1]])
            if role != NOTHING:
                self._mj.mj_contactForce(self._simulation, data, int(i), self._force)
                found.append((role, contact.frame[:3] * (1.0 if second else -1.0), float(self._force[0])))
        return found
