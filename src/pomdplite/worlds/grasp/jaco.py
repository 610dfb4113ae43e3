"""The Kinova Jaco arm with its three-finger hand, from the robot files that come with the package dm_control.

dm_control itself is never imported: only its folder is located, and the XML files of arm and hand (Apache 2.0) are read
from there. The hand lies on its side: finger 1 is the left finger, fingers 2 and 3 together are the right one.
"""

import importlib.util
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import PomdpLiteError
from pomdplite.worlds.grasp.camera import Viewpoint
from pomdplite.worlds.grasp.touch import LEFT_FINGER, NOTHING, PALM, RIGHT_FINGER
from pomdplite.worlds.grasp.world import GraspWorld

_FILES = ("jaco_arm.xml", "jaco_hand.xml")
_HAND = "arm/hand/"  # prefix of the names of the hand's parts
_STIFF, _DAMPED = 6000.0, 400.0  # N m/rad, N m s/rad, of the arm's joints
_GRIP_STIFF, _GRIP_DAMPED, _GRIP_TORQUE = 30.0, 2.0, 1.5  # of the fingers, and their maximum torque in N m
_OPEN, _CLOSED = 0.6, 1.35  # rad, of the finger joints
_HOME = (4.377, 2.997, 5.443, 3.006, 5.206, 0.558)  # rad: initial guess for the start pose
_PALM = (0.0, 0.004, 0.035)  # m, offset from the grip site to the palm, midway between the fingers
_POINTING = np.array([[0.0, -1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]])  # columns: the hand's axes in the scene
_PRECISE = 1e-5  # m and rad, tolerance of inverse kinematics
_MOST_ITERATIONS, _DAMPING, _STRIDE = 300, 0.05, 0.3


def robot_files() -> Path:
    """The folder with the Jaco's files."""
    package = importlib.util.find_spec("dm_control")
    for location in (package.submodule_search_locations or ()) if package else ():
        folder = Path(location) / "third_party" / "kinova"
        if all((folder / name).is_file() for name in _FILES):
            return folder
    raise PomdpLiteError(
        "the Jaco's files come with the package dm_control, which is not installed: pip install 'pomdplite[robot]'; "
        "--world gantry needs no robot files."
    )


class JacoWorld(GraspWorld):
    """Position control of six joints; inverse kinematics by damped least squares."""

    robot: ClassVar[str] = "Kinova Jaco arm with its three-finger hand"
    origin: ClassVar[tuple[float, float, float]] = (0.0, 0.42, 0.45)
    palm_site: ClassVar[str] = "arm/hand/palm"
    viewpoint: ClassVar[Viewpoint] = Viewpoint(distance=1.1, azimuth=50.0, elevation=-35.0, target=(0, 0.08, 0))

    def _add_robot(self, spec: Any) -> None:
        mj, folder = self._mj, robot_files()
        arm, hand = (mj.MjSpec.from_file(str(folder / name)) for name in _FILES)
        palm = next(b for b in hand.bodies if b.name == "hand")
        grip = next(s for s in hand.sites if s.name == "gripsite")
        palm.add_site(name="palm", pos=grip.pos + np.array(_PALM))
        arm.attach(hand, site=next(s for s in arm.sites if s.name == "wristsite"), prefix="hand/")
        spec.attach(arm, frame=spec.worldbody.add_frame(), prefix="arm/")
        for body in spec.bodies:
            if body.name.startswith("arm/"):
                body.gravcomp = 1.0
        for name in (*(f"arm/joint_{i}" for i in range(1, 7)), *(f"{_HAND}finger_{i}" for i in range(1, 4))):
            actuator = spec.add_actuator(name=name, target=name, trntype=mj.mjtTrn.mjTRN_JOINT)
            if name.startswith(_HAND):
                actuator.set_to_position(kp=_GRIP_STIFF, kv=_GRIP_DAMPED)
                actuator.forcelimited, actuator.forcerange = True, [-_GRIP_TORQUE, _GRIP_TORQUE]
            else:
                actuator.set_to_position(kp=_STIFF, kv=_DAMPED)

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        joints = [self.simulation.joint(f"arm/joint_{i}") for i in range(1, 7)]
        self._arm = np.array([j.qposadr[0] for j in joints])
        self._arm_dof = np.array([j.dofadr[0] for j in joints])
        self._fingers = np.array([self.simulation.joint(f"{_HAND}finger_{i}").qposadr[0] for i in range(1, 4)])
        self._hand = self.simulation.body(f"{_HAND}hand").id
        self._scratch = self._mj.MjData(self.simulation)  # a second state of the arm, for inverse kinematics
        start = self._scene(np.array([self.grasp.start_side, self.grasp.start_depth]), self.origin[2])
        self._home = self._inverse(start, np.array(_HOME))

    def _geom_roles(self) -> Any:
        role = np.full(self.simulation.ngeom, NOTHING)
        for i in range(self.simulation.ngeom):
            name = self.simulation.geom(i).name
            if name.startswith(f"{_HAND}finger"):
                role[i] = LEFT_FINGER if name.endswith("1") else RIGHT_FINGER
            elif name.startswith(_HAND):
                role[i] = PALM
        return role

    def _start(self) -> None:
        self.data.qpos[self._arm] = self._home
        self.data.qpos[self._fingers] = _OPEN
        self.data.ctrl[:] = [*self._home, *self._finger_control(False)]

    def _arm_control(self, place: Floats) -> Floats:
        return self._inverse(place, self.data.ctrl[:6].copy())

    def _finger_control(self, closed: bool) -> Floats:
        return np.full(3, _CLOSED if closed else _OPEN)

    def _inverse(self, place: Floats, q: Floats) -> Floats:
        """Joint angles near q that bring the palm to a place in the scene, with the hand pointing into the shelf."""
        mj, scratch = self._mj, self._scratch
        jacobian = np.zeros((6, self.simulation.nv))
        for _ in range(_MOST_ITERATIONS):
            scratch.qpos[self._arm] = q
            mj.mj_kinematics(self.simulation, scratch)
            mj.mj_comPos(self.simulation, scratch)
            turned = scratch.xmat[self._hand].reshape(3, 3)
            turn = 0.5 * np.cross(turned, _POINTING, axis=0).sum(axis=1)
            error = np.concatenate([place - scratch.site_xpos[self._site], turn])
            if np.abs(error).max() < _PRECISE:
                return q
            mj.mj_jacSite(self.simulation, scratch, jacobian[:3], jacobian[3:], self._site)
            j = jacobian[:, self._arm_dof]
            change = j.T @ np.linalg.solve(j @ j.T + _DAMPING**2 * np.eye(6), error)
            q = q + change * min(1.0, _STRIDE / np.abs(change).max())
        raise PomdpLiteError(f"the arm cannot move its palm to {np.round(place, 3).tolist()} in the scene.")
