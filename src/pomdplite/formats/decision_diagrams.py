"""Decision diagrams of POMDPX files: each path from the root to a number is an entry."""

from collections.abc import Iterator, Mapping

import numpy as np

from pomdplite.errors import TooLargeError
from pomdplite.formats.factors import ANY, Factor, FactorEntry
from pomdplite.formats.numbers import parse_number
from pomdplite.formats.xml_nodes import Element

_MOST_PATHS = 1_000_000
_ONE = np.array(1.0)

Path = dict[str, int]  # the values that the edges of a path name


def diagram_entries(
    parameter: Element, factor: Factor, numbers_of: Mapping[str, Mapping[str, int]], before: Mapping[str, str]
) -> list[FactorEntry]:
    """The entries of <Parameter type="DD">; before: names of state variables before the step, by those after it."""
    templates: dict[str, Element] = {}
    for child in parameter.each("DAG", "SubDAGTemplate"):
        if child.tag == "SubDAGTemplate":
            templates[child.attribute("id")] = child
    reader = _Diagram(factor, numbers_of, before, templates)
    found = []
    for entry in reader.below(parameter.one("DAG"), {}, ()):
        found.append(entry)
        if len(found) > _MOST_PATHS:
            raise TooLargeError(parameter.place.text(f"the diagram has more than {_MOST_PATHS:,} paths"))
    return found


class _Diagram:
    """Walks a diagram, and the templates that it refers to."""

    def __init__(
        self, factor: Factor, numbers_of: Mapping[str, Mapping[str, int]], before: Mapping[str, str],
        templates: Mapping[str, Element],
    ) -> None:  # fmt: skip
        self.factor, self.numbers_of, self.before, self.templates = factor, numbers_of, before, templates

    def below(self, parent: Element, path: Path, inside: tuple[str, ...]) -> Iterator[FactorEntry]:
        """The entries of what <DAG>, <SubDAGTemplate> or <Edge> holds; inside: the templates that led here."""
        children = list(parent.each("Node", "Terminal", "SubDAG"))
        if len(children) != 1:
            parent.place.refuse(f"<{parent.tag}> must hold one <Node>, <Terminal> or <SubDAG>, not {len(children)}")
        child = children[0]
        if child.tag == "Terminal":
            yield self._entry(path, np.array(parse_number(child.text, child.place)))
        elif child.tag == "SubDAG":
            yield from self._sub_diagram(child, path, inside)
        else:
            variable = self._variable(child)
            edges = [(edge, edge.attribute("val")) for edge in child.each("Edge")]
            named = {value: self._number(edge, variable, value) for edge, value in edges if value != "*"}
            rest = [number for number in self.numbers_of[variable].values() if number not in named.values()]
            for edge, value in edges:
                if value == "*" and not named and variable not in path:
                    yield from self.below(edge, path, inside)
                    continue
                for number in rest if value == "*" else [named[value]]:
                    if path.get(variable, number) == number:
                        yield from self.below(edge, {**path, variable: number}, inside)

    def _sub_diagram(self, item: Element, path: Path, inside: tuple[str, ...]) -> Iterator[FactorEntry]:
        kind = item.attribute("type")
        if kind == "template":
            name = item.attribute("idref")
            if name not in self.templates:
                item.place.refuse(f"there is no <SubDAGTemplate> {name[:40]!r}")
            if name in inside:
                item.place.refuse(f"the template {name[:40]!r} holds itself")
            yield from self.below(self.templates[name], path, (*inside, name))
            return
        variable = self._variable(item)
        if kind == "deterministic":
            number = self._number(item, variable, item.attribute("val"))
            if path.get(variable, number) == number:
                yield self._entry({**path, variable: number}, _ONE)
        elif kind == "uniform":
            yield self._entry(path, np.array(1.0 / len(self.numbers_of[variable])))
        elif kind == "persistent":
            old = self.before.get(variable, "")
            if old not in self.factor.variables:
                item.place.refuse(f"persistent: {variable} does not depend on its value before the step")
            values = range(len(self.numbers_of[variable]))
            for value in values if old not in path else [path[old]]:
                if path.get(variable, value) == value:
                    yield self._entry({**path, old: value, variable: value}, _ONE)
        else:
            item.place.refuse(
                f"the type of a <SubDAG> is deterministic, persistent, uniform or template, not {kind[:40]!r}"
            )

    def _variable(self, item: Element) -> str:
        name = item.attribute("var")
        if name not in self.factor.variables:
            item.place.refuse(f"{name[:40]!r} is not one of {', '.join(self.factor.variables)}")
        return name

    def _number(self, item: Element, variable: str, value: str) -> int:
        number = self.numbers_of[variable].get(value)
        if number is None:
            item.place.refuse(f"{value[:40]!r} is not a value of {variable}")
        return number

    def _entry(self, path: Path, number: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> FactorEntry:
        return FactorEntry(tuple(path.get(name, ANY) for name in self.factor.variables), number)
