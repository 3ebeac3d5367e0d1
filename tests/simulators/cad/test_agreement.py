"""The application against its reference: the same part written in CadQuery's own words."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makerspace.simulators.base import ToolCall
from makerspace.simulators.cad.app import Cad

cq = pytest.importorskip("cadquery", reason="the CAD application needs the extra `cad`")

spots = st.lists(st.tuples(st.integers(-3, 3), st.integers(-1, 1)), min_size=1, max_size=3, unique=True)


@settings(max_examples=15, deadline=None)
@given(st.integers(90, 120), st.integers(50, 70), st.integers(5, 15), spots, st.integers(3, 9), st.integers(1, 4))
def test_plates_agree(width: int, depth: int, thickness: int, spots: list[tuple[int, int]], diameter: int, radius: int):
    points = [(12.0 * x, 15.0 * y) for x, y in spots]
    ours = measured(
        ("new_sketch", {"plane": "XY"}),
        ("rectangle", {"width": width, "height": depth}),
        ("extrude", {"distance": thickness}),
        *(("hole", {"diameter": diameter, "x": x, "y": y}) for x, y in points),
        ("fillet", {"radius": radius, "edges": "vertical"}),
        ("chamfer", {"size": 0.5, "edges": "bottom"}),
    )
    plate = cq.Workplane("XY").rect(width, depth).extrude(thickness)
    plate = plate.faces(">Z").workplane(origin=(0, 0)).pushPoints(points).hole(diameter)
    theirs = plate.edges("|Z and (not %CIRCLE)").edges("<X or >X").fillet(radius).faces("<Z").edges().chamfer(0.5)
    agree(ours, theirs)


@pytest.mark.parametrize("plane", ["XY", "XZ", "YZ"])
@pytest.mark.parametrize("offset", [0, 7.5])
def test_planes_agree(plane: str, offset: float) -> None:
    ours = measured(
        ("new_sketch", {"plane": plane, "offset": offset}),
        ("circle", {"diameter": 10, "x": 4, "y": -3}),
        ("extrude", {"distance": 6}),
    )
    theirs = cq.Workplane(plane).workplane(offset=offset).center(4, -3).circle(5).extrude(6)
    agree(ours, theirs)


@pytest.mark.parametrize(("face", "theirs"), [("top", ">Z"), ("front", "<Y"), ("right", ">X")])
def test_faces_agree(face: str, theirs: str) -> None:
    ours = measured(
        ("new_sketch", {}),
        ("rectangle", {"width": 40, "height": 30}),
        ("extrude", {"distance": 20}),
        ("new_sketch", {"face": face}),
        ("polygon", {"sides": 6, "diameter": 8, "x": 3, "y": 9}),
        ("extrude", {"distance": 4, "operation": "cut"}),
    )
    block = cq.Workplane("XY").rect(40, 30).extrude(20)
    agree(ours, block.faces(theirs).workplane(origin=(0, 0, 0)).center(3, 9).polygon(6, 8).cutBlind(-4))


def test_bolt_circles_agree() -> None:
    ours = measured(
        ("new_sketch", {}),
        ("circle", {"diameter": 80}),
        ("extrude", {"distance": 9}),
        ("hole", {"diameter": 6, "x": 30}),
        ("pattern", {"kind": "circular", "count": 7}),
    )
    agree(ours, cq.Workplane("XY").circle(40).extrude(9).faces(">Z").workplane().polarArray(30, 0, 360, 7).hole(6))


def measured(*calls: tuple[str, dict[str, object]]) -> dict[str, object]:
    cad = Cad()
    cad.reset({}, 0)
    for name, arguments in calls:
        result = cad.call(ToolCall(name, arguments))
        assert result.ok, result.text
    return dict(cad.call(ToolCall("measure")).data)


def agree(ours: dict[str, object], theirs: object) -> None:
    solid = theirs.val()  # type: ignore[attr-defined]
    box = solid.BoundingBox()
    assert math.isclose(ours["volume"], solid.Volume(), rel_tol=1e-9)  # type: ignore[arg-type]
    assert math.isclose(ours["area"], solid.Area(), rel_tol=1e-9)  # type: ignore[arg-type]
    assert ours["low"] == pytest.approx([box.xmin, box.ymin, box.zmin], abs=1e-6)
    assert ours["high"] == pytest.approx([box.xmax, box.ymax, box.zmax], abs=1e-6)
    assert (ours["faces"], ours["edges"]) == (len(solid.Faces()), len(solid.Edges()))
