"""A two-finger gripper on a gantry, built from boxes: the fast world, which needs no robot files.

Its hand has the planning model's geometry, palm and fingers, and moves on three linear axes.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.worlds.grasp.camera import Viewpoint
from pomdplite.worlds.grasp.touch import LEFT_FINGER, NOTHING, PALM, RIGHT_FINGER
from pomdplite.worlds.grasp.world import GraspWorld

_STIFF, _DAMPED = 8000.0, 300.0  # N/m, N s/m, of the axes
_GRIP_STIFF, _GRIP_DAMPED, _GRIP_FORCE = 2000.0, 60.0, 25.0  # of the fingers, and their maximum force in N
_HEIGHT = 0.025  # half height of palm and fingers


class GantryWorld(GraspWorld):
    """Boxes on linear axes."""

    robot: ClassVar[str] = "two-finger gantry made of boxes"
    origin: ClassVar[tuple[float, float, float]] = (0.0, 0.0, 0.4)
    palm_site: ClassVar[str] = "palm"
    viewpoint: ClassVar[Viewpoint] = Viewpoint(distance=0.75, azimuth=60.0, elevation=-40.0, target=(0, 0.13, 0))

    def _add_robot(self, spec: Any) -> None:
        mj, hand, body = self._mj, self.grasp.geometry, spec.worldbody
        box = {"type": mj.mjtGeom.mjGEOM_BOX, "rgba": [0.35, 0.37, 0.4, 1], "condim": 4, "friction": [1.0, 0.02, 0.001]}
        for name, axis in (("x", [1, 0, 0]), ("y", [0, 1, 0]), ("z", [0, 0, 1])):
            body = body.add_body(
                name=f"carriage {name}", gravcomp=1.0, pos=list(self.origin) if name == "x" else [0, 0, 0]
            )
            body.add_joint(name=name, type=mj.mjtJoint.mjJNT_SLIDE, axis=axis, armature=2.0, damping=20.0)
            body.add_geom(name=f"carriage {name}", type=mj.mjtGeom.mjGEOM_SPHERE, size=[0.005, 0, 0], pos=[0, -0.1, 0],
                          mass=0.5, contype=0, conaffinity=0)  # fmt: skip
        outer = hand.opening / 2 + hand.finger_thickness
        body.add_site(name="palm")
        body.add_geom(name="palm", pos=[0, hand.palm - 0.015, 0], size=[outer, 0.015, _HEIGHT], mass=0.5, **box)
        body.add_geom(name="beam", type=mj.mjtGeom.mjGEOM_CAPSULE, fromto=[0, -0.03, 0, 0, -0.25, 0], size=[0.02, 0, 0],
                      mass=0.1, rgba=[0.6, 0.62, 0.65, 1], contype=0, conaffinity=0)  # fmt: skip
        for name, side in (("left", -1), ("right", 1)):
            across, ahead = side * (hand.opening + hand.finger_thickness) / 2, hand.finger_length / 2
            finger = body.add_body(name=name, pos=[across, ahead, 0], gravcomp=1.0)
            finger.add_joint(name=name, type=mj.mjtJoint.mjJNT_SLIDE, axis=[-side, 0, 0], armature=0.3, damping=5.0,
                             range=[0, hand.opening / 2 - 0.005])  # fmt: skip
            finger.add_geom(name=name, size=[hand.finger_thickness / 2, ahead, _HEIGHT], mass=0.1, **box)
        for name in ("x", "y", "z", "left", "right"):
            actuator = spec.add_actuator(name=name, target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
            if name in ("left", "right"):
                actuator.set_to_position(kp=_GRIP_STIFF, kv=_GRIP_DAMPED)
                actuator.forcelimited, actuator.forcerange = True, [-_GRIP_FORCE, _GRIP_FORCE]
            else:
                actuator.set_to_position(kp=_STIFF, kv=_DAMPED)

    def _geom_roles(self) -> Any:
        role = np.full(self.simulation.ngeom, NOTHING)
        for name, what in (("palm", PALM), ("left", LEFT_FINGER), ("right", RIGHT_FINGER)):
            role[self._mj.mj_name2id(self.simulation, self._mj.mjtObj.mjOBJ_GEOM, name)] = what
        return role

    def _start(self) -> None:
        axes = [self.simulation.joint(name).qposadr[0] for name in ("x", "y", "z")]
        place = [self.grasp.start_side, self.grasp.start_depth, 0.0]
        self.data.qpos[axes] = place
        self.data.ctrl[:] = [*place, 0.0, 0.0]

    def _arm_control(self, place: Floats) -> Floats:
        return place - self.origin

    def _finger_control(self, closed: bool) -> Floats:
        return np.full(2, self.grasp.geometry.opening / 2 - 0.005 if closed else 0.0)
