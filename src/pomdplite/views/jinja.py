"""HTML from the Jinja2 templates in the folder `templates` (extra `report`)."""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from pomdplite.errors import PomdpLiteError

if TYPE_CHECKING:
    from jinja2 import Environment

_MISSING = "HTML pages need Jinja2: pip install 'pomdplite[report]'."


def is_installed() -> bool:
    """Whether Jinja2 can be imported."""
    return find_spec("jinja2") is not None


def require() -> None:
    """Raise an error that says what to install, if Jinja2 cannot be imported."""
    if not is_installed():
        raise PomdpLiteError(_MISSING)


def render(template: str, **values: Any) -> str:
    """A template with these values; all text in them is escaped, save what is Markup."""
    return _environment().get_template(template).render(values)


def _environment() -> "Environment":
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise PomdpLiteError(_MISSING) from None
    environment = Environment(
        loader=PackageLoader("pomdplite.views"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["minus"] = _minus
    environment.filters["anchor"] = _anchor
    return environment


def _minus(text: str) -> str:
    """A minus sign as wide as a digit instead of a hyphen."""
    return text.replace("-", "−")


def _anchor(heading: str) -> str:
    """The id of a section."""
    return "".join(c if c.isalnum() else "-" for c in heading.lower())
