"""Small POMDPX documents: parts that tests put together."""

import textwrap


def document(*parts: str, discount: str = "0.95") -> bytes:
    inner = "\n".join(textwrap.dedent(part).strip() for part in parts)
    return f"<pomdpx version='1.0' id='test'>\n<Discount>{discount}</Discount>\n{inner}\n</pomdpx>\n".encode()


def variables(states: dict[str, tuple[str, bool]], seen: dict[str, str], actions: str) -> str:
    lines = ["<Variable>"]
    for name, (values, observed) in states.items():
        lines.append(f"<StateVar vnamePrev='{name}_0' vnameCurr='{name}_1' fullyObs='{str(observed).lower()}'>")
        lines.append(f"<ValueEnum>{values}</ValueEnum></StateVar>")
    lines += [f"<ObsVar vname='{name}'><ValueEnum>{values}</ValueEnum></ObsVar>" for name, values in seen.items()]
    lines += [f"<ActionVar vname='act'><ValueEnum>{actions}</ValueEnum></ActionVar>", "<RewardVar vname='gain'/>"]
    return "\n".join([*lines, "</Variable>"])


def table(child: str, parents: str, *entries: tuple[str, str]) -> str:
    """A function given by entries (instance, numbers)."""
    kind = "Value" if child == "gain" else "Prob"
    listed = "\n".join(
        f"<Entry><Instance>{instance}</Instance><{kind}Table>{numbers}</{kind}Table></Entry>"
        for instance, numbers in entries
    )
    return function(child, parents, f"<Parameter type='TBL'>\n{listed}\n</Parameter>")


def diagram(child: str, parents: str, inner: str, more: str = "") -> str:
    return function(child, parents, f"<Parameter type='DD'><DAG>{inner}</DAG>{more}</Parameter>")


def function(child: str, parents: str, parameter: str) -> str:
    tag = "Func" if child == "gain" else "CondProb"
    return f"<{tag}><Var>{child}</Var>\n<Parent>{parents}</Parent>\n{parameter}</{tag}>"


def functions(initial: list[str], transition: list[str], seen: list[str], rewards: list[str]) -> str:
    parts = (("InitialStateBelief", initial), ("StateTransitionFunction", transition), ("ObsFunction", seen),
             ("RewardFunction", rewards))  # fmt: skip
    return "\n".join("\n".join([f"<{tag}>", *found, f"</{tag}>"]) for tag, found in parts if found)


def node(variable: str, **edges: str) -> str:
    inner = "".join(f"<Edge val='{value.replace('any', '*')}'>{below}</Edge>" for value, below in edges.items())
    return f"<Node var='{variable}'>{inner}</Node>"


def leaf(number: float) -> str:
    return f"<Terminal>{number}</Terminal>"


def sub(kind: str, **attributes: str) -> str:
    given = " ".join(f"{name}='{value}'" for name, value in attributes.items())
    return f"<SubDAG type='{kind}' {given}/>"


# A rover between a rock and the exit: it may look at the rock, sample it there, or leave.
ROVER = variables({"rover": ("rock middle out", True), "rock": ("bad good", False)}, {"see": "sgood sbad"},
                  "west east look sample")  # fmt: skip
ROVER_INITIAL = [table("rover_0", "null", ("-", "0 1 0")), table("rock_0", "null", ("-", "uniform"))]
ROVER_TABLES = functions(
    ROVER_INITIAL,
    [
        table(
            "rover_1",
            "act rover_0",
            ("west - -", "1 0 0 1 0 0 0 0 1"),
            ("east rock middle", "1"),
            ("east middle out", "1.0"),
            ("* out out", "1"),
            ("look - -", "identity"),
            ("sample rock rock", "1"),
            ("sample middle out", "1"),
        ),
        table("rock_1", "act rover_0 rock_0", ("* * - -", "identity"), ("sample rock * -", "1 0")),
    ],
    [
        table(
            "see",
            "act rover_1 rock_1",
            ("* * * -", "1 0"),
            ("look rock - -", "0 1 1 0"),
            ("look middle - -", "0.2 0.8 0.8 0.2"),
        ),
    ],
    [
        table(
            "gain",
            "act rover_0 rock_0",
            ("sample rock -", "-10 10"),
            ("sample middle *", "-100"),
            ("east middle *", "10"),
        ),
    ],
)
ROVER_DIAGRAMS = functions(
    [ROVER_INITIAL[0], diagram("rock_0", "null", sub("uniform", var="rock_0"))],
    [
        diagram(
            "rover_1",
            "act rover_0",
            node(
                "act",
                west=node(
                    "rover_0",
                    any=sub("deterministic", var="rover_1", val="rock"),
                    out=sub("deterministic", var="rover_1", val="out"),
                ),
                east=node(
                    "rover_0",
                    rock=sub("deterministic", var="rover_1", val="middle"),
                    middle=node("rover_1", out=leaf(1)),
                    out=sub("deterministic", var="rover_1", val="out"),
                ),
                look=sub("persistent", var="rover_1"),
                sample=node(
                    "rover_0", any=sub("deterministic", var="rover_1", val="out"), rock=sub("persistent", var="rover_1")
                ),
            ),
        ),
        diagram(
            "rock_1",
            "act rover_0 rock_0",
            node(
                "act",
                any=sub("persistent", var="rock_1"),
                sample=node(
                    "rover_0",
                    rock=sub("deterministic", var="rock_1", val="bad"),
                    middle=sub("persistent", var="rock_1"),
                    out=sub("persistent", var="rock_1"),
                ),
            ),
        ),
    ],
    [
        diagram(
            "see",
            "act rover_1 rock_1",
            node(
                "act",
                west=sub("deterministic", var="see", val="sgood"),
                east=sub("deterministic", var="see", val="sgood"),
                sample=sub("deterministic", var="see", val="sgood"),
                look=node(
                    "rover_1",
                    out=sub("deterministic", var="see", val="sgood"),
                    middle=sub("template", idref="far"),
                    rock=node("rock_1", bad=node("see", sbad=leaf(1)), good=node("see", sgood=leaf(1))),
                ),
            ),
            "<SubDAGTemplate id='far'>"
            + node(
                "rock_1",
                bad=node("see", sgood=leaf(0.2), sbad=leaf(0.8)),
                good=node("see", sgood=leaf(0.8), sbad=leaf(0.2)),
            )
            + "</SubDAGTemplate>",
        ),
    ],
    [
        diagram(
            "gain",
            "act rover_0 rock_0",
            node(
                "act",
                west=leaf(0),
                look=leaf(0),
                east=node("rover_0", rock=leaf(0), middle=leaf(10), out=leaf(0)),
                sample=node(
                    "rover_0", rock=node("rock_0", bad=leaf(-10), good=leaf(10)), middle=leaf(-100), out=leaf(0)
                ),
            ),
        ),
    ],
)
