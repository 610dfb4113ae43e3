"""A model as a .pomdp file: its states are all pairs of x and θ.

Such a file has no observed state. If the next x does not follow from x and a, observations tell it: each is a pair of
the next x and what the model observes there.
"""

import math
from collections.abc import Iterator
from itertools import product

from pomdplite.errors import TooLargeError
from pomdplite.formats.file_model import ILLEGAL, NONE
from pomdplite.formats.listing import Listing, distinct_names
from pomdplite.formats.loading import MARK

_MOST_LINES = 10_000_000


def pomdp_text(found: Listing) -> str:
    """The file."""
    return "\n".join(_PairWriter(found).lines()) + "\n"


class _PairWriter:
    """Writes states x · |Θ| + θ; the state for illegal actions comes last."""

    def __init__(self, found: Listing) -> None:
        self.found = found
        sizes = [len(c) for c in found.components]
        self.thetas = math.prod(sizes)
        self.count = len(found.states) * self.thetas
        if self.count * len(found.actions) > _MOST_LINES:
            raise TooLargeError(
                f"{found.model.name}: a .pomdp file would list {len(found.states):,} x × {self.thetas:,} θ × "
                f"{len(found.actions):,} actions, too many; write a .pomdpx file."
            )
        self.joint = list(product(*map(range, sizes)))  # the value of each component
        self.stride = [math.prod(sizes[c + 1 :]) for c in range(len(sizes))]
        self.certain = all(len(set().union(*step.after)) == 1 for step in found.steps.values())
        self.observations = found.observations
        if not self.certain:
            self.observations = distinct_names(f"{y}-{o}" for y in found.states for o in found.observations)

    def lines(self) -> Iterator[str]:
        found = self.found
        labels = [c.labels for c in found.components]
        hidden = ["-".join(names[i] for names, i in zip(labels, row, strict=True)) for row in self.joint]
        names = distinct_names(f"{x}-{theta}" for x in found.states for theta in hidden)
        yield f"# {MARK}: {found.model.name.encode('ascii', 'replace').decode()}"
        yield f"discount: {float(found.model.discount)!r}"
        yield "values: reward"
        yield f"states: {' '.join([*names, ILLEGAL] if found.forbids else names)}"
        yield f"actions: {' '.join(found.actions)}"
        yield f"observations: {' '.join(self.observations)}"
        chances = (
            math.prod(float(c.prior[i]) for c, i in zip(found.components, row, strict=True)) for row in self.joint
        )
        after = self.count - (found.start + 1) * self.thetas + found.forbids
        begin = [*[0.0] * (found.start * self.thetas), *chances, *[0.0] * after]
        yield f"start: {' '.join(map(repr, begin))}"
        for a, action in enumerate(found.actions):
            for x in range(len(found.states)):
                yield from self._steps(x, a, action)
            if found.forbids:
                yield f"T: {action} : {self.count} : {self.count} 1"
        for a, action in enumerate(found.actions):
            for y in range(len(found.states)):
                yield from self._sights(y, a, action)
            if found.forbids:
                yield f"O: {action} : {self.count} : {len(self.observations) - 1} 1"
        for a, action in enumerate(found.actions):
            for x in range(len(found.states)):
                yield from self._rewards(x, a, action)

    def _value(self, theta: int, component: int) -> int:
        return 0 if component == NONE else self.joint[theta][component]

    def _steps(self, x: int, a: int, action: str) -> Iterator[str]:
        step = self.found.steps.get((x, a))
        for theta in range(self.thetas):
            s = x * self.thetas + theta
            if step is None:
                yield f"T: {action} : {s} : {s if self.found.ends[x] else self.count} 1"
                continue
            value = self._value(theta, step.component)
            later = theta
            if step.component != NONE:
                later += (int(step.later[value]) - value) * self.stride[step.component]
            for y, p in step.after[value].items():
                yield f"T: {action} : {s} : {y * self.thetas + later} {float(p)!r}"

    def _sights(self, y: int, a: int, action: str) -> Iterator[str]:
        component, table = self.found.sight(y, a)
        first = 0 if self.certain else y * len(self.found.observations)
        for theta in range(self.thetas):
            row = table[self._value(theta, component)]
            for o, p in enumerate(row.tolist()):
                if p > 0:
                    yield f"O: {action} : {y * self.thetas + theta} : {first + o} {p!r}"

    def _rewards(self, x: int, a: int, action: str) -> Iterator[str]:
        step = self.found.steps.get((x, a))
        for theta in range(self.thetas):
            if step is None:
                reward = 0.0 if self.found.ends[x] else self.found.penalty
            else:
                reward = float(step.reward[self._value(theta, step.component)])
            if reward != 0:
                yield f"R: {action} : {x * self.thetas + theta} : * : * {reward!r}"
