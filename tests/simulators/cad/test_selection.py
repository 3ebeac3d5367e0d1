from __future__ import annotations

import math

import pytest

cq = pytest.importorskip("cadquery", reason="the CAD application needs the extra `cad`")
selection = pytest.importorskip("makerspace.simulators.cad.selection")
kernel = pytest.importorskip("makerspace.simulators.cad.kernel")


def block() -> object:
    return cq.Solid.makeBox(20, 10, 5)


def test_flat_faces_look_outward() -> None:
    found = {s.direction: [*s.low, *s.high] for s in selection.surfaces(block())}
    assert len(found) == 6
    assert found[0, 0, 1] == pytest.approx([0, 0, 5, 20, 10, 5])
    assert found[-1, 0, 0] == pytest.approx([0, 0, 0, 0, 10, 5])


@pytest.mark.parametrize("reach", [20, 3], ids=["through", "blind"])
def test_the_wall_of_a_hole_is_concave(reach: float) -> None:
    drill = cq.Solid.makeCylinder(2, reach, cq.Vector(6, 5, 7), cq.Vector(0, 0, -1))
    (wall,) = [s for s in selection.surfaces(kernel.cut(block(), [drill])) if s.kind == "cylinder"]
    assert wall.concave
    assert wall.radius == pytest.approx(2)
    assert wall.direction == pytest.approx((0, 0, 1))
    assert wall.position == pytest.approx((6, 5, 0))
    assert wall.sweep == pytest.approx(2 * math.pi)
    assert wall.span == pytest.approx(5 if reach == 20 else 1)


def test_the_wall_of_a_pin_is_convex() -> None:
    (wall,) = [s for s in selection.surfaces(cq.Solid.makeCylinder(3, 4)) if s.kind == "cylinder"]
    assert not wall.concave


@pytest.mark.parametrize(("selector", "count"), [("vertical", 4), ("top", 4), ("bottom", 4), ("all", 12)])
def test_edges_of_a_block(selector: str, count: int) -> None:
    assert len(selection.edges(block(), selector)) == count


def test_seams_and_smooth_transitions_are_left_out() -> None:
    sharp = block()
    rounded = kernel.fillet(sharp, selection.edges(sharp, "vertical"), 2)
    assert selection.edges(rounded, "vertical") == []
    assert len(selection.edges(rounded, "top")) == 8
    assert len(selection.edges(cq.Solid.makeCylinder(3, 4), "all")) == 2
