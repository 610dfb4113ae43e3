"""Videos of an episode, one frame per step: GIF (with Pillow, which comes with matplotlib) or MP4 (extra `robot`)."""

from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.errors import PomdpLiteError, UsageError

SECONDS = 0.7  # per frame
LAST_SECONDS = 2.5  # of the last frame


class Video:
    """Collects frames and writes them to a file; a file that cannot be written is refused before the first frame."""

    def __init__(self, path: Path) -> None:
        if path.suffix not in (".gif", ".mp4"):
            raise UsageError(f"--video {path}: the file name must end in .gif or .mp4.")
        if not path.parent.is_dir():
            raise UsageError(f"cannot write {path}: there is no folder {path.parent}.")
        if path.suffix == ".mp4":
            _ffmpeg()
        self.path = path
        self.frames: list[Any] = []

    def add(self, frame: Any) -> None:
        """Append a frame: an array [height, width, 3] of bytes."""
        self.frames.append(np.ascontiguousarray(frame))

    def save(self) -> None:
        """Write the file."""
        if not self.frames:
            raise UsageError(f"{self.path}: the episode has no steps to show.")
        try:
            if self.path.suffix == ".gif":
                self._save_gif()
            else:
                self._save_mp4()
        except OSError as error:
            raise UsageError(f"cannot write {self.path}: {error.strerror or error}.") from None

    def _save_gif(self) -> None:
        from PIL import Image

        images = [Image.fromarray(frame).convert("P", palette=Image.Palette.ADAPTIVE) for frame in self.frames]
        durations = [round(1000 * SECONDS)] * (len(images) - 1) + [round(1000 * LAST_SECONDS)]
        images[0].save(self.path, save_all=True, append_images=images[1:], duration=durations, loop=0)

    def _save_mp4(self) -> None:
        height, width = (size // 2 * 2 for size in self.frames[0].shape[:2])  # the codec needs even sizes
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
        raise PomdpLiteError("MP4 videos need imageio-ffmpeg: pip install 'pomdplite[robot]'; or use .gif.") from None
    return imageio_ffmpeg
