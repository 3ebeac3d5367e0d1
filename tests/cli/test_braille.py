"""Line drawings for a terminal."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makerspace.cli.braille import draw


def sheet(inside: str, width: int = 8, height: int = 8) -> bytes:
    return f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}">{inside}</svg>'.encode()


def test_a_horizontal_and_a_vertical_line() -> None:
    assert draw(sheet('<path d="M0,0 L7,0"/>'), 4) == "⠉⠉⠉⠉"
    assert draw(sheet('<path d="M0,0 L0,7"/>'), 4) == "⡇\n⡇"


def test_a_square_has_four_corners() -> None:
    assert draw(sheet('<path d="M0,0 L7,0 L7,7 L0,7 L0,0"/>'), 4) == "⡏⠉⠉⢹\n⣇⣀⣀⣸"


def test_groups_are_moved_as_svg_says() -> None:
    plain = draw(sheet('<path d="M2,2 L6,2 L6,6"/>'), 4)
    assert draw(sheet('<g transform="translate(2,2)"><path d="M0,0 L4,0 L4,4"/></g>'), 4) == plain
    assert draw(sheet('<g transform="scale(2, -2) translate(1,-1)"><path d="M0,0 L2,0 L2,-2"/></g>'), 4) == plain
    assert draw(sheet('<svg x="2" y="2"><path d="M0,0 L4,0 L4,4"/></svg>'), 4) == plain


def test_hidden_lines_are_left_out() -> None:
    assert draw(sheet('<g stroke-dasharray="1,1"><path d="M0,0 L7,7"/></g>'), 4) == ""


@given(st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=2, max_size=9))
def test_any_path_fits_the_width_or_runs_off_the_right_edge(points: list[tuple[float, float]]) -> None:
    path = "L".join(f"{x},{y}" for x, y in points)
    drawn = draw(sheet(f'<path d="M{path}"/>', width=50), 25)
    assert all(len(line) <= 27 for line in drawn.splitlines())
    assert set(drawn) <= {" ", "\n", *map(chr, range(0x2801, 0x2900))}


def test_what_is_no_svg_is_refused() -> None:
    with pytest.raises(ValueError, match="no SVG"):
        draw(b"solid part")
