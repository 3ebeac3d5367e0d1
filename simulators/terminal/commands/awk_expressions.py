"""awk's tokens and expressions, read into trees: tuples `("kind", ...)`."""

from __future__ import annotations

import re
from typing import Any

from ..bash.words import unescape
from .base import Usage

TOKEN = re.compile(
    r"(?P<space>[ \t\r]+|\\\r?\n|#[^\n]*)|(?P<newline>\n)"
    r"|(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)"
    r'|(?P<string>"(?:[^"\\\n]|\\[\s\S])*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<op>\*\*=|\*\*|&&|\|\||\+\+|--|[-+*/%^!<>=]=|!~|>>|[-+*/%^!<>=~?:,;(){}\[\]$|])",
    re.ASCII,
)
KEYWORDS = {
    "BEGIN",
    "END",
    "function",
    "func",
    "if",
    "else",
    "while",
    "for",
    "do",
    "break",
    "continue",
    "next",
    "nextfile",
    "exit",
    "return",
    "delete",
    "in",
    "getline",
    "print",
    "printf",
}
FUNCTIONS = {
    "length",
    "substr",
    "index",
    "split",
    "sub",
    "gsub",
    "match",
    "sprintf",
    "sin",
    "cos",
    "atan2",
    "exp",
    "log",
    "sqrt",
    "int",
    "rand",
    "srand",
    "tolower",
    "toupper",
    "system",
    "close",
    "fflush",
    "systime",
    "strftime",
    "gensub",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
    "compl",
    "asort",
    "asorti",
    "mktime",
}
Tree = tuple[Any, ...]
MAX_DEPTH = 60


class ExpressionReader:
    """Reads the tokens of one program, and expressions."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.i, self.depth = text, list[tuple[str, str]](), 0, 0
        self.no_in = self.no_gt = False
        at, parens = 0, 0
        while at < len(text):
            regex = self._regex_at(at)
            if regex:
                self.tokens.append(("regex", regex[0][1:-1]))
                at = regex.end()
                continue
            match = TOKEN.match(text, at)
            if not match or match.lastgroup is None:
                raise Usage(f"syntax error at source line 1: unexpected character '{text[at]}'")
            at = match.end()
            if match.lastgroup != "space":
                parens += {"(": 1, "[": 1, ")": -1, "]": -1}.get(match[0], 0)
                kind = "word" if match.lastgroup == "name" and match[0] in KEYWORDS else match.lastgroup
                kind = "call" if kind == "name" and match[0] not in FUNCTIONS and text[at : at + 1] == "(" else kind
                self.tokens.append((kind, match[0]))
        self.tokens.append(("end", ""))

    def _regex_at(self, at: int) -> re.Match[str] | None:
        """A slash begins a pattern where no operand stands before it."""
        before = self.tokens[-1] if self.tokens else ("op", "")
        if (
            self.text[at] != "/"
            or before[0] in ("number", "string", "name", "regex")
            or before[1] in (")", "]", "$", "++", "--")
        ):
            return None
        return re.compile(r"/(?:[^/\\\n\[]|\\.|\[\^?\]?(?:\[:\w+:\]|[^\]\n])*\])+/|/(?:[^/\\\n]|\\.)*/").match(
            self.text, at
        )

    # Tokens

    def peek(self, offset: int = 0) -> str:
        """Return the next operator or keyword, or ""."""
        kind, text = self.tokens[min(self.i + offset, len(self.tokens) - 1)]
        return text if kind in ("op", "word") else "\n" if kind == "newline" else ""

    def kind(self) -> str:
        """Return the kind of the next token."""
        return self.tokens[self.i][0]

    def accept(self, *texts: str) -> str:
        """Skip and return the next token if it is one of these, else return ""."""
        found = self.peek()
        if found and found in texts:
            self.i += 1
            return found
        return ""

    def expect(self, text: str) -> None:
        """Skip a token that must stand here."""
        if not self.accept(text):
            near = self.tokens[self.i][1] or "end of file"
            raise Usage(f"syntax error at or near {near[:40]!s}")

    def newlines(self) -> None:
        """Skip ends of lines and semicolons."""
        while self.peek() == "\n" or self.peek() == ";":
            self.i += 1

    def blank(self) -> None:
        """Skip ends of lines."""
        while self.peek() == "\n":
            self.i += 1

    def enter(self) -> None:
        """Go one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Usage("program nested too deeply")

    def list(self, close: str) -> list[Tree]:
        """Read expressions up to a closing bracket."""
        before = self.no_gt, self.no_in
        self.no_gt = self.no_in = False
        found: list[Tree] = []
        self.blank()
        while not self.accept(close):
            found.append(self.expression())
            self.blank()
            if not self.accept(","):
                self.expect(close)
                break
            self.blank()
        self.no_gt, self.no_in = before
        return found

    # Expressions, weakest first

    def expression(self) -> Tree:
        """Read an expression."""
        self.enter()
        try:
            return self.ternary()
        finally:
            self.depth -= 1

    def ternary(self) -> Tree:
        """Read `?:` and assignments."""
        test = self.or_()
        if self.accept("?"):
            self.blank()
            yes = self.ternary_branch()
            self.blank()
            self.expect(":")
            self.blank()
            return ("?", test, yes, self.ternary_branch())
        operator = self.peek()
        if operator in ("=", "+=", "-=", "*=", "/=", "%=", "^=", "**=") and test[0] in ("var", "field", "index"):
            self.i += 1
            self.blank()
            return ("assign", operator[:-1].replace("**", "^"), test, self.expression())
        return test

    def ternary_branch(self) -> Tree:
        """Read a branch of `?:`."""
        self.enter()
        try:
            return self.ternary()
        finally:
            self.depth -= 1

    def or_(self) -> Tree:
        """Read `||`."""
        left = self.and_()
        while self.accept("||"):
            self.blank()
            left = ("||", left, self.and_())
        return left

    def and_(self) -> Tree:
        """Read `&&`."""
        left = self.in_()
        while self.accept("&&"):
            self.blank()
            left = ("&&", left, self.in_())
        return left

    def in_(self) -> Tree:
        """Read `in`."""
        left = self.match()
        while not self.no_in and self.accept("in"):
            name = self.tokens[self.i][1]
            self.i += 1
            left = ("in", left[1] if left[0] == "group" else [left], name)
        return left

    def match(self) -> Tree:
        """Read `~` and `!~`."""
        left = self.comparison()
        while operator := self.accept("~", "!~"):
            left = (operator, left, self.comparison())
        return left

    def comparison(self) -> Tree:
        """Read comparisons."""
        left = self.concatenation()
        operator = self.peek()
        if operator in ("<", "<=", "==", "!=", ">=") or (operator == ">" and not self.no_gt):
            self.i += 1
            return ("compare", operator, left, self.concatenation())
        return left

    def concatenation(self) -> Tree:
        """Read operands side by side."""
        left = self.sum()
        while self.kind() in ("number", "string", "name", "call", "regex") or (
            self.peek() in ("$", "!", "(", "-", "+", "++", "--") and self._starts_operand()
        ):
            if self.peek() == "in":
                break
            left = ("concat", left, self.sum())
        return left

    def _starts_operand(self) -> bool:
        return self.peek() in ("$", "!", "(", "++", "--", "-", "+")

    def sum(self) -> Tree:
        """Read sums."""
        left = self.product()
        while operator := self.accept("+", "-"):
            left = ("arith", operator, left, self.product())
        return left

    def product(self) -> Tree:
        """Read products."""
        left = self.unary()
        while operator := self.accept("*", "/", "%"):
            left = ("arith", operator, left, self.unary())
        return left

    def unary(self) -> Tree:
        """Read signs and `!`."""
        self.enter()
        try:
            if operator := self.accept("!", "-", "+"):
                return ({"!": "not", "-": "neg", "+": "pos"}[operator], self.unary())
            return self.power()
        finally:
            self.depth -= 1

    def power(self) -> Tree:
        """Read `^`."""
        left = self.postfix()
        if self.accept("^", "**"):
            return ("arith", "^", left, self.unary())
        return left

    def postfix(self) -> Tree:
        """Read `++` and `--`."""
        if operator := self.accept("++", "--"):
            return ("pre", operator, self.postfix())
        found = self.primary()
        if found[0] in ("var", "field", "index") and (operator := self.accept("++", "--")):
            return ("post", operator, found)
        return found

    def primary(self) -> Tree:
        """Read an operand."""
        kind, text = self.tokens[self.i]
        self.i += 1
        if kind in ("number", "string", "regex"):
            return _constant(kind, text)
        if kind == "name" and text in FUNCTIONS:
            return ("builtin", text, self.list(")") if self.accept("(") else [])
        if kind == "call":
            self.expect("(")
            return ("call", text, self.list(")"))
        if kind == "name":
            return ("index", text, self.list("]")) if self.accept("[") else ("var", text)
        return self.symbol(text)

    def symbol(self, text: str) -> Tree:
        """Read an operand that begins with an operator or a keyword."""
        if text == "$":
            return ("field", self.postfix_operand())
        if text == "(":
            before = self.no_gt, self.no_in
            self.no_gt = self.no_in = False
            items = self.list(")")
            self.no_gt, self.no_in = before
            if not items:
                raise Usage("syntax error at or near )")
            return ("group", items)
        if text == "-" or text == "+":
            return ("neg" if text == "-" else "pos", self.unary())
        if text == "getline":
            return (
                "getline",
                self.primary() if self.kind() == "name" else None,
                self.primary() if self.accept("<") else None,
            )
        raise Usage(f"syntax error at or near {text[:40] or 'end of file'}")

    def postfix_operand(self) -> Tree:
        """Read what follows `$`."""
        self.enter()
        try:
            if operator := self.accept("++", "--"):
                return ("pre", operator, self.primary())
            if self.accept("-"):
                return ("neg", self.primary())
            return self.primary()
        finally:
            self.depth -= 1


def _constant(kind: str, text: str) -> Tree:
    """Return the tree of a number, a string or a pattern."""
    if kind == "number":
        return ("num", float(int(text, 16)) if text[:2].lower() == "0x" else float(text))
    if kind == "string":
        return ("str", unescape(text[1:-1].replace("\\/", "/").replace("\\\n", "")))
    return ("regex", text)
