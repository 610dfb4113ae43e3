"""A model from a user's file: `path/to/robot.py:Delivery`."""

import importlib.util
import sys
import traceback
from pathlib import Path

from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.model import Model


def load_model(spec: str) -> Model:
    """The model class (made without arguments) or model object that `path.py:Name` names."""
    file, _, name = spec.rpartition(":")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"no file {file}; a model of your own is named as path.py:Class.")
    module_spec = importlib.util.spec_from_file_location(path.stem, path)
    if path.suffix != ".py" or module_spec is None or module_spec.loader is None:
        raise UsageError(f"{file} is not a Python file (.py).")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.parent))
    try:
        module_spec.loader.exec_module(module)
    except Exception as error:
        if isinstance(error, PomdpLiteError):
            raise
        places = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
        line = error.lineno if isinstance(error, SyntaxError) else places[-1].lineno if places else None
        raise UsageError(f"{file}{f', line {line}' if line else ''}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(str(path.parent))
    thing = getattr(module, name, None)
    if isinstance(thing, Model):
        return thing
    if isinstance(thing, type) and issubclass(thing, Model):
        try:
            return thing()
        except TypeError as error:
            raise UsageError(
                f"{name} in {file} cannot be made without arguments ({error}); name an object of it instead, "
                f"for example robot = {name}(...) and {file}:robot."
            ) from None
    models = sorted(
        n for n, v in vars(module).items()
        if isinstance(v, Model) or (isinstance(v, type) and issubclass(v, Model) and v.__module__ == module.__name__)
    )  # fmt: skip
    raise UsageError(f"{file} has no model {name!r}; it has {', '.join(models) or 'none'}.")
