"""The scene of the grasping task: floor, light, a shelf, and a cup on it."""

from typing import Any

from pomdplite.problems import Grasp

TIMESTEP = 0.002  # s
CUP_HEIGHT, CUP_MASS = 0.12, 0.35  # m, kg
CUP = "cup"  # the name of its body and of its geom


def add_scene(mj: Any, spec: Any, grasp: Grasp, origin: tuple[float, float, float]) -> None:
    """Add everything but the robot to a MuJoCo spec; `origin` is where the model's (0, 0) and the palm's height are."""
    _set_options(mj, spec)
    x0, y0, z = origin
    board = z - CUP_HEIGHT / 2
    middle = y0 + grasp.cups[:, 1].mean()
    spec.worldbody.add_light(pos=[x0 - 0.6, y0 - 0.8, z + 1.2], dir=[0.4, 0.6, -0.8], diffuse=[0.5] * 3)
    _add_shelf(mj, spec.worldbody, (x0, middle, z), board)
    cup = spec.worldbody.add_body(name=CUP, pos=[x0, middle, board + CUP_HEIGHT / 2])
    cup.add_freejoint()
    cup.add_geom(
        name=CUP, type=mj.mjtGeom.mjGEOM_CYLINDER, size=[grasp.geometry.cup_radius, CUP_HEIGHT / 2, 0],
        mass=CUP_MASS, rgba=[0.85, 0.2, 0.2, 1.0], condim=4, friction=[1.0, 0.02, 0.001],
        solimp=[0.99, 0.999, 0.001, 0.5, 2], solref=[0.01, 1], contype=3, conaffinity=3,
    )  # fmt: skip


def _set_options(mj: Any, spec: Any) -> None:
    spec.option.timestep = TIMESTEP
    spec.option.integrator = mj.mjtIntegrator.mjINT_IMPLICITFAST
    spec.option.cone = mj.mjtCone.mjCONE_ELLIPTIC
    spec.option.impratio = 10
    spec.option.disableflags |= mj.mjtDisableBit.mjDSBL_AUTORESET
    spec.visual.global_.offwidth, spec.visual.global_.offheight = 960, 720
    spec.visual.headlight.ambient, spec.visual.headlight.diffuse = [0.35] * 3, [0.5] * 3
    spec.add_texture(name="sky", type=mj.mjtTexture.mjTEXTURE_SKYBOX, builtin=mj.mjtBuiltin.mjBUILTIN_GRADIENT,
                     rgb1=[0.88, 0.91, 0.95], rgb2=[0.62, 0.66, 0.72], width=64, height=64)  # fmt: skip


def _add_shelf(mj: Any, world: Any, middle: tuple[float, float, float], board: float) -> None:
    """A board that collides, and a back and sides that are only visible."""
    x, y, z = middle
    wood, wide, deep = [0.76, 0.6, 0.42, 1.0], 0.24, 0.22
    for name, pos, size, rgba in (
        ("board", [x, y, board - 0.01], [wide, deep / 2 + 0.02, 0.01], wood),
        ("back", [x, y + 0.17, z + 0.05], [wide, 0.005, 0.17], [0.7, 0.54, 0.38, 1.0]),
        ("left side", [x - wide, y + 0.02, z + 0.05], [0.008, deep / 2 + 0.04, 0.17], wood),
        ("right side", [x + wide, y + 0.02, z + 0.05], [0.008, deep / 2 + 0.04, 0.17], [*wood[:3], 0.25]),
    ):
        solid = int(name == "board")
        world.add_geom(name=name, type=mj.mjtGeom.mjGEOM_BOX, pos=pos, size=size, rgba=rgba,
                       friction=[1.0, 0.01, 0.001], contype=solid, conaffinity=solid)  # fmt: skip
