import csv
import io
import json
import re
import shutil
import subprocess
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from factories import cell, played_results, results
from rich.console import Console

import pomdplite as pl
from pomdplite.cli import main as cli
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import curves, study_tables, swept
from pomdplite.views.page import page
from pomdplite.views.report import csv_text, latex_text

NOISE = np.random.default_rng(3).normal(0, 1, 60)


def shown(*cells):
    """The rows of a one-table study as {label: texts}, with marks, and its notes."""
    (g,) = results(*cells).table().grids
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


def test_the_best_and_those_that_cannot_be_told_from_it():
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
    """One gap at p below 5 %: told apart alone, not among ten others."""
    gaps = np.array([1.0, 1, 1, 1, 1, 1, 0, 0])  # p = 2/2^6
    few = [cell("p", "best", [0] * 8), cell("p", "worse", -gaps)]
    many = [cell("p", f"other {i}", -gaps * (1 + i)) for i in range(10)]
    assert not shown(*few)[0]["worse"][0].endswith("†")
    assert shown(*few, *many)[0]["worse"][0].endswith("†")


def test_of_many_planners_that_are_alike_one_is_seldom_called_worse():
    """Choosing the best from the same returns must not make the others look worse than the level allows."""
    generator = np.random.default_rng(5)
    false = 0
    for _ in range(60):
        (table,) = study_tables(results(*(cell("p", f"{i}", generator.normal(size=13)) for i in range(8))))
        false += any(not (e.best or e.equal) for e in table.entries)
    assert false <= 60 * 0.05 + 3 * np.sqrt(60 * 0.05 * 0.95)


def test_an_unfinished_study_says_so_and_a_lucky_start_is_not_the_best():
    lines, g = shown(
        cell("p", "done", NOISE, wanted=60), cell("p", "begun", [99.0, 98.0], wanted=60), cell("p", "later", wanted=60)
    )
    assert lines["done"][0].endswith("*") and lines["begun"] == ["98.50 ± 0.50 (2)†"] and lines["later"] == ["…"]
    assert "unfinished: 2 of 3 entries" in " ".join(g.notes)
    text = page(results(cell("p", "done", NOISE, wanted=60), cell("p", "begun", [99.0], wanted=60)))
    assert "The study is unfinished: 1 entry" in text


def test_success_stands_where_it_is_not_certain():
    one, two = (
        [cell(p, "q", [1, 2], success=ok), cell(p, "r", [1, 2], success=True)] for p, ok in (("a", True), ("b", False))
    )
    _, g = shown(*one, *two)
    assert g.header == ("a", "b", "success") and [line[2].text for line in g.lines] == ["0 %", "100 %"]


def test_rows_show_what_varies_on_one_problem_only():
    lines, _ = shown(
        cell("a", "lite", [1, 2], beta=3.0, depth=9), cell("b", "lite", [1, 2], beta=7.0, depth=9), cell("a", "q", [1])
    )
    assert list(lines) == ["lite", "q"]
    lines, _ = shown(cell("a", "lite", [1, 2], beta=0.5), cell("a", "lite", [1, 2], beta=100.0), cell("a", "lite", [3]))
    assert list(lines) == ["lite β = 0.5", "lite β = 100", "lite beta left out"]


def test_several_planners_with_several_budgets_get_a_table_per_budget():
    study = results(
        *(cell("p", name, i + t + NOISE, time=t) for i, name in enumerate(("a", "b")) for t in (0.1, 1.0)),
        cell("p", "offline", 0.5 + NOISE),
    )
    tables = study_tables(study)
    assert [t.budget for t in tables] == [("time", 0.1), ("time", 1.0)]
    assert [[r.label for r in t.rows] for t in tables] == [["a", "b", "offline"]] * 2
    assert all(t.columns[0].entries[1].best for t in tables)
    assert "0.1 s per step on the wall's clock" in str(study.table())
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
        console.print(study.table())
        text = console.file.getvalue()
        assert all(f"problem-{i}" in text for i in range(8)) and text.count("±") == 8 + 1
        assert text.count(" success") == 4
        assert max(map(len, text.splitlines())) <= width
    assert len([line for line in str(study.table()).splitlines() if "problem-" in line]) == 1


def test_latex_has_every_special_character_written_out():
    study = results(
        cell("rock_sample & co", "50% #1", -10 - NOISE), cell("rock_sample & co", "a^b~c\\{$}", -20 + NOISE),
        cell("rock_sample & co", "cannot", reason="α-vectors: θ_1 > 5"), title="A_B",
    )  # fmt: skip
    text = study.table().latex()
    assert r"rock\_sample \& co" in text and r"50\% \#1" in text and r"\caption{A\_B}" in text
    assert r"a\textasciicircum{}b\textasciitilde{}c\textbackslash{}\{\$\}" in text
    assert re.search(r"\$\\mathbf\{-\d+\.\d\d \\pm 0\.\d\d\}\$", text) and "--$^{1}$" in text
    assert r"$^{1}$ $\alpha$-vectors: $\theta$\_1 \textgreater{} 5" in text
    assert text.isascii() and text.count("{") == text.count("}")
    rows = re.search(r"\\midrule\n(.*)\n\\bottomrule", text, re.DOTALL)[1].splitlines()
    assert len(rows) == 3 and all(re.sub(r"\\&", "", row).count("&") == 1 and row.endswith(r" \\") for row in rows)
    assert latex_text("two\nlines") == "two lines" and latex_text("[1]*") == "{[}1]{*}"  # "\\\\[" would be a command
    assert r"^{\dagger}$" in results(cell("p", "a", NOISE), cell("p", "b", NOISE[::-1] - 0.001)).table().latex()


CITED = """
notes = ["Maps & robots differ."]
publication = "paper"
[published.tiger]
a = [1.234, 0.1, 0.998]
b = [-2, 0.25]
"""


def test_published_numbers_stand_below_ours():
    study = results(
        cell("tiger", "a", NOISE, success=True, beta=1), cell("tiger", "a", NOISE, success=True, beta=2),
        cell("tiger", "b", NOISE - 9, success=True), cell("rocks", "b", NOISE), configuration=CITED,
        settings={"tiger": {"robot": "an <arm>"}},
    )  # fmt: skip
    (g,) = study.table().grids
    assert g.labels == ("a β = 1", "a β = 2", "paper", "b", "paper") and g.header == ("tiger", "success", "rocks")
    assert [s.text for s in g.lines[2]] == ["1.23 ± 0.10", "99.8 %", ""] and g.lines[2][0].cited
    assert [s.text for s in g.lines[4]] == ["-2.00 ± 0.25", "", ""]
    assert g.notes[-1] == "Maps & robots differ."
    assert "| paper | *1.23 ± 0.10* | *99.8 %* |  |" in study.table().markdown()
    assert (
        r"paper & $\mathit{-2.00 \pm 0.25}$ &" in study.table().latex() and r"Maps \& robots" in study.table().latex()
    )
    shown = page(study)
    assert '<td class="cited">1.23 ± 0.10' in shown and "Maps &amp; robots differ." in shown
    assert "<h3>tiger</h3><dl><dt>robot</dt><dd>an &lt;arm&gt;</dd></dl>" in shown
    lines = list(csv.DictReader(io.StringIO(csv_text(study))))
    assert [line["published_mean"] for line in lines] == ["1.234", "1.234", "-2", ""]
    assert [line["published_success_rate"] for line in lines] == ["0.998", "0.998", "", ""]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_and_is_not_too_wide(tmp_path):
    rows = ["a^b~c\\{$}_%#&", "[1]*", "cannot"]
    wide = [cell(f"rock_sample & co {i}", row, NOISE + i) for i in range(9) for row in rows[:2]]
    study = results(*wide, cell("p", "cannot", reason='α-vectors: θ_1 > 5\\ß² "σ" ∞'), title='A_B "c"')
    (tmp_path / "table.tex").write_text(study.table().latex())
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage{booktabs,graphicx}\begin{document}\input{table}\end{document}"
    )
    made = subprocess.run(
        ["pdflatex", "-halt-on-error", "paper.tex"], cwd=tmp_path, capture_output=True, text=True, errors="replace"
    )
    assert made.returncode == 0 and "Output written on paper.pdf" in made.stdout, made.stdout
    assert "Overfull" not in made.stdout


def test_markdown_is_a_table():
    text = results(cell("a|b", "one", 1 + NOISE), cell("a|b", "two", NOISE)).table().markdown().splitlines()
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


def test_what_was_swept():
    study = played_results()
    assert swept(study) == ["sims", "beta"]
    (curve,) = curves(study, "tiger", "beta")
    assert curve.row.label == "pomdp-lite" and [x for x, _ in curve.points] == [0.5, 10.0, 100.0]
    assert swept(results(cell("p", "q", [1], ties="a"), cell("p", "q", [2], ties="b"))) == []


def test_plot_draws_the_sweep_or_the_means():
    pytest.importorskip("matplotlib")
    study = played_results()
    figure = study.plot("beta")
    assert [a.get_title() for a in figure.axes] == ["tiger", "rocksample-4-4"]
    assert figure.axes[0].get_xscale() == "log" and "β" in figure.axes[0].get_xlabel()
    assert study.plot().axes[0].get_xlabel() == "budget per step, simulations"
    means = results(cell("p", "a", NOISE), cell("p", "b", [1.0])).plot()
    assert [t.get_text() for t in means.axes[0].get_yticklabels()] == ["a", "b"]
    with pytest.raises(UsageError, match="'depth' was not swept in this study, only sims, beta"):
        study.plot("depth")


def test_plot_names_the_extra_that_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(PomdpLiteError, match=r"pip install 'pomdplite\[plots\]'"):
        played_results().plot()


class Tags(HTMLParser):
    """Checks that tags are closed in order, and keeps what a page would fetch."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.count = [], [], {}

    def handle_starttag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1
        if tag not in ("meta", "link", "br"):
            self.open.append(tag)
        self.fetched += [v for k, v in attributes if k in ("src", "href") and not v.startswith(("#", "data:"))]

    def handle_startendtag(self, tag, attributes):
        self.count[tag] = self.count.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_fetches_nothing():
    text, tags = page(played_results()), Tags()
    tags.feed(text)
    assert tags.open == [] and tags.fetched == [] and "url(" not in text and "@import" not in text
    assert tags.count["table"] == 1 + 3 and tags.count["figure"] == 2 + 2 + 3 + 2 + 3 and "script" not in tags.count
    for words in ("Return against β", "Return against planning time", "Paired differences", "Distribution of returns",
                  "How it was run", "3.11.7", "Holm", "cannot be listed", "title = &quot;A study&quot;"):  # fmt: skip
        assert words in text, words
    assert text == page(played_results())


def test_names_on_the_page_are_escaped():
    evil = "<script>alert(1)</script>\"'&"
    study = results(
        cell(evil, evil, NOISE, beta=1.0, notes=[evil]), cell(evil, evil, NOISE - 1, beta=2.0),
        cell(evil, "other", reason=evil), title=evil,
    )  # fmt: skip
    text, tags = page(study), Tags()
    tags.feed(text)
    assert "<script" not in text and tags.open == [] and "&lt;script&gt;" in text
    assert "<script" not in study.table()._repr_html_()


@pytest.mark.parametrize("returns", [[1.0], [2.0, 2.0], [0.0, 0.0, 0.0]])
def test_a_page_of_next_to_nothing(returns):
    tags = Tags()
    tags.feed(page(results(cell("p", "q", returns), cell("p", "r", returns), cell("p", "s"))))
    assert tags.open == [] and tags.count["table"] == 2


def report(monkeypatch, capsys, *arguments, study=None):
    """Run the command on results that need no file: exit code, output, errors."""
    monkeypatch.setattr(Results, "read", lambda path: study or played_results(), raising=False)
    monkeypatch.setattr(sys, "argv", ["pomdplite", "report", "study.db", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return stop.value.code, *capsys.readouterr()


def test_the_command_prints_each_format(monkeypatch, capsys):
    study = played_results()
    for flag, text in (
        ((), str(study.table())), (("--latex",), study.table().latex()), (("--markdown",), study.table().markdown()),
        (("--csv",), csv_text(study)),
    ):  # fmt: skip
        code, out, err = report(monkeypatch, capsys, *flag)
        assert (code, out, err) == (0, text, "")


def test_the_command_writes_the_page(monkeypatch, capsys, tmp_path):
    file = tmp_path / "out.html"
    assert report(monkeypatch, capsys, "--html", str(file)) == (0, "", f"wrote {file}\n")
    assert file.read_text(encoding="utf-8") == page(played_results())


def test_a_page_never_overwrites_a_database(monkeypatch, capsys, tmp_path):
    file = tmp_path / "study.db"
    pl.Study("s", ["tiger"], ["qmdp"], episodes=1).run(file, workers=1)
    before = file.read_bytes()
    code, _, err = report(monkeypatch, capsys, "--html", str(file))
    assert code == 2 and "it is a database" in err and file.read_bytes() == before


def test_equal_returns_have_no_error_and_two_digits():
    lines, _ = shown(cell("p", "a", [3.2134281] * 3), cell("p", "b", [1.1] * 3))
    assert lines["a"] == ["3.21 ± 0.00*"] and lines["b"][0].startswith("1.10 ± 0.00")


def test_the_command_refuses_in_one_line(monkeypatch, capsys, tmp_path):
    for arguments, message in (
        (("--latex", "--csv"), "give one of them"),
        (("--html", str(tmp_path / "no" / "out.html")), "there is no folder"),
        (("--html", str(tmp_path)), "Is a directory"),
    ):
        code, _, err = report(monkeypatch, capsys, *arguments)
        assert code == 2 and message in err and len(err.strip().splitlines()) == 1
    code, _, err = report(monkeypatch, capsys, study=results())
    assert code == 2 and "the study has no entries" in err
