"""What the kernel answers with a broken or unchanged shape and no word must be an error that says what is wrong."""

from __future__ import annotations

import re

import pytest

from makerspace.simulators.cad.app import Cad

from .conftest import Do


def refused(cad: Cad, do: Do, name: str, **arguments: object) -> str:
    """Make a call that must be refused and must leave the document as it is; return what it says."""
    before = cad.state_hash(), cad.artifacts()
    result = do(name, **arguments)
    assert not result.ok
    assert result.error is not None
    assert (cad.state_hash(), cad.artifacts()) == before
    assert len(result.text) < 400
    return result.text


@pytest.mark.parametrize("edges", ["vertical", "top", "all"])
@pytest.mark.parametrize(("tool", "parameter"), [("fillet", "radius"), ("chamfer", "size")])
def test_too_large_a_blend_names_the_largest_that_works(cad: Cad, block: Do, tool: str, parameter: str, edges: str):
    text = refused(cad, block, tool, **{parameter: 26, "edges": edges})
    assert f"{parameter} 26 is too large" in text
    largest = float(re.findall(r"about ([\d.]+)", text)[0])
    assert block(tool, **{parameter: largest, "edges": edges}).ok
    block("undo")
    assert not block(tool, **{parameter: largest * 1.5 + 1, "edges": edges}).ok


def test_a_fillet_of_exactly_half_the_thickness_is_refused(cad: Cad, block: Do) -> None:
    assert "too large" in refused(cad, block, "fillet", radius=4, edges="all")


def test_a_silently_invalid_fillet_is_refused(cad: Cad, block: Do) -> None:
    """Here the kernel returns an invalid solid and raises nothing."""
    assert "too large" in refused(cad, block, "fillet", radius=5, edges="all")


def test_no_edges_to_work_on(cad: Cad, do: Do) -> None:
    do("new_sketch")
    do("circle", diameter=20)
    do("extrude", distance=10)
    assert "no sharp vertical edges" in refused(cad, do, "fillet", radius=1, edges="vertical")


def test_a_hole_outside_the_body(cad: Cad, block: Do) -> None:
    assert "removes nothing" in refused(cad, block, "hole", diameter=5, x=60, y=0)


def test_a_hole_larger_than_the_body(cad: Cad, block: Do) -> None:
    assert "nothing of the part would be left" in refused(cad, block, "hole", diameter=200)


def test_a_hole_over_an_edge_is_a_warning(block: Do) -> None:
    assert "warning: it breaks an edge" in block("hole", diameter=6, x=39, y=0).text


def test_a_hole_inside_the_face_is_none(block: Do) -> None:
    assert "warning" not in block("hole", diameter=6, x=36.5, y=0, depth=4).text
    assert "warning" not in block("hole", diameter=9, x=-10, y=0).text
    assert "warning" not in block("hole", diameter=12, x=-10, y=0, depth=2).text


def test_a_cut_without_effect(cad: Cad, block: Do) -> None:
    block("new_sketch", plane="XY")
    block("rectangle", width=10, height=10)
    assert "removes nothing" in refused(cad, block, "extrude", distance=5, operation="cut")


def test_a_join_without_effect(cad: Cad, block: Do) -> None:
    block("new_sketch", plane="XY")
    block("rectangle", width=10, height=10)
    assert "adds nothing" in refused(cad, block, "extrude", distance=5)


def test_a_join_that_does_not_touch(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top", offset=1)
    block("circle", diameter=10)
    text = refused(cad, block, "extrude", distance=5)
    assert "2 separate solids" in text
    assert "must touch" in text


def test_bodies_that_touch_along_an_edge_only(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top")
    block("rectangle", width=10, height=10, x=45, y=0)
    assert "2 separate solids" in refused(cad, block, "extrude", distance=5)


def test_a_cut_that_splits_the_part(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top")
    block("rectangle", width=5, height=60)
    assert "2 separate solids" in refused(cad, block, "extrude", operation="cut")


def test_cutting_everything(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top")
    block("rectangle", width=90, height=60)
    assert "nothing of the part would be left" in refused(cad, block, "extrude", operation="cut")


def test_separate_profiles_make_no_single_body(cad: Cad, do: Do) -> None:
    do("new_sketch")
    do("circle", diameter=5, x=0)
    do("circle", diameter=5, x=10)
    assert "2 separate solids" in refused(cad, do, "extrude", distance=5)


@pytest.mark.parametrize("x", [8, 10, 2], ids=["crossing", "touching outside", "touching inside"])
def test_profiles_that_cross_or_touch(cad: Cad, do: Do, x: float) -> None:
    do("new_sketch")
    do("circle", diameter=12)
    diameter = 8
    assert "crosses or touches Circle1" in refused(cad, do, "circle", diameter=diameter, x=x)


def test_an_empty_sketch(cad: Cad, do: Do) -> None:
    do("new_sketch")
    assert "Sketch1 is empty" in refused(cad, do, "extrude", distance=5)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("extrude", {"distance": 5}),
        ("circle", {"diameter": 5}),
        ("hole", {"diameter": 5}),
        ("fillet", {"radius": 1, "edges": "all"}),
        ("pattern", {"kind": "circular", "count": 3}),
        ("measure", {}),
        ("export", {}),
        ("undo", {}),
        ("remove", {"feature": "Hole1"}),
        ("set_parameter", {"feature": "Hole1", "parameter": "x", "value": 1}),
        ("new_sketch", {"face": "top"}),
    ],
)
def test_nothing_to_work_on(cad: Cad, do: Do, name: str, arguments: dict[str, object]) -> None:
    refused(cad, do, name, **arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("extrude", {"distance": 0}),
        ("extrude", {"distance": -5}),
        ("circle", {"diameter": 0}),
        ("circle", {"diameter": -3}),
        ("rectangle", {"width": 0, "height": 5}),
        ("polygon", {"sides": 2, "diameter": 5}),
        ("polygon", {"sides": 5.5, "diameter": 5}),
        ("hole", {"diameter": float("nan")}),
        ("fillet", {"radius": 0, "edges": "all"}),
        ("fillet", {"radius": 1, "edges": "|Q"}),
        ("pattern", {"kind": "linear", "count": 3}),
        ("pattern", {"kind": "circular", "count": 1}),
        ("new_sketch", {"plane": "XY", "face": "top"}),
        ("new_sketch", {"plane": "ZX"}),
        ("export", {"format": "obj"}),
    ],
)
def test_arguments_out_of_bounds(cad: Cad, block: Do, name: str, arguments: dict[str, object]) -> None:
    refused(cad, block, name, **arguments)


def test_an_unknown_face_names_the_faces(cad: Cad, block: Do) -> None:
    text = refused(cad, block, "hole", diameter=5, face="topp")
    assert "did you mean: top" in text
    assert "Extrude1.top" in text


def test_a_face_that_is_gone(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top")
    block("rectangle", width=80, height=50)
    block("extrude", distance=5)
    assert "no flat face 'Extrude1.top'" in refused(cad, block, "hole", diameter=5, face="Extrude1.top")


def test_a_join_needs_a_distance(cad: Cad, do: Do) -> None:
    do("new_sketch")
    do("circle", diameter=5)
    assert "needs a distance" in refused(cad, do, "extrude")


def test_sketches_do_not_nest(cad: Cad, block: Do) -> None:
    block("new_sketch", face="top")
    assert "Sketch2 is still open" in refused(cad, block, "new_sketch", face="top")
    assert "Sketch2 is still open" in refused(cad, block, "hole", diameter=5)


def test_an_edit_that_breaks_a_later_feature(cad: Cad, block: Do) -> None:
    block("hole", diameter=6, x=30, y=10)
    text = refused(cad, block, "set_parameter", feature="Rectangle1", parameter="width", value=40)
    assert "Hole1: it removes nothing" in text


def test_removing_what_others_stand_on(cad: Cad, block: Do) -> None:
    block("hole", diameter=6)
    assert "Hole1" in refused(cad, block, "remove", feature="Extrude1")


def test_edits_that_cannot_be(cad: Cad, block: Do) -> None:
    def edit(feature: str, parameter: str, value: object) -> str:
        return refused(cad, block, "set_parameter", feature=feature, parameter=parameter, value=value)

    assert "did you mean: Rectangle1" in edit("Rectangel1", "width", 5)
    assert "numbers: width, height, x, y" in edit("Rectangle1", "length", 5)
    assert "already 80" in edit("Rectangle1", "width", 80)
    assert "greater than or equal to" in edit("Rectangle1", "width", -5)
    assert "no number 'operation'" in edit("Extrude1", "operation", 5)


def test_an_edit_without_effect(cad: Cad, block: Do) -> None:
    block("hole", diameter=6, depth=20)
    assert "changes nothing" in refused(cad, block, "set_parameter", feature="Hole1", parameter="depth", value=30)


def test_an_edit_of_an_open_sketch_has_an_effect(block: Do) -> None:
    block("new_sketch", face="top")
    block("circle", diameter=6)
    assert block("set_parameter", feature="Circle1", parameter="diameter", value=8).ok
    assert block("set_parameter", feature="Sketch2", parameter="offset", value=-1).ok


def test_a_pattern_that_leaves_the_body(cad: Cad, block: Do) -> None:
    block("hole", diameter=6, x=30)
    assert "warning" in block("pattern", kind="linear", count=3, spacing=-60, direction="x").text
    assert "removes nothing" in refused(cad, block, "pattern", kind="linear", count=2, spacing=60, feature="Hole1")


def test_too_much_of_everything(cad: Cad, block: Do) -> None:
    block("hole", diameter=1, x=30)
    block("pattern", kind="circular", count=20)
    assert "too many copies" in refused(cad, block, "pattern", kind="circular", count=36, angle=5)
