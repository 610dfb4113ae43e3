"""Rules that keep the code readable: short modules, few arguments, one class per name."""

import ast
from collections import Counter
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "pomdplite"
TREES = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text()) for path in SOURCE.rglob("*.py")}
KERNELS = {"kernel", "allocating_kernel", "inner", "inlined", "reordered"}


def decorators(node: ast.FunctionDef) -> set[str]:
    return {ast.unparse(decorator) for decorator in node.decorator_list}


def test_no_kernel_takes_more_than_eight_arguments():
    wrong, seen = {}, 0
    for name, tree in TREES.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef) and KERNELS & decorators(node):
                seen += 1
                if len(node.args.args) > 8:
                    wrong[f"{name}: {node.name}"] = len(node.args.args)
    assert seen > 100 and not wrong


def used_by_python(node: ast.AST) -> set[str]:
    """The names used outside kernels; those of attributes, such as the functions of a module, with a dot before them."""
    if isinstance(node, ast.FunctionDef) and KERNELS & decorators(node):
        return set()
    own = {node.id} if isinstance(node, ast.Name) else {f".{node.attr}"} if isinstance(node, ast.Attribute) else set()
    return own.union(*map(used_by_python, ast.iter_child_nodes(node)))


def test_what_only_kernels_call_is_compiled_without_an_entry_point_for_python():
    used = {name: used_by_python(tree) for name, tree in TREES.items()}
    anywhere = set.union(*used.values())
    imported = {
        (node.module, alias.name)
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if (alias.asname or alias.name) in used[name]
    }
    wrong, seen = [], 0
    for name, tree in TREES.items():
        module = "pomdplite." + name.removesuffix(".py").replace("/", ".")
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and "kernel" in decorators(node):
                seen += 1
                if not (node.name in used[name] or f".{node.name}" in anywhere or (module, node.name) in imported):
                    wrong.append(f"{name}: {node.name}")
    assert seen > 30 and not wrong, f"decorate with `inner` or `inlined`: {wrong}"


def test_every_function_is_compiled_by_the_decorators_of_one_module():
    users = {
        name
        for name, tree in TREES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("numba")
        for alias in node.names
        if alias.name in ("jit", "njit", "CPUDispatcher")
    }
    assert users == {"compile/jit.py"}


def test_no_module_is_longer_than_350_lines_without_a_reason():
    for path in SOURCE.rglob("*.py"):
        lines = path.read_text().splitlines()
        reason = "longer than" in (ast.get_docstring(TREES[path.relative_to(SOURCE).as_posix()]) or "")
        assert len(lines) <= 350 or reason, f"{path.relative_to(SOURCE)} has {len(lines)} lines"


def test_no_two_classes_share_a_name():
    names = Counter(node.name for tree in TREES.values() for node in tree.body if isinstance(node, ast.ClassDef))
    assert len(names) > 50 and max(names.values()) == 1, [name for name, count in names.items() if count > 1]
