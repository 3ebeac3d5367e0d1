"""sort."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from ..text import to_bytes
from .base import Run, Usage, lines, program

KEY = re.compile(r"(\d{1,9})(?:\.(\d{1,9}))?([bdfghinrVM]*)(?:,(\d{1,9})(?:\.(\d{1,9}))?([bdfghinrVM]*))?")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
UNITS = " KMGTPEZY"


@dataclass(frozen=True)
class Key:
    """A part of the line (fields from 1, characters from 1, 0 for the end) and how it is compared."""

    first: int = 1
    start: int = 1
    last: int = 0
    end: int = 0
    flags: str = ""

    def part(self, line: str, separator: str | None) -> str:
        """Return the part of a line."""
        if self.first == 1 and self.start == 1 and not self.last:
            return line
        spans = _spans(line, separator)
        if self.first > len(spans):
            return ""
        begin = spans[self.first - 1][0]
        if "b" in self.flags:
            begin += len(line[begin:]) - len(line[begin:].lstrip(" \t"))
        begin += self.start - 1
        if not self.last:
            return line[begin:]
        if self.last > len(spans):
            return line[begin:]
        low, high = spans[self.last - 1]
        return line[begin : min(low + self.end, high) if self.end else high]


def _spans(line: str, separator: str | None) -> list[tuple[int, int]]:
    if separator is None:
        return [m.span() for m in re.finditer(r"[ \t]*[^ \t]+", line)] or [(0, len(line))]
    spans: list[tuple[int, int]] = []
    at = 0
    for field in line.split(separator):
        spans.append((at, at + len(field)))
        at += len(field) + len(separator)
    return spans


def _value(text: str, flags: str) -> Any:
    """Return what is compared for a key's text."""
    if "n" in flags:
        match = re.match(r"\s*(-?\d{0,300}(?:\.\d*)?)", text)
        return float(match[1]) if match and re.search(r"\d", match[1]) else 0.0
    if "g" in flags:
        match = re.match(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)", text)
        return (1, float(match[1])) if match else (0, 0.0)
    if "h" in flags:
        match = re.match(r"\s*(-?\d{0,300}(?:\.\d*)?)([KMGTPEZYk]?)", text)
        number = float(match[1]) if match and re.search(r"\d", match[1]) else 0.0
        unit = UNITS.find(match[2].upper()) if match and match[2] else 0
        return (unit if number > 0 else -unit if number < 0 else 0, number)
    if "M" in flags:
        name = text.strip()[:3].lower()
        return MONTHS.index(name) if name in MONTHS else -1
    if "V" in flags:
        return [(0, int(p), "") if p.isdigit() else (1, 0, p) for p in re.findall(r"\d{1,18}|\D+", text)]
    if "b" in flags:
        text = text.lstrip(" \t")
    if "d" in flags:
        text = re.sub(r"[^A-Za-z0-9 \t]", "", text)
    if "i" in flags:
        text = re.sub(r"[^ -~]", "", text)
    return to_bytes(text.upper() if "f" in flags else text)


@program(
    "sort",
    short="bcCdfgho:iMnrRst:k:uVzmS:T:",
    long=(
        "check",
        "numeric-sort",
        "reverse",
        "unique",
        "key=",
        "field-separator=",
        "output=",
        "ignore-case",
        "stable",
        "general-numeric-sort",
        "human-numeric-sort",
        "version-sort",
        "ignore-leading-blanks",
        "random-sort",
        "zero-terminated",
    ),
    misuse=2,
)
def sort(run: Run) -> int | None:
    """Sort lines."""
    names = {
        "numeric-sort": "n",
        "reverse": "r",
        "ignore-case": "f",
        "general-numeric-sort": "g",
        "human-numeric-sort": "h",
        "version-sort": "V",
        "ignore-leading-blanks": "b",
    }
    general = "".join(c for c in "bdfghiMnrV" if run.has(c)) + "".join(c for long, c in names.items() if run.has(long))
    keys = [_key(spec, general) for spec in run.all("k", "key")] or [Key(flags=general)]
    separator = run.get("t", "field-separator")
    if separator == "\\0":
        separator = "\0"
    if separator is not None and len(separator) != 1:
        return run.error(f"multi-character tab '{separator[:40]}'", 2)
    found: list[str] = []
    for _, text in run.inputs(code=2):
        found += lines(text) if not run.has("z", "zero-terminated") else text.removesuffix("\0").split("\0")
    if run.failed:
        return 2
    compared = _compare(
        keys, last="" if run.has("s", "stable") or run.has("u", "unique") else "r" if "r" in general else "n"
    )
    run.sh.meter.charge(sum(map(len, found)) * 4)
    decorated = [([_value(k.part(line, separator), k.flags) for k in keys], line) for line in found]
    if run.has("c", "C", "check"):
        return _check(run, decorated, compared)
    decorated.sort(key=cmp_to_key(compared))
    if run.has("u", "unique"):
        decorated = [d for i, d in enumerate(decorated) if i == 0 or compared(decorated[i - 1], d) != 0]
    end = "\0" if run.has("z", "zero-terminated") else "\n"
    text = "".join(line + end for _, line in decorated)
    output = run.get("o", "output")
    if output is not None:
        run.write(output, text)
    else:
        run.out(text)
    return None


def _key(spec: str, general: str) -> Key:
    match = KEY.fullmatch(spec)
    if not match or int(match[1]) == 0:
        raise Usage(f"invalid number at field start: invalid count at start of '{spec[:40]}'")
    flags = (match[3] or "") + (match[6] or "")
    return Key(int(match[1]), int(match[2] or 1), int(match[4] or 0), int(match[5] or 0), flags or general)


Row = tuple[list[Any], str]


def _compare(keys: list[Key], last: str) -> Callable[[Row, Row], int]:
    """Return the order of decorated lines; `last` is "n" or "r" where equal ones are ordered as a whole."""

    def compare(a: Row, b: Row) -> int:
        for key, x, y in zip(keys, a[0], b[0], strict=True):
            if x != y:
                return (-1 if x < y else 1) * (-1 if "r" in key.flags else 1)
        if last:
            x, y = to_bytes(a[1]), to_bytes(b[1])
            return ((x > y) - (x < y)) * (-1 if last == "r" else 1)
        return 0

    return compare


def _check(run: Run, rows: list[Row], compared: Any) -> int:
    for i in range(1, len(rows)):
        order = compared(rows[i - 1], rows[i])
        if order > 0 or (order == 0 and run.has("u", "unique")):
            if not run.has("C"):
                run.error(f"{run.args[0] if run.args else '-'}:{i + 1}: disorder: {rows[i][1]}")
            return 1
    return 0
