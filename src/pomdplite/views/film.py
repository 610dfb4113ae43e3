"""An episode as a film: one frame per step, as GIF (with matplotlib's Pillow) or MP4 (extra `robot`)."""

from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.errors import PomdpLiteError, UsageError

SECONDS = 0.7  # that a frame stands
LAST_SECONDS = 2.5  # and the last one


class Film:
    """Frames, and the file that they go to; what cannot be written is said before the first frame."""

    def __init__(self, path: Path) -> None:
        if path.suffix not in (".gif", ".mp4"):
            raise UsageError(f"--video {path}: a film ends in .gif or .mp4.")
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {path.parent}.")
        if path.suffix == ".mp4":
            _ffmpeg()
        self.path = path
        self.frames: list[Any] = []

    def add(self, frame: Any) -> None:
        """Append a picture, [height, width, 3] of bytes."""
        self.frames.append(np.ascontiguousarray(frame))

    def save(self) -> None:
        """Write the file."""
        if not self.frames:
            raise UsageError(f"{self.path}: there is no step to show.")
        try:
            if self.path.suffix == ".gif":
                self._save_gif()
            else:
                self._save_mp4()
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror or error}.") from None

    def _save_gif(self) -> None:
        from PIL import Image

        pictures = [Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE) for frame in self.frames]
        stand = [round(1000 * SECONDS)] * (len(pictures) - 1) + [round(1000 * LAST_SECONDS)]
        pictures[0].save(self.path, save_all=True, append_images=pictures[1:], duration=stand, loop=0)

    def _save_mp4(self) -> None:
        height, width = (size // 2 * 2 for size in self.frames[0].shape[:2])  # the codec wants even sizes
        fps = 10
        writer = _ffmpeg().write_frames(str(self.path), (width, height), fps=fps, macro_block_size=2, quality=7)
        writer.send(None)
        for i, frame in enumerate(self.frames):
            seconds = LAST_SECONDS if i + 1 == len(self.frames) else SECONDS
            for _ in range(round(fps * seconds)):
                writer.send(np.ascontiguousarray(frame[:height, :width]))
        writer.close()


def _ffmpeg() -> Any:
    try:
        import imageio_ffmpeg
    except ImportError:
        raise PomdpLiteError(
            "an MP4 film needs imageio-ffmpeg: pip install 'pomdplite[robot]'; or write a .gif."
        ) from None
    return imageio_ffmpeg
