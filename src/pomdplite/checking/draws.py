"""Draws from a model at one place, and their densities, where the user's functions are given the noise."""

from dataclasses import dataclass, replace

import numpy as np

from pomdplite.checking.columns import RecordColumn, columns_of
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.faults import KIND
from pomdplite.compile.jit import Floats, Words, kernel
from pomdplite.model.compiled import KernelView
from pomdplite.model.faults import clear_fault
from pomdplite.model.readings import Reading
from pomdplite.model.spaces import State
from pomdplite.rng import noise_from, uniform


@dataclass(frozen=True)
class DrawPlace:
    """One (x, θ, a) at which next states are drawn, or one (y, θ', a) at which readings are."""

    view: KernelView
    state: Words  # [1, words] x, or y for readings
    theta: Words  # [1, words]
    a: int
    readings: bool

    @property
    def density(self) -> str:
        """The name of the function under test."""
        return "likelihood" if self.readings else "density"

    @property
    def source(self) -> str:
        """The name of the function that draws."""
        return "observation" if self.readings else "transition"

    @property
    def space(self) -> State:
        """The layout of what is drawn."""
        read = self.view.model.observations
        return read.space if self.readings and isinstance(read, Reading) else self.view.model.state

    @property
    def columns(self) -> list[RecordColumn]:
        """The numbers of what is drawn."""
        return columns_of(self.space)

    @property
    def random_numbers(self) -> int:
        """The standard normal numbers of one draw."""
        model = self.view.kernel_model
        return model.reading.numbers if self.readings else model.noise.numbers

    def under(self, theta: Words) -> "DrawPlace":
        """The same place with another hidden value."""
        return replace(self, theta=theta)

    def drawn(self, noise: Floats) -> Words:
        """What is drawn from each row of standard normal numbers: [draw, words]."""
        rows = self._rows(len(noise))
        draw = _draw_readings if self.readings else _draw_steps
        draw(self.view.kernel_model, self.state, self.theta, self.a, noise, rows)
        self.view.raise_fault()
        return np.ascontiguousarray(self._part(rows))

    def log_density(self, drawn: Words) -> Floats:
        """The model's log density of each record; -inf where its function fails, as it may where nothing is drawn."""
        rows, logs = self._rows(len(drawn)), np.zeros(len(drawn))
        self._part(rows)[:] = drawn
        weigh = _weigh_readings if self.readings else _weigh_steps
        form = self.view.model.compiled_form
        weigh(self.view.kernel_model, self.state, self.theta, self.a, rows, logs)
        interrupt = next((e for e in form.functions.failures if isinstance(e, KeyboardInterrupt)), None)
        clear_fault(form)
        if interrupt is not None:
            raise interrupt
        return logs

    def _rows(self, count: int) -> Words:
        """Rows as kernels see them: a state with room for a reading behind it."""
        model = self.view.kernel_model
        rows = np.zeros((count, model.x_words + model.z_words), np.uint64)
        rows[:, : model.x_words] = self.state
        return rows

    def _part(self, rows: Words) -> Words:
        """What is drawn, in these rows."""
        width = self.view.kernel_model.x_words
        return rows[:, width:] if self.readings else rows[:, :width]


@kernel
def draw_noise(random: Words, noise: Floats) -> None:
    """Fill all rows with independent standard normal numbers."""
    for i in range(noise.shape[0]):
        noise_from(uniform(random), noise.shape[1], noise[i])


@kernel
def _draw_steps(model: KernelModel, x: Words, theta: Words, a: int, noise: Floats, rows: Words) -> None:
    for i in range(rows.shape[0]):
        abi.sampled_transition(model, x, 0, theta, 0, a, rows[i : i + 1], noise[i])


@kernel
def _draw_readings(model: KernelModel, y: Words, theta: Words, a: int, noise: Floats, rows: Words) -> None:
    for i in range(rows.shape[0]):
        abi.sampled_reading(model, rows, i, theta, 0, a, noise[i])


@kernel
def _weigh_steps(model: KernelModel, x: Words, theta: Words, a: int, rows: Words, logs: Floats) -> None:
    for i in range(rows.shape[0]):
        logs[i] = abi.transition_log_density(model, x, 0, theta, 0, a, rows, i)
        if abi.faulty(model):
            logs[i] = -np.inf
            model.fault[KIND] = 0


@kernel
def _weigh_readings(model: KernelModel, y: Words, theta: Words, a: int, rows: Words, logs: Floats) -> None:
    for i in range(rows.shape[0]):
        logs[i] = abi.reading_log_density(model, rows, i, theta, 0, a)
        if abi.faulty(model):
            logs[i] = -np.inf
            model.fault[KIND] = 0
