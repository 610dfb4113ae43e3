"""Load a model from a user's file: `path/to/robot.py:Delivery`."""

import hashlib
import importlib.util
import os
import sys
import traceback
from pathlib import Path
from types import ModuleType

from pomdplite.errors import PomdpLiteError, UsageError, shown
from pomdplite.model.model import Model


def load_model(spec: str) -> Model:
    """Return the model that `path.py:Name` refers to: a model object, or a class to instantiate without arguments."""
    file, _, name = spec.rpartition(":") if not spec.endswith(".py") else (spec, "", "")
    module = _import_file(file)
    found = getattr(module, name, None)
    if isinstance(found, Model):
        return found
    if isinstance(found, type) and issubclass(found, Model):
        return _instantiate(found, name, file)
    models = sorted(
        n for n, v in vars(module).items()
        if isinstance(v, Model) or (isinstance(v, type) and issubclass(v, Model) and v.__module__ == module.__name__)
    )  # fmt: skip
    if not models:
        raise UsageError(f"{file} defines no model.")
    if not name:
        raise UsageError(f"which model in {file}? Choose from {', '.join(f'{file}:{m}' for m in models)}.")
    raise UsageError(f"{file} has no model {name!r}; it has {', '.join(models)}.")


def _import_file(file: str) -> ModuleType:
    try:
        path = Path(file).expanduser().resolve()
        found = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have: too long, with NUL, no such user
        found = False
    if not found:
        raise UsageError(f"no file {shown(file)[1:-1]}; refer to a model of your own as path.py:Class.")
    # A unique name, so that a file called random.py does not shadow a library.
    unique = f"pomdplite_user_{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
    module_spec = importlib.util.spec_from_file_location(unique, path)
    if path.suffix != ".py" or module_spec is None or module_spec.loader is None:
        raise UsageError(f"{file} is not a Python file (.py).")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[unique] = module
    sys.path.append(str(path.parent))
    try:
        module_spec.loader.exec_module(module)
    except PomdpLiteError:
        raise
    except Exception as error:  # noqa: BLE001  report whatever the user's file raises
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        raise UsageError(f"{file}{f', line {line}' if line else ''}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(str(path.parent))
    return module


def _instantiate(kind: type[Model], name: str, file: str) -> Model:
    try:
        return kind()
    except PomdpLiteError:
        raise
    except Exception as error:  # noqa: BLE001  report whatever the user's __init__ raises
        raise UsageError(
            f"{name}() in {file} raised {type(error).__name__}: {error}. If it needs arguments, create an object in "
            f"the file, for example robot = {name}(...), and refer to {file}:robot."
        ) from None
