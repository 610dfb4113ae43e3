"""What check_model found."""

from dataclasses import dataclass, field

from pomdplite.display import ShownInNotebooks
from pomdplite.errors import ModelError


@dataclass(frozen=True)
class Finding:
    """A kind of mistake, described where it first occurred."""

    kind: str
    message: str
    fatal: bool
    times: int

    def __str__(self) -> str:
        more = f" (and {self.times - 1} more like it)" if self.times > 1 else ""
        return f"{'error' if self.fatal else 'warning'}: {self.message}{more}"


@dataclass
class CheckReport(ShownInNotebooks):
    """The findings of check_model, and how much it looked at."""

    model: str
    states: int = 0
    calls: int = 0  # (x, θ, a)
    complete: bool = True  # whether these were all reachable states
    findings: list[Finding] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        """Whether there are no errors; there may be warnings."""
        return not any(f.fatal for f in self.findings)

    def raise_if_wrong(self) -> None:
        """Raise a ModelError that lists the errors, if there are any."""
        if not self.ok:
            raise ModelError("\n".join(str(f) for f in self.findings if f.fatal))

    def add(self, kind: str, message: str, *, fatal: bool = True) -> None:
        """Add a finding; another one of the same kind only counts."""
        for i, found in enumerate(self.findings):
            if found.kind == kind:
                self.findings[i] = Finding(kind, found.message, found.fatal, found.times + 1)
                return
        self.findings.append(Finding(kind, message, fatal, 1))

    def __str__(self) -> str:
        extent = "all" if self.complete else "the first"
        lines = [f"{self.model}: checked {extent} {self.states:,} reachable states and {self.calls:,} (x, theta, a)."]
        lines += [f"  {f}" for f in self.findings]
        if not self.findings:
            lines.append("  no mistakes found.")
        return "\n".join(lines)
