"""awk's values: floats, strings, and strings from outside that may be numbers; and what ends a statement early."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

from ..meter import MAX_OUTPUT, Stopped

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
PREFIX = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
FORMAT = re.compile(r"%([-+ 0#]*)(\*|\d{1,6})?(?:\.(\*|\d{0,6}))?([a-zA-Z%])")


# What each comparison makes of an order: -1, 0 or 1.
COMPARE: dict[str, Callable[[int], bool]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    "==": lambda order: order == 0,
    "!=": lambda order: order != 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


class Input(str):
    """A string that came from outside: it compares as a number if it looks like one."""

    __slots__ = ()


Value = float | str


class Next(Exception):
    """`next` and `nextfile`."""


class Exit(Exception):
    """`exit`."""


class Break(Exception):
    """`break`."""


class Continue(Exception):
    """`continue`."""


class Give(Exception):
    """`return`, with its value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


def number(value: Value) -> float:
    """Return a value as a number: the longest numeric beginning of a string, else 0."""
    if not isinstance(value, str):
        return value
    match = PREFIX.match(value)
    return float(match[1]) if match else 0.0


def show(value: Value, form: str = "%.6g") -> str:
    """Return a value as a string; whole numbers without a point."""
    if isinstance(value, str):
        return value
    if value != value or value in (math.inf, -math.inf):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e16:
        return str(int(value))
    return (
        sprintf(form, [value])
        if form != "%.6g"
        else f"{value:.6g}"
        if abs(value) < 1e16
        else re.sub(r"e([+-])(\d)$", r"e\g<1>0\2", f"{value:.6g}")
    )


def sprintf(form: str, args: list[Value]) -> str:
    """Return a formatted text."""
    rest = list(args)
    size = [0]

    def take() -> Value:
        return rest.pop(0) if rest else ""

    def directive(match: re.Match[str]) -> str:
        flags, width, precision, kind = match[1], match[2] or "", match[3], match[4]
        if kind == "%":
            return "%"
        width = str(int(number(take()))) if width == "*" else width
        precision = str(int(number(take()))) if precision == "*" else precision
        size[0] += abs(int(width or 0)) + int(precision or 0)
        if size[0] > MAX_OUTPUT:
            raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
        dot = "" if precision is None else f".{precision or 0}"
        value = take()
        if kind in "di":
            return f"%{flags}{width}{dot}d" % _whole(number(value))
        if kind in "ouxX":
            return f"%{flags}{width}{dot}{kind.replace('u', 'd')}" % _whole(number(value))
        if kind in "fFeEgG":
            return f"%{flags}{width}{dot}{kind}" % number(value)
        if kind == "c":
            text = value[:1] if isinstance(value, str) else chr(int(value) % 0xD800)
            return f"%{flags.replace('0', '')}{width}s" % text
        if kind == "s":
            return f"%{flags.replace('0', '')}{width}{dot}s" % show(value)
        return match[0]

    return FORMAT.sub(directive, form)


def _whole(value: float) -> int:
    return int(value) if math.isfinite(value) else 0
