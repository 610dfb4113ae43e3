"""What is found in networks of variables has the value of the POMDP that they describe."""

from itertools import product

import numpy as np
import pytest
from test_pomdp_files import flat_value

import pomdplite as pl
from pomdplite.formats.factored import Factored, NotFactored
from pomdplite.formats.factors import ANY, EACH, Factor, FactorEntry
from pomdplite.formats.flatten import flattened
from pomdplite.formats.network import Network, Variable
from pomdplite.formats.places import FilePlace
from pomdplite.formats.structure import structure_of_network

HERE = FilePlace("random.pomdpx", 1)


class RandomNetwork:
    """An observed variable, two or three hidden ones that change as functions of others, and an observation."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        self.net = net = Network("random.pomdpx", 0.9)
        self.sizes = {"a": 2, "z": 2}
        net.actions.append(Variable("a", ("a0", "a1"), HERE))
        net.observations.append(Variable("z", ("no", "yes"), HERE))
        for name, observed in (("x", True), ("u", False), ("v", False), ("w", False))[: rng.integers(3, 5)]:
            size = int(rng.integers(2, 4))
            self.sizes |= {f"{name}_0": size, f"{name}_1": size}
            net.states.append(
                Variable(f"{name}_0", tuple(f"{name}{i}" for i in range(size)), HERE, f"{name}_1", observed)
            )
        hidden = [v.name for v in net.states[1:]]
        for variable in net.states:
            if variable.observed:
                first = np.eye(len(variable.values))[rng.integers(len(variable.values))]
                net.initial[variable.name] = Factor(
                    (variable.name,), (len(first),), variable.name, HERE, [FactorEntry((EACH,), first)]
                )
                net.transition[variable.after] = self.factor(["a", variable.name, *self.some(hidden)], variable.after)
            else:
                before = [h for h in self.some(hidden) if h < variable.name]
                net.initial[variable.name] = self.factor(before, variable.name)
                parents = ["a", variable.name, *self.some(["x_0", "x_1", *(h for h in hidden if h != variable.name)])]
                net.transition[variable.after] = self.factor(parents, variable.after, certain=True)
        net.sight["z"] = self.factor(["a", "x_1", *self.some([h.replace("_0", "_1") for h in hidden])], "z")
        net.rewards = [self.factor(["a", *self.some(["x_0", "x_1", *hidden])], None) for _ in range(rng.integers(1, 3))]

    def some(self, names: list[str]) -> list[str]:
        return [name for name in names if self.rng.random() < 0.4]

    def factor(self, parents: list[str], child: str | None, *, certain: bool = False) -> Factor:
        """Random entries: one for everything, then a few that name some of the values."""
        names = (*parents, *([] if child is None else [child]))
        factor = Factor(names, tuple(self.sizes[n] for n in names), child, HERE)
        stays = certain and parents[1:2] == [str(child).replace("_1", "_0")]
        for number in range(self.rng.integers(1, 4)):
            pattern = [ANY if number == 0 else int(self.rng.choice([ANY, EACH, 0, 1])) for _ in parents]
            if stays and number == 0:
                pattern[1] = EACH
            sizes = [self.sizes[n] for n, p in zip(parents, pattern, strict=True) if p == EACH]
            if child is None:
                table = self.rng.integers(-5, 6, sizes).astype(float)
            elif stays and number == 0:
                table = np.eye(self.sizes[child])
            elif certain or self.rng.random() < 0.3:
                table = np.eye(self.sizes[child])[self.rng.integers(self.sizes[child], size=sizes)]
            else:
                table = self.rng.dirichlet(np.ones(self.sizes[child]), sizes)
            factor.entries.append(FactorEntry((*pattern, *([] if child is None else [EACH])), table))
        return factor


def dense_value(model: pl.Model, depth: int) -> float:
    """The optimal value of a few steps, over beliefs on all joint initial values of θ."""
    f, components = model.compiled_form.interpreted, model.hidden.components
    joint = list(product(*(range(len(c)) for c in components)))
    prior = np.array([np.prod([c.prior[i] for c, i in zip(components, row, strict=True)]) for row in joint])

    def value(x, belief, now, left):
        if left == 0 or f.terminal(x):
            return 0.0
        best = -np.inf
        for a in range(len(model.actions)):
            total, cells, states = 0.0, {}, {}
            later = [f.evolve(x, theta, a) for theta in now]
            for i in np.flatnonzero(belief):
                total += belief[i] * f.reward(x, now[i], a)
                for y, p in f.transition(x, now[i], a):
                    for o, q in enumerate(f.observation(y, later[i], a) if p > 0 else ()):
                        states[int(y["state"])] = y.copy()
                        cells.setdefault((int(y["state"]), o), np.zeros(len(belief)))[i] += belief[i] * p * q
            for (y, _), cell in cells.items():
                if cell.sum() > 0:
                    total += model.discount * cell.sum() * value(states[y], cell / cell.sum(), later, left - 1)
            best = max(best, total)
        return best

    return value(model.initial_state(), prior, [model.hidden.record(row) for row in joint], depth)


def test_random_networks_keep_their_values():
    """Found factor by factor, or, where an observed variable decides a change, from the list of all states."""
    factored = several = multiplied = refused = 0
    for seed in range(120):
        net = RandomNetwork(seed).net
        flat = flattened(net, {"x_0"})
        try:
            model = structure_of_network(net).model()
        except pl.NotPomdpLiteError:
            refused += 1
            continue
        model.compiled = False
        try:
            Factored(net, {"x_0"}).found()
            factored += 1
            several += len(model.hidden.components) > 1
        except NotFactored:
            multiplied += 1
        assert dense_value(model, 2) == pytest.approx(flat_value(flat, flat.start, 2), abs=1e-9), seed
    assert factored > 30 and several > 5 and multiplied > 5, (factored, several, multiplied, refused)
