"""The world of the grasping task: how a robot with a gripper executes the model's actions in MuJoCo.

move    guarded: the hand moves one step at constant speed; if the cup resists, it stops and returns to where the step
        began, as in the model. The returned state is the lattice pose nearest to the palm's true position
close   the fingers close until they stop; `open` opens them
pick    lift the hand, and check whether the cup rose with it

The cup's true position is continuous: its listed position plus up to half a cell. The reward of a move is the model's
for the region given by the true positions of cup and palm before the move; that of a pick is plus or minus the model's
prize, by the measured height of the cup.
"""

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from pomdplite import rng
from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
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
)
from pomdplite.worlds.base import StepResult, World
from pomdplite.worlds.grasp.camera import Camera, Viewpoint
from pomdplite.worlds.grasp.scene import CUP, CUP_HEIGHT, CUP_MASS, TIMESTEP, add_scene
from pomdplite.worlds.grasp.simulator import import_mujoco
from pomdplite.worlds.grasp.touch import TouchSensors

_MOVE_SECONDS = 0.16  # every part of an action takes a fixed simulated time, so that none can hang
_SETTLE_SECONDS = 0.08
_CLOSE_SECONDS = 0.8
_LIFT_SECONDS = 1.2
_LIFT, _RISEN = 0.10, 0.06  # m: how far the hand lifts, and how far the cup must follow
_RESISTS = 0.4  # N against the motion: the cup is in the way
_FELT, _GRIPPED = 0.1, 1.0  # N against a finger's inner face: felt in passing, and in a grip
_TILTED = 0.7  # cosine: a cup that leans more has been knocked over
_FALLEN = 0.03  # m below its place on the shelf


def require_grasp(model: Model) -> Grasp:
    """The model, if it is a grasping task; UsageError otherwise."""
    if not isinstance(model, Grasp):
        raise UsageError(f"this world is a shelf with a cup, for grasp, not for {model.name}.")
    return model


class GraspWorld(World):
    """What all robots share: scene, guarded moves, picking. A subclass adds its robot and controls the joints."""

    origin: ClassVar[tuple[float, float, float]]  # the model's (0, 0) and the palm's height, in the scene
    robot: ClassVar[str]  # its name, for reports
    palm_site: ClassVar[str]
    viewpoint: ClassVar[Viewpoint]

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.grasp = require_grasp(model)
        self._mj = import_mujoco()
        spec = self._mj.MjSpec()
        add_scene(self._mj, spec, self.grasp, self.origin)
        self._add_robot(spec)
        self.simulation = spec.compile()
        self.data = self._mj.MjData(self.simulation)
        self._cup = self.simulation.body(CUP).id
        self._cup_joint = int(self.simulation.jnt_qposadr[self.simulation.body_jntadr[self._cup]])
        self._site = self.simulation.site(self.palm_site).id
        self._touch = TouchSensors(
            self._mj, self.simulation, self.data, self.simulation.geom(CUP).id, self._geom_roles(),
            self.grasp.geometry.inward,
        )  # fmt: skip
        self.camera = Camera(self._mj, self.simulation, self.viewpoint, self.origin)
        warning = self._mj.mjtWarning
        self._diverging = (warning.mjWARN_BADQPOS, warning.mjWARN_BADQVEL, warning.mjWARN_BADQACC)

    # ------------------------------------------------------------------ what a robot defines

    @abstractmethod
    def _add_robot(self, spec: Any) -> None:
        """Add the robot and its actuators to the scene."""

    @abstractmethod
    def _geom_roles(self) -> Any:
        """For every geom: LEFT_FINGER, RIGHT_FINGER, PALM (any other part of the hand) or NOTHING."""

    @abstractmethod
    def _start(self) -> None:
        """Place the joints for an open hand at the start pose, and set self.data.ctrl to hold it."""

    @abstractmethod
    def _arm_control(self, place: Floats) -> Floats:
        """Commands for the arm's actuators that bring the palm to a place in the scene."""

    @abstractmethod
    def _finger_control(self, closed: bool) -> Floats:
        """Commands for the fingers' actuators, which are the last ones."""

    # ------------------------------------------------------------------ the world's interface

    def reset(self, seed: int, episode: int = 0) -> None:
        """Put the cup somewhere in the cell of the hidden value, and the hand at the start."""
        prior = self.grasp.hidden.components[0].prior
        self._hidden = int(pick(prior, len(prior), rng.uniform(rng.stream(seed, episode, rng.HIDDEN))))
        noise = rng.stream(seed, episode, rng.WORLD)
        offset = np.array([rng.uniform(noise) - 0.5 for _ in range(2)]) * self.grasp.step
        self.place_cup(self.grasp.cups[self._hidden] + offset)

    def place_cup(self, where: Floats) -> None:
        """Start an episode with the cup at this place in the model's frame."""
        self._mj.mj_resetData(self.simulation, self.data)
        self._start()
        self._put_cup(where)
        self._command = self._scene(np.array([self.grasp.start_side, self.grasp.start_depth]), self.origin[2])
        self._run(_SETTLE_SECONDS)
        self._x = self.grasp.initial_state()
        self._cup_start = self.cup_place.copy()
        self.notes = ()

    def overlaps(self, where: Floats) -> bool:
        """Move the cup to this place; whether it then overlaps the hand as it is now."""
        self._put_cup(where)
        return self._touch.overlap()

    def step(self, a: int) -> StepResult:
        """Execute an action. If the simulation diverges or the cup falls, the episode ends as a failed pick."""
        x = self._x
        reward = self.grasp.grip_cost
        o = NONE
        x.stopped = FREE
        if a < OPEN:
            dx, dy = self.cup_place - self.palm_place
            reward = float(self.grasp.move_costs[int(self.grasp.geometry.region(dx, dy))])
            if x.hand == HAND_OPEN:
                o, stopped = self._guarded_move(np.array(DIRECTIONS[a], float))
                side, depth = self.palm_place
                x.side, x.depth = _nearest(self.grasp.sides, side), _nearest(self.grasp.depths, depth)
                x.stopped = 1 + a if stopped else FREE
            else:
                o = self._touch.observation(_GRIPPED)
        elif a < PICK:
            self._move_fingers(closed=a == CLOSE)
            x.hand = HAND_CLOSED if a == CLOSE else HAND_OPEN
            o = self._touch.observation(_GRIPPED) if a == CLOSE else NONE
        else:
            success = self._lift()
            x.hand, o = (HAND_PICKED, PICKED) if success else (HAND_MISSED, MISSED)
            reward = self.grasp.prize if success else -self.grasp.prize
        mishap = self._mishap()
        if mishap is not None:
            self.notes += (mishap,)
            x.hand, x.stopped, o, reward = HAND_MISSED, FREE, MISSED, -self.grasp.prize
        return self.step_result(x, o, reward)

    @property
    def x(self) -> Any:
        """The state in the model's terms."""
        return self._x.copy()

    @property
    def theta(self) -> Any:
        """The listed place near which the cup was put."""
        return self.grasp.hidden.record([self._hidden])

    @property
    def truth(self) -> str:
        """Where the cup stood at the start."""
        return f"a cup at ({self._cup_start[0]:+.4f}, {self._cup_start[1]:.4f})"

    @property
    def success(self) -> bool:
        """Whether the cup rose with the hand."""
        return bool(self._x.hand == HAND_PICKED)

    @property
    def cup_place(self) -> Floats:
        """The cup's true position in the model's frame."""
        return self.data.xpos[self._cup][:2] - self.origin[:2]

    @property
    def palm_place(self) -> Floats:
        """The palm's true position in the model's frame."""
        return self.data.site_xpos[self._site][:2] - self.origin[:2]

    def constants(self) -> dict[str, str]:
        """Robot, simulator, and the cup."""
        cup = f"{1000 * self.grasp.geometry.cup_radius:g} mm in radius, {1000 * CUP_HEIGHT:g} mm high, {CUP_MASS:g} kg"
        return {
            "robot": self.robot,
            "simulator": f"MuJoCo {self._mj.__version__}, steps of {1000 * TIMESTEP:g} ms",
            "true cup": f"{cup}, off its listed place by up to half a cell",
        }

    def picture(self) -> Any:
        """The view of a camera beside the shelf."""
        return self.camera.picture(self.data)

    def close(self) -> None:
        """Release the renderer."""
        self.camera.close()

    # ------------------------------------------------------------------ motions

    def _scene(self, where: Floats, height: float) -> Floats:
        """A place in the model's frame, in the scene's coordinates."""
        return np.array([self.origin[0] + where[0], self.origin[1] + where[1], height])

    def _put_cup(self, where: Floats) -> None:
        at = self._cup_joint
        self.data.qpos[at : at + 7] = [*self._scene(where, self.origin[2]), 1, 0, 0, 0]
        self._mj.mj_forward(self.simulation, self.data)

    def _run(self, seconds: float) -> None:
        self._mj.mj_step(self.simulation, self.data, round(seconds / TIMESTEP))

    def _guarded_move(self, direction: Floats) -> tuple[int, bool]:
        """Move one step, or stop where the cup resists and return; the observation, and whether the hand stopped."""
        arm = len(self.data.ctrl) - len(self._finger_control(False))
        goal = self._command + self.grasp.step * np.array([*direction, 0.0])
        before, after = self.data.ctrl[:arm].copy(), self._arm_control(goal)
        steps = round(_MOVE_SECONDS / TIMESTEP)
        settling = round(_SETTLE_SECONDS / TIMESTEP)
        for k in range(steps + settling):
            self.data.ctrl[:arm] = before + (after - before) * min(1.0, (k + 1) / steps)
            self._mj.mj_step(self.simulation, self.data)
            if self._touch.resistance(direction) > _RESISTS:
                felt = self._touch.observation(_FELT)
                reached = self.data.ctrl[:arm].copy()
                for back in range(k + 1):
                    self.data.ctrl[:arm] = reached + (before - reached) * (back + 1) / (k + 1)
                    self._mj.mj_step(self.simulation, self.data)
                self._run(_SETTLE_SECONDS)
                return felt, True
        self._command = goal
        return NONE, False

    def _move_fingers(self, closed: bool) -> None:
        goal = self._finger_control(closed)
        first = self.data.ctrl[-len(goal) :].copy()
        steps = round(_CLOSE_SECONDS / TIMESTEP)
        for k in range(steps):
            self.data.ctrl[-len(goal) :] = first + (goal - first) * min(1.0, 2 * (k + 1) / steps)
            self._mj.mj_step(self.simulation, self.data)

    def _lift(self) -> bool:
        """Lift the hand; whether the cup rose with it."""
        arm = len(self.data.ctrl) - len(self._finger_control(False))
        low = float(self.data.xpos[self._cup][2])
        steps, stages = round(_LIFT_SECONDS / TIMESTEP), 5
        for stage in range(stages):  # interpolating joint angles over the whole way would not be a straight line
            before = self.data.ctrl[:arm].copy()
            after = self._arm_control(self._command + np.array([0, 0, _LIFT * (stage + 1) / stages]))
            for k in range(steps // stages):
                self.data.ctrl[:arm] = before + (after - before) * (k + 1) / (steps // stages)
                self._mj.mj_step(self.simulation, self.data)
        self._run(_SETTLE_SECONDS)
        return bool(self.data.xpos[self._cup][2] - low > _RISEN)

    def _mishap(self) -> str | None:
        """What went wrong with the cup or the simulation; None if nothing did."""
        if any(self.data.warning[int(kind)].number for kind in self._diverging):
            return "the simulation diverged; the trial counts as failed"
        if self._x.hand == HAND_PICKED:
            return None
        if self.data.xpos[self._cup][2] < self.origin[2] - _FALLEN and self._x.hand == HAND_OPEN:
            return "the cup fell off the shelf; the trial counts as failed"
        if self.data.xmat[self._cup][8] < _TILTED:
            return "the cup was knocked over; the trial counts as failed"
        return None


def _nearest(line: Floats, value: float) -> float:
    return float(line[np.argmin(np.abs(line - value))])
