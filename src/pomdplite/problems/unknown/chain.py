"""The Chain (Dearden, Friedman and Russell 1998; Strens 2000): five states, two actions, and slips.

Action a moves one state on, and earns 10 in the last state, where it stays. Action b returns to the first state and
earns 2. With probability 0.2 an action slips: it has the effect of the other one. It pays to go on to the end, but an
agent that does not know the probabilities is tempted to collect the 2 it knows of.

What is known beforehand (Poupart et al. 2006): with a "full" prior, nothing but the rewards; "semi-tied", that an
action has its own effect or slips, with an unknown probability for each action; "tied", one probability for both.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.unknown import UnknownMdp

STATES = 5
SLIP = 0.2
BETA = 30.0  # the best of a few on 16 episodes with the full prior (docs/unknown-mdp.md)
PRIORS = ("full", "semi-tied", "tied")


class SlipperyChain(UnknownMdp):
    """Learn the probabilities of a chain of five states: 10 per step at its end, or 2 for returning to its start.

    prior  "full", "semi-tied" or "tied"
    slip   the real probability of slipping
    """

    def __init__(self, prior: str = "full", slip: float = SLIP, *, horizon: int = 1000, discount: float = 1.0) -> None:
        if prior not in PRIORS:
            raise UsageError(f"no prior {prior!r}; there are {', '.join(PRIORS)}.")
        on = [min(s + 1, STATES - 1) for s in range(STATES)]
        effects = {(s, a): [on[s], 0] if a == "a" else [0, on[s]] for s in range(STATES) for a in "ab"}
        reward = np.zeros((STATES, 2, STATES))
        reward[:, :, 0] = 2.0
        reward[STATES - 1, :, STATES - 1] = 10.0
        given: dict[str, Any]
        if prior == "full":
            truth = np.zeros((STATES, 2, STATES))
            for (s, a), (meant, slipped) in effects.items():
                truth[s, "ab".index(a), [meant, slipped]] = 1 - slip, slip
            given = {"truth": truth}
        else:
            names = {"a": "action a", "b": "action b"} if prior == "semi-tied" else dict.fromkeys("ab", "both actions")
            ties = {name: [pair for pair in effects if names[pair[1]] == name] for name in names.values()}
            given = {"outcomes": effects, "ties": ties, "truth": dict.fromkeys(ties, (1 - slip, slip))}
        states = [str(s + 1) for s in range(STATES)]
        super().__init__(states, ("a", "b"), reward, discount=discount, horizon=horizon, beta=BETA, **given)

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the chain, with the expected probability that a moves on from each state."""
        on = [self._moves_on(s, marginals) for s in range(STATES)]
        cells = "──".join(f"[{s + 1}]" if s == x.state else f" {s + 1} " for s in range(STATES))
        return f"{cells}\n{'  '.join(f'{100 * p:3.0f}' for p in on)}   % to move on by a"

    def _moves_on(self, s: int, marginals: list[Floats]) -> float:
        """The mean probability that action a leads from s to the next state."""
        after, p = self.after[s, 0], marginals[self.group[s, 0]]
        return float(sum(p[k] for k in range(len(p)) if after[k] == min(s + 1, STATES - 1)))

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the chain; the darker an arrow, the likelier a is to move on."""
        from matplotlib import colormaps
        from matplotlib.patches import Circle

        for s in range(STATES):
            p = self._moves_on(s, marginals)
            axes.add_patch(Circle((s, 0), 0.25, facecolor="tab:orange" if s == x.state else "white", edgecolor="black"))
            axes.text(s, 0, str(s + 1), ha="center", va="center")
            axes.annotate("", (s + 0.72, 0), (s + 0.28, 0), arrowprops={"color": colormaps["Greys"](0.2 + 0.8 * p)})
            axes.text(s + 0.5, 0.2, f"{100 * p:.0f} %", ha="center", fontsize=9)
        axes.set(xlim=(-0.5, STATES), ylim=(-0.6, 0.6), aspect="equal")
        axes.axis("off")
