"""Reinforcement learning on a model: tabular Q-learning over the belief of Tiger, and planners on the same episodes."""

import numpy as np

import pomdplite as pl

ENVS, STEPS = 1000, 1000  # environments side by side, and steps in each
BINS = 21  # of the belief
EPISODES, SEED = 1000, 1  # to compare on


def cell(seen):
    """The bin of the belief, by its log odds: listening moves them by the same amount wherever they are."""
    p = np.clip(seen["belief_tiger"][..., 0], 1e-9, 1 - 1e-9)
    lead = np.log(p / (1 - p)) / np.log(0.85 / 0.15)  # how much more often the tiger was heard on the left
    return np.clip(np.rint(lead) + BINS // 2, 0, BINS - 1).astype(int)


def learn(model, seed=0):
    """Q[bin, action], learned from ε-greedy episodes."""
    envs, random = pl.to_gymnasium_vector(model, ENVS, belief=True), np.random.default_rng(seed)
    q, visits = np.zeros((BINS, len(model.actions))), np.zeros((BINS, len(model.actions)))
    seen, _ = envs.reset(seed=seed)
    before, over = cell(seen), np.zeros(ENVS, bool)
    for _ in range(STEPS):
        actions = np.where(random.random(ENVS) < 0.3, random.integers(q.shape[1], size=ENVS), q[before].argmax(axis=1))
        seen, rewards, terminated, truncated, _ = envs.step(actions)
        after = cell(seen)
        target = rewards + model.discount * np.where(terminated, 0.0, q[after].max(axis=1))
        new, error = np.zeros_like(q), np.zeros_like(q)
        at = before[~over], actions[~over]  # an environment whose episode is over ignores its action, and is reset
        np.add.at(new, at, 1)
        np.add.at(error, at, target[~over] - q[at])
        visits += new
        q += error / np.maximum(new, 1) * (new / np.maximum(visits, 1)) ** 0.8
        before, over = after, terminated | truncated
    return q


def greedy_return(model, q):
    """The mean discounted return of the greedy policy, on the episodes that `evaluate` plays."""
    env, total = pl.to_gymnasium(model, belief=True), 0.0
    for episode in range(EPISODES):
        seen, _ = env.reset(seed=SEED, options={"episode": episode})
        discount, over = 1.0, False
        while not over:
            seen, reward, terminated, truncated, _ = env.step(q[cell(seen)].argmax())
            total, discount, over = total + discount * reward, discount * model.discount, terminated or truncated
    return total / EPISODES


if __name__ == "__main__":
    model = pl.Tiger()
    q = learn(model)
    lead = int(np.argmax(q[BINS // 2 :].argmax(1) != 0))
    print(f"after {ENVS * STEPS:,} steps, Q-learning listens until one side leads by {lead}")
    print(f"{'q-learning':15} {greedy_return(model, q):6.3f}")
    for planner in ("pomdp-lite", "bayes-optimal"):
        print(f"{planner:15} {pl.evaluate(model, planner, episodes=EPISODES, seed=SEED).mean:6.3f}")
