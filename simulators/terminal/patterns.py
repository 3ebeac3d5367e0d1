"""Patterns: shell globs and POSIX regular expressions as Python's.

Differences that remain: of several alternatives the first that matches is taken, not the longest; a repeated group that can match its own
repetition in many ways (`(a*)*`) is refused, since Python would search without end.
"""

from __future__ import annotations

import re
from functools import lru_cache

CLASSES = {
    "alpha": "a-zA-Z", "digit": "0-9", "alnum": "a-zA-Z0-9", "upper": "A-Z", "lower": "a-z", "space": r" \t\n\r\f\v", "blank": r" \t",
    "punct": r"!-/:-@\[-`{-~", "print": " -~", "graph": "!-~", "cntrl": r"\x00-\x1f\x7f", "xdigit": "0-9A-Fa-f", "word": r"\w",
}  # fmt: skip
INTERVAL = re.compile(r"\{(\d*)(,?)(\d*)\}")
# Largest count in an interval, as RE_DUP_MAX of glibc, but small enough to compile fast.
MAX_REPEAT = 1_000


class PatternError(ValueError):
    """A pattern that is none; the message is grep's."""


def bracket(text: str, start: int, negations: str = "!^") -> tuple[str, int] | None:
    """Return the Python form of the bracket expression that begins at `start`, and where it ends; `None` if it does not end."""
    i = start + 1
    negated = bool(text[i : i + 1]) and text[i] in negations
    i += negated
    body = ""
    first = True
    while i < len(text):
        if text[i] == "]" and not first:
            return f"[{'^' if negated else ''}{body}]", i + 1
        name = re.compile(r"\[:(\w+):\]").match(text, i)
        if name and name[1] in CLASSES:
            body += CLASSES[name[1]]
            i = name.end()
        else:
            body += text[i] if text[i] == "-" and not first and text[i + 1 : i + 2] != "]" else re.escape(text[i])
            i += 1
        first = False
    return None


@lru_cache(maxsize=512)
def glob(pattern: str) -> re.Pattern[str]:
    """Return a compiled shell pattern that matches whole texts; a backslash makes the next character ordinary."""
    out: list[str] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char == "*":
            while pattern[i + 1 : i + 2] == "*":
                i += 1
            out.append(".*")
        elif char == "?":
            out.append(".")
        elif char == "[" and (found := bracket(pattern, i)):
            out.append(found[0])
            i = found[1] - 1
        elif char == "\\" and i + 1 < len(pattern):
            i += 1
            out.append(re.escape(pattern[i]))
        else:
            out.append(re.escape(char))
        i += 1
    # A star may take the shortest text that lets the next part match: with "atomic" parts the search is linear.
    source = "".join(out)
    if source.count(".*") > 1:
        first, *middle, last = source.split(".*")
        source = first + "".join(f"(?>.*?{part})" for part in middle) + ".*" + last
    return _compile(source, re.DOTALL)


def glob_search(pattern: str) -> str:
    """Return the Python source of a shell pattern for `${x#p}` and `${x/p/r}`, unanchored, stars greedy."""
    out: list[str] = []
    i = 0
    while i < len(pattern):
        char = pattern[i]
        if char in "*?":
            out.append({"*": ".*", "?": "."}[char])
        elif char == "[" and (found := bracket(pattern, i)):
            out.append(found[0])
            i = found[1] - 1
        else:
            if char == "\\" and i + 1 < len(pattern):
                i += 1
            out.append(re.escape(pattern[i]))
        i += 1
    return re.sub(r"(\.\*){2,}", ".*", "".join(out))


def is_glob(pattern: str) -> bool:
    """Tell whether a pattern (quoted characters escaped) has an active special character."""
    return bool(re.search(r"[*?\[]", re.sub(r"\\.", "", pattern, flags=re.DOTALL)))


def _compile(source: str, flags: int) -> re.Pattern[str]:
    try:
        return re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise PatternError(f"Invalid regular expression: {error}") from None


@lru_cache(maxsize=512)
def posix(pattern: str, extended: bool = False, ignore_case: bool = False, whole: str = "") -> re.Pattern[str]:
    """Return a compiled basic or extended regular expression with GNU's additions.

    Args:
        pattern: The expression; several lines are alternatives.
        extended: Whether `( ) { } + ? |` are special without a backslash.
        ignore_case: Whether letters match both cases.
        whole: "x" to match whole lines only, "w" whole words only.

    Raises:
        PatternError: If it is malformed or would search without end.
    """
    source = "|".join(_Translator(line, extended).run() for line in pattern.split("\n"))
    if whole:
        source = rf"\A(?:{source})\Z" if whole == "x" else rf"(?<!\w)(?:{source})(?!\w)"
    return _compile(source, (re.IGNORECASE if ignore_case else 0) | re.ASCII)


class _Translator:
    """One expression on its way to Python's form."""

    def __init__(self, text: str, extended: bool) -> None:
        self.text = text
        self.extended = extended
        self.i = 0
        self.out: list[str] = []
        # Per open group: does it hold an unbounded repetition, and something that must match besides?
        self.groups: list[list[bool]] = [[False, False]]
        self.closed: list[bool] | None = None

    def run(self) -> str:
        """Translate everything."""
        while self.i < len(self.text):
            self.step()
        if len(self.groups) > 1:
            raise PatternError("Unmatched ( or \\(")
        return "".join(self.out)

    def starts(self) -> bool:
        """Tell whether an atom may only begin here: at the start, after `(` or `|`."""
        return not self.out or self.out[-1] in ("(", "|", r"\A")

    def step(self) -> None:
        """Translate one token."""
        char = self.text[self.i]
        token = self.text[self.i : self.i + 2] if char == "\\" else char
        bare = token[-1]
        special = (len(token) == 1) == self.extended and bare in "(){}+?|"
        self.i += len(token)
        if special and bare == "(":
            self.groups.append([False, False])
            self.out.append("(")
        elif special and bare == ")" and len(self.groups) > 1:
            self.closed = self.groups.pop()
            self.out.append(")")
        elif special and bare == ")":
            raise PatternError("Unmatched ) or \\)")
        elif special and bare == "|":
            self.out.append("|")
        elif (special and bare in "+?{") or char == "*":
            self.repeat(bare)
        elif char == "[":
            self.set()
        elif len(token) == 2:
            self.escape(bare)
        elif char == "^" and (self.extended or self.starts()):
            self.out.append(r"\A")
        elif char == "$" and (self.extended or self.i == len(self.text) or self.text.startswith((r"\)", r"\|"), self.i)):
            self.out.append(r"\Z")
        else:
            self.atom("." if char == "." else re.escape(char))

    def atom(self, source: str) -> None:
        """Add something that matches by itself."""
        self.out.append(source)
        self.closed = None
        self.groups[-1][1] = True

    def set(self) -> None:
        """Translate a bracket expression."""
        found = bracket(self.text, self.i - 1, negations="^")
        if found is None:
            raise PatternError("Unmatched [, [^, [:, [., or [=")
        body, self.i = found
        self.atom(body)

    def escape(self, char: str) -> None:
        """Translate a backslash and a character."""
        if char == "\\" and self.i > len(self.text):
            raise PatternError("Trailing backslash")
        known = {"<": r"\b(?=\w)", ">": r"\b(?<=\w)", "b": r"\b", "B": r"\B", "w": r"\w", "W": r"\W", "s": r"\s", "S": r"\S", "n": r"\n", "t": r"\t", "`": r"\A", "'": r"\Z"}
        if char.isdigit() and char != "0":
            if int(char) > sum(1 for part in self.out if part == "("):
                raise PatternError("Invalid back reference")
            self.out.append(f"(?:\\{char})")
        elif char in "<>bB`'":
            self.out.append(known[char])
        else:
            self.atom(known.get(char) or re.escape(char))

    def repeat(self, char: str) -> None:
        """Translate `*`, `+`, `?` or an interval."""
        if self.starts():
            if char == "*" or not self.extended:
                return self.atom(re.escape(char))
            if char == "{":
                return self.atom(re.escape(char))
            raise PatternError("Invalid preceding regular expression")
        if char == "{":
            source = self.interval()
            if source is None:
                return self.atom(r"\{")
        else:
            source = char
        endless = source in ("*", "+") or source.endswith(",}")
        if endless and self.closed is not None and self.closed[0] and not self.closed[1]:
            raise PatternError("Regular expression too complex: a repetition of a repetition")
        if self.out[-1][-1:] in "*+?}" and self.out[-1] in ("*", "+", "?") or self.out[-1].startswith("{"):
            self._wrap()
        self.out.append(source)
        if endless:
            self.groups[-1][0] = True
            if self.closed is None:
                self.groups[-1][1] = self._others()
        self.closed = None
        return None

    def _others(self) -> bool:
        """Tell whether the open group holds an atom that must match and is not repeated (a cautious guess from its tokens)."""
        depth, tokens = 0, 0
        for i in range(len(self.out) - 1, -1, -1):
            part = self.out[i]
            if part == "(" and depth == 0:
                break
            depth += (part == ")") - (part == "(")
            if part not in ("(", ")", "|", "*", "+", "?") and not part.startswith("{"):
                following = self.out[i + 1] if i + 1 < len(self.out) else ""
                tokens += following not in ("*", "?")
        return tokens - (self.out[-1] == "+") > 0

    def _wrap(self) -> None:
        """Put the last repeated atom into a group, since Python reads `a*+` and `a+?` in another way."""
        i = len(self.out) - 2
        depth = 0
        while i >= 0:
            depth += (self.out[i] == ")") - (self.out[i] == "(")
            if depth == 0:
                break
            i -= 1
        self.out.insert(max(i, 0), "(?:")
        self.out.append(")")

    def interval(self) -> str | None:
        r"""Translate `{n,m}` (or `\{n,m\}`) behind the brace that was just read; `None` where it is none."""
        close = "}" if self.extended else "\\}"
        end = self.text.find(close, self.i)
        match = INTERVAL.fullmatch("{" + self.text[self.i : end] + "}") if end >= 0 else None
        if not match or not (match[1] or match[2]):
            if self.extended:
                return None
            raise PatternError("Unmatched \\{" if end < 0 else "Invalid content of \\{\\}")
        low, high = int(match[1] or 0), int(match[3]) if match[3] else None
        if max(low, high or 0) > MAX_REPEAT or (high is not None and high < low):
            raise PatternError("Regular expression too big" if high is None or high >= low else "Invalid content of \\{\\}")
        self.i = end + len(close)
        return f"{{{low},{'' if high is None else high}}}" if match[2] else f"{{{low}}}"
