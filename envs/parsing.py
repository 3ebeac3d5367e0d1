"""Reads a tool call out of what a language model wrote: every text gives a call, or an error result that says why not.

Accepted: ``{"name": ..., "arguments": {...}}`` in the spellings that models use (``function`` or ``tool`` for the name,
``parameters``, ``args`` or ``input`` for the arguments, the OpenAI envelope ``{"type": "function", "function":
{...}}``, a ``tool_calls`` list of one, arguments as a JSON string), bare, inside a code fence, inside ``<tool_call>``
tags, or as the one JSON object within prose. Refused: two calls in one turn, a repeated key (which of the two is
meant?), NaN and infinity, oversized text. Nothing is executed and nothing is guessed about values.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any, NoReturn, cast

from ..simulators.base import Json, ToolCall, ToolResult
from ..simulators.tools import shown

LONGEST_ACTION = 1 << 19
"""Characters in the longest action that is read at all."""
DEEPEST_ACTION = 100
"""Deepest nesting of an action's JSON."""
MOST_OBJECTS = 64
"""How many opening braces in prose are tried as the start of a JSON object."""

NAME_KEYS = ("name", "function", "tool", "tool_name", "function_name")
ARGUMENT_KEYS = ("arguments", "parameters", "args", "input", "params")
EXAMPLE = '{"name": "...", "arguments": {...}}'

_TAGGED = re.compile(r"<tool_call>\s*(.*?)\s*(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:```|\Z)", re.DOTALL)


class _Refused(ValueError):
    """The text holds JSON that must not be read as a call."""


def parse_call(text: str) -> ToolCall | ToolResult:
    """Return the call that the text makes, or an error result with code ``malformed`` or ``limit``.

    Example:
        >>> parse_call('I drill now: {"name": "hole", "arguments": {"diameter": 4}}')
        ToolCall(name='hole', arguments={'diameter': 4})
        >>> parse_call("I would drill.").error.code
        'malformed'
    """
    if len(text) > LONGEST_ACTION:
        return ToolResult.failure(
            "limit", f"an action of {len(text)} characters is too long", f"at most {LONGEST_ACTION} characters"
        )
    try:
        return _call(_only_object(text))
    except _Refused as refused:
        return ToolResult.failure("malformed", str(refused), f"write one call as {EXAMPLE}")


def parse_arguments(text: str) -> Json | ToolResult:
    """Return the JSON object that a text holds, or an error result; empty text stands for no arguments."""
    if len(text) > LONGEST_ACTION:
        return ToolResult.failure(
            "limit", f"arguments of {len(text)} characters are too long", f"at most {LONGEST_ACTION} characters"
        )
    try:
        return _as_object(text.strip() or "{}", "the arguments")
    except _Refused as refused:
        return ToolResult.failure(
            "malformed", str(refused), 'write the arguments as a JSON object, such as {"name": "value"}'
        )


def _only_object(text: str) -> Json:
    """Return the one object that may be a call: the one in tags if there are tags, else in fences, else anywhere."""
    regions = _TAGGED.findall(text) or [body for body in _FENCED.findall(text) if "{" in body] or [text]
    found, problems = list[Json](), list[str]()
    for region in regions:
        found += _scan(region, problems)
    named = [value for value in found if _named(value)]
    if len(named) > 1:
        raise _Refused(f"an action holds one call, this one holds {len(named)}")
    if named:
        return named[0]
    if problems or not found:
        raise _Refused(f"no tool call found in {shown(text)}" + (f": {problems[0]}" if problems else ""))
    return found[0]


def _named(value: Json) -> bool:
    return "tool_calls" in value or any(key in value for key in NAME_KEYS)


def _scan(text: str, problems: list[str]) -> Iterator[Json]:
    """Yield the outermost JSON objects of a text; note of each other brace why it starts none."""
    position, tries = text.find("{"), 0
    while position >= 0 and tries < MOST_OBJECTS:
        tries += 1
        try:
            value, end = _decode(text, position)
        except json.JSONDecodeError as broken:
            problems.append(f"the JSON breaks off at character {broken.pos} ({broken.msg})")
            end = position + 1
        else:
            yield value
        position = text.find("{", end)


def _decode(text: str, start: int) -> tuple[Json, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (json.JSONDecodeError, _Refused):
        raise
    except RecursionError:
        raise _Refused(f"the JSON is nested more than {DEEPEST_ACTION} levels deep") from None
    except ValueError as broken:
        raise _Refused(f"the JSON holds a value that cannot be read: {broken}") from None
    _refuse_depth([value])
    return value, end


def _refuse_depth(value: list[Any]) -> None:
    """Refuse what is nested deeper than any call, so that nothing after this walks into it."""
    level: list[Any] = [value]
    for _ in range(DEEPEST_ACTION):
        inner: list[Any] = []
        for above in level:
            inner += cast("Json", above).values() if isinstance(above, dict) else above
        level = [below for below in inner if isinstance(below, dict | list)]
        if not level:
            return
    raise _Refused(f"the JSON is nested more than {DEEPEST_ACTION} levels deep")


def _unique(pairs: list[tuple[str, Any]]) -> Json:
    out = dict(pairs)
    if len(out) != len(pairs):
        keys = [key for key, _ in pairs]
        raise _Refused(f"the key {shown(next(key for key in keys if keys.count(key) > 1))} stands twice in one object")
    return out


def _no_constant(word: str) -> NoReturn:
    raise _Refused(f"{word} is not a number")


def _finite(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise _Refused(f"{shown(digits)} is not a finite number")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_constant, parse_float=_finite)


def _as_object(text: str, what: str) -> Json:
    try:
        value, end = _decode(text, 0)
    except json.JSONDecodeError as broken:
        raise _Refused(f"{what} are not JSON: {broken.msg} at character {broken.pos}") from None
    if not isinstance(value, dict) or text[end:].strip():  # pyright: ignore[reportUnnecessaryIsInstance]
        raise _Refused(f"{what} must be one JSON object, not {shown(text)}")
    return value


def _call(value: Json) -> ToolCall:
    value = _unwrapped(value)
    name = next((value[key] for key in NAME_KEYS if isinstance(value.get(key), str)), None)
    if name is None:
        raise _Refused(f"the object has no name of a tool; its keys are {shown(sorted(value))}")
    arguments: Any = next((value[key] for key in ARGUMENT_KEYS if key in value), None)
    if isinstance(arguments, str):
        return ToolCall(name.strip(), _as_object(arguments.strip() or "{}", "the arguments"))
    if arguments is not None and not isinstance(arguments, dict):
        raise _Refused(f"the arguments must be a JSON object, not {shown(arguments)}")
    return ToolCall(name.strip(), cast("Json", arguments or {}))


def _unwrapped(value: Json) -> Json:
    """Take off the envelopes of the chat interfaces."""
    if isinstance(value.get("tool_calls"), list):
        calls: list[Any] = value["tool_calls"]
        if len(calls) != 1 or not isinstance(calls[0], dict):
            raise _Refused(f"an action holds one call, 'tool_calls' holds {len(calls)} things")
        value = cast("Json", calls[0])
    return value["function"] if isinstance(value.get("function"), dict) else value
