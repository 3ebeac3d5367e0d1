from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from makerspace.simulators.cad.frames import PLANES, SIDES, Frame

number = st.floats(-1000, 1000)
frames = st.builds(Frame, st.integers(0, 2), st.sampled_from((-1, 1)), number)


@settings(deadline=None)
@given(frames, number, number, number)
def test_positions_are_along_the_global_axes(frame: Frame, x: float, y: float, outward: float) -> None:
    point = frame.point(x, y, outward)
    assert [point[a] for a in frame.inplane] == [x, y]
    assert point[frame.axis] == pytest.approx(frame.level + frame.sign * outward)


@settings(deadline=None)
@given(frames, number)
def test_a_moved_frame_holds_the_points_before_the_first(frame: Frame, outward: float) -> None:
    assert frame.moved(outward).point(1, 2) == pytest.approx(frame.point(1, 2, outward))
    assert frame.turned().turned() == frame


def test_planes_look_where_their_names_say() -> None:
    assert PLANES["XY"].normal == (0, 0, 1)
    assert PLANES["XZ"].normal == (0, -1, 0)
    assert PLANES["YZ"].normal == (1, 0, 0)
    assert {(axis, sign) for axis, sign in SIDES.values()} == {(a, s) for a in range(3) for s in (-1, 1)}
