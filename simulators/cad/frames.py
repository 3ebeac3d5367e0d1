"""Axis-parallel planes in space, by the names that people use for them.

All sketches and holes lie in planes across a global axis. A plane has an outward direction and a level on that axis.
Positions in it are given **along the global axes that lie in it**, from the projection of the global origin:

| plane, faces | outward | x, y of the sketch are |
|---|---|---|
| XY, top (+Z), bottom (-Z) | Z | X, Y |
| XZ, front (-Y), back (+Y) | -Y for XZ, as in CadQuery | X, Z |
| YZ, right (+X), left (-X) | X | Y, Z |

This module knows no kernel.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

Point = tuple[float, float, float]
Flat = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Frame:
    """A plane across a global axis."""

    axis: int
    """0, 1 or 2: the global axis across which the plane lies."""
    sign: int
    """+1 or -1: the outward direction along that axis."""
    level: float
    """The plane's coordinate on the axis, in mm."""

    @property
    def normal(self) -> Point:
        """The outward unit vector."""
        return self.along(float(self.sign))

    @property
    def inplane(self) -> tuple[int, int]:
        """The global axes of the sketch's x and y."""
        return ((1, 2), (0, 2), (0, 1))[self.axis]

    def along(self, length: float) -> Point:
        """Return the vector of a (signed) length along the global axis."""
        vector = [0.0, 0.0, 0.0]
        vector[self.axis] = length
        return (vector[0], vector[1], vector[2])

    def point(self, x: float, y: float, outward: float = 0.0) -> Point:
        """Return the point in space at ``x, y`` in the plane, ``outward`` mm before it."""
        u, v = self.inplane
        point = [0.0, 0.0, 0.0]
        point[u], point[v], point[self.axis] = x, y, self.level + self.sign * outward
        return (point[0], point[1], point[2])

    def moved(self, outward: float) -> Frame:
        """Return the parallel plane ``outward`` mm before this one."""
        return replace(self, level=self.level + self.sign * outward)

    def turned(self) -> Frame:
        """Return the same plane seen from behind."""
        return replace(self, sign=-self.sign)


PLANES = {"XY": Frame(2, 1, 0.0), "XZ": Frame(1, -1, 0.0), "YZ": Frame(0, 1, 0.0)}
"""The three origin planes."""

SIDES = {"top": (2, 1), "bottom": (2, -1), "front": (1, -1), "back": (1, 1), "right": (0, 1), "left": (0, -1)}
"""The body's outermost flat face towards each side: axis and sign."""
