"""Three small models that ask for different planners: information that is free, that costs, and a large Θ.

python examples/which_planner.py [EPISODES]
"""

import sys

import pomdplite as pl


class Crossing(pl.Model):
    """Information is free: every step of a walk shows a noisy hint of which of two gates is open."""

    state = pl.State(cell=int, through=bool)
    hidden = pl.Hidden(open=("left", "right"))
    actions = ("left", "right")
    observations = ("hint-left", "hint-right")
    discount = 0.95

    def start(self, x):
        x.cell = 5  # of 0 to 10, a gate at each end

    def transition(m, x, theta, a, y):
        y.cell = x.cell + (1 if a == 1 else -1)
        y.through = y.cell == 0 or y.cell == 10

    def observation(m, y, theta, a, z):
        z[theta.open], z[1 - theta.open] = 0.7, 0.3

    def reward(m, x, theta, a):
        at_gate = (x.cell == 1 and a == 0) or (x.cell == 9 and a == 1)
        return (10.0 if a == theta.open else -10.0) if at_gate else -0.2

    def terminal(m, x):
        return x.through


class Parcel(pl.Model):
    """Information costs: the address can be read only at a desk that is out of the way."""

    state = pl.State(cell=int, delivered=bool)
    hidden = pl.Hidden(room={"west": 0.6, "east": 0.4})
    actions = ("west", "east", "read", "deliver")
    observations = ("west", "east")
    discount = 0.95
    beta = 8.0  # tuned

    def start(self, x):
        x.cell = 2  # of 0 to 6: the rooms at 0 and 4, the desk at 6

    def transition(m, x, theta, a, y):
        if a < 2:
            y.cell = x.cell + (1 if a == 1 else -1)
        y.delivered = a == 3

    def observation(m, y, theta, a, z):
        if a == 2:
            z[theta.room], z[1 - theta.room] = 0.9, 0.1

    def reward(m, x, theta, a):
        if a == 3:
            return 20.0 if x.cell == 4 * theta.room else -20.0
        return -0.5

    def legal(m, x, a):
        if a < 2:
            return x.cell < 6 if a == 1 else x.cell > 0
        return x.cell == 6 if a == 2 else x.cell == 0 or x.cell == 4

    def terminal(m, x):
        return x.delivered


class Valves(pl.Model):
    """Θ is large: 20 valves, each sound or leaking, make a million joint values. Testing costs, a leak costs more."""

    valves = 20
    state = pl.State(at=int)
    hidden = pl.Hidden(valve=pl.independent(20, {"sound": 0.5, "leaking": 0.5}))
    actions = ("test", "open", "skip")
    observations = ("dry", "wet")
    discount = 0.98
    beta = 2.0  # tuned

    def transition(m, x, theta, a, y):
        if a > 0:
            y.at = x.at + 1

    def observation(m, y, theta, a, z):
        if a == 0:
            z[theta.valve[y.at]], z[1 - theta.valve[y.at]] = 0.85, 0.15

    def reward(m, x, theta, a):
        if a == 1:
            return 4.0 if theta.valve[x.at] == 0 else -8.0
        return -0.5 if a == 0 else 0.0

    def depends(m, x, a):
        return x.at if a < 2 else -1

    def terminal(m, x):
        return x.at == m.valves


PLANNERS = (
    ("pomdp-lite", {}), ("pomdp-lite-plus", {"sims": 10, "solve_trials": 200}), ("mean-mdp", {}), ("qmdp", {}),
    ("sarsop", {"solve_trials": 200}), ("pomcp", {"sims": 500}), ("despot", {"sims": 10, "scenarios": 100}),
    ("bayes-optimal", {"nodes": 20_000}),
)  # fmt: skip
SLOW = {("Valves", "despot"): "0.2 s per step"}


def main(episodes: int) -> None:
    for model in (Crossing(), Parcel(), Valves()):
        print(f"{model.name}, {episodes} episodes")
        for name, parameters in PLANNERS:
            if (model.name, name) in SLOW:
                print(f"{name:15} left out: {SLOW[model.name, name]}")
                continue
            try:
                result = pl.evaluate(model, name, episodes=episodes, seed=1, **parameters)
            except (pl.TooLargeError, pl.UsageError) as error:
                print(f"{name:15} cannot: {error}")
            else:
                mark = "‡" if result.not_closed else " "
                mean = f"{result.mean:6.2f} ± {result.stderr:.2f}{mark}"
                print(f"{name:15} {mean} {1000 * result.seconds_per_step:8.2f} ms per step")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
