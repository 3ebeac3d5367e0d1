"""A line drawing for a terminal: the straight strokes of an SVG file, in braille characters of 2 x 4 dots.

It reads what drawings of lines are made of: paths of ``M`` and ``L``, groups moved by ``scale`` and ``translate``, and
drawings within the drawing. Colours, curves, text and dashed strokes are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from xml.etree import ElementTree

Point = tuple[float, float]

DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""Which bit of a braille character is the dot in a row and a column."""
BLANK = 0x2800
_NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
_MOVE = re.compile(r"(scale|translate)\(([^)]*)\)")


@dataclass(frozen=True)
class Frame:
    """Where a group draws: a point lands on ``scale * point + shift``, in pixels of the outermost drawing."""

    scale: Point = (1.0, 1.0)
    shift: Point = (0.0, 0.0)

    def __call__(self, point: Point) -> Point:
        """Return where a point lands."""
        return self.scale[0] * point[0] + self.shift[0], self.scale[1] * point[1] + self.shift[1]

    def within(self, element: ElementTree.Element) -> Frame:
        """Return the frame inside an element."""
        frame = self
        if element.tag.endswith("svg"):
            frame = Frame(frame.scale, frame((float(element.get("x", 0)), float(element.get("y", 0)))))
        for kind, text in _MOVE.findall(element.get("transform", "")):
            x, y = [*map(float, _NUMBER.findall(text)), 0.0][:2]
            if kind == "scale":
                frame = Frame((frame.scale[0] * x, frame.scale[1] * y), frame.shift)
            else:
                frame = Frame(frame.scale, frame((x, y)))
        return frame


def draw(svg: bytes, columns: int = 80) -> str:
    """Return the drawing as lines of text, at most ``columns`` wide; empty if there is no stroke.

    Raises:
        ValueError: If the file is no SVG.
    """
    try:
        root = ElementTree.fromstring(svg)  # noqa: S314 - our own application drew it
    except ElementTree.ParseError as problem:
        raise ValueError(f"no SVG file: {problem}") from problem
    return _text(_strokes(root, Frame()), 2 * columns / float(root.get("width", 640)))


def _strokes(element: ElementTree.Element, frame: Frame) -> Iterator[tuple[Point, Point]]:
    """Yield the straight pieces below an element, in pixels."""
    if element.get("stroke-dasharray"):
        return
    inside = frame.within(element)
    if element.tag.endswith("path"):
        numbers = [float(number) for number in _NUMBER.findall(element.get("d", ""))]
        points = [inside(point) for point in zip(numbers[::2], numbers[1::2], strict=False)]
        yield from pairwise(points)
    for below in element:
        yield from _strokes(below, inside)


def _text(strokes: Iterator[tuple[Point, Point]], scale: float) -> str:
    cells: dict[tuple[int, int], int] = {}
    for start, end in strokes:
        for x, y in _dots(start, end, scale):
            row, column = y // 4, x // 2
            cells[row, column] = cells.get((row, column), BLANK) | DOTS[y % 4][x % 2]
    if not cells:
        return ""
    rows = range(min(row for row, _ in cells), max(row for row, _ in cells) + 1)
    right = max(column for _, column in cells) + 1
    lines = (
        "".join(chr(cells.get((row, column), 0)) if (row, column) in cells else " " for column in range(right))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def _dots(start: Point, end: Point, scale: float) -> Iterator[tuple[int, int]]:
    """Yield the dots on a line without gaps; those left of or above the sheet are cut off."""
    (x0, y0), (x1, y1) = ((scale * x, scale * y) for x, y in (start, end))
    count = int(max(abs(x1 - x0), abs(y1 - y0))) + 1
    for i in range(count + 1):
        x, y = int(x0 + (x1 - x0) * i / count), int(y0 + (y1 - y0) * i / count)
        if x >= 0 and y >= 0:
            yield x, y
