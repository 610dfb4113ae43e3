"""Small models with real numbers, for tests."""

import math

import numpy as np

import pomdplite as pl

LIGHT, STOP = 10, 2


class RealLightDark(pl.Model):
    """Stop at 0 on a line. Readings are exact at the light at 10 and poor elsewhere; walls at ±60."""

    state = pl.State(over=bool)
    hidden = pl.Hidden(position={p: 1 / 61 if abs(p) <= 30 else 0.0 for p in range(-60, 61)})
    actions = ("left-10", "left-1", "stop", "right-1", "right-10")
    observations = pl.Reading(position=float)
    discount = 0.95
    horizon = 100

    def __init__(self):
        self.moves = np.array([-10, -1, 0, 1, 10])

    def transition(m, x, theta, a, y):
        y.over = a == STOP

    def evolve(m, x, theta, a, theta_next):
        theta_next.position = min(60, max(-60, theta.position + m.moves[a]))

    def observation(m, y, theta, a, z, sd):
        if a != STOP:
            z.position = theta.position
            sd.position = abs(theta.position - LIGHT) + 0.0001

    def reward(m, x, theta, a):
        if a != STOP:
            return -1.0
        return 100.0 if theta.position == 0 else -100.0

    def terminal(m, x):
        return x.over


class Pendulum(pl.Model):
    """Swing up a pendulum whose mass is one of three."""

    state = pl.State(angle=pl.Angle, speed=float)
    hidden = pl.Hidden(mass=(0.5, 1.0, 2.0))
    actions = ("-2", "0", "2")
    noise = pl.Gaussian(speed=0.05)
    discount = 0.98
    horizon = 200

    def __init__(self):
        self.torque = np.array([-2.0, 0.0, 2.0])

    def start(self, x):
        x.angle = -math.pi

    def transition(m, x, theta, a, y):
        pull = 15.0 * math.sin(x.angle) + 3.0 * m.torque[a] / theta.mass
        y.speed = min(8.0, max(-8.0, x.speed + 0.05 * pull))
        y.angle = x.angle + 0.05 * x.speed

    def reward(m, x, theta, a):
        return -(x.angle**2 + 0.1 * x.speed**2)


class Compass(pl.Model):
    """Turn by an unknown rate: two angles with noise, one of them read by a sensor, next to a counter."""

    state = pl.State(turns=int, heading=(pl.Angle, 2), still=float)
    hidden = pl.Hidden(rate=(0.5, 3.0), bias=(-0.2, 0.2))
    actions = ("turn", "wait")
    observations = pl.Reading(heading=pl.Angle, turns=int, noise=pl.Gaussian(heading=0.3))
    noise = pl.Gaussian(heading=(0.2, 0.1))
    discount = 0.9

    def transition(m, x, theta, a, y, sd):
        y.turns = x.turns + 1 - a
        y.heading[0] = x.heading[0] + theta.rate
        y.heading[1] = x.heading[1] - theta.rate
        y.still = -0.0
        if a == 1:
            sd.heading[1] = 0.5

    def observation(m, y, theta, a, z):
        z.heading = y.heading[0] + theta.bias
        z.turns = y.turns

    def reward(m, x, theta, a, y):
        return y.heading[0] - x.turns


class Counter(pl.Model):
    """Noise of other kinds: a log-normal step and a count, with their densities."""

    state = pl.State(v=float)
    hidden = pl.Hidden(rate=(0.5, 1.0))
    actions = ("go",)
    observations = pl.Reading(n=int, noise=1)
    noise = 1
    memory = pl.State(seen=int)
    discount = 0.9

    def start(self, x):
        x.v = 1.0

    def transition(m, x, theta, a, y, u):
        y.v = math.exp(theta.rate + 0.5 * u[0])

    def density(m, x, theta, a, y):
        if y.v <= 0.0:
            return 0.0
        d = (math.log(y.v) - theta.rate) / 0.5
        return math.exp(-0.5 * d * d) / (0.5 * math.sqrt(2.0 * math.pi) * y.v)

    def observation(m, y, theta, a, z, u):
        z.n = 1 if u[0] < theta.rate else 0

    def likelihood(m, y, theta, a, z):
        p = 0.5 * math.erfc(-theta.rate / math.sqrt(2.0))
        return p if z.n == 1 else (1.0 - p if z.n == 0 else 0.0)

    def reward(m, x, theta, a, y):
        return y.v

    def remember(m, x, a, y, o, h):
        h.seen += o.n


KINDS = (RealLightDark, Pendulum, Compass, Counter)


def interpreted(kind):
    """The same model, run as Python."""
    return type(kind.__name__, (kind,), {"compiled": False})()
