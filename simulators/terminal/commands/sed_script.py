"""sed's language: a script's text read into orders with their addresses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ..patterns import Pattern, posix
from .base import Usage


@dataclass
class Address:
    """A line number, `$` (0), a pattern, or `first~step`; `plus` for `addr,+N`."""

    line: int | None = None
    regex: Pattern | None = None
    empty: bool = False
    step: int | None = None
    plus: int | None = None


@dataclass
class Order:
    """One command with its addresses."""

    name: str
    first: Address | None = None
    last: Address | None = None
    negated: bool = False
    text: str = ""
    regex: Pattern | None = None
    empty: bool = False
    replacement: list[str | int] = field(default_factory=list[str | int])
    flags: str = ""
    count: int = 1
    target: int = 0
    active: bool = False
    until: int = 0


class Script:
    """The text of a script on its way to orders."""

    def __init__(self, text: str, extended: bool) -> None:
        self.text, self.extended, self.i = text, extended, 0

    def orders(self) -> list[Order]:
        """Parse everything.

        Raises:
            Usage: If the script is malformed.
        """
        found: list[Order] = []
        while True:
            self.skip(" \t\n;")
            if self.i >= len(self.text):
                break
            if self.text[self.i] == "#":
                self.line()
            else:
                found.append(self.order())
        _link_groups(found)
        _link_jumps(found)
        return found

    def skip(self, chars: str) -> None:
        """Skip some characters."""
        while self.i < len(self.text) and self.text[self.i] in chars:
            self.i += 1

    def line(self) -> str:
        """Take the rest of the line."""
        end = self.text.find("\n", self.i)
        end = len(self.text) if end < 0 else end
        found = self.text[self.i : end]
        self.i = end
        return found

    def order(self) -> Order:
        """Read one command."""
        order = Order("", self.address())
        self.skip(" \t")
        if order.first and self.text[self.i : self.i + 1] == ",":
            self.i += 1
            self.skip(" \t")
            order.last = self.address(after=True)
            if order.last is None:
                raise Usage("unexpected `,'")
            self.skip(" \t")
        while self.text[self.i : self.i + 1] in ("!", " ") and self.i < len(self.text):
            order.negated = order.negated or self.text[self.i] == "!"
            self.i += 1
        if self.i >= len(self.text):
            raise Usage("missing command")
        order.name = self.text[self.i]
        self.i += 1
        if order.last and order.name in "qQ":
            raise Usage("command only uses one address")
        if (order.first and order.name in ":}") or (order.name == "}" and order.negated):
            raise Usage(f"{order.name} doesn't want any addresses")
        self.arguments(order)
        return order

    def address(self, after: bool = False) -> Address | None:
        """Read an address, if one stands here."""
        number = re.compile(r"(\d{1,9})(?:~(\d{1,9}))?").match(self.text, self.i)
        if number:
            self.i = number.end()
            return Address(line=int(number[1]), step=int(number[2]) if number[2] else None)
        plus = re.compile(r"\+(\d{1,9})").match(self.text, self.i)
        if plus and after:
            self.i = plus.end()
            return Address(plus=int(plus[1]))
        char = self.text[self.i : self.i + 1]
        if char == "$":
            self.i += 1
            return Address(line=-1)
        if char == "/" or char == "\\":
            self.i += char == "\\"
            delimiter = self.text[self.i : self.i + 1]
            self.i += 1
            source = self.until(delimiter)
            ignore = False
            while self.text[self.i : self.i + 1] in ("I", "M") and self.i < len(self.text):
                ignore = ignore or self.text[self.i] == "I"
                self.i += 1
            return Address(regex=posix(source, self.extended, ignore) if source else None, empty=not source)
        return None

    def until(self, delimiter: str, keep: bool = False) -> str:
        """Take the text up to the delimiter, which a backslash or a bracket hides."""
        out: list[str] = []
        bracket = False
        while self.i < len(self.text):
            char = self.text[self.i]
            if char == "\\" and self.i + 1 < len(self.text) and not bracket:
                following = self.text[self.i + 1]
                out.append(
                    following
                    if following == delimiter and delimiter != "\\" and (keep or following not in ".*[]^$+?(){}|")
                    else "\\" + following
                )
                self.i += 2
                continue
            if char == "[" and not bracket and not keep:
                bracket = "]" in self.text[self.i + 2 :]
                start = self.i
                if bracket:
                    self.i += 1 + (self.text[self.i + 1] == "^")
                    self.i += self.text[self.i : self.i + 1] == "]"
                    while self.i < len(self.text) and self.text[self.i] != "]":
                        named = re.compile(r"\[:\w+:\]").match(self.text, self.i)
                        self.i = named.end() if named else self.i + 1
                    self.i += 1
                    out.append(self.text[start : self.i])
                    bracket = False
                    continue
            if char == delimiter:
                self.i += 1
                return "".join(out)
            out.append(char)
            self.i += 1
        raise Usage("unterminated `s' command" if keep else "unterminated address regex")

    def arguments(self, order: Order) -> None:  # noqa: C901  (one case for each kind)
        """Read what follows a command's letter."""
        name = order.name
        if name == "s":
            self.substitute(order)
        elif name == "y":
            delimiter = self.text[self.i : self.i + 1]
            self.i += 1
            source, target = (
                re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], self.until(delimiter, True)) for _ in range(2)
            )
            if len(source) != len(target):
                raise Usage("strings for `y' command are different lengths")
            order.replacement = [source, target]
        elif name in "aic":
            self.skip(" \t")
            if self.text[self.i : self.i + 1] == "\\":
                self.i += 1
                self.skip(" \t")
                self.i += self.text[self.i : self.i + 1] == "\n"
            order.text = self.continued()
        elif name in "btT:":
            self.skip(" \t")
            match = re.compile(r"[^\n;}]*" if name != ":" else r"[^\n;]*").match(self.text, self.i)
            order.text = match[0].strip() if match else ""
            self.i = match.end() if match else self.i
        elif name in "rwR":
            self.skip(" \t")
            order.text = self.line()
        elif name in "qQ":
            number = re.compile(r"\s*(\d{1,3})").match(self.text, self.i)
            order.count = int(number[1]) if number else 0
            self.i = number.end() if number else self.i
        elif name not in "{}=dDgGhHnNpPxzlF":
            raise Usage(f"unknown command: `{name}'")
        if name not in "{aicbtT:rwR}":
            self.skip(" \t")
            if self.i < len(self.text) and self.text[self.i] not in ";\n}#":
                raise Usage("extra characters after command")

    def continued(self) -> str:
        """Read the text of `a`, `i` and `c`."""
        out = [self.line()]
        while out[-1].endswith("\\") and self.i < len(self.text):
            out[-1] = out[-1][:-1]
            self.i += 1
            out.append(self.line())
        return re.sub(r"\\(.)", lambda m: {"t": "\t", "n": "\n"}.get(m[1], m[1]), "\n".join(out))

    def substitute(self, order: Order) -> None:
        """Read the rest of `s`."""
        delimiter = self.text[self.i : self.i + 1]
        if not delimiter or delimiter in "\n\\":
            raise Usage("unterminated `s' command")
        self.i += 1
        try:
            source = self.until(delimiter)
        except Usage:
            raise Usage("unterminated `s' command") from None
        order.replacement = _replacement(self.until(delimiter, True))
        flags = re.compile(r"[gpiIMe0-9]*").match(self.text, self.i)
        order.flags = flags[0] if flags else ""
        self.i += len(order.flags)
        if self.text[self.i : self.i + 1] == "w":
            self.i += 1
            self.skip(" \t")
            order.text = self.line()
        digits = re.search(r"\d{1,6}", order.flags)
        order.count = int(digits[0]) if digits else 1
        if order.count == 0:
            raise Usage("number option to `s' command may not be zero")
        order.empty = not source
        order.regex = posix(source, self.extended, "i" in order.flags.lower()) if source else None
        highest = max((p for p in order.replacement if isinstance(p, int)), default=0)
        if order.regex and highest > order.regex.groups:
            raise Usage(f"invalid reference \\{highest} on `s' command's RHS")


def _replacement(text: str) -> list[str | int]:
    r"""Return literal texts, group numbers, and case changes (`\U` and its like, as they are)."""
    parts: list[str | int] = []
    for match in re.finditer(r"\\([\s\S])|&|[^\\&]+|\\", text):
        char = match[1]
        if match[0] == "&":
            parts.append(0)
        elif char is None:
            parts.append(match[0])
        elif char.isdigit():
            parts.append(int(char))
        elif char in "ULEul":
            parts.append("\\" + char)
        else:
            parts.append({"n": "\n", "t": "\t"}.get(char, char))
    return parts


def _link_groups(orders: list[Order]) -> None:
    """Tell each `{` where its `}` is."""
    opened: list[Order] = []
    for i, order in enumerate(orders):
        if order.name == "{":
            opened.append(order)
        elif order.name == "}":
            if not opened:
                raise Usage("unexpected `}'")
            opened.pop().target = i
    if opened:
        raise Usage("unmatched `{'")


def _link_jumps(orders: list[Order]) -> None:
    """Tell each jump where its label is; without a label it goes to the end."""
    labels = {order.text: i for i, order in enumerate(orders) if order.name == ":"}
    for order in orders:
        if order.name in "btT":
            if order.text and order.text not in labels:
                raise Usage(f"can't find label for jump to `{order.text}'")
            order.target = labels.get(order.text, len(orders))
