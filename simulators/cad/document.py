"""The document: a list of typed features, which is all that a part is made of.

1. A feature is a validated tool call with a name: ``Feature("Hole1", "hole", {"diameter": 6.0, ...})``. Plain data,
   no geometry.
2. Sketches, their entities and the operations on the body stand in one list, in the order in which they take effect.
3. A document's *key* digests its content; a key of a prefix is part of the key of the whole, so that shapes can be
   cached by key.

This module does not know what a feature looks like in space.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

Value = float | int | str | None
Json = dict[str, Any]

MAX_FEATURES = 64
"""Most features in one document."""

KIND_NAMES = {
    "new_sketch": "Sketch",
    "rectangle": "Rectangle",
    "circle": "Circle",
    "polygon": "Polygon",
    "extrude": "Extrude",
    "hole": "Hole",
    "fillet": "Fillet",
    "chamfer": "Chamfer",
    "pattern": "Pattern",
}
"""What the features that each modelling tool makes are called."""

SKETCH_KINDS = frozenset({"new_sketch", "rectangle", "circle", "polygon"})
"""Features that do not change the body."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One step of the part's history."""

    name: str
    kind: str
    """The tool that makes it; a key of ``KIND_NAMES``."""
    arguments: tuple[tuple[str, Value], ...]

    @property
    def values(self) -> dict[str, Value]:
        """The arguments by name."""
        return dict(self.arguments)

    def changed(self, parameter: str, value: Value) -> Feature:
        """Return the feature with one argument replaced."""
        return Feature(self.name, self.kind, tuple((k, value if k == parameter else v) for k, v in self.arguments))

    def to_json(self) -> Json:
        """Return plain JSON data."""
        return {"name": self.name, "kind": self.kind, "arguments": self.values}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Feature:
        """Rebuild a feature from ``to_json`` output."""
        return Feature(data["name"], data["kind"], tuple(data["arguments"].items()))


Features = tuple[Feature, ...]


@lru_cache(maxsize=4096)
def key_after(parent: str, feature: Feature) -> str:
    """Return the key of the document that ``feature`` makes out of that of key ``parent`` (``""`` is the empty one)."""
    content = json.dumps([parent, feature.name, feature.kind, feature.arguments], separators=(",", ":"))
    return hashlib.blake2b(content.encode(), digest_size=16).hexdigest()


def key_of(features: Iterable[Feature]) -> str:
    """Return the document's key."""
    key = ""
    for feature in features:
        key = key_after(key, feature)
    return key


def new_name(features: Sequence[Feature], kind: str) -> str:
    """Return the next free name of a kind: one more than the highest in use."""
    base = KIND_NAMES[kind]
    used = [int(f.name.removeprefix(base)) for f in features if f.kind == kind]
    return f"{base}{max(used, default=0) + 1}"


def group_of(features: Features, name: str) -> range:
    """Return the places of what goes when ``name`` is removed: a sketch goes with its figures and its extrusion.

    Raises:
        StopIteration: If no feature has the name.
    """
    place = next(i for i, f in enumerate(features) if f.name == name)
    if features[place].kind not in ("new_sketch", "extrude"):
        return range(place, place + 1)
    start = next(i for i in range(place, -1, -1) if features[i].kind == "new_sketch")
    end = next((i for i in range(start + 1, len(features)) if features[i].kind not in SKETCH_KINDS), len(features) - 1)
    return range(start, end + 1)


def plain(features: Features) -> list[Json]:
    """Return a document as plain JSON data."""
    return [feature.to_json() for feature in features]


def features_of(data: Sequence[Mapping[str, Any]]) -> Features:
    """Rebuild a document from ``plain`` output."""
    return tuple(Feature.from_json(item) for item in data)
