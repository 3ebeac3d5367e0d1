"""From text to commands: a recursive descent over characters, since what a character means in bash depends on where it stands.

Here-documents are collected at the end of the line that names them. Nesting is bounded. It does not know aliases, `select`,
`coproc`, extended globs and history.
"""

from __future__ import annotations

import re

from ..meter import MAX_NESTING, MAX_SOURCE
from . import syntax as s
from .words import WordReader

RESERVED = {"if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac", "{", "}", "!", "[[", "function", "in"}
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)(\+?=|\[)", re.ASCII)
REDIRECT = re.compile(r"(\d*)(<<<|<<-|<<|<>|<&|>>|>&|>\||&>>|&>|<(?!\()|>(?!\())")
UNARY = {f"-{letter}" for letter in "abcdefghknoprstuvwxzGLNOS"}
BINARY = {"=", "==", "!=", "=~", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"}


class Parser(WordReader):
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
            elif not (self.at_end() or self.peek() in "\n)" or self.keyword() in stops or self.text.startswith((";;", ";&"), self.pos)):
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
        reader = {"if": self.if_, "for": self.for_, "while": self.while_, "until": self.while_, "case": self.case, "{": self.group, "[[": self.condition, "function": self.function}.get(word)
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
        both = operator in ("&>", "&>>") or (operator == ">&" and not fd and not re.fullmatch(r"\d+-?|-", target.literal() or "-"))
        if both:
            return [s.Redirect(1, ">>" if operator == "&>>" else ">", target), s.Redirect(2, ">&", s.Word((s.Literal("1"),)))]
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
            return s.Parameter(part.name, part.index, part.operator, part.argument, part.second, part.length, part.indirect, True)
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
        operator = next((o for o in sorted(BINARY, key=len, reverse=True) if self.text.startswith(o, self.pos) and self.text[self.pos + len(o) : self.pos + len(o) + 1] in (" ", "\t", "\n")), "")
        if not operator:
            return s.Condition("", (first,))
        self.pos += len(operator)
        self.blanks()
        right = self.regex() if operator == "=~" else self.word()
        if right is None:
            raise self.error()
        return s.Condition(operator, (first, right))


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
