"""A study's tables in every format, and the command that prints them."""

import csv
import io
import json
import re
import shutil
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from factories import cell, played_results, results
from rich.console import Console

import pomdplite as pl
from pomdplite.cli import main as cli
from pomdplite.experiments.statistics import Difference
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import study_tables
from pomdplite.views.latex import latex_text
from pomdplite.views.page import report_page
from pomdplite.views.tables import csv_text
from pomdplite.views.terminal import print_in_full
from pomdplite.views.text import Comparison, comparison_table, drawing, evaluation_table

NOISE = np.random.default_rng(3).normal(0, 1, 60)


def shown(*cells):
    """The rows of a one-table study as {label: texts}, with marks, and its notes."""
    (g,) = pl.tables(results(*cells)).grids
    lines = {
        label: [s.text + ("*" if s.best else "") + ("†" if s.equal else "") for s in line]
        for label, line in zip(g.labels, g.lines, strict=True)
    }
    return lines, g


def test_planners_down_problems_across():
    lines, g = shown(
        cell("tiger", "qmdp", [1, 2, 3]), cell("rocks", "qmdp", [4, 4, 4]),
        cell("tiger", "sarsop", [5, 6, 7]), cell("rocks", "sarsop", reason="Rocks: too many states."),
    )  # fmt: skip
    assert g.header == ("tiger", "rocks") and list(lines) == ["qmdp", "sarsop"]
    assert lines["qmdp"][0].startswith("2.00 ± 0.58") and lines["sarsop"] == ["6.00 ± 0.58*", "–"]
    assert g.reasons == ("Rocks: too many states.",) and g.lines[1][1].reason == 1


def test_the_best_and_those_not_significantly_worse():
    lines, _ = shown(
        cell("p", "best", 10 + NOISE), cell("p", "close", 9.99 + np.flip(NOISE)), cell("p", "worse", 9 + NOISE)
    )
    marks = {label: texts[0][-1] for label, texts in lines.items()}
    assert marks["best"] == "*" and marks["close"] == "†" and marks["worse"] not in "*†"


def test_equal_means_are_both_the_best():
    lines, _ = shown(cell("p", "one", 1 + NOISE), cell("p", "two", 1 + NOISE), cell("p", "three", NOISE))
    assert lines["one"][0].endswith("*") and lines["two"][0].endswith("*") and lines["three"][0][-1].isdigit()


def test_a_single_entry_is_not_called_the_best():
    lines, g = shown(cell("p", "alone", [1, 2]))
    assert lines["alone"] == ["1.50 ± 0.50"] and not g.compared


def test_the_correction_counts_the_comparisons_of_a_column():
    """A difference with p < 5% is significant on its own, but not among ten others."""
    gaps = np.array([1.0, 1, 1, 1, 1, 1, 0, 0])  # p = 2/2^6
    few = [cell("p", "best", [0] * 8), cell("p", "worse", -gaps)]
    many = [cell("p", f"other {i}", -gaps * (1 + i)) for i in range(10)]
    assert not shown(*few)[0]["worse"][0].endswith("†")
    assert shown(*few, *many)[0]["worse"][0].endswith("†")


def test_equal_planners_are_rarely_called_worse():
    """The best is chosen from the same returns; that must not raise the rate of false differences above the level."""
    generator = np.random.default_rng(5)
    false = 0
    for _ in range(60):
        (table,) = study_tables(results(*(cell("p", f"{i}", generator.normal(size=13)) for i in range(8))))
        false += any(not (e.best or e.equal) for e in table.entries)
    assert false <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)


def test_an_unfinished_entry_is_marked_and_a_lucky_start_is_not_the_best():
    lines, g = shown(
        cell("p", "done", NOISE, wanted=60), cell("p", "begun", [99.0, 98.0], wanted=60), cell("p", "later", wanted=60)
    )
    assert lines["done"][0].endswith("*") and lines["begun"] == ["98.50 ± 0.50 (2)†"] and lines["later"] == ["…"]
    assert "unfinished: 2 of 3 entries" in " ".join(g.notes)
    text = report_page(results(cell("p", "done", NOISE, wanted=60), cell("p", "begun", [99.0], wanted=60)))
    assert "The study is unfinished: 1 entry" in text


def test_success_rates_are_shown_if_some_episode_fails():
    one, two = (
        [cell(p, "q", [1, 2], success=ok), cell(p, "r", [1, 2], success=True)] for p, ok in (("a", True), ("b", False))
    )
    _, g = shown(*one, *two)
    assert g.header == ("a", "b", "success") and [line[2].text for line in g.lines] == ["0%", "100%"]


def test_rows_show_only_parameters_that_vary_on_one_problem():
    lines, _ = shown(
        cell("a", "lite", [1, 2], beta=3.0, depth=9), cell("b", "lite", [1, 2], beta=7.0, depth=9), cell("a", "q", [1])
    )
    assert list(lines) == ["lite", "q"]
    lines, _ = shown(cell("a", "lite", [1, 2], beta=0.5), cell("a", "lite", [1, 2], beta=100.0), cell("a", "lite", [3]))
    assert list(lines) == ["lite β = 0.5", "lite β = 100", "lite beta left out"]


def test_a_chosen_parameter_is_shown_in_the_label_if_it_is_the_same_everywhere_and_otherwise_below():
    auto, given = (
        replace(cell("a", "lite", [1, 2], beta="auto"), chosen={"beta": 38.604}),
        cell("a", "lite", [1], beta=3.0),
    )
    other = replace(cell("b", "lite", [1, 2], beta="auto"), chosen={"beta": 0.8})
    lines, g = shown(auto, given)
    assert list(lines) == ["lite β = 38.6 (auto)", "lite β = 3"] and "38.6" not in " ".join(g.notes)
    lines, g = shown(auto, given, other)
    assert list(lines) == ["lite β = auto", "lite β = 3"]
    assert "lite β = auto: β = 38.6 (auto) on a, β = 0.8 (auto) on b." in g.notes
    lines, g = shown(auto)  # the label does not mention β
    assert list(lines) == ["lite"] and "lite: β = 38.6 (auto) on a." in g.notes
    (line,) = csv.DictReader(io.StringIO(csv_text(results(auto))))
    assert json.loads(line["parameters"]) == {"beta": "auto"} and json.loads(line["chosen"]) == {"beta": 38.604}


def test_several_planners_with_several_budgets_get_a_table_per_budget():
    study = results(
        *(cell("p", name, i + t + NOISE, time=t) for i, name in enumerate(("a", "b")) for t in (0.1, 1.0)),
        cell("p", "offline", 0.5 + NOISE),
    )
    tables = study_tables(study)
    assert [t.budget for t in tables] == [("time", 0.1), ("time", 1.0)]
    assert [[r.label for r in t.rows] for t in tables] == [["a", "b", "offline"]] * 2
    assert all(t.columns[0].entries[1].best for t in tables)
    assert "0.1 s of wall-clock time per step" in str(pl.tables(study))
    one = study_tables(results(cell("p", "a", NOISE, time=0.1), cell("p", "a", NOISE, time=1.0), cell("p", "b", NOISE)))
    assert [r.label for r in one[0].rows] == ["a 0.1 s", "a 1 s", "b"]


def test_decimals_follow_the_standard_error():
    assert shown(cell("p", "q", NOISE / 1000))[0]["q"][0].count("0.000") == 2
    assert shown(cell("p", "q", [3.0, 3.0]))[0]["q"] == ["3.00 ± 0.00"]
    assert shown(cell("p", "q", [3.0]))[0]["q"] == ["3.00"]


def test_the_terminal_shows_every_column_however_narrow():
    study = results(*(cell(f"problem-{i}", "planner", 10 * i + NOISE, success=i < 4) for i in range(8)))
    for width in (40, 80, 300):
        console = Console(width=width, file=io.StringIO())
        console.print(pl.tables(study))
        text = console.file.getvalue()
        assert all(f"problem-{i}" in text for i in range(8)) and text.count("±") == 8 + 1
        assert text.count(" success") == 4
        assert max(map(len, text.splitlines())) <= width
    assert len([line for line in str(pl.tables(study)).splitlines() if "problem-" in line]) == 1


def test_tables_are_not_cut_off_in_a_pipe():
    study = results(*(cell(f"a-problem-with-a-long-name-{i}", "planner", 1e6 * NOISE) for i in range(4)))
    evaluations = [r.evaluation(0) for r in study.cells]
    shift = Difference.of(1e6 * NOISE)
    comparison = comparison_table([Comparison(e, shift) for e in evaluations])
    number = f"{evaluations[0].mean:.2f} ± {evaluations[0].stderr:.2f}"
    for table in (pl.tables(study), evaluation_table(evaluations), comparison):
        texts = []
        for width in (30, 500):
            console = Console(width=width, file=io.StringIO(), force_terminal=False)
            print_in_full(console, table)
            texts.append(console.file.getvalue())
        assert texts[0] == texts[1] and number in texts[0]


def test_a_wide_map_is_not_cut_off_in_a_pipe():
    model = pl.make_model("rocksample-20-20")
    state, marginals = model.initial_state(), pl.initial_belief(model).marginals()
    console = Console(width=80, file=io.StringIO(), force_terminal=False)
    print_in_full(console, drawing(model, state, marginals))
    lines = [line.rstrip() for line in model.draw(state, marginals).splitlines()]
    assert max(map(len, lines)) > 80 and console.file.getvalue().splitlines() == lines


def test_a_narrow_terminal_wraps_what_does_not_fit():
    e = results(cell("p", "a-planner-with-a-long-name", 1e6 * NOISE)).cells[0].evaluation(0)
    console = Console(width=30, file=io.StringIO(), force_terminal=True, color_system=None)
    print_in_full(console, comparison_table([Comparison(e, None)]))
    text = console.file.getvalue()
    assert max(map(len, text.splitlines())) <= 30 and "…" not in text  # rich's mark for text that was cut


def test_latex_escapes_special_characters():
    study = results(
        cell("rock_sample & co", "50% #1", -10 - NOISE), cell("rock_sample & co", "a^b~c\\{$}", -20 + NOISE),
        cell("rock_sample & co", "cannot", reason="α-vectors: θ_1 > 5"), title="A_B",
    )  # fmt: skip
    text = pl.tables(study).latex()
    assert r"rock\_sample \& co" in text and r"50\% \#1" in text and r"\caption{A\_B}" in text
    assert r"a\textasciicircum{}b\textasciitilde{}c\textbackslash{}\{\$\}" in text
    assert re.search(r"\$\\mathbf\{-\d+\.\d\d \\pm 0\.\d\d\}\$", text) and "--$^{1}$" in text
    assert r"$^{1}$ $\alpha$-vectors: $\theta$\_1 \textgreater{} 5" in text
    assert text.isascii() and text.count("{") == text.count("}")
    rows = re.search(r"\\midrule\n(.*)\n\\bottomrule", text, re.DOTALL)[1].splitlines()
    assert len(rows) == 3 and all(re.sub(r"\\&", "", row).count("&") == 1 and row.endswith(r" \\") for row in rows)
    assert latex_text("two\nlines") == "two lines" and latex_text("[1]*") == "{[}1]{*}"  # "\\\\[" would be a command
    assert r"^{\dagger}$" in pl.tables(results(cell("p", "a", NOISE), cell("p", "b", NOISE[::-1] - 0.001))).latex()


CITED = """
notes = ["Maps & robots differ."]
publication = "paper"
[published.tiger]
a = [1.234, 0.1, 0.998]
b = [-2, 0.25]
"""


def test_published_numbers_are_shown_below_our_own():
    study = results(
        cell("tiger", "a", NOISE, success=True, beta=1), cell("tiger", "a", NOISE, success=True, beta=2),
        cell("tiger", "b", NOISE - 9, success=True), cell("rocks", "b", NOISE), configuration=CITED,
        settings={"tiger": {"robot": "an <arm>"}},
    )  # fmt: skip
    (g,) = pl.tables(study).grids
    assert g.labels == ("a β = 1", "a β = 2", "paper", "b", "paper") and g.header == ("tiger", "success", "rocks")
    assert [s.text for s in g.lines[2]] == ["1.23 ± 0.10", "99.8%", ""] and g.lines[2][0].cited
    assert [s.text for s in g.lines[4]] == ["-2.00 ± 0.25", "", ""]
    assert g.notes[-1] == "Maps & robots differ."
    assert "| paper | *1.23 ± 0.10* | *99.8%* |  |" in pl.tables(study).markdown()
    latex = pl.tables(study).latex()
    assert r"paper & $\mathit{-2.00 \pm 0.25}$ &" in latex and r"Maps \& robots" in latex
    page = "".join(line.strip() for line in report_page(study).splitlines())
    assert '<td class="cited">1.23 ± 0.10' in page and "Maps &amp; robots differ." in page
    assert "<h3>tiger</h3><dl><dt>robot</dt><dd>an &lt;arm&gt;</dd></dl>" in page
    lines = list(csv.DictReader(io.StringIO(csv_text(study))))
    assert [line["published_mean"] for line in lines] == ["1.234", "1.234", "-2.0", ""]
    assert [line["published_success_rate"] for line in lines] == ["0.998", "0.998", "", ""]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_and_is_not_too_wide(tmp_path):
    rows = ["a^b~c\\{$}_%#&", "[1]*", "cannot"]
    wide = [cell(f"rock_sample & co {i}", row, NOISE + i) for i in range(9) for row in rows[:2]]
    study = results(*wide, cell("p", "cannot", reason='α-vectors: θ_1 > 5\\ß² "σ" ∞'), title='A_B "c"')
    (tmp_path / "table.tex").write_text(pl.tables(study).latex())
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}\input{table}\end{document}"
    )
    made = subprocess.run(
        ["pdflatex", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True, text=True, errors="replace"
    )
    assert made.returncode == 0 and "Output written on paper.pdf" in made.stdout, made.stdout
    assert "Overfull" not in made.stdout


def test_markdown_is_a_table():
    study = results(cell("a|b", "one", 1 + NOISE), cell("a|b", "two", NOISE))
    text = pl.tables(study).markdown().splitlines()
    assert text[2] == r"| | a\|b |" and text[3] == "|---|---:|"
    assert re.fullmatch(r"\| one \| \*\*[\d.-]+ ± [\d.]+\*\* \|", text[4]) and "Holm" in "".join(text)


def test_csv_holds_every_number():
    study = played_results()
    lines = list(csv.DictReader(io.StringIO(csv_text(study))))
    assert len(lines) == len(study.cells)
    for line, r in zip(lines, study.cells, strict=True):
        assert (line["problem"], line["planner"]) == (r.cell.problem, r.cell.planner)
        assert json.loads(line["parameters"]) == r.cell.parameters and line["reason"] == (r.reason or "")
        if r.episodes:
            e = r.evaluation(0)
            assert [float(line[k]) for k in ("mean", "stderr", "ci95_low", "ci95_high")] == [e.mean, e.stderr, *e.ci95]
            assert float(line["steps"]) == e.steps_mean and int(line["episodes"]) == len(e.episodes)
            assert float(line["simulations_per_step"]) == r.cell.parameters.get("sims", e.simulations_per_step)
        else:
            assert line["mean"] == line["stderr"] == ""


def report(monkeypatch, capsys, *arguments, study=None):
    """Run the command on results without a file; return the exit code, output and errors."""
    monkeypatch.setattr(Results, "read", lambda path: study or played_results(), raising=False)
    monkeypatch.setattr(sys, "argv", ["pomdplite", "report", "study.db", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, *capsys.readouterr()


def test_the_command_prints_each_format(monkeypatch, capsys):
    study = played_results()
    for flag, text in (
        ((), str(pl.tables(study))), (("--latex",), pl.tables(study).latex()), (("--markdown",), pl.tables(study).markdown()),
        (("--csv",), csv_text(study)),
    ):  # fmt: skip
        code, out, err = report(monkeypatch, capsys, *flag)
        assert (code, out, err) == (0, text, "")


def test_the_command_writes_the_page(monkeypatch, capsys, tmp_path):
    file = tmp_path / "out.html"
    assert report(monkeypatch, capsys, "--html", str(file)) == (0, "", f"wrote {file}\n")
    assert file.read_text(encoding="utf-8") == report_page(played_results())


def test_a_page_never_overwrites_a_database(monkeypatch, capsys, tmp_path):
    file = tmp_path / "study.db"
    pl.Study("s", ["tiger"], ["qmdp"], episodes=1).run(file, workers=1)
    before = file.read_bytes()
    code, _, err = report(monkeypatch, capsys, "--html", str(file))
    assert code == 2 and "is not an HTML page" in err and file.read_bytes() == before


def test_without_jinja_the_extra_is_named_and_notebooks_show_text(monkeypatch, capsys, tmp_path):
    file = tmp_path / "out.html"
    file.write_text("<!doctype html>before")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    code, out, err = report(monkeypatch, capsys, "--html", str(file))
    assert (code, out) == (1, "") and file.read_text() == "<!doctype html>before"
    assert err == "pomdplite: HTML pages need Jinja2: pip install 'pomdplite[report]'.\n"
    assert pl.tables(played_results())._repr_html_() is None


def test_tables_takes_results_only():
    with pytest.raises(pl.UsageError, match="takes the Results of a study, not Evaluation"):
        pl.tables(played_results().cells[0].evaluation(0))


def test_equal_returns_have_no_error_and_two_digits():
    lines, _ = shown(cell("p", "a", [3.2134281] * 3), cell("p", "b", [1.1] * 3))
    assert lines["a"] == ["3.21 ± 0.00*"] and lines["b"][0].startswith("1.10 ± 0.00")


def test_errors_of_the_command_are_one_line(monkeypatch, capsys, tmp_path):
    for arguments, message in (
        (("--latex", "--csv"), "choose one"),
        (("--html", str(tmp_path / "no" / "out.html")), "there is no folder"),
        (("--html", str(tmp_path)), "it is a folder"),
    ):
        code, _, err = report(monkeypatch, capsys, *arguments)
        assert code == 2 and message in err and len(err.strip().splitlines()) == 1
    code, _, err = report(monkeypatch, capsys, study=results())
    assert code == 2 and "the study has no entries" in err
