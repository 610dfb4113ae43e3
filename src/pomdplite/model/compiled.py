"""A model ready for planning: its functions, compiled or interpreted, and its hidden values listed for kernels."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from pomdplite.compile import codegen, interpreted
from pomdplite.compile.abi import (
    DEPENDS,
    EVOLVE,
    FAILED,
    HEURISTIC,
    LEGAL,
    MOVE,
    OBSERVATION,
    PARAMETERS,
    POLICY,
    PREFERRED,
    PRIOR,
    REMEMBER,
    REWARD,
    SUMMARY,
    TERMINAL,
    TRANSITION,
    UPPER,
    KernelModel,
)
from pomdplite.compile.abi import prior as abi_prior
from pomdplite.compile.definition import Functions, Source
from pomdplite.compile.interpreted import Plain
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.errors import UsageError
from pomdplite.model.hidden_table import HiddenTable, hidden_table, population_table
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Population
from pomdplite.rng import stream

if TYPE_CHECKING:
    from pomdplite.model.model import Model

_PLACES = {
    "transition": TRANSITION, "observation": OBSERVATION, "reward": REWARD, "terminal": TERMINAL,
    "legal": LEGAL, "depends": DEPENDS, "evolve": EVOLVE, "heuristic": HEURISTIC, "policy": POLICY,
    "prior": PRIOR, "move": MOVE, "summary": SUMMARY, "upper": UPPER, "preferred": PREFERRED, "remember": REMEMBER,
}  # fmt: skip

_PRIOR_DRAWS = 256  # of a Population, for what needs to know some values of θ before there is a belief


class CompiledModel:
    """What the library derives from a model, once; the model itself holds only what the user wrote."""

    def __init__(self, model: "Model", definition: Source) -> None:
        self.model, self.definition = model, definition
        self._views: dict[bool, KernelView] = {}

    @cached_property
    def interpreted(self) -> Plain:
        """The functions as Python runs them."""
        return Plain(self.definition)

    @cached_property
    def functions(self) -> Functions:
        """The functions as kernels call them."""
        if self.model.compiled and not numba.config.DISABLE_JIT:
            return codegen.compiled(self.definition)
        return interpreted.interpreted(self.definition)

    @property
    def factored(self) -> bool:
        """Whether the belief is kept component by component."""
        return "depends" in self.definition.functions and len(self.model.hidden.components) > 1

    @property
    def evolves(self) -> bool:
        """Whether θ changes (deterministically)."""
        return "evolve" in self.definition.functions

    def kernel_view(self, *, joint: bool | None = None) -> "KernelView":
        """The model as kernels see it, with Θ component by component or listed as a whole."""
        if joint and isinstance(self.model.hidden, Population):
            raise UsageError(f"{self.model.name}: its hidden values cannot be listed, and this needs them listed.")
        joint = not self.factored if joint is None else joint
        if joint not in self._views:
            self._views[joint] = KernelView.of(self, joint)
        return self._views[joint]


@kernel
def draw_prior(model: KernelModel, theta: Words, count: int, random: Words) -> int:
    """Fill the first rows with draws from the prior; -1 if the user's function raised."""
    for t in range(count):
        if abi_prior(model, theta, t, random) == FAILED:
            return -1
    return 0


@dataclass(frozen=True)
class KernelView:
    """A model and a listing of Θ, ready for kernels."""

    model: "Model"
    table: HiddenTable
    kernel_model: KernelModel

    @classmethod
    def of(cls, form: CompiledModel, joint: bool) -> "KernelView":
        """Compile (or load) the functions and lay the hidden values out."""
        model, source, functions = form.model, form.definition, form.functions
        addresses = np.zeros(len(_PLACES) + 1, np.uint64)
        addresses[PARAMETERS] = source.parameters.block.ctypes.data
        for name, address in functions.addresses.items():
            addresses[_PLACES[name]] = address
        if isinstance(model.hidden, Population):
            draws = np.zeros((_PRIOR_DRAWS + 1, model.hidden.words), np.uint64)
            table = population_table(model.hidden, draws)
        else:
            table = hidden_table(model.hidden, joint=joint, evolves=form.evolves)
        x_words = model.state.words
        kernel_model = KernelModel(
            addresses, table.theta, table.offsets, table.map_word + x_words, table.map_shift, table.map_mask,
            x_words, x_words + table.map_words, model.next_states, len(model.actions), len(model.observations),
            form.evolves, model.memory.words,
        )  # fmt: skip
        if isinstance(model.hidden, Population):
            draw_prior(kernel_model, table.theta, len(table.theta), stream(0))
        return cls(model, table, kernel_model)

    def present_form(self) -> "KernelView":
        """The same without maps: states are x alone, and a hidden value is what it is now (mixed observability)."""
        if not self.kernel_model.evolves:
            return self
        table = hidden_table(self.model.hidden, joint=self.table.joint, evolves=False)
        return KernelView(self.model, table, self.kernel_model._replace(s_words=self.kernel_model.x_words))

    @property
    def listed(self) -> bool:
        """Whether every hidden value is in the table; else it holds draws from the prior."""
        return not isinstance(self.model.hidden, Population)

    def root(self) -> Words:
        """The first state s: x and the identity maps."""
        return self.words(self.model.initial_state(), self.table.identity)

    def words(self, x: Any, maps: Words) -> Words:
        """The words of s = (x, maps)."""
        return np.concatenate([to_words(self.model.state.dtype, x), maps])

    def record(self, s: Words) -> Any:
        """The observed part x of s."""
        return from_words(self.model.state.dtype, s)

    def maps(self, s: Words) -> Words:
        """The maps of s from initial to present hidden values."""
        return s[self.model.state.words :].copy()

    def present_rows(self, s: Words) -> Any:
        """For each row (component, initial value) the row of its present value."""
        rows = np.arange(len(self.table.theta))
        if self.table.map_words == 0:
            return rows
        for block in range(self.table.blocks):
            first, last = self.table.offsets[block], self.table.offsets[block + 1]
            for row in range(first, last):
                word = int(s[self.kernel_model.map_word[row]])
                rows[row] = first + ((word >> int(self.table.map_shift[row])) & int(self.table.map_mask[block]))
        return rows

    def present(self, b: Floats, s: Words) -> Floats:
        """The belief about present values, from the belief b about initial ones."""
        now = np.zeros_like(b)
        np.add.at(now, self.present_rows(s), b)
        return now

    def describe(self, s: Words) -> str:
        """A state s in words, with the hidden components that have changed."""
        text = self.model.describe_state(self.record(s))
        if self.kernel_model.evolves and not np.array_equal(self.maps(s), self.table.identity):
            changed = []
            rows = self.present_rows(s)
            for block in range(self.table.blocks):
                first, last = self.table.offsets[block], self.table.offsets[block + 1]
                if not np.array_equal(rows[first:last], np.arange(first, last)):
                    changed.append("all" if self.table.joint else self.table.hidden.components[block].name)
            text += f" (changed: {', '.join(changed)})"
        return text
