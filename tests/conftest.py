"""Settings for all tests: patience, and fewer searches for garbage."""

import gc

from hypothesis import settings

# Hypothesis measures no times here: the first example of a test may have to compile.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Compiling makes so many objects that Python's garbage collector takes a tenth of the time by default.
gc.set_threshold(100_000, 20, 50)
