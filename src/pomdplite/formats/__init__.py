"""Model files of other programs: .pomdpx, the format of SARSOP."""

from pomdplite.formats.loading import is_model_file, load

__all__ = ["is_model_file", "load"]
