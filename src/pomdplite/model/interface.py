"""What a user writes in a model: the tuple, its functions and its settings, each with its documentation."""

from collections.abc import Callable, Sequence
from typing import Any

from pomdplite.compile.jit import Floats
from pomdplite.model.spaces import State


class Settings:
    """A model's settings: what planners and the library need besides the tuple. They are not parameters in `m`."""

    next_states: int = 1  # the most next states of one (x, θ, a)
    compiled: bool = True  # False: run the functions as Python; they may then call any code
    bounds_check: bool = True  # False: trust the indices of compiled functions; a wrong one reads or ruins memory
    horizon: int | None = None  # steps after which an episode is cut
    beta: float | None = None  # a good β for this problem
    exploration: float | None = None  # UCT's constant
    search_depth: int | None = None  # steps that UCT looks ahead, if looking further gains nothing
    return_range: float | None = None  # about how much the returns of policies differ: POMCP's constant
    summary_size: int = 0  # how many numbers `summary` writes
    memory: State = State()  # the layout of h, the memory of the hints


def _unchecked(function: Any) -> Callable[..., Any]:
    """Exempt a function from the override rules of type checkers: m is not self, and `transition` has two forms."""
    return function


class ModelInterface(Settings):
    """The attributes of a model, and stubs of its functions; a stub that is not overridden counts as not defined."""

    state: State = State()
    hidden: Any  # Hidden, Population or Dirichlet
    actions: Sequence[str]  # names, or an Action
    observations: Sequence[str] = ()  # names, or a Reading
    noise: Any  # Gaussian, or the number of random numbers of a step; else a parameter like any other
    grid: Any  # Grid; else a parameter like any other
    discount: float

    # ------------------------------------------------------------------ the tuple

    @_unchecked
    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        """T: write the next state into y, which starts as a copy of x.

        If `next_states = n` > 1, the form is `transition(m, x, theta, a, y, p)`: write the next states into
        `y[0]` … `y[n-1]`, each of which starts as a copy of x, and their probabilities into p, which starts at zero.

        If `noise = Gaussian(...)`, y is the mean, to which the library adds the noise. The form may then be
        `transition(m, x, theta, a, y, sd)`, where sd starts with the declared standard deviations.
        If `noise = n`, the form is `transition(m, x, theta, a, y, u)`, with n standard normal numbers u; `density` goes
        with it.
        """
        raise NotImplementedError

    @_unchecked
    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        """Z: write P(o | y, θ', a) into z[o]; all zeros means no observation.

        y is the state after action a, and theta the hidden value after it.

        If `observations = Reading(...)`, z is the reading, which starts at zero; the form may be
        `observation(m, y, theta, a, z, sd)`, with the standard deviations of its fields in sd, which start as declared,
        or at zero. With `Reading(..., noise=n)` the form is `observation(m, y, theta, a, z, u)`, with n standard normal
        numbers u; `likelihood` goes with it.
        """
        raise NotImplementedError

    @_unchecked
    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        """R: return the reward of a in x under θ; it may take the next state y, too.

        The form is then `reward(m, x, theta, a, y)`, and the library takes the expectation over the next states.
        """
        raise NotImplementedError

    @_unchecked
    def terminal(m: Any, x: Any) -> bool:
        """Return whether x ends the episode; by default no state does."""
        raise NotImplementedError

    @_unchecked
    def legal(m: Any, x: Any, a: int) -> bool:
        """Return whether action a is allowed in x; by default every action is."""
        raise NotImplementedError

    @_unchecked
    def depends(m: Any, x: Any, a: int) -> int:
        """Return the one component of θ that matters to (x, a), or -1 for none.

        T, Z, R and φ of (x, a) must depend on no other component. The belief is then kept component by component;
        without this function Θ is listed as a whole.
        """
        raise NotImplementedError

    @_unchecked
    def evolve(m: Any, x: Any, theta: Any, a: int, theta_next: Any) -> None:
        """φ: write the next hidden value into theta_next; by default θ is constant.

        theta_next starts as a copy of theta. The change must be a function of theta, x and a.
        """
        raise NotImplementedError

    def start(self, x: Any) -> None:
        """Write the initial state into x, which starts at zero."""

    # ------------------------------------------------------------------ a Population

    @_unchecked
    def prior(m: Any, theta: Any, random: Any) -> None:
        """Draw θ from the prior; uniform(random) gives numbers in [0, 1)."""
        raise NotImplementedError

    @_unchecked
    def move(m: Any, x: Any, theta: Any, random: Any) -> bool:
        """Move θ one step along a Markov chain that preserves P(θ | x).

        x must hold everything that the history says about θ. Return whether θ changed.
        """
        raise NotImplementedError

    @_unchecked
    def summary(m: Any, theta: Any, f: Any) -> None:
        """Describe θ to people by summary_size numbers in f."""
        raise NotImplementedError

    # ------------------------------------------------------------------ hints

    @_unchecked
    def heuristic(m: Any, x: Any) -> float:
        """Return an estimate of the value of x."""
        raise NotImplementedError

    @_unchecked
    def policy(m: Any, x: Any, u: float) -> int:
        """Return a legal action for rollouts through x; u is uniform in [0, 1).

        If `actions = Action(...)`, return the value of its field, or a tuple with those of all fields; the nearest
        listed action is taken.
        """
        raise NotImplementedError

    @_unchecked
    def upper(m: Any, x: Any, theta: Any) -> float:
        """Return an upper bound on the value of x to an agent that knows θ."""
        raise NotImplementedError

    @_unchecked
    def preferred(m: Any, x: Any, h: Any, f: Any) -> None:
        """Set f[a] = 1 for the legal actions worth trying in x after the history h.

        If `actions = Action(...)`, a is the number of an action; `self.force = self.actions.records["force"]` in
        `__init__` makes `m.force[a]` its value.
        h is a record of the layout `memory = State(...)`, which `remember` keeps.
        """
        raise NotImplementedError

    @_unchecked
    def remember(m: Any, x: Any, a: int, y: Any, o: int, h: Any) -> None:
        """Update h, the memory of the hints, after a led from x to y with observation o.

        h starts at zero. If `observations = Reading(...)`, o is the reading.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------ densities, for noise given by a number

    @_unchecked
    def density(m: Any, x: Any, theta: Any, a: int, y: Any) -> float:
        """Return the density of the next state y, given x, θ and a."""
        raise NotImplementedError

    @_unchecked
    def likelihood(m: Any, y: Any, theta: Any, a: int, z: Any) -> float:
        """Return the density of the reading z in y, given θ' and a.

        If the reading holds whole numbers only, it is their probability.
        """
        raise NotImplementedError

    # ------------------------------------------------------------------ for people; these are ordinary methods

    def success(self, x: Any, theta: Any) -> bool:
        """Return whether an episode that ended in x under θ was a success."""
        raise NotImplementedError

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Return a drawing of x and of the belief, as text.

        `marginals[c][v]` is the belief in value v of component c.
        """
        raise NotImplementedError

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint x and the belief on Matplotlib axes; marginals as in `draw`."""
        raise NotImplementedError


METHODS = ("start", "success", "draw", "paint")  # that a model may define besides its functions


def defined(model: ModelInterface, name: str) -> Callable[..., Any] | None:
    """A function or method of the model's class, unbound; None if the model does not define it.

    It is looked up on the class, so an attribute of the object may have the same name and be a parameter.
    """
    function = getattr(type(model), name, None)
    return None if function is getattr(ModelInterface, name, None) else function
