"""A hidden number: push a box of unknown mass, watch how far it slides, then lift it with the right force."""

import pomdplite as pl

PUSH, LIGHT_LIFT, STRONG_LIFT = range(3)


class Box(pl.Model):
    """Pushing slides a light box further; lifting a heavy one lightly drops it, a light one strongly breaks it."""

    state = pl.State(done=bool)
    hidden = pl.Hidden(mass={0.5: 0.5, 1.0: 0.3, 4.0: 0.2})  # kilograms: theta.mass is the number itself
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
    for seen in ("barely moves", "barely moves", "slides"):
        decision = planner.decide()
        print(
            f"{decision.name:13}",
            {c: round(float(p), 2) for c, p in zip((0.5, 1, 4), planner.belief.vector, strict=True)},
        )
        if decision.name != "push":
            break
        planner.update("push", planner.state, seen)
    print(f"return over 500 boxes: {pl.evaluate(model, planner, episodes=500).mean:.2f}")
