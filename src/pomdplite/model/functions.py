"""The table of model functions: every function of (x, θ, a) that a model may define, declared once.

Derived from an entry: the slot in the kernels' table of addresses and the machine-code signature (compile/abi.py), the
generated wrapper (compile/codegen.py), the call from Python (compile/interpreted.py), the checks of presence and
arguments (model/define.py), what check_model asks of a hint (checking/hints.py), and the documentation of `Model`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """What an argument is, and hence how wrappers pass it on."""

    PARAMETERS = auto()  # m: the model's numbers and numeric arrays
    STATE = auto()  # an observed state, to be read
    HIDDEN = auto()  # a hidden value, to be read
    MEMORY = auto()  # the record that hints keep of the history, to be read
    ACTION = auto()  # the number of an action
    OBSERVATION = auto()  # the number of an observation
    UNIFORM = auto()  # a number uniform in [0, 1)
    STREAM = auto()  # a random stream: uniform(random) draws from it
    READING = auto()  # a reading, to be read
    NOISE = auto()  # the standard normal numbers of a step
    READING_NOISE = auto()  # the standard normal numbers of a reading
    # Outputs
    NEXT_STATES = auto()  # the next state, at first a copy of x; an array of them if next_states > 1
    PROBABILITIES = auto()  # [next_states] their probabilities, at first 0; passed only if next_states > 1
    SPREAD = auto()  # the standard deviations of the next state's fields, at first as declared
    LIKELIHOODS = auto()  # [observation] at first 0; "no observation" if left at 0
    NEXT_READING = auto()  # the reading, or its mean, at first 0
    READING_SPREAD = auto()  # the standard deviations of the reading's fields, at first as declared, or 0
    NEXT_HIDDEN = auto()  # the next hidden value, at first a copy of theta
    DRAWN_HIDDEN = auto()  # a hidden value to be drawn
    SUMMARY = auto()  # [summary_size] numbers
    ACTION_FLAGS = auto()  # [action] at first 0
    # Updated in place
    MOVED_HIDDEN = auto()
    UPDATED_MEMORY = auto()


OUTPUTS = frozenset(
    {Kind.NEXT_STATES, Kind.PROBABILITIES, Kind.LIKELIHOODS, Kind.NEXT_HIDDEN, Kind.DRAWN_HIDDEN, Kind.SUMMARY,
     Kind.ACTION_FLAGS}
)  # fmt: skip

_MACHINE_TYPES = {Kind.ACTION: "int64", Kind.OBSERVATION: "int64", Kind.UNIFORM: "float64"}  # else an address


class Returns(Enum):
    """What the user's function returns."""

    NOTHING = auto()  # it writes to its outputs
    NUMBER = auto()
    DENSITY = auto()  # its wrapper returns the logarithm
    FLAG = auto()
    ACTION = auto()
    COMPONENT = auto()


class Need(Enum):
    """When a model must define the function."""

    OPTIONAL = auto()
    ALWAYS = auto()
    OBSERVATIONS = auto()  # if it names observations
    POPULATION = auto()  # if its hidden value is a Population
    NOISE = auto()  # if the noise of its steps is given by a number; else it is no function of the model
    READING_NOISE = auto()  # the same for the noise of its readings


class Form(NamedTuple):
    """What decides which arguments a model's functions take."""

    next_states: int = 1
    noise: str = "none"  # or "gaussian": added to the next state; "given": numbers that `transition` is given
    reading: str = "listed"  # observations have names; or a reading: "exact", "gaussian" or "given"

    @property
    def chances(self) -> dict[str, Kind]:
        """What `transition` takes for the chances of a step."""
        listed = {"p": Kind.PROBABILITIES} if self.next_states > 1 else {}
        return {"none": listed, "gaussian": {}, "given": {"u": Kind.NOISE}}[self.noise]

    @property
    def seen(self) -> dict[str, Kind]:
        """What `observation` writes, and the noise it is given."""
        if self.reading == "listed":
            return {"z": Kind.LIKELIHOODS}
        given = {"u": Kind.READING_NOISE} if self.reading == "given" else {}
        return {"z": Kind.NEXT_READING, **given}


LISTED = Form()


class Section(Enum):
    """Where the documentation lists the function."""

    TUPLE = "The functions of the tuple:"
    POPULATION = "For a hidden value that cannot be listed, hidden = Population(...):"
    NOISE = "For noise given by a number, noise = n or Reading(noise=n):"
    HINT = "Hints for planners that search:"


@dataclass(frozen=True)
class ModelFunction:
    """One function that a model may define."""

    name: str
    arguments: Mapping[str, Kind]  # in order, m first
    returns: Returns
    section: Section
    doc: str  # one line
    need: Need = Need.OPTIONAL
    for_population: bool = True  # whether it makes sense for a Population
    for_distributions: bool = True  # whether it makes sense for hidden numbers with distributions
    for_outcomes: bool = True  # whether it makes sense for hidden probabilities of outcomes
    harmless: int = 0  # what its wrapper returns after a fault (compile/faults.py)
    optional: Mapping[str, Kind] = field(default_factory=dict)  # further arguments, which the user's function may name

    def passed(self, form: Form = LISTED, *, extended: bool = False) -> dict[str, Kind]:
        """The arguments that the user's function takes; extended: with the optional ones."""
        taken: dict[str, Kind] = {}
        for name, kind in self.arguments.items():
            if kind is Kind.PROBABILITIES:
                taken |= form.chances
            elif kind is Kind.LIKELIHOODS:
                taken |= form.seen
            else:
                taken[name] = Kind.READING if kind is Kind.OBSERVATION and form.reading != "listed" else kind
        return {**taken, **self.further(form)} if extended else taken

    def further(self, form: Form = LISTED) -> Mapping[str, Kind]:
        """The arguments that the user's function may take besides."""
        kinds = self.arguments.values()
        if Kind.PROBABILITIES in kinds and form.noise == "gaussian":
            return {"sd": Kind.SPREAD}
        if Kind.LIKELIHOODS in kinds and form.reading == "gaussian":
            return {"sd": Kind.READING_SPREAD}
        return self.optional

    def call(self, form: Form = LISTED) -> str:
        """How it is called: `reward(m, x, theta, a)`."""
        return f"{self.name}({', '.join(self.passed(form))})"

    @property
    def argument_types(self) -> tuple[str, ...]:
        """The machine types of its wrapper's arguments; an address is an unsigned integer."""
        return tuple(_MACHINE_TYPES.get(kind, "uint64") for kind in self.arguments.values())

    @property
    def return_type(self) -> str:
        """The machine type that its wrapper returns."""
        return "float64" if self.returns in (Returns.NUMBER, Returns.DENSITY) else "int64"


# In the order of their slots.
FUNCTIONS: tuple[ModelFunction, ...] = (
    ModelFunction(
        "transition",
        {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.HIDDEN, "a": Kind.ACTION, "y": Kind.NEXT_STATES,
         "p": Kind.PROBABILITIES},
        Returns.NOTHING, Section.TUPLE, "T: write the next state into y, which starts as a copy of x.", Need.ALWAYS,
    ),
    ModelFunction(
        "observation",
        {"m": Kind.PARAMETERS, "y": Kind.STATE, "theta": Kind.HIDDEN, "a": Kind.ACTION, "z": Kind.LIKELIHOODS},
        Returns.NOTHING, Section.TUPLE, "Z: write P(o | y, θ', a) into z[o]; all zeros means no observation.",
        Need.OBSERVATIONS,
    ),
    ModelFunction(
        "reward", {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.HIDDEN, "a": Kind.ACTION},
        Returns.NUMBER, Section.TUPLE, "R: return the reward of a in x under θ; it may take the next state y, too.",
        Need.ALWAYS, optional={"y": Kind.STATE},
    ),
    ModelFunction(
        "terminal", {"m": Kind.PARAMETERS, "x": Kind.STATE},
        Returns.FLAG, Section.TUPLE, "Return whether x ends the episode; by default no state does.", harmless=1,
    ),
    ModelFunction(
        "legal", {"m": Kind.PARAMETERS, "x": Kind.STATE, "a": Kind.ACTION},
        Returns.FLAG, Section.TUPLE, "Return whether action a is allowed in x; by default every action is.", harmless=1,
    ),
    ModelFunction(
        "depends", {"m": Kind.PARAMETERS, "x": Kind.STATE, "a": Kind.ACTION},
        Returns.COMPONENT, Section.TUPLE, "Return the one component of θ that matters to (x, a), or -1 for none.",
        for_population=False, for_distributions=False, harmless=-1,
    ),
    ModelFunction(
        "evolve",
        {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.HIDDEN, "a": Kind.ACTION, "theta_next": Kind.NEXT_HIDDEN},
        Returns.NOTHING, Section.TUPLE, "φ: write the next hidden value into theta_next; by default θ is constant.",
        for_population=False, for_outcomes=False,
    ),
    ModelFunction(
        "heuristic", {"m": Kind.PARAMETERS, "x": Kind.STATE},
        Returns.NUMBER, Section.HINT, "Return an estimate of the value of x.",
    ),
    ModelFunction(
        "policy", {"m": Kind.PARAMETERS, "x": Kind.STATE, "u": Kind.UNIFORM},
        Returns.ACTION, Section.HINT, "Return a legal action for rollouts through x; u is uniform in [0, 1).",
    ),
    ModelFunction(
        "prior", {"m": Kind.PARAMETERS, "theta": Kind.DRAWN_HIDDEN, "random": Kind.STREAM},
        Returns.NOTHING, Section.POPULATION, "Draw θ from the prior; uniform(random) gives numbers in [0, 1).",
        Need.POPULATION, for_outcomes=False,
    ),
    ModelFunction(
        "move",
        {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.MOVED_HIDDEN, "random": Kind.STREAM},
        Returns.FLAG, Section.POPULATION, "Move θ one step along a Markov chain that preserves P(θ | x).",
        for_outcomes=False,
    ),
    ModelFunction(
        "summary", {"m": Kind.PARAMETERS, "theta": Kind.HIDDEN, "f": Kind.SUMMARY},
        Returns.NOTHING, Section.POPULATION, "Describe θ to people by summary_size numbers in f.",
        for_outcomes=False,
    ),
    ModelFunction(
        "upper", {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.HIDDEN},
        Returns.NUMBER, Section.HINT, "Return an upper bound on the value of x to an agent that knows θ.",
        for_outcomes=False,
    ),
    ModelFunction(
        "preferred",
        {"m": Kind.PARAMETERS, "x": Kind.STATE, "h": Kind.MEMORY, "f": Kind.ACTION_FLAGS},
        Returns.NOTHING, Section.HINT, "Set f[a] = 1 for the legal actions worth trying in x after the history h.",
    ),
    ModelFunction(
        "remember",
        {"m": Kind.PARAMETERS, "x": Kind.STATE, "a": Kind.ACTION, "y": Kind.STATE, "o": Kind.OBSERVATION,
         "h": Kind.UPDATED_MEMORY},
        Returns.NOTHING, Section.HINT, "Update h, the memory of the hints, after a led from x to y with observation o.",
    ),
    ModelFunction(
        "density",
        {"m": Kind.PARAMETERS, "x": Kind.STATE, "theta": Kind.HIDDEN, "a": Kind.ACTION, "y": Kind.STATE},
        Returns.DENSITY, Section.NOISE, "Return the density of the next state y, given x, θ and a.", Need.NOISE,
    ),
    ModelFunction(
        "likelihood",
        {"m": Kind.PARAMETERS, "y": Kind.STATE, "theta": Kind.HIDDEN, "a": Kind.ACTION, "z": Kind.READING},
        Returns.DENSITY, Section.NOISE, "Return the density of the reading z in y, given θ' and a.",
        Need.READING_NOISE,
    ),
)  # fmt: skip


def documentation() -> str:
    """The functions by section, one line each, for the docstring of `Model`."""
    width = max(len(function.call()) for function in FUNCTIONS)
    lines = []
    for section in Section:
        lines += [section.value, ""]
        lines += [f"    {f.call():{width}}  {f.doc}" for f in FUNCTIONS if f.section is section]
        lines.append("")
    return "\n".join(lines)
