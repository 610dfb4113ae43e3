"""Output in any encoding: where a terminal or pipe cannot represent a character, ASCII stands in for it."""

import codecs
import io
import os
import sys
import unicodedata

_HANDLER = "pomdplite-ascii"  # the name of the codec error handler
_ASCII = {
    "–": "-", "−": "-", "‐": "-", "…": "...", "±": "+/-", "×": "x", "·": ".", "†": "+", "→": "->", "←": "<-",
    "↑": "^", "↓": "v", "≤": "<=", "≥": ">=", "≠": "!=", "≈": "~", "∞": "inf", "√": "sqrt", "Σ": "sum", "•": "*",
    "½": "1/2", "ß": "ss", "“": '"', "”": '"', "‘": "'", "’": "'", "‹": "<", "›": ">", "❱": ">",
}  # fmt: skip


def use_fallbacks() -> None:
    """Let nothing that is printed fail for its characters, and print nowhere if a stream is closed."""
    codecs.register_error(_HANDLER, _replaced)
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with the stream closed
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  stays open like the original
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def _replaced(error: UnicodeError) -> tuple[str, int]:
    """What the codec writes instead of the characters that it cannot encode."""
    assert isinstance(error, UnicodeEncodeError)
    return "".join(map(_in_ascii, error.object[error.start : error.end])), error.end


def _in_ascii(character: str) -> str:
    if character in _ASCII:
        return _ASCII[character]
    name = unicodedata.name(character, "")
    if name.startswith("BOX DRAWINGS"):
        return "-" if name.endswith("HORIZONTAL") else "|" if name.endswith("VERTICAL") else "+"
    if name.startswith("GREEK"):
        letter = name.split()[3] if len(name.split()) > 3 else ""
        return letter.capitalize() if character.isupper() else letter.lower()
    if name.startswith(("BLOCK", "FULL BLOCK")) or name.endswith(("BLOCK", "SHADE")):
        return "#"
    plain = unicodedata.normalize("NFKD", character).encode("ascii", "ignore").decode()
    return plain or "?"
