"""Save the Gouldian finch when experts disagree on what helps (Chadès, Carwardine, Martin, Nicol, Sabbadin and Buffet,
"MOMDPs: a solution for modelling adaptive management problems", AAAI 2012).

The local population is in one of two states, a low or a high probability of persistence, which a survey tells. Every
year one of four actions is taken. Four experts have each given the probabilities of the next state; one of them is
right, and nobody knows which. Conservation science calls this adaptive management, and its model a hidden-model MDP.

The numbers are those of the authors' own file, SARSOP_pomdpx/gouldian4Exp_alt.pomdpx in the repository POMDPproblems of
the GitHub organisation conservation-decisions, "fixed by IC 26/08/2020". An older file, gouldian4Exp.pomdpx, exchanges
experts and actions by mistake.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State

LOW, HIGH = range(2)
NOTHING = 0
EXPERTS = ("expert 1", "expert 2", "expert 3", "expert 4")
TO_HIGH = (  # P(high next year): [expert][action][low or high this year]
    ((0.01, 0.5), (0.8, 0.95), (0.6, 0.6), (0.4, 0.6)),
    ((0.1, 0.6), (0.45, 0.7), (0.8, 0.9), (0.6, 0.75)),
    ((0.2, 0.5), (0.3, 0.4), (0.3, 0.7), (0.5, 0.8)),
    ((0.05, 0.5), (0.7, 0.9), (0.5, 0.7), (0.15, 0.6)),
)
WORTH, COST = 20.0, 5.0  # of a year in which persistence is high; of an action
_BAR = 20  # characters
_BLUE, _GREEN, _RED = "#1f5fbf", "#2c8a3c", "#b5452c"


class GouldianFinch(Model):
    """Choose the yearly action that keeps the finch's persistence high, while learning which of four experts is right.

    A year with high persistence is worth 20; every action but doing nothing costs 5.
    """

    state = State(persistence=("low", "high"))
    hidden = Hidden(model=EXPERTS)
    actions = ("nothing", "fire-and-grazing", "cats", "nest-boxes")
    next_states = 2
    discount = 0.9

    def __init__(self) -> None:
        self.to_high = np.array(TO_HIGH)

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        y[0].persistence, y[1].persistence = LOW, HIGH
        p[1] = m.to_high[theta.model, a, x.persistence]
        p[0] = 1.0 - p[1]

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        earned = WORTH if x.persistence == HIGH else 0.0
        return earned if a == NOTHING else earned - COST

    def success(self, x: Any, theta: Any) -> bool:
        """Persistence is high when the episode ends."""
        return bool(x.persistence == HIGH)

    def constants(self) -> dict[str, str]:
        """Describe the task's numbers for reports."""
        return {"rewards": f"{WORTH:g} a year with high persistence, −{COST:g} an action", "models": "four experts"}

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw how far each expert is believed, and what each expects of every action from here."""
        here = int(x.persistence)
        lines = [f"persistence {('low', 'high')[here]}", "", " " * 35 + "P(high next year)"]
        lines.append(" " * 35 + "  ".join(self.actions))
        for expert, p in enumerate(marginals[0]):
            bar = "█" * round(_BAR * float(p))
            expected = (f"{chance:.2f}".center(len(name)) for chance, name in self._expected(expert, here))
            lines.append(f"{EXPERTS[expert]} {100 * p:3.0f} % {bar:{_BAR}} {'  '.join(expected)}".rstrip())
        return "\n".join(lines)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the belief as bars, with what each expert expects of every action beside them."""
        here = int(x.persistence)
        axes.barh(range(len(EXPERTS)), marginals[0], color=_BLUE, height=0.6)
        for expert, p in enumerate(marginals[0]):
            expected = self._expected(expert, here)
            best = max(chance for chance, _ in expected)
            axes.text(float(p) + 0.02, expert, f"{100 * p:.0f} %", va="center", fontsize=8)
            for column, (chance, _) in enumerate(expected):
                axes.text(1.35 + 0.3 * column, expert, f"{chance:.2f}", ha="center", va="center", fontsize=8,
                          weight="bold" if chance == best else "normal")  # fmt: skip
        for column, name in enumerate(("nothing", "fire and\ngrazing", "cats", "nest\nboxes")):
            axes.text(1.35 + 0.3 * column, -0.55, name, ha="center", va="bottom", fontsize=7)
        axes.text(1.8, 3.55, "P(high next year)", ha="center", va="top", fontsize=8)
        axes.text(0.5, -0.65, f"persistence {('low', 'high')[here]}", ha="center", va="bottom", fontsize=10,
                  weight="bold", color=_GREEN if here == HIGH else _RED)  # fmt: skip
        axes.set(xlim=(0, 2.4), ylim=(3.8, -1.1), xticks=(0, 0.5, 1), yticks=range(len(EXPERTS)), xlabel="belief")
        axes.set_yticklabels(EXPERTS)
        axes.xaxis.set_label_coords(0.21, -0.1)
        for side in ("top", "right", "bottom"):
            axes.spines[side].set_visible(False)

    def _expected(self, expert: int, here: int) -> list[tuple[float, str]]:
        """P(high next year) of every action according to an expert, with the action's name."""
        return [(float(self.to_high[expert, a, here]), name) for a, name in enumerate(self.actions)]
