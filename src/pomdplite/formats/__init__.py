"""Model files of other programs: .pomdp, the format of pomdp-solve, and .pomdpx, that of SARSOP."""

from pomdplite.formats.loading import is_model_file, load

__all__ = ["is_model_file", "load"]
