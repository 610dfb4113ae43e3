"""Explains why Numba cannot compile a model function: which function, which line, what to change."""

import inspect
import re
from pathlib import Path
from typing import Any

import numba
from numba import types

from pomdplite.compile.definition import Definition
from pomdplite.compile.record_types import WRITES_INPUT, InputRecord
from pomdplite.errors import ModelError
from pomdplite.model.functions import FUNCTIONS, Returns

_RETURNS_NUMBER = {f.name for f in FUNCTIONS if f.returns in (Returns.NUMBER, Returns.ACTION, Returns.COMPONENT)}


def no_parameter(name: str) -> str:
    """The message for a parameter that the model does not set."""
    return f"m has no parameter '{name}': set it as a number or numeric array on the model (self.{name} = ...)."


# Pattern in Numba's message -> what it means to the user, with the groups filled in.
_CAUSES: list[tuple[str, str]] = [
    (r"Unknown attribute '(\w+)' of type Parameters",
     no_parameter("{0}")),
    (r"Unknown attribute '(\w+)' of type (?:recordtype|unaligned)?\(?Record|Unknown attribute '(\w+)' of type Record",
     "the record has no field '{0}': declare it in State(...), Hidden(...), Reading(...) or Action(...)."),
    (r"Field '?(\w+)'? was not found in record",
     "the record has no field '{0}': declare it in State(...), Hidden(...), Reading(...) or Action(...)."),
    (WRITES_INPUT + r": field '(\w+)'",
     "it writes to '{0}' of an input; x, theta, a and m are to be read, and y is where the next state goes."),
    (r"setitem.*?input nestedarray|Cannot modify readonly array",
     "it writes to an array of an input; x, theta and m are to be read, and y is where the next state goes."),
    (r"assigns to the array '(\w+)' as a whole", "it assigns to the array '{0}' as a whole: write {0}[:] = ..."),
    (r"NameError: name '(\w+)' is not defined", "the name '{0}' is not defined."),
    (r"Untyped global name '(\w+)':? *Cannot determine Numba type of <class '([\w.]+)'>",
     "it uses the global '{0}' of type {1}, which compiled code cannot hold: use numbers, tuples of numbers or "
     "NumPy arrays, or put it into the model's parameters."),
    (r"Untyped global name '(\w+)'", "it uses the global '{0}', which compiled code cannot hold."),
    (r"[Uu]se of unsupported opcode \((\w+)\)", "it uses a Python feature that cannot be compiled ({0})."),
    (r"^not a tuple: (.*)", "it must return a tuple with the values of the action's fields, but returns {0}."),
    (r"returns (.*)", "it must return a number, but returns {0}."),
    (r"[Tt]he use of a reflected (\w+)|reflected (\w+)\(", 
     "it uses a global {0}, which compiled code cannot hold: use a tuple or a NumPy array."),
    (r"The use of a (\w+)", "it uses {0}, which cannot be compiled."),
    (r"unsupported.*?(try|with|yield|set|dict|comprehension|lambda)", "it uses {0}, which cannot be compiled."),
    (r"Cannot unify ([^\n]+?) and ([^\n]+?) for '(\w+?)(?:\.\d+)?'",
     "the variable '{2}' is {0} in one place and {1} in another: give it one type."),
    (r"variable '(\w+)' referenced before assignment", "the variable '{0}' may be read before it is set."),
    (r"cannot assign to field|Cannot cast ([^\n]+?) to ([^\n:]+)", 
     "it uses a value of the wrong type: {0} where {1} is needed."),
    (r"No implementation of function Function\(<built-in function (\w+)>\)[^\n]*\n[^\n]*\n *>>> [^\n]*\(([^\n]*)\)",
     "the operation '{0}' is not defined for ({1})."),
    (r"Unknown attribute '(\w+)' of type ([^\n]+)", "{1} has no attribute '{0}'."),
]  # fmt: skip


def explain(
    definition: Definition, jitted: dict[str, Any], types_of: dict[str, tuple[Any, ...]], fallback: Exception
) -> ModelError:
    """Find the function that fails on its own and describe the failure."""
    for name, function in jitted.items():
        try:
            function.compile(types_of[name])
        except KeyError as error:  # how Numba reports writing to a field that a record does not have
            return _describe(definition, name, f"Field {error.args[0]} was not found in record")
        except Exception as error:  # noqa: BLE001  Numba reports some mistakes with its own errors, some with any
            return _describe(definition, name, str(error) or type(error).__name__)
        returned = function.overloads[function.signatures[-1]].signature.return_type
        several = definition.actions is not None and len(definition.actions.columns) > 1
        if name == "policy" and several:
            if not isinstance(returned, types.BaseTuple):
                return _describe(definition, name, f"not a tuple: {returned}")
        elif name in _RETURNS_NUMBER and not isinstance(returned, (types.Number, types.Boolean)):
            return _describe(definition, name, f"returns {returned}")
    return ModelError(f"{definition.title} cannot be compiled. Numba says: {_first_useful_line(str(fallback))}")


def _describe(definition: Definition, name: str, message: str) -> ModelError:
    title, function = definition.title, definition.functions[name]
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        lines, first = [], function.__code__.co_firstlineno
    file = Path(function.__code__.co_filename)
    last = first + max(len(lines), 1) - 1
    places = [
        int(number)
        for path, number in re.findall(r'File "([^"]+)", line (\d+)', message)
        if Path(path).name == file.name and first <= int(number) <= last
    ]
    cause, culprit = _first_useful_line(message), None
    for pattern, meaning in _CAUSES:
        found = re.search(pattern, message, re.DOTALL if r"\n" in pattern else 0)
        if found:
            groups = [group for group in found.groups() if group is not None]
            cause, culprit = meaning.format(*groups, "?", "?"), groups[0] if groups else None
            if "m has no parameter" in cause and culprit in definition.left_out:
                cause = definition.left_out[culprit]
            break
    if definition.actions is not None and "No implementation of function" in message:
        if InputRecord(numba.from_dtype(definition.actions.dtype)).name in message:
            field = next(iter(definition.actions.columns))
            cause, culprit = f"an action has fields, which are read as a.{field}; a itself is not a number.", None
    if not places and culprit:  # Numba does not always say where: search for the word
        places = [first + i for i, code in enumerate(lines) if re.search(rf"\b{culprit}\b", code)]
    line = places[-1] if places else first
    text = lines[line - first].strip() if 0 <= line - first < len(lines) else ""
    where = f"{file}, line {line}" + (f": {text}" if text else "")
    return ModelError(
        f"{title}.{name} cannot be compiled ({where}). Cause: {cause} "
        "Model functions may use numbers, NumPy arrays, math and loops; to call any other code, set "
        "compiled = False, which runs the model interpreted."
    )


_NOISE = ("File ", "This error", "During:", "^", "http", "Failed in", "def ", "<source")


def _first_useful_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines()]
    useful = [line for line in lines if line and not line.startswith(_NOISE)]
    return useful[0] if useful else "no reason given"
