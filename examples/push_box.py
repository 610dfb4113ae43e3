"""Real numbers: send a box of unknown mass and friction sliding to a mark, after nudging or weighing it."""

import numpy as np

import pomdplite as pl

WEIGH = 1  # action 0 is a nudge, and those behind are shoves
SHOVES = (2.0, 2.5, 3.2, 4.0, 5.0, 6.5, 8.0, 10.0)  # newton seconds
MARK = 1.0  # metres
GRAVITY = 9.81  # metres per second squared


class PushBox(pl.Model):
    """Shove a box so that it comes to rest at the mark. There is one shove; before it, the robot may try the box."""

    state = pl.State(position=float, gone=bool)  # X: what the robot sees, in metres
    hidden = pl.Hidden(mass=pl.Uniform(1.0, 4.0), friction=pl.Uniform(0.2, 0.5))  # Θ: kilograms, and a coefficient
    actions = ("nudge", "weigh", *(f"shove {impulse:g}" for impulse in SHOVES))  # A
    observations = pl.Reading(mass=float)  # O: what a scale in the gripper reads
    noise = pl.Gaussian(position=0.005)  # of the next position; transition may change it
    discount = 0.98
    horizon = 20

    def __init__(self):
        self.impulse = np.array([0.6, 0.0, *SHOVES])

    def transition(m, x, theta, a, y, sd):  # T: y is the mean of the next state, sd its standard deviations
        speed = m.impulse[a] / theta.mass
        slide = speed**2 / (2.0 * theta.friction * GRAVITY)
        y.position = x.position + slide
        y.gone = a > WEIGH
        sd.position = 0.0 if a == WEIGH else 0.005 + 0.05 * slide

    def observation(m, y, theta, a, z, sd):  # Z: z is the mean of the reading; without weighing there is none
        if a == WEIGH:
            z.mass = theta.mass
            sd.mass = 0.3

    def reward(m, x, theta, a, y):  # R: its mean over the noise counts
        if a > WEIGH:
            return 10.0 - 20.0 * min(1.0, abs(y.position - MARK))
        return -0.2

    def terminal(m, x):
        return x.gone

    def success(self, x, theta):
        return bool(x.gone and abs(x.position - MARK) < 0.2)


if __name__ == "__main__":
    model = PushBox()
    pl.check_model(model).raise_if_wrong()
    planner, world = pl.PomdpLite(model, beta=0.5, sims=300), pl.ModelWorld(model)
    planner.reset()
    world.reset(15)
    over = False
    while not over:
        mean, decision = planner.belief.mean(), planner.decide()
        print(f"mass {mean['mass']:.2f}, friction {mean['friction']:.2f}: {decision.name}")
        y, o, _, over, _ = world.step(decision.action)
        planner.update(decision.action, y, o)
    print(f"the box with {world.truth} slid to {y.position:.2f} m")
