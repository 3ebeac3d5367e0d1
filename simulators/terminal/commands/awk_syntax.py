"""From an awk program's text to rules, functions and statements: tuples `("kind", ...)` whose meaning is in `awk`.

It does not know user pipes (`|`, `|&`), `getline` from commands, and `@include`.
"""

from __future__ import annotations

from .awk_expressions import ExpressionReader, Tree
from .base import Usage


class AwkParser(ExpressionReader):
    """Reads one program."""

    def program(self) -> tuple[list[Tree], dict[str, tuple[list[str], Tree]]]:
        """Return (rules, functions): a rule is `(kind, first, last, body)`."""
        rules: list[Tree] = []
        functions: dict[str, tuple[list[str], Tree]] = {}
        self.newlines()
        while self.kind() != "end":
            if self.accept("function", "func"):
                name, params, body = self.function()
                functions[name] = (params, body)
            else:
                rules.append(self.rule())
            self.newlines()
        return rules, functions

    def function(self) -> tuple[str, list[str], Tree]:
        """Read a function."""
        if self.kind() not in ("name", "call"):
            self.expect("a name")
        name = self.tokens[self.i][1]
        self.i += 1
        self.expect("(")
        params: list[str] = []
        while not self.accept(")"):
            if self.kind() != "name":
                self.expect(")")
            params.append(self.tokens[self.i][1])
            self.i += 1
            self.accept(",")
        self.blank()
        return name, params, self.block()

    def rule(self) -> Tree:
        """Read a pattern with its action."""
        if word := self.accept("BEGIN", "END"):
            self.blank()
            return (word, None, None, self.block())
        first = last = None
        if self.peek() != "{":
            first = self.expression()
            if self.accept(","):
                self.blank()
                last = self.expression()
        body = self.block() if self.peek() == "{" else None
        return ("rule", first, last, body)

    def block(self) -> Tree:
        """Read `{ ... }`."""
        self.expect("{")
        self.enter()
        body: list[Tree] = []
        self.newlines()
        while not self.accept("}"):
            body.append(self.statement())
            self.newlines()
        self.depth -= 1
        return ("block", body)

    def simple_end(self) -> None:
        """Skip what ends a simple statement."""
        if self.peek() not in ("}", "") and not self.accept(";", "\n"):
            self.expect(";")

    def statement(self) -> Tree:
        """Read a statement."""
        self.enter()
        try:
            return self._statement()
        finally:
            self.depth -= 1

    def _statement(self) -> Tree:
        if self.peek() == "{":
            return self.block()
        if self.accept("if"):
            return self.if_()
        if self.accept("while"):
            test = self.parenthesised()
            if self.accept(";"):
                return ("while", test, ("block", []))
            return ("while", test, self.body())
        if self.accept("do"):
            body = self.body()
            self.newlines()
            self.expect("while")
            test = self.parenthesised()
            self.simple_end()
            return ("do", body, test)
        if self.accept("for"):
            return self.for_()
        if self.accept(";"):
            return ("block", [])
        found = self.simple()
        self.simple_end()
        return found

    def parenthesised(self) -> Tree:
        """Read an expression in brackets."""
        self.expect("(")
        test = self.expression()
        self.expect(")")
        return test

    def body(self) -> Tree:
        """Read the statement of a loop or condition."""
        self.blank()
        return self.statement()

    def if_(self) -> Tree:
        """Read `if`."""
        test = self.parenthesised()
        yes = self.body()
        mark = self.i
        self.newlines()
        if self.accept("else"):
            return ("if", test, yes, self.body())
        self.i = mark
        return ("if", test, yes, None)

    def for_(self) -> Tree:
        """Read `for`."""
        self.expect("(")
        if (
            self.kind() == "name"
            and self.peek(1) == "in"
            and self.tokens[self.i + 2][0] == "name"
            and self.peek(3) == ")"
        ):
            name, array = self.tokens[self.i][1], self.tokens[self.i + 2][1]
            self.i += 4
            return ("each", name, array, self.body())
        start = None if self.peek() == ";" else self.simple()
        self.expect(";")
        test = None if self.peek() == ";" else self.expression()
        self.expect(";")
        step = None if self.peek() == ")" else self.simple()
        self.expect(")")
        if self.accept(";"):
            return ("for", start, test, step, ("block", []))
        return ("for", start, test, step, self.body())

    def simple(self) -> Tree:
        """Read a simple statement."""
        if word := self.accept("print", "printf"):
            return self.print_(word)
        if word := self.accept("next", "nextfile", "break", "continue"):
            return (word,)
        if word := self.accept("exit", "return"):
            return (word, None if self.peek() in (";", "}", "\n") or self.kind() == "end" else self.expression())
        if self.accept("delete"):
            name = self.tokens[self.i][1]
            self.i += 1
            if self.accept("["):
                keys = self.list("]")
                return ("delete", name, keys)
            return ("delete", name, None)
        return ("expr", self.expression())

    def print_(self, word: str) -> Tree:
        """Read `print` or `printf`."""
        before, self.no_gt = self.no_gt, True
        args: list[Tree] = []
        if self.peek() not in (";", "}", "\n", ">", ">>", "|") and self.kind() != "end":
            args.append(self.expression())
            while self.accept(","):
                self.blank()
                args.append(self.expression())
            if len(args) == 1 and args[0][0] == "group" and len(args[0][1]) > 1:
                args = args[0][1]
        self.no_gt = before
        operator = self.accept(">", ">>")
        if self.peek() == "|":
            raise Usage("pipes are not available in this awk")
        target = self.concatenation() if operator else None
        return (word, args, operator, target)


__all__ = ["AwkParser", "Tree"]
