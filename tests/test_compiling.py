"""Compiled and interpreted functions, the cache on disk, and errors in the user's words."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import pomdplite as pl

PLAY = """
import sys
from numba.core import event

passes = []
class Listener(event.Listener):
    def on_start(self, e): passes.append(e.data)
    def on_end(self, e): pass
event.register("numba:run_pass", Listener())
import pomdplite as pl
{extra}
result = pl.evaluate(model, "pomdp-lite", episodes=3, seed=1)
best = pl.evaluate(model, "bayes-optimal", episodes=1, seed=1) if {small} else None
print(repr(result.mean), len(passes))
"""


def play(cache: Path, extra: str, small: bool = True, **environment: str) -> tuple[str, int]:
    done = subprocess.run(
        [sys.executable, "-c", PLAY.format(extra=extra, small=small)], capture_output=True, text=True, check=False,
        env={**os.environ, "NUMBA_CACHE_DIR": str(cache), **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    mean, passes = done.stdout.split()
    return mean, int(passes)


@pytest.fixture(scope="module")
def cache(tmp_path_factory) -> Path:
    """A cache folder that starts empty; the first test fills it."""
    return tmp_path_factory.mktemp("cache")


def test_a_second_process_compiles_nothing_not_even_for_a_new_model(cache):
    """Kernels are compiled once for all models; a model's own functions once for that model."""
    first, compiled = play(cache, "model = pl.make('tiger')")
    assert compiled > 100
    assert play(cache, "model = pl.make('tiger')") == (first, 0)
    _, other = play(cache, "model = pl.make('rocksample-4-4')", small=False)
    assert 0 < other < compiled / 3  # its own functions, no kernel
    assert play(cache, "model = pl.make('rocksample-4-4')", small=False)[1] == 0
    # other constants and array sizes of the same class compile nothing either
    assert play(cache, "model = pl.RockSample(3, [(0, 0), (1, 2), (2, 2), (0, 2)])", small=False)[1] == 0


def test_everything_runs_without_compiling_at_all(cache):
    compiled, _ = play(cache, "model = pl.make('tiger')")
    interpreted, passes = play(cache, "model = pl.make('tiger')", NUMBA_DISABLE_JIT="1")
    assert (interpreted, passes) == (compiled, 0)


def test_two_versions_of_a_function_in_one_process_do_not_mix(cache, tmp_path):
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
        done = subprocess.run([sys.executable, script, *prizes.split()], capture_output=True, text=True, check=True,
                              env={**os.environ, "NUMBA_CACHE_DIR": str(cache)})  # fmt: skip
        assert [float(v) for v in done.stdout.split()] == [2 * (float(p) + 0.5) for p in prizes.split()]


def test_a_changed_helper_is_compiled_anew(tmp_path):
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
        planner = pl.MeanMdp(pl.make(f"{tmp_path}/helper_model.py:Bet"))
        planner.reset()
        values.append(planner.decide().value)
    assert values == [1.0, 2.0]


def test_an_interpreted_model_may_call_anything():
    calls = []

    class Simulated(pl.Tiger):
        compiled = False

        def reward(m, x, theta, a):
            calls.append((int(x.opened), int(theta.tiger), a))
            return {0: -1.0}.get(a, 10.0 if a - 1 != theta.tiger else -100.0)

    result = pl.evaluate(Simulated(), "pomdp-lite", episodes=20, seed=1, beta=30.0)
    assert (
        result.returns.tolist()
        == pl.evaluate(pl.Tiger(), "pomdp-lite", episodes=20, seed=1, beta=30.0).returns.tolist()
    )
    assert calls


def test_parameters_are_numbers_and_arrays_of_the_class_and_the_object():
    class Shelf(pl.Tiger):
        weights = (1, 2, 3)
        label = "not for compiled code"

        def __init__(self):
            super().__init__()
            self.table = np.arange(6.0).reshape(2, 3)
            self.eager = True

        def reward(m, x, theta, a):
            return m.table[1, m.weights[0]] + (0.5 if m.eager else 0.0)

    planner = pl.MeanMdp(Shelf())
    planner.reset()
    assert planner.decide().mean_reward.tolist() == [4.5] * 3


def test_a_model_in_use_does_not_change():
    model = pl.Tiger()
    pl.initial_belief(model)
    with pytest.raises(pl.ModelError, match="already in use, so accuracy cannot change"):
        model.accuracy = 0.9


def complaint(**functions) -> str:
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
        ("reward", reward_with_text, ""),
        ("terminal", terminal_with_unknown_name, "'nowhere'"),
    ],
)
def test_what_cannot_be_compiled_is_told_by_function_and_line(name, function, cause):
    text = complaint(**{name: function})
    assert f"Broken.{name} cannot be compiled" in text and cause in text
    source = Path(__file__).read_text().splitlines()
    line = int(re.search(r"test_compiling.py, line (\d+)", text)[1])
    assert source[line - 1].strip().endswith("# the line") or "the line" in source[line - 1]
    assert "compiled = False" in text and len(text) < 700 and "\n" not in text


@pytest.mark.parametrize(
    ("functions", "message"),
    [
        ({"reward": lambda m, x, a: 0.0}, r"reward must take \(m, x, theta, a\), but takes \(m, x, a\)"),
        ({"transition": lambda m, x, theta, a, y, p: None}, "set outcomes to their greatest number"),
        ({"discount": 1.5, "__init__": lambda self: None}, "discount must be a number from 0 to 1, not 1.5"),
        ({"actions": ("go", "go")}, "different names"),
        ({"hidden": ("left", "right")}, r"hidden must be a pomdplite.Hidden"),
        ({"observation": None}, "names observations but has no function observation"),
        ({"reward": None}, "has no function reward"),
        ({"outcomes": 0}, "outcomes must be a whole number"),
    ],
)
def test_an_incomplete_tuple_is_told(functions, message):
    assert re.search(message, complaint(**functions))


def test_what_a_function_raises_is_told_with_its_place():
    def reward(m, x, theta, a):
        if a == 2:
            raise ValueError("no such door")
        return 0.0

    for compiled in (True, False):
        model = type("Raising", (pl.Tiger,), {"reward": reward, "compiled": compiled})()
        with pytest.raises(
            pl.ModelError, match=r"ValueError.*no such door|no such door.*ValueError|action 'open-right'"
        ):
            pl.PomdpLite(model).reset()
