"""Load a model, or a world, from a user's file: `path/to/robot.py:Delivery`."""

import hashlib
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from pomdplite.errors import PomdpLiteError, UsageError, shown
from pomdplite.formats.loading import file_digest, is_model_file
from pomdplite.model.model import Model
from pomdplite.problems.user_modules import forget_changed, modules_digest

_digests: dict[str, str] = {}  # of the modules behind each file, as they were when it was last loaded
_kept: dict[str, ModuleType] | None = None  # modules by file, while each file is loaded once


def load_model(spec: str) -> Model:
    """Return the model that `path.py:Name` refers to: a model object, or a class to instantiate without arguments."""
    file, name = _parts(spec)
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


def load_maker(spec: str) -> Callable[..., object]:
    """Return what `path.py:name` refers to, if it can be called: the class of a world, or a function that makes one."""
    file, name = _parts(spec)
    found = getattr(_import_file(file), name, None)
    if not callable(found):
        what = f"{name} is {shown(found)}" if found is not None else f"it has no {name}" if name else "no name is given"
        raise UsageError(
            f"{file}: {what}; refer to what makes a world from a model, a class or a function, as {file}:name."
        )
    return found


def _parts(spec: str) -> tuple[str, str]:
    """File and name of `path.py:name`; the name may be missing."""
    file, _, name = spec.rpartition(":") if not spec.endswith(".py") else (spec, "", "")
    return file, name


@contextmanager
def files_loaded_once() -> Iterator[None]:
    """Within this context, a file is loaded once, however many models are made from it."""
    global _kept
    _kept = {}
    try:
        yield
    finally:
        _kept = None


def source_digest(spec: str) -> str | None:
    """A digest of the user's modules behind a problem or world, as they were loaded; None for those of the library."""
    if is_model_file(spec):
        return file_digest(spec)
    file, _ = _parts(spec)
    if not file.endswith(".py"):
        return None
    path = str(Path(file).expanduser().resolve())
    if path not in _digests:
        _import_file(file)
    return _digests[path]


def _import_file(file: str) -> ModuleType:
    try:
        path = Path(file).expanduser().resolve()
        found = path.is_file()
    except (OSError, ValueError, RuntimeError):  # a name that no file can have: too long, with NUL, no such user
        found = False
    if not found:
        raise UsageError(f"no file {shown(file)[1:-1]}; refer to a model of your own as path.py:Class.")
    if _kept is not None and str(path) in _kept:
        return _kept[str(path)]
    # A unique name, so that a file called random.py does not shadow a library.
    unique = f"pomdplite_user_{path.stem}_{hashlib.sha256(os.fsencode(path)).hexdigest()[:8]}"
    if path.suffix != ".py":
        raise UsageError(f"{file} is not a Python file (.py).")
    module = ModuleType(unique)
    module.__file__ = str(path)
    sys.modules[unique] = module
    sys.path.append(str(path.parent))
    try:
        source = path.read_bytes()
        forget_changed(source)
        exec(compile(source, str(path), "exec"), module.__dict__)  # noqa: S102  what the user asks for
        _digests[str(path)] = modules_digest(source)
    except PomdpLiteError:
        raise
    except Exception as error:  # noqa: BLE001  report whatever the user's file raises
        frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename) == path]
        line = error.lineno if isinstance(error, SyntaxError) else frames[-1].lineno if frames else None
        raise UsageError(f"{file}{f', line {line}' if line else ''}: {type(error).__name__}: {error}") from None
    finally:
        sys.path.remove(str(path.parent))
    if _kept is not None:
        _kept[str(path)] = module
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
