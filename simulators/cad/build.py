"""From features to geometry: a fold over the document, cached by content.

``model_of(features)`` applies one feature after the other to an empty ``Model``. Each intermediate model, and each refusal, is kept under the
key of its prefix, so that a call costs one operation, an undo none, and an edit only what comes after it.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from ..base import ToolError, ToolFault
from ..tools import nearest
from . import kernel, selection, sketch
from .body import Body, Change, checked
from .document import Feature, Features, key_after
from .frames import PLANES, SIDES, Frame
from .wording import number

CACHE = 512
"""Most models kept in one process."""
BISECTIONS = 6
"""Steps of the search for the largest fillet or chamfer that works."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What a feature adds or removes, so that a pattern can repeat it."""

    operation: str
    """``join`` or ``cut``."""
    shapes: tuple[kernel.Shape, ...]
    frame: Frame
    volume: float
    """By how much the body changed, in mm3."""


@dataclass(frozen=True, slots=True)
class Model:
    """A part at one point of its history."""

    body: Body | None = None
    sketch: str = ""
    """Name of the open sketch."""
    frame: Frame = PLANES["XY"]
    """Plane of the open sketch."""
    figures: tuple[sketch.Figure, ...] = ()
    """What has been drawn in it."""
    effects: dict[str, Effect] = field(default_factory=dict[str, Effect])
    faces: dict[str, Frame] = field(default_factory=dict[str, Frame])
    """Flat faces by feature: ``Extrude1.top`` (where it ends) and ``Extrude1.bottom`` (where it starts; a pocket's floor)."""
    warning: str = ""
    """What is odd about the last feature; empty if nothing is."""

    def solid(self, name: str) -> Body:
        """Return the body, for an operation that needs one and no open sketch."""
        if self.sketch:
            raise ToolFault("precondition", f"{name}: {self.sketch} is still open", "extrude it first, or undo")
        if self.body is None:
            raise ToolFault("precondition", f"{name}: there is no body yet", "new_sketch, a figure, then extrude")
        return self.body

    def face(self, name: str) -> Frame:
        """Return the frame of a flat face of the body.

        Raises:
            ToolFault: If there is no such face, or no longer.
        """
        frame = self.faces.get(name) or self._side(name)
        if frame is None or self.body is None or not any(s.on(frame) for s in self.body.surfaces):
            known = [*SIDES, *self.faces]
            raise ToolFault("not_found", f"the body has no flat face {name!r}", f"faces: {', '.join(known)}", nearest(name, known))
        return frame

    def _side(self, name: str) -> Frame | None:
        if name not in SIDES or self.body is None:
            return None
        axis, sign = SIDES[name]
        levels = [s.low[axis] for s in self.body.surfaces if s.kind == "plane" and s.direction[axis] * sign > 1 - 1e-9]
        return Frame(axis, sign, sign * max(level * sign for level in levels)) if levels else None


_MODELS: OrderedDict[str, Model | ToolError] = OrderedDict()


def model_of(features: Features) -> Model:
    """Return the model of a document.

    Raises:
        ToolFault: The refusal of the first feature that cannot be built.
    """
    model, key = Model(), ""
    for feature in features:
        key = key_after(key, feature)
        model = _next(key, model, feature)
    return model


def health_of(features: Features) -> list[dict[str, str]]:
    """Return each feature's health: ``status`` (ok, warning, error, upstream_failed), ``code``, ``message`` and ``hint``."""
    model, key, found = Model(), "", list[dict[str, str]]()
    for i, feature in enumerate(features):
        key = key_after(key, feature)
        try:
            model = _next(key, model, feature)
        except ToolFault as fault:
            error = fault.result.error or ToolError("kernel", str(fault))
            found.append({"status": "error", "code": error.code, "message": error.message, "hint": error.hint})
            return found + [_health("upstream_failed", f"{feature.name} failed")] * (len(features) - i - 1)
        found.append(_health("warning", model.warning) if model.warning else _health("ok"))
    return found


def _health(status: str, message: str = "") -> dict[str, str]:
    return {"status": status, "code": "", "message": message, "hint": ""}


def _next(key: str, model: Model, feature: Feature) -> Model:
    found = _MODELS.get(key)
    if found is None:
        found = _MODELS[key] = _attempt(model, feature)
        if len(_MODELS) > CACHE:
            _MODELS.popitem(last=False)
    else:
        _MODELS.move_to_end(key)
    if isinstance(found, ToolError):
        raise ToolFault(found.code, found.message, found.hint, found.nearest)
    return found


def _attempt(model: Model, feature: Feature) -> Model | ToolError:
    try:
        return _BUILDERS[feature.kind](replace(model, warning=""), feature.name, feature.values)
    except ToolFault as fault:
        return fault.result.error or ToolError("kernel", str(fault))
    except kernel.KernelError as problem:
        return ToolError("kernel", f"{feature.name}: the kernel cannot do this: {problem}", "try other values")


Values = dict[str, Any]


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
            raise ToolFault("kernel", f"{name} crosses or touches {crossed}: the profile would intersect itself", "figures may lie beside or inside one another")
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
    pieces = kernel.prisms(model.figures, model.frame, 0.0, distance)
    faces = {f"{name}.top": model.frame.moved(distance), f"{name}.bottom": model.frame.turned()}
    return _changed(model, name, "join", model.frame, pieces, faces)


def _pocket(model: Model, name: str, distance: float | None) -> Model:
    if model.body is None:
        raise ToolFault("precondition", f"{name}: there is no body to cut", "use operation join")
    reach = kernel.reach(model.body.shape)
    if distance is None:
        return _changed(model, name, "cut", model.frame, kernel.prisms(model.figures, model.frame, reach, -2 * reach), {})
    pieces = kernel.prisms(model.figures, model.frame, 0.0, -distance)
    return _changed(model, name, "cut", model.frame, pieces, {f"{name}.bottom": model.frame.moved(-distance)})


def _hole(model: Model, name: str, values: Values) -> Model:
    body = model.solid(name)
    frame = model.face(values["face"])
    depth = values["depth"] or kernel.reach(body.shape)
    tool = kernel.drill(frame, values["x"], values["y"], values["diameter"], depth)
    after = _changed(model, name, "cut", frame, [tool], {})
    return replace(after, warning=_broken_wall(after, name, frame, values))


def _broken_wall(model: Model, name: str, frame: Frame, values: Values) -> str:
    """Return a warning if the hole is not a full cylinder: its volume falls short of that of its wall's length."""
    u, v = frame.inplane
    radius = values["diameter"] / 2
    walls = [
        s
        for s in (model.body.surfaces if model.body else ())
        if s.kind == "cylinder" and s.concave and abs(s.radius - radius) < selection.NEAR and abs(s.direction[frame.axis]) > 1 - 1e-9
        and abs(s.position[u] - values["x"]) < selection.NEAR and abs(s.position[v] - values["y"]) < selection.NEAR
    ]  # fmt: skip
    length = max((s.high[frame.axis] for s in walls), default=0.0) - min((s.low[frame.axis] for s in walls), default=0.0)
    full = math.pi * radius**2 * length
    return "it breaks an edge" if model.effects[name].volume < 0.99 * full else ""


def _changed(model: Model, name: str, operation: str, frame: Frame, pieces: list[kernel.Shape], faces: dict[str, Frame]) -> Model:
    """Join pieces to the body or cut them from it, and remember what was done."""
    before = model.body
    if before is None:
        shape = pieces[0] if len(pieces) == 1 else kernel.guarded(lambda: kernel.join(pieces[0], pieces[1:]))
    else:
        act = kernel.join if operation == "join" else kernel.cut
        shape = kernel.guarded(lambda: act(before.shape, pieces))
    change: Change = "grow" if operation == "join" else "shrink"
    after = checked(name, before, shape, change)
    volume = abs(after.volume - (before.volume if before else 0.0))
    effects = {**model.effects, name: Effect(operation, tuple(pieces), frame, volume)}
    return replace(model, body=after, effects=effects, faces={**model.faces, **faces})


def _blend(tool: str, size_name: str) -> Callable[[Model, str, Values], Model]:
    act = kernel.fillet if tool == "fillet" else kernel.chamfer

    def blend(model: Model, name: str, values: Values) -> Model:
        body, selector, size = model.solid(name), values["edges"], values[size_name]
        chosen = selection.edges(body.shape, selector)
        if not chosen:
            raise ToolFault("not_found", f"{name}: the body has no sharp {selector} edges", "choose other edges")

        def attempt(length: float) -> Body:
            return checked(name, body, kernel.guarded(lambda: act(body.shape, chosen, length)), "blend")

        try:
            return replace(model, body=attempt(size))
        except (kernel.KernelError, ToolFault):
            largest = _largest(attempt, min(size, max(body.size)))
            hint = f"the largest {size_name} that works is about {number(largest)}" if largest else f"no {size_name} works on these edges"
            raise ToolFault("kernel", f"{name}: {size_name} {number(size)} is too large for the {selector} edges", hint) from None

    return blend


def _largest(attempt: Callable[[float], Body], high: float) -> float:
    """Return the largest length that works, rounded down, by bisection in ``BISECTIONS`` steps; 0 if none was found."""
    low = 0.0
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        try:
            attempt(middle)
            low = middle
        except (kernel.KernelError, ToolFault):
            high = middle
    return int(low * 100) / 100


def _pattern(model: Model, name: str, values: Values) -> Model:
    model.solid(name)
    source = values["feature"] or next(reversed(model.effects), "")
    effect = model.effects.get(source)
    if effect is None:
        raise ToolFault("not_found", f"{name}: there is no extrude, hole or pattern {source!r}", f"features: {', '.join(model.effects)}", nearest(source, model.effects))
    copies = [piece for i in range(1, values["count"]) for piece in _copy(effect, values, i)]
    after = _changed(model, name, effect.operation, effect.frame, copies, {})
    expected = effect.volume * (values["count"] - 1)
    fits = after.effects[name].volume > 0.99 * expected
    return replace(after, warning="" if fits else "some copies overlap or lie partly outside")


def _copy(effect: Effect, values: Values, i: int) -> list[kernel.Shape]:
    if values["kind"] == "circular":
        gaps = values["count"] if values["angle"] == 360 else values["count"] - 1
        return [kernel.rotated(s, effect.frame, values["angle"] * i / gaps) for s in effect.shapes]
    vector = [0.0, 0.0, 0.0]
    vector[effect.frame.inplane[0 if values["direction"] == "x" else 1]] = values["spacing"] * i
    return [kernel.shifted(s, vector) for s in effect.shapes]


_BUILDERS: dict[str, Callable[[Model, str, Values], Model]] = {
    "new_sketch": _new_sketch,
    "rectangle": _draw(sketch.rectangle),
    "circle": _draw(sketch.circle),
    "polygon": _draw(sketch.polygon),
    "extrude": _extrude,
    "hole": _hole,
    "fillet": _blend("fillet", "radius"),
    "chamfer": _blend("chamfer", "size"),
    "pattern": _pattern,
}
