"""What can go wrong. Each class also derives from the built-in exception that Python users expect."""


class PomdpLiteError(Exception):
    """Base of every error that the library raises on purpose; its message says what to do about it."""


class ModelError(PomdpLiteError, ValueError):
    """The model is wrong: the message names the function, the state, the action and the numbers."""


class NotPomdpLiteError(ModelError):
    """The hidden variable changes by chance, so the model is a POMDP but not a POMDP-lite."""


class UsageError(PomdpLiteError, ValueError):
    """An argument is invalid: an unknown problem, planner, action or value."""


class UnsuitableError(UsageError):
    """The planner or belief is not made for this kind of problem."""


class WorldError(PomdpLiteError, RuntimeError):
    """A world does not do its part: an environment breaks its contract, or a function that it needs fails."""


class ImpossibleObservationError(PomdpLiteError, ValueError):
    """The observation has probability zero under every hidden value that was still possible."""


class TooLargeError(PomdpLiteError, RuntimeError):
    """The problem exceeds the stated limit of an exact method: the reason, and perhaps what to do instead."""

    def __str__(self) -> str:
        return ": ".join(map(str, self.args))

    @property
    def reason(self) -> str:
        """The message without what to do instead."""
        return str(self.args[0]).rstrip(".")


class NotConvergingError(PomdpLiteError, RuntimeError):
    """The values grow without bound, so value iteration does not converge."""


_SHOWN = 80  # characters of a value in a message


def shown(value: object) -> str:
    """A value as error messages show it: cut short, since it may be a number of a million digits."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # Python prints neither numbers of that size nor lists of that depth
        return f"a {type(value).__name__} too large to print"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
