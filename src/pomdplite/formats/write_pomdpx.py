"""A model as a POMDPX document: x is one observed variable, and each component of θ is a hidden one."""

from collections.abc import Iterator
from xml.sax.saxutils import escape

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.formats.file_model import ILLEGAL, NONE
from pomdplite.formats.listing import Listing, distinct_names
from pomdplite.formats.loading import MARK
from pomdplite.formats.numbers import numbers_text


def pomdpx_text(found: Listing) -> str:
    """The document."""
    return "\n".join(_Writer(found).lines()) + "\n"


class _Writer:
    def __init__(self, found: Listing) -> None:
        self.found = found
        self.actions = found.actions
        self.states = [*found.states, ILLEGAL] if found.forbids else found.states
        self.names = distinct_names(["x", *(c.name for c in found.components)])[1:]  # of the components

    def lines(self) -> Iterator[str]:
        found = self.found
        title = escape(found.model.name.encode("ascii", "replace").decode())
        yield '<?xml version="1.0" encoding="US-ASCII"?>'
        yield '<pomdpx version="1.0" id="pomdplite" xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance"'
        yield ' xsi:noNamespaceSchemaLocation="pomdpx.xsd">'
        yield f"<Description>{MARK}: {title}</Description>"
        yield f"<Discount>{float(found.model.discount)!r}</Discount>"
        yield from self._variables()
        yield "<InitialStateBelief>"
        yield from self._function("x_0", "null", [("-", np.eye(len(self.states))[found.start])])
        for name, component in zip(self.names, found.components, strict=True):
            yield from self._function(f"{name}_0", "null", [("-", component.prior)])
        yield "</InitialStateBelief>"
        yield "<StateTransitionFunction>"
        yield from self._function("x_1", f"action x_0{self._all('_0')}", self._transitions())
        for c, name in enumerate(self.names):
            yield from self._function(f"{name}_1", f"action x_0 {name}_0", self._changes(c))
        yield "</StateTransitionFunction>"
        yield "<ObsFunction>"
        yield from self._function("observation", f"action x_1{self._all('_1')}", self._sights())
        yield "</ObsFunction>"
        yield "<RewardFunction>"
        yield from self._function("gain", f"action x_0{self._all('_0')}", self._rewards())
        yield "</RewardFunction>"
        yield "</pomdpx>"

    def _variables(self) -> Iterator[str]:
        yield "<Variable>"
        yield f'<StateVar vnamePrev="x_0" vnameCurr="x_1" fullyObs="true">{_values(self.states)}</StateVar>'
        for name, component in zip(self.names, self.found.components, strict=True):
            listed = _values(distinct_names(component.labels))
            yield f'<StateVar vnamePrev="{name}_0" vnameCurr="{name}_1" fullyObs="false">{listed}</StateVar>'
        yield f'<ObsVar vname="observation">{_values(self.found.observations)}</ObsVar>'
        yield f'<ActionVar vname="action">{_values(self.actions)}</ActionVar>'
        yield '<RewardVar vname="gain"/>'
        yield "</Variable>"

    def _all(self, suffix: str) -> str:
        return "".join(f" {name}{suffix}" for name in self.names)

    def _function(self, child: str, parents: str, entries: "Iterator[_Entry] | list[_Entry]") -> Iterator[str]:
        tag, kind = ("Func", "ValueTable") if child == "gain" else ("CondProb", "ProbTable")
        yield f"<{tag}><Var>{child}</Var><Parent>{parents}</Parent>"
        yield '<Parameter type="TBL">'
        for instance, numbers in entries:
            table = numbers if isinstance(numbers, str) else numbers_text(numbers)
            yield f"<Entry><Instance>{instance}</Instance><{kind}>{table}</{kind}></Entry>"
        yield f"</Parameter></{tag}>"

    def _instance(self, first: str, component: int, value: str, *last: str) -> str:
        hidden = [value if c == component else "*" for c in range(len(self.names))]
        return " ".join([first, *hidden, *last])

    def _transitions(self) -> "Iterator[_Entry]":
        found = self.found
        for x, state in enumerate(self.states):
            for a, action in enumerate(self.actions):
                step = found.steps.get((x, a))
                if step is None:
                    stays = x >= len(found.states) or found.ends[x]
                    yield self._instance(f"{action} {state}", NONE, "", state if stays else ILLEGAL), np.ones(1)
                elif all(after == step.after[0] for after in step.after):
                    for y, p in step.after[0].items():
                        yield self._instance(f"{action} {state}", NONE, "", self.states[y]), np.array([p])
                else:
                    for y in sorted(set().union(*step.after)):
                        chances = np.array([after.get(y, 0.0) for after in step.after])
                        yield self._instance(f"{action} {state}", step.component, "-", self.states[y]), chances

    def _changes(self, component: int) -> "Iterator[_Entry]":
        yield "* * - -", "identity"
        for (x, a), step in self.found.steps.items():
            if step.component == component and (step.later != np.arange(len(step.later))).any():
                yield f"{self.actions[a]} {self.states[x]} - -", np.eye(len(step.later))[step.later]

    def _sights(self) -> "Iterator[_Entry]":
        yield self._instance("* *", NONE, "", "-"), self.found.sight(-1, -1)[1]
        for y, a in self.found.sights:
            component, table = self.found.sight(y, a)
            place = f"{self.actions[a]} {self.states[y]}"
            if (table == table[0]).all():
                yield self._instance(place, NONE, "", "-"), table[0]
            else:
                yield self._instance(place, component, "-", "-"), table

    def _rewards(self) -> "Iterator[_Entry]":
        found = self.found
        for x, state in enumerate(found.states):
            for a, action in enumerate(self.actions):
                step = found.steps.get((x, a))
                if step is None:
                    if not found.ends[x]:
                        yield self._instance(f"{action} {state}", NONE, ""), np.array([found.penalty])
                elif (step.reward == step.reward[0]).all():
                    if step.reward[0] != 0:
                        yield self._instance(f"{action} {state}", NONE, ""), step.reward[:1]
                else:
                    yield self._instance(f"{action} {state}", step.component, "-"), step.reward


_Entry = tuple[str, Floats | str]


def _values(names: list[str]) -> str:
    return f"<ValueEnum>{' '.join(names)}</ValueEnum>"
