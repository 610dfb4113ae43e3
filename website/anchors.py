"""Headings have the same anchors on the site as on GitHub, Greek letters included, so that links work on both."""

import re
from typing import Any


def anchor(heading: str, separator: str = "-") -> str:
    """Return the anchor of a heading, given as text without mark-up."""
    return re.sub(r"[^\w -]", "", heading.strip().lower()).replace(" ", separator)


def on_config(config: Any, **_: Any) -> Any:
    """Use these anchors on the site."""
    config.mdx_configs.setdefault("toc", {})["slugify"] = anchor
    return config
