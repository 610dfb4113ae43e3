"""Imports point one way, lazy imports included."""

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "pomdplite"

# From the bottom up; a module belongs to its longest prefix and imports only from its own line or lines above it.
LAYERS = (
    ("errors", "display", "compile.jit", "compile.nearest", "compile.storage"),
    ("rng",),
    ("model.actions", "model.distributions", "model.functions", "model.records", "model.spaces", "model.readings"),
    ("compile",),
    ("model",),
    ("mdp",),
    ("beliefs",),
    ("checking", "formats"),
    ("problems", "planners"),
    ("worlds",),
    ("analysis",),
    ("experiments",),
    ("views",),
    ("environments", "testing"),
    ("", "cli"),
)
FORBIDDEN = {
    "problems": {"compile.abi", "checking", "mdp", "beliefs", "planners"},  # a problem is what a user could write
    "formats": {"compile.abi", "checking", "mdp", "beliefs"},
    "planners": {"problems", "formats"},
    "worlds": {"planners"},
    "analysis": {"problems", "formats"},
}


def modules() -> dict[str, Path]:
    found = {}
    for path in SOURCE.rglob("*.py"):
        name = ".".join(path.relative_to(SOURCE).with_suffix("").parts)
        found[name.removesuffix("__init__").removesuffix(".")] = path
    return found


def imported(path: Path, known: set[str], *, types: bool = True) -> set[str]:
    """The modules of the package that a module imports, at its top, inside a function or (types) for type checkers."""
    found, tree = set(), ast.parse(path.read_text())
    for node in ast.walk(tree):
        if not types and isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "pomdplite":
            base = node.module.removeprefix("pomdplite").removeprefix(".")
            for alias in node.names:
                inner = f"{base}.{alias.name}".removeprefix(".")
                found.add(inner if inner in known else base)
        elif isinstance(node, ast.Import):
            found |= {
                a.name.removeprefix("pomdplite").removeprefix(".")
                for a in node.names
                if a.name.split(".")[0] == "pomdplite"
            }
    return found


def layer(module: str) -> tuple[int, str]:
    prefixes = [(i, p) for i, line in enumerate(LAYERS) for p in line if module == p or module.startswith(f"{p}.")]
    return max(prefixes, key=lambda found: len(found[1]))


GRAPH = {name: imported(path, set(modules())) for name, path in modules().items()}


@pytest.mark.parametrize("module", sorted(set(GRAPH) - {""}))
def test_a_module_imports_only_from_its_own_layer_and_below(module):
    mine = layer(module)
    wrong = {other for other in GRAPH[module] if layer(other)[0] > mine[0]}
    wrong |= {
        other for other in GRAPH[module] for prefix in FORBIDDEN.get(mine[1], ())
        if other == prefix or other.startswith(f"{prefix}.")
    }  # fmt: skip
    assert not wrong, f"{module} imports {sorted(wrong)}"


def test_no_modules_import_each_other():
    try:
        TopologicalSorter({name: imported(path, set(GRAPH), types=False) for name, path in modules().items()}).prepare()
    except CycleError as error:
        pytest.fail(" → ".join(name or "pomdplite" for name in error.args[1]))


def test_nothing_but_the_public_face_lies_in_the_root():
    files = {p.name for p in SOURCE.iterdir() if p.is_file()}
    assert files == {"__init__.py", "errors.py", "rng.py", "testing.py", "py.typed"}


def test_importing_the_library_imports_no_extra():
    code = "import sys, pomdplite; print([m for m in ('matplotlib', 'typer', 'pandas', 'pomdp_py', 'distributed', 'optuna', 'jinja2', 'lark', 'defusedxml', 'gymnasium') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_addresses_are_handled_in_one_module_only():
    """Turning an address into memory, or memory into an address, is compile/addresses.py's."""
    for name, path in modules().items():
        if name != "compile.addresses":
            text = path.read_text()
            assert not re.search(r"\b(carray|inttoptr|ptrtoint|from_address|CFUNCTYPE|c_void_p|ctypeslib)\b", text), (
                name
            )
            assert not re.search(r"\.ctypes\b|__array_interface__", text), name
            # One looks for a library, the other passes the address of a signal handler to the C library.
            assert name in ("worlds.grasp.simulator", "compile.interrupts") or "import ctypes" not in text, name
