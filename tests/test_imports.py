"""Imports point one way: cli → commands → experiments, views → planners, worlds → mdp → beliefs → model."""

import ast
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "pomdplite"

# What each part of the package may import from it, besides itself.
BASE = {"jit", "errors"}
CORE = BASE | {"layout", "erased", "source", "compiling", "compile_errors", "interpreting", "model"}
DYNAMICS = CORE | {"dynamics", "faults", "rng", "bonus"}
ALLOWED = {
    "jit": set(), "errors": set(), "rng": {"jit"}, "budget": {"errors"}, "bonus": {"jit"}, "layout": BASE, "erased": {"jit"},
    "source": BASE, "compile_errors": BASE | {"source"}, "compiling": BASE | {"erased", "compile_errors", "source"},
    "interpreting": BASE | {"erased", "layout", "source"}, "model": CORE | {"rng"}, "tabular": CORE, "dynamics": CORE | {"rng"},
    "faults": CORE | {"dynamics"},
    "checking": CORE | {"rng", "checking_hints"}, "checking_hints": CORE | {"rng"},
    "beliefs": DYNAMICS,
    "mdp": DYNAMICS | {"beliefs", "budget", "tabular"},
    "planners": DYNAMICS | {"beliefs", "budget", "checking", "mdp"},
    "problems": BASE | {"layout", "model", "rng"},
    "worlds": DYNAMICS | {"problems"},
    "experiments": DYNAMICS | {"beliefs", "budget", "planners", "problems", "worlds"},
    "views": CORE | {"experiments", "planners"},
    "testing": DYNAMICS | {"beliefs", "checking", "experiments", "planners", "views", "worlds"},
    "commands": CORE | {"beliefs", "checking", "experiments", "mdp", "planners", "problems", "views", "worlds", "__init__"},
    "cli": BASE | {"commands", "__init__"},
}  # fmt: skip

SHOWN = {
    "experiments/results.py": {"views"},
    "experiments/tuning.py": {"views"},
}  # results show themselves; imported when asked to


def imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("pomdplite"):
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "pomdplite":
                    found.add([*alias.name.split("."), "__init__"][1])
    return found


def test_every_module_imports_only_what_it_may():
    for path in SOURCE.rglob("*.py"):
        if path == SOURCE / "__init__.py":
            continue
        part = path.relative_to(SOURCE).parts[0].removesuffix(".py")
        wrong = imported(path) - ALLOWED[part] - {part} - SHOWN.get(path.relative_to(SOURCE).as_posix(), set())
        assert not wrong, f"{path.relative_to(SOURCE)} imports {sorted(wrong)}"


def test_importing_the_library_imports_no_extra():
    code = "import sys, pomdplite; print([m for m in ('matplotlib', 'typer', 'pandas', 'pomdp_py', 'distributed', 'optuna') if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_addresses_are_handled_in_one_module_only():
    """Turning an address into memory, or memory into an address, is erased.py's (and ctypes callbacks')."""
    for path in SOURCE.rglob("*.py"):
        if path.name not in ("erased.py", "interpreting.py"):
            text = path.read_text()
            assert not re.search(r"\b(carray|inttoptr|from_address)\b", text), path.name
