"""Read .pomdp files, the format of Cassandra's pomdp-solve. The grammar is in cassandra.lark."""

import codecs
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from pomdplite.compile.jit import Floats, Ints
from pomdplite.errors import UsageError
from pomdplite.formats.cassandra_tables import ANY, ProbabilityTable, RewardTable, belief
from pomdplite.formats.factors import MOST_VALUES
from pomdplite.formats.flat import Flat
from pomdplite.formats.numbering import one_list
from pomdplite.formats.numbers import parse_number, parse_numbers
from pomdplite.formats.places import FilePlace

_CHUNK = 4_000_000  # characters of a run of statements that are split into words at a time
_PREAMBLE = ("discount", "values", "states", "actions", "observations", "start")
_REGEX_PARTS = {
    "REF": r"(?>\*|[0-9]++(?![\w.-])|[A-Za-z_][\w.-]*+)",
    "NUMBER": r"[-+.0-9][-+.0-9eE]*+",
    "SPACE": r"(?:\s++|#[^\n]*+)*+",
}


@cache
def _parser() -> Any:
    try:
        from lark import Lark
    except ImportError:
        raise UsageError(".pomdp files need lark: pip install 'pomdplite[formats]'.") from None
    grammar = files("pomdplite.formats").joinpath("cassandra.lark").read_text()
    lines = []
    for line in grammar.splitlines():
        if "_ENTRIES." in line:  # Lark cannot put terminals together inside an atomic group
            for name, pattern in _REGEX_PARTS.items():
                line = line.replace(name, pattern)
        lines.append(line)
    return Lark("\n".join(lines), start="file", parser="lalr", lexer="contextual")


def read_pomdp(data: bytes, file: str) -> Flat:
    """The POMDP that a .pomdp file describes; ModelError with file and line if it is wrong."""
    parser = _parser()
    from lark.exceptions import UnexpectedCharacters, UnexpectedInput

    text = data.removeprefix(codecs.BOM_UTF8).decode("latin-1")
    try:
        tree = parser.parse(text)
    except UnexpectedCharacters as error:
        FilePlace(file, error.line).refuse(f"cannot be read from {text[error.pos_in_stream :][:20].split()[0]!r} on")
    except UnexpectedInput as error:
        last = text.count("\n") + 1
        token = getattr(error, "token", None)
        if not token or token.type == "$END":
            FilePlace(file, last).refuse("the file ends within a statement")
        FilePlace(file, token.line).refuse(f"{' '.join(token.split())[:40]!r} is not expected here")
    return _PomdpReader(tree.children, file).flat()


class _PomdpReader:
    """Interprets the statements of one file."""

    def __init__(self, statements: list[Any], file: str) -> None:
        self.file = file
        self.preamble: dict[str, Any] = {}
        specifications = []
        for statement in statements:
            if statement.data not in _PREAMBLE:
                specifications.append(statement)
            elif statement.data in self.preamble:
                self._refuse(statement, f"there is a second {statement.data}:")
            else:
                self.preamble[statement.data] = statement
        for name in ("discount", "states", "actions"):
            if name not in self.preamble:
                FilePlace(file, 1).refuse(f"the file has no {name}:")
        self.names = {kind: self._names(kind) for kind in ("states", "actions", "observations")}
        self.numbers = {kind: _numbers(names) for kind, names in self.names.items()}
        s, a, o = (len(self.names[kind]) for kind in ("states", "actions", "observations"))
        self.start = self._start(self.preamble.get("start"), s)
        self.transition = ProbabilityTable("the transition probabilities", (a, s, s), file)
        self.sight = ProbabilityTable("the observation probabilities", (a, s, o), file)
        self.reward = RewardTable(file, (a, s, s, o))
        for statement in specifications:
            getattr(self, f"_{statement.data}")(statement)

    def flat(self) -> Flat:
        """The POMDP."""
        discount = self.preamble["discount"].children[0]
        gamma = parse_number(str(discount), FilePlace(self.file, discount.line))
        if not 0 <= gamma <= 1:
            self._refuse(self.preamble["discount"], f"the discount is {gamma:g}, not between 0 and 1")
        values = self.preamble.get("values")
        sign = -1.0 if values is not None and values.children[0].type == "COST" else 1.0
        states, actions, observations = (self.names[kind] for kind in ("states", "actions", "observations"))
        if "observations" not in self.preamble:  # an MDP: the state is seen
            self.sight.set_identity(ANY, 1)
        transition = self.transition.matrices((actions, states))
        sight = self.sight.matrices((actions, states))
        return Flat(
            name=Path(self.file).name, states=states, actions=actions, observations=observations,
            transition=transition, sight=sight, reward=self.reward.expected(transition, sight, sign), start=self.start,
            discount=gamma, places=one_list(len(states)),
        )  # fmt: skip

    def _refuse(self, statement: Any, cause: str) -> NoReturn:
        FilePlace(self.file, _line(statement)).refuse(cause)

    # ------------------------------------------------------------------ the preamble

    def _names(self, kind: str) -> list[str]:
        statement = self.preamble.get(kind)
        if statement is None:
            return self._names("states")  # observations, if the file names none: the state is seen
        tokens = statement.children[0].children
        if tokens[0].type == "COUNT":
            count = int(tokens[0]) if len(tokens[0]) < 10 else MOST_VALUES + 1
            if not 1 <= count <= MOST_VALUES:
                self._refuse(statement, f"{kind} must be a number from 1 to {MOST_VALUES:,}, or names")
            return [f"{kind[0]}{i}" for i in range(count)]
        names = [str(token) for token in tokens]
        if len(set(names)) != len(names):
            twice = next(token for i, token in enumerate(tokens) if str(token) in names[:i])
            FilePlace(self.file, twice.line).refuse(f"{twice} is listed twice in {kind}")
        return names

    def _start(self, statement: Any, count: int) -> Floats:
        found = np.zeros(count)
        if statement is None:
            found[:] = 1 / count
            return found
        first, place = statement.children[0], FilePlace(self.file, _line(statement))
        if first.type in ("INCLUDE", "EXCLUDE"):
            listed = [self._index("states", token) for token in statement.children[1:]]
            found[listed] = 1
            found = found if first.type == "INCLUDE" else 1 - found
            if not found.any():
                place.refuse("no state is left to start in")
            return found / found.sum()
        if first.type == "UNIFORM":
            found[:] = 1 / count
        elif first.type == "NAME":
            found[self._index("states", first)] = 1
        else:
            numbers = self._numbers(statement.children)
            if len(numbers) == 1 and count > 1:
                if numbers[0] not in range(count):
                    place.refuse(f"there is no state {numbers[0]:g}; they are numbered from 0 to {count - 1}")
                found[int(numbers[0])] = 1
                return found
            if len(numbers) != count:
                place.refuse(f"expected {count:,} numbers, one for each state; found {len(numbers):,}")
            found = belief(numbers, place)
        return found

    # ------------------------------------------------------------------ T, O and R

    def _transition(self, statement: Any) -> None:
        self._probabilities(statement, self.transition, "states", self.start)

    def _sight(self, statement: Any) -> None:
        if "observations" not in self.preamble:
            self._refuse(statement, "the file names no observations")
        self._probabilities(statement, self.sight, "observations", None)

    def _probabilities(self, statement: Any, table: ProbabilityTable, columns: str, start: Floats | None) -> None:
        _, *refs, last = statement.children
        kinds = ("actions", "states", columns)
        references = [self._index(kind, ref.children[0]) for kind, ref in zip(kinds, refs, strict=False)]
        line = _line(statement)
        if len(references) == 3:
            number = parse_number(str(last), FilePlace(self.file, last.line))
            table.set_entries([np.array([r]) for r in references], np.array([number]), np.array([line]))
            return
        rows, width = (table.shape[1] if len(references) == 1 else 1), table.shape[2]
        word = last.children[0].type
        if word == "UNIFORM":
            numbers = np.full((1, width), 1 / width)
        elif word == "RESET" and start is not None:
            numbers = start[None]
        elif word == "IDENTITY" and len(references) == 1 and rows == width:
            table.set_identity(references[0], line)
            return
        elif word == "NUMBERS":
            numbers = self._matrix(last, rows, width)
        else:
            self._refuse(statement, f"{last.children[0]} cannot stand here")
        table.set_rows(references[0], references[1] if len(references) == 2 else ANY, numbers, line)

    def _reward(self, statement: Any) -> None:
        _, *refs, last = statement.children
        kinds = ("actions", "states", "states", "observations")
        references = [self._index(kind, ref.children[0]) for kind, ref in zip(kinds, refs, strict=False)]
        line = _line(statement)
        if len(references) == 4:
            number = parse_number(str(last), FilePlace(self.file, last.line))
            self.reward.set_entries([np.array([r]) for r in references], np.array([number]), np.array([line]))
            return
        if last.children[0].type != "NUMBERS":
            self._refuse(statement, f"{last.children[0]} cannot stand here")
        rows, width = self.reward.shape[2] if len(references) == 2 else 1, self.reward.shape[3]
        numbers = self._matrix(last, rows, width).ravel()
        after = np.repeat(np.arange(rows), width) if len(references) == 2 else np.full(width, references[2])
        columns = [np.full(len(numbers), r) for r in references[:2]] + [after, np.tile(np.arange(width), rows)]
        self.reward.set_entries(columns, numbers, np.full(len(numbers), line))

    def _matrix(self, matrix: Any, rows: int, width: int) -> Floats:
        numbers = self._numbers(matrix.children)
        if len(numbers) != rows * width:
            FilePlace(self.file, matrix.children[0].line).refuse(
                f"expected {rows * width:,} numbers, found {len(numbers):,}"
            )
        return numbers.reshape(rows, width)

    def _numbers(self, tokens: list[Any]) -> Floats:
        """The numbers of several tokens: comments come between them."""
        return np.concatenate([parse_numbers(str(token), FilePlace(self.file, token.line)) for token in tokens])

    def _entries(self, statement: Any) -> None:
        """A run of statements that give one number each."""
        token = statement.children[0]
        letter, line = token.type[0], token.line
        kinds = {"T": ("actions", "states", "states"), "O": ("actions", "states", "observations"),
                 "R": ("actions", "states", "states", "observations")}[letter]  # fmt: skip
        if letter == "O" and "observations" not in self.preamble:
            self._refuse(statement, "the file names no observations")
        table: Any = {"T": self.transition, "O": self.sight, "R": self.reward}[letter]
        for part in _parts(str(token), letter):
            words = (re.sub(r"#[^\n]*", "", part) if "#" in part else part).replace(":", " ").split()
            width = len(kinds) + 2
            lines = line + _lines_of_statements(part, letter, len(words) // width)
            references = [self._indices(kind, words[1 + i :: width], lines) for i, kind in enumerate(kinds)]
            try:
                numbers = np.array(words[width - 1 :: width], np.float64)
            except ValueError:
                numbers = np.array([np.nan])
            if not np.isfinite(numbers).all():
                for word, at in zip(words[width - 1 :: width], lines.tolist(), strict=True):
                    parse_number(word, FilePlace(self.file, at))
            table.set_entries(references, numbers, lines)
            line += part.count("\n")

    def _indices(self, kind: str, words: list[str], lines: Ints) -> Ints:
        """Numbers of states, actions or observations."""
        found = list(map(self.numbers[kind].get, words))
        if None in found:
            for i, word in enumerate(words):
                if found[i] is None:
                    found[i] = self._number(kind, word, int(lines[i]))
        return np.array(found, np.int64)

    def _index(self, kind: str, token: Any) -> int:
        known = self.numbers[kind].get(str(token))
        return self._number(kind, str(token), token.line) if known is None else known

    def _number(self, kind: str, word: str, line: int) -> int:
        count = len(self.names[kind])
        if word.isdigit() and len(word) < 10 and int(word) < count:
            return int(word)
        FilePlace(self.file, line).refuse(f"{word[:40]!r} is not one of the {count:,} {kind}")


def _numbers(names: list[str]) -> dict[str, int]:
    """The number of each reference to one of several names; a name never begins with a digit."""
    return {**{str(i): i for i in range(len(names))}, **{name: i for i, name in enumerate(names)}, "*": ANY}


def _parts(text: str, letter: str) -> Any:
    """A run of statements in parts of a few megabytes, each beginning with a statement."""
    begin, boundary = 0, re.compile(rf"\n(?=[ \t]*+{letter}\s*+:)")
    while begin < len(text):
        found = boundary.search(text, begin + _CHUNK)
        end = found.end() if found else len(text)
        yield text[begin:end]
        begin = end


def _lines_of_statements(text: str, letter: str, count: int) -> Ints:
    """[statement] how many lines below the beginning of a text it begins."""
    lines = text.count("\n")
    if lines in (count, count - 1) and text.count(f"\n{letter}") + text.startswith(letter) == count:
        return np.arange(count)  # one on each line
    begins = [match.start() for match in re.finditer(rf"(?<![\w.*-]){letter}\s*+:", text)]
    if len(begins) != count:  # something else has the name of a statement
        return np.zeros(count, np.int64)
    ends = np.flatnonzero(np.frombuffer(text.encode("latin-1"), np.uint8) == ord("\n"))
    return np.searchsorted(ends, begins)


def _line(statement: Any) -> int:
    """The line of the first token of a statement."""
    while not hasattr(statement, "line"):
        statement = statement.children[0]
    return int(statement.line)
