"""How the reference reads docstrings: as they are written, for `help()` and editors.

- A field's comment, `seconds: float  # planning time`, is its documentation.
- Lines of the form `name  what it is`, with further lines indented, are a list.
"""

import re
from typing import Any

import griffe

COMMENT = re.compile(r"  # (.*)$")
ENTRY = re.compile(r"(\S.*?)\s{2,}(\S.*)")  # a name, or several, two spaces or more, and what it is
NAMES = re.compile(r"\w+(, \w+)*")  # too long for that: what it is follows on the next line


def as_list(paragraph: str) -> str:
    """Return a paragraph of entries as a Markdown list, and any other paragraph as it is."""
    lines = paragraph.split("\n")
    if lines[0].startswith(" ") or not any(map(ENTRY.fullmatch, lines)):
        return paragraph
    items = []
    for line in lines:
        if line.startswith("  "):
            items.append(f"  {line.strip()}")
        elif entry := ENTRY.fullmatch(line):
            items.append(f"- `{entry[1]}` – {entry[2]}")
        elif NAMES.fullmatch(line):
            items.append(f"- `{line}` –")
        else:
            return paragraph
    return "\n".join(items)


def constant(name: Any, collection: griffe.ModulesCollection) -> Any:
    """Return the value of a default that names a constant of the library, and any other default as it is."""
    if not isinstance(name, griffe.ExprName):
        return name
    try:
        found = collection[name.canonical_path]
    except KeyError:  # a built-in name, or another package's
        return name
    found = found.final_target if found.is_alias else found
    return found.value if found.is_attribute and isinstance(found.value, str) else name


class Docstrings(griffe.Extension):
    """Turn what the library's docstrings look like into Markdown."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Take the comment behind a field as its docstring."""
        if attr.docstring is None and attr.lineno and attr.lineno == attr.endlineno:
            found = COMMENT.search(attr.lines_collection[attr.filepath][attr.lineno - 1])
            if found:
                text = found[1][0].upper() + found[1][1:]
                attr.docstring = griffe.Docstring(text, lineno=attr.lineno, parent=attr)

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Make lists of entries Markdown lists."""
        if obj.docstring is not None:
            obj.docstring.value = "\n\n".join(map(as_list, obj.docstring.value.split("\n\n")))

    def on_package(self, *, pkg: griffe.Module, loader: griffe.GriffeLoader, **_: Any) -> None:
        """Show defaults by value: a reader does not know SECONDS."""
        waiting: list[Any] = [pkg]
        while waiting:
            obj = waiting.pop()
            waiting += [member for member in obj.members.values() if not member.is_alias]
            for parameter in obj.parameters if obj.is_function else ():
                parameter.default = constant(parameter.default, loader.modules_collection)
