"""Lists look on the site as they do on GitHub. Python-Markdown differs from it in two things:

- It wants what belongs to an item indented by four, not as far as the item's text.
- It sees no item in a line that follows a paragraph, unless there is a blank line between them.
"""

import re
from typing import Any

ITEM = re.compile(r"(?:[-*]|\d+\.) +(?=\S)")


def for_python_markdown(text: str) -> str:
    """Return a page with wider indents in its lists, and blank lines where an item follows a paragraph."""
    lines: list[str] = []
    width = 0  # of the mark of the present item, by which the rest of the item is indented; 0 outside of lists
    paragraph = fenced = False  # whether the line before ends a paragraph of its own; whether it is in a block of code
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        elif line and not fenced and not line.startswith(" "):
            item = ITEM.match(line)
            if item and paragraph and lines[-1]:
                lines.append("")
            width, paragraph = (item.end(), False) if item else (0, True)
        elif not line:
            paragraph = True
        inside = width > 0 and not fenced and line.startswith(" " * width)
        lines.append(" " * max(0, 4 - width) + line if inside else line)
    return "\n".join(lines)


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Adapt the lists of every page."""
    return for_python_markdown(markdown)
