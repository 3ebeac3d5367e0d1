"""Brace expansion: `{a,b}` and `{1..9}` in words, before anything else is expanded."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise

from ..meter import Stopped
from . import syntax as s

# Most fields that one word may become.
MAX_FIELDS = 20_000
RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(-?\d{1,9}))?|([A-Za-z])\.\.([A-Za-z])(?:\.\.(-?\d{1,3}))?")


def braces(word: s.Word) -> list[s.Word]:
    """Return the words that a word with unquoted braces stands for."""
    if not any(isinstance(p, s.Literal) and not p.quoted and "{" in p.text for p in word.parts):
        return [word]
    items: list[str | s.Part] = []
    for part in word.parts:
        items += list(part.text) if isinstance(part, s.Literal) and not part.quoted else [part]
    return [s.Word(tuple(_rejoined(row))) for row in _braced(items, [0])]


def _rejoined(row: list[str | s.Part]) -> Iterable[s.Part]:
    plain = ""
    for item in row:
        if isinstance(item, str):
            plain += item
            continue
        if plain:
            yield s.Literal(plain)
            plain = ""
        yield item
    if plain:
        yield s.Literal(plain)


def _braced(items: list[str | s.Part], made: list[int]) -> list[list[str | s.Part]]:
    for start, item in enumerate(items):
        if item != "{":
            continue
        end, commas = _closing(items, start)
        if end < 0:
            continue
        middle = _alternatives(items, start, end, commas)
        if middle is None:
            continue
        tails = _braced(items[end + 1 :], made)
        heads = [row for choice in middle for row in (_braced(choice, made) if commas else [choice])]
        made[0] += len(heads) * len(tails)
        if made[0] > MAX_FIELDS:
            raise Stopped(f"more than {MAX_FIELDS} words")
        return [items[:start] + head + tail for head in heads for tail in tails]
    return [items]


def _closing(items: list[str | s.Part], start: int) -> tuple[int, list[int]]:
    level, commas = 0, list[int]()
    for i in range(start, len(items)):
        level += (items[i] == "{") - (items[i] == "}")
        if items[i] == "," and level == 1:
            commas.append(i)
        if level == 0:
            return i, commas
    return -1, commas


def _alternatives(
    items: list[str | s.Part], start: int, end: int, commas: list[int]
) -> list[list[str | s.Part]] | None:
    if commas:
        cuts = [start, *commas, end]
        return [items[a + 1 : b] for a, b in pairwise(cuts)]
    inside = items[start + 1 : end]
    match = (
        RANGE.fullmatch("".join(i for i in inside if isinstance(i, str)))
        if all(isinstance(i, str) for i in inside)
        else None
    )
    if not match:
        return None
    if match[4]:
        values = _range(ord(match[4]), ord(match[5]), int(match[6] or 1))
        return [[chr(v)] for v in values]
    padded = any(re.match(r"-?0\d", t) for t in (match[1], match[2]))
    width = max(len(match[1]), len(match[2])) if padded else 0
    return [list(f"{v:0{width}d}") for v in _range(int(match[1]), int(match[2]), int(match[3] or 1))]


def _range(first: int, last: int, step: int) -> range:
    step = max(abs(step), 1) * (1 if first <= last else -1)
    values = range(first, last + (1 if step > 0 else -1), step)
    if len(values) > MAX_FIELDS:
        raise Stopped(f"more than {MAX_FIELDS} words")
    return values
