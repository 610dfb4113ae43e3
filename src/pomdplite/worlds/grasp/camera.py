"""A camera beside the shelf."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from pomdplite.errors import PomdpLiteError

_HEIGHT, _WIDTH = 480, 640  # pixels


@dataclass(frozen=True)
class Viewpoint:
    """Where the camera is: distance in m, angles in degrees, and the point it looks at relative to the origin."""

    distance: float
    azimuth: float
    elevation: float
    target: tuple[float, float, float]


class Camera:
    """Renders off-screen; the renderer is created with the first picture."""

    def __init__(self, mj: Any, simulation: Any, viewpoint: Viewpoint, origin: tuple[float, float, float]) -> None:
        self._mj, self._simulation = mj, simulation
        self._renderer: Any = None
        self._view = mj.MjvCamera()
        self._view.distance, self._view.azimuth = viewpoint.distance, viewpoint.azimuth
        self._view.elevation = viewpoint.elevation
        self._view.lookat[:] = np.asarray(viewpoint.target) + origin

    def picture(self, data: Any) -> Any:
        """The scene in its current state, bytes [height, width, 3]."""
        if self._renderer is None:
            try:
                self._renderer = self._mj.Renderer(self._simulation, _HEIGHT, _WIDTH)
            except Exception as error:  # noqa: BLE001  each GL library raises its own exceptions
                raise PomdpLiteError(
                    f"no picture of the world: OpenGL cannot render off-screen here ({error}); install EGL or "
                    "OSMesa, or set MUJOCO_GL."
                ) from None
        self._renderer.update_scene(data, self._view)
        return self._renderer.render()

    def close(self) -> None:
        """Release the renderer."""
        if self._renderer is not None:
            self._renderer.close()
            self._renderer = None
