"""Shell arithmetic: 64-bit integers that wrap, C's operators, variables by name, assignments.

It knows variables only through the two functions it is given, and computes no value larger than 64 bits on the way.
"""

from __future__ import annotations

import re
from collections.abc import Callable

TOKEN = re.compile(
    r"\s*(0[xX][0-9a-fA-F]+|\d+#[0-9a-zA-Z@_]+|\d+|[A-Za-z_]\w*|\*\*|<<=|>>=|\+\+|--|&&|\|\||[-+*/%&|^]=|<<|>>|[<>=!]=|[-+*/%<>=!~&|^?:,()\[\]])",
    re.ASCII,
)
# Binding powers, weakest first; assignment, ternary and comma are handled by name.
POWERS = {
    "||": 3,
    "&&": 4,
    "|": 5,
    "^": 6,
    "&": 7,
    "==": 8,
    "!=": 8,
    "<": 9,
    ">": 9,
    "<=": 9,
    ">=": 9,
    "<<": 10,
    ">>": 10,
    "+": 11,
    "-": 11,
    "*": 12,
    "/": 12,
    "%": 12,
    "**": 14,
}
ASSIGN = {"=", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "|=", "^="}
# How often a variable may name another one.
MAX_CHAIN = 16
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ@_"

Read = Callable[[str, int | None], str]
Write = Callable[[str, int | None, str], None]


class ArithmeticFault(Exception):
    """An expression that cannot be calculated; the message is bash's."""


def wrap(value: int) -> int:
    """Return a value as a 64-bit two's complement number."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def calculate(text: str, read: Read, write: Write, chain: int = 0) -> int:
    """Return the value of an expression; an empty one is 0.

    Args:
        text: The expression, its `$` parts already expanded.
        read: Gives the text of a variable (and index); "" where it is unset.
        write: Sets one.
        chain: How many variables led here.

    Raises:
        ArithmeticFault: If it is malformed, divides by zero, or variables name each other in a circle.
    """
    if not text.strip():
        return 0
    if chain > MAX_CHAIN:
        raise ArithmeticFault("expression recursion level exceeded")
    return _Calculator(text, read, write, chain).whole()


class _Calculator:
    def __init__(self, text: str, read: Read, write: Write, chain: int) -> None:
        self.text, self.read, self.write, self.chain = text, read, write, chain
        self.tokens: list[str] = []
        self.i = 0
        self.depth = 0
        at = 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if not match:
                raise self.fault("syntax error: invalid arithmetic operator", text[at:].strip())
            self.tokens.append(match[1])
            at = match.end()

    def peek(self) -> str:
        return self.tokens[self.i] if self.i < len(self.tokens) else ""

    def next(self) -> str:
        self.i += 1
        return self.tokens[self.i - 1] if self.i <= len(self.tokens) else ""

    def fault(self, what: str = "syntax error: operand expected", lexeme: str | None = None) -> ArithmeticFault:
        lexeme = " ".join(self.tokens[self.i :]) if lexeme is None else lexeme
        return ArithmeticFault(f'{self.text.strip()[:60]}: {what} (error token is "{lexeme[:20]}")')

    def whole(self) -> int:
        value = self.comma(True)
        if self.i < len(self.tokens):
            raise self.fault("syntax error in expression")
        return value

    def comma(self, live: bool) -> int:
        value = self.ternary(live)
        while self.peek() == ",":
            self.next()
            value = self.ternary(live)
        return value

    def ternary(self, live: bool) -> int:
        self.depth += 1
        if self.depth > 60:
            raise ArithmeticFault("expression recursion level exceeded")
        value = self.binary(3, live)
        if self.peek() == "?":
            self.next()
            yes = self.comma(live and value != 0)
            if self.next() != ":":
                raise self.fault()
            no = self.ternary(live and value == 0)
            value = yes if value else no
        self.depth -= 1
        return value

    def binary(self, power: int, live: bool) -> int:
        left = self.unary(live)
        while (operator := self.peek()) in POWERS and POWERS[operator] >= power:
            self.next()
            if operator in ("&&", "||"):
                decided = (left == 0) == (operator == "&&")
                right = self.binary(POWERS[operator] + 1, live and not decided)
                left = int(left != 0 and right != 0) if operator == "&&" else int(left != 0 or right != 0)
            else:
                right = self.binary(POWERS[operator] + (operator != "**"), live)
                left = operate(operator, left, right) if live else 0
        return left

    def unary(self, live: bool) -> int:
        lexeme = self.next()
        if lexeme in ("-", "+", "!", "~"):
            self.depth += 1
            if self.depth > 60:
                raise ArithmeticFault("expression recursion level exceeded")
            value = self.unary(live)
            self.depth -= 1
            return {"-": wrap(-value), "+": value, "!": int(value == 0), "~": ~value}[lexeme]
        if lexeme in ("++", "--"):
            name, index = self.place(self.next(), live)
            return self.store(name, index, wrap(self.value(name, index) + (1 if lexeme == "++" else -1)), live)
        if lexeme == "(":
            value = self.comma(live)
            if self.next() != ")":
                raise self.fault()
            return value
        if lexeme[:1].isdigit():
            return number(lexeme)
        return self.variable(lexeme, live)

    def place(self, name: str, live: bool) -> tuple[str, int | None]:
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            self.i -= 1
            raise self.fault()
        index = None
        if self.peek() == "[":
            self.next()
            index = self.comma(live)
            if self.next() != "]":
                raise self.fault()
        return name, index

    def variable(self, lexeme: str, live: bool) -> int:
        name, index = self.place(lexeme, live)
        operator = self.peek()
        if operator in ASSIGN:
            self.next()
            value = self.ternary(live)
            if operator != "=":
                value = operate(operator[:-1], self.value(name, index), value) if live else 0
            return self.store(name, index, value, live)
        value = self.value(name, index) if live else 0
        if operator in ("++", "--"):
            self.next()
            self.store(name, index, wrap(value + (1 if operator == "++" else -1)), live)
        return value

    def value(self, name: str, index: int | None) -> int:
        return calculate(self.read(name, index), self.read, self.write, self.chain + 1)

    def store(self, name: str, index: int | None, value: int, live: bool) -> int:
        if live:
            self.write(name, index, str(value))
        return value


def number(lexeme: str) -> int:
    """Return the value of a constant: decimal, 0x, 0 (octal) or base#digits.

    Raises:
        ArithmeticFault: If a digit is too large for its base.
    """
    if "#" in lexeme:
        base_text, _, digits = lexeme.partition("#")
        base = int(base_text[:4])
        digits = digits.lower() if base <= 36 else digits
    else:
        base, digits = (
            (16, lexeme[2:].lower())
            if lexeme[:2].lower() == "0x"
            else (8, lexeme)
            if lexeme[0] == "0"
            else (10, lexeme)
        )
    values = [DIGITS.index(d) for d in digits[:100]]
    if not 2 <= base <= 64 or any(v >= base for v in values):
        raise ArithmeticFault(f'{lexeme[:40]}: value too great for base (error token is "{lexeme[:40]}")')
    result = 0
    for value in values:
        result = wrap(result * base + value)
    return result


def operate(operator: str, left: int, right: int) -> int:
    """Apply a binary operator to two 64-bit numbers.

    Raises:
        ArithmeticFault: If it divides by zero or the exponent is negative.
    """
    if operator in ("/", "%"):
        if right == 0:
            raise ArithmeticFault("division by 0")
        quotient = abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)
        return wrap(quotient if operator == "/" else left - quotient * right)
    if operator == "**":
        if right < 0:
            raise ArithmeticFault("exponent less than 0")
        return wrap(pow(left, right, 1 << 64))
    simple: dict[str, Callable[[], int]] = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "<<": lambda: left << (right & 63),
        ">>": lambda: left >> (right & 63),
        "&": lambda: left & right,
        "|": lambda: left | right,
        "^": lambda: left ^ right,
        "==": lambda: int(left == right),
        "!=": lambda: int(left != right),
        "<": lambda: int(left < right),
        ">": lambda: int(left > right),
        "<=": lambda: int(left <= right),
        ">=": lambda: int(left >= right),
    }
    return wrap(simple[operator]())
