"""Define a model with dictionaries (which of two batteries is weak?) and turn it into the MDPs of Theorem 1."""

import pomdplite as pl

model = pl.tabular(
    transition={("ready", "test-left"): "ready", ("ready", "use-left"): "driving", ("ready", "use-right"): "driving"},
    reward={
        ("ready", "test-left"): -1,
        ("ready", "left", "use-left"): -20, ("ready", "right", "use-left"): 10,
        ("ready", "left", "use-right"): 10, ("ready", "right", "use-right"): -20,
    },
    observation={
        ("ready", "left", "test-left"): {"low": 0.9, "high": 0.1},
        ("ready", "right", "test-left"): {"low": 0.2, "high": 0.8},
    },
    discount=0.95, states=("ready", "driving"), terminal=("driving",), hidden=("left", "right"), prior=(0.3, 0.7),
    actions=("test-left", "use-left", "use-right"), observations=("low", "high"),
)  # fmt: skip

if __name__ == "__main__":
    for planner in (pl.PomdpLite(model, beta=10), pl.BayesOptimal(model)):
        planner.reset()
        decision = planner.decide()
        print(f"{planner.title}: {decision.name}, value {decision.value:.2f}")  # POMDP-lite's includes the bonus
    mdps = pl.to_mdps(model)
    print(f"{len(mdps.hidden)} MDPs on {len(mdps.states)} states: {', '.join(mdps.states)}")
