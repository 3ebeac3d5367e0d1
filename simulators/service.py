"""An application as a service: one method, plain data in, plain data out. It is what a host loop runs inside a sandbox.

Operations: ``reset {scene, seed}``, ``call {name, arguments}``, ``observe``, ``artifacts``, ``snapshot``, ``restore
{snapshot}``, ``state_hash``. ``reset``, ``call`` and ``restore`` answer with the new view and state hash as well, so
that an environment step costs one round trip.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from . import application_class
from .base import Json, ToolCall, View


class ApplicationService:
    """Serves one application by name."""

    def __init__(self, application: str) -> None:
        self._class = application_class(application)
        self._app = self._class()

    def warm(self) -> None:
        """Import the application's libraries."""
        self._class.warm()

    def rehearse(self) -> None:
        """Reset a first time, so that the pages that a reset touches are this process's own when it counts."""
        self.handle("reset", {"scene": {}, "seed": 0})
        self._app = self._class()

    def handle(self, operation: str, payload: Mapping[str, Any]) -> Json:
        """Carry out one operation; an unknown one raises ``KeyError``."""
        return {
            "reset": self._reset,
            "call": self._call,
            "observe": self._observe,
            "artifacts": self._artifacts,
            "snapshot": self._snapshot,
            "restore": self._restore,
            "state_hash": self._state_hash,
        }[operation](payload)

    def _reset(self, payload: Mapping[str, Any]) -> Json:
        return self._state(self._app.reset(payload["scene"], payload["seed"]))

    def _call(self, payload: Mapping[str, Any]) -> Json:
        result = self._app.call(ToolCall(payload["name"], payload["arguments"]))
        return {"result": result.to_json(), **self._state(self._app.observe())}

    def _observe(self, payload: Mapping[str, Any]) -> Json:
        return self._state(self._app.observe())

    def _artifacts(self, payload: Mapping[str, Any]) -> Json:
        return {"artifacts": {name: base64.b64encode(data).decode() for name, data in self._app.artifacts().items()}}

    def _snapshot(self, payload: Mapping[str, Any]) -> Json:
        return {"snapshot": base64.b64encode(self._app.snapshot()).decode()}

    def _restore(self, payload: Mapping[str, Any]) -> Json:
        self._app.restore(base64.b64decode(payload["snapshot"]))
        return self._state(self._app.observe())

    def _state_hash(self, payload: Mapping[str, Any]) -> Json:
        return {"state_hash": self._app.state_hash()}

    def _state(self, view: View) -> Json:
        image = base64.b64encode(view.image).decode() if view.image else None
        return {
            "text": view.text,
            "features": list(view.features),
            "image": image,
            "state_hash": self._app.state_hash(),
        }
