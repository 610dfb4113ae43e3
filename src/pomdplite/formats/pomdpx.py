"""POMDPX files, the factored format of the APPL toolkit (SARSOP), as networks of variables."""

import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import TooLargeError
from pomdplite.formats.collector import collector_paused
from pomdplite.formats.decision_diagrams import diagram_entries
from pomdplite.formats.factors import ANY, EACH, MOST_NUMBERS, MOST_VALUES, Factor, FactorEntry
from pomdplite.formats.network import Network, Variable
from pomdplite.formats.numbers import parse_number, parse_numbers
from pomdplite.formats.xml_nodes import Element, parse_xml

_PARTS = ("Description", "Discount", "Horizon", "Variable", "InitialStateBelief", "StateTransitionFunction",
          "ObsFunction", "RewardFunction")  # fmt: skip
_UNKNOWN = -3  # unlike ANY and EACH


@collector_paused()
def read_pomdpx(data: bytes, file: str) -> Network:
    """The network that a POMDPX document describes; ModelError with file and line if it is wrong."""
    root = parse_xml(data, file)
    if root.tag != "pomdpx":
        root.place.refuse(f"a POMDPX file consists of <pomdpx>, not <{root.tag}>")
    for _ in root.each(*_PARTS):
        pass
    return _PomdpxReader(root, file).network


class _PomdpxReader:
    """Reads one document."""

    def __init__(self, root: Element, file: str) -> None:
        discount = root.one("Discount")
        self.network = Network(Path(file).name, parse_number(discount.text, discount.place))
        if not 0 <= self.network.discount <= 1:
            discount.place.refuse(f"the discount is {self.network.discount:g}, not between 0 and 1")
        self.values: dict[str, tuple[str, ...]] = {}  # of every variable, by all of its names
        self.rewards: set[str] = set()
        self._read_variables(root.one("Variable"))
        net = self.network
        before, after = {v.name for v in net.states}, {v.after for v in net.states}
        actions, seen = {v.name for v in net.actions}, {v.name for v in net.observations}
        for part, child, parents, into in (
            ("InitialStateBelief", before, before, net.initial),
            ("StateTransitionFunction", after, before | after | actions, net.transition),
            ("ObsFunction", seen, after | actions, net.sight),
        ):
            element = root.optional(part)
            for item in element.each("CondProb") if element else ():
                factor = self._factor(item, child, parents)
                assert factor.child is not None
                if factor.child in into:
                    item.place.refuse(f"{factor.child} has a second <CondProb>")
                into[factor.child] = factor
            missing = sorted(child - into.keys())
            if missing:
                (element or root).place.refuse(f"<{part}> does not give the probabilities of {missing[0]}")
        for item in root.one("RewardFunction").each("Func"):
            net.rewards.append(self._factor(item, None, before | after | actions | seen))

    # ------------------------------------------------------------------ variables

    def _read_variables(self, element: Element) -> None:
        net = self.network
        for item in element.each("StateVar", "ObsVar", "ActionVar", "RewardVar"):
            if item.tag == "StateVar":
                name, after = item.attribute("vnamePrev"), item.attribute("vnameCurr")
                observed = item.attributes.get("fullyObs", "false").strip().lower()
                if observed not in ("true", "false"):
                    item.place.refuse(f"fullyObs must be true or false, not {observed[:40]!r}")
                values = self._value_names(item, "s")
                net.states.append(Variable(name, values, item.place, after, observed == "true"))
                self._declare(item, name, values)
                self._declare(item, after, values)
            elif item.tag == "RewardVar":
                self.rewards.add(item.attribute("vname"))
            else:
                name, values = item.attribute("vname"), self._value_names(item, item.tag[0].lower())
                (net.observations if item.tag == "ObsVar" else net.actions).append(Variable(name, values, item.place))
                self._declare(item, name, values)
        for tag, found in (("StateVar", net.states), ("ActionVar", net.actions), ("RewardVar", self.rewards)):
            if not found:
                element.place.refuse(f"<Variable> has no <{tag}>")

    def _declare(self, item: Element, name: str, values: tuple[str, ...]) -> None:
        if name in self.values:
            item.place.refuse(f"there are two variables {name}")
        self.values[name] = values

    def _value_names(self, item: Element, letter: str) -> tuple[str, ...]:
        count, names = item.optional("NumValues"), item.optional("ValueEnum")
        if (count is None) == (names is None):
            item.place.refuse(f"<{item.tag}> needs either <ValueEnum> or <NumValues>")
        if names is not None:
            found = tuple(names.text.split())
            if not found or len(set(found)) != len(found):
                names.place.refuse("<ValueEnum> must list at least one name, and none twice")
            return found
        assert count is not None
        number = parse_number(count.text, count.place)
        if number != int(number) or not 1 <= number <= MOST_VALUES:
            count.place.refuse(f"<NumValues> must be a whole number from 1 to {MOST_VALUES:,}, not {number:g}")
        return tuple(f"{letter}{i}" for i in range(int(number)))

    # ------------------------------------------------------------------ functions

    def _factor(self, item: Element, children: set[str] | None, known: set[str]) -> Factor:
        """A <CondProb> with one of these children, or a <Func>, and parents that are known here."""
        name = item.one("Var")
        if name.text not in (self.rewards if children is None else children):
            name.place.refuse(f"there is no variable {name.text[:40]!r} that <{item.tag}> could define here")
        listed = item.one("Parent")
        parents = [] if listed.text == "null" else listed.text.split()
        for parent in parents:
            if parent not in known or parent == name.text:
                listed.place.refuse(f"{parent[:40]!r} cannot be a parent of {name.text}")
        if len(set(parents)) != len(parents):
            listed.place.refuse("a parent is listed twice")
        child = None if children is None else name.text
        variables = tuple(parents) if child is None else (*parents, child)
        factor = Factor(variables, tuple(len(self.values[v]) for v in variables), child, item.place)
        parameter = item.one("Parameter")
        kind = parameter.attributes.get("type", "TBL").strip()
        numbers_of = {v: {value: i for i, value in enumerate(self.values[v])} for v in variables}
        if kind == "TBL":
            factor.entries += _entries(parameter, factor, numbers_of)
        elif kind == "DD":
            factor.entries += diagram_entries(parameter, factor, numbers_of, self._before())
        else:
            parameter.place.refuse(f"the type of a parameter is TBL or DD, not {kind[:40]!r}")
        return factor

    def _before(self) -> dict[str, str]:
        return {v.after: v.name for v in self.network.states}


def _entries(parameter: Element, factor: Factor, numbers_of: dict[str, dict[str, int]]) -> Iterator[FactorEntry]:
    """The entries of <Parameter type="TBL">. Large files repeat few tables, so equal texts share one."""
    kind = "ProbTable" if factor.child is not None else "ValueTable"
    known = [{**numbers_of[variable], "*": ANY, "-": EACH} for variable in factor.variables]
    tables: dict[tuple[str, tuple[int, ...]], Floats] = {}
    for item in parameter.each("Entry"):
        instance, table = item.one("Instance"), item.one(kind)
        words = instance.text.split()
        if len(words) != len(known):
            instance.place.refuse(
                f"expected {len(known)} values, one for each of {' '.join(factor.variables)}; found {len(words)}"
            )
        pattern = tuple([numbers.get(word, _UNKNOWN) for numbers, word in zip(known, words, strict=True)])
        if _UNKNOWN in pattern:
            at = pattern.index(_UNKNOWN)
            instance.place.refuse(f"{words[at][:40]!r} is not a value of {factor.variables[at]}")
        sizes = () if EACH not in pattern else tuple(
            [size for size, number in zip(factor.sizes, pattern, strict=True) if number == EACH]
        )  # fmt: skip
        text = table.text
        found = tables.get((text, sizes))
        if found is None:
            found = tables[text, sizes] = _table(table, text, sizes, factor)
        yield FactorEntry(pattern, found)


def _table(item: Element, text: str, sizes: Sequence[int], factor: Factor) -> Floats:
    """The numbers of an entry, one axis for each variable with a number for each value."""
    count = math.prod(sizes)
    if count > MOST_NUMBERS:
        raise TooLargeError(item.place.text(f"a table of {count:,} numbers; the limit is {MOST_NUMBERS:,}"))
    named: dict[str, Callable[[], Floats]] = {
        "uniform": lambda: np.full(sizes, 1.0 / factor.sizes[-1]),
        "identity": lambda: np.broadcast_to(np.eye(sizes[-1]), sizes).copy(),
    }
    word = text.lower() if len(text) < 10 else ""  # as APPL reads it
    if factor.child is not None and word in named:
        if word == "identity" and (len(sizes) < 2 or sizes[-1] != sizes[-2]):
            item.place.refuse("identity needs two variables with the same number of values, both marked -")
        return named[word]()
    numbers = parse_numbers(text, item.place)
    if len(numbers) != count:
        item.place.refuse(f"expected {count:,} numbers, found {len(numbers):,}")
    return numbers.reshape(sizes)
