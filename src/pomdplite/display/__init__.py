"""How results show themselves in notebooks, without knowing the views that draw them."""

from functools import singledispatch


@singledispatch
def notebook_html(shown: object) -> str | None:
    """The HTML fragment that a notebook shows for an object; None: it shows plain text.

    A result lies below its views and does not import them. Instead `views/notebook.py`, which is imported with the
    library, registers a function for each type here.
    """
    return None


class ShownInNotebooks:
    """A base of results: notebooks ask for `_repr_html_`, and what is registered for the type answers."""

    def _repr_html_(self) -> str | None:
        return notebook_html(self)
