"""What can go wrong, in the user's words."""


class PomdpLiteError(Exception):
    """Base of every error that the library raises on purpose; its text is one a person can act on."""


class ModelError(PomdpLiteError):
    """The model is wrong: the text names the function, the state, the action and the numbers."""


class NotPomdpLite(ModelError):
    """The hidden variable changes by chance, so the model is a POMDP but not a POMDP-lite."""


class ImpossibleObservation(PomdpLiteError):
    """What was observed has probability zero under every hidden value that was still possible."""


class TooLarge(PomdpLiteError):
    """The problem does not fit the stated limit of an exact method."""


class NotConverging(PomdpLiteError):
    """The values grow without bound, so value iteration has no answer to converge to."""


class UsageError(PomdpLiteError):
    """An argument that makes no sense: an unknown problem, planner, action or value."""
