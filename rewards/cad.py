"""How close a part is to the one that was asked for.

1. The part is read from the BRep file that the agent left; the reference is rebuilt here from the goal's tool calls,
   by the same application.
2. Gates: the file loads, the kernel finds it valid, it is exactly one solid, and its volume is positive and fits its
   bounding box.
3. Distances (different features, volume of the symmetric difference) are taken relative to *trivial baselines*: the
   plain blank, or the part that the task started with. What is no nearer to the reference than a baseline scores 0
   there, however alike they look; bounding box, place and volume together are worth 0.09. Nothing is normalised: a
   part of the wrong size is wrong.

A goal is ``{"calls": [...], "baselines": [[...], ...]}``, each a list of ``ToolCall`` data for the application ``cad``.

Lengths are mm. CadQuery is imported with the first score.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

from ..simulators import open_application
from .base import Goal, Outcome, Reward, Term
from .primitives import close

if TYPE_CHECKING:
    from ..simulators.cad.kernel import Shape
    from ..simulators.cad.selection import Surface

NEAR = 0.01
"""Lengths that differ by less are equal, in mm."""
EXACT = 1e-5
"""A symmetric difference below this share of the reference's volume is none."""
MAX_FACES = 1000
"""A part with more faces is not looked at."""

Trait = tuple[Any, ...]
Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Part:
    """A shape read from a file; each measure is taken once."""

    data: bytes
    shape: Shape

    @cached_property
    def solids(self) -> int:
        """Number of solids; 0 if faces lie about outside of them."""
        solids = self.shape.Solids()
        loose = len(self.shape.Faces()) != sum(len(s.Faces()) for s in solids)
        return 0 if loose else len(solids)

    @cached_property
    def volume(self) -> float:
        """mm3; negative if the part is inside out."""
        return self.shape.Volume()

    @cached_property
    def box(self) -> tuple[Vector, Vector]:
        """Lowest and highest corner."""
        box = self.shape.BoundingBox()
        return (box.xmin, box.ymin, box.zmin), (box.xmax, box.ymax, box.zmax)

    @property
    def size(self) -> Vector:
        """Edge lengths of the bounding box."""
        low, high = self.box
        return (high[0] - low[0], high[1] - low[1], high[2] - low[2])

    @cached_property
    def _surfaces(self) -> tuple[Surface, ...]:
        from ..simulators.cad.selection import surfaces

        return surfaces(self.shape)

    @cached_property
    def curved(self) -> Counter[Trait]:
        """Holes, bosses, rounds and bevels: all surfaces but the flat ones across an axis."""
        return _traits([s for s in self._surfaces if not _flat(s)])

    @cached_property
    def flat(self) -> Counter[Trait]:
        """Flat faces across an axis, whatever is cut out of them."""
        return _traits([s for s in self._surfaces if _flat(s)])

    def traits(self, flat: bool) -> Counter[Trait]:
        """Return what the part's features are recognised by."""
        return self.curved + self.flat if flat else self.curved


def _flat(surface: Surface) -> bool:
    return surface.kind == "plane" and max(abs(c) for c in surface.direction) > 1 - 1e-6


def _traits(surfaces: list[Surface]) -> Counter[Trait]:
    """Describe surfaces by numbers on a grid of ``NEAR``; faces of one cylinder or cone count as one."""
    found: dict[Trait, tuple[list[float], list[float]]] = {}
    single: list[Trait] = []
    for s in surfaces:
        head = (s.kind, s.concave, _grid(s.direction), _grid(s.position), _grid((s.radius,)))
        if s.kind not in ("cylinder", "cone"):
            single.append((*head, _grid(s.low), _grid(s.high)))
            continue
        low, high = found.get(head, (list(s.low), list(s.high)))
        found[head] = [min(p) for p in zip(low, s.low, strict=True)], [max(p) for p in zip(high, s.high, strict=True)]
    return Counter([*single, *((*head, _grid(low), _grid(high)) for head, (low, high) in found.items())])


def _grid(values: tuple[float, ...] | list[float]) -> tuple[int, ...]:
    return tuple(round(v / NEAR) for v in values)


@dataclass(frozen=True)
class Reference:
    """The part that was asked for, and how far the trivial baselines are from it."""

    part: Part
    flat: bool
    """Whether flat faces count as features: where a baseline has all the others already."""
    features: int
    """Features by which the nearest baseline differs."""
    difference: float
    """Symmetric difference from the nearest baseline, mm3."""


@lru_cache(maxsize=64)
def _read(data: bytes) -> Part | None:
    from ..simulators.cad import kernel

    shape = kernel.from_brep(data)
    return None if shape is None or len(shape.Faces()) > MAX_FACES else Part(data, shape)


def _part(outcome: Outcome) -> Part | None:
    data = outcome.artifacts.get("part.brep")
    return None if data is None else _read(data)


def _present(outcome: Outcome) -> Part:
    """Return the part behind an open gate."""
    part = _part(outcome)
    if part is None:
        raise ValueError("a term was measured behind a closed gate")
    return part


def _built(calls: list[dict[str, Any]]) -> Part:
    application = open_application("cad")
    application.reset({"calls": calls}, 0)
    part = _read(application.artifacts()["part.brep"])
    if part is None:
        raise ValueError(f"the goal's calls make no part: {calls}")
    return part


def _reference(goal: Goal) -> Reference:
    return _reference_of(json.dumps([goal["calls"], goal["baselines"]], sort_keys=True))


@lru_cache(maxsize=64)
def _reference_of(content: str) -> Reference:
    calls, baselines = json.loads(content)
    part, others = _built(calls), [_built(b) for b in baselines]
    flat = any(b.curved == part.curved for b in others)
    features = min(_different(part.traits(flat), b.traits(flat)) for b in others)
    differences = [_symmetric_difference(part, b) for b in others]
    return Reference(part, flat, features, min(d for d in differences if d is not None))


def _different(a: Counter[Trait], b: Counter[Trait]) -> int:
    return ((a - b) + (b - a)).total()


@lru_cache(maxsize=64)
def _shared(a: bytes, b: bytes) -> float | None:
    """Return the volume that two parts share, or ``None`` where the kernel cannot tell."""
    from ..simulators.cad import kernel

    first, second = _read(a), _read(b)
    if first is None or second is None:
        return None
    try:
        shared = kernel.guarded(lambda: kernel.common(kernel.parsed(a), [kernel.parsed(b)])).Volume()
    except kernel.KernelError:
        return None
    least = min(first.volume, second.volume)
    return shared if -EXACT * least <= shared <= (1 + EXACT) * least else None


def _symmetric_difference(a: Part, b: Part) -> float | None:
    if a.data == b.data:
        return 0.0
    shared = _shared(a.data, b.data)
    return None if shared is None else max(a.volume + b.volume - 2 * shared, 0.0)


# -- gates and terms --


def exists(_goal: Goal, outcome: Outcome) -> float:
    """1 if the part's file is there and loads."""
    return float(_part(outcome) is not None)


def valid(_goal: Goal, outcome: Outcome) -> float:
    """1 if the kernel's own check finds no defect."""
    return float(_present(outcome).shape.isValid())


def one_solid(_goal: Goal, outcome: Outcome) -> float:
    """1 if there is exactly one solid and nothing else."""
    return float(_present(outcome).solids == 1)


def sound_volume(_goal: Goal, outcome: Outcome) -> float:
    """1 if the volume is positive and not above that of the bounding box."""
    part = _present(outcome)
    x, y, z = part.size
    return float(0 < part.volume <= x * y * z * (1 + EXACT))


def size(goal: Goal, outcome: Outcome) -> float:
    """The share of axes on which the bounding box is as long as it should be."""
    part, wanted = _present(outcome), _reference(goal).part
    return sum(close(a, b, 0.0, NEAR) for a, b in zip(part.size, wanted.size, strict=True)) / 3


def place(goal: Goal, outcome: Outcome) -> float:
    """The share of axes on which the bounding box begins where it should."""
    part, wanted = _present(outcome), _reference(goal).part
    return sum(close(a, b, 0.0, NEAR) for a, b in zip(part.box[0], wanted.box[0], strict=True)) / 3


def volume(goal: Goal, outcome: Outcome) -> float:
    """1 if the volume is right within 1e-4 of it."""
    return close(_present(outcome).volume, _reference(goal).part.volume, 1e-4)


def features(goal: Goal, outcome: Outcome) -> float:
    """The share of wanted features that are there, less those that should not be; less on a wrong-sized part.

    A feature is recognised by its kind, place, size and extent.
    """
    reference, part = _reference(goal), _present(outcome)
    wrong = _different(part.traits(reference.flat), reference.part.traits(reference.flat))
    return max(1 - wrong / reference.features, 0.0) * size(goal, outcome) ** 2


def solid(goal: Goal, outcome: Outcome) -> float | None:
    """How much of the nearest baseline's symmetric difference is gone; less on a wrong-sized part."""
    reference, axes = _reference(goal), size(goal, outcome)
    difference = _symmetric_difference(_present(outcome), reference.part) if axes > 0 else reference.difference
    if difference is None:
        return None
    gone = 1.0 if difference <= EXACT * reference.part.volume else max(1 - difference / reference.difference, 0.0)
    return gone * axes**2


def part_reward() -> Reward:
    """Return the reward of all CAD families."""
    return Reward(
        gates=(
            Term("exists", 1, exists),
            Term("valid", 1, valid),
            Term("one_solid", 1, one_solid),
            Term("sound_volume", 1, sound_volume),
        ),
        terms=(
            Term("size", 0.03, size),
            Term("place", 0.02, place),
            Term("volume", 0.04, volume),
            Term("features", 0.41, features),
            Term("solid", 0.5, solid),
        ),
    )
