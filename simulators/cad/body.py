"""A body and its health.

The kernel answers many impossible requests with a broken or unchanged shape and no word, so that every result passes
``checked``: one solid, valid, of positive volume, changed in the direction that the operation promises, and not
outside its own reach.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..base import ToolFault
from . import kernel, selection
from .frames import Point

Change = Literal["grow", "shrink", "blend"]
"""What an operation does to the volume; ``blend`` may do either, but never enlarges the bounding box."""

LEAST = 1e-6
"""Smallest volume and smallest change of volume that count, relative to the body and in mm3."""


@dataclass(frozen=True)
class Body:
    """One solid as data, and what is measured of it; each measure is taken once."""

    brep: bytes
    """The binary BRep file."""
    volume: float
    """mm3"""

    def shape(self) -> kernel.Shape:
        """Return the solid, parsed anew: an operation may write into it."""
        return kernel.parsed(self.brep)

    @cached_property
    def _measured(self) -> kernel.Shape:
        return self.shape()

    @cached_property
    def surfaces(self) -> tuple[selection.Surface, ...]:
        """The faces as data."""
        return selection.surfaces(self._measured)

    @cached_property
    def box(self) -> tuple[Point, Point]:
        """Lowest and highest corner of the bounding box."""
        box = self._measured.BoundingBox()
        return (box.xmin, box.ymin, box.zmin), (box.xmax, box.ymax, box.zmax)

    @property
    def size(self) -> Point:
        """Edge lengths of the bounding box in mm."""
        low, high = self.box
        return (high[0] - low[0], high[1] - low[1], high[2] - low[2])

    @cached_property
    def area(self) -> float:
        """Surface in mm2."""
        return self._measured.Area()

    @cached_property
    def counts(self) -> tuple[int, int]:
        """Numbers of faces and edges."""
        return len(self.surfaces), selection.edge_count(self._measured)

    @cached_property
    def centre(self) -> Point:
        """Centre of mass."""
        return self._measured.Center().toTuple()


def checked(name: str, before: Body | None, shape: kernel.Shape, change: Change) -> Body:
    """Return the result of an operation as a body.

    Raises:
        ToolFault: With code ``kernel``, if the result is no healthy body or not what the operation promises.
    """
    solids = shape.Solids()
    if not solids:
        raise _fault(name, "nothing of the part would be left", "the tool is larger than the body")
    if len(solids) > 1:
        hint = "the new piece must touch the body" if change == "grow" else "the cut must leave one piece"
        raise _fault(name, f"the result would be {len(solids)} separate solids", hint)
    after = Body(kernel.to_brep(solids[0]), solids[0].Volume())
    if not math.isfinite(after.volume) or after.volume <= LEAST:
        raise _fault(
            name, f"the result would have the volume {after.volume:.3g} mm3", "every size must be larger than zero"
        )
    if not solids[0].isValid():
        raise _fault(name, "the result would be an invalid solid", "try a smaller value")
    if before is not None:
        _check_change(name, before, after, change)
    return after


def _check_change(name: str, before: Body, after: Body, change: Change) -> None:
    delta, least = after.volume - before.volume, LEAST * max(before.volume, 1.0)
    if change != "grow" and any(outside > 1e-3 for outside in _growth(before, after)):
        raise _fault(name, "the result would reach out of the body", "try a smaller value")
    if change == "grow" and delta < least:
        raise _fault(name, "it adds nothing: it lies inside the body", "draw it outside, or use operation cut")
    if change == "shrink" and delta > -least:
        raise _fault(name, "it removes nothing: it lies outside the body", "check x, y, the face and the depth")
    if change == "blend" and abs(delta) < least:
        raise _fault(name, "it changes nothing", "choose other edges")


def _growth(before: Body, after: Body) -> list[float]:
    (a, b), (c, d) = before.box, after.box
    return [low - new for low, new in zip(a, c, strict=True)] + [new - high for high, new in zip(b, d, strict=True)]


def _fault(name: str, message: str, hint: str) -> ToolFault:
    return ToolFault("kernel", f"{name}: {message}", hint)
