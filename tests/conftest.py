"""Settings for all tests: patience, fewer searches for garbage, no stale bytecode. And a browser, for tests of pages."""

import gc
import shutil
import sys

import pytest
from hypothesis import settings

# Hypothesis measures no times here: the first example of a test may have to compile.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")

# Compiling makes so many objects that Python's garbage collector takes a tenth of the time by default.
gc.set_threshold(100_000, 20, 50)

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def pytest_collection_finish():
    """Write no bytecode while tests run.

    Tests write two versions of a module within a second. If both have the same length, Python takes the bytecode of the
    first for that of the second.
    """
    sys.dont_write_bytecode = True


@pytest.fixture(scope="module")
def browser():
    """Chromium, if it and playwright are installed."""
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = next((found for name in BROWSERS if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"none of {', '.join(BROWSERS)} is installed")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=path)
        yield running
        running.close()
