"""Compiling a model's functions: the cache on disk, what it must notice, and errors that name function and line."""

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import typeof

import pomdplite as pl
from pomdplite.compile import cache
from pomdplite.compile.jit import inlined

PLAY = """
from numba.core import event

passes, kernels = [], set()
class Listener(event.Listener):
    def on_start(self, e):
        if e.kind == "numba:run_pass":
            passes.append(e.data)
        elif (module := e.data["dispatcher"].py_func.__module__).startswith("pomdplite.") and not module.endswith(".abi"):
            kernels.add(e.data["dispatcher"].py_func.__name__)
    def on_end(self, e): pass
event.register("numba:run_pass", Listener())
event.register("numba:compile", Listener())
import pomdplite as pl
def play(model, planners):
    before, before_kernels = len(passes), len(kernels)
    means = [pl.evaluate(model, planner, episodes=3, seed=1).mean for planner in planners]
    print(means, len(passes) - before, len(kernels) - before_kernels, sep=";")
"""


class Copy(NamedTuple):
    """The package with the machine code of its kernels, and a folder for that of models."""

    package: Path
    models: Path

    def run(self, *arguments: object, **environment: str) -> list[str]:
        """The lines that Python prints with these arguments."""
        own = {"PYTHONPATH": str(self.package), "XDG_CACHE_HOME": str(self.models)}
        kept = {name: value for name, value in os.environ.items() if name != "NUMBA_CACHE_DIR"}
        done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False,
                              env={**kept, **own, **environment})  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    def play(self, *plays: str, **environment: str) -> list[tuple[str, int, int]]:
        """What `play` of PLAY prints: mean returns, compiler passes, kernels compiled."""
        lines = self.run("-c", "\n".join([PLAY, *plays]), **environment)
        return [(means, int(passes), int(kernels)) for means, passes, kernels in (line.split(";") for line in lines)]


@pytest.fixture(scope="module")
def copy(tmp_path_factory) -> Copy:
    """A copy that no other test changes, with the kernels that have been compiled so far, and no models."""
    package = tmp_path_factory.mktemp("package")
    shutil.copytree(Path(pl.__file__).parent, package / "pomdplite")  # keeps the time stamps that Numba compares
    return Copy(package, tmp_path_factory.mktemp("models"))


TIGER = "play(pl.make_model('tiger'), ['pomdp-lite', 'bayes-optimal'])"
ROCKS = "play(pl.make_model('rocksample-4-4'), ['pomdp-lite'])"
OTHER_ROCKS = "play(pl.RockSample(3, [(0, 0), (1, 2), (2, 2), (0, 2)]), ['pomdp-lite'])"

LISTEN = """
model = pl.make_model("tiger")
x = model.initial_state()
pl.initial_belief(model).update(x, "listen", x, "hear-left")
print(0, len(passes), len(kernels), sep=";")
"""


def test_a_second_process_compiles_nothing_not_even_for_a_new_model(copy, tmp_path):
    """Kernels are compiled once for all models; a model's own functions once for that model."""
    ((tiger, passes, _),) = copy.play(TIGER)  # and kernels, if no test has used them yet
    assert passes > 100
    again, (rocks, passes, kernels) = copy.play(TIGER, ROCKS)
    assert again == (tiger, 0, 0) and passes > 0 and kernels == 0  # its own functions only
    # other constants and array sizes of the same class compile nothing either
    same, others = copy.play(ROCKS, OTHER_ROCKS)
    assert same == (rocks, 0, 0) and others[1:] == (0, 0)
    ((_, passes, kernels),) = copy.play(LISTEN, NUMBA_CACHE_DIR=str(tmp_path))
    assert passes > 100 and kernels > 0  # the same counts, in an empty cache


@inlined
def chosen(values, i, negated):
    return -values[i] if negated else values[i]


@inlined
def calls_chosen(values, places):
    return chosen(values, 0, True) + chosen(values, 1, False) + chosen(values, places[0], values[0] > 0.0)


def test_a_kernel_is_compiled_once_whatever_literals_and_widths_its_callers_pass():
    values, places = np.array([1.0, 20.0, 300.0]), np.array([2], np.int32)
    calls_chosen.compile((typeof(values), typeof(places)))
    assert len(chosen.signatures) == 1
    assert calls_chosen(values, places) == -1.0 + 20.0 - 300.0  # Python may call it too


def test_two_versions_of_a_function_in_one_process_do_not_mix(copy, tmp_path):
    """Their machine code is loaded from the cache under the same name in the user's source."""
    script = tmp_path / "versions.py"
    script.write_text(
        "import pomdplite as pl\n"
        "def make(prize):\n"
        "    class Bet(pl.Model):\n"
        "        hidden = pl.Hidden(coin=('heads', 'tails'))\n"
        "        actions = ('call',)\n"
        "        discount = 0.5\n"
        "        def transition(m, x, theta, a, y): pass\n"
        "        def reward(m, x, theta, a): return prize + theta.coin\n"
        "    return Bet()\n"
        "import sys\n"
        "for prize in map(float, sys.argv[1:]):\n"
        "    planner = pl.MeanMdp(make(prize)); planner.reset(); print(planner.decide().value)\n"
    )
    for prizes in ("1", "5", "1 5", "5 1"):
        values = copy.run(script, *prizes.split())
        assert [float(v) for v in values] == [2 * (float(p) + 0.5) for p in prizes.split()]


def test_code_is_recompiled_when_a_helper_changes(tmp_path):
    values = []
    for bonus in (1.0, 2.0):
        (tmp_path / "helper_model.py").write_text(
            "import pomdplite as pl\n"
            f"EXTRA = {bonus}\n"
            "def extra(v): return EXTRA * v\n"
            "class Bet(pl.Model):\n"
            "    hidden = pl.Hidden(coin=('heads', 'tails'))\n"
            "    actions = ('call',)\n"
            "    discount = 0.0\n"
            "    def transition(m, x, theta, a, y): pass\n"
            "    def reward(m, x, theta, a): return extra(1.0)\n"
        )
        planner = pl.MeanMdp(pl.make_model(f"{tmp_path}/helper_model.py:Bet"))
        planner.reset()
        values.append(planner.decide().value)
    assert values == [1.0, 2.0]


def refusal(**functions) -> str:
    with pytest.raises(pl.ModelError) as caught:
        pl.initial_belief(type("Broken", (pl.Tiger,), functions)())
    return str(caught.value)


def reward_with_missing_parameter(m, x, theta, a):
    return m.prize * a  # the line


def transition_to_missing_field(m, x, theta, a, y):
    y.closed = 1  # the line


def reward_with_text(m, x, theta, a):
    words = {"listen": 1.0}
    return words[a]  # the line


def terminal_with_unknown_name(m, x):
    return x.opened == nowhere  # noqa: F821  the line


@pytest.mark.parametrize(
    ("name", "function", "cause"),
    [
        ("reward", reward_with_missing_parameter, "m has no parameter 'prize'"),
        ("transition", transition_to_missing_field, "no field 'closed'"),
        ("reward", reward_with_text, "int64 where unicode_type is needed"),
        ("terminal", terminal_with_unknown_name, "the name 'nowhere' is not defined"),
    ],
)
def test_an_error_names_the_function_the_line_and_the_cause(name, function, cause):
    text = refusal(**{name: function})
    assert f"Broken.{name} cannot be compiled" in text and cause in text
    source = Path(__file__).read_text().splitlines()
    line = int(re.search(r"test_compile.py, line (\d+)", text)[1])
    lines, first = inspect.getsourcelines(function)
    assert first <= line < first + len(lines) and source[line - 1].endswith("the line")
    assert "compiled = False" in text and len(text) < 700 and "\n" not in text


@pytest.mark.parametrize("compiled", [True, False])
def test_what_a_function_raises_is_reported_with_its_place(compiled):
    def reward(m, x, theta, a):
        if a == 2:
            raise ValueError("no such door")
        return 0.0

    model = type("Raising", (pl.Tiger,), {"reward": reward, "compiled": compiled})()
    with pytest.raises(
        pl.ModelError, match=r"ValueError at x = .*theta: tiger=left, action 'open-right': no such door"
    ):
        pl.PomdpLite(model).reset()


# ------------------------------------------------------------------ what the cache must notice


def value_of(path: Path) -> list[float]:
    planner = pl.MeanMdp(pl.make_model(f"{path}:Bet"))
    planner.reset()
    return planner.decide().solution.mean_reward.tolist()


BET = """
{top}
import numpy as np
import pomdplite as pl
class Bet(pl.Model):
    hidden = pl.Hidden(coin=('heads', 'tails'))
    actions = ('call', 'fold')
    discount = 0.0
    def transition(m, x, theta, a, y): pass
    def reward(m, x, theta, a): {body}
"""


@pytest.mark.parametrize(
    ("before", "after", "body", "expected"),
    [
        (
            "import enum\nclass Act(enum.IntEnum):\n    CALL = 0\n    FOLD = 1",
            "import enum\nclass Act(enum.IntEnum):\n    FOLD = 0\n    CALL = 1",
            "return 5.0 if a == Act.CALL else 1.0",
            [[5, 1], [1, 5]],
        ),
        (
            "import numpy as np\nT = (np.arange(3000.0), 1.0)",
            "import numpy as np\nT = (np.where(np.arange(3000) == 1500, 7.0, np.arange(3000.0)), 1.0)",
            "return T[0][1500]",
            [[1500, 1500], [7, 7]],
        ),
    ],
)  # fmt: skip
def test_code_is_recompiled_when_a_constant_that_it_uses_changes(tmp_path, before, after, body, expected):
    got = []
    for top in (before, after):
        (tmp_path / "bet.py").write_text(BET.format(top=top, body=body))
        got.append(value_of(tmp_path / "bet.py"))
    assert got == expected


def test_a_plain_class_of_constants_is_refused_rather_than_frozen(tmp_path):
    body = "return 5.0 if a == Act.CALL else 1.0"
    (tmp_path / "bet.py").write_text(BET.format(top="class Act:\n    CALL = 0", body=body))
    with pytest.raises(pl.ModelError, match=r"Bet.reward cannot be compiled .*it uses the global 'Act'"):
        value_of(tmp_path / "bet.py")


def test_code_is_recompiled_when_a_constant_in_another_module_changes(tmp_path):
    got = []
    for cost in (1.0, 2.0):
        (tmp_path / "bet_conf.py").write_text(f"COST = {cost}\n")
        sys.modules.pop("bet_conf", None)
        (tmp_path / "bet.py").write_text(BET.format(top="import bet_conf", body="return bet_conf.COST"))
        got.append(value_of(tmp_path / "bet.py"))
    assert got == [[1.0, 1.0], [2.0, 2.0]]


def raises(m, x, a=None):
    if a is None or a == 1:
        raise ValueError("no idea")
    return True


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["terminal", "legal", "depends"])
def test_what_legal_terminal_and_depends_raise_is_reported(name, compiled):
    function = (lambda m, x: raises(m, x)) if name == "terminal" else (lambda m, x, a: raises(m, x, a))
    broken = type("Broken", (pl.RockSample,), {name: function, "compiled": compiled})(2, [(0, 0), (1, 1)])
    with pytest.raises(pl.ModelError, match=rf"{name} raised ValueError.*no idea"):
        pl.PomdpLite(broken).reset()


def test_a_reward_that_is_sometimes_missing_is_reported():
    def reward(m, x, theta, a):
        if a > 0:
            return 1.0

    with pytest.raises(pl.ModelError, match="reward returned nothing"):
        pl.PomdpLite(type("Broken", (pl.Tiger,), {"reward": reward})()).reset()


WEIGHTS = [1.0, 2.0]


def test_a_global_list_is_refused():
    assert "global list" in refusal(reward=lambda m, x, theta, a: WEIGHTS[0])


def test_the_cache_folder_is_beside_numbas_or_the_users(tmp_path):
    code = "from pomdplite.compile.cache import cache_folder; print(cache_folder())"
    for variable, value, expected in (
        ("NUMBA_CACHE_DIR", tmp_path / "numba", tmp_path / "numba" / "pomdplite"),
        ("XDG_CACHE_HOME", tmp_path / "user", tmp_path / "user" / "pomdplite"),
    ):
        environment = {k: v for k, v in os.environ.items() if k not in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME")}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True,
            env={**environment, variable: str(value)},
        )  # fmt: skip
        assert Path(done.stdout.strip()) == expected and expected.is_dir()


def test_a_module_that_exists_keeps_its_time_stamp_and_old_modules_are_pruned(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "KEPT_MODULES", 2)
    for age, name in enumerate(("model_a.py", "model_b.py", "model_c.py")):
        cache.write_once(tmp_path / name, "first")
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    cache.write_once(tmp_path / "model_c.py", "second")
    assert (tmp_path / "model_c.py").read_text() == "first" and (tmp_path / "model_c.py").stat().st_mtime == 1002
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model_b.py", "model_c.py"]
