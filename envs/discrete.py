"""The discrete view: a call as a row of small integers, for learners that know neither text nor JSON.

The first number chooses the tool, the k-th of the others chooses the value of that tool's k-th argument out of a list
which both sides can compute: for a number the numbers of the instruction and a small grid within the bounds; for an
enumeration its members; for a string the quoted and the path-like words of the instruction and of the latest
observation. An optional argument can also be left out. A bin beyond the end of a list starts over from its beginning,
so that every action is a valid call; the mask says which bins are of use to at least one tool.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from gymnasium.spaces import MultiDiscrete, Space
from numpy.typing import NDArray

from ..simulators.base import Json, ToolCall, ToolResult
from ..simulators.tools import Tool
from .actions import NotEncodable
from .sampling import bounds_of, choices_of, resolved, sample_arguments

BINS = 24
"""Choices per argument."""
GRID = (0, 1, 2, 3, 4, 5, 8, 10, 20, 50, 100)
"""Numbers that can be chosen besides those of the instruction, where the bounds allow them."""
LEFT_OUT = object()
"""The choice to leave an optional argument out."""

_NUMBER = re.compile(r"(?:(?<=\dx)|(?<![\w.]))-?\d+(?:\.\d+)?")
_QUOTED = re.compile(r"'([^'\n]+)'|\"([^\"\n]+)\"|`([^`\n]+)`")
_PATHLIKE = re.compile(r"[\w.@~-]*[/._-][\w./@~*-]*\w|\w+[/._-]\w[\w./-]*")


def numbers_in(text: str) -> list[float]:
    """Return the numbers that stand in a text, in order.

    Example:
        >>> numbers_in("a 40 x 30.5 mm plate, 4 holes of 6 mm")
        [40.0, 30.5, 4.0, 6.0]
    """
    return [float(number) for number in _NUMBER.findall(text)]


def words_in(text: str) -> list[str]:
    """Return the quoted words of a text, then the path-like ones.

    Example:
        >>> words_in("Rename 'a b' in /srv/log.txt.")
        ['a b', '/srv/log.txt']
    """
    quoted = ["".join(groups) for groups in _QUOTED.findall(text)]
    return _distinct([*quoted, *_PATHLIKE.findall(_QUOTED.sub(" ", text))])


class DiscreteView:
    """An action is ``[tool, bin, bin, ...]``."""

    name: ClassVar[str] = "discrete"

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = [(tool.name, tool.parameters) for tool in tools]
        slots = max(len(_arguments(schema)) for _, schema in self._tools)
        self.space: Space[Any] = MultiDiscrete([len(self._tools)] + [BINS] * slots)
        self._slots = slots
        self._choices: list[list[list[Any]]] = []
        self.see("", "")

    def see(self, instruction: str, text: str) -> None:
        """Compute the choices of every argument from what the agent has read."""
        self._choices = [
            [_choices(schema, name, instruction, text) for name in _arguments(schema)] for _, schema in self._tools
        ]

    def parse(self, action: Any) -> ToolCall | ToolResult:
        """Return the chosen call; an array of another shape or range is an error result."""
        row = np.asarray(action)
        if row.shape != self.space.shape or row.dtype.kind not in "iu" or not self.space.contains(row.astype(np.int64)):
            return ToolResult.failure(
                "malformed",
                f"an action is {1 + self._slots} integers: a tool below {len(self._tools)} and bins below {BINS}",
            )
        name, schema = self._tools[int(row[0])]
        picked = {
            key: options[int(bin_) % len(options)]
            for key, options, bin_ in zip(_arguments(schema), self._choices[int(row[0])], row[1:], strict=False)
        }
        return ToolCall(name, {key: value for key, value in picked.items() if value is not LEFT_OUT})

    def encode(self, call: ToolCall) -> NDArray[np.int64]:
        """Return the row of numbers that makes this call now."""
        tool = next((i for i, (name, _) in enumerate(self._tools) if name == call.name), None)
        if tool is None or set(call.arguments) - set(_arguments(self._tools[tool][1])):
            raise NotEncodable(f"no such call in this environment: {call}")
        row = np.zeros(1 + self._slots, np.int64)
        row[0] = tool
        for slot, (key, options) in enumerate(
            zip(_arguments(self._tools[tool][1]), self._choices[tool], strict=True), 1
        ):
            row[slot] = _position(options, call.arguments.get(key, LEFT_OUT), f"{call.name}({key})")
        return row

    def mask(self) -> NDArray[np.bool_]:
        """Return the flat mask, shape (sum of the space's ``nvec``,), that sb3-contrib's ``MaskablePPO`` takes."""
        longest = [
            max((len(options[slot]) for options in self._choices if slot < len(options)), default=1)
            for slot in range(self._slots)
        ]
        bins = [np.arange(BINS) < size for size in longest]
        return np.concatenate([np.ones(len(self._tools), np.bool_), *bins])


def _arguments(schema: Json) -> list[str]:
    return list(schema.get("properties", {}))


def _choices(schema: Json, name: str, instruction: str, text: str) -> list[Any]:
    """Return what can be chosen for one argument: never empty, at most ``BINS``."""
    left_out = [] if name in schema.get("required", []) else [LEFT_OUT]
    values = _values(schema["properties"][name], schema.get("$defs", {}), instruction, text)
    return [*left_out, *islice(values, BINS - len(left_out))]


def _values(schema: Json, definitions: Mapping[str, Json], instruction: str, text: str) -> Iterator[Any]:
    schema = resolved(schema, definitions)
    few = choices_of(schema)
    if few:
        return iter(few)
    if "anyOf" in schema:
        return (value for part in schema["anyOf"] for value in _values(part, definitions, instruction, text))
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return iter(_numbers(schema, instruction))
    if kind == "string":
        return iter(_words(schema, instruction, text))
    return iter(_composed(schema, definitions, instruction))


def _words(schema: Json, instruction: str, text: str) -> list[str]:
    least, most = schema.get("minLength", 0), schema.get("maxLength", math.inf)
    words: list[str] = [*schema.get("examples", []), *words_in(instruction), *words_in(text)]
    return _distinct(word for word in words if least <= len(word) <= most) or ["a" * least]


def _numbers(schema: Json, instruction: str) -> list[float | int]:
    low, high = bounds_of(schema) if _bounded(schema) else (-math.inf, math.inf)
    candidates = [value for value in (*numbers_in(instruction), *GRID) if low <= value <= high] or [low]
    if schema.get("type") == "integer":
        return _distinct([int(value) for value in candidates if float(value).is_integer()] or [math.ceil(low)])
    return _distinct([int(value) if float(value).is_integer() else float(value) for value in candidates])


def _bounded(schema: Json) -> bool:
    return any(key in schema for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"))


def _composed(schema: Json, definitions: Mapping[str, Json], instruction: str) -> list[Any]:
    """Offer a few fixed values for arrays and objects, and the instruction's numbers as an array where they fit."""
    wrapped: Json = {
        "type": "object",
        "properties": {"value": schema},
        "required": ["value"],
        "$defs": dict(definitions),
    }
    fixed = [sample_arguments(wrapped, np.random.default_rng(seed))["value"] for seed in range(4)]
    flat = schema.get("type") == "array" and resolved(schema.get("items") or {}, definitions).get("type") == "number"
    return [numbers_in(instruction), *fixed] if flat else fixed


def _position(options: Sequence[Any], value: Any, what: str) -> int:
    for place, option in enumerate(options):
        if option is value or (
            option is not LEFT_OUT and option == value and isinstance(option, bool) == isinstance(value, bool)
        ):
            return place
    raise NotEncodable(f"{what}: the value {value!r} is not among the choices of the discrete view")


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(values))
