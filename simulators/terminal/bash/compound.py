"""The part of the parser for compound commands: conditions, loops, `case`, groups, functions and `[[ ]]`."""

from __future__ import annotations

import re
from abc import abstractmethod

from . import syntax as s
from .words import WordReader

RESERVED = {
    "if",
    "then",
    "elif",
    "else",
    "fi",
    "for",
    "while",
    "until",
    "do",
    "done",
    "case",
    "esac",
    "{",
    "}",
    "!",
    "[[",
    "function",
    "in",
}
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
UNARY = {f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNOS"}
BINARY = {"=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}


class CompoundReader(WordReader):
    """Reads compound commands; lists and simple commands are left to the parser above it."""

    @abstractmethod
    def sequence(self, stops: set[str]) -> s.Sequence:
        """Read chains until a reserved word of `stops`, a closing bracket or the end."""

    @abstractmethod
    def body(self, *stops: str) -> s.Sequence:
        """Read a sequence that may not be empty."""

    @abstractmethod
    def command(self) -> s.Command:
        """Read one command with its redirections."""

    # Layout

    def blanks(self) -> None:
        """Skip blanks, continued lines and a comment, not the end of the line."""
        while True:
            if self.text.startswith("\\\n", self.pos):
                self.pos += 2
            elif self.peek() in (" ", "\t"):
                self.pos += 1
            elif self.peek() == "#" and (self.pos == 0 or self.text[self.pos - 1] in " \t\n;&|("):
                end = self.text.find("\n", self.pos)
                self.pos = len(self.text) if end < 0 else end
            else:
                return

    def newlines(self) -> None:
        """Skip blanks and ends of lines."""
        self.blanks()
        while self.peek() == "\n":
            self.end_line()
            self.blanks()

    def keyword(self) -> str:
        """Return the reserved word that stands here, or ""."""
        match = re.compile(r"[a-z]+|[{}!]|\[\[").match(self.text, self.pos)
        if not match or match[0] not in RESERVED:
            return ""
        after = self.text[match.end() : match.end() + 1]
        return match[0] if not after or after in " \t\n;&|()<>" else ""

    def take(self, word: str) -> None:
        """Skip the reserved word `word`, which must stand here."""
        self.newlines()
        if self.keyword() != word:
            raise self.error(f"`{word}' is missing")
        self.pos += len(word)

    # Compound commands

    def if_(self) -> s.Command:
        """Read `if ... fi`."""
        self.pos += 2
        branches: list[tuple[s.Sequence, s.Sequence]] = []
        otherwise = None
        while True:
            condition = self.body("then")
            self.take("then")
            branches.append((condition, self.body("elif", "else", "fi")))
            if self.keyword() != "elif":
                break
            self.pos += 4
        if self.keyword() == "else":
            self.pos += 4
            otherwise = self.body("fi")
        self.take("fi")
        return s.If(tuple(branches), otherwise)

    def for_(self) -> s.Command:
        """Read `for ... done`."""
        self.pos += 3
        self.blanks()
        if self.text.startswith("((", self.pos):
            return self.count()
        match = NAME.match(self.text, self.pos)
        if not match:
            raise self.error()
        self.pos = match.end()
        self.newlines()
        words: list[s.Word] | None = None
        if self.keyword() == "in":
            self.pos += 2
            words = []
            self.blanks()
            while word := self.word():
                words.append(word)
                self.blanks()
        return s.For(match[0], None if words is None else tuple(words), self.loop_body())

    def count(self) -> s.Command:
        """Read the head of `for ((...))` and its body."""
        self.pos += 2
        parts = self.between("))").split(";")
        if len(parts) != 3:
            raise self.error()
        start, test, step = (self.inner(part.strip()) for part in parts)
        return s.Count(start, test, step, self.loop_body())

    def loop_body(self) -> s.Sequence:
        """Read `; do ... done` (or the braces that bash allows)."""
        self.blanks()
        if self.peek() == ";":
            self.pos += 1
        self.newlines()
        if self.keyword() == "{":
            return self.group().body
        self.take("do")
        body = self.body("done")
        self.take("done")
        return body

    def while_(self) -> s.Command:
        """Read `while ... done` or `until ... done`."""
        until = self.keyword() == "until"
        self.pos += 5
        condition = self.body("do")
        return s.While(condition, self.loop_body(), until)

    def case(self) -> s.Command:
        """Read `case ... esac`."""
        self.pos += 4
        self.blanks()
        word = self.word()
        if word is None:
            raise self.error()
        self.take("in")
        clauses: list[tuple[tuple[s.Word, ...], s.Sequence, str]] = []
        self.newlines()
        while self.keyword() != "esac":
            clauses.append(self.clause())
            self.newlines()
        self.take("esac")
        return s.Case(word, tuple(clauses))

    def clause(self) -> tuple[tuple[s.Word, ...], s.Sequence, str]:
        """Read `pattern | pattern) commands ;;`."""
        if self.peek() == "(":
            self.pos += 1
        patterns: list[s.Word] = []
        while True:
            self.blanks()
            pattern = self.word()
            if pattern is None:
                raise self.error()
            patterns.append(pattern)
            self.blanks()
            if self.peek() != "|":
                break
            self.pos += 1
        self.expect(")")
        body = self.sequence({"esac"})
        end = next((t for t in (";;&", ";;", ";&") if self.text.startswith(t, self.pos)), "")
        self.pos += len(end)
        if not end and self.keyword() != "esac":
            raise self.error()
        return tuple(patterns), body, end or ";;"

    def group(self) -> s.Group:
        """Read `{ ... }`."""
        self.pos += 1
        body = self.body("}")
        self.take("}")
        return s.Group(body)

    def function(self) -> s.Command:
        """Read `function name [()] command`."""
        self.pos += 8
        self.blanks()
        name = self.word()
        text = name.literal() if name else None
        if not text:
            raise self.error()
        self.blanks()
        return self.function_body(text)

    def function_body(self, name: str) -> s.Command:
        """Read `() command`."""
        if self.peek() == "(":
            self.pos += 1
            self.blanks()
            self.expect(")")
        self.newlines()
        return s.Function(name, self.command())

    def calculation(self) -> s.Command | None:
        """Read `(( ... ))`, or nothing where the brackets are two subshells."""
        start = self.pos
        self.pos += 2
        try:
            return s.Calculation(self.inner(self.between("))")))
        except SyntaxError:
            self.pos = start
            return None

    # [[ ... ]]

    def condition(self) -> s.Command:
        """Read `[[ ... ]]`."""
        self.pos += 2
        found = self.either()
        self.newlines()
        self.expect("]]")
        return found

    def either(self) -> s.Condition:
        """Read conditions joined by `||`."""
        left = self.both()
        self.newlines()
        while self.text.startswith("||", self.pos):
            self.pos += 2
            left = s.Condition("||", (left, self.both()))
            self.newlines()
        return left

    def both(self) -> s.Condition:
        """Read conditions joined by `&&`."""
        left = self.test()
        self.newlines()
        while self.text.startswith("&&", self.pos):
            self.pos += 2
            left = s.Condition("&&", (left, self.test()))
            self.newlines()
        return left

    def test(self) -> s.Condition:
        """Read one test of `[[ ]]`."""
        self.newlines()
        self.enter()
        try:
            if self.peek() == "(":
                self.pos += 1
                inner = self.either()
                self.newlines()
                self.expect(")")
                return inner
            first = self.word()
            if first is None:
                raise self.error()
            if first.literal() == "!":
                return s.Condition("!", (self.test(),))
            return self.test_after(first)
        finally:
            self.depth -= 1

    def test_after(self, first: s.Word) -> s.Condition:
        """Read the rest of a test that begins with `first`."""
        self.blanks()
        name = first.literal()
        if name in UNARY and not self.text.startswith(("]]", "&&", "||", ")"), self.pos):
            operand = self.word()
            if operand is None:
                raise self.error()
            return s.Condition(name, (operand,))
        operator = next(
            (
                o
                for o in sorted(BINARY, key=len, reverse=True)
                if self.text.startswith(o, self.pos)
                and self.text[self.pos + len(o) : self.pos + len(o) + 1] in (" ", "\t", "\n")
            ),
            "",
        )
        if not operator:
            return s.Condition("", (first,))
        self.pos += len(operator)
        self.blanks()
        right = self.regex() if operator == "=~" else self.word()
        if right is None:
            raise self.error()
        return s.Condition(operator, (first, right))
