"""How long large model files take to load: `python benchmarks/formats.py [megabytes]`.

Each file has about the size asked for (50 MB). Every model has two hidden values that are constant; x moves by chance
and is seen. Reading makes arrays of the file; finding splits its states into x and θ.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from pomdplite.formats.cassandra import read_pomdp
from pomdplite.formats.pomdpx import read_pomdpx
from pomdplite.formats.structure import structure_of_network, structure_of_states

ACTIONS, THETAS = 10, 2


def preamble(places: int) -> Iterator[str]:
    yield "discount: 0.95\nvalues: reward"
    yield f"states: {places * THETAS}\nactions: {ACTIONS}\nobservations: {places}"
    yield "start include: 0 1"
    for s in range(places * THETAS):
        yield f"O: * : {s} : {s // THETAS} 1.0"
    yield "R: * : 1 : * : * 10"


def as_matrices(size: int) -> Iterator[str]:
    """T as full matrices, with 4 digits a number."""
    places = int((size / (5.5 * ACTIONS)) ** 0.5 / THETAS)
    rng = np.random.default_rng(0)
    yield from preamble(places)
    for a in range(ACTIONS):
        yield f"T: {a}"
        for s in range(places * THETAS):
            weights = rng.multinomial(10_000, np.full(places, 1 / places))
            row = np.zeros((places, THETAS), np.int64)
            row[:, s % THETAS] = weights
            yield " ".join([f"{w / 10_000:.4f}" if w else "0.0" for w in row.ravel().tolist()])


def as_entries(size: int) -> Iterator[str]:
    """T number by number, five next states each."""
    places = int(size / (28 * ACTIONS * THETAS * 5))
    rng = np.random.default_rng(0)
    yield from preamble(places)
    for a in range(ACTIONS):
        after = rng.integers(places, size=(places, 5)) * THETAS
        after[:, 0] = np.arange(1, places + 1) % places * THETAS
        for x, listed in enumerate(after.tolist()):
            listed = list(dict.fromkeys(listed))
            for theta in range(THETAS):
                for y in listed:
                    yield f"T: {a} : {x * THETAS + theta} : {y + theta} {1 / len(listed)!r}"


def as_pomdpx(size: int) -> Iterator[str]:
    """Two next states for each (x, a), and three observations of the hidden value, entry by entry."""
    places = int(size / (90 * ACTIONS * 3))
    rng = np.random.default_rng(0)
    names = " ".join(f"p{i}" for i in range(places))
    table = "<Parameter type='TBL'>"
    yield "<pomdpx version='1.0' id='large'><Discount>0.95</Discount><Variable>"
    yield f"<StateVar vnamePrev='x_0' vnameCurr='x_1' fullyObs='true'><ValueEnum>{names}</ValueEnum></StateVar>"
    yield "<StateVar vnamePrev='h_0' vnameCurr='h_1'><ValueEnum>bad good</ValueEnum></StateVar>"
    yield "<ObsVar vname='o'><NumValues>3</NumValues></ObsVar>"
    yield f"<ActionVar vname='a'><NumValues>{ACTIONS}</NumValues></ActionVar><RewardVar vname='r'/></Variable>"
    yield f"<InitialStateBelief><CondProb><Var>x_0</Var><Parent>null</Parent>{table}"
    yield "<Entry><Instance>p0</Instance><ProbTable>1</ProbTable></Entry></Parameter></CondProb>"
    yield f"<CondProb><Var>h_0</Var><Parent>null</Parent>{table}<Entry><Instance>-</Instance>"
    yield "<ProbTable>uniform</ProbTable></Entry></Parameter></CondProb></InitialStateBelief>"
    yield f"<StateTransitionFunction><CondProb><Var>x_1</Var><Parent>a x_0</Parent>{table}"
    for a in range(ACTIONS):
        for x, y in enumerate(rng.integers(places, size=places).tolist()):
            after = (x + 1) % places
            for y_, p in {after: 0.75, y: 0.25}.items() if y != after else {y: 1.0}.items():
                yield f"<Entry><Instance>a{a} p{x} p{y_}</Instance>\n<ProbTable>{p}</ProbTable></Entry>"
    yield f"</Parameter></CondProb><CondProb><Var>h_1</Var><Parent>h_0</Parent>{table}"
    yield "<Entry><Instance>- -</Instance><ProbTable>identity</ProbTable></Entry></Parameter></CondProb>"
    yield f"</StateTransitionFunction><ObsFunction><CondProb><Var>o</Var><Parent>a x_1 h_1</Parent>{table}"
    for a in range(ACTIONS):
        for x in range(places):
            yield f"<Entry><Instance>a{a} p{x} - -</Instance>\n<ProbTable>0.5 0.3 0.2 0.1 0.3 0.6</ProbTable></Entry>"
    yield f"</Parameter></CondProb></ObsFunction><RewardFunction><Func><Var>r</Var><Parent>x_0 h_0</Parent>{table}"
    yield "<Entry><Instance>p1 good</Instance><ValueTable>10</ValueTable></Entry></Parameter></Func></RewardFunction>"
    yield "</pomdpx>"


def measure(title: str, path: Path, lines: Iterator[str], read: Callable, find: Callable) -> None:
    with path.open("w") as file:
        file.writelines(f"{line}\n" for line in lines)
    start = time.process_time()
    found = read(path.read_bytes(), str(path))
    between = time.process_time()
    model = find(found).model()
    end = time.process_time()
    assert model.hidden.size == THETAS and not model.compiled_form.evolves
    size, states = path.stat().st_size / 1e6, len(model.state.labels["state"])
    print(f"{title:26} {size:6.1f} MB  {states:7,} x  {between - start:7.2f} s  {end - between:7.2f} s")


def main() -> None:
    size = float(sys.argv[1]) * 1e6 if len(sys.argv) > 1 else 50e6
    print(f"{'':26} {'size':>9}  {'states':>9}  {'reading':>9}  {'finding':>9}  (processor time)")
    with tempfile.TemporaryDirectory() as folder:
        for title, lines, read, find in (
            (".pomdp, matrices", as_matrices, read_pomdp, structure_of_states),
            (".pomdp, single numbers", as_entries, read_pomdp, structure_of_states),
            (".pomdpx, tables", as_pomdpx, read_pomdpx, structure_of_network),
        ):
            measure(title, Path(folder) / f"large{title.split(',')[0]}", lines(int(size)), read, find)


if __name__ == "__main__":
    main()
