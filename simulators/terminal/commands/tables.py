"""Programs for lines with columns: cut, paste, join, comm, column."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..bash.words import unescape
from ..text import to_bytes
from .base import Run, Usage, lines, program, whole


def _ranges(text: str) -> list[tuple[int, int]]:
    """Return the (first, last) pairs of a list such as `1,3-5,7-`."""
    found: list[tuple[int, int]] = []
    for part in re.split(r"[, ]", text):
        match = re.fullmatch(r"(\d{1,9})?(-)?(\d{1,9})?", part)
        if not match or not (match[1] or match[3]):
            raise Usage(f"invalid field value '{part[:40]}'" if part else "fields are numbered from 1")
        first = int(match[1] or 1)
        last = int(match[3]) if match[3] else 1 << 30 if match[2] else first
        if first < 1:
            raise Usage("fields are numbered from 1")
        if last < first:
            raise Usage("invalid decreasing range")
        found.append((first, last))
    return found


@program(
    "cut",
    short="d:f:c:b:sn",
    long=("delimiter=", "fields=", "characters=", "bytes=", "only-delimited", "complement", "output-delimiter="),
)
def cut(run: Run) -> int | None:
    """Write parts of each line."""
    spec = run.get("f", "fields") or run.get("c", "characters", "b", "bytes")
    if spec is None:
        return run.error("you must specify a list of bytes, characters, or fields")
    by_field = run.has("f", "fields")
    delimiter = run.get("d", "delimiter") or "\t"
    if len(delimiter) != 1:
        return run.error("the delimiter must be a single character")
    ranges = _ranges(spec)
    joiner = run.get("output-delimiter")
    for _, text in run.inputs():
        for line in lines(text):
            if by_field and delimiter not in line:
                run.out("" if run.has("s", "only-delimited") else line + "\n")
                continue
            cells = line.split(delimiter) if by_field else list(line)
            chosen = [c for i, c in enumerate(cells, 1) if any(a <= i <= b for a, b in ranges) != run.has("complement")]
            run.out((joiner if joiner is not None else delimiter if by_field else "").join(chosen) + "\n")
    return None


@program("paste", short="d:s", long=("delimiters=", "serial"))
def paste(run: Run) -> None:
    """Put lines side by side."""
    delimiters = unescape(run.get("d", "delimiters") if run.has("d", "delimiters") else "\t") or "\0"  # pyright: ignore[reportArgumentType]
    names = run.args or ["-"]
    if run.has("s", "serial"):
        for _, text in run.inputs(names):
            row = lines(text)
            run.out(
                "".join(
                    c + (delimiters[i % len(delimiters)].strip("\0") if i < len(row) - 1 else "")
                    for i, c in enumerate(row)
                )
                + "\n"
            )
        return
    standard = names.count("-")
    columns: list[list[str]] = []
    shared = lines(run.sh.stdin.rest()) if standard else []
    seen = 0
    for name in names:
        if name == "-":
            columns.append(shared[seen::standard])
            seen += 1
        else:
            columns += [lines(text) for _, text in run.inputs([name])]
    for i in range(max(map(len, columns), default=0)):
        cells = [c[i] if i < len(c) else "" for c in columns]
        run.out(
            "".join(
                c + (delimiters[n % len(delimiters)].strip("\0") if n < len(cells) - 1 else "")
                for n, c in enumerate(cells)
            )
            + "\n"
        )


@program("join", short="t:1:2:j:a:v:o:e:i", long=("ignore-case", "header"))
def join(run: Run) -> int | None:
    """Put lines with the same key side by side."""
    if len(run.args) != 2:
        return run.error("missing operand")
    separator = run.get("t")
    places = [run.number(k, "j", default=1) - 1 for k in "12"]
    tables = [[line.split(separator) if separator else line.split() for line in lines(run.read(n))] for n in run.args]
    keyed = [
        [(_key(row, place, run.has("i", "ignore-case")), row) for row in rows]
        for rows, place in zip(tables, places, strict=True)
    ]
    unpaired = run.all("a") + run.all("v")
    for left, right in _paired(keyed[0], keyed[1]):
        shown = not run.has("v") if left and right else ("1" if left else "2") in unpaired
        if shown:
            run.sh.meter.charge(1)
            run.out((separator or " ").join(_joined(run, places, left, right)) + "\n")
    return None


def _key(row: list[str], place: int, fold: bool) -> str:
    text = row[place] if 0 <= place < len(row) else ""
    return text.lower() if fold else text


Keyed = list[tuple[str, list[str]]]


def _paired(left: Keyed, right: Keyed) -> Iterator[tuple[list[str] | None, list[str] | None]]:
    """Yield the pairs of rows with equal keys, and the rows without one beside `None`; both tables are sorted."""
    i = j = 0
    while i < len(left) and j < len(right):
        a, b = to_bytes(left[i][0]), to_bytes(right[j][0])
        if a < b:
            yield left[i][1], None
            i += 1
        elif a > b:
            yield None, right[j][1]
            j += 1
        else:
            end = next((n for n in range(j, len(right)) if right[n][0] != left[i][0]), len(right))
            yield from ((left[i][1], row) for _, row in right[j:end])
            i += 1
            if i == len(left) or left[i][0] != right[j][0]:
                j = end
    yield from ((row, None) for _, row in left[i:])
    yield from ((None, row) for _, row in right[j:])


def _joined(run: Run, places: list[int], left: list[str] | None, right: list[str] | None) -> list[str]:
    """Return the cells of one line of output."""
    row, place = (left, places[0]) if left else (right or [], places[1])
    head = row[place] if place < len(row) else ""
    order = run.get("o")
    if order and order != "auto":
        return [_picked(spec, head, left, right, run.get("e") or "") for spec in re.split(r"[, ]", order)]
    rest = [c for place, r in zip(places, (left, right), strict=True) if r for i, c in enumerate(r) if i != place]
    return [head, *rest]


def _picked(spec: str, head: str, left: list[str] | None, right: list[str] | None, empty: str) -> str:
    if spec == "0":
        return head
    side, _, number = spec.partition(".")
    row = left if side == "1" else right
    index = whole(number or "0") - 1
    return row[index] if row and 0 <= index < len(row) else empty


@program("comm", short="123i", long=("output-delimiter=",))
def comm(run: Run) -> int | None:
    """Compare two sorted files line by line."""
    if len(run.args) != 2:
        return run.error("missing operand")
    first, second = (lines(run.read(name)) for name in run.args)
    tab = run.get("output-delimiter") or "\t"
    hidden = [run.has(c) for c in "123"]
    lead = ["", "" if hidden[0] else tab, ("" if hidden[0] else tab) + ("" if hidden[1] else tab)]
    i = j = 0
    while i < len(first) or j < len(second):
        if j >= len(second) or (i < len(first) and to_bytes(first[i]) < to_bytes(second[j])):
            column, line = 0, first[i]
        elif i >= len(first) or to_bytes(first[i]) > to_bytes(second[j]):
            column, line = 1, second[j]
        else:
            column, line = 2, first[i]
        i += column in (0, 2)
        j += column in (1, 2)
        if not hidden[column]:
            run.out(lead[column] + line + "\n")
    return None


@program("column", short="ts:o:", long=("table", "separator=", "output-separator="))
def column(run: Run) -> None:
    """Line up columns."""
    separator, between = run.get("s", "separator"), run.get("o", "output-separator") or "  "
    rows = [line for _, text in run.inputs() for line in lines(text) if line.strip()]
    if not run.has("t", "table"):
        run.out("".join(row + "\n" for row in rows))
        return
    cells = [re.split(f"[{re.escape(separator)}]", row) if separator else row.split() for row in rows]
    widths = [max(len(r[i]) for r in cells if i < len(r)) for i in range(max(map(len, cells), default=0))]
    for row in cells:
        padded = [
            c.ljust(widths[i]) + between if i < len(widths) - 1 else c
            for i, c in enumerate([*row, *[""] * (len(widths) - len(row))])
        ]
        run.out("".join(padded) + "\n")
