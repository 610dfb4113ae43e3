"""A model function that Numba cannot compile, told in the user's words: function, line, what to change."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
from numba.core.errors import NumbaError

from pomdplite.errors import ModelError

# Pattern in Numba's message -> what it means for the user. Groups are filled in.
_CAUSES: list[tuple[str, str]] = [
    (r"Unknown attribute '(\w+)' of type Parameters",
     "m has no parameter '{0}': set it as a number or numeric array on the model (self.{0} = ...)."),
    (r"Unknown attribute '(\w+)' of type (?:recordtype|unaligned)?\(?Record|Unknown attribute '(\w+)' of type Record",
     "the record has no field '{0}': declare it in State(...) or Hidden(...)."),
    (r"Field '?(\w+)'? was not found in record",
     "the record has no field '{0}': declare it in State(...) or Hidden(...)."),
    (r"NameError: name '(\w+)' is not defined", "the name '{0}' is not defined."),
    (r"Untyped global name '(\w+)':? *Cannot determine Numba type of <class '([\w.]+)'>",
     "it uses the global '{0}' of type {1}, which compiled code cannot hold: use numbers, tuples of numbers or "
     "NumPy arrays, or put it into the model's parameters."),
    (r"Untyped global name '(\w+)'", "it uses the global '{0}', which compiled code cannot hold."),
    (r"[Uu]se of unsupported opcode \((\w+)\)", "it uses a Python feature that cannot be compiled ({0})."),
    (r"The use of a (\w+)", "it uses {0}, which cannot be compiled."),
    (r"unsupported.*?(try|with|yield|set|dict|comprehension|lambda)", "it uses {0}, which cannot be compiled."),
    (r"Cannot unify ([^\n]+?) and ([^\n]+?) for '(\w+?)(?:\.\d+)?'",
     "the variable '{2}' is once {0} and once {1}: give it one type."),
    (r"variable '(\w+)' referenced before assignment", "the variable '{0}' may be read before it is set."),
    (r"cannot assign to field|Cannot cast ([^\n]+?) to ([^\n:]+)", 
     "it stores a value of the wrong type ({0} into {1})."),
    (r"No implementation of function Function\(<built-in function (\w+)>\)[^\n]*\n[^\n]*\n *>>> [^\n]*\(([^\n]*)\)",
     "the operation '{0}' is not possible on ({1})."),
    (r"Unknown attribute '(\w+)' of type ([^\n]+)", "'{0}' is not something that {1} has."),
]  # fmt: skip


def explain(
    title: str,
    functions: dict[str, Callable[..., Any]],
    jitted: dict[str, Any],
    samples: dict[str, tuple[Any, ...]],
    fallback: Exception,
) -> ModelError:
    """Find which function fails by itself and describe the failure."""
    for name, function in jitted.items():
        try:
            function.compile(tuple(numba.typeof(value) for value in samples[name]))
        except NumbaError as error:
            return _describe(title, name, functions[name], str(error))
        except KeyError as error:  # how Numba reports writing to a field that a record does not have
            return _describe(title, name, functions[name], f"Field {error.args[0]} was not found in record")
    if "depends" in functions or "legal" in functions or "reward" in functions:
        hint = "check that reward returns a number, depends an integer and legal and terminal True or False"
    else:
        hint = "check what each function returns"
    return ModelError(f"{title} cannot be compiled: {hint}. Numba says: {_last_line(str(fallback))}")


def _describe(title: str, name: str, function: Callable[..., Any], message: str) -> ModelError:
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
    cause, culprit = _last_line(message), None
    for pattern, meaning in _CAUSES:
        found = re.search(pattern, message, re.DOTALL if r"\n" in pattern else 0)
        if found:
            groups = [group for group in found.groups() if group is not None]
            cause, culprit = meaning.format(*groups, "?", "?"), groups[0] if groups else None
            break
    if not places and culprit:  # Numba does not always say where: look for the word
        places = [first + i for i, code in enumerate(lines) if re.search(rf"\b{culprit}\b", code)]
    line = places[-1] if places else first
    text = lines[line - first].strip() if 0 <= line - first < len(lines) else ""
    where = f"{file}, line {line}" + (f": {text}" if text else "")
    return ModelError(
        f"{title}.{name} cannot be compiled ({where}). Cause: {cause} "
        "Model functions may use numbers, NumPy arrays, math and loops; a model that must call other code can set "
        "compiled = False and run interpreted."
    )


_NOISE = ("File ", "This error", "During:", "^", "http", "Failed in", "def ", "<source")


def _last_line(message: str) -> str:
    lines = [line.strip() for line in message.splitlines()]
    useful = [line for line in lines if line and not line.startswith(_NOISE)]
    return useful[0] if useful else "no reason given"
