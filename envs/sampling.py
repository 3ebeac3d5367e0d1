"""Random and enumerated values that fit a JSON Schema, so that a sampled action is a valid call.

It reads the part of JSON Schema that tools derive from annotations: types, ``enum``, ``const``, bounds, ``anyOf``,
``$ref``, arrays and objects. It does not know what an argument means: a sampled file name names no file.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from ..simulators.base import Json

WORDS = ("a", "part", "notes.txt", "1", "north", "data")
"""What a free string is sampled from where the schema gives no examples."""
SPAN = 100.0
"""Width of the range in which a number without bounds is sampled."""
MOST_ITEMS = 6
"""Longest sampled array where the schema gives no bound."""
STEP = 0.5
"""Grid of sampled floats, where it is fine enough for their bounds."""


def sample_arguments(schema: Json, random: np.random.Generator) -> Json:
    """Return arguments that fit a tool's parameter schema; optional ones are left out half of the time."""
    return _object(schema, random, schema.get("$defs", {}))


def resolved(schema: Json, definitions: Mapping[str, Json]) -> Json:
    """Return the schema that a ``$ref`` names, or the schema itself."""
    reference = schema.get("$ref")
    return definitions[str(reference).rpartition("/")[2]] if reference else schema


def choices_of(schema: Json) -> list[Any]:
    """Return the values of a schema that has only a few: constants, enumerations, booleans, null."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    return {"boolean": [False, True], "null": [None]}.get(schema.get("type", ""), [])


def bounds_of(schema: Json) -> tuple[float, float]:
    """Return the least and the greatest allowed number; a side without a bound is ``SPAN`` away from the other."""
    integer = schema.get("type") == "integer"
    low = _bound(schema, "minimum", "exclusiveMinimum", 1 if integer else _nudge(schema))
    high = _bound(schema, "maximum", "exclusiveMaximum", -1 if integer else -_nudge(schema))
    if low is None and high is None:
        return -SPAN / 2, SPAN / 2
    return low if low is not None else cast("float", high) - SPAN, high if high is not None else cast(
        "float", low
    ) + SPAN


def _bound(schema: Json, inclusive: str, exclusive: str, nudge: float) -> float | None:
    if inclusive in schema:
        return float(schema[inclusive])
    return float(schema[exclusive]) + nudge if exclusive in schema else None


def _nudge(schema: Json) -> float:
    """Return how far inside an exclusive bound a sample stays."""
    low: float | None = schema.get("exclusiveMinimum", schema.get("minimum"))
    high: float | None = schema.get("exclusiveMaximum", schema.get("maximum"))
    return STEP if low is None or high is None else min(STEP, (high - low) / 4)


def _sample(schema: Json, random: np.random.Generator, definitions: Mapping[str, Json]) -> Any:
    schema = resolved(schema, definitions)
    few = schema.get("examples") or choices_of(schema) or schema.get("anyOf") or schema.get("oneOf")
    if few:
        chosen: Any = few[int(random.integers(len(few)))]
        return _sample(chosen, random, definitions) if "anyOf" in schema or "oneOf" in schema else chosen
    kind = schema.get("type")
    if kind in ("integer", "number"):
        return sample_number(schema, random)
    if kind == "string":
        return _sized(WORDS[int(random.integers(len(WORDS)))], schema)
    if kind == "array":
        return [_sample(item, random, definitions) for item in _items(schema, random)]
    if kind == "object":
        return _object(schema, random, definitions)
    return WORDS[int(random.integers(len(WORDS)))]


def sample_number(schema: Json, random: np.random.Generator) -> float | int:
    """Return a number within the schema's bounds: of a range wider than ``SPAN``, from its end nearest to zero."""
    low, high = bounds_of(schema)
    if high - low > SPAN:
        low, high = (low, low + SPAN) if abs(low) <= abs(high) else (high - SPAN, high)
        if bounds_of(schema)[0] <= -SPAN / 2 and bounds_of(schema)[1] >= SPAN / 2:
            low, high = -SPAN / 2, SPAN / 2
    if schema.get("type") == "integer":
        return int(random.integers(math.ceil(low), math.floor(high) + 1))
    value = random.uniform(low, high)
    snapped = round(value / STEP) * STEP
    return float(snapped if low <= snapped <= high else value)


def _sized(word: str, schema: Json) -> str:
    """Stretch or cut a word to the schema's lengths."""
    least, most = schema.get("minLength", 0), schema.get("maxLength", len(word) + schema.get("minLength", 0))
    return word.ljust(least, "a")[:most]


def _items(schema: Json, random: np.random.Generator) -> Sequence[Json]:
    """Return one schema for each item of a sampled array."""
    fixed: list[Json] = list(schema.get("prefixItems", []))
    least: int = schema.get("minItems", len(fixed))
    count = (
        int(random.integers(least, max(least, schema.get("maxItems", max(least, MOST_ITEMS))) + 1))
        if "items" in schema
        else len(fixed)
    )
    return (fixed + [schema.get("items") or {}] * max(0, count - len(fixed)))[:count]


def _object(schema: Json, random: np.random.Generator, definitions: Mapping[str, Json]) -> Json:
    required = schema.get("required", [])
    kept = [name for name in schema.get("properties", {}) if name in required or random.random() < 0.5]
    return {name: _sample(schema["properties"][name], random, definitions) for name in kept}
