"""A model from a user's file: `path/to/robot.py:Delivery`."""

import hashlib
import importlib.util
import sys
import traceback
from pathlib import Path

from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.model.model import Model


def load_model(spec: str) -> Model:
    """The model class (made without arguments) or model object that `path.py:Name` names."""
    file, _, name = spec.rpartition(":") if not spec.endswith(".py") else (spec, "", "")
    path = Path(file).expanduser().resolve()
    if not path.is_file():
        raise UsageError(f"no file {file}; a model of your own is named as path.py:Class.")
    # A name of its own, so that a file called random.py hides no library.
    unique = f"pomdplite_user_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    module_spec = importlib.util.spec_from_file_location(unique, path)
    if path.suffix != ".py" or module_spec is None or module_spec.loader is None:
        raise UsageError(f"{file} is not a Python file (.py).")
    module = importlib.util.module_from_spec(module_spec)
    sys.modules[unique] = module
    sys.path.append(str(path.parent))
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
        except PomdpLiteError:
            raise
        except Exception as error:  # noqa: BLE001  whatever the user's __init__ raises is told
            raise UsageError(
                f"{name}() in {file} raised {type(error).__name__}: {error}. If it needs arguments, name an object "
                f"of it instead, for example robot = {name}(...) and {file}:robot."
            ) from None
    models = sorted(
        n for n, v in vars(module).items()
        if isinstance(v, Model) or (isinstance(v, type) and issubclass(v, Model) and v.__module__ == module.__name__)
    )  # fmt: skip
    if not name:
        raise UsageError(f"name a model in {file}: {', '.join(f'{file}:{m}' for m in models) or 'it has none'}.")
    raise UsageError(f"{file} has no model {name!r}; it has {', '.join(models) or 'none'}.")
