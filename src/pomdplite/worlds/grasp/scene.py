"""A robot with a gripper, a shelf and a cup, simulated by MuJoCo (extra `robot`), as a world for the grasping task.

What it does with the model's actions:

moves   guarded: the hand goes one step at a constant speed; if the cup resists, it stops and goes back to where the
        step began, as the model has it. The state given back is the lattice pose nearest to where the palm really is
close   the fingers close until they stop; `open` opens them
pick    lift the hand, and look whether the cup rose with it

The cup's true place is continuous: its listed place plus up to half a cell. Fingers feel what pushes against their
inner faces; the palm feels the cup too, which counts as both. The reward of a move is the model's for the region of the
true places of cup and palm before it; that of a pick is the model's prize, won or lost by the measured height.
"""

import ctypes.util
import logging
import os
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.compile.jit import Floats
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.mdp.sampling import pick
from pomdplite.model.model import Model
from pomdplite.problems import Grasp
from pomdplite.problems.grasp.geometry import DIRECTIONS
from pomdplite.problems.grasp.symbols import (
    CLOSE,
    FREE,
    HAND_CLOSED,
    HAND_MISSED,
    HAND_OPEN,
    HAND_PICKED,
    MISSED,
    NONE,
    OPEN,
    PICK,
    PICKED,
    TOUCH_BOTH,
    TOUCH_LEFT,
    TOUCH_RIGHT,
)  # fmt: skip
from pomdplite.worlds.base import Outcome, World

_log = logging.getLogger(__name__)
TIMESTEP = 0.002  # s
STEP_SECONDS = 0.16  # of a move; how long each part of an action takes is fixed, so none can hang
SETTLE_SECONDS = 0.08
CLOSE_SECONDS = 0.8
LIFT_SECONDS = 1.2
LIFT, RISEN = 0.10, 0.06  # m: how far the hand lifts, and how far the cup must follow
RESISTS = 0.4  # N against the motion: the cup is in the way
FELT, GRIPPED = 0.1, 1.0  # N against a finger's inner face: felt in passing, and in a grip
FORWARD = 0.5  # cosine: a push against the palm is this much straight ahead
TILTED = 0.7  # cosine: a cup that leans more has been knocked over
CUP_HEIGHT, CUP_MASS = 0.12, 0.35  # m, kg
NOTHING, LEFT_FINGER, RIGHT_FINGER, PALM = range(4)  # what a geom of the scene is to the cup


def suited(model: Model) -> Grasp:
    """The model, which must be of the grasping task."""
    if not isinstance(model, Grasp):
        raise UsageError(f"this world is a shelf with a cup, for grasp, not for {model.name}.")
    return model


def import_mujoco() -> Any:
    """MuJoCo, with a way to draw without a screen where there is one; else what to install."""
    if "MUJOCO_GL" not in os.environ and "DISPLAY" not in os.environ:
        for name, library in (("egl", "EGL"), ("osmesa", "OSMesa")):
            if ctypes.util.find_library(library):
                os.environ["MUJOCO_GL"] = name
                break
    try:
        import mujoco
    except ModuleNotFoundError as error:
        if error.name != "mujoco":
            raise PomdpLiteError(f"MuJoCo cannot be imported: {error}.") from None
        raise PomdpLiteError("this world is simulated by MuJoCo: pip install 'pomdplite[robot]'.") from None
    except (ImportError, AttributeError, RuntimeError) as error:
        chosen = os.environ.get("MUJOCO_GL")
        raise PomdpLiteError(
            f"MuJoCo cannot be imported with MUJOCO_GL={chosen}: {error}; try MUJOCO_GL=disable."
        ) from None
    # Its warnings are in its data, where they are looked at; by itself it writes them into a file in the user's folder.
    mujoco.set_mju_user_warning(_log.debug)
    return mujoco


class MujocoWorld(World):
    """The common part: the scene, guarded moves, touch, picking. A robot adds itself and how its joints go where."""

    origin: ClassVar[tuple[float, float, float]]  # where in the scene the model's (0, 0) and the palm's height are
    robot: ClassVar[str]  # its name, for reports
    palm_site: ClassVar[str]
    camera: ClassVar[dict[str, Any]]  # distance, azimuth, elevation, lookat

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.grasp = suited(model)
        self._mj = import_mujoco()
        spec = self._mj.MjSpec()
        self._furnish(spec)
        self._add_robot(spec)
        self.simulation = spec.compile()
        self.data = self._mj.MjData(self.simulation)
        self._cup = self._mj.mj_name2id(self.simulation, self._mj.mjtObj.mjOBJ_BODY, "cup")
        self._cup_geom = self._mj.mj_name2id(self.simulation, self._mj.mjtObj.mjOBJ_GEOM, "cup")
        self._cup_joint = int(self.simulation.jnt_qposadr[self.simulation.body_jntadr[self._cup]])
        self._site = self._mj.mj_name2id(self.simulation, self._mj.mjtObj.mjOBJ_SITE, self.palm_site)
        self._role = self._roles()
        warning = self._mj.mjtWarning
        self._diverging = (warning.mjWARN_BADQPOS, warning.mjWARN_BADQVEL, warning.mjWARN_BADQACC)
        self._force = np.zeros(6)
        self._renderer: Any = None

    # ------------------------------------------------------------------ what a robot says of itself

    def constants(self) -> dict[str, str]:
        """Robot, simulator, and the cup."""
        cup = f"{1000 * self.grasp.geometry.cup_radius:g} mm in radius, {1000 * CUP_HEIGHT:g} mm high, {CUP_MASS:g} kg"
        return {
            "robot": self.robot,
            "simulator": f"MuJoCo {self._mj.__version__}, steps of {1000 * TIMESTEP:g} ms",
            "true cup": f"{cup}, off its listed place by up to half a cell",
        }

    @abstractmethod
    def _add_robot(self, spec: Any) -> None:
        """Put the robot with its actuators into the scene."""

    @abstractmethod
    def _roles(self) -> Any:
        """For every geom: LEFT_FINGER, RIGHT_FINGER, PALM (any other part of the hand) or NOTHING."""

    @abstractmethod
    def _start(self) -> None:
        """Put the joints where the hand is open at the start pose, and set self.data.ctrl to stay there."""

    @abstractmethod
    def _arm_control(self, place: Floats) -> Floats:
        """What the arm's actuators are told to bring the palm to a place in the scene."""

    @abstractmethod
    def _finger_control(self, closed: bool) -> Floats:
        """What the fingers' actuators, the last ones, are told."""

    # ------------------------------------------------------------------ the scene

    def _furnish(self, spec: Any) -> None:
        """Floor, shelf, light and cup."""
        mj, (x0, y0, z) = self._mj, self.origin
        spec.option.timestep = TIMESTEP
        spec.option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
        spec.option.cone = mj.mjtCone.mjCONE_ELLIPTIC
        spec.option.impratio = 10
        spec.option.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET
        spec.visual.global_.offwidth, spec.visual.global_.offheight = 960, 720
        spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.35] * 3, [0.5] * 3
        spec.add_texture(name="sky", type=mj.mjtTexture.mjTEXTURE_SKYBOX, builtin=mj.mjtBuiltin.mjBUILTIN_GRADIENT,
                         rgb1=[0.88, 0.91, 0.95], rgb2=[0.62, 0.66, 0.72], width=64, height=64)  # fmt: skip
        world = spec.worldbody
        world.add_light(pos=[x0 - 0.6, y0 - 0.8, z + 1.2], dir=[0.4, 0.6, -0.8], diffuse=[0.5] * 3)
        board = z - CUP_HEIGHT / 2
        wood, wide, deep = [0.76, 0.6, 0.42, 1.0], 0.24, 0.22
        middle = y0 + self.grasp.cups[:, 1].mean()
        for name, pos, size, rgba in (
            ("board", [x0, middle, board - 0.01], [wide, deep / 2 + 0.02, 0.01], wood),
            ("back", [x0, middle + 0.17, z + 0.05], [wide, 0.005, 0.17], [0.7, 0.54, 0.38, 1.0]),
            ("left side", [x0 - wide, middle + 0.02, z + 0.05], [0.008, deep / 2 + 0.04, 0.17], wood),
            ("right side", [x0 + wide, middle + 0.02, z + 0.05], [0.008, deep / 2 + 0.04, 0.17], [*wood[:3], 0.25]),
        ):
            solid = int(name == "board")
            world.add_geom(name=name, type=mj.mjtGeom.mjGEOM_BOX, pos=pos, size=size, rgba=rgba,
                           friction=[1.0, 0.01, 0.001], contype=solid, conaffinity=solid)  # fmt: skip
        cup = world.add_body(name="cup", pos=[x0, middle, board + CUP_HEIGHT / 2])
        cup.add_freejoint()
        cup.add_geom(
            name="cup", type=mj.mjtGeom.mjGEOM_CYLINDER, size=[self.grasp.geometry.cup_radius, CUP_HEIGHT / 2, 0],
            mass=CUP_MASS, rgba=[0.85, 0.2, 0.2, 1.0], condim=4, friction=[1.0, 0.02, 0.001],
            solimp=[0.99, 0.999, 0.001, 0.5, 2], solref=[0.01, 1], contype=3, conaffinity=3,
        )  # fmt: skip

    # ------------------------------------------------------------------ the world's interface

    def reset(self, seed: int, episode: int = 0) -> None:
        """Put the cup somewhere in the cell of the hidden value and the hand at the start."""
        hidden = self.grasp.hidden
        prior = hidden.components[0].prior
        self._hidden = int(pick(prior, len(prior), rng.uniform(rng.stream(seed, episode, rng.HIDDEN))))
        noise = rng.stream(seed, episode, rng.WORLD)
        off = np.array([rng.uniform(noise) - 0.5 for _ in range(2)]) * self.grasp.step
        self.place_cup(self.grasp.cups[self._hidden] + off)

    def place_cup(self, where: Floats) -> None:
        """Begin with the cup at this place of the model's frame."""
        self._mj.mj_resetData(self.simulation, self.data)
        self._start()
        at = self._cup_joint
        self.data.qpos[at : at + 7] = [*self._scene(where, self.origin[2]), 1, 0, 0, 0]
        self._mj.mj_forward(self.simulation, self.data)
        self._command = self._scene(np.array([self.grasp.start_side, self.grasp.start_depth]), self.origin[2])
        self._run(SETTLE_SECONDS)
        self._x = self.grasp.initial_state()
        self._first = self.cup_place.copy()
        self.notes = ()

    def overlaps(self, where: Floats) -> bool:
        """Whether a cup at this place would share it with the hand as it is now; the cup is put there."""
        at = self._cup_joint
        self.data.qpos[at : at + 7] = [*self._scene(where, self.origin[2]), 1, 0, 0, 0]
        self._mj.mj_forward(self.simulation, self.data)
        contacts = self.data.contact
        pairs = contacts.geom[(contacts.geom == self._cup_geom).any(axis=1) & (contacts.dist < 0)]
        return bool((self._role[pairs] != NOTHING).any())

    def step(self, a: int) -> Outcome:
        """Execute an action; a simulation that diverges or a cup that is knocked over or off ends it as a miss."""
        x = self._x
        reward = self.grasp.grip_cost
        o = NONE
        x.stopped = FREE
        if a < OPEN:
            dx, dy = self.cup_place - self.palm_place
            reward = float(self.grasp.move_costs[int(self.grasp.geometry.region(dx, dy))])
            if x.hand == HAND_OPEN:
                o, stopped = self._guarded(np.array(DIRECTIONS[a], float))
                side, depth = self.palm_place
                x.side, x.depth = _nearest(self.grasp.sides, side), _nearest(self.grasp.depths, depth)
                x.stopped = 1 + a if stopped else FREE
            else:
                o = self._touch(GRIPPED)
        elif a < PICK:
            self._command_fingers(closed=a == CLOSE)
            x.hand = HAND_CLOSED if a == CLOSE else HAND_OPEN
            o = self._touch(GRIPPED) if a == CLOSE else NONE
        else:
            success = self._lift()
            x.hand, o = (HAND_PICKED, PICKED) if success else (HAND_MISSED, MISSED)
            reward = self.grasp.prize if success else -self.grasp.prize
        mishap = self._mishap()
        if mishap is not None:
            self.notes += (mishap,)
            x.hand, x.stopped, o, reward = HAND_MISSED, FREE, MISSED, -self.grasp.prize
        return self.outcome(x, o, reward)

    @property
    def x(self) -> Any:
        """The state as the model has it."""
        return self._x.copy()

    @property
    def theta(self) -> Any:
        """The listed place that the cup was put near."""
        return self.grasp.hidden.record([self._hidden])

    @property
    def truth(self) -> str:
        """Where the cup stood."""
        return f"a cup at ({self._first[0]:+.4f}, {self._first[1]:.4f})"

    @property
    def success(self) -> bool:
        """Whether the cup rose with the hand."""
        return bool(self._x.hand == HAND_PICKED)

    @property
    def cup_place(self) -> Floats:
        """The cup's true place in the model's frame."""
        return self.data.xpos[self._cup][:2] - self.origin[:2]

    @property
    def palm_place(self) -> Floats:
        """The palm's true place in the model's frame."""
        return self.data.site_xpos[self._site][:2] - self.origin[:2]

    def picture(self) -> Any:
        """What a camera beside the shelf sees."""
        mj = self._mj
        if self._renderer is None:
            try:
                self._renderer = mj.Renderer(self.simulation, 480, 640)
            except Exception as error:  # noqa: BLE001  the GL libraries each raise their own
                raise PomdpLiteError(
                    f"no picture of the world: OpenGL cannot draw without a screen here ({error}); install EGL or "
                    "OSMesa, or set MUJOCO_GL."
                ) from None
        view = mj.MjvCamera()
        view.distance, view.azimuth, view.elevation = (self.camera[k] for k in ("distance", "azimuth", "elevation"))
        view.lookat[:] = np.asarray(self.camera["lookat"]) + self.origin
        self._renderer.update_scene(self.data, view)
        return self._renderer.render()

    def close(self) -> None:
        """Give the renderer back."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None

    # ------------------------------------------------------------------ motions

    def _scene(self, where: Floats, height: float) -> Floats:
        """A place of the model's frame in the scene."""
        return np.array([self.origin[0] + where[0], self.origin[1] + where[1], height])

    def _run(self, seconds: float) -> None:
        self._mj.mj_step(self.simulation, self.data, round(seconds / TIMESTEP))

    def _guarded(self, direction: Floats) -> tuple[int, bool]:
        """Move one step, or stop where the cup resists and go back; what was felt, and whether it stopped."""
        arm = len(self.data.ctrl) - len(self._finger_control(False))
        goal = self._command + self.grasp.step * np.array([*direction, 0.0])
        before, after = self.data.ctrl[:arm].copy(), self._arm_control(goal)
        steps = round(STEP_SECONDS / TIMESTEP)
        settling = round(SETTLE_SECONDS / TIMESTEP)
        for k in range(steps + settling):
            self.data.ctrl[:arm] = before + (after - before) * min(1.0, (k + 1) / steps)
            self._mj.mj_step(self.simulation, self.data)
            if self._resistance(direction) > RESISTS:
                felt = self._touch(FELT)
                reached = self.data.ctrl[:arm].copy()
                for back in range(k + 1):
                    self.data.ctrl[:arm] = reached + (before - reached) * (back + 1) / (k + 1)
                    self._mj.mj_step(self.simulation, self.data)
                self._run(SETTLE_SECONDS)
                return felt, True
        self._command = goal
        return NONE, False

    def _command_fingers(self, closed: bool) -> None:
        goal = self._finger_control(closed)
        first = self.data.ctrl[-len(goal) :].copy()
        steps = round(CLOSE_SECONDS / TIMESTEP)
        for k in range(steps):
            self.data.ctrl[-len(goal) :] = first + (goal - first) * min(1.0, 2 * (k + 1) / steps)
            self._mj.mj_step(self.simulation, self.data)

    def _lift(self) -> bool:
        """Lift the hand; whether the cup rose with it."""
        arm = len(self.data.ctrl) - len(self._finger_control(False))
        low = float(self.data.xpos[self._cup][2])
        steps, stages = round(LIFT_SECONDS / TIMESTEP), 5
        for stage in range(stages):  # the arm's joints do not go straight over the whole way
            before = self.data.ctrl[:arm].copy()
            after = self._arm_control(self._command + np.array([0, 0, LIFT * (stage + 1) / stages]))
            for k in range(steps // stages):
                self.data.ctrl[:arm] = before + (after - before) * (k + 1) / (steps // stages)
                self._mj.mj_step(self.simulation, self.data)
        self._run(SETTLE_SECONDS)
        return bool(self.data.xpos[self._cup][2] - low > RISEN)

    def _mishap(self) -> str | None:
        """What went wrong with the cup or the simulation, in words."""
        if any(self.data.warning[int(kind)].number for kind in self._diverging):
            return "the simulation diverged; the trial counts as failed"
        if self._x.hand == HAND_PICKED:
            return None
        if self.data.xpos[self._cup][2] < self.origin[2] - 0.03 and self._x.hand == HAND_OPEN:
            return "the cup fell off the shelf; the trial counts as failed"
        if self.data.xmat[self._cup][8] < TILTED:
            return "the cup was knocked over; the trial counts as failed"
        return None

    # ------------------------------------------------------------------ touch

    def _pushes(self) -> list[tuple[int, Floats, float]]:
        """Contacts of the hand with the cup: which part, the direction towards the cup, and the force in N."""
        data, found = self.data, []
        for i in np.flatnonzero((data.contact.geom == self._cup_geom).any(axis=1)):
            contact = data.contact[i]
            second = contact.geom[1] == self._cup_geom
            role = int(self._role[contact.geom[0 if second else 1]])
            if role != NOTHING:
                self._mj.mj_contactForce(self.simulation, data, int(i), self._force)
                found.append((role, contact.frame[:3] * (1.0 if second else -1.0), float(self._force[0])))
        return found

    def _resistance(self, direction: Floats) -> float:
        """How hard the cup pushes against a motion, in N."""
        return sum(force * max(0.0, float(towards[:2] @ direction)) for _, towards, force in self._pushes())

    def _touch(self, least: float) -> int:
        """What the sensors say: an observation of the model."""
        felt = [0.0, 0.0]
        for role, towards, force in self._pushes():
            if role == PALM and towards[1] > FORWARD:
                felt = [f + force for f in felt]
            elif role == LEFT_FINGER and towards[0] > self.grasp.geometry.inward:
                felt[0] += force
            elif role == RIGHT_FINGER and -towards[0] > self.grasp.geometry.inward:
                felt[1] += force
        return (NONE, TOUCH_LEFT, TOUCH_RIGHT, TOUCH_BOTH)[(felt[0] >= least) + 2 * (felt[1] >= least)]


def _nearest(line: Floats, value: float) -> float:
    return float(line[np.argmin(np.abs(line - value))])
