"""What of a planner outlives its process: files, and copies for worker processes.

Both hold the constructor's arguments, the clock, and the arrays that the planner has computed.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.policy_files import is_policy_file, policy_files
from pomdplite.planners import files
from pomdplite.planners.files import Computed, StoredPlanner


class Storable(ABC):
    """A planner as far as files and copies are concerned."""

    title: ClassVar[str]  # the name in the registry and in tables
    computed_kinds: ClassVar[Mapping[str, str]] = {}  # the names of all arrays to keep, with NumPy's types
    model: Model
    clock: str
    _given: Computed  # by `use_computed`
    _given_by: str

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments: type(planner)(model, **planner.parameters) is an equal planner."""

    @abstractmethod
    def prepare(self) -> None:
        """Do the one-time work."""

    @abstractmethod
    def use_clock(self, clock: str) -> None:
        """Measure seconds with this clock."""

    @property
    def _settled_parameters(self) -> dict[str, Any]:
        """The parameters, with what preparing has chosen where they leave a choice."""
        return self.parameters

    def _computed(self) -> Computed:
        """What need not be computed again, by the names of `computed_kinds`; nothing before `prepare`."""
        return {}

    def use_computed(self, computed: Computed, origin: str) -> None:
        """Use what another planner has computed, instead of computing it; `origin` says where it comes from.

        A planner that keeps arrays checks in `prepare` that they fit the model.
        """
        self._given, self._given_by = computed, origin

    def _save_policy(self, path: Path) -> None:
        """Write α-vectors to a policy file of another program, for planners that have them."""
        raise NotImplementedError

    def require_savable(self, path: str | Path) -> None:
        """UsageError if a file of this name cannot hold this planner; known before it is prepared."""
        if not is_policy_file(path):
            return
        if type(self)._save_policy is Storable._save_policy:
            raise UsageError(
                f"{path}: a .policy file holds α-vectors, which {self.title} does not have; sarsop and pomdp-lite-plus "
                "do. Any other file name will do for this planner, for example policy.npz."
            )
        policy_files(self.model, path)

    def save(self, path: str | Path, note: str = "") -> None:
        """Write what was chosen and computed to a file, for `load_planner`; the note is for your own use.

        A file name that ends in .policy gets the α-vectors of sarsop or pomdp-lite-plus in the format of APPL, if the
        model comes from a .pomdp or .pomdpx file.
        """
        self.require_savable(path)
        self.prepare()
        if is_policy_file(path):
            self._save_policy(Path(path))
            return
        stored = StoredPlanner(self.title, self._settled_parameters, self.clock, note)
        files.write(Path(path), self.model, stored, self._computed())

    def __reduce__(self) -> Any:
        return _remake, (type(self), self.model, self.parameters, self.clock, self._computed())


def _remake(kind: type[Storable], model: Model, parameters: dict[str, Any], clock: str, computed: Computed) -> Storable:
    planner: Storable = kind(model, **parameters)  # type: ignore[call-arg]  # planners take a model
    planner.use_clock(clock)
    planner.use_computed(computed, "the copy of a planner")
    return planner
