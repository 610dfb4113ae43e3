"""Importing MuJoCo, which is an optional dependency."""

import ctypes.util
import logging
import os
from typing import Any

from pomdplite.errors import PomdpLiteError

_log = logging.getLogger(__name__)


def import_mujoco() -> Any:
    """MuJoCo, set up for off-screen rendering where possible; an error names what to install."""
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
        raise PomdpLiteError("this world needs MuJoCo: pip install 'pomdplite[robot]'.") from None
    except (ImportError, AttributeError, RuntimeError) as error:
        chosen = os.environ.get("MUJOCO_GL")
        raise PomdpLiteError(
            f"MuJoCo cannot be imported with MUJOCO_GL={chosen}: {error}; try MUJOCO_GL=disable."
        ) from None
    # By default MuJoCo writes warnings to a file in the working directory; GraspWorld reads them from its data instead.
    mujoco.set_mju_user_warning(_log.debug)
    return mujoco
