"""The grasping task with the geometry of a simulated robot hand, fitted by benchmarks/fit_grasp.py.

The cup may stand anywhere in its cell (`spread`). `mismatch` and `noise` allow for what the geometry does not capture,
so that a single surprise cannot rule out the true position.
"""

from pomdplite.problems.grasp.geometry import Geometry
from pomdplite.problems.grasp.rules import Grasp

GANTRY = Geometry(inward=0.9, held_near=0.0, held_far=0.095, spread=0.005)
JACO = Geometry(
    opening=0.111, flare=0.004, finger_length=0.071, finger_thickness=0.007, palm=0.024, cup_radius=0.035, inward=0.5,
    held_side=0.06, held_near=0.0, held_far=0.085, spread=0.005,
)  # fmt: skip


def grasp_gantry() -> Grasp:
    """Make the model for the two-finger gantry."""
    return Grasp(GANTRY, noise=0.01, mismatch=0.005, beta=0.5)


def grasp_jaco() -> Grasp:
    """Make the model for the Kinova Jaco."""
    return Grasp(JACO, noise=0.01, mismatch=0.005, beta=0.5)
