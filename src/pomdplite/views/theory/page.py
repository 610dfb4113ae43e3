"""The analysis of a model as one self-contained HTML page, and its numbers as text."""

from pomdplite.analysis.findings import Findings
from pomdplite.views import jinja
from pomdplite.views.page import PageSection
from pomdplite.views.palette import DARK, LIGHT
from pomdplite.views.theory.drawing import legend, svg
from pomdplite.views.theory.panels import LinePanel, panels, power_text

_SECTIONS = {  # headings of the page, and the panels below each
    "Sample complexity and optimism": ("bonus", "optimism"),
    "Along simulated episodes": ("known-set", "escape", "suboptimal"),
}


def theory_page(found: Findings, problem: str) -> str:
    """The page as HTML."""
    drawn = {panel.name: panel for panel in panels(found)}
    sections = [PageSection("Numbers", "facts.html.j2", facts(found))]
    for heading, names in _SECTIONS.items():
        content = [_shown(drawn[name]) for name in names if name in drawn]
        sections.append(PageSection(heading, "lines.html.j2", content))
    return jinja.render(
        "page.html.j2",
        title=f"{problem}: the analysis of POMDP-lite",
        summary=_summary(found),
        winners=[],
        sections=[section for section in sections if section.content],
        light=LIGHT,
        dark=DARK,
    )


def _shown(panel: LinePanel) -> tuple[str, str, dict[str, str], str]:
    """Title, drawing, legend if it tells lines apart, and caption."""
    return panel.title, svg(panel), legend(panel) if len(panel.lines) > 1 else {}, panel.caption


def _summary(found: Findings) -> str:
    history = found.history
    return (
        f"Section IV of the POMDP-lite paper, computed for this model with ε = {found.epsilon:g} of its range of "
        f"rewards and β = {found.beta:g}: at the prior, and along {history.episodes} simulated episodes."
    )


def facts(found: Findings) -> dict[str, str]:
    """The numbers of the analysis, in the model's units of reward."""
    history, unit, first = found.history, found.unit, found.history.steps[0]
    numbers = {
        "range of rewards": f"{unit:g}, so that ε stands for {found.epsilon * unit:.3g}",
        "states and pairs (s, a)": f"{found.states:,} and {found.pairs:,}",
        "β of the planner": f"{found.beta:g}",
        "β of the paper's order, |S|²|A|/(1 − γ)²": power_text(found.paper_beta),
        "Ṽ at the prior": f"{first.internal:,.4g}",
        "known pairs at the prior": f"{found.known:,}, with a bonus below ε(1 − γ) = {found.threshold:.3g}",
        "Ṽ − V in M_K, at most ε by Lemma 4": f"{max(0.0, round(found.accuracy * unit, 9)):.3g}",
        "sample complexity Σ ζ(s, a), expected": f"{history.visits:,.0f}",
        "horizon T": f"{history.horizon:,} steps",
    }
    if first.optimal is None or first.achieved is None:
        least, most = found.optimism[0].optimal
        return numbers | {
            "V* at the prior": f"between {least:,.4g} and {most:,.4g}, from draws of the unknown probabilities",
            "suboptimal steps": "not counted, since that leaves V* open",
        }
    low, high = first.optimal
    open_steps = sum(step.suboptimal is None for step in history.steps)
    return numbers | {
        "β for which Ṽ ≥ V*, γ/(2(1 − γ))": f"{found.optimistic_beta:,.4g}",
        "V* at the prior": f"{low:.4g}" if high - low < 1e-3 * unit else f"between {low:.4g} and {high:.4g}",
        "V^A at the prior, acting on the planner": f"{first.achieved[0]:.4g}",
        "suboptimal steps": f"{sum(history.counts):,} of {len(history.steps):,}"
        + (f", of which {open_steps:,} are left open by bounds on V*" if open_steps else ""),
        "their bound m": f"{power_text(history.bound)} with probability {1 - history.delta:g}",
    }
