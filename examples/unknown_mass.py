"""A hidden number: push a box of unknown mass, see how far it slides, then lift it with the right force."""

import pomdplite as pl

PUSH, LIGHT_LIFT, STRONG_LIFT = range(3)
MASSES = {0.5: 0.5, 1.0: 0.3, 4.0: 0.2}  # kilograms: probability


class Box(pl.Model):
    """A light box slides further when pushed. A light lift drops a heavy box; a strong lift breaks a light one."""

    state = pl.State(done=bool)
    hidden = pl.Hidden(mass=MASSES)  # theta.mass is the number itself
    actions = ("push", "lift lightly", "lift strongly")
    observations = ("barely moves", "slides", "shoots off")
    discount = 0.9

    def transition(m, x, theta, a, y):
        y.done = a != PUSH

    def observation(m, y, theta, a, z):
        if a == PUSH:
            far = 1.0 / (1.0 + theta.mass)
            z[0], z[2] = (1.0 - far) ** 2, far**2
            z[1] = 1.0 - z[0] - z[2]

    def reward(m, x, theta, a):
        if a == PUSH:
            return -0.5
        heavy = theta.mass > 2.0
        return 10.0 if (a == STRONG_LIFT) == heavy else -20.0

    def terminal(m, x):
        return x.done


if __name__ == "__main__":
    model = Box()
    pl.check_model(model).raise_if_wrong()
    planner = pl.PomdpLite(model, beta=5.0)
    planner.reset()
    while True:  # the box barely moves, however often it is pushed
        decision = planner.decide()
        belief = ", ".join(f"{mass:g} kg {p:.2f}" for mass, p in zip(MASSES, planner.belief.vector, strict=True))
        print(f"{belief}: {decision.name}")
        if decision.name != "push":
            break
        planner.update("push", planner.state, "barely moves")
    print(f"mean return over 500 boxes: {pl.evaluate(model, planner, episodes=500).mean:.2f}")
