"""Pictures for a page, as WebP in data URIs: what a camera sees, and what a model paints (extra `plots`)."""

import base64
import io
from importlib.util import find_spec
from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.errors import PomdpLiteError
from pomdplite.model.model import Model
from pomdplite.views.mpl import new_figure
from pomdplite.views.pictures import paint, pixels

_WIDE, _HIGH, _DOTS = 5.0, 4.4, 150  # inches, and dots per inch: sharp on the screen of a phone
_MOST_PIXELS = 720  # of the wider side of a camera image
_QUALITY = 78  # of camera images


def can_paint() -> bool:
    """Whether models can paint: Matplotlib is installed."""
    return find_spec("matplotlib") is not None


def painting(model: Model, x: Any, marginals: list[Floats]) -> str:
    """What the model paints, without loss: such pictures have few colours."""
    from PIL import Image

    figure = new_figure(_WIDE, _HIGH)
    figure.set_dpi(_DOTS)
    paint(model, figure.subplots(), x, marginals)
    return _data_uri(Image.fromarray(pixels(figure)), lossless=True, method=4)


def camera_image(image: Any) -> str:
    """A camera image, bytes [height, width, 3], at most as large as a page shows it."""
    try:
        from PIL import Image
    except ImportError:
        raise PomdpLiteError("camera images on a page need Pillow: pip install 'pomdplite[plots]'.") from None
    picture = Image.fromarray(image)
    picture.thumbnail((_MOST_PIXELS, _MOST_PIXELS))
    return _data_uri(picture, quality=_QUALITY, method=4)


def _data_uri(picture: Any, **options: Any) -> str:
    file = io.BytesIO()
    picture.save(file, "WEBP", **options)
    return f"data:image/webp;base64,{base64.b64encode(file.getvalue()).decode()}"
