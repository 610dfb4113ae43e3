"""A model ready for planning: its functions compiled or interpreted, its hidden values listed for kernels."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from pomdplite.compile import abi, codegen, interpreted
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.addresses import PARAMETERS, SLOTS, data_address
from pomdplite.compile.definition import Definition, KernelFunctions
from pomdplite.compile.interpreted import Interpreted
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.compile.noise import noise_of
from pomdplite.errors import TooLargeError, UnsuitableError
from pomdplite.model.dirichlet import Dirichlet
from pomdplite.model.distributions_kernels import draw_distributed
from pomdplite.model.faults import raise_fault
from pomdplite.model.hidden_table import JOINT_LIMIT, HiddenTable, dirichlet_table, hidden_table, population_table
from pomdplite.model.records import from_words, to_words
from pomdplite.model.spaces import Distributed, Population
from pomdplite.rng import stream, uniform

if TYPE_CHECKING:
    from pomdplite.model.model import Model

_PRIOR_DRAWS = 256  # of a Population, for code that needs some values of θ before there is a belief


class CompiledModel:
    """What the library derives from a model, once; the model itself holds only what the user wrote."""

    def __init__(self, model: "Model", definition: Definition) -> None:
        self.model, self.definition = model, definition
        self._views: dict[bool, KernelView] = {}

    @cached_property
    def interpreted(self) -> Interpreted:
        """The functions as Python runs them."""
        return Interpreted(self.definition)

    @cached_property
    def functions(self) -> KernelFunctions:
        """The functions as kernels call them."""
        if self.compiled:
            return codegen.compiled(self.definition)
        return interpreted.callbacks(self.definition)

    @property
    def compiled(self) -> bool:
        """Whether the functions run as machine code."""
        return self.model.compiled and not numba.config.DISABLE_JIT

    @property
    def factored(self) -> bool:
        """Whether the belief is factored: one probability vector per component."""
        return "depends" in self.definition.functions and len(self.model.hidden.components) > 1

    @property
    def evolves(self) -> bool:
        """Whether θ changes, deterministically."""
        return "evolve" in self.definition.functions

    def draw_hidden(self, random: Words) -> Any:
        """A record of θ drawn from the prior of a Population, without compiling the model's functions.

        If θ is a set of distributions, the record of an outcome.
        """
        hidden = self.model.hidden
        if isinstance(hidden, Dirichlet):
            return hidden.some_outcome(uniform(random))
        if not isinstance(hidden, Distributed):
            return self.interpreted.prior(random)
        theta = np.zeros((1, hidden.words), np.uint64)
        draw_distributed(hidden.table, theta, random)
        return from_words(hidden.dtype, theta[0])

    def kernel_view(self, *, joint: bool | None = None) -> "KernelView":
        """The model as kernels see it, with Θ listed jointly or component by component (default: if factored)."""
        if joint and isinstance(self.model.hidden, Dirichlet):
            raise UnsuitableError(
                f"{self.model.name}: this needs every hidden value listed, but its probabilities are unknown."
            )
        if joint and isinstance(self.model.hidden, Population):
            what = "has distributions" if isinstance(self.model.hidden, Distributed) else "is a Population"
            raise UnsuitableError(f"{self.model.name}: this needs every hidden value listed, but hidden {what}.")
        if joint and self.factored and self.model.hidden.size > JOINT_LIMIT:
            raise TooLargeError(
                f"{self.model.name}: this needs every joint value of the hidden parameter listed; there are "
                f"{self.model.hidden.size:,}, and the limit is {JOINT_LIMIT:,}."
            )
        joint = not self.factored if joint is None else joint
        if joint not in self._views:
            self._views[joint] = KernelView.of(self, joint)
        return self._views[joint]


@kernel
def _draw_population(model: KernelModel, theta: Words, random: Words) -> None:
    """Fill all rows by the model's `prior`."""
    for t in range(theta.shape[0]):
        abi.prior(model, theta, t, random)


@dataclass(frozen=True)
class KernelView:
    """A model and a listing of Θ, ready for kernels."""

    model: "Model"
    table: HiddenTable
    kernel_model: KernelModel

    @classmethod
    def of(cls, form: CompiledModel, joint: bool) -> "KernelView":
        """List the hidden values, and compile or load the functions."""
        model = form.model
        if isinstance(model.hidden, Population):
            draws = np.zeros((_PRIOR_DRAWS + 1, model.hidden.words), np.uint64)
            table = population_table(model.hidden, draws)
        elif isinstance(model.hidden, Dirichlet):
            table = dirichlet_table(model.hidden)
        else:
            # Before anything is compiled, since there may be too many values.
            table = hidden_table(model.hidden, joint=joint, evolves=form.evolves)
        addresses = np.zeros(len(SLOTS) + 1, np.uint64)
        addresses[PARAMETERS] = data_address(form.definition.parameters.block)
        for name, address in form.functions.addresses.items():
            addresses[SLOTS[name]] = address
        x_words, definition = model.state.words, form.definition
        z_words = 0 if definition.reading is None else definition.reading.itemsize // 8
        kernel_model = KernelModel(
            functions=addresses,
            fault=form.definition.parameters.fault,
            theta=table.theta,
            offsets=table.offsets,
            bonus_scale=np.ones(table.blocks + 1),
            map_word=np.where(table.map_word < 0, -1, table.map_word + x_words),
            map_shift=table.map_shift,
            map_mask=table.map_mask,
            x_words=x_words,
            s_words=x_words + table.map_words,
            next_states=model.next_states,
            actions=len(model.actions),
            observations=len(model.observations),
            evolves=form.evolves,
            h_words=model.memory.words,
            z_words=z_words,
            noise=noise_of(definition.noise),
            reading=noise_of(definition.reading_noise),
            scratch=np.zeros(
                (1, max(x_words + definition.noise.count, z_words + definition.reading_noise.count)), np.uint64
            ),
        )
        view = cls(model, table, kernel_model)
        if isinstance(model.hidden, Population):
            view.draw_prior(table.theta, stream(0))
        return view

    def draw_prior(self, theta: Words, random: Words) -> None:
        """Fill all rows with draws from the prior of a Population."""
        if isinstance(self.model.hidden, Distributed):
            draw_distributed(self.model.hidden.table, theta, random)
        else:
            _draw_population(self.kernel_model, theta, random)
            self.raise_fault()

    def present_form(self) -> "KernelView":
        """The same without maps: states are x alone, and hidden values are present ones (mixed observability)."""
        if self.table.map_words == 0:
            return self
        table = hidden_table(self.model.hidden, joint=self.table.joint, evolves=False)
        return KernelView(self.model, table, self.kernel_model._replace(s_words=self.kernel_model.x_words))

    def unobserved(self) -> "KernelView":
        """The same without observations and readings, on which neither states nor rewards depend."""
        functions = self.kernel_model.functions.copy()
        functions[abi.OBSERVATION] = 0
        model = self.kernel_model._replace(functions=functions, observations=0, z_words=0)
        return replace(self, kernel_model=model)

    def raise_fault(self) -> None:
        """Raise a ModelError if a function of the model has done something wrong since this was last asked."""
        raise_fault(self.model.compiled_form)

    @property
    def listed(self) -> bool:
        """Whether the table holds every hidden value; if not, it holds draws from the prior."""
        return not isinstance(self.model.hidden, Population)

    @property
    def counted(self) -> bool:
        """Whether θ is a set of unknown distributions; the table's rows are then their outcomes."""
        return isinstance(self.model.hidden, Dirichlet)

    def require_known_probabilities(self, what: str) -> None:
        """Refuse to do what needs a θ that gives next states their probabilities, if these are unknown."""
        if self.counted:
            raise UnsuitableError(
                f"{what} needs the probabilities of next states for each hidden value, but those of {self.model.name} "
                "are unknown; use pomdp-lite, mean-mdp, beb, psrl, r-max or variance-bonus."
            )

    @property
    def real(self) -> str:
        """What keeps the outcomes of a step from being listed, in words; empty if they are listed."""
        found = self.model.compiled_form.definition
        parts = (("noise in its steps", found.noise.count > 0), ("readings instead of listed observations",
                                                                  found.reading is not None))  # fmt: skip
        return " and ".join(text for text, there in parts if there)

    def seen(self, y: Words, o: int) -> str:
        """An observation in words, given what is seen after a step: words of y, with a reading behind it, and o."""
        reading = self.model.reading
        return self.model.observation_name(
            o if reading is None else from_words(reading.dtype, y[self.kernel_model.x_words :])
        )

    def require_listed(self, what: str) -> None:
        """Refuse to do what needs every outcome of a step listed, if the model has noise or readings."""
        if self.real:
            raise UnsuitableError(
                f"{what} needs the outcomes of every step listed, but {self.model.name} has {self.real}."
            )

    @property
    def has_changing_numbers(self) -> bool:
        """Whether θ has distributions and changes, so that it takes values that no table holds."""
        return self.kernel_model.evolves and not self.listed

    def require_kept(self, what: str) -> None:
        """Refuse to do what needs every value listed that θ may have later, if θ has distributions and changes."""
        if self.has_changing_numbers:
            raise UnsuitableError(
                f"{what} needs a hidden value that is listed or constant, but that of {self.model.name} has "
                "distributions and changes."
            )

    def root(self) -> Words:
        """The initial state s: x and identity maps."""
        return self.words(self.model.initial_state(), self.table.identity)

    def words(self, x: Any, maps: Words) -> Words:
        """The words of s = (x, maps)."""
        return np.concatenate([to_words(self.model.state.dtype, x), maps])

    def record(self, s: Words) -> Any:
        """The observed part x of s."""
        return from_words(self.model.state.dtype, s)

    def maps(self, s: Words) -> Words:
        """The maps from initial to present hidden values in s."""
        return s[self.model.state.words :].copy()

    def present_rows(self, s: Words) -> Any:
        """For each row (component, initial value), the row of its present value."""
        rows = np.arange(len(self.table.theta))
        if self.table.map_words == 0:
            return rows
        for block in range(self.table.blocks):
            first, last = self.table.offsets[block], self.table.offsets[block + 1]
            for row in range(first, last):
                word = int(self.kernel_model.map_word[row])
                if word >= 0:
                    held = int(s[word]) >> int(self.table.map_shift[row])
                    rows[row] = first + (held & int(self.table.map_mask[block]))
        return rows

    def present(self, b: Floats, s: Words) -> Floats:
        """The belief over present values that follows from the belief b over initial ones."""
        now = np.zeros_like(b)
        np.add.at(now, self.present_rows(s), b)
        return now

    def describe(self, s: Words) -> str:
        """A state s as text, with the hidden components that have changed."""
        text = self.model.describe_state(self.record(s))
        if self.table.map_words > 0 and not np.array_equal(self.maps(s), self.table.identity):
            changed = []
            rows = self.present_rows(s)
            for block in range(self.table.blocks):
                first, last = self.table.offsets[block], self.table.offsets[block + 1]
                if not np.array_equal(rows[first:last], np.arange(first, last)):
                    changed.append("all" if self.table.joint else self.table.hidden.components[block].name)
            text += f" (changed: {', '.join(changed)})"
        return text
