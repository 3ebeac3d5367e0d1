"""The operations: how each kind of feature changes the model.

``apply(model, feature)`` returns the next model or refuses; ``OPERATIONS`` maps each kind to its function. Every
result passes the health check of ``body``. Lengths are mm, angles degrees.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..base import ToolFault
from ..tools import nearest, shown
from . import kernel, selection, sketch
from .body import Body, Change, checked
from .document import Feature
from .frames import PLANES, Frame
from .model import Effect, Model
from .wording import number

BISECTIONS = 5
"""Steps of the search for the largest fillet or chamfer that works."""
MAX_COPIES = 72
"""Most copies that one pattern makes."""

Values = dict[str, Any]
Pieces = Callable[[], list[kernel.Shape]]


def _new_sketch(model: Model, name: str, values: Values) -> Model:
    if model.sketch:
        raise ToolFault("precondition", f"{name}: {model.sketch} is still open", "draw in it and extrude it, or undo")
    frame = model.face(values["face"]) if values["face"] else PLANES[values["plane"] or "XY"]
    return replace(model, sketch=name, frame=frame.moved(values["offset"]), figures=())


def _draw(make: Callable[..., sketch.Figure]) -> Callable[[Model, str, Values], Model]:
    def draw(model: Model, name: str, values: Values) -> Model:
        if not model.sketch:
            raise ToolFault("precondition", f"{name}: no sketch is open", "new_sketch first")
        figure = make(name, **values)
        crossed = next((f.name for f in model.figures if sketch.crossing(f, figure)), "")
        if crossed:
            raise ToolFault(
                "kernel",
                f"{name} crosses or touches {crossed}: the profile would intersect itself",
                "figures may lie beside or inside one another",
            )
        return replace(model, figures=(*model.figures, figure))

    return draw


def _extrude(model: Model, name: str, values: Values) -> Model:
    if not model.sketch:
        raise ToolFault("precondition", f"{name}: no sketch is open", "new_sketch first")
    if not model.figures:
        raise ToolFault("precondition", f"{name}: {model.sketch} is empty", "draw a rectangle, circle or polygon first")
    build = _join if values["operation"] == "join" else _pocket
    return replace(build(model, name, values["distance"]), sketch="", figures=())


def _join(model: Model, name: str, distance: float | None) -> Model:
    if distance is None:
        raise ToolFault("bad_argument", f"{name}: join needs a distance", "only a cut may go through all")
    faces = {f"{name}.top": model.frame.moved(distance), f"{name}.bottom": model.frame.turned()}
    return _changed(model, name, "join", _prisms(model, 0.0, distance), faces)


def _pocket(model: Model, name: str, distance: float | None) -> Model:
    if model.body is None:
        raise ToolFault("precondition", f"{name}: there is no body to cut", "use operation join")
    if distance is None:
        reach = _reach(model.body, model.frame)
        return _changed(model, name, "cut", _prisms(model, reach, -2 * reach), {})
    faces = {f"{name}.bottom": model.frame.moved(-distance)}
    return _changed(model, name, "cut", _prisms(model, 0.0, -distance), faces)


def _prisms(model: Model, start: float, length: float) -> Pieces:
    return lambda: kernel.prisms(model.figures, model.frame, start, length)


def _reach(body: Body, frame: Frame) -> float:
    """Return a length that leads from the frame out of the body in both directions."""
    low, high = body.box
    return math.ceil(max(abs(low[frame.axis] - frame.level), abs(high[frame.axis] - frame.level))) + 10.0


def _hole(model: Model, name: str, values: Values) -> Model:
    body = model.solid(name)
    frame = model.face(values["face"])
    depth = values["depth"] or _reach(body, frame)

    def drill() -> list[kernel.Shape]:
        return [kernel.drill(frame, values["x"], values["y"], values["diameter"], depth)]

    after = _changed(replace(model, frame=frame), name, "cut", drill, {})
    return replace(after, warning=_broken_wall(after, frame, values))


def _broken_wall(model: Model, frame: Frame, values: Values) -> str:
    """Return a warning if the wall of a hole does not go all the way round."""
    u, v = frame.inplane
    wanted = (values["x"], values["y"], values["diameter"] / 2)
    walls = [
        s
        for s in (model.body.surfaces if model.body else ())
        if s.kind == "cylinder"
        and s.concave
        and abs(s.direction[frame.axis]) > 1 - 1e-9
        and math.dist((s.position[u], s.position[v], s.radius), wanted) < selection.NEAR
    ]
    return "" if any(s.sweep > 2 * math.pi - 1e-6 for s in walls) else "it breaks an edge"


def _changed(model: Model, name: str, operation: str, pieces: Pieces, faces: dict[str, Frame]) -> Model:
    """Join pieces to the body or cut them from it, and remember what was done."""
    before = model.body
    act = kernel.join if operation == "join" else kernel.cut
    body, *tools = pieces() if before is None else [before.shape(), *pieces()]
    shape = kernel.guarded(lambda: act(body, tools)) if tools else body
    change: Change = "grow" if operation == "join" else "shrink"
    after = checked(name, before, shape, change)
    volume = abs(after.volume - (before.volume if before else 0.0))
    effects = {**model.effects, name: Effect(operation, pieces, model.frame, volume)}
    return replace(model, body=after, effects=effects, faces={**model.faces, **faces})


def _blend(act: Callable[..., kernel.Shape], parameter: str) -> Callable[[Model, str, Values], Model]:
    """Return the function of a fillet or chamfer; ``parameter`` is the name of its length."""

    def blend(model: Model, name: str, values: Values) -> Model:
        body, selector, length = model.solid(name), values["edges"], values[parameter]
        if not selection.edges(body.shape(), selector):
            raise ToolFault("not_found", f"{name}: the body has no sharp {selector} edges", "choose other edges")

        def attempt(length: float) -> Body:
            shape = body.shape()
            after = kernel.guarded(lambda: act(shape, selection.edges(shape, selector), length))
            return checked(name, body, after, "blend")

        try:
            return replace(model, body=attempt(length))
        except (kernel.KernelError, ToolFault):
            largest = _largest(attempt, min(length, max(body.size)))
        if not largest:
            raise ToolFault("kernel", f"{name}: the kernel cannot work on the {selector} edges", "choose other edges")
        message = f"{name}: {parameter} {number(length)} is too large for the {selector} edges"
        raise ToolFault("kernel", message, f"the largest {parameter} that works is about {number(largest)}")

    return blend


def _largest(attempt: Callable[[float], Body], high: float) -> float:
    """Return the largest length that works, rounded down, by bisection; 0 if the finest step does not work either."""

    def works(length: float) -> bool:
        try:
            attempt(length)
        except (kernel.KernelError, ToolFault):
            return False
        return True

    low = high / 2**BISECTIONS
    if not works(low):
        return 0.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if works(middle) else (low, middle)
    return int(low * 100) / 100


def _pattern(model: Model, name: str, values: Values) -> Model:
    model.solid(name)
    source = values["feature"] or next(reversed(model.effects), "")
    effect = model.effects.get(source)
    if effect is None:
        raise ToolFault(
            "not_found",
            f"{name}: there is no extrude, hole or pattern {shown(source)}",
            f"features: {', '.join(model.effects)}",
            nearest(source, model.effects),
        )
    after = _changed(replace(model, frame=effect.frame), name, effect.operation, _copies(name, effect, values), {})
    expected = effect.volume * (values["count"] - 1)
    fits = after.effects[name].volume > 0.99 * expected
    return replace(after, warning="" if fits else "some copies overlap or lie partly outside")


def _copies(name: str, effect: Effect, values: Values) -> Pieces:
    def pieces() -> list[kernel.Shape]:
        shapes = effect.pieces()
        if len(shapes) * (values["count"] - 1) > MAX_COPIES:
            raise ToolFault("limit", f"{name}: that would be too many copies", f"at most {MAX_COPIES} in one pattern")
        return [_moved(shape, effect.frame, values, i) for i in range(1, values["count"]) for shape in shapes]

    return pieces


def _moved(shape: kernel.Shape, frame: Frame, values: Values, i: int) -> kernel.Shape:
    """Return the ``i``-th copy of a shape."""
    if values["kind"] == "circular":
        gaps = values["count"] if values["angle"] == 360 else values["count"] - 1
        return kernel.rotated(shape, frame, values["angle"] * i / gaps)
    vector = [0.0, 0.0, 0.0]
    vector[frame.inplane[0 if values["direction"] == "x" else 1]] = values["spacing"] * i
    return kernel.shifted(shape, vector)


OPERATIONS: dict[str, Callable[[Model, str, Values], Model]] = {
    "new_sketch": _new_sketch,
    "rectangle": _draw(sketch.rectangle),
    "circle": _draw(sketch.circle),
    "polygon": _draw(sketch.polygon),
    "extrude": _extrude,
    "hole": _hole,
    "fillet": _blend(kernel.fillet, "radius"),
    "chamfer": _blend(kernel.chamfer, "size"),
    "pattern": _pattern,
}
"""The function of each kind of feature."""


def apply(model: Model, feature: Feature) -> Model:
    """Return the model after a feature.

    Raises:
        ToolFault: If the feature cannot be built, or would break the part.
    """
    try:
        return OPERATIONS[feature.kind](replace(model, warning=""), feature.name, feature.values)
    except kernel.KernelError as problem:
        raise ToolFault("kernel", f"{feature.name}: the kernel cannot do this: {problem}", "try other values") from None
