"""Names for the numbered actions, observations and state labels of the grasping task."""

RIGHT, LEFT, FORWARD, BACK, OPEN, CLOSE, PICK = range(7)
NONE, TOUCH_LEFT, TOUCH_RIGHT, TOUCH_BOTH, PICKED, MISSED = range(6)
HAND_OPEN, HAND_CLOSED, HAND_PICKED, HAND_MISSED = range(4)
FREE = 0  # x.stopped; otherwise 1 + the move that was stopped
