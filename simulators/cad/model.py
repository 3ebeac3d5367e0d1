"""A part at one point of its history: the body, the open sketch, and what later features may refer to by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ..base import ToolFault
from ..tools import nearest, shown
from . import kernel, sketch
from .body import Body
from .frames import PLANES, SIDES, Frame


@dataclass(frozen=True, slots=True)
class Effect:
    """What a feature adds or removes, so that a pattern can repeat it."""

    operation: str
    """``join`` or ``cut``."""
    pieces: Callable[[], list[kernel.Shape]]
    """Makes the tools anew: an operation may write into them."""
    frame: Frame
    volume: float
    """By how much the body changed, in mm3."""


@dataclass(frozen=True, slots=True)
class Model:
    """A part at one point of its history."""

    body: Body | None = None
    sketch: str = ""
    """Name of the open sketch."""
    frame: Frame = PLANES["XY"]
    """Plane of the open sketch."""
    figures: tuple[sketch.Figure, ...] = ()
    """What has been drawn in it."""
    effects: dict[str, Effect] = field(default_factory=dict[str, Effect])
    faces: dict[str, Frame] = field(default_factory=dict[str, Frame])
    """Flat faces by feature: ``Extrude1.top`` (its end) and ``Extrude1.bottom`` (its start; of a pocket, its floor)."""
    warning: str = ""
    """What is odd about the last feature; empty if nothing is."""

    def solid(self, name: str) -> Body:
        """Return the body, for an operation that needs one and no open sketch."""
        if self.sketch:
            raise ToolFault("precondition", f"{name}: {self.sketch} is still open", "extrude it first, or undo")
        if self.body is None:
            raise ToolFault("precondition", f"{name}: there is no body yet", "new_sketch, a figure, then extrude")
        return self.body

    def face(self, name: str) -> Frame:
        """Return the frame of a flat face of the body.

        Raises:
            ToolFault: If there is no such face, or no longer.
        """
        frame = self.faces.get(name) or self._side(name)
        if frame is None or self.body is None or not any(s.on(frame) for s in self.body.surfaces):
            known = [*SIDES, *self.faces]
            raise ToolFault(
                "not_found",
                f"the body has no flat face {shown(name)}",
                f"faces: {', '.join(known)}",
                nearest(name, known),
            )
        return frame

    def _side(self, name: str) -> Frame | None:
        if name not in SIDES or self.body is None:
            return None
        axis, sign = SIDES[name]
        levels = [s.low[axis] for s in self.body.surfaces if s.kind == "plane" and s.direction[axis] * sign > 1 - 1e-9]
        return Frame(axis, sign, sign * max(level * sign for level in levels)) if levels else None
