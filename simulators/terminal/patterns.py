"""How patterns are written: shell globs and POSIX regular expressions, read into trees for `regex`.

It differs from POSIX where several alternatives match at the same place: the first is taken, not the longest.
"""

from __future__ import annotations

import re
from functools import lru_cache

from .meter import MAX_NESTING
from .regex import Again, Edge, Either, Group, Node, One, Pattern, PatternError, Repeat, Row

CLASSES = {
    "alpha": "a-zA-Z",
    "digit": "0-9",
    "alnum": "a-zA-Z0-9",
    "upper": "A-Z",
    "lower": "a-z",
    "space": r" \t\n\r\f\v",
    "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~",
    "print": " -~",
    "graph": "!-~",
    "cntrl": r"\x00-\x1f\x7f",
    "xdigit": "0-9A-Fa-f",
    "word": r"\w",
}
INTERVAL = re.compile(r"(\d{0,6})(,?)(\d{0,6})")
# Largest count in an interval; RE_DUP_MAX of glibc is 32767.
MAX_REPEAT = 1_000
EDGES = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "b": r"\b", "B": r"\B", "`": r"\A", "'": r"\Z"}
LETTERS = {"w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S", "n": r"\n", "t": r"\t"}
ANY = Repeat(One("."), 0, None)


def bracket(text: str, start: int, negations: str = "!^") -> tuple[str, int] | None:
    """Return the Python form of the bracket expression at `start` and where it ends, or `None` if it does not end."""
    i = start + 1
    negated = bool(text[i : i + 1]) and text[i] in negations
    i += negated
    body = ""
    first = True
    while i < len(text):
        if text[i] == "]" and not first:
            return (f"[{'^' if negated else ''}{body}]" if _valid(body) else "(?!)"), i + 1
        name = re.compile(r"\[:(\w+):\]").match(text, i)
        if name and name[1] in CLASSES:
            body += CLASSES[name[1]]
            i = name.end()
        else:
            is_range = text[i] == "-" and not first and text[i + 1 : i + 2] not in ("]", "")
            body += "-" if is_range else re.escape(text[i])
            i += 1
        first = False
    return None


def _valid(body: str) -> bool:
    try:
        re.compile(f"[{body}]")
    except re.error:
        return False
    return True


# Shell globs


def glob_tree(pattern: str) -> Row:
    """Return a glob as a tree; a backslash makes the next character ordinary."""
    parts: list[Node] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            if not parts or parts[-1] != ANY:
                parts.append(ANY)
        elif char == "?":
            parts.append(One("."))
        elif char == "[" and (found := bracket(pattern, i)):
            parts.append(One(found[0]))
            i = found[1] - 1
        else:
            if char == "\\" and i + 1 < len(pattern):
                i += 1
            parts.append(One(re.escape(pattern[i])))
        i += 1
    return Row(tuple(parts))


@lru_cache(maxsize=512)
def glob(pattern: str) -> re.Pattern[str]:
    """Return a compiled glob for `fullmatch`.

    Each star but the last takes the shortest text that lets the next part match, so that nothing is searched twice.
    """
    pieces: list[list[str]] = [[]]
    for part in glob_tree(pattern).parts:
        if part == ANY:
            pieces.append([])
        elif isinstance(part, One):
            pieces[-1].append(part.source)
    first, *middle = ["".join(piece) for piece in pieces]
    if not middle:
        return re.compile(first, re.DOTALL)
    return re.compile(first + "".join(f"(?>.*?{part})" for part in middle[:-1]) + ".*" + middle[-1], re.DOTALL)


@lru_cache(maxsize=512)
def glob_search(pattern: str, at_start: bool = False, at_end: bool = False) -> Pattern:
    """Return a glob that is searched within a text, as `${x/pattern/text}` does."""
    edges = (Edge(r"\A"),) * at_start, (Edge(r"\Z"),) * at_end
    return Pattern(Row((*edges[0], *glob_tree(pattern).parts, *edges[1])), re.DOTALL)


def is_glob(pattern: str) -> bool:
    """Tell whether a pattern (quoted characters escaped) has an active special character."""
    return bool(re.search(r"[*?\[]", re.sub(r"\\.", "", pattern, flags=re.DOTALL)))


# Regular expressions


@lru_cache(maxsize=512)
def posix(pattern: str, extended: bool = False, ignore_case: bool = False, whole: str = "") -> Pattern:
    """Return a compiled basic or extended regular expression with GNU's additions.

    Args:
        pattern: The expression; several lines are alternatives.
        extended: Whether `( ) { } + ? |` are special without a backslash.
        ignore_case: Whether letters match both cases.
        whole: "x" to match whole lines only, "w" whole words only, "^" at the beginning only.

    Raises:
        PatternError: If it is malformed or too large.
    """
    reader = _Reader(extended)
    return finished([reader.read(line) for line in pattern.split("\n")], ignore_case, whole)


@lru_cache(maxsize=512)
def fixed(texts: tuple[str, ...], ignore_case: bool = False, whole: str = "") -> Pattern:
    """Return a pattern that finds any of some texts as they are."""
    trees: list[Node] = [Row(tuple(One(re.escape(c)) for c in text)) for text in texts]
    return finished(trees or [Edge("(?!)")], ignore_case, whole)


def finished(trees: list[Node], ignore_case: bool, whole: str) -> Pattern:
    """Return the pattern of some alternatives, see `posix`."""
    tree = trees[0] if len(trees) == 1 else Either(tuple(trees))
    if whole:
        before, after = {"x": (r"\A", r"\Z"), "w": (r"(?<!\w)", r"(?!\w)"), "^": (r"\A", "")}[whole]
        tree = Row((Edge(before), tree, Edge(after)))
    return Pattern(tree, (re.IGNORECASE if ignore_case else 0) | re.ASCII)


class _Reader:
    """Reads expressions; group numbers go on from one to the next."""

    def __init__(self, extended: bool) -> None:
        self.extended = extended
        self.groups = 0
        self.text, self.i, self.depth = "", 0, 0

    def read(self, text: str) -> Node:
        """Return the tree of one expression."""
        self.text, self.i = text, 0
        tree = self.either()
        if self.i < len(text):
            raise PatternError("Unmatched ) or \\)")
        return tree

    def token(self) -> tuple[str, bool]:
        """Return the next token, and whether it is one of the operators that basic expressions escape."""
        char = self.text[self.i : self.i + 1]
        lexeme = self.text[self.i : self.i + 2] if char == "\\" else char
        return lexeme, bool(lexeme) and lexeme[-1] in "(){}+?|" and (len(lexeme) == 1) == self.extended

    def operator(self) -> str:
        """Return the operator that stands here, or ""."""
        lexeme, special = self.token()
        return lexeme[-1] if special else ""

    def either(self) -> Node:
        self.depth += 1
        if self.depth > MAX_NESTING:
            raise PatternError("Regular expression too big")
        parts = [self.row()]
        while self.operator() == "|":
            self.i += len(self.token()[0])
            parts.append(self.row())
        self.depth -= 1
        return parts[0] if len(parts) == 1 else Either(tuple(parts))

    def row(self) -> Node:
        parts: list[Node] = []
        start = True
        while self.i < len(self.text):
            operator = self.operator()
            if operator == "|" or (operator == ")" and self.depth > 1):
                break
            part = self.atom(start)
            while counts := self.repetition(start and isinstance(part, Edge)):
                part = Repeat(part, *counts)
            parts.append(part)
            start = start and part == Edge(r"\A") and not self.extended
        return Row(tuple(parts))

    def atom(self, start: bool) -> Node:
        lexeme, special = self.token()
        if special and lexeme[-1] == "(":
            return self.group(len(lexeme))
        if special and lexeme[-1] == ")":
            raise PatternError("Unmatched ) or \\)")
        if start and self.extended and lexeme in ("+", "?"):
            raise PatternError("Invalid preceding regular expression")
        self.i += len(lexeme)
        if lexeme == "[":
            found = bracket(self.text, self.i - 1, negations="^")
            if found is None:
                raise PatternError("Unmatched [, [^, [:, [., or [=")
            self.i = found[1]
            return One(found[0])
        if lexeme == "^" and (self.extended or start):
            return Edge(r"\A")
        if lexeme == "$" and (
            self.extended or self.i == len(self.text) or self.text.startswith((r"\)", r"\|"), self.i)
        ):
            return Edge(r"\Z")
        if lexeme == ".":
            return One(".")
        if lexeme == "\\":
            raise PatternError("Trailing backslash")
        return self.escape(lexeme[1]) if len(lexeme) == 2 else One(re.escape(lexeme))

    def group(self, size: int) -> Node:
        self.i += size
        self.groups += 1
        number = self.groups
        inside = self.either()
        if self.operator() != ")":
            raise PatternError("Unmatched ( or \\(")
        self.i += size
        return Group(number, inside)

    def escape(self, char: str) -> Node:
        if char.isdigit() and char != "0":
            if int(char) > self.groups:
                raise PatternError("Invalid back reference")
            return Again(int(char))
        return Edge(EDGES[char]) if char in EDGES else One(LETTERS.get(char) or re.escape(char))

    def repetition(self, nothing_before: bool) -> tuple[int, int | None] | None:
        """Return the least and the greatest count, if a repetition stands here."""
        lexeme, special = self.token()
        counts: tuple[int, int | None] | None = None
        if lexeme == "*" and not nothing_before:
            counts = (0, None)
            self.i += 1
        elif special and lexeme[-1] in "+?" and not nothing_before:
            counts = (1, None) if lexeme[-1] == "+" else (0, 1)
            self.i += len(lexeme)
        elif special and lexeme[-1] == "{" and not nothing_before:
            counts = self.interval(len(lexeme))
        return counts

    def interval(self, size: int) -> tuple[int, int | None] | None:
        r"""Read `{n,m}` or `\{n,m\}`; `None` where the brace is an ordinary character."""
        close = "}" if self.extended else "\\}"
        end = self.text.find(close, self.i + size)
        match = INTERVAL.fullmatch(self.text[self.i + size : end]) if end >= 0 else None
        if not match or not (match[1] or match[2]):
            if self.extended:
                return None
            raise PatternError("Unmatched \\{" if end < 0 else "Invalid content of \\{\\}")
        low = int(match[1] or 0)
        high = int(match[3]) if match[3] else None if match[2] else low
        if high is not None and high < low:
            raise PatternError("Invalid content of \\{\\}")
        if max(low, high or 0) > MAX_REPEAT:
            raise PatternError("Regular expression too big")
        self.i = end + len(close)
        return low, high


@lru_cache(maxsize=128)
def perl(pattern: str, ignore_case: bool = False, whole: str = "") -> Pattern:
    """Return a compiled pattern of `grep -P`, by Python's own rules.

    Raises:
        PatternError: If it is malformed, or repeats a group, which Python might search without end.
    """
    if re.search(r"(?<!\\)\)(?:[*+]|\{\d*,)", pattern) or len(re.findall(r"[*+]|\{\d*,", pattern)) > 4:
        raise PatternError("Regular expression too complex for -P: use -E")
    body = f"(?:{pattern})"
    source = rf"\A{body}\Z" if whole == "x" else rf"(?<!\w){body}(?!\w)" if whole else body
    return Pattern(One(source), (re.IGNORECASE if ignore_case else 0) | re.ASCII)


__all__ = ["Pattern", "PatternError", "bracket", "fixed", "glob", "glob_search", "is_glob", "perl", "posix"]
