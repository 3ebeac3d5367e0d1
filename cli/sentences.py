"""How a person writes a call: ``tool key=value key=value``, or JSON.

It knows the tools' names and arguments, not what they do.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from ..simulators.base import Json, ToolCall, ToolResult
from ..simulators.tools import Tool, nearest
from .common import Mistake


def read_call(line: str, tools: Sequence[Tool]) -> ToolCall:
    """Return the call that a line means.

    A value is read as JSON where it is JSON (``width=40``, ``points=[[0,0],[1,0]]``) and as text otherwise. A word
    without ``=`` is the next argument in the tool's order (``extrude 5``). A tool that needs one text and nothing else
    takes the rest of the line as it stands (``run ls -l | wc``).

    Raises:
        Mistake: If the line cannot be read, or names no tool.
    """
    if line.lstrip().startswith("{"):
        return _read_json(line)
    name, _, rest = line.strip().partition(" ")
    found = next((tool for tool in tools if tool.name == name), None)
    if found is None:
        names = [tool.name for tool in tools]
        near = nearest(name, names)
        raise Mistake(
            f"there is no tool {name!r}; "
            + (f"did you mean {' or '.join(near)}?" if near else f"tools: {', '.join(names)}")
        )
    return ToolCall(name, _read_arguments(found, rest.strip()))


def _read_json(line: str) -> ToolCall:
    from ..envs.parsing import parse_call

    call = parse_call(line)
    if isinstance(call, ToolResult):
        raise Mistake(call.text)
    return call


def _read_arguments(tool: Tool, rest: str) -> Json:
    properties: Json = tool.parameters["properties"]
    needed = tool.parameters.get("required", [])
    (only,) = needed if len(needed) == 1 else (None,)
    if rest and only is not None and properties[only].get("type") == "string" and not _is_assignment(rest, properties):
        return {only: rest}
    try:
        words = shlex.split(rest, posix=True)
    except ValueError as problem:
        raise Mistake(f"{problem} in {rest!r}; quote text like this: name='two words'") from None
    arguments: Json = {}
    for word in words:
        key, value = (
            word.split("=", 1) if _is_assignment(word, None) else (_next(tool, properties, arguments, word), word)
        )
        arguments[key] = _value(value, properties.get(key, {}))
    return arguments


def _is_assignment(text: str, properties: Json | None) -> bool:
    key, equals, _ = text.partition("=")
    return bool(equals) and key.isidentifier() and (properties is None or key in properties)


def _next(tool: Tool, properties: Json, given: Json, word: str) -> str:
    free = [name for name in properties if name not in given]
    if not free:
        raise Mistake(f"{tool.name} has no argument left for {word!r}; arguments: {', '.join(properties) or 'none'}")
    return free[0]


def _value(text: str, schema: Json) -> Any:
    if schema.get("type") == "string" or "enum" in schema:
        return text
    try:
        return json.loads(text)
    except ValueError:
        return text


def usage(tool: Tool) -> str:
    """Return the tool as a person would write it: ``extrude distance=NUMBER [operation="join"]``."""
    needed = tool.parameters.get("required", [])
    parts = [_part(name, schema, name in needed) for name, schema in tool.parameters["properties"].items()]
    return " ".join([tool.name, *parts])


def _part(name: str, schema: Json, needed: bool) -> str:
    if needed:
        return f"{name}={_kind(schema)}"
    default = schema.get("default")
    return f"[{name}={_kind(schema) if default in (None, '') else json.dumps(default)}]"


def _kind(schema: Json) -> str:
    if "enum" in schema:
        return "|".join(map(str, schema["enum"]))
    options = [_kind(option) for option in schema.get("anyOf", []) if option.get("type") != "null"]
    return "|".join(options) or str(schema.get("type", "value")).upper()
