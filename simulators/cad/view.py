"""What the application shows without being asked: a line of text, and the state as numbers.

Numbers, each finite:

| name | meaning | scale |
|---|---|---|
| features, sketch_figures, faces, edges | counts | ln(1 + n) |
| sketch_open, solids | 0 or 1 | 1 |
| volume, area | of the body | its cube root, its square root, in 100 mm |
| size_x, size_y, size_z | of the bounding box | 100 mm |
| centre_x, centre_y, centre_z | middle of the bounding box | 100 mm |
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from .document import Features
from .wording import number, rounded

if TYPE_CHECKING:
    from .model import Model

NUMBERS = (
    *("features", "sketch_open", "sketch_figures", "solids", "faces", "edges", "volume", "area"),
    *("size_x", "size_y", "size_z", "centre_x", "centre_y", "centre_z"),
)
"""Names of ``numbers``, in order."""


def line(features: Features, model: Model | None) -> str:
    """Return the state in a few words; ``model`` is ``None`` for an empty document."""
    if model is None:
        return "empty document"
    body = model.body
    size = " x ".join(number(round(v, 2)) for v in body.size) if body else ""
    part = f"part {size} mm, volume {rounded(body.volume)} mm3" if body else "no body"
    drawn = f"; {model.sketch} open, {len(model.figures)} figures" if model.sketch else ""
    return f"{features[-1].name}: {part}{drawn}"


def numbers(features: Features, model: Model | None) -> tuple[float, ...]:
    """Return the state as numbers; see the module's table."""
    body = model.body if model else None
    figures, sketching = (len(model.figures), float(bool(model.sketch))) if model else (0, 0.0)
    faces, edges = body.counts if body else (0, 0)
    low, high = body.box if body else ((0.0,) * 3, (0.0,) * 3)
    volume, area = (body.volume, body.area) if body else (0.0, 0.0)
    counts = (math.log1p(len(features)), sketching, math.log1p(figures), float(body is not None))
    measures = (math.log1p(faces), math.log1p(edges), volume ** (1 / 3) / 100, math.sqrt(area) / 100)
    sizes = ((b - a) / 100 for a, b in zip(low, high, strict=True))
    centres = ((a + b) / 200 for a, b in zip(low, high, strict=True))
    return (*counts, *measures, *sizes, *centres)
