"""The CAD application: parametric parts by sketches and features, in mm and degrees.

1. A part is a list of features; every tool that models adds one, ``set_parameter`` and ``remove`` edit the list,
   ``undo`` takes it back.
2. After each of them the part is regenerated and its health checked. What cannot be built is refused, and the
   document stays as it was.
3. The state is the list, the lists before it (for ``undo``) and which of them were exported. Shapes are derived and
   cached by content.

Artifacts: ``part.brep`` (OpenCascade's binary BRep, present once there is a body), ``tree.json`` (the features with
their health), and ``part.step``, ``part.stl`` or ``export.brep`` as they were exported.

CadQuery is imported with the first shape, not with this module. It knows assemblies, free-form curves and constraints
between sketch figures not at all.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

from pydantic import Field

from ..application import Application
from ..base import ToolCall, ToolFault, ToolResult, View
from ..tools import nearest, shown, tool
from .document import MAX_FEATURES, Feature, Features, Value, group_of, new_name
from .history import History
from .view import NUMBERS, line, numbers
from .wording import number, rounded

if TYPE_CHECKING:
    from .build import Model

Length = Annotated[float, Field(ge=0.01, le=2000)]
Position = Annotated[float, Field(ge=-2000, le=2000)]
Format = Literal["step", "stl", "brep"]

_FILES: dict[str, str] = {"step": "part.step", "stl": "part.stl", "brep": "export.brep"}


class Cad(Application):
    """The application; see the module's docstring.

    A scene is ``{"calls": [{"name": ..., "arguments": {...}}, ...]}``: the calls that build the part with which
    the session starts (optional).

    The features of the view are those of ``view.NUMBERS``, then ``undo``, ln(1 + steps that can be taken back), and
    ``last_ok``, 1 if the last call was accepted.
    """

    name = "cad"
    feature_names: ClassVar[tuple[str, ...]] = (*NUMBERS, "undo", "last_ok")

    def __init__(self) -> None:
        self._state = History()

    @staticmethod
    def warm() -> None:
        """Import CadQuery; compute nothing."""
        from . import build, drawing  # noqa: F401 # pyright: ignore[reportUnusedImport]

    # -- modelling --

    @tool
    def new_sketch(
        self, plane: Literal["XY", "XZ", "YZ"] | None = None, face: str | None = None, offset: Position = 0
    ) -> ToolResult:
        """Open a sketch on an origin plane or on a flat face of the body.

        Args:
            plane: An origin plane; XY if neither plane nor face is given.
            face: A face instead: top, bottom, left, right, front, back, or of a feature such as Extrude1.top.
            offset: Distance before the plane or face, in mm.
        """
        if plane and face:
            raise ToolFault(
                "bad_argument",
                f"new_sketch: plane = {plane!r} and face = {face!r} exclude each other",
                "give one of them",
            )
        return self._add("new_sketch", {"plane": plane or (None if face else "XY"), "face": face, "offset": offset})

    @tool
    def rectangle(self, width: Length, height: Length, x: Position = 0, y: Position = 0) -> ToolResult:
        """Draw a rectangle in the open sketch.

        Args:
            width: Size along the sketch's x, in mm.
            height: Size along the sketch's y, in mm.
            x: Centre, in mm.
            y: Centre, in mm.
        """
        return self._add("rectangle", {"width": width, "height": height, "x": x, "y": y})

    @tool
    def circle(self, diameter: Length, x: Position = 0, y: Position = 0) -> ToolResult:
        """Draw a circle in the open sketch.

        Args:
            diameter: Diameter in mm.
            x: Centre, in mm.
            y: Centre, in mm.
        """
        return self._add("circle", {"diameter": diameter, "x": x, "y": y})

    @tool
    def polygon(
        self, sides: Annotated[int, Field(ge=3, le=24)], diameter: Length, x: Position = 0, y: Position = 0
    ) -> ToolResult:
        """Draw a regular polygon in the open sketch, its first corner towards +x.

        Args:
            sides: Number of sides.
            diameter: Diameter of the circle through the corners, in mm.
            x: Centre, in mm.
            y: Centre, in mm.
        """
        return self._add("polygon", {"sides": sides, "diameter": diameter, "x": x, "y": y})

    @tool
    def extrude(self, distance: Length | None = None, operation: Literal["join", "cut"] = "join") -> ToolResult:
        """Extrude the open sketch and close it: outward to add material, inward to remove it.

        Args:
            distance: How far, in mm; without it a cut goes through all.
            operation: Whether material is added or removed.
        """
        return self._add("extrude", {"distance": distance, "operation": operation})

    @tool
    def hole(
        self, diameter: Length, x: Position = 0, y: Position = 0, depth: Length | None = None, face: str = "top"
    ) -> ToolResult:
        """Drill a round hole straight into a flat face.

        Args:
            diameter: Diameter in mm.
            x: Position along the first global axis in the face (X, or Y on left and right), in mm.
            y: Position along the second global axis in the face (Y, or Z on sides), in mm.
            depth: Depth in mm; without it the hole goes through all.
            face: The face to drill into: top, bottom, left, right, front, back, or of a feature such as Extrude1.top.
        """
        return self._add("hole", {"diameter": diameter, "x": x, "y": y, "depth": depth, "face": face})

    @tool
    def fillet(self, radius: Length, edges: Literal["vertical", "top", "bottom", "all"]) -> ToolResult:
        """Round sharp edges.

        Args:
            radius: Radius in mm.
            edges: Which edges: along Z, around the highest or the lowest level, or all.
        """
        return self._add("fillet", {"radius": radius, "edges": edges})

    @tool
    def chamfer(self, size: Length, edges: Literal["vertical", "top", "bottom", "all"]) -> ToolResult:
        """Break sharp edges at 45 degrees.

        Args:
            size: How far the edge is set back on both faces, in mm.
            edges: Which edges: along Z, around the highest or the lowest level, or all.
        """
        return self._add("chamfer", {"size": size, "edges": edges})

    @tool
    def pattern(
        self,
        kind: Literal["linear", "circular"],
        count: Annotated[int, Field(ge=2, le=36)],
        spacing: Position | None = None,
        direction: Literal["x", "y"] = "x",
        angle: Annotated[float, Field(ge=1, le=360)] = 360,
        feature: str | None = None,
    ) -> ToolResult:
        """Repeat an extrude or hole in a row, or around the axis through the origin.

        Args:
            kind: A row, or a circle around the global axis across the feature's plane.
            count: How many there are at the end, the first included.
            spacing: Linear only: distance from one to the next, in mm.
            direction: Linear only: along the x or the y of the feature's plane.
            angle: Circular only: degrees over which they are spread; 360 is the full circle.
            feature: What is repeated, such as Hole1; without it the last feature.
        """
        if kind == "linear" and not spacing:
            raise ToolFault("bad_argument", "pattern: linear needs a spacing other than 0", "for example spacing = 20")
        arguments: dict[str, Value] = {"kind": kind, "count": count, "spacing": spacing}
        arguments |= {"direction": direction, "angle": angle, "feature": feature}
        return self._add("pattern", arguments)

    # -- editing --

    @tool
    def set_parameter(self, feature: str, parameter: str, value: float) -> ToolResult:
        """Change a number of a feature and regenerate the part.

        Args:
            feature: Name of the feature or sketch figure, such as Rectangle1.
            parameter: Name of the number, such as width.
            value: The new value, in mm or degrees.
        """
        from .build import alike

        place = self._state.place(feature)
        old = self._features[place]
        changed = old.changed(parameter, _validated(old, parameter, value))
        features = (*self._features[:place], changed, *self._features[place + 1 :])
        if alike(self._features, features):
            raise ToolFault("precondition", f"{feature}.{parameter} = {number(value)} changes nothing in the part")
        self._commit(features)
        return self._done(f"{feature}.{parameter} = {number(value)}")

    @tool
    def remove(self, feature: str) -> ToolResult:
        """Remove a feature and regenerate the part; an extrude goes with its sketch.

        Args:
            feature: Name of the feature or sketch figure, such as Hole2.
        """
        self._state.place(feature)
        gone = group_of(self._features, feature)
        self._commit(tuple(f for i, f in enumerate(self._features) if i not in gone))
        return self._done(f"{feature} removed")

    @tool
    def undo(self) -> ToolResult:
        """Take back the last change of the document."""
        if not self._state.undo:
            raise ToolFault("precondition", "undo: there is nothing to undo")
        self._state.features = self._state.undo.pop()
        return self._done("undo")

    # -- looking and handing out --

    @tool
    def measure(self) -> ToolResult:
        """Measure the body in mm: volume, area, bounding box, centre of mass, counts; list the features with health."""
        model = self._model()
        if model.body is None:
            raise ToolFault("precondition", "measure: there is no body yet", "new_sketch, a figure, then extrude")
        body = model.body
        low, high = body.box
        faces, edges = body.counts
        data = {"volume": body.volume, "area": body.area, "low": list(low), "high": list(high)}
        data |= {"centre_of_mass": list(body.centre), "faces": faces, "edges": edges, "features": self._tree()}
        size = " x ".join(number(round(v, 3)) for v in body.size)
        text = f"size {size} mm, volume {rounded(body.volume)} mm3, {faces} faces, {edges} edges"
        return ToolResult(True, text, data)

    @tool
    def export(self, format: Format = "step") -> ToolResult:  # noqa: A002 - the agent's word
        """Export the body as a file.

        Args:
            format: step, stl (triangles) or brep (OpenCascade's own).
        """
        if self._model().body is None:
            raise ToolFault("precondition", "export: there is no body yet", "new_sketch, a figure, then extrude")
        self._state.exports[format] = self._features
        return ToolResult(True, f"exported {_FILES[format]}", {"file": _FILES[format]})

    # -- state --

    def call(self, call: ToolCall) -> ToolResult:
        """Carry out one call; see ``Simulator.call``."""
        result = super().call(call)
        self._state.last_ok = result.ok
        return result

    def reset(self, scene: Mapping[str, Any], seed: int) -> View:
        """Start with the scene's part, or with an empty document.

        Raises:
            ValueError: If a call of the scene is refused.
        """
        self._state = History()
        for data in scene.get("calls", []):
            result = self.call(ToolCall.from_json(data))
            if not result.ok:
                raise ValueError(f"the scene's call {data} was refused: {result.text}")
        self._state.undo.clear()
        return self.observe()

    def observe(self) -> View:
        """Show a line of text and the numbers."""
        model = self._model() if self._features else None
        session = (math.log1p(len(self._state.undo)), float(self._state.last_ok))
        return View(line(self._features, model), (*numbers(self._features, model), *session))

    def artifacts(self) -> dict[str, bytes]:
        """Return the part, the feature tree and the exported files."""
        files = {"tree.json": json.dumps({"features": self._tree()}, indent=1).encode()}
        body = self._model().body if self._features else None
        if body is not None:
            files["part.brep"] = body.brep
        if self._state.exports:
            from .build import exported

            files |= {_FILES[form]: exported(features, form) for form, features in sorted(self._state.exports.items())}
        return files

    def snapshot(self) -> bytes:
        """Return the document, the documents before it and the exports, as JSON."""
        return self._state.to_bytes()

    def restore(self, snapshot: bytes) -> None:
        """Take over the state of a snapshot."""
        self._state = History.from_bytes(snapshot)

    def state_hash(self) -> str:
        """Digest the document, what undo leads back to, and the exports; not whether the last call was refused."""
        return self._state.digest()

    def render(self) -> bytes:
        """Return a drawing of the part as SVG: isometric, top, front and right; not a tool."""
        from .drawing import sheet

        body = self._model().body if self._features else None
        return sheet(None if body is None else body.shape())

    # -- inside --

    @property
    def _features(self) -> Features:
        return self._state.features

    def _model(self) -> Model:
        from .build import model_of

        return model_of(self._features)

    def _add(self, kind: str, arguments: dict[str, Value]) -> ToolResult:
        if len(self._features) >= MAX_FEATURES:
            raise ToolFault("limit", f"{kind}: the document is full", f"at most {MAX_FEATURES} features")
        feature = Feature(new_name(self._features, kind), kind, tuple(arguments.items()))
        self._commit((*self._features, feature))
        return self._done(feature.name)

    def _commit(self, features: Features) -> None:
        """Make ``features`` the document, if it can be built."""
        from .build import model_of

        model_of(features)
        self._state.commit(features)

    def _done(self, what: str) -> ToolResult:
        model = self._model()
        status = f"warning: {model.warning}" if model.warning else "ok"
        body = f"volume {rounded(model.body.volume)} mm3" if model.body else "no body"
        state = f"{model.sketch} open" if model.sketch else body
        volume = model.body.volume if model.body else 0.0
        data = {"features": len(self._features), "volume": volume, "warning": model.warning}
        return ToolResult(True, f"{what} {status}: {state}", data)

    def _tree(self) -> list[dict[str, Any]]:
        if not self._features:
            return []
        from .build import health_of

        return [
            {**f.to_json(), "health": health}
            for f, health in zip(self._features, health_of(self._features), strict=True)
        ]


def _validated(feature: Feature, parameter: str, value: float) -> Value:
    """Return the value as the feature's own tool takes it.

    Raises:
        ToolFault: If the feature has no such number, or the value is out of its bounds, or it is that already.
    """
    values = feature.values
    numbers = [k for k, v in values.items() if not isinstance(v, str) and k not in ("plane", "face", "feature")]
    if parameter not in numbers:
        hint = f"numbers: {', '.join(numbers)}"
        raise ToolFault(
            "not_found", f"{feature.name} has no number {shown(parameter)}", hint, nearest(parameter, numbers)
        )
    old = values[parameter]
    new = int(value) if isinstance(old, int) and value.is_integer() else value
    if new == old:
        raise ToolFault("precondition", f"{feature.name}.{parameter} is already {number(value)}")
    method = next(t for t in Cad.tools() if t.name == feature.kind)
    return method.validate({**values, parameter: new})[parameter]
