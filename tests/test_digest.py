"""The digest of a model's machine code: it changes with everything that the code depends on, and with nothing else."""

import logging
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from stale_cases import AFTER, BEFORE, CASES, HOLDERS, ROUTES, Case, read_value

import pomdplite as pl
from pomdplite.compile import storage
from pomdplite.compile.digest import digest
from pomdplite.compile.wrappers import module_text

SOME = [case for case in CASES if case.route == "a dotted module" or case.holder in ("float", "large array")]
REFUSED = ("a class", "a keyword default")  # routes that Numba does not compile


def stale(cases: list[Case], folder: Path) -> list[Case]:
    """Cases in which the digest does not see that the number changed, or sees a change where there is none."""
    wrong = []
    for number, case in enumerate(cases):
        place = folder / str(number)
        before, after, again = (case.digest(place, n) for n in (BEFORE, AFTER, BEFORE))
        if before.unseen is not None or before.key == after.key or before.key != again.key:
            wrong.append(case)
    print(f"{len(cases)} cases, {len(wrong)} stale")
    return wrong


def test_the_digest_changes_with_a_number_however_it_reaches_the_code(tmp_path):
    assert len(SOME) > 60
    assert stale(SOME, tmp_path) == []


@pytest.mark.slow
def test_every_holder_on_every_route(tmp_path):
    assert len(CASES) == len(HOLDERS) * len(ROUTES) == 700
    assert stale(CASES, tmp_path) == []


COMPILED = [Case("float", route) for route in ROUTES if route not in REFUSED] + [
    Case(h, "a global") for h in HOLDERS if h != "strided array"
]


@pytest.mark.slow
@pytest.mark.parametrize("case", COMPILED, ids=lambda c: f"{c.holder}, {c.route}")
def test_the_cases_are_real_and_an_edit_gives_the_new_number(case, tmp_path):
    """Otherwise the digests of these cases would say nothing about machine code."""
    assert [read_value(case.load(tmp_path, n)) for n in (BEFORE, AFTER, BEFORE)] == [BEFORE, AFTER, BEFORE]


def test_an_edit_gives_the_new_number(tmp_path):
    case = Case("vectorize", "a dotted module")
    assert [read_value(case.load(tmp_path, n)) for n in (BEFORE, AFTER)] == [BEFORE, AFTER]


def test_the_digest_is_the_same_in_every_process(tmp_path):
    script = Path(__file__).with_name("stale_cases.py")
    found = [
        subprocess.run(
            [sys.executable, script, tmp_path / seed, "25"], capture_output=True, text=True, check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert found[0] == found[1] and len(found[0].splitlines()) == 28


def definition_of(reward) -> tuple:
    definition = type("Bet", (pl.Tiger,), {"reward": reward})().compiled_form.definition
    return definition, module_text(definition)


def digest_of(reward):
    return digest(*definition_of(reward))


def test_sets_and_words_have_no_order():
    def reward(m, x, theta, a):
        return 1.0 if a in {1, 2, 3} else 2.0

    assert digest_of(reward) == digest_of(reward)


def test_which_of_two_known_functions_is_used_counts():
    """Both have been digested before, so only their identity can tell."""
    one, two = (lambda: 1.0), (lambda: 2.0)
    both = one, two

    def with_pair(pair):
        def reward(m, x, theta, a):
            return both[0]() + pair[0]()

        return digest_of(reward).key

    assert with_pair((one, two)) != with_pair((two, one))


def test_the_layout_of_the_state_counts():
    def with_field(kind):
        return digest_of_model(type("Bet", (pl.Tiger,), {"state": pl.State(opened=kind)})())

    def digest_of_model(model):
        return digest(model.compiled_form.definition, "").key

    assert with_field(bool) != with_field(int)


# ------------------------------------------------------------------ what cannot be digested


def with_pointer():
    """A model that calls a C function by its address."""
    import ctypes

    cosine = ctypes.CDLL(None).cos
    cosine.argtypes, cosine.restype = [ctypes.c_double], ctypes.c_double

    def reward(m, x, theta, a):
        return cosine(0.0)

    return reward


def test_code_that_cannot_be_digested_is_compiled_in_memory_and_the_log_says_so_once(tmp_path, monkeypatch, caplog):
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(storage, "_warned", set())
    reward = with_pointer()
    with caplog.at_level(logging.WARNING, "pomdplite"):
        for _ in range(2):
            planner = pl.MeanMdp(type("Pointing", (pl.Tiger,), {"reward": reward})())
            planner.reset()
            assert planner.decide().solution.mean_reward.tolist() == [1.0, 1.0, 1.0]
    assert [r.getMessage() for r in caplog.records] == [
        "Pointing is compiled in every process, because its functions use an object of type ctypes.CDLL.__init__.<locals>._FuncPtr"
    ]
    assert not list(tmp_path.rglob("model_*"))


def test_python_code_in_objmode_is_not_kept(monkeypatch):
    from numba import objmode

    def reward(m, x, theta, a):
        with objmode(r="float64"):
            r = 1.0
        return r

    assert digest_of(reward).unseen == "Python code in objmode"


@pytest.mark.slow
def test_a_users_own_cached_helper_is_compiled_again_when_a_module_that_it_imports_changes(tmp_path):
    """Numba itself checks only the helper's own file, and would return 3.0 twice."""
    script = (
        "import sys; sys.dont_write_bytecode = True; sys.path.insert(0, sys.argv[2])\n"
        "from stale_cases import *; print(read_value(pl.make_model(sys.argv[1] + ':Bet')))"
    )
    for kind in ("njit(cache=True)", "njit('float64()', cache=True)"):
        values = []
        for number in (BEFORE, AFTER):
            case = Case("float", "an njit helper in a module")
            path = case.write(tmp_path, number)
            helper = tmp_path / "case_help.py"
            helper.write_text(helper.read_text().replace("numba.njit", f"numba.{kind}"))
            done = subprocess.run(
                [sys.executable, "-c", script, path, str(Path(__file__).parent)],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            values.append(float(done.stdout))
        assert values == [BEFORE, AFTER]


def test_arrays_are_digested_in_full():
    big = np.zeros(100_000)

    def reward(m, x, theta, a):
        return big[a]

    before = digest_of(reward).key
    big[50_000] = 1.0
    assert digest_of(reward).key != before
