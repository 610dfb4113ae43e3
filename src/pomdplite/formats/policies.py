"""Policies of APPL (SARSOP's .policy files, also called PolicyX): α-vectors in the numbering of a model's file.

    <Policy type="value">
      <AlphaVector vectorLength="2" numObsValue="3" numVectors="6">
        <Vector action="1" obsValue="0">9.5 9.5 </Vector>
        <SparseVector action="3" obsValue="2"><Entry>0 19.025</Entry></SparseVector>

We write no sparse vectors, and a space behind every number: APPL's own reader needs that.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import quoteattr

import numpy as np

from pomdplite.compile.jit import Flags, Floats
from pomdplite.errors import TooLargeError, UsageError
from pomdplite.formats.factors import MOST_NUMBERS
from pomdplite.formats.numbering import FileNumbers
from pomdplite.formats.numbers import numbers_text, parse_number, parse_numbers
from pomdplite.formats.places import read_bytes
from pomdplite.formats.xml_nodes import Element, parse_xml
from pomdplite.model.policy_files import StateVectors

_SCHEMA = 'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:noNamespaceSchemaLocation="policyx.xsd"'


class FileVector(NamedTuple):
    """An α-vector as a file has it."""

    action: int
    group: int  # obsValue
    value: Floats  # [place]
    line: int = 0


@dataclass(frozen=True)
class Policies:
    """Reads and writes the policies of one model file."""

    model: str  # the name of its file
    numbers: FileNumbers
    ends: Flags  # [x] terminal
    allowed: Flags  # [x, a] legal
    least: float  # what no policy earns less than

    # ------------------------------------------------------------------ reading

    def read(self, path: Path) -> StateVectors:
        """The vectors of a file for each x that is not terminal; ModelError with file and line if it is wrong."""
        root = parse_xml(read_bytes(path), str(path))
        if root.tag != "Policy":
            root.place.refuse(f"a policy file consists of <Policy>, not <{root.tag}>")
        kind = root.attributes.get("type", "value").strip()
        if kind != "value":
            root.place.refuse(f"the type of the policy is {kind[:40]!r}; only α-vectors (value) can be read")
        for _ in root.each("AlphaVector"):
            pass
        made_for = root.attributes.get("model", "")
        by_group: dict[int, list[FileVector]] = {}
        for vector in self._vectors(root.one("AlphaVector"), f"; it was made for {made_for[:80]}" if made_for else ""):
            by_group.setdefault(vector.group, []).append(vector)
        found, count = [], 0
        for x in np.flatnonzero(~self.ends).tolist():
            found.append(self._of_state(x, by_group.get(self.numbers.group(x), [])))
            count += found[-1].value.size
            self._limit(count, path)
        return StateVectors(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _vectors(self, element: Element, note: str) -> Iterator[FileVector]:
        for name, ours, what in (
            ("vectorLength", self.numbers.length, "joint values of its hidden part"),
            ("numObsValue", self.numbers.groups, "observed states"),
        ):
            if name == "numObsValue" and name not in element.attributes:
                continue
            theirs = _whole(element, name)
            if theirs != ours:
                element.place.refuse(f"{name} is {theirs:,}, but {self.model} has {ours:,} {what}{note}")
        count = len(element.children)
        if "numVectors" in element.attributes and _whole(element, "numVectors") != count:
            element.place.refuse(f"numVectors is {_whole(element, 'numVectors'):,}, but there are {count:,} vectors")
        if count == 0:
            element.place.refuse("the policy has no vectors")
        self._limit(count * self.numbers.length, Path(element.place.file))
        for item in element.each("Vector", "SparseVector"):
            action, group = _whole(item, "action"), _whole(item, "obsValue")
            if action >= self.allowed.shape[1]:
                last = self.allowed.shape[1] - 1
                item.place.refuse(f"there is no action {action}; {self.model} numbers them from 0 to {last}{note}")
            if group >= self.numbers.groups:
                last = self.numbers.groups - 1
                item.place.refuse(f"there is no obsValue {group}; {self.model} numbers them from 0 to {last}{note}")
            yield FileVector(action, group, self._values(item), item.place.line)

    def _values(self, item: Element) -> Floats:
        if item.tag == "Vector":
            for _ in item.each():
                pass
            values = parse_numbers(item.text, item.place)
            if len(values) != self.numbers.length:
                item.place.refuse(f"expected {self.numbers.length:,} numbers, found {len(values):,}")
            return values
        values = np.zeros(self.numbers.length)
        for entry in item.each("Entry"):
            words = entry.text.split()
            if len(words) != 2 or not words[0].isdecimal():
                entry.place.refuse(f"<Entry> must hold a place and a number, not {entry.text[:40]!r}")
            at = int(words[0]) if len(words[0]) < 10 else self.numbers.length
            if at >= self.numbers.length:
                entry.place.refuse(f"there is no place {words[0][:40]}; vectors have {self.numbers.length:,} numbers")
            values[at] = parse_number(words[1], entry.place)
        return values

    def _of_state(self, x: int, vectors: list[FileVector]) -> StateVectors:
        """The vectors of x, over θ, without those that are worse than another whatever θ is."""
        vectors = [v for v in vectors if self.allowed[x, v.action]]
        places = self.numbers.places(x)
        here = places >= 0
        value = np.array([v.value[places[here]] for v in vectors]).reshape(len(vectors), int(here.sum()))
        kept = value.max(axis=1) >= value.min(axis=1).max(initial=-np.inf)
        whole = np.repeat(value[kept].min(axis=1, keepdims=True, initial=0.0), len(places), axis=1)  # where impossible
        whole[:, here] = value[kept]
        action, line = (np.array([v[i] for v in vectors], np.int64)[kept] for i in (0, 3))
        return StateVectors(np.full(len(action), x, np.int64), action, whole, line)

    def _limit(self, count: int, path: Path) -> None:
        if count > MOST_NUMBERS:
            raise TooLargeError(f"{path}: the α-vectors have {count:,} numbers; the limit is {MOST_NUMBERS:,}.")

    # ------------------------------------------------------------------ writing

    def write(self, path: Path, vectors: StateVectors) -> None:
        """Write vectors, and values of 0 for terminal x. What is impossible in x is worth less than any policy."""
        self._limit(self.numbers.groups * self.numbers.length, path)
        least = min(self.least, float(vectors.value.min())) - 1
        members: dict[int, list[int]] = {}
        for x in range(len(self.ends)):
            members.setdefault(self.numbers.group(x), []).append(x)
        of_state: dict[int, list[tuple[int, Floats]]] = {}
        for state, action, value in zip(vectors.state.tolist(), vectors.action.tolist(), vectors.value, strict=True):
            of_state.setdefault(state, []).append((action, value))
        rows: list[FileVector] = []
        for group in range(self.numbers.groups):
            rows += self._of_group(group, members.get(group, []), of_state, least)
            self._limit(len(rows) * self.numbers.length, path)
        try:
            with path.open("w", encoding="ascii") as file:
                file.writelines(self._lines(rows))
        except OSError as error:
            raise UsageError(f"cannot write {path}: {error.strerror}.") from None

    def _of_group(
        self, group: int, states: list[int], of_state: dict[int, list[tuple[int, Floats]]], least: float
    ) -> list[FileVector]:
        """The rows for one obsValue. If several x have it and do not overlap, rows with one action are shared."""
        rows: list[FileVector] = []
        places = {x: self.numbers.places(x) for x in states}
        taken = np.concatenate([np.zeros(0, np.int64), *(np.unique(p[p >= 0]) for p in places.values())])
        shared = len(states) > 1 and len(np.unique(taken)) == len(taken)
        slots: dict[tuple[int, int], FileVector] = {}
        for x in states:
            used: dict[int, int] = {}
            nothing = [(0, np.zeros(len(places[x])))] if self.ends[x] else []
            for action, value in of_state.get(x, nothing):
                used[action] = used.get(action, -1) + 1
                row = slots.get((action, used[action])) if shared else None
                if row is None:
                    row = slots[action, used[action]] = FileVector(action, group, np.full(self.numbers.length, least))
                    rows.append(row)
                here = places[x] >= 0
                row.value[places[x][here]] = value[here]
        return rows or [FileVector(0, group, np.full(self.numbers.length, least))]

    def _lines(self, rows: list[FileVector]) -> Iterator[str]:
        name = quoteattr(self.model.encode("ascii", "replace").decode())
        yield '<?xml version="1.0" encoding="ISO-8859-1"?>\n'
        yield f'<Policy version="0.1" type="value" model={name} {_SCHEMA}>\n'
        sizes = f'vectorLength="{self.numbers.length}" numObsValue="{self.numbers.groups}"'
        yield f'<AlphaVector {sizes} numVectors="{len(rows)}">\n'
        for row in rows:
            yield f'<Vector action="{row.action}" obsValue="{row.group}">{numbers_text(row.value)} </Vector>\n'
        yield "</AlphaVector> </Policy>\n"


def _whole(item: Element, name: str) -> int:
    """An attribute that is a whole number, at least 0."""
    text = item.attribute(name)
    if not text.isdecimal() or len(text) > 15:
        item.place.refuse(f"{name} must be a whole number, not {text[:40]!r}")
    return int(text)
