"""Functions of discrete variables as POMDPX gives them: a list of entries, of which later ones replace earlier ones.

A function of thirty variables has too many values to list, but each entry names few of them. So a function is never
listed as a whole. `Restriction` fixes some of the variables, such as the action and the observed state, and lists the
values over those of the others that the remaining entries name: over one rock of twenty.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import TooLargeError
from pomdplite.formats.numbers import distributions
from pomdplite.formats.places import FilePlace

ANY, EACH = -1, -2  # in an entry: the same number for every value (*), or one number for each (-)
MOST_VALUES = 1_000_000  # of a variable
MOST_NUMBERS = 50_000_000  # in a table
_MOST_RESTRICTED = 5_000_000


class FactorEntry(NamedTuple):
    """Numbers for some values of the variables of a function."""

    pattern: tuple[int, ...]  # for each variable the number of a value, ANY or EACH
    table: Floats  # one axis for each EACH


@dataclass
class Factor:
    """A function of variables: a conditional probability, whose last variable is the child, or a reward."""

    variables: tuple[str, ...]
    sizes: tuple[int, ...]
    child: str | None
    place: FilePlace  # in the file
    entries: list[FactorEntry] = field(default_factory=list)

    @property
    def parents(self) -> tuple[str, ...]:
        """The variables without the child."""
        return self.variables if self.child is None else self.variables[:-1]


class Restricted:
    """A function of few variables, with a table of its values. The child, if there is one, is the last axis.

    If only some values of the child are named, that axis has only these, and all other numbers are 0. The same object
    stands for many steps, so it keeps what was found out about it.
    """

    def __init__(
        self, factor: Factor, variables: tuple[str, ...], table: Floats, named: Sequence[int] | None = None,
        checked: bool = False,
    ) -> None:  # fmt: skip
        self.factor, self.variables, self.table = factor, variables, table
        self.named = range(factor.sizes[-1] if factor.child is not None else 0) if named is None else named
        self.parents = variables if factor.child is None else variables[:-1]
        self._checked = checked
        self._branches: list[Branch] | None = None
        self._certain: bool | None = None

    def distribution(self, where: Callable[[], str]) -> Floats:
        """The table of a conditional probability for all values of the child, checked as in `check`."""
        self.check(where)
        if isinstance(self.named, range):
            return self.table
        whole = np.zeros((*self.table.shape[:-1], self.factor.sizes[-1]))
        whole[..., list(self.named)] = self.table
        self.table, self.named = whole, range(self.factor.sizes[-1])
        return whole

    def check(self, where: Callable[[], str]) -> Floats:
        """The table of a conditional probability for the named values, whose sums are checked.

        where: names the step in messages.
        """
        if not self._checked:
            self.table = distributions(
                self.table, self.factor.place, lambda: f"the probability of {self.factor.child} {where()}"
            )
            self._checked = True
        return self.table

    def branches(self, where: Callable[[], str]) -> "list[Branch]":
        """The values that the child can take."""
        if self._branches is None:
            table = self.check(where)
            if table.ndim == 1:
                numbers: Any = table.tolist()
                self._branches = [Branch(i, (), p) for i, p in zip(self.named, numbers, strict=True) if p]
            else:
                some: Any = table.reshape(-1, table.shape[-1]).any(axis=0)
                self._branches = [
                    Branch(self.named[i], self.parents, table[..., i]) for i in np.flatnonzero(some).tolist()
                ]
        return self._branches

    def certain(self, where: Callable[[], str]) -> bool:
        """Whether the child follows from its parents."""
        if self._certain is None:
            table = self.distribution(where)
            self._certain = bool(((table == 0) | (table == 1)).all())
        return self._certain


class Branch(NamedTuple):
    """A value of a child, and its probability as a function of the parents."""

    value: int
    parents: tuple[str, ...]
    table: Floats | float  # a number if there are no parents


class Restriction:
    """A function of which some variables are to be fixed, again and again to other values."""

    def __init__(self, factor: Factor, fixed: set[str]) -> None:
        self.factor = factor
        self.fixed = [i for i, name in enumerate(factor.variables) if name in fixed]
        self.free = [i for i, name in enumerate(factor.variables) if name not in fixed]
        self._entries: dict[tuple[int, ...], list[int]] = {}  # by their values of the fixed variables, or ANY
        for number, entry in enumerate(factor.entries):
            key = tuple(max(entry.pattern[i], ANY) for i in self.fixed)
            self._entries.setdefault(key, []).append(number)
        self._masks = {tuple(value == ANY for value in key) for key in self._entries}
        self._split = any(entry.pattern[i] == EACH for entry in factor.entries for i in self.fixed)
        self._fixed_names = [factor.variables[i] for i in self.fixed]
        self._seen: dict[tuple[int, ...], Restricted] = {}  # by context
        self._known: dict[tuple[tuple[int, ...], tuple[int, ...]], Restricted] = {}  # by entries, and values for EACH
        self._equal: dict[tuple[Any, ...], Restricted] = {}  # by contents

    def at(self, values: Mapping[str, int]) -> Restricted:
        """The function of the free variables that these values of the fixed ones leave."""
        context = tuple([values[name] for name in self._fixed_names])
        found = self._seen.get(context)
        if found is None:
            found = self._seen[context] = self._matching(context)
        return found

    def _matching(self, context: tuple[int, ...]) -> Restricted:
        """The same, where several contexts that the same entries match share one table."""
        numbers: list[int] = []
        for mask in self._masks:
            key = tuple(ANY if wild else value for value, wild in zip(context, mask, strict=True))
            numbers += self._entries.get(key, ())
        if len(numbers) > 1:
            numbers.sort()
        entries = tuple(numbers)
        used: tuple[int, ...] = ()
        if self._split:  # where an entry has a number for each value of a fixed variable, that value counts
            patterns = [self.factor.entries[number].pattern for number in numbers]
            used = tuple(v for p in patterns for i, v in zip(self.fixed, context, strict=True) if p[i] == EACH)
        found = self._known.get((entries, used))
        if found is None:
            found = self._known[entries, used] = self._interned(numbers, context)
        return found

    def _interned(self, numbers: Sequence[int], context: tuple[int, ...]) -> Restricted:
        """Contexts that different but equal entries match share one table, too."""
        key: tuple[Any, ...] | None = None
        if len(numbers) == 1 and not self._split:
            pattern, table = self.factor.entries[numbers[0]]
            key = *[pattern[i] for i in self.free], table.tobytes()
            if key in self._equal:
                return self._equal[key]
        factor, values = self.factor, dict(zip(self.fixed, context, strict=True))
        only_child = factor.child is not None and self.free == [len(factor.variables) - 1]
        if only_child and all(factor.entries[number].pattern[-1] >= 0 for number in numbers):
            return self._listed(numbers, values)
        new = self._restricted(numbers, values)
        if key is None:
            children = tuple(new.named) if isinstance(new.named, list) else ()
            key = new.variables, children, new.table.tobytes()
        return self._equal.setdefault(key, new)

    def _restricted(self, numbers: Sequence[int], context: Mapping[int, int]) -> Restricted:
        factor = self.factor
        last = len(factor.variables) - 1 if factor.child is not None else None
        named = [
            i for i in self.free if i == last or any(factor.entries[number].pattern[i] != ANY for number in numbers)
        ]
        shape = [factor.sizes[i] for i in named]
        patterns = [factor.entries[number].pattern for number in numbers]
        children: list[int] | None = None
        if last in named and all(pattern[-1] >= 0 for pattern in patterns):
            children = sorted({pattern[-1] for pattern in patterns})
            shape[-1] = len(children)
        if math.prod(shape) > _MOST_RESTRICTED:
            raise TooLargeError(factor.place.text(
                f"the function of {', '.join(factor.variables[i] for i in named)} has {math.prod(shape):,} values; the "
                f"limit is {_MOST_RESTRICTED:,}"
            ))  # fmt: skip
        table: Any = np.zeros(shape)
        for number in numbers:
            entry = factor.entries[number]
            each = [i for i, value in enumerate(entry.pattern) if value == EACH]
            values: Any = entry.table[tuple(context.get(i, slice(None)) for i in each)]
            where = tuple(slice(None) if entry.pattern[i] < 0 else entry.pattern[i] for i in named)
            if children is not None:
                where = (*where[:-1], children.index(entry.pattern[-1]))
            spread = tuple(slice(None) if entry.pattern[i] == EACH else None for i in named if entry.pattern[i] < 0)
            table[where] = values[spread]
        for axis in reversed(range(len(named))):  # leave out variables that make no difference
            if named[axis] != last and (table == table.take([0], axis)).all():
                table, named = table.take(0, axis), named[:axis] + named[axis + 1 :]
        return Restricted(factor, tuple(factor.variables[i] for i in named), table, children)

    def _listed(self, numbers: Sequence[int], context: Mapping[int, int]) -> Restricted:
        """The same where only the child is free, and every entry names one value of it."""
        found: dict[int, float] = {}
        for number in numbers:
            pattern, table = self.factor.entries[number]
            each = [context[i] for i, value in enumerate(pattern[:-1]) if value == EACH] if self._split else ()
            found[pattern[-1]] = float(table[tuple(each)])
        children = sorted(found)
        values = [found[child] for child in children]
        exact = bool(values) and min(values) >= 0 and abs(sum(values) - 1) <= 1e-13  # else it is checked when used
        return Restricted(self.factor, self.factor.variables[-1:], np.array(values), children, exact)
