"""The code in the documentation, the examples and the benchmarks runs as it stands."""

import ast
import contextlib
import io
import re
import runpy
import shlex
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import typer

import pomdplite as pl
from pomdplite.cli.main import app, execute
from pomdplite.experiments.studies.study import shipped_studies
from pomdplite.problems import PROBLEMS

ROOT = Path(__file__).parents[1]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def blocks(page: str) -> list[tuple[str, str]]:
    """Return (language, text) of every fenced block, those in lists included; the language may be empty."""
    found = re.findall(r"^( *)```(\w*)\n(.*?)^\1```$", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    return [(language, textwrap.dedent(text)) for _, language, text in found]


def run_blocks(page: str, folder: Path, monkeypatch) -> dict:
    """Run a page's Python and console blocks in order. Return the names that the Python blocks define."""
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    scope: dict = {"__name__": "__main__"}
    for language, text in blocks(page):
        if language == "python":
            named = re.match(r"# (\w+\.py)\n", text)
            if named:
                (folder / named[1]).write_text(text)
            else:
                exec(compile(text, page, "exec"), scope)  # noqa: S102
        elif language == "console":
            for line in text.splitlines():
                assert line.startswith("$ pomdplite "), line
                said = io.StringIO()
                with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                    code = execute(shlex.split(line.removeprefix("$ pomdplite ")))
                assert code == 0, f"{line}\n{said.getvalue()}"
    return scope


def test_tutorial(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    scope = run_blocks("docs/tutorial.md", tmp_path, monkeypatch)
    assert scope["result"].planner == "bayes-optimal" and scope["result"].mean > 5
    assert scope["decision"].name == "west"
    printed = capsys.readouterr().out
    for claimed in re.findall(
        r"^(?:pomdp-lite|mean-mdp|bayes-optimal|west|east|\[0\.) ?.*$", (ROOT / "docs/tutorial.md").read_text(), re.M
    ):
        assert claimed in printed, f"the tutorial shows {claimed!r}, but its code printed:\n{printed}"
    assert list((tmp_path / "pictures").glob("*.png"))


@pytest.mark.slow
def test_the_page_about_gymnasium(tmp_path, monkeypatch, capsys):
    pytest.importorskip("gymnasium")
    scope = run_blocks("docs/gymnasium.md", tmp_path, monkeypatch)
    assert "50.0 %" in capsys.readouterr().out and scope["seen"] in scope["envs"].observation_space
    world = pl.make_world(f"{tmp_path / 'swing.py'}:world", pl.Pendulum())
    world.reset(1)
    assert 0.5 <= world.theta.mass <= 2.0 and world.step(0).reward < 0


def test_the_page_about_unknown_probabilities(tmp_path, monkeypatch, capsys):
    pytest.importorskip("gymnasium")
    scope = run_blocks("docs/unknown-mdp.md", tmp_path, monkeypatch)
    assert scope["planner"].belief.mean()["good, run"].tolist() == pytest.approx([1 / 3, 2 / 3])
    assert scope["belief"].mean()["moves or stays"].tolist() == pytest.approx([2 / 3, 1 / 3])


def test_the_page_about_model_files(tmp_path, monkeypatch, capsys):
    run_blocks("docs/model-files.md", tmp_path, monkeypatch)
    claimed = re.search(r"print\(model.structure\)  # (.*)", (ROOT / "docs/model-files.md").read_text())
    assert claimed and capsys.readouterr().out.strip() == claimed[1]
    assert pl.load(tmp_path / "tiger.pomdp").hidden.size == 2


def test_the_page_about_your_own_loop(tmp_path, monkeypatch, capsys):
    scope = run_blocks("docs/in-your-own-loop.md", tmp_path, monkeypatch)
    assert scope["planner"].belief.marginals()[0][0] > 0.99  # heard on the left three times
    assert scope["sure"].belief.marginals()[0].tolist() == [0.75, 0.25]  # recovered from the surprise
    printed = capsys.readouterr().out
    assert "observing 'hear-right' is impossible after 'listen'" in printed
    lift = scope["lift"]
    assert 2.2 < lift.belief.mean()["mass"] < 2.9 and lift.belief.quantile(0.95)["mass"] > 3.5
    assert printed.strip().endswith("value iteration")


@pytest.mark.slow
def test_the_page_about_real_numbers(tmp_path, monkeypatch, capsys):
    """The page shows what its code prints; the returns may differ by two standard errors, as searches change."""
    page, example = (ROOT / "docs/real-numbers.md").read_text(), (ROOT / "examples/push_box.py").read_text()
    scope = run_blocks("docs/real-numbers.md", tmp_path, monkeypatch)
    printed = capsys.readouterr().out
    model = (tmp_path / "push_box.py").read_text().removeprefix("# push_box.py\n")
    assert model.strip() in example
    for line in re.findall(r"^.* mass \d.*$", page, re.M):
        assert line in printed
    rows = r"^(pomdp-lite|mean-mdp) +([\d.]+) ± ([\d.]+)"
    shown, found = (re.findall(rows, text, re.M) for text in (page, printed))
    assert [row[0] for row in shown] == [row[0] for row in found] == ["pomdp-lite", "mean-mdp"]
    for (_, claimed, _), (_, mean, error) in zip(shown, found, strict=True):
        assert abs(float(mean) - float(claimed)) < 2 * float(error)
    assert scope["decision"].name == "weigh" and f"\n{scope['decision'].name}\n" in printed
    (tmp_path / "wrong_floor.py").write_text((tmp_path / "rough_floor.py").read_text().replace(" * moved)", ")"))
    message = pl.check_model(pl.make_model("wrong_floor.py:RoughFloor")).findings[0].message
    assert f"error: {message}\n" in page


def test_the_page_about_plans(tmp_path, monkeypatch, capsys):
    scope = run_blocks("docs/plan.md", tmp_path, monkeypatch)
    assert scope["robot"].title == scope["found"].title and (tmp_path / "tiger2.npz").exists()
    assert capsys.readouterr().out.count("listen\n") == 2


@pytest.mark.parametrize("page", ["docs/preference.md", "docs/adaptive-management.md", "docs/is-it-a-pomdp-lite.md"])
def test_the_pages_that_show_what_their_code_prints(page, tmp_path, monkeypatch, capsys):
    run_blocks(page, tmp_path, monkeypatch)
    (shown,) = re.findall(r"^```python\n.*?^```\n\n```\n(.*?)^```", (ROOT / page).read_text(), re.DOTALL | re.MULTILINE)
    assert shown in capsys.readouterr().out


@pytest.mark.slow
def test_the_examples_of_which_planner_when(monkeypatch, capsys):
    """Every planner of the page's tables plays or says why it cannot; the page shows the script's rows."""
    monkeypatch.setattr(sys, "argv", ["which_planner.py", "2"])
    runpy.run_path(str(ROOT / "examples" / "which_planner.py"), run_name="__main__")
    printed, page = capsys.readouterr().out.splitlines(), (ROOT / "docs/which-planner.md").read_text()
    assert len(printed) == 3 * 9
    for line in printed:
        first = line.split()[0]
        assert f"\n`{first[:-1]}`: " in page if first.endswith(",") else page.count(f"\n{first} ") == 3, line


@pytest.mark.slow
@pytest.mark.parametrize("page", ["docs/acrobot.md", "docs/intersection.md"])
def test_the_commands_of_the_pages_about_other_peoples_simulators(page, tmp_path, monkeypatch):
    pytest.importorskip("highway_env")
    run_blocks(page, tmp_path, monkeypatch)


def test_the_actions_of_which_planner_when(tmp_path, monkeypatch, capsys):
    run_blocks("docs/which-planner.md", tmp_path, monkeypatch)
    claimed = re.search(r"print\(decision.name, .*  # (.*)", (ROOT / "docs/which-planner.md").read_text())
    assert claimed and capsys.readouterr().out.strip() == claimed[1]


def test_the_page_about_grids(tmp_path, monkeypatch):
    grid = run_blocks("docs/grid.md", tmp_path, monkeypatch)["Pendulum"].grid
    assert repr(grid) == repr(pl.Pendulum.grid)


def test_the_planner_of_the_page_about_planners_conforms(tmp_path, monkeypatch, capsys):
    """It checks that itself. Like POMDP-lite with β = 5, it listens until one side leads by two."""
    run_blocks("docs/add-a-planner.md", tmp_path, monkeypatch)
    assert float(capsys.readouterr().out) == pl.evaluate("tiger", "pomdp-lite", episodes=500, beta=5).mean


def executed_pages() -> set[str]:
    """The pages that tests of this file name and run."""
    found: set[str] = set()
    for test in ast.parse(Path(__file__).read_text()).body:
        names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_") and {"run_blocks", "blocks"} & names:
            found |= {node.value for node in ast.walk(test) if isinstance(node, ast.Constant) and node.value in PAGES}
    return found


def test_every_page_with_code_is_executed():
    with_code = {page for page in PAGES if {language for language, _ in blocks(page)} & {"python", "console"}}
    assert not with_code - executed_pages(), "give each of these pages a test that calls run_blocks"
    assert len(with_code) > 15


COMMANDS = [
    (page, line.partition("#")[0].strip())
    for page in PAGES
    for language, text in blocks(page)
    for line in text.splitlines()
    if not language and line.startswith("pomdplite ")
]


def test_commands_that_would_take_long_at_least_exist():
    """Their options are known, and so are the studies and problems that they name; model files are the reader's."""
    group = typer.main.get_command(app)
    assert len(COMMANDS) > 30
    for page, line in COMMANDS:
        context = group.make_context("pomdplite", [])
        name, command, rest = group.resolve_command(context, shlex.split(line)[1:])
        given = command.make_context(name, rest, parent=context).params
        study = str(given["study"]) if name == "bench" else "x.toml"
        assert study.endswith(".toml") or study in shipped_studies(), f"{page}: {line}"
        problem = str(given.get("problem", "tiger"))
        assert problem in PROBLEMS or problem.endswith((".pomdp", ".pomdpx")), f"{page}: {line}"


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for page, line in COMMANDS if page == "docs/gallery.md"])
def test_the_commands_of_the_gallery(line, tmp_path, monkeypatch):
    pytest.importorskip("highway_env")
    monkeypatch.chdir(tmp_path)
    assert execute(shlex.split(line.removeprefix("pomdplite "))) == 0


def test_readme(tmp_path, monkeypatch):
    scope = run_blocks("README.md", tmp_path, monkeypatch)
    assert "planner" in scope


def test_studies_page(tmp_path, monkeypatch):
    scope = run_blocks("docs/studies.md", tmp_path, monkeypatch)
    assert scope["results"].missing == 0
    shown, words = (text for language, text in blocks("docs/studies.md") if language == "toml")
    assert len(scope["pl"].Study.parse(shown).cells) == 10
    notes, published = words.split("\n\n")
    study = scope["pl"].Study.parse("\n".join([notes, shown, published]))
    assert study.notes and study.publication == "book" and "qmdp" in study.published["tiger"]


def test_report_page(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    run_blocks("docs/report.md", tmp_path, monkeypatch)
    assert "pomdp-lite β = 30" in capsys.readouterr().out and (tmp_path / "doors.pdf").exists()


def test_the_page_about_replays(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    scope = run_blocks("docs/replay.md", tmp_path, monkeypatch)
    assert {page.name for page in tmp_path.glob("*.html")} == {"tiger.html", "two.html", "file.html", "robot.html"}
    assert scope["replay"].parted == int(capsys.readouterr().out) and len(scope["recording"].steps) > 3
    assert (ROOT / "docs/pictures/replay.png").stat().st_size < 200_000


def test_tuning_page(tmp_path, monkeypatch):
    pytest.importorskip("optuna")
    scope = run_blocks("docs/tuning.md", tmp_path, monkeypatch)
    assert len(scope["found"].trials) == 6 and (tmp_path / "tiger.png").exists()


def test_the_example_of_the_worlds_page_runs(tmp_path, monkeypatch, capsys):
    ((_, text),) = [b for b in blocks("docs/robot.md") if b[0] == "python"]
    assert len(text.splitlines()) < 60
    (tmp_path / "house.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    runpy.run_path(str(tmp_path / "house.py"), run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("tiger in HouseWorld: ") and printed.strip().endswith("right")


EXAMPLES = {
    "tables.py": "bayes-optimal: test-left, value 5.93",
    "q_learning.py": "q-learning       3.167\npomdp-lite       3.167\nbayes-optimal    3.167\n",
    "push_box.py": "mass 2.50, friction 0.35: weigh\n",
    "unknown_mass.py": "0.5 kg 0.01, 1 kg 0.08, 4 kg 0.91: lift strongly",
}


def test_every_example_is_tested():
    assert {path.name for path in (ROOT / "examples").glob("*.py")} == {*EXAMPLES, "demo.py", "which_planner.py"}


@pytest.mark.parametrize("script", EXAMPLES)
def test_examples(script, tmp_path, monkeypatch, capsys):
    if script == "q_learning.py":
        pytest.importorskip("gymnasium")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / script), run_name="__main__")
    assert EXAMPLES[script] in capsys.readouterr().out


def test_demo(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="__main__")
    text = capsys.readouterr().out
    assert "POMDP-lite earns" in text and (tmp_path / "demo" / "rocksample-7-8.png").stat().st_size > 10_000


@pytest.mark.parametrize("family", ["free", "costly", "traps", "random", "detour"])
def test_the_benchmark_of_regret_computes_the_value_of_a_policy(family):
    """An optimal planner has no regret, and another one's value is what it earns in simulated episodes."""
    scope = runpy.run_path(str(ROOT / "benchmarks" / "untuned.py"))
    model = scope["random_model"](family, np.random.default_rng([7, 1]))
    optimal = pl.BayesOptimal(model)
    optimal.reset()
    best = optimal.decide().value
    assert abs(scope["policy_value"](pl.BayesOptimal(model), model) - best) < 1e-9
    value, played = (
        scope["policy_value"](pl.Qmdp(model), model),
        pl.evaluate(model, pl.Qmdp(model), episodes=1000, seed=1),
    )
    assert value < best + 1e-9 and abs(value - played.mean) < 4 * played.stderr + 1e-9


def test_the_page_about_the_theory(tmp_path, monkeypatch, capsys):
    """It prints the numbers in its comments."""
    pytest.importorskip("matplotlib")
    page = (ROOT / "docs/theory.md").read_text()
    run_blocks("docs/theory.md", tmp_path, monkeypatch)
    printed = re.findall(r"(?<![\w.])\d+\.?\d*(?:e\+\d+)?|inf|True|False", capsys.readouterr().out)
    claimed = [
        "9.0",
        "inf",
        "True",
        "0.252",
        "0.664",
        "0.032",
        "0.057",
        "0.032",
        "0.034",
        "0.0327",
        "0.0496",
        "0.76",
        "0.71",
        "0.84",
        "0.73",
        "1.0",
        "True",
    ]
    for said, shown in zip(claimed, printed, strict=False):
        assert said in page and (said == shown or abs(float(said) - float(shown)) < 0.005), (said, shown)
    assert printed[-4:] == ["0", "9.0", "106", "1.1e+07"]
    assert len(list((tmp_path / "figures").glob("*.png"))) == 5


@pytest.mark.slow
def test_the_rows_of_the_benchmarks_fit_80_columns(capsys):
    """The quick parts of benchmarks/run.py, which use internals that may change."""
    scope = runpy.run_path(str(ROOT / "benchmarks" / "run.py"))
    scope["calls"]()
    scope["graph_of"]("rocksample-7-8")
    rows = capsys.readouterr().out.splitlines()
    assert len(rows) == 4 + 4 and max(map(len, rows)) <= 80


def test_every_public_name_exists():
    import pomdplite

    assert [name for name in pomdplite.__all__ if not hasattr(pomdplite, name)] == []
