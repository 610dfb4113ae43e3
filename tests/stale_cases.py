"""Ways in which a number can reach a compiled function: what holds it × how the function gets at it.

A case is a set of files with the number as a placeholder. `python stale_cases.py FOLDER N` prints the digest of every
N-th case, for a comparison between processes.
"""

import importlib
import sys
from dataclasses import dataclass
from pathlib import Path

from numba.core.typing.templates import builtin_registry

import pomdplite as pl
from pomdplite.compile.digest import CodeDigest, digest
from pomdplite.compile.wrappers import module_text

BEFORE, AFTER = 3.0, 7.0

HOLDERS = {  # name: (how V is defined, how the number is read from it)
    "float": ("V = {N}", "V"),
    "integer": ("V = int({N})", "V"),
    "negated float": ("V = -{N}", "-V"),
    "text": ("V = 'x' * int({N})", "len(V)"),
    "NumPy scalar": ("V = np.float32({N})", "V"),
    "float with a repr of its own": (
        "class Euro(float):\n    def __repr__(self): return 'some euros'\nV = Euro({N})", "V",
    ),
    "nested tuple": ("V = (1.0, (2.0, ({N}, 4.0)))", "V[1][1][0]"),
    "tuple of arrays": ("V = (np.arange(3.0), np.full(2, {N}))", "V[1][0]"),
    "array": ("V = np.full(5, {N})", "V[3]"),
    "large array": ("V = np.arange(5000.0)\nV[2500] = {N}", "V[2500]"),
    "strided array": ("V = np.arange(6000.0)\nV[2501] = {N}\nV = V[1::2]", "V[1250]"),
    "integer array": ("V = np.full((2, 3), int({N}), np.int16)", "V[1, 2]"),
    "array of another type": ("V = np.full(2, {N} + 2.0**-30).astype('f4' if {N} == 3 else 'f8')", "round(V[0])"),
    "record array": ("V = np.zeros(1500, [('a', 'f8'), ('b', 'i8')])\nV['a'][700] = {N}", "V[700]['a']"),
    "order of a record's fields": (
        "V = np.array([(3.0, 7.0)], [('a', 'f8'), ('b', 'f8')] if {N} == 3 else [('b', 'f8'), ('a', 'f8')])", "V[0]['a']",
    ),
    "named tuple": ("P = namedtuple('P', 'a b')\nV = P(1.0, {N})", "V.b"),
    "order of a named tuple's fields": ("V = namedtuple('P', 'a b' if {N} == 3 else 'b a')(3.0, 7.0)", "V.a"),
    "enumeration": ("class V(enum.IntEnum):\n    OTHER = 1\n    X = int({N})", "V.X.value"),
    "order of an enumeration": ("V = enum.IntEnum('V', {{'X': 3, 'Y': 7}} if {N} == 3 else {{'Y': 3, 'X': 7}})", "V.X.value"),
    "member of an enumeration": ("class E(enum.IntEnum):\n    X = int({N})\nV = E.X", "V.value"),
    "njit": ("@numba.njit\ndef V(): return {N}", "V()"),
    "default of njit": ("@numba.njit\ndef V(v={N}): return v", "V()"),
    "array default of njit": (
        "A = np.arange(3000.0)\nA[1500] = {N}\ndef f(i, v=A): return v[i]\nV = numba.njit(f)", "V(1500)",
    ),
    "closure of njit": (
        "def make(k):\n    @numba.njit\n    def f(): return k\n    return f\nV = make({N})", "V()",
    ),
    "njit of njit": ("N = {N}\n@numba.njit\ndef g(): return N\n@numba.njit\ndef V(): return g()", "V()"),
    "comprehension in njit": (
        "N = {N}\n@numba.njit\ndef V():\n    t = 0.0\n    for v in [N * i for i in range(2)]: t += v\n    return t", "V()",
    ),
    "signature of njit": (
        "V = numba.njit('float32(float64)' if {N} == 3 else 'float64(float64)')(lambda x: x)", "3.0 if V(16777217.0) == 16777216.0 else 7.0",
    ),
    "vectorize": ("@numba.vectorize\ndef V(x): return x + {N}", "V(0.0)"),
    "vectorize with signatures": ("@numba.vectorize(['float64(float64)'])\ndef V(x): return x + {N}", "V(0.0)"),
    "constant of vectorize": ("N = {N}\n@numba.vectorize\ndef V(x): return x + N", "V(0.0)"),
    "guvectorize": (
        "@numba.guvectorize(['(float64[:], float64[:])'], '(n)->(n)')\ndef gu(x, out):\n    for i in range(len(x)): out[i] = {N}\n"
        "@numba.njit\ndef V():\n    out = np.zeros(2)\n    gu(np.ones(2), out)\n    return out[1]", "V()",
    ),
    "overload": (
        "def secret(): pass\n@numba.extending.overload(secret)\ndef _():\n    v = {N}\n    return lambda: v\n"
        "@numba.njit\ndef V(): return secret()", "V()",
    ),
    "overload of a method": (
        "@numba.extending.overload_method(numba.types.Array, 'case_method')\ndef _(a):\n    v = {N}\n    return lambda a: v\n"
        "@numba.njit\ndef V(): return np.zeros(1).case_method()", "V()",
    ),
    "intrinsic": (
        "from numba import types\n@numba.extending.intrinsic\ndef secret(ctx):\n    def code(context, builder, sig, args):\n"
        "        return context.get_constant(types.float64, {N})\n    return types.float64(), code\n@numba.njit\ndef V(): return secret()", "V()",
    ),
    "jitclass": (
        "@numba.experimental.jitclass([('a', numba.float64)])\nclass Box:\n    def __init__(self): self.a = {N}\n"
        "@numba.njit\ndef V(): return Box().a", "V()",
    ),
}  # fmt: skip

TOP = "import enum\nimport numba\nimport numba.experimental\nimport numpy as np\nfrom collections import namedtuple\n"
MODEL = """
class Bet(pl.Model):
    hidden = pl.Hidden(coin=('heads', 'tails'))
    actions = ('call',)
    discount = 0.0
    def transition(m, x, theta, a, y): pass
    def reward(m, x, theta, a):
        {body}
"""

DEEP = {"case_pack/__init__.py": "", "case_pack/inner/__init__.py": "", "case_pack/inner/deep.py": "{holder}"}
FLAT = {"case_flat.py": "{holder}"}

ROUTES = {  # name: (files besides the model's, the model's file before the model, the body of reward; E reads from V)
    "a global": ({}, "{holder}", "return {E(V)}"),
    "from … import": (FLAT, "from case_flat import V", "return {E(V)}"),
    "import under another name": (FLAT, "from case_flat import V as W", "return {E(W)}"),
    "a module": (FLAT, "import case_flat", "return {E(case_flat.V)}"),
    "a dotted module": (DEEP, "import case_pack.inner.deep", "return {E(case_pack.inner.deep.V)}"),
    "a dotted module's short name": (DEEP, "import case_pack.inner.deep as q", "return {E(q.V)}"),
    "from package import module": (DEEP, "import case_pack.inner.deep\nfrom case_pack import inner", "return {E(inner.deep.V)}"),
    "a module in a variable": (DEEP, "import case_pack.inner.deep", "m2 = case_pack.inner\n        return {E(m2.deep.V)}"),
    "getattr": (FLAT, "import case_flat", "return {E(getattr(case_flat, 'V'))}"),
    "a module that a module imports": (
        FLAT | {"case_outer.py": "import case_flat as again"}, "import case_outer", "return {E(case_outer.again.V)}",
    ),
    "a helper": ({}, "{holder}\ndef helper(): return {E(V)}", "return helper()"),
    "a helper's helper": (
        DEEP, "import case_pack.inner.deep\ndef first(): return {E(case_pack.inner.deep.V)}\ndef second(): return first()",
        "return second()",
    ),
    "an njit helper in a module": (
        DEEP | {"case_help.py": "import numba\nfrom case_pack.inner import deep\n@numba.njit\ndef helper(): return {E(deep.V)}"},
        "import case_help", "return case_help.helper()",
    ),
    "a default": ({}, "{holder}\ndef helper(v=V): return {E(v)}", "return helper()"),
    "a default of njit": ({}, "{holder}\n@numba.njit\ndef helper(v=V): return {E(v)}", "return helper()"),
    "a keyword default": ({}, "{holder}\ndef helper(*, v=V): return {E(v)}", "return helper()"),
    "a closure": ({}, "{holder}\ndef make(v):\n    @numba.njit\n    def helper(): return {E(v)}\n    return helper\nhelper = make(V)", "return helper()"),
    "a comprehension": (FLAT, "import case_flat", "return [{E(case_flat.V)} for _ in range(1)][0]"),
    "a member of a tuple": ({}, "{holder}\nPAIR = (V, V)", "return {E(PAIR[1])}"),
    "a class": ({}, "{holder}\nclass Rules:\n    NUMBER = V", "return {E(Rules.NUMBER)}"),
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One way in which a number gets into machine code."""

    holder: str
    route: str

    def write(self, folder: Path, number: float) -> Path:
        """The files of the case, with this number; returns the model's."""
        definition, read = HOLDERS[self.holder]
        definition = TOP + definition.format(N=number)
        files, top, body = ROUTES[self.route]

        def filled(text: str) -> str:
            while "{E(" in text:
                start = text.index("{E(")
                end = text.index("}", start)
                text = text[:start] + "(" + read.replace("V", text[start + 3 : end - 1]) + ")" + text[end + 1 :]
            return text.replace("{holder}", definition)

        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(filled(text))
        model = folder / "case_model.py"
        folder.mkdir(parents=True, exist_ok=True)
        model.write_text(f"import pomdplite as pl\n{TOP}\n{filled(top)}\n{MODEL.replace('{body}', filled(body))}")
        return model

    def load(self, folder: Path, number: float) -> pl.Model:
        """The model with this number, its modules loaded anew."""
        path = self.write(folder, number)
        for name in [n for n in sys.modules if n.startswith("case_")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        return pl.make_model(f"{path}:Bet")

    def digest(self, folder: Path, number: float) -> CodeDigest:
        """The digest of the model with this number."""
        lists = builtin_registry.functions, builtin_registry.attributes, builtin_registry.globals
        lengths = [len(entries) for entries in lists]
        definition = self.load(folder, number).compiled_form.definition
        found = digest(definition, module_text(definition))
        for entries, length in zip(lists, lengths, strict=True):
            del entries[length:]  # what @overload registered, as if this were a process of its own
        return found


CASES = [Case(holder, route) for holder in HOLDERS for route in ROUTES]


def read_value(model: pl.Model) -> float:
    """What the compiled reward returns."""
    planner = pl.MeanMdp(model)
    planner.reset()
    return float(planner.decide().value)


def main(folder: str, step: str) -> None:
    """Print the digest of every so many cases."""
    for number, case in enumerate(CASES[:: int(step)]):
        print(case.holder, case.route, case.digest(Path(folder, str(number)), BEFORE).key, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
