"""The equations of motion of the acrobot (Spong 1995) with the constants of Sutton and Barto (1998), solved in steps.

Two links hang from a fixed joint. q₁ is the angle of the first link from hanging down, q₂ that of the second link from
the direction of the first, and the torque τ acts at the joint between them. Both links have length l = 1, their centre
of mass in the middle, c = 1/2, and moment of inertia I = 1 about it. With masses m₁ and m₂ and g = 9.8:

    d₁ q̈₁ + d₂ q̈₂ + φ₁ = 0                                           d₁ = m₁ c² + m₂ (l² + c² + 2 l c cos q₂) + 2 I
    d₂ q̈₁ + d₃ q̈₂ + φ₂ + m₂ l c q̇₁² sin q₂ = τ                        d₂ = m₂ (c² + l c cos q₂) + I,   d₃ = m₂ c² + I
    φ₁ = −m₂ l c q̇₂ (q̇₂ + 2 q̇₁) sin q₂ + (m₁ c + m₂ l) g sin q₁ + φ₂,      φ₂ = m₂ c g sin(q₁ + q₂)

I does not depend on the masses, as in Gymnasium's Acrobot-v1, where it is a constant beside them: a change of mass
changes what gravity and the motion of the centre of mass do, but not how hard it is to turn a link about its centre.
"""

import math

GRAVITY = 9.8
CENTRE, INERTIA = 0.5, 1.0  # of each link, whose length is 1
STEP = 0.2  # seconds
GOAL = 1.0  # the height of the tip above which the episode ends
FASTEST_1, FASTEST_2 = 4.0 * math.pi, 9.0 * math.pi  # radians per second

Four = tuple[float, float, float, float]  # q₁, q₂ and their speeds


def accelerations(q: Four, torque: float, mass_1: float, mass_2: float) -> tuple[float, float]:
    """The second derivatives of q₁ and q₂."""
    angle_1, angle_2, speed_1, speed_2 = q
    swing = mass_2 * CENTRE * math.sin(angle_2)
    d3 = mass_2 * CENTRE**2 + INERTIA
    d2 = d3 + mass_2 * CENTRE * math.cos(angle_2)
    d1 = mass_1 * CENTRE**2 + mass_2 + INERTIA + 2.0 * d2 - d3
    pull_2 = mass_2 * CENTRE * GRAVITY * math.sin(angle_1 + angle_2)
    pull_1 = (mass_1 * CENTRE + mass_2) * GRAVITY * math.sin(angle_1) + pull_2
    pull_1 -= swing * speed_2 * (speed_2 + 2.0 * speed_1)
    second = (torque + d2 / d1 * pull_1 - swing * speed_1**2 - pull_2) / (d3 - d2**2 / d1)
    return -(d2 * second + pull_1) / d1, second


def along(q: Four, speeds: tuple[float, float], pulls: tuple[float, float], time: float) -> Four:
    """Where q is after some time at these speeds and accelerations."""
    return (
        q[0] + time * speeds[0], q[1] + time * speeds[1], q[2] + time * pulls[0], q[3] + time * pulls[1],
    )  # fmt: skip


def after_step(q: Four, torque: float, mass_1: float, mass_2: float) -> Four:
    """q after one step of Runge and Kutta's fourth order, with speeds at their limits; angles are not wrapped."""
    a = accelerations(q, torque, mass_1, mass_2)
    r = along(q, (q[2], q[3]), a, STEP / 2)
    b = accelerations(r, torque, mass_1, mass_2)
    s = along(q, (r[2], r[3]), b, STEP / 2)
    c = accelerations(s, torque, mass_1, mass_2)
    t = along(q, (s[2], s[3]), c, STEP)
    d = accelerations(t, torque, mass_1, mass_2)
    speeds = (q[2] + 2.0 * (r[2] + s[2]) + t[2]) / 6.0, (q[3] + 2.0 * (r[3] + s[3]) + t[3]) / 6.0
    pulls = (a[0] + 2.0 * (b[0] + c[0]) + d[0]) / 6.0, (a[1] + 2.0 * (b[1] + c[1]) + d[1]) / 6.0
    angle_1, angle_2, speed_1, speed_2 = along(q, speeds, pulls, STEP)
    return angle_1, angle_2, limited(speed_1, FASTEST_1), limited(speed_2, FASTEST_2)


def limited(speed: float, fastest: float) -> float:
    """A speed within its limits."""
    return min(fastest, max(-fastest, speed))


def height(angle_1: float, angle_2: float) -> float:
    """How high the tip is above the fixed joint, in lengths of a link."""
    return -math.cos(angle_1) - math.cos(angle_1 + angle_2)
