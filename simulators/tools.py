"""Tools: annotated Python functions whose schema, validation and help texts are derived, never written twice.

A tool is declared with ``@tool`` on a method of an ``Application``; its parameters' annotations give the JSON Schema
(by pydantic), its Google docstring gives the descriptions. Whatever JSON an agent sends, the answer is either
validated arguments or an error result that names the argument, the value and the nearest valid choice.
"""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast, get_type_hints

from docstring_parser import parse as parse_docstring
from pydantic import BaseModel, ConfigDict, ValidationError, create_model
from pydantic_core import ErrorDetails

from .base import Json, ToolFault, ToolResult

MAX_TEXT = 256 * 1024
"""Longest string argument, in characters. A longer one is refused before anything looks at it."""
MAX_DEPTH = 32
"""Deepest nesting of an argument."""
MAX_ITEMS = 10_000
"""Most values in one call's arguments, all levels together."""

F = TypeVar("F", bound=Callable[..., Any])


def tool(function: F) -> F:
    """Mark a method as a tool of its application."""
    function.__tool__ = True  # type: ignore[attr-defined]
    return function


def nearest(value: object, choices: Iterable[str], count: int = 3) -> list[str]:
    """Return the choices most like ``value``, best first; none where nothing is similar."""
    return difflib.get_close_matches(str(value)[:100], list(choices), n=count, cutoff=0.4)


def shown(value: object) -> str:
    """Return ``repr(value)``, cut to a length that fits into a sentence; a large container is named by its type."""
    if isinstance(value, str | bytes):
        text = repr(value[:80])
    else:
        sized: Any = value
        text = (
            repr(sized) if not isinstance(value, list | dict) or len(sized) < 40 else f"a large {type(sized).__name__}"
        )
    return text if len(text) <= 80 else text[:77] + "..."


class _Arguments(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Tool:
    """One tool: a function, its name, its help texts and its argument schema."""

    function: Callable[..., Any]

    @property
    def name(self) -> str:
        """The name an agent calls."""
        return self.function.__name__

    @cached_property
    def description(self) -> str:
        """The docstring without its sections."""
        doc = parse_docstring(self.function.__doc__ or "")
        return " ".join(
            part.strip() for part in (doc.short_description or "", doc.long_description or "") if part
        ).strip()

    @cached_property
    def model(self) -> type[BaseModel]:
        """The pydantic model of the arguments."""
        hints = get_type_hints(self.function, include_extras=True)
        parameters = [p for p in inspect.signature(self.function).parameters.values() if p.name != "self"]
        fields: dict[str, Any] = {
            p.name: (hints[p.name], ... if p.default is p.empty else p.default) for p in parameters
        }
        return create_model(self.name, __base__=_Arguments, **fields)

    @cached_property
    def parameters(self) -> Json:
        """The JSON Schema of the arguments, with the docstring's descriptions and units."""
        schema = self.model.model_json_schema()
        described = {p.arg_name: p.description for p in parse_docstring(self.function.__doc__ or "").params}
        for name, field in schema.setdefault("properties", {}).items():
            field.pop("title", None)
            if described.get(name):
                field["description"] = " ".join(str(described[name]).split())
        schema.pop("title", None)
        return {**schema, "additionalProperties": False}

    def openai(self) -> Json:
        """Return the OpenAI function form."""
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": self.parameters},
        }

    def mcp(self) -> Json:
        """Return the Model Context Protocol form."""
        return {"name": self.name, "description": self.description, "inputSchema": self.parameters}

    def validate(self, arguments: Any) -> dict[str, Any]:
        """Return the arguments as the function takes them.

        Raises:
            ToolFault: If an argument is missing, unknown, of the wrong type or out of bounds.
        """
        if not isinstance(arguments, Mapping):
            raise ToolFault("malformed", f"the arguments of {self.name} must be a JSON object, not {shown(arguments)}")
        given = cast(Mapping[Any, Any], arguments)
        _refuse_oversize(self.name, given)
        try:
            model = self.model.model_validate(dict(given))
        except ValidationError as invalid:
            raise self._explain(invalid.errors(include_url=False)) from None
        except (RecursionError, OverflowError, ValueError, TypeError) as broken:
            raise ToolFault("malformed", f"the arguments of {self.name} cannot be read: {shown(str(broken))}") from None
        return {name: getattr(model, name) for name in type(model).model_fields}

    def __call__(self, owner: object, arguments: Any) -> ToolResult:
        """Validate and run on ``owner``; a refused call becomes an error result."""
        try:
            return self.function(owner, **self.validate(arguments))
        except ToolFault as fault:
            return fault.result

    def _explain(self, errors: Sequence[ErrorDetails]) -> ToolFault:
        problem = errors[0]
        where = ".".join(str(part) for part in problem["loc"]) or "arguments"
        names = list(self.model.model_fields)
        if problem["type"] == "extra_forbidden":
            return ToolFault(
                "bad_argument",
                f"{self.name} has no argument {where!r} (value {shown(problem['input'])})",
                f"arguments: {', '.join(names)}",
                nearest(where, names),
            )
        if problem["type"] == "missing":
            return ToolFault(
                "bad_argument", f"{self.name} needs the argument {where!r}", f"arguments: {', '.join(names)}"
            )
        choices = (
            [str(c) for c in _choices(self.parameters.get("properties", {}).get(str(problem["loc"][0]), {}))]
            if problem["loc"]
            else []
        )
        hint = f"choices: {', '.join(choices)}" if choices else ""
        message = problem["msg"][0].lower() + problem["msg"][1:]
        return ToolFault(
            "bad_argument",
            f"{self.name}: {where} = {shown(problem['input'])}: {message}",
            hint,
            nearest(problem["input"], choices),
        )


def _choices(schema: Mapping[str, Any]) -> list[Any]:
    """Collect the ``enum`` and ``const`` values of a property, also inside ``anyOf``."""
    found: list[Any] = list(schema.get("enum", [])) + ([schema["const"]] if "const" in schema else [])
    for option in schema.get("anyOf", []):
        found += _choices(option)
    return found


def _refuse_oversize(name: str, arguments: Mapping[Any, Any]) -> None:
    """Refuse what no validator should walk through.

    Long strings, deep nesting, masses of values, NaN in places without a type.
    """
    level: list[Any] = [arguments]
    total = 0
    for depth in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for value in level:
            if isinstance(value, str) and len(value) > MAX_TEXT:
                raise ToolFault(
                    "limit",
                    f"{name}: a string of {len(value)} characters is too long",
                    f"at most {MAX_TEXT} characters",
                )
            if isinstance(value, float) and not math.isfinite(value):
                raise ToolFault("bad_argument", f"{name}: {value} is not a finite number")
            if isinstance(value, Mapping):
                below += [*value.keys(), *value.values()]  # pyright: ignore[reportUnknownArgumentType, reportUnknownMemberType]
            elif isinstance(value, list | tuple):
                below += value  # pyright: ignore[reportUnknownArgumentType]
        total += len(below)
        if total > MAX_ITEMS:
            raise ToolFault("limit", f"{name}: more than {MAX_ITEMS} values in one call")
        if not below:
            return
        level = below
        if depth == MAX_DEPTH:
            raise ToolFault("limit", f"{name}: the arguments are nested more than {MAX_DEPTH} levels deep")
