"""The gallery has an entry for every problem, and its entries are complete and true."""

import fnmatch
import re
import runpy
from pathlib import Path

import pytest

import pomdplite as pl
from pomdplite.problems import PROBLEMS

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "gallery.md"
LARGEST = {".png": 150_000, ".gif": 2_000_000}  # bytes of a picture or film


def entries(text: str) -> dict[str, str]:
    """The entries by the pattern of names in their headings, such as rocksample-*."""
    found = re.findall(r"^### [^\n`]+: `([^`]+)`\n(.*?)(?=^#|\Z)", text, re.DOTALL | re.MULTILINE)
    assert len(dict(found)) == len(found), "two entries have the same name"
    return dict(found)


ENTRIES = entries(PAGE.read_text())


def without_an_entry(text: str) -> list[str]:
    """The registered problems that no heading covers."""
    return [name for name in PROBLEMS if not any(fnmatch.fnmatch(name, pattern) for pattern in entries(text))]


def test_every_registered_problem_has_an_entry():
    missing = without_an_entry(PAGE.read_text())
    assert not missing, f"docs/gallery.md lacks {', '.join(missing)}; docs/add-a-problem.md says what an entry needs"


def test_a_missing_entry_is_noticed():
    page = PAGE.read_text().replace(": `tiger`\n", "\n").replace(": `rocksample-*`\n", ": `rocksample-7-8`\n")
    missing = without_an_entry(page)
    assert "tiger" in missing and "rocksample-4-4" in missing and "rocksample-7-8" not in missing


@pytest.mark.parametrize("pattern", ENTRIES)
def test_every_entry_is_complete(pattern):
    entry = ENTRIES[pattern]
    covered = fnmatch.filter(PROBLEMS, pattern)
    assert covered, f"no problem is called {pattern}"
    (picture,) = re.findall(r"^!\[[^\]]{20,}\]\((pictures/[^)]+)\)$", entry, re.M)
    path = PAGE.parent / picture
    assert path.stat().st_size < LARGEST[path.suffix]
    watched = re.findall(r"^pomdplite watch (\S+)", entry, re.M)
    assert watched and set(watched) <= set(covered)
    assert re.search(r"\]\(results\.md#[\w-]+\)", entry), "it does not link to its results"


@pytest.mark.parametrize("pattern", ENTRIES)
def test_every_entry_defines_the_tuple(pattern):
    rows = re.findall(r"^\| \$(\S+)\$ \| (.+) \|$", ENTRIES[pattern], re.M)
    symbols = [symbol for symbol, _ in rows]
    assert symbols == ["X", r"\Theta", "A", "O", "T", "Z", "R", r"\gamma"], "copy the table of another entry"
    (name,) = re.findall(r"^Size of `([^`]+)`", ENTRIES[pattern], re.M)
    model, gamma = pl.make_model(name), rows[-1][1]
    assert float(gamma.partition(",")[0]) == model.discount
    steps = re.search(r"(\d+) steps", gamma)
    assert (int(steps[1]) if steps else None) == (None if pattern == "battleship-*" else model.horizon)


@pytest.mark.parametrize("pattern", ENTRIES)
def test_the_numbers_of_planners_are_those_of_the_files(pattern):
    filled = runpy.run_path(str(ROOT / "benchmarks" / "gallery_numbers.py"))["filled"]
    assert ENTRIES[pattern].count("<!-- numbers: ") == 1, "docs/add-a-problem.md says how an entry gets its table"
    assert filled(ENTRIES[pattern]) == ENTRIES[pattern], "run `python benchmarks/gallery_numbers.py`"


@pytest.mark.parametrize("pattern", ENTRIES)
def test_sizes_are_those_of_the_model(pattern):
    """|Θ|, |A| and |O|, where they are numbers; counting X would take long for some."""
    (line,) = re.findall(r"^Size of `.*$", ENTRIES[pattern], re.M)
    name = line.split("`")[1]
    model = pl.make_model(name)
    sizes = {"Θ": getattr(model.hidden, "size", None), "A": len(model.actions), "O": len(model.observations)}
    given = {symbol: int(number.replace(",", "")) for symbol, number in re.findall(r"\|(\w)\| = ([\d,]*\d)", line)}
    assert fnmatch.fnmatch(name, pattern) and {"A", "O"} <= set(given)
    assert {symbol: sizes[symbol] for symbol in given if symbol != "X"} == {
        symbol: number for symbol, number in given.items() if symbol != "X"
    }


def test_the_script_makes_a_small_picture(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    scope = runpy.run_path(str(ROOT / "benchmarks" / "gallery.py"))
    scope["main"]("tiger", "qmdp", 1000, 1, tmp_path / "tiger.png", 2)
    assert 5_000 < (tmp_path / "tiger.png").stat().st_size < LARGEST[".png"] == scope["LARGEST"]
    assert "tiger, qmdp: return" in capsys.readouterr().out
