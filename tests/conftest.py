"""Hypothesis measures no times here: the first example of a test may have to compile."""

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
