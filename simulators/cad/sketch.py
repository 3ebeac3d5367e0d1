"""Flat figures: what may be drawn in a sketch and how figures become profiles.

A sketch holds closed convex figures (rectangles, circles, regular polygons). They may lie beside or inside one
another; a figure inside an odd number of others is a hole. Outlines that cross or touch make no profile: the kernel
would answer them with an invalid solid and no word.

Lengths are mm. This module is plain geometry and knows no kernel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from .frames import Flat

TOUCH = 1e-6
"""Outlines nearer than this touch, in mm."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A circle (``radius`` is set and there are no corners) or a convex polygon with its corners in order."""

    name: str
    centre: Flat
    corners: tuple[Flat, ...] = ()
    radius: float = 0.0

    @property
    def area(self) -> float:
        """Enclosed area in mm2 (shoelace formula)."""
        if not self.corners:
            return math.pi * self.radius**2
        return abs(sum(a[0] * b[1] - b[0] * a[1] for a, b in self.sides)) / 2

    @property
    def sides(self) -> list[tuple[Flat, Flat]]:
        """The polygon's sides."""
        return list(pairwise((*self.corners, self.corners[0])))

    def holds(self, point: Flat) -> bool:
        """Whether a point lies inside."""
        if not self.corners:
            return math.dist(point, self.centre) < self.radius
        turns = [_turn(a, b, point) for a, b in self.sides]
        return min(turns) > 0 or max(turns) < 0


def rectangle(name: str, width: float, height: float, x: float, y: float) -> Figure:
    """Return a rectangle around its centre."""
    w, h = width / 2, height / 2
    return Figure(name, (x, y), ((x - w, y - h), (x + w, y - h), (x + w, y + h), (x - w, y + h)))


def circle(name: str, diameter: float, x: float, y: float) -> Figure:
    """Return a circle."""
    return Figure(name, (x, y), (), diameter / 2)


def polygon(name: str, sides: int, diameter: float, x: float, y: float) -> Figure:
    """Return a regular polygon with its corners on a circle of ``diameter``, the first one towards +x."""
    angles = [2 * math.pi * i / sides for i in range(sides)]
    corners = tuple((x + diameter / 2 * math.cos(a), y + diameter / 2 * math.sin(a)) for a in angles)
    return Figure(name, (x, y), corners)


def crossing(a: Figure, b: Figure) -> bool:
    """Whether the outlines of two figures cross or touch."""
    if not a.corners and not b.corners:
        distance = math.dist(a.centre, b.centre)
        return abs(a.radius - b.radius) - TOUCH <= distance <= a.radius + b.radius + TOUCH
    if not a.corners:
        a, b = b, a
    if not b.corners:
        return any(_meets_circle(side, b) for side in a.sides)
    return any(_segments_meet(s, t) for s in a.sides for t in b.sides)


def profiles(figures: Sequence[Figure]) -> list[tuple[Figure, list[Figure]]]:
    """Return each outer figure with its holes, for figures that do not cross (even-odd rule)."""
    depth = {f.name: sum(_inside(f, other) for other in figures if other is not f) for f in figures}
    outers = [f for f in figures if depth[f.name] % 2 == 0]
    return [(o, [f for f in figures if depth[f.name] == depth[o.name] + 1 and _inside(f, o)]) for o in outers]


def _inside(inner: Figure, outer: Figure) -> bool:
    return inner.area < outer.area and outer.holds(inner.corners[0] if inner.corners else inner.centre)


def _turn(a: Flat, b: Flat, c: Flat) -> float:
    """Return the signed distance of ``c`` from the line through ``a`` and ``b``."""
    return ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / math.dist(a, b)


def _segment_distance(point: Flat, side: tuple[Flat, Flat]) -> float:
    (ax, ay), (bx, by) = side
    along = ((point[0] - ax) * (bx - ax) + (point[1] - ay) * (by - ay)) / math.dist(*side) ** 2
    t = min(max(along, 0.0), 1.0)
    return math.dist(point, (ax + t * (bx - ax), ay + t * (by - ay)))


def _meets_circle(side: tuple[Flat, Flat], circle: Figure) -> bool:
    nearest = _segment_distance(circle.centre, side)
    farthest = max(math.dist(circle.centre, end) for end in side)
    return nearest <= circle.radius + TOUCH and farthest >= circle.radius - TOUCH


def _segments_meet(s: tuple[Flat, Flat], t: tuple[Flat, Flat]) -> bool:
    (a, b), (c, d) = s, t
    if _turn(a, b, c) * _turn(a, b, d) < 0 and _turn(c, d, a) * _turn(c, d, b) < 0:
        return True
    ends = [(a, t), (b, t), (c, s), (d, s)]
    return any(_segment_distance(point, side) <= TOUCH for point, side in ends)
