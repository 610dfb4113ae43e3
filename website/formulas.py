"""Formulas become MathML when the site is built: browsers show it without scripts or fonts from elsewhere.

Pages write formulas as LaTeX between dollar signs. A command that the converter does not know fails the build, since
readers would see raw LaTeX.
"""

import html
import logging
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.pages import Page

# A prime is raised in most fonts already; as a superscript it would be tiny unless the reader has a mathematical font.
PRIMED = re.compile(r"<msu(p|bsup)>(<mi>[^<]*</mi>)(<mi>[^<]*</mi>)?<mi>&#x02032;</mi></msu\1>")
PRIME = '<mo lspace="0" rspace="0">&#x02032;</mo>'
LOG = logging.getLogger("mkdocs.formulas")
FORMULA = re.compile(r'<(span|div) class="arithmatex">(\\\(|\\\[)(.*?)(?:\\\)|\\\])</\1>', re.DOTALL)


def mathml(latex: str, display: str) -> str:
    """Return a formula as MathML."""
    found = convert(latex, display=display)
    unknown = re.search(r"\\\w+", html.unescape(found))
    if unknown:
        raise ValueError(f"unknown command {unknown[0]}")
    return PRIMED.sub(
        lambda m: f"<mrow>{f'<msub>{m[2]}{m[3]}</msub>' if m[3] else m[2]}{PRIME}</mrow>",
        found,
    )


def on_page_content(content: str, page: Page, **_: Any) -> str:
    """Replace the formulas of a page."""

    def formula(match: re.Match[str]) -> str:
        latex = html.unescape(match[3])
        try:
            return mathml(latex, "inline" if match[1] == "span" else "block")
        except Exception as error:  # noqa: BLE001  the converter has many kinds of errors; a warning ends a strict build
            LOG.warning("%s: the formula %s cannot be shown: %s", page.file.src_uri, latex, error)
            return match[0]

    return FORMULA.sub(formula, content)
