"""A drawing of a part: isometric, top, front and right view on one SVG sheet, hidden lines removed by the kernel."""

from __future__ import annotations

from typing import Any

import cadquery as cq
from cadquery.occ_impl.exporters.svg import getSVG  # pyright: ignore[reportUnknownVariableType]

Direction = tuple[float, float, float]

VIEWS: dict[str, tuple[Direction, Direction]] = {
    "isometric": ((1, -1, 1), (1, 1, 0)),
    "top": ((0, 0, 1), (1, 0, 0)),
    "front": ((0, -1, 0), (1, 0, 0)),
    "right": ((1, 0, 0), (0, 1, 0)),
}
"""From where each view looks, and what points to the right in it."""
WIDTH, HEIGHT = 320, 240
"""Size of one view in pixels."""


def sheet(shape: cq.Shape | None) -> bytes:
    """Return the four views as an SVG file; an empty sheet if there is no shape."""
    views = [] if shape is None else [_view(shape, name, i) for i, name in enumerate(VIEWS)]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{2 * WIDTH}" height="{2 * HEIGHT}">'
    return "\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *views, "</svg>"]).encode()


def _view(shape: cq.Shape, name: str, place: int) -> str:
    towards, right = VIEWS[name]
    # The exporter chooses "up" itself unless it looks along z, so the part is turned instead.
    turned = shape.moved(cq.Location(cq.Plane((0, 0, 0), right, towards)).inverse)
    options: dict[str, Any] = {"width": WIDTH, "height": HEIGHT, "marginLeft": 30, "marginTop": 30}
    options |= {"showAxes": False, "projectionDir": (0, 0, 1), "showHidden": name != "isometric"}
    picture = getSVG(turned, options)
    x, y = place % 2 * WIDTH, place // 2 * HEIGHT
    inner = picture[picture.index("<svg") :].replace("<svg", f'<svg x="{x}" y="{y}"', 1)
    return f'{inner}<text x="{x + 8}" y="{y + 18}" font-family="sans-serif" font-size="12">{name}</text>'
