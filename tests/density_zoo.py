"""Models that draw numbers of many kinds and know their densities, right or wrong as asked for."""

import math

import pomdplite as pl

KINDS = (
    "log-normal", "correlated", "following", "flag", "mixture", "clipped", "angle", "uniform", "cauchy", "clusters",
    "certain",
)  # fmt: skip
LOG_NORMAL, CORRELATED, FOLLOWING, FLAG, MIXTURE, CLIPPED, ANGLE, UNIFORM, CAUCHY, CLUSTERS, CERTAIN = range(11)


def normal(d, sd):
    return math.exp(-0.5 * (d / sd) ** 2) / (sd * math.sqrt(2.0 * math.pi))


class Zoo(pl.Model):
    """One step, drawn in the way of its kind. In a right model, factor, widen and power are 1 and shift is 0."""

    state = pl.State(v=float, w=float, n=int, set=bool, heading=pl.Angle, steps=int)
    hidden = pl.Hidden(rate=(0.5, 1.0))
    actions = ("go",)
    noise = 3
    discount = 0.9

    def __init__(self, kind, factor=1.0, widen=1.0, shift=0.0, power=1.0):
        self.kind, self.factor, self.widen, self.shift, self.power = KINDS.index(kind), factor, widen, shift, power

    def transition(m, x, theta, a, y, u):
        y.steps = x.steps + 1
        if m.kind == LOG_NORMAL:
            y.v = math.exp(theta.rate + 0.5 * u[0])
        elif m.kind == CORRELATED:
            y.v = theta.rate + u[0]
            y.w = 0.5 * y.v + 0.05 * u[1]
        elif m.kind == FOLLOWING:
            y.v = 0.5 * x.v + theta.rate + 0.3 * u[0]
            y.w = x.w + 0.1 * y.v
        elif m.kind == FLAG:
            y.v = theta.rate + u[0]
            y.set = y.v > 1.0
        elif m.kind == MIXTURE:
            y.v = theta.rate + u[0]
            y.n = 0 if u[1] < 0.0 else (1 if u[1] < 1.0 else 7)
        elif m.kind == CLIPPED:
            y.v = max(0.0, theta.rate + u[0])
        elif m.kind == ANGLE:
            y.heading = 2.0 + theta.rate + 1.5 * u[0]
        elif m.kind == UNIFORM:
            y.v = theta.rate + 0.5 * math.erfc(-u[0] / math.sqrt(2.0))
        elif m.kind == CAUCHY:
            y.v = theta.rate + u[0] / u[1]
        elif m.kind == CLUSTERS:
            y.n = 1 if u[1] < theta.rate else 0
            y.v = 10.0 * y.n + u[0]

    def density(m, x, theta, a, y):
        mean = theta.rate + m.shift
        if m.kind == LOG_NORMAL:
            found = normal(math.log(y.v) - mean, 0.5 * m.widen) / y.v**m.power  # fails where v is negative
        elif m.kind == CORRELATED:
            found = normal(y.v - mean, m.widen) * normal(y.w - 0.5 * y.v, 0.05)
        elif m.kind == FOLLOWING:
            found = normal(y.v - 0.5 * x.v - mean, 0.3 * m.widen)
        elif m.kind == FLAG:
            found = normal(y.v - mean, m.widen)
        elif m.kind == MIXTURE:
            chance = 0.5 if y.n == 0 else (0.8413447460685429 - 0.5 if y.n == 1 else 0.15865525393145707)
            found = normal(y.v - mean, m.widen) * (chance if y.n in (0, 1, 7) else 0.0)
        elif m.kind == CLIPPED:
            found = normal(y.v - mean, m.widen)
            if y.v <= 0.0:
                found = 0.5 * math.erfc(mean / m.widen / math.sqrt(2.0)) if y.v == 0.0 else 0.0
        elif m.kind == ANGLE:
            found = 0.0
            for turn in range(-3, 4):
                found += normal(y.heading - 2.0 - mean + 2.0 * math.pi * turn, 1.5 * m.widen)
        elif m.kind == UNIFORM:
            found = 1.0 / m.widen if 0.0 <= y.v - mean <= m.widen else 0.0
        elif m.kind == CAUCHY:
            found = m.widen / (math.pi * (m.widen**2 + (y.v - mean) ** 2))
        elif m.kind == CLUSTERS:
            one = 0.5 * math.erfc(-mean / math.sqrt(2.0))
            found = normal(y.v - 10.0 * y.n, m.widen) * (one if y.n == 1 else (1.0 - one if y.n == 0 else 0.0))
        else:
            found = 1.0
        return m.factor * found

    def reward(m, x, theta, a):
        return 0.0

    def terminal(m, x):
        return x.steps == 3
