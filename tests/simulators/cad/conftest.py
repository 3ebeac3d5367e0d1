from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from makerspace.simulators.base import ToolCall, ToolResult
from makerspace.simulators.cad.app import Cad

pytest.importorskip("cadquery", reason="the CAD application needs the extra `cad`")

Do = Callable[..., ToolResult]


@pytest.fixture
def cad() -> Cad:
    app = Cad()
    app.reset({}, 0)
    return app


@pytest.fixture
def do(cad: Cad) -> Do:
    """Call a tool of the fixture's application: ``do("circle", diameter=5)``."""

    def call(name: str, **arguments: Any) -> ToolResult:
        return cad.call(ToolCall(name, arguments))

    return call


@pytest.fixture
def block(do: Do) -> Do:
    """Start with a block of 80 x 50 x 8 mm."""
    for name, arguments in (("new_sketch", {"plane": "XY"}), ("rectangle", {"width": 80, "height": 50})):
        assert do(name, **arguments).ok
    assert do("extrude", distance=8).ok
    return do
