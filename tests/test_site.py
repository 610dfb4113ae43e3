"""The documentation as a site: every page is in its navigation, links lead somewhere, and the reference is complete."""

import json
import os
import re
import runpy
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import yaml

import pomdplite as pl

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.rglob("*.md"))]
GENERATED = {"index.md", "contributing.md", "changelog.md"}  # by website/pages.py, besides the examples
anchor = runpy.run_path(str(ROOT / "website" / "anchors.py"))["anchor"]


def outside_code(text: str) -> str:
    """A page without its fenced blocks and code spans."""
    return re.sub(r"`[^`\n]+`", "``", re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE))


def anchors(page: Path) -> set[str]:
    """The anchors of a page: those of its headings, and of the names that the reference documents."""
    text = re.sub(r"^ *```.*?^ *```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    heads = [re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE)]
    return {anchor(head) for head in heads} | set(re.findall(r"^::: (\S+)$", text, re.MULTILINE))


def broken_links(pages: list[Path]) -> list[str]:
    """The relative links of pages that lead nowhere, or to a heading that does not exist."""
    broken = []
    for page in pages:
        for path, fragment in re.findall(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)", outside_code(page.read_text())):
            target = page if not path else page.parent / path
            if not target.exists() or (fragment and fragment not in anchors(target)):
                broken.append(f"{page.relative_to(page.parents[1])}: {path}#{fragment}".rstrip("#"))
    return broken


def navigation(entry: object) -> list[str]:
    """The pages of a navigation, in order."""
    if isinstance(entry, str):
        return [entry]
    below = entry.values() if isinstance(entry, dict) else entry
    return [page for part in below for page in navigation(part)]


CONFIGURATION = yaml.safe_load((ROOT / "mkdocs.yml").read_text())


def test_every_page_is_in_the_navigation_once():
    listed = navigation(CONFIGURATION["nav"])
    examples = {f"examples/{path.stem}.md" for path in (ROOT / "examples").glob("*.py")}
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")} | GENERATED | examples
    assert not pages - set(listed), f"mkdocs.yml: put into `nav`: {', '.join(sorted(pages - set(listed)))}"
    assert not set(listed) - pages, f"mkdocs.yml: `nav` names pages that do not exist: {set(listed) - pages}"
    assert len(listed) == len(set(listed))


def test_every_link_leads_to_a_file_and_a_heading():
    assert broken_links(PAGES) == []


def test_a_broken_link_is_noticed(tmp_path):
    page = tmp_path / "docs" / "page.md"
    page.parent.mkdir()
    page.write_text(
        "# The β of it\n\n[a](#the-β-of-it) [b](#no) [c](none.md) [d](page.md#there) `[e](no.md)`\n\n```\n[f](x.md)\n```\n"
    )
    assert broken_links([page]) == ["docs/page.md: #no", "docs/page.md: none.md", "docs/page.md: page.md#there"]


def test_the_reference_documents_every_public_name_once():
    text = "\n".join(path.read_text() for path in sorted((DOCS / "reference").glob("*.md")))
    documented = re.findall(r"^::: pomdplite\.(\w+)$", text, re.MULTILINE)
    missing = set(pl.__all__) - set(documented)
    assert not missing, f"add to a page of docs/reference: {', '.join(sorted(missing))}"
    assert sorted(documented) == sorted(pl.__all__)


def test_every_public_name_says_what_it_is():
    classes_and_functions = [name for name in pl.__all__ if not name.isupper()]
    assert [name for name in classes_and_functions if not getattr(pl, name).__doc__] == []


def test_the_list_of_decisions_has_the_titles_of_all():
    listed = re.findall(r"^- \[(.*)\]\((\d{4}-[\w-]+\.md)\)$", (DOCS / "decisions/README.md").read_text(), re.MULTILINE)
    decisions = sorted((DOCS / "decisions").glob("0*.md"))
    assert listed == [(path.read_text().splitlines()[0].removeprefix("# "), path.name) for path in decisions]


def test_links_of_the_readme_lead_to_pages_of_the_site():
    pytest.importorskip("mkdocs")
    pages = runpy.run_path(str(ROOT / "website" / "pages.py"))
    move = pages["with_links_on_the_site"]
    assert move("[a](docs/plan.md) ![b](docs/pictures/x.png)", "README.md") == "[a](plan.md) ![b](pictures/x.png)"
    assert move("[a](../README.md#results)", "docs/results.md") == "[a](index.md#results)"
    assert move("[a](../../examples/tables.py)", "docs/decisions/0001-x.md") == "[a](../examples/tables.md)"
    assert move("[a](docs/decisions/) [b](https://x.org) [c](#d)", "CONTRIBUTING.md") == (
        "[a](decisions/README.md) [b](https://x.org) [c](#d)"
    )
    assert "## Documentation" not in pages["without_list_of_pages"]((ROOT / "README.md").read_text())


def test_a_list_of_parameters_in_a_docstring_becomes_a_list():
    pytest.importorskip("griffe")
    as_list = runpy.run_path(str(ROOT / "website" / "docstrings.py"))["as_list"]
    assert as_list("time, sims  budget:\n            seconds\nk\n            many") == (
        "- `time, sims` – budget:\n  seconds\n- `k` –\n  many"
    )
    prose = "A sentence\nof two lines."
    assert as_list(prose) == prose and as_list("    code  # comment") == "    code  # comment"


def test_lists_are_those_of_github():
    """Checked by rendering: what belongs to an item is in it, and every item is one."""
    markdown = pytest.importorskip("markdown")
    adapt = runpy.run_path(str(ROOT / "website" / "lists.py"))["for_python_markdown"]
    page = "Text:\n- a\n  more\n\n      code\n\n  b\n- c\n  - d\n- e\n\nThen:\n1. f\n\n   g\n2. h\n\nend\n\n    x\n    - y\n"
    html = markdown.markdown(adapt(page)).replace("\n", "")
    assert html.count("<li>") == 6 and html.count("<ol>") == 1 and html.count("<pre>") == 2
    assert "<p>b</p></li>" in html and "<li>d</li></ul></li>" in html.replace("<p>", "").replace("</p>", "")
    assert adapt("```\n- a\n\n  b\n- c\n```") == "```\n- a\n\n  b\n- c\n```"


def test_a_formula_that_cannot_be_shown_is_refused():
    pytest.importorskip("latex2mathml")
    mathml = runpy.run_path(str(ROOT / "website" / "formulas.py"))["mathml"]
    assert "<msub><mi>b</mi><mi>t</mi></msub>" in mathml(r"b_t(\theta)", "inline")
    with pytest.raises(ValueError, match=r"unknown command \\nonsense"):
        mathml(r"\nonsense{x}", "inline")


def test_the_notebook_is_the_tutorial():
    scope = runpy.run_path(str(ROOT / "website" / "notebook.py"))
    made = scope["notebook"]((DOCS / "tutorial.md").read_text())
    assert (DOCS / "tutorial.ipynb").read_text() == made, "run `python website/notebook.py`"
    sources = ["".join(cell["source"]) for cell in json.loads(made)["cells"] if cell["cell_type"] == "code"]
    assert (
        sources[0].startswith("%%writefile delivery.py\nimport pomdplite")
        and "!pomdplite check delivery.py:Delivery" in sources
    )


@pytest.mark.slow
def test_the_notebook_runs_from_top_to_bottom(tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    nbformat = pytest.importorskip("nbformat")
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    found = nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    nbformat.validate(found)
    with warnings.catch_warnings():  # of the notebook's own machinery
        warnings.simplefilter("ignore")
        nbclient.NotebookClient(found, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(o.get("text", "") for cell in found.cells if cell.cell_type == "code" for o in cell.outputs)
    assert "no mistakes found" in printed and re.search(r"pomdp-lite +6\.52 ± 0\.18", printed)
    assert list((tmp_path / "pictures").glob("*.png"))


@pytest.mark.slow
def test_the_site_is_built_without_warnings_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    built = {
        path.relative_to(tmp_path / "site").as_posix(): path.read_text() for path in (tmp_path / "site").rglob("*.html")
    }
    assert len(built) > len(PAGES)
    for name, text in built.items():
        assert not re.findall(r'<(?:script|img|link|iframe)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', text), name
        assert 'class="arithmatex"' not in text, f"{name} has a formula that is not rendered"
    assert built["gallery.html"].count("<math ") > 50
