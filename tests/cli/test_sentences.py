"""Calls as a person writes them."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from makerspace.cli.common import Mistake
from makerspace.cli.sentences import read_call, usage
from makerspace.simulators.base import ToolResult
from makerspace.simulators.tools import Tool


def extrude(
    self: Any, distance: Annotated[float, Field(gt=0)], operation: Literal["join", "cut"] = "join"
) -> ToolResult:
    """Extrude the open sketch."""
    raise NotImplementedError


def polygon(self: Any, points: list[list[float]], name: str | None = None) -> ToolResult:
    """Draw a polygon."""
    raise NotImplementedError


def run(self: Any, command: str) -> ToolResult:
    """Run a command line."""
    raise NotImplementedError


def undo(self: Any) -> ToolResult:
    """Take back."""
    raise NotImplementedError


TOOLS = [Tool(extrude), Tool(polygon), Tool(run), Tool(undo)]


@pytest.mark.parametrize(
    ("line", "name", "arguments"),
    [
        ("undo", "undo", {}),
        ("extrude distance=5", "extrude", {"distance": 5}),
        ("extrude distance=2.5 operation=cut", "extrude", {"distance": 2.5, "operation": "cut"}),
        ("extrude 5 cut", "extrude", {"distance": 5, "operation": "cut"}),
        ("  extrude   5 ", "extrude", {"distance": 5}),
        ("extrude distance=wide", "extrude", {"distance": "wide"}),
        (
            "polygon points=[[0,0],[1,0],[1,1]] name='my part'",
            "polygon",
            {"points": [[0, 0], [1, 0], [1, 1]], "name": "my part"},
        ),
        ("run ls -l | wc -l", "run", {"command": "ls -l | wc -l"}),
        ("run command='ls -l'", "run", {"command": "ls -l"}),
        ("run A=1 printenv A", "run", {"command": "A=1 printenv A"}),
        ('{"name": "extrude", "arguments": {"distance": 5}}', "extrude", {"distance": 5}),
    ],
)
def test_lines_and_their_calls(line: str, name: str, arguments: dict[str, Any]) -> None:
    call = read_call(line, TOOLS)
    assert (call.name, call.arguments) == (name, arguments)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("extude 5", "did you mean extrude"),
        ("zzz", "tools: extrude, polygon, run, undo"),
        ("undo 3", "no argument left for '3'; arguments: none"),
        ("extrude 5 cut more", "arguments: distance, operation"),
        ("extrude operation='cut", "quote"),
        ('{"name": ', "JSON"),
    ],
)
def test_a_mistake_is_one_helpful_line(line: str, says: str) -> None:
    with pytest.raises(Mistake) as mistake:
        read_call(line, TOOLS)
    assert says in str(mistake.value)
    assert "\n" not in str(mistake.value)


@given(st.text())
def test_any_line_is_a_call_or_a_mistake(line: str) -> None:
    try:
        said = json.dumps(read_call(line, TOOLS).to_json())
    except Mistake as mistake:
        said = str(mistake)
    assert len(said.splitlines()) == 1


@given(st.lists(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=2), max_size=5))
def test_json_values_come_through(points: list[list[float]]) -> None:
    text = json.dumps(points).replace(" ", "")
    assert read_call(f"polygon points={text}", TOOLS).arguments == {"points": points}


def test_usage_shows_what_is_needed_and_what_is_not() -> None:
    assert usage(Tool(extrude)) == 'extrude distance=NUMBER [operation="join"]'
    assert usage(Tool(polygon)) == "polygon points=ARRAY [name=STRING]"
    assert usage(Tool(undo)) == "undo"
