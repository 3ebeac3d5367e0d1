from __future__ import annotations

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from makerspace.simulators.cad import sketch
from makerspace.simulators.cad.sketch import Figure

place = st.integers(-40, 40).map(lambda n: n / 2)
length = st.integers(2, 60).map(lambda n: n / 2)
figures = st.one_of(
    st.builds(sketch.rectangle, st.just("a"), length, length, place, place),
    st.builds(sketch.circle, st.just("b"), length, place, place),
    st.builds(sketch.polygon, st.just("c"), st.integers(3, 9), length, place, place),
)


def outline(figure: Figure, steps: int = 90) -> list[tuple[float, float]]:
    if not figure.corners:
        angles = [2 * math.pi * i / steps for i in range(steps)]
        return [
            (figure.centre[0] + figure.radius * math.cos(a), figure.centre[1] + figure.radius * math.sin(a))
            for a in angles
        ]
    parts = [i / 20 for i in range(20)]
    return [(a[0] + t * (b[0] - a[0]), a[1] + t * (b[1] - a[1])) for a, b in figure.sides for t in parts]


@settings(deadline=None)
@given(figures, figures)
def test_crossing_is_symmetric(a: Figure, b: Figure) -> None:
    assert sketch.crossing(a, b) == sketch.crossing(b, a)


@settings(deadline=None)
@given(figures, figures)
def test_outlines_that_are_partly_inside_cross(a: Figure, b: Figure) -> None:
    inside = {b.holds(point) for point in outline(a)}
    assume(len(inside) == 2)
    assert sketch.crossing(a, b)


@settings(deadline=None)
@given(figures, figures)
def test_what_does_not_cross_is_wholly_inside_or_outside(a: Figure, b: Figure) -> None:
    assume(not sketch.crossing(a, b))
    assert len({b.holds(point) for point in outline(a)}) == 1


@settings(deadline=None)
@given(figures)
def test_a_figure_crosses_itself(figure: Figure) -> None:
    assert sketch.crossing(figure, figure)


def test_areas_follow_the_formulas() -> None:
    assert sketch.rectangle("r", 4, 3, 9, 9).area == 12
    assert math.isclose(sketch.circle("c", 2, 0, 0).area, math.pi)
    assert math.isclose(sketch.polygon("p", 6, 2, 5, 5).area, 3 * math.sqrt(3) / 2)


def test_figures_inside_figures_are_holes_and_islands() -> None:
    plate = sketch.rectangle("plate", 100, 100, 0, 0)
    hole = sketch.circle("hole", 60, 0, 0)
    island = sketch.polygon("island", 6, 20, 0, 0)
    beside = sketch.circle("beside", 10, 80, 0)
    found = {outer.name: [h.name for h in holes] for outer, holes in sketch.profiles([beside, island, hole, plate])}
    assert found == {"plate": ["hole"], "island": [], "beside": []}
