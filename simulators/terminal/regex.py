"""Regular expressions that always end.

A pattern is a tree. Where Python's matcher is known to be quick for it (few repetitions for the length of the text),
Python matches; where it might backtrack without end, a simulation of the automaton does, in time proportional to text
times pattern (Pike 1987, as described in R. Cox, "Regular Expression Matching: the Virtual Machine Approach", 2009).
Both prefer the first alternative and the longest repetition.

It does not know how patterns are written; see `patterns`. A pattern with a back reference cannot be simulated and is
refused where Python might not end.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from .meter import MAX_OUTPUT, Stopped

# Steps that Python may need in the worst case before the simulation takes over.
QUICK = 20_000_000
# Steps of the simulation in one search or one pass over a text.
MAX_STEPS = 3_000_000
# Instructions of the largest automaton.
MAX_PROGRAM = 20_000


class PatternError(ValueError):
    """A pattern that is none; the message is grep's."""


@dataclass(frozen=True, slots=True)
class One:
    """One character: the source of a Python class such as `[a-z]`, `.` or `x`."""

    source: str


@dataclass(frozen=True, slots=True)
class Edge:
    r"""A place between characters, by its Python source (`\A`, `\Z`, `\b`, `(?<!\w)` ...)."""

    source: str


@dataclass(frozen=True, slots=True)
class Again:
    """A back reference."""

    group: int


@dataclass(frozen=True, slots=True)
class Row:
    """Parts one after another."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Either:
    """Alternatives, the first preferred."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part from `low` to `high` times (`None`: without end)."""

    part: Node
    low: int
    high: int | None


@dataclass(frozen=True, slots=True)
class Group:
    """A captured part."""

    number: int
    part: Node


Node = One | Edge | Again | Row | Either | Repeat | Group


@dataclass(frozen=True, slots=True)
class Match:
    """Where a pattern was found: the (start, end) of the whole and of each group, -1 where it took no part."""

    text: str
    spans: tuple[tuple[int, int], ...]

    def start(self) -> int:
        """Return where it begins."""
        return self.spans[0][0]

    def end(self) -> int:
        """Return where it ends."""
        return self.spans[0][1]

    def __getitem__(self, group: int) -> str | None:
        low, high = self.spans[group]
        return None if low < 0 else self.text[low:high]

    def whole(self) -> str:
        """Return what was matched."""
        return self.text[self.start() : self.end()]

    def groups(self) -> tuple[str | None, ...]:
        """Return what the groups matched."""
        return tuple(self[i] for i in range(1, len(self.spans)))


class Pattern:
    """A compiled pattern.

    Raises:
        PatternError: If it is too large.
    """

    def __init__(self, tree: Node, flags: int = 0) -> None:
        self.tree = tree
        self.flags = flags
        self.groups = _count(tree, Group)
        try:
            self.python = re.compile(source(tree), flags)
        except (re.error, OverflowError, RecursionError) as error:
            raise PatternError(f"Invalid regular expression: {error}") from None
        self.loops = _loops(tree)
        self.nested = _nested(tree, False)
        self.anchored = isinstance(tree, Row) and bool(tree.parts) and tree.parts[0] == Edge(r"\A")

    def search(self, text: str, at: int = 0) -> Match | None:
        """Return the first match at or after a position."""
        return self._search(text, at, [MAX_STEPS])

    def matches(self, text: str) -> bool:
        """Tell whether there is a match."""
        return self._search(text, 0, [MAX_STEPS]) is not None

    def all(self, text: str) -> Iterator[Match]:
        """Yield the matches one after another; an empty one never directly behind another match."""
        budget, at, last = [MAX_STEPS], 0, -1
        while at <= len(text):
            found = self._search(text, at, budget)
            if found is None:
                return
            empty = found.start() == found.end()
            if not (empty and found.start() == last):
                yield found
            last = found.end()
            at = found.end() + empty

    def split(self, text: str) -> list[str]:
        """Return the pieces between matches; empty matches do not count."""
        pieces, at = list[str](), 0
        for found in self.all(text):
            if found.end() > found.start():
                pieces.append(text[at : found.start()])
                at = found.end()
        return [*pieces, text[at:]]

    def replaced(self, text: str, fill: Callable[[Match], str], count: int = 0) -> tuple[str, int]:
        """Return the text with matches exchanged (the first `count`, 0 for all), and how many there were.

        Raises:
            Stopped: If the result becomes too large.
        """
        pieces, at, made, size = list[str](), 0, 0, len(text)
        for found in self.all(text):
            pieces += [text[at : found.start()], fill(found)]
            at, made, size = found.end(), made + 1, size + len(pieces[-1])
            if size > MAX_OUTPUT:
                raise Stopped(f"a text of more than {MAX_OUTPUT} characters")
            if made == count:
                break
        return "".join([*pieces, text[at:]]), made

    def quick(self, length: int) -> bool:
        """Tell whether Python's matcher surely ends soon on a text of this length."""
        if self.nested:
            return length <= 18
        return self.loops == 0 or (length + 1) ** (self.loops + (not self.anchored)) <= QUICK

    def _search(self, text: str, at: int, budget: list[int]) -> Match | None:
        if self.quick(len(text) - at):
            found = self.python.search(text, at)
            return Match(text, tuple(found.span(i) for i in range(self.groups + 1))) if found else None
        return _simulate(self._program, text, at, self.groups, budget)

    @cached_property
    def _program(self) -> list[tuple[Any, ...]]:
        code: list[tuple[Any, ...]] = []
        _emit(self.tree, code, self.flags)
        return [*code, ("match",)]


def source(node: Node) -> str:
    """Return the Python source of a tree."""
    if isinstance(node, One | Edge):
        return node.source
    if isinstance(node, Again):
        return f"(?:\\{node.group})"
    if isinstance(node, Row):
        return "".join(f"(?:{source(p)})" if isinstance(p, Either) else source(p) for p in node.parts)
    if isinstance(node, Either):
        return "|".join(map(source, node.parts))
    if isinstance(node, Group):
        return f"({source(node.part)})"
    counts = {(0, None): "*", (1, None): "+", (0, 1): "?"}.get(
        (node.low, node.high), f"{{{node.low},{'' if node.high is None else node.high}}}"
    )
    return (source(node.part) if isinstance(node.part, One | Group) else f"(?:{source(node.part)})") + counts


def _children(node: Node) -> tuple[Node, ...]:
    return node.parts if isinstance(node, Row | Either) else (node.part,) if isinstance(node, Repeat | Group) else ()


def _count(node: Node, kind: type) -> int:
    return isinstance(node, kind) + sum(_count(child, kind) for child in _children(node))


def _loops(node: Node) -> int:
    """Return how many repetitions may take different lengths."""
    return (isinstance(node, Repeat) and node.low != node.high) + sum(map(_loops, _children(node)))


def _nested(node: Node, inside: bool) -> bool:
    """Tell whether a repetition repeats something that can match in several ways."""
    if inside and (isinstance(node, Either) or (isinstance(node, Repeat) and node.low != node.high)):
        return True
    inside = inside or (isinstance(node, Repeat) and (node.high is None or node.high > 1))
    return any(_nested(child, inside) for child in _children(node))


def _emit(node: Node, code: list[tuple[Any, ...]], flags: int) -> None:
    """Append the instructions of a tree."""
    if len(code) > MAX_PROGRAM:
        raise PatternError("Regular expression too big")
    if isinstance(node, One):
        code.append(("char", re.compile(node.source, flags).fullmatch, {}))
    elif isinstance(node, Edge):
        code.append(("edge", re.compile(node.source, flags).match))
    elif isinstance(node, Again):
        raise PatternError("Regular expression too complex: a back reference beside repetitions of repetitions")
    elif isinstance(node, Row):
        for part in node.parts:
            _emit(part, code, flags)
    elif isinstance(node, Group):
        code.append(("save", 2 * node.number))
        _emit(node.part, code, flags)
        code.append(("save", 2 * node.number + 1))
    elif isinstance(node, Either):
        _emit_either(node, code, flags)
    else:
        _emit_repeat(node, code, flags)


def _emit_either(node: Either, code: list[tuple[Any, ...]], flags: int) -> None:
    ends: list[int] = []
    for i, part in enumerate(node.parts):
        if i == len(node.parts) - 1:
            _emit(part, code, flags)
            break
        fork = len(code)
        code.append(())
        _emit(part, code, flags)
        ends.append(len(code))
        code.append(())
        code[fork] = ("split", fork + 1, len(code))
    for end in ends:
        code[end] = ("jump", len(code))


def _emit_repeat(node: Repeat, code: list[tuple[Any, ...]], flags: int) -> None:
    for _ in range(node.low):
        _emit(node.part, code, flags)
    if node.high is None:
        fork = len(code)
        code.append(())
        _emit(node.part, code, flags)
        code.append(("jump", fork))
        code[fork] = ("split", fork + 1, len(code))
        return
    forks: list[int] = []
    for _ in range(node.high - node.low):
        forks.append(len(code))
        code.append(())
        _emit(node.part, code, flags)
    for fork in forks:
        code[fork] = ("split", fork + 1, len(code))


Thread = tuple[int, tuple[int, ...]]


def _simulate(program: list[tuple[Any, ...]], text: str, at: int, groups: int, budget: list[int]) -> Match | None:
    """Run the automaton over a text: all threads in step, in the order of their preference."""
    empty = (-1,) * (2 * groups + 2)
    threads: list[Thread] = []
    best: tuple[int, ...] | None = None
    for i in range(at, len(text) + 1):
        seen: set[int] = set()
        ready: list[Thread] = []
        for pc, saved in threads:
            _follow(program, pc, saved, text, i, seen, ready)
        if best is None:
            _follow(program, 0, (i, *empty[1:]), text, i, seen, ready)
        budget[0] -= len(seen) + 1
        if budget[0] < 0:
            raise Stopped(f"a search of more than {MAX_STEPS} steps")
        threads, hit = _advance(program, ready, text[i : i + 1])
        if hit is not None:
            best = (hit[0], i, *hit[2:])
        if not threads and best is not None:
            break
    if best is None:
        return None
    return Match(
        text, tuple((best[2 * g], best[2 * g + 1]) if best[2 * g + 1] >= 0 else (-1, -1) for g in range(groups + 1))
    )


def _advance(
    program: list[tuple[Any, ...]], ready: list[Thread], char: str
) -> tuple[list[Thread], tuple[int, ...] | None]:
    """Return the threads that go on over a character, up to the first that has matched, and what that one saved."""
    threads: list[Thread] = []
    for pc, saved in ready:
        instruction = program[pc]
        if instruction[0] == "match":
            return threads, saved
        known: dict[str, bool] = instruction[2]
        if char not in known:
            known[char] = bool(char) and instruction[1](char) is not None
        if known[char]:
            threads.append((pc + 1, saved))
    return threads, None


def _follow(
    program: list[tuple[Any, ...]],
    pc: int,
    saved: tuple[int, ...],
    text: str,
    i: int,
    seen: set[int],
    ready: list[Thread],
) -> None:
    """Add to `ready` every thread that one thread becomes without reading a character."""
    todo = [(pc, saved)]
    while todo:
        pc, saved = todo.pop()
        if pc in seen:
            continue
        seen.add(pc)
        instruction = program[pc]
        kind = instruction[0]
        if kind == "jump":
            todo.append((instruction[1], saved))
        elif kind == "split":
            todo += [(instruction[2], saved), (instruction[1], saved)]
        elif kind == "save":
            place = instruction[1]
            todo.append((pc + 1, (*saved[:place], i, *saved[place + 1 :])))
        elif kind == "edge":
            if instruction[1](text, i):
                todo.append((pc + 1, saved))
        else:
            ready.append((pc, saved))
