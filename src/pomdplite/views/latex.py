"""Tables for a paper: LaTeX with the packages booktabs and graphicx."""

from pomdplite.views.grid import GridCell, TableText

_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "*": "{*}", '"': "''", "±": r"$\pm$", "−": "$-$", "–": "--", "…": r"\dots{}",
    "†": r"$^\dagger$", "‡": r"$^\ddagger$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "·": r"$\cdot$",
    "→": r"$\to$", "∞": r"$\infty$", "√": r"$\surd$", **{letter: rf"$\{name}$" for letter, name in _GREEK.items()},
}  # fmt: skip


def latex_text(text: str) -> str:
    r"""Text with special characters escaped; "[" and "*" too, which LaTeX would take for an argument of "\\"."""
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def latex_table(g: TableText) -> str:
    """The table, with its notes below it."""

    def entry(cell: GridCell) -> str:
        if not cell.text or cell.text in "–…":
            return latex_text(cell.text) + (f"$^{{{cell.reason}}}$" if cell.reason is not None else "")
        number = cell.text.replace("±", r"\pm").replace("%", r"\%").replace("‡", r"{}^{\ddagger}{}")
        if cell.cited:
            return rf"$\mathit{{{number}}}$"
        return rf"$\mathbf{{{number}}}$" if cell.best else f"${number}" + (r"^{\dagger}$" if cell.equal else "$")

    rows = [
        " & ".join([latex_text(label), *map(entry, line)]) + r" \\"
        for label, line in zip(g.labels, g.lines, strict=True)
    ]
    reasons = [f"$^{{{i}}}$ {latex_text(reason)}" for i, reason in enumerate(g.reasons, 1)]
    notes = [*map(latex_text, g.explanations("Bold")), *reasons]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,graphicx}",
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{latex_text(g.title)}}}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%  shrunk if it is too wide",
            rf"\begin{{tabular}}{{l{'r' * len(g.header)}}}",
            r"\toprule",
            " & ".join(["", *map(latex_text, g.header)]) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\par\smallskip\footnotesize",
            " \\\\\n".join(notes),
            r"\end{table*}",
            "",
        ]
    )
