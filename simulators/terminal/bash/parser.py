"""From text to commands: a recursive descent over characters, whose meaning in bash depends on their place.

Here-documents are collected at the end of the line that names them. Nesting is bounded. It does not know aliases,
`select`, `coproc`, extended globs and history.
"""

from __future__ import annotations

import re

from ..meter import MAX_NESTING, MAX_SOURCE
from . import syntax as s
from .compound import CompoundReader

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?=|\[)", re.ASCII)
REDIRECT = re.compile(r"(\d*)(<<<|<<-|<<|<>|<&|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())")


class Parser(CompoundReader):
    """Reads one program; see `parse`."""

    def program(self) -> s.Sequence:
        """Read everything."""
        body = self.sequence(set())
        if not self.at_end():
            raise self.error()
        return body

    def substituted(self, close: str) -> s.Sequence:
        """Read a program up to and with the closing text, for `$(...)`."""
        self.enter()
        body = self.sequence(set())
        self.expect(close)
        self.depth -= 1
        return body

    # Lists

    def sequence(self, stops: set[str]) -> s.Sequence:
        """Read chains until a reserved word of `stops`, a closing bracket or the end."""
        chains: list[s.Chain] = []
        while True:
            self.newlines()
            if self.at_end() or self.peek() == ")" or self.keyword() in stops or self.text.startswith(";;", self.pos):
                break
            chain = self.chain()
            self.blanks()
            if self.peek() == "&":
                chain = s.Chain(chain.links, background=True)
                self.pos += 1
            elif self.peek() == ";" and not self.text.startswith((";;", ";&"), self.pos):
                self.pos += 1
            elif not (
                self.at_end()
                or self.peek() in "\n)"
                or self.keyword() in stops
                or self.text.startswith((";;", ";&"), self.pos)
            ):
                raise self.error()
            chains.append(chain)
        return s.Sequence(tuple(chains))

    def body(self, *stops: str) -> s.Sequence:
        """Read a sequence that may not be empty."""
        found = self.sequence(set(stops))
        if not found.chains:
            raise self.error()
        return found

    def chain(self) -> s.Chain:
        """Read pipelines joined by `&&` and `||`."""
        links = [("", self.pipeline())]
        while True:
            self.blanks()
            operator = self.text[self.pos : self.pos + 2]
            if operator not in ("&&", "||"):
                return s.Chain(tuple(links))
            self.pos += 2
            self.newlines()
            links.append((operator, self.pipeline()))

    def pipeline(self) -> s.Pipeline:
        """Read commands joined by `|`."""
        negated = False
        self.blanks()
        while self.keyword() == "!":
            self.pos += 1
            self.blanks()
            negated = not negated
        commands, merged = [self.command()], [False]
        while True:
            self.blanks()
            if self.peek() != "|" or self.text.startswith("||", self.pos):
                return s.Pipeline(tuple(commands), tuple(merged), negated)
            self.pos += 1
            if self.peek() == "&":
                self.pos += 1
                merged[-1] = True
            self.newlines()
            commands.append(self.command())
            merged.append(False)

    # Commands

    def command(self) -> s.Command:
        """Read one command with its redirections."""
        self.enter()
        word = self.keyword()
        reader = {
            "if": self.if_,
            "for": self.for_,
            "while": self.while_,
            "until": self.while_,
            "case": self.case,
            "{": self.group,
            "[[": self.condition,
            "function": self.function,
        }.get(word)
        if reader:
            found = reader()
        elif self.text.startswith("((", self.pos) and (calculation := self.calculation()):
            found = calculation
        elif self.peek() == "(":
            self.pos += 1
            found = s.Subshell(self.body())
            self.expect(")")
        elif word:
            raise self.error()
        else:
            self.depth -= 1
            return self.simple()
        redirects = self.redirects()
        self.depth -= 1
        return s.Redirected(found, tuple(redirects)) if redirects else found

    def redirects(self) -> list[s.Redirect]:
        """Read redirections, as many as there are."""
        found: list[s.Redirect] = []
        self.blanks()
        while redirect := self.redirect():
            found += redirect
            self.blanks()
        return found

    def redirect(self) -> list[s.Redirect]:
        """Read one redirection, if there is one (`&>` counts as two)."""
        match = REDIRECT.match(self.text, self.pos)
        if not match or (match[1] and match[2].startswith("&")):
            return []
        self.pos = match.end()
        fd, operator = match[1], match[2]
        if operator in ("<<", "<<-"):
            return [self.here_document(int(fd or 0), operator == "<<-")]
        self.blanks()
        target = self.word()
        if target is None:
            raise self.error()
        number = int(fd) if fd and len(fd) < 4 else 0 if operator.startswith("<") else 1
        both = operator in ("&>", "&>>") or (
            operator == ">&" and not fd and not re.fullmatch(r"\d+-?|-", target.literal() or "-")
        )
        if both:
            return [
                s.Redirect(1, ">>" if operator == "&>>" else ">", target),
                s.Redirect(2, ">&", s.Word((s.Literal("1"),))),
            ]
        return [s.Redirect(number, operator, target)]

    def simple(self) -> s.Command:
        """Read a simple command or a function definition."""
        assignments: list[s.Assignment] = []
        words: list[s.Word] = []
        redirects: list[s.Redirect] = []
        while True:
            self.blanks()
            if redirect := self.redirect():
                redirects += redirect
            elif not words and (assignment := self.assignment()):
                assignments.append(assignment)
            elif word := self.word():
                words.append(word)
                if words[0].literal() in ("declare", "local", "export", "typeset", "readonly") and len(words) > 0:
                    words += self.declared()
            elif self.peek() == "(" and len(words) == 1 and not assignments and (name := words[0].literal()):
                return self.function_body(name)
            else:
                break
        if not (assignments or words or redirects):
            raise self.error()
        return s.Simple(tuple(assignments), tuple(words), tuple(redirects))

    def declared(self) -> list[s.Word]:
        """Read the `name=(...)` operands of a declaration as words that its builtin can take apart."""
        self.blanks()
        start = self.pos
        assignment = self.assignment()
        if assignment is None or isinstance(assignment.value, s.Word):
            self.pos = start
            if assignment is not None:
                text = self.text[start:].partition("=")[0]
                self.pos = start + len(text) + 1
                value = self.word() or s.Word()
                return [s.Word((s.Literal(text + "=", quoted=True), *(self.protected(p) for p in value.parts)))]
            return []
        name = s.Literal(f"{assignment.name}{'+' if assignment.append else ''}=(", quoted=True)
        parts = [s.Word((s.Literal("\0", quoted=True), *w.parts)) for w in assignment.value]
        return [s.Word((name,)), *parts, s.Word((s.Literal("\0)", quoted=True),))]

    @staticmethod
    def protected(part: s.Part) -> s.Part:
        """Return a part as it behaves in an assignment: not split, not globbed."""
        if isinstance(part, s.Literal):
            return part if part.text.startswith("~") else s.Literal(part.text, True)
        if isinstance(part, s.Parameter):
            return s.Parameter(
                part.name, part.index, part.operator, part.argument, part.second, part.length, part.indirect, True
            )
        if isinstance(part, s.Substitution):
            return s.Substitution(part.body, True)
        return s.Arithmetic(part.expression, True) if isinstance(part, s.Arithmetic) else part

    def assignment(self) -> s.Assignment | None:
        """Read an assignment, if one stands here."""
        match = ASSIGNMENT.match(self.text, self.pos)
        if not match:
            return None
        start, index = self.pos, None
        self.pos = match.end()
        operator = match[2]
        if operator == "[":
            index = self.word(stops="]", quoted_blanks=True)
            after = re.compile(r"\](\+?=)").match(self.text, self.pos)
            if not after or index is None:
                self.pos = start
                return None
            self.pos, operator = after.end(), after[1]
        if self.peek() == "(" and index is None:
            return s.Assignment(match[1], self.array(), None, operator == "+=")
        return s.Assignment(match[1], self.word(assigned=True) or s.Word(), index, operator == "+=")

    def array(self) -> tuple[s.Word, ...]:
        """Read `(words)`."""
        self.pos += 1
        words: list[s.Word] = []
        self.newlines()
        while self.peek() != ")":
            word = self.word()
            if word is None:
                raise self.error()
            words.append(word)
            self.newlines()
        self.pos += 1
        return tuple(words)


def parse(text: str, depth: int = 0) -> s.Sequence:
    """Return the program of a text.

    Raises:
        SyntaxError: If it is none, nested too deeply, or too long; the message is bash's.
    """
    if len(text) > MAX_SOURCE:
        raise SyntaxError(f"a command of more than {MAX_SOURCE} characters")
    if depth > MAX_NESTING:
        raise SyntaxError("nested too deeply")
    return Parser(text, depth).program()
