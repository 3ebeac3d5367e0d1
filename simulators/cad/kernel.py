"""The kernel: solids and what can be done to them, on OpenCascade through CadQuery.

Importing this module imports CadQuery (seconds, hundreds of MiB); applications do so when the first shape is needed.

1. Nothing here checks its own result: the kernel fails silently, so that ``health`` looks at every one.
2. OpenCascade's thread pool is set to one thread before the first computation and no operation runs in parallel. A
   pool with workers does not survive ``fork``: a child of a parent that has computed with one waits for its dead
   workers for ever.
3. OpenCascade writes into the shapes that it is given (tolerances, triangulations, flags). A shape that is used again
   is therefore kept as bytes and parsed anew for each use, so that results do not depend on what was done before.

Lengths are mm.
"""

# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# OCP, the binding of OpenCascade, is a compiled module without type stubs.

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import cadquery as cq
import numpy as np
from OCP.BRepAlgoAPI import BRepAlgoAPI_Common, BRepAlgoAPI_Cut, BRepAlgoAPI_Fuse
from OCP.gp import gp_Ax1, gp_Dir, gp_Pnt, gp_Trsf
from OCP.Interface import Interface_Static
from OCP.OSD import OSD_ThreadPool
from OCP.STEPControl import STEPControl_AsIs, STEPControl_Writer
from OCP.TopTools import TopTools_ListOfShape

from .frames import Frame
from .sketch import Figure, profiles

Shape = cq.Shape

OSD_ThreadPool.DefaultPool_s(1)

MAX_BREP = 8 * 1024 * 1024
"""Largest BRep file that is parsed, in bytes."""
_BREP_MAGIC = b"\nOpen CASCADE Topology V4"


class KernelError(Exception):
    """OpenCascade raised; the text is its own, which seldom says why."""


def guarded(operation: Callable[[], Shape]) -> Shape:
    """Run one kernel operation; whatever the binding raises becomes a ``KernelError``."""
    try:
        return operation()
    except Exception as problem:  # noqa: BLE001 - the binding raises dozens of unrelated classes
        raise KernelError(str(problem)[:200]) from None


def prisms(figures: Sequence[Figure], frame: Frame, start: float, length: float) -> list[Shape]:
    """Return one solid per profile, from ``start`` mm outward of the frame over ``length`` mm (negative: inward)."""
    base = frame.moved(start)
    vector = cq.Vector(*base.along(base.sign * length))
    return [
        cq.Solid.extrudeLinear(_wire(outer, base), [_wire(i, base) for i in inner], vector)
        for outer, inner in profiles(figures)
    ]


def _wire(figure: Figure, frame: Frame) -> cq.Wire:
    if not figure.corners:
        return cq.Wire.makeCircle(figure.radius, cq.Vector(*frame.point(*figure.centre)), cq.Vector(*frame.normal))
    return cq.Wire.makePolygon([cq.Vector(*frame.point(*corner)) for corner in figure.corners], close=True)


def drill(frame: Frame, x: float, y: float, diameter: float, depth: float) -> Shape:
    """Return the cylinder that a drill sweeps from the frame inward."""
    inward = cq.Vector(*frame.along(-float(frame.sign)))
    return cq.Solid.makeCylinder(diameter / 2, depth, cq.Vector(*frame.point(x, y)), inward)


def cut(body: Shape, tools: Iterable[Shape]) -> Shape:
    """Return the body without the tools."""
    return _boolean(BRepAlgoAPI_Cut(), body, tools)


def join(body: Shape, tools: Iterable[Shape]) -> Shape:
    """Return the union, with faces and edges merged that lie on the same surface."""
    return _boolean(BRepAlgoAPI_Fuse(), body, tools).clean()


def common(body: Shape, tools: Iterable[Shape]) -> Shape:
    """Return what the body shares with the tools."""
    return _boolean(BRepAlgoAPI_Common(), body, tools)


def _boolean(operation: Any, body: Shape, tools: Iterable[Shape]) -> Shape:
    operation.SetArguments(_list([body]))
    operation.SetTools(_list(tools))
    operation.Build()
    if not operation.IsDone():
        raise KernelError("the boolean operation was not done")
    return cq.Shape.cast(operation.Shape())


def _list(shapes: Iterable[Shape]) -> Any:
    found = TopTools_ListOfShape()
    for shape in shapes:
        found.Append(shape.wrapped)
    return found


def fillet(body: Shape, edges: Sequence[cq.Edge], radius: float) -> Shape:
    """Return the body with rounded edges."""
    return body.fillet(radius, edges)  # type: ignore[attr-defined]


def chamfer(body: Shape, edges: Sequence[cq.Edge], size: float) -> Shape:
    """Return the body with edges broken at 45 degrees, ``size`` mm back on both faces."""
    return body.chamfer(size, None, edges)  # type: ignore[attr-defined]


def shifted(shape: Shape, vector: Sequence[float]) -> Shape:
    """Return a copy moved by a vector."""
    return shape.moved(cq.Location(cq.Vector(*vector)))


def rotated(shape: Shape, frame: Frame, degrees: float) -> Shape:
    """Return a copy turned about the global axis across which the frame lies, counter-clockwise from its tip."""
    turn = gp_Trsf()
    turn.SetRotation(gp_Ax1(gp_Pnt(0, 0, 0), gp_Dir(*frame.along(1.0))), math.radians(degrees))
    return shape.moved(cq.Location(turn))


def to_brep(shape: Shape) -> bytes:
    """Return the shape as a binary BRep file, without triangulation."""
    stream = io.BytesIO()
    shape.exportBin(stream)
    return stream.getvalue()


def from_brep(data: bytes) -> Shape | None:
    """Parse a binary BRep file; ``None`` for what is too long, not such a file, or broken."""
    if len(data) > MAX_BREP or not data.startswith(_BREP_MAGIC):
        return None
    try:
        shape = cq.Shape.importBin(io.BytesIO(data))
    except Exception:  # noqa: BLE001 - the binding raises dozens of unrelated classes
        return None
    return shape if shape.wrapped is not None and not shape.wrapped.IsNull() else None


def parsed(data: bytes) -> Shape:
    """Return the shape of a BRep file that ``to_brep`` wrote.

    Raises:
        KernelError: If it is not such a file.
    """
    shape = from_brep(data)
    if shape is None:
        raise KernelError("this is no BRep file")
    return shape


def to_step(shape: Shape) -> bytes:
    """Return the shape as a STEP file; its header holds a constant time stamp and product name."""
    writer = STEPControl_Writer()
    Interface_Static.SetCVal_s("write.step.product.name", "part")
    writer.Transfer(shape.wrapped, STEPControl_AsIs)
    stream = io.BytesIO()
    writer.WriteStream(stream)
    dated = re.sub(rb"'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d'", b"'2000-01-01T00:00:00'", stream.getvalue(), count=1)
    return re.sub(rb"'part \d+'", b"'part'", dated)  # the writer counts its products


def to_stl(shape: Shape) -> bytes:
    """Return the shape as a binary STL file, chords within 0.05 mm and 0.2 rad of the surface."""
    vertices, triangles = shape.tessellate(0.05, 0.2)
    corners = np.array([v.toTuple() for v in vertices])[np.array(triangles)]
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-12)
    rows = np.zeros(len(corners), dtype=[("vectors", "<f4", (4, 3)), ("spare", "<u2")])
    rows["vectors"] = np.concatenate([normals[:, None], corners], axis=1)
    return b"part".ljust(80, b"\0") + len(corners).to_bytes(4, "little") + rows.tobytes()
