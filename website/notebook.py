"""docs/tutorial.ipynb from docs/tutorial.md, without outputs: a test compares them.

    python website/notebook.py

A block of Python becomes a cell. A block that begins with the name of a file, `# delivery.py`, writes that file, and a
command of the shell is run by the shell.
"""

import json
import re
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[1] / "docs" / "tutorial.md"
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)


def code(language: str, text: str) -> str:
    """Return the code of a cell."""
    if language == "console":
        return "\n".join(f"!{line.removeprefix('$ ')}" for line in text.splitlines())
    named = re.match(r"# (\w+\.py)\n", text)
    return f"%%writefile {named[1]}\n{text[named.end() :]}".rstrip() if named else text.rstrip()


def cells(page: str) -> list[tuple[str, str]]:
    """Return (type, source) of each cell."""
    found, end = [], 0
    for block in BLOCK.finditer(page):
        found += [("markdown", page[end : block.start()].strip()), ("code", code(block[1], block[2]))]
        end = block.end()
    return [(kind, source) for kind, source in [*found, ("markdown", page[end:].strip())] if source]


def notebook(page: str) -> str:
    """Return the notebook of a page, in Jupyter's format."""
    listed: list[dict[str, Any]] = []
    for number, (kind, source) in enumerate(cells(page)):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": source.splitlines(keepends=True)}
        listed.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    found = {"cells": listed, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    PAGE.with_suffix(".ipynb").write_text(notebook(PAGE.read_text()))
