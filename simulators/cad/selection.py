"""Looking at a solid: its surfaces as plain data, and edges by selector.

``surfaces`` is what semantic face names, hole tests and scores are made of. Everything is measured in the global
axes, in mm.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# OCP, the binding of OpenCascade, is a compiled module without type stubs.

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import cadquery as cq
from OCP.Bnd import Bnd_Box
from OCP.BRep import BRep_Tool
from OCP.BRepAdaptor import BRepAdaptor_Curve, BRepAdaptor_Surface
from OCP.BRepBndLib import BRepBndLib
from OCP.BRepTools import BRepTools
from OCP.GeomAbs import GeomAbs_C0, GeomAbs_Cone, GeomAbs_Cylinder, GeomAbs_Line, GeomAbs_Plane
from OCP.TopAbs import TopAbs_EDGE, TopAbs_FACE, TopAbs_REVERSED
from OCP.TopExp import TopExp, TopExp_Explorer
from OCP.TopoDS import TopoDS
from OCP.TopTools import TopTools_IndexedDataMapOfShapeListOfShape, TopTools_IndexedMapOfShape

from .frames import Frame, Point

NEAR = 1e-4
"""Positions that differ by less are the same, in mm."""
ORIGIN = (0.0, 0.0, 0.0)


class Surface(NamedTuple):
    """One face of a solid."""

    kind: str
    """``plane``, ``cylinder``, ``cone`` or ``other``."""
    direction: Point
    """A plane's outward normal; the axis of a cylinder or cone, turned so that its leading component is positive."""
    position: Point
    """A point on the axis of a cylinder or cone, the one nearest to the origin; zeros for other kinds."""
    radius: float
    """Radius of a cylinder, reference radius of a cone; 0 for other kinds."""
    sweep: float
    """The angle over which a cylinder or cone goes round, in radians; 0 for other kinds."""
    concave: bool
    """Whether a cylinder or cone is the wall of a hole."""
    low: Point
    high: Point
    """The face's bounding box."""

    @property
    def span(self) -> float:
        """Extent of the bounding box along ``direction``."""
        return sum(abs(d) * (b - a) for d, a, b in zip(self.direction, self.low, self.high, strict=True))

    def on(self, frame: Frame) -> bool:
        """Whether this is a flat face in the frame, with the frame's outward direction."""
        return (
            self.kind == "plane"
            and self.direction[frame.axis] * frame.sign > 1 - 1e-9
            and abs(self.low[frame.axis] - frame.level) < NEAR
        )


def surfaces(shape: cq.Shape) -> tuple[Surface, ...]:
    """Return the faces of a shape, in its own order."""
    return tuple(_surface(face) for face in _explore(shape.wrapped, TopAbs_FACE))


def edge_count(shape: cq.Shape) -> int:
    """Return the number of different edges."""
    found = TopTools_IndexedMapOfShape()
    TopExp.MapShapes_s(shape.wrapped, TopAbs_EDGE, found)
    return found.Extent()


def _explore(shape: Any, kind: Any) -> Iterator[Any]:
    explorer = TopExp_Explorer(shape, kind)
    while explorer.More():
        yield explorer.Current()
        explorer.Next()


def _surface(face: Any) -> Surface:
    face = TopoDS.Face(face)
    adaptor = BRepAdaptor_Surface(face, False)
    low, high = _box(face)
    reversed_ = face.Orientation() == TopAbs_REVERSED
    kind = adaptor.GetType()
    if kind == GeomAbs_Plane:
        plane = adaptor.Plane()
        normal = _tuple(plane.Axis().Direction())
        outward = -1.0 if reversed_ == plane.Direct() else 1.0
        return Surface("plane", _signed(normal, outward), ORIGIN, 0.0, 0.0, False, low, high)
    if kind in (GeomAbs_Cylinder, GeomAbs_Cone):
        return _round(face, adaptor, low, high, reversed_)
    return Surface("other", ORIGIN, ORIGIN, 0.0, 0.0, False, low, high)


def _round(face: Any, adaptor: Any, low: Point, high: Point, reversed_: bool) -> Surface:
    conical = adaptor.GetType() == GeomAbs_Cone
    shape = adaptor.Cone() if conical else adaptor.Cylinder()
    radius = shape.RefRadius() if conical else shape.Radius()
    direction = _tuple(shape.Axis().Direction())
    foot = _foot(_tuple(shape.Axis().Location()), direction)
    first, last, *_ = BRepTools.UVBounds_s(face)
    concave = reversed_ == shape.Direct()
    return Surface(
        "cone" if conical else "cylinder", _canonical(direction), foot, radius, last - first, concave, low, high
    )


def _box(shape: Any) -> tuple[Point, Point]:
    box = Bnd_Box()
    BRepBndLib.Add_s(shape, box, False)
    gap = box.GetGap()
    x0, y0, z0, x1, y1, z1 = box.Get()
    return (x0 + gap, y0 + gap, z0 + gap), (x1 - gap, y1 - gap, z1 - gap)


def _tuple(vector: Any) -> Point:
    return (vector.X(), vector.Y(), vector.Z())


def _signed(vector: Point, sign: float) -> Point:
    return (vector[0] * sign, vector[1] * sign, vector[2] * sign)


def _canonical(direction: Point) -> Point:
    leading = next((c for c in direction if abs(c) > 1e-6), 1.0)
    return _signed(direction, math.copysign(1.0, leading))


def _foot(point: Point, direction: Point) -> Point:
    """Return the point of the line that is nearest to the origin."""
    along = sum(p * d for p, d in zip(point, direction, strict=True))
    return (point[0] - along * direction[0], point[1] - along * direction[1], point[2] - along * direction[2])


def edges(shape: cq.Shape, selector: str) -> list[cq.Edge]:
    """Return the sharp edges of a selector.

    ``vertical``: straight, along Z. ``top`` and ``bottom``: at the body's highest and lowest level. ``all``.
    """
    low, high = _box(shape.wrapped)
    chosen = [edge for edge in _sharp_edges(shape) if _selected(edge, selector, low[2], high[2])]
    return [cq.Edge(edge) for edge in chosen]


def _sharp_edges(shape: cq.Shape) -> Iterator[Any]:
    """Yield edges between two faces that meet at an angle: no seams, no smooth transitions."""
    faces = TopTools_IndexedDataMapOfShapeListOfShape()
    TopExp.MapShapesAndUniqueAncestors_s(shape.wrapped, TopAbs_EDGE, TopAbs_FACE, faces)
    for i in range(1, faces.Extent() + 1):
        edge, owners = TopoDS.Edge(faces.FindKey(i)), faces.FindFromIndex(i)
        if owners.Extent() == 2 and not BRep_Tool.Degenerated_s(edge):
            a, b = TopoDS.Face(owners.First()), TopoDS.Face(owners.Last())
            if not BRep_Tool.HasContinuity_s(edge, a, b) or BRep_Tool.Continuity_s(edge, a, b) == GeomAbs_C0:
                yield edge


def _selected(edge: Any, selector: str, bottom: float, top: float) -> bool:
    if selector == "all":
        return True
    low, high = _box(edge)
    if selector == "vertical":
        curve = BRepAdaptor_Curve(edge)
        return curve.GetType() == GeomAbs_Line and abs(curve.Line().Direction().Z()) > 1 - 1e-9
    level = top if selector == "top" else bottom
    return abs(low[2] - level) < NEAR and abs(high[2] - level) < NEAR
