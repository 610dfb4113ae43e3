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
    first, compiled = play(cache, "model = pl.make_model('tiger')")
    assert compiled > 100
    assert play(cache, "model = pl.make_model('tiger')") == (first, 0)
    _, other = play(cache, "model = pl.make_model('rocksample-4-4')", small=False)
    assert 0 < other < compiled / 3  # its own functions, no kernel
    assert play(cache, "model = pl.make_model('rocksample-4-4')", small=False)[1] == 0
    # other constants and array sizes of the same class compile nothing either
    assert play(cache, "model = pl.RockSample(3, [(0, 0), (1, 2), (2, 2), (0, 2)])", small=False)[1] == 0


def test_everything_runs_without_compiling_at_all(cache):
    compiled, _ = play(cache, "model = pl.make_model('tiger')")
    interpreted, passes = play(cache, "model = pl.make_model('tiger')", NUMBA_DISABLE_JIT="1")
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
        planner = pl.MeanMdp(pl.make_model(f"{tmp_path}/helper_model.py:Bet"))
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
    assert planner.decide().solution.mean_reward.tolist() == [4.5] * 3


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
        ({"transition": lambda m, x, theta, a, y, p: None}, "set next_states to the most that any action has"),
        ({"discount": 1.5, "__init__": lambda self: None}, "discount must be a number from 0 to 1, not 1.5"),
        ({"actions": ("go", "go")}, "different names"),
        ({"hidden": ("left", "right")}, r"hidden must be a pomdplite.Hidden"),
        ({"observation": None}, "names observations but has no function observation"),
        ({"reward": None}, "has no function reward"),
        ({"next_states": 0}, "next_states must be a whole number"),
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


# ------------------------------------------------------------------ what the cache must notice, and what models may hold


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
        ("class Act:\n    CALL = 0", "class Act:\n    CALL = 1", "return 5.0 if a == Act.CALL else 1.0", [[5, 1], [1, 5]]),
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
def test_code_is_compiled_anew_when_a_constant_behind_it_changes(tmp_path, before, after, body, expected):
    got = []
    for top in (before, after):
        (tmp_path / "bet.py").write_text(BET.format(top=top, body=body))
        try:
            got.append(value_of(tmp_path / "bet.py"))
        except pl.ModelError as error:  # a plain class is no constant for Numba: told, not silently wrong
            assert "Act" in str(error)
            return
    assert got == expected


def test_code_is_compiled_anew_when_a_constant_in_another_module_changes(tmp_path):
    got = []
    for cost in (1.0, 2.0):
        (tmp_path / "bet_conf.py").write_text(f"COST = {cost}\n")
        sys.modules.pop("bet_conf", None)
        (tmp_path / "bet.py").write_text(BET.format(top="import bet_conf", body="return bet_conf.COST"))
        got.append(value_of(tmp_path / "bet.py"))
    assert got == [[1.0, 1.0], [2.0, 2.0]]


def test_states_and_hidden_values_may_hold_arrays_of_truth_values():
    class Lamps(pl.Model):
        state = pl.State(lit=(bool, 3))
        hidden = pl.Hidden(wired=pl.independent(3, (False, True)))
        actions = ("press-0", "press-1", "press-2")
        discount = 0.9

        def transition(m, x, theta, a, y):
            if theta.wired[a]:
                y.lit[a] = True

        def reward(m, x, theta, a):
            return 1.0 if theta.wired[a] and not x.lit[a] else -0.1

        def depends(m, x, a):
            return a

    assert pl.check_model(Lamps()).ok
    for planner in (pl.PomdpLite(Lamps(), beta=0.1), pl.BayesOptimal(Lamps(), search_depth=4)):
        planner.reset()
        assert planner.decide().value > 0


def raises(m, x, a=None):
    if a is None or a == 1:
        raise ValueError("no idea")
    return True


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", ["terminal", "legal", "depends"])
def test_what_legal_terminal_and_depends_raise_is_told(name, compiled):
    function = (lambda m, x: raises(m, x)) if name == "terminal" else (lambda m, x, a: raises(m, x, a))
    broken = type("Broken", (pl.RockSample,), {name: function, "compiled": compiled})(2, [(0, 0), (1, 1)])
    with pytest.raises(pl.ModelError, match=rf"{name} raised ValueError.*no idea"):
        pl.PomdpLite(broken).reset()


def test_a_reward_that_is_sometimes_missing_is_told():
    def reward(m, x, theta, a):
        if a > 0:
            return 1.0

    with pytest.raises(pl.ModelError, match="reward returned nothing"):
        pl.PomdpLite(type("Broken", (pl.Tiger,), {"reward": reward})()).reset()


def test_minus_zero_is_zero_for_hidden_values_too():
    class Flip(pl.Model):
        hidden = pl.Hidden(v=(-1.0, 0.0, 1.0))
        actions = ("turn",)
        discount = 0.5

        def transition(m, x, theta, a, y):
            pass

        def reward(m, x, theta, a):
            return theta.v

        def evolve(m, x, theta, a, theta_next):
            theta_next.v = -theta.v

    planner = pl.MeanMdp(Flip())
    planner.reset()
    assert abs(planner.decide().value) < 1e-9


def test_attributes_that_do_not_reach_m_are_told_with_their_type():
    text = complaint(reward=lambda m, x, theta, a: m.mode * 1.0, mode="fast")
    assert "m.mode is not there: it is a str" in text
    with pytest.raises(pl.ModelError, match=r"m.mode is not there: it is a str"):
        pl.check_model(
            type("B", (pl.Tiger,), {"reward": lambda m, x, theta, a: m.mode, "mode": "x"})()
        ).raise_if_wrong()


WEIGHTS = [1.0, 2.0]


def test_a_global_list_is_told():
    assert "global list" in complaint(reward=lambda m, x, theta, a: WEIGHTS[0])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ({"beta": -3.0}, "beta must be a number of at least 0"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"actions": 4}, "actions must list at least one"),
        ({"huge": 10**30}, "does not fit 64 bits"),
    ],
)
def test_senseless_attributes_are_told(attributes, message):
    assert message in complaint(**attributes)


def test_names_that_the_library_or_numpy_uses_are_refused():
    model = pl.Tiger()
    with pytest.raises(pl.ModelError, match="the library uses that name"):
        model.source = 3
    with pytest.raises(pl.ModelError, match="NumPy's records use that name"):
        pl.State(size=int)
