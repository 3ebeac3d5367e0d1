"""From words to fields: braces, tildes, parameters, commands, arithmetic, splitting, globbing, in bash's order.

A *piece* is a text with a flag: quoted pieces are never split and never patterns. It knows the shell only as an
`Expander`'s host.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Protocol

from ..files import Files
from ..meter import Meter, Stopped
from ..patterns import PatternError, glob, glob_search
from . import syntax as s
from .arithmetic import calculate
from .braces import MAX_FIELDS, braces
from .matching import matching_paths, trimmed
from .variables import Variables

Piece = tuple[str, bool]


class ExpansionFault(Exception):
    """An expansion that stops the command: bad substitution, `${x:?}`, an unset variable under `set -u`."""


class Host(Protocol):
    """What an expander asks of its shell."""

    variables: Variables
    files: Files
    meter: Meter
    cwd: str
    arguments: list[str]

    @property
    def no_glob(self) -> bool:
        """Whether globs stand for themselves."""
        ...

    @property
    def no_unset(self) -> bool:
        """Whether an unset variable is a fault."""
        ...

    def special(self, name: str) -> str | None:
        """Return a special parameter, or `None` if the name is none."""
        ...

    def substitute(self, body: s.Sequence) -> str:
        """Run a command in a subshell and return its output."""
        ...

    def process(self, part: s.Process) -> str:
        """Return the path of a file that stands for a process substitution."""
        ...


class Expander:
    """Expands words for one shell."""

    def __init__(self, host: Host) -> None:
        self.host = host

    # Whole words

    def fields(self, words: Iterable[s.Word]) -> list[str]:
        """Return the fields of a command's words.

        Raises:
            ExpansionFault: If an expansion stops the command.
        """
        found: list[str] = []
        for word in words:
            for each in braces(word):
                for pieces in self.split(each):
                    found += self.globbed(pieces)
                if len(found) > MAX_FIELDS:
                    raise Stopped(f"more than {MAX_FIELDS} words")
        return found

    def text(self, word: s.Word) -> str:
        """Return a word as one text, neither split nor globbed: assignments, redirections, here-documents."""
        return "".join(text for text, _ in self.joined(word))

    def pattern(self, word: s.Word) -> str:
        """Return a word as a glob pattern whose quoted characters are escaped."""
        return "".join(
            re.sub(r"([*?\[\]\\-])", r"\\\1", text) if quoted else text for text, quoted in self.joined(word)
        )

    def regex(self, word: s.Word) -> str:
        """Return a word as an extended regular expression whose quoted characters are ordinary."""
        return "".join(re.sub(r"([^\w\s])", r"\\\1", text) if quoted else text for text, quoted in self.joined(word))

    def arithmetic(self, word: s.Word) -> int:
        """Return the value of an arithmetic text.

        Raises:
            ArithmeticFault: If it has none.
        """
        return calculate(self.text(word), self.read, self.write)

    def read(self, name: str, index: int | None) -> str:
        """Return a variable for arithmetic."""
        return self.value(name, index) or ""

    def write(self, name: str, index: int | None, value: str) -> None:
        """Set a variable from arithmetic."""
        self.host.variables.set(name, value, index)

    # Pieces

    def joined(self, word: s.Word) -> list[Piece]:
        """Return a word's pieces in one row; `$@` is joined by blanks."""
        row: list[Piece] = []
        for i, part in enumerate(word.parts):
            for n, pieces in enumerate(self.part(part, first=i == 0)):
                row += [(" ", True)] * (n > 0) + pieces
        return row

    def split(self, word: s.Word) -> list[list[Piece]]:
        """Return a word's fields as rows of pieces, after splitting what was not quoted."""
        rows: list[list[Piece]] = [[]]
        for i, part in enumerate(word.parts):
            for n, pieces in enumerate(self.part(part, first=i == 0)):
                if n > 0:
                    rows.append([])
                for text, quoted in pieces:
                    if quoted or isinstance(part, s.Literal):
                        rows[-1].append((text, quoted))
                    else:
                        self._split_text(text, rows)
        return [row for row in rows if any(quoted or text for text, quoted in row)]

    def _split_text(self, text: str, rows: list[list[Piece]]) -> None:
        separators = self.host.variables.get("IFS")
        separators = " \t\n" if separators is None else separators
        if not text or not separators:
            rows[-1].append((text, False))
            return
        soft = "".join(c for c in separators if c in " \t\n")
        hard = "".join(c for c in separators if c not in " \t\n")
        edge = rf"[{re.escape(soft)}]*" if soft else ""
        middle = rf"{edge}[{re.escape(hard)}]{edge}" if hard else ""
        delimiter = "|".join(filter(None, (middle, rf"[{re.escape(soft)}]+" if soft else "")))
        body = text.lstrip(soft)
        if body != text and rows[-1]:
            rows.append([])
        parts = re.split(delimiter, body)
        ends = len(parts) > 1 and parts[-1] == ""
        if ends:
            parts.pop()
        for n, part in enumerate(parts):
            if n > 0:
                rows.append([])
            rows[-1].append((part, bool(hard) and part == "" and len(parts) > 1))
        if ends:
            rows.append([])
        if len(rows) > MAX_FIELDS:
            raise Stopped(f"more than {MAX_FIELDS} words")

    def part(self, part: s.Part, first: bool = False) -> list[list[Piece]]:
        """Return the rows of pieces of one part: one row, except for `$@` and arrays."""
        if isinstance(part, s.Literal):
            return [[(self.tilde(part.text) if first and not part.quoted else part.text, part.quoted)]]
        if isinstance(part, s.Substitution):
            return [[(self.host.substitute(part.body).rstrip("\n"), part.quoted)]]
        if isinstance(part, s.Arithmetic):
            return [[(str(self.arithmetic(part.expression)), part.quoted)]]
        if isinstance(part, s.Process):
            return [[(self.host.process(part), True)]]
        return self.parameter(part)

    def tilde(self, text: str) -> str:
        """Return text with a leading `~` replaced by the home folder."""
        if text == "~" or text.startswith("~/"):
            return (self.host.variables.get("HOME") or "/") + text[1:]
        return text

    # Parameters

    def value(self, name: str, key: str | int | None = None) -> str | None:
        """Return the value of any parameter by name, or `None`."""
        if name.isdigit():
            number = int(name[:6])
            return (
                self.host.special("0")
                if number == 0
                else self.host.arguments[number - 1]
                if number <= len(self.host.arguments)
                else None
            )
        special = self.host.special(name)
        return special if special is not None else self.host.variables.get(name, key)

    def key(self, part: s.Parameter) -> str | int | None:
        """Return the key of `name[index]`."""
        if part.index is None:
            return None
        if part.name in self.host.variables.associative:
            return self.text(part.index)
        index = self.arithmetic(part.index)
        return self.last(part.name) + 1 + index if index < 0 else index

    def last(self, name: str) -> int:
        """Return the greatest index of an array, -1 for none."""
        return max((int(key) for key, _ in self.host.variables.elements(name)), default=-1)

    def parameter(self, part: s.Parameter) -> list[list[Piece]]:
        """Expand `$name` and `${...}`."""
        subscript = part.index.literal() if part.index else None
        many = part.name in "@*" or subscript in ("@", "*")
        if part.indirect and many:
            found = [str(key) for key, _ in self.host.variables.elements(part.name)]
            return self.rows(found, part, star=subscript == "*")
        if part.indirect and part.operator in ("*", "@"):
            return self.rows(
                sorted(n for n in self.host.variables.values if n.startswith(part.name)),
                part,
                star=part.operator == "*",
            )
        if part.indirect:
            target = self.value(part.name, self.key(part)) or ""
            if not re.fullmatch(r"[A-Za-z_]\w*|\d+|[@*#?]", target, re.ASCII):
                raise ExpansionFault(f"{part.name}: invalid indirect expansion")
            return self.parameter(
                s.Parameter(target, None, part.operator, part.argument, part.second, part.length, False, part.quoted)
            )
        if many:
            return self.several(part, star="*" in (part.name, subscript))
        return self.single(part)

    def several(self, part: s.Parameter, star: bool) -> list[list[Piece]]:
        """Expand `$@`, `$*`, `${a[@]}` and `${a[*]}`."""
        values = (
            list(self.host.arguments) if part.name in "@*" else [v for _, v in self.host.variables.elements(part.name)]
        )
        if part.length:
            return [[(str(len(values)), part.quoted)]]
        if part.operator == ":":
            values = self.slice(values, part, positional=part.name in "@*")
        elif part.operator.lstrip(":") in ("-", "+", "=", "?") and part.operator:
            if (operated := self.default(part, " ".join(values) if values else None)) is not None:
                return operated
        elif part.operator:
            values = [self.edit(value, part) for value in values]
        return self.rows(values, part, star)

    def rows(self, values: list[str], part: s.Parameter, star: bool) -> list[list[Piece]]:
        """Return several values as rows: one each, or joined for a quoted `*`."""
        if star and part.quoted:
            separators = self.host.variables.get("IFS")
            return [[((" " if separators is None else separators[:1]).join(values), True)]]
        return [[(value, part.quoted)] for value in values]

    def slice(self, values: list[str], part: s.Parameter, positional: bool) -> list[str]:
        """Return `${@:offset:length}` or `${a[@]:offset:length}`."""
        values = [self.host.special("0") or "", *values] if positional else values
        start = self.arithmetic(part.argument or s.Word())
        start = max(len(values) + start, 0) if start < 0 else start
        if part.second is None:
            return values[start:]
        length = self.arithmetic(part.second)
        if length < 0:
            raise ExpansionFault(f"{length}: substring expression < 0")
        return values[start : start + length]

    def single(self, part: s.Parameter) -> list[list[Piece]]:
        """Expand a parameter that has one value."""
        value = self.value(part.name, self.key(part))
        if part.operator.lstrip(":") in ("-", "=", "+", "?") and part.operator:
            operated = self.default(part, value)
            if operated is not None:
                return operated
        elif value is None and self.host.no_unset:
            raise ExpansionFault(f"{part.name}: unbound variable")
        if part.length:
            return [[(str(len(value or "")), part.quoted)]]
        if part.operator == ":":
            return [[(self.substring(value or "", part), part.quoted)]]
        if part.operator and part.operator.lstrip(":") not in ("-", "=", "+", "?"):
            value = self.edit(value or "", part)
        return [[(value or "", part.quoted)]]

    def default(self, part: s.Parameter, value: str | None) -> list[list[Piece]] | None:
        """Expand `:-`, `:=`, `:+`, `:?` and their like; `None` where the value itself stands."""
        operator, argument = part.operator[-1], part.argument or s.Word()
        empty = value is None or (part.operator[0] == ":" and value == "")
        if operator == "+":
            return [[("", part.quoted)]] if empty else self._inner(argument, part.quoted)
        if not empty:
            return None
        if operator == "-":
            return self._inner(argument, part.quoted)
        text = self.text(argument)
        if operator == "?":
            raise ExpansionFault(f"{part.name}: {text or 'parameter null or not set'}")
        self.host.variables.set(part.name, text, self.key(part))
        return [[(text, part.quoted)]]

    def _inner(self, word: s.Word, quoted: bool) -> list[list[Piece]]:
        row = [
            piece for i, part in enumerate(word.parts) for pieces in self.part(part, first=i == 0) for piece in pieces
        ]
        return [[(text, quoted or q) for text, q in row] or [("", quoted)]]

    def substring(self, value: str, part: s.Parameter) -> str:
        """Return `${x:offset:length}`."""
        start = self.arithmetic(part.argument or s.Word())
        start = len(value) + start if start < 0 else start
        if not 0 <= start <= len(value):
            return ""
        if part.second is None:
            return value[start:]
        length = self.arithmetic(part.second)
        end = start + length if length >= 0 else len(value) + length
        if end < start and length < 0:
            raise ExpansionFault(f"{length}: substring expression < 0")
        return value[start:end]

    def edit(self, value: str, part: s.Parameter) -> str:
        """Return a value after `#`, `%`, `/`, `^`, `,` or `@`."""
        operator = part.operator
        pattern = self.pattern(part.argument or s.Word())
        self.host.meter.charge(len(value))
        try:
            if operator in ("#", "##", "%", "%%"):
                return trimmed(value, pattern, operator)
            if operator.startswith("/"):
                return self.replaced(value, pattern, part)
        except PatternError:
            return value
        if operator[0] in "^,":
            change = str.upper if operator[0] == "^" else str.lower
            matches = glob(pattern or "?")
            limit = len(value) if len(operator) == 2 else 1
            return "".join(change(c) if i < limit and matches.fullmatch(c) else c for i, c in enumerate(value))
        return {
            "U": value.upper(),
            "L": value.lower(),
            "u": value[:1].upper() + value[1:],
            "Q": "'" + value.replace("'", "'\\''") + "'",
        }.get(pattern, value)

    def replaced(self, value: str, pattern: str, part: s.Parameter) -> str:
        """Return `${x/pattern/text}`."""
        if not pattern:
            return value
        text = self.text(part.second) if part.second else ""
        regex = glob_search(pattern, part.operator == "/#", part.operator == "/%")
        every = part.operator == "//"
        return regex.replaced(value, lambda m: text if m.whole() or not every else "", 0 if every else 1)[0]

    # Globbing

    def globbed(self, pieces: list[Piece]) -> list[str]:
        """Return the paths that a field matches, or the field itself."""
        plain = "".join(text for text, _ in pieces)
        if self.host.no_glob or not any(not quoted and re.search(r"[*?\[]", text) for text, quoted in pieces):
            return [plain]
        pattern = "".join(re.sub(r"([*?\[\]\\-])", r"\\\1", text) if quoted else text for text, quoted in pieces)
        return matching_paths(self.host.files, self.host.cwd, pattern, self.host.meter) or [plain]
