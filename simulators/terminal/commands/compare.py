"""diff and cmp."""

from __future__ import annotations

from collections.abc import Iterator

from ..files import Folder
from ..text import to_bytes
from .base import Run, Usage, program

# Most edits that are searched for a shortest comparison; beyond, the differing middle is one change.
MAX_EDITS = 500
Hunk = tuple[int, int, int, int]


def hunks(a: list[str], b: list[str]) -> list[Hunk]:
    """Return the differences of two lists as (a from, a to, b from, b to): a shortest edit.

    The search is that of E. Myers, "An O(ND) Difference Algorithm and Its Variations", Algorithmica 1 (1986), 251.
    """
    start = 0
    while start < min(len(a), len(b)) and a[start] == b[start]:
        start += 1
    tail = 0
    while tail < min(len(a), len(b)) - start and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    pairs = _matches(a[start : len(a) - tail], b[start : len(b) - tail])
    found: list[Hunk] = []
    x = y = 0
    for i, j in [*pairs, (len(a) - start - tail, len(b) - start - tail)]:
        if i > x or j > y:
            found.append((start + x, start + i, start + y, start + j))
        x, y = i + 1, j + 1
    return found


def _matches(a: list[str], b: list[str]) -> list[tuple[int, int]]:
    front = {1: 0}
    history: list[dict[int, int]] = []
    for edits in range(len(a) + len(b) + 1):
        if edits > MAX_EDITS:
            return []
        history.append(dict(front))
        for k in range(-edits, edits + 1, 2):
            down = k == -edits or (k != edits and front[k - 1] < front[k + 1])
            x = front[k + 1] if down else front[k - 1] + 1
            while x < len(a) and x - k < len(b) and a[x] == b[x - k]:
                x += 1
            front[k] = x
            if x >= len(a) and x - k >= len(b):
                return _walked_back(a, b, history)
    return []


def _walked_back(a: list[str], b: list[str], history: list[dict[int, int]]) -> list[tuple[int, int]]:
    x, y = len(a), len(b)
    pairs: list[tuple[int, int]] = []
    for edits in range(len(history) - 1, -1, -1):
        front, k = history[edits], x - y
        down = k == -edits or (k != edits and front[k - 1] < front[k + 1])
        before = front[k + 1] if down else front[k - 1]
        previous = (before, before - (k + 1 if down else k - 1)) if edits else (0, 0)
        while x > previous[0] and y > previous[1] and (x, y) != previous:
            if a[x - 1] != b[y - 1]:
                break
            x, y = x - 1, y - 1
            pairs.append((x, y))
        x, y = previous
    return pairs[::-1]


def span(first: int, last: int, comma: str = ",") -> str:
    """Return a range of line numbers as diff writes it."""
    return (
        str(last)
        if last - first <= 1 and last > first
        else f"{first}"
        if first == last
        else f"{first + 1}{comma}{last}"
    )


def normal_form(a: list[str], b: list[str], found: list[Hunk]) -> Iterator[str]:
    """Yield the lines of a plain diff."""
    for a1, a2, b1, b2 in found:
        letter = "d" if b1 == b2 else "a" if a1 == a2 else "c"
        yield f"{span(a1, a2)}{letter}{span(b1, b2)}\n"
        yield from _marked("< ", a[a1:a2])
        if letter == "c":
            yield "---\n"
        yield from _marked("> ", b[b1:b2])


def _marked(mark: str, rows: list[str]) -> Iterator[str]:
    for row in rows:
        yield mark + (row if row.endswith("\n") else row + "\n\\ No newline at end of file\n")


def unified(a: list[str], b: list[str], found: list[Hunk], context: int) -> Iterator[str]:
    """Yield the lines of a unified diff, without its head."""
    groups: list[list[Hunk]] = []
    for hunk in found:
        if groups and hunk[0] - groups[-1][-1][1] <= 2 * context:
            groups[-1].append(hunk)
        else:
            groups.append([hunk])
    for group in groups:
        a1, b1 = max(group[0][0] - context, 0), max(group[0][2] - context, 0)
        a2, b2 = min(group[-1][1] + context, len(a)), min(group[-1][3] + context, len(b))
        yield f"@@ -{_unified_span(a1, a2)} +{_unified_span(b1, b2)} @@\n"
        at = a1
        for x1, x2, y1, y2 in group:
            yield from _marked(" ", a[at:x1])
            yield from _marked("-", a[x1:x2])
            yield from _marked("+", b[y1:y2])
            at = x2
        yield from _marked(" ", a[at:a2])


def _unified_span(first: int, last: int) -> str:
    return f"{first + 1}" if last - first == 1 else f"{first if first == last else first + 1},{last - first}"


@program(
    "diff",
    short="uqrwbBiNsU:acy",
    long=(
        "unified",
        "brief",
        "recursive",
        "ignore-all-space",
        "ignore-case",
        "new-file",
        "report-identical-files",
        "label=",
        "color=",
    ),
    misuse=2,
)
def diff(run: Run) -> int:
    """Compare files or folders line by line."""
    if len(run.args) != 2:
        raise Usage("missing operand" + (f" after '{run.args[0]}'" if run.args else ""))
    return _compared(run, run.args[0], run.args[1])


def _compared(run: Run, left: str, right: str) -> int:
    nodes = [None if name == "-" else run.sh.files.find(run.path(name)) for name in (left, right)]
    if isinstance(nodes[0], Folder) and isinstance(nodes[1], Folder):
        return _folders(run, left, right, nodes[0], nodes[1])
    if isinstance(nodes[0], Folder):
        left = f"{left.rstrip('/')}/{right.rpartition('/')[2]}"
    elif isinstance(nodes[1], Folder):
        right = f"{right.rstrip('/')}/{left.rpartition('/')[2]}"
    texts: list[str] = []
    for name in (left, right):
        try:
            texts.append(run.read(name))
        except OSError as problem:
            if not (run.has("N", "new-file") and problem.errno == 2):
                return run.error(f"{name}: {problem.strerror}", 2)
            texts.append("")
    return _report(run, left, right, texts[0], texts[1])


def _report(run: Run, left: str, right: str, first: str, second: str) -> int:
    a, b = first.splitlines(keepends=True), second.splitlines(keepends=True)
    found = hunks(*([_key(run, row) for row in rows] for rows in (a, b)))
    if not found:
        if run.has("s", "report-identical-files"):
            run.out(f"Files {left} and {right} are identical\n")
        return 0
    if run.has("q", "brief"):
        run.out(f"Files {left} and {right} differ\n")
    elif run.has("u", "unified", "U"):
        names = [
            *run.all("label"),
            *[f"{n}\t1970-01-01 00:00:00.000000000 +0000" for n in (left, right)][len(run.all("label")) :],
        ]
        run.out(f"--- {names[0]}\n+++ {names[1]}\n" + "".join(unified(a, b, found, run.number("U", default=3))))
    else:
        run.out("".join(normal_form(a, b, found)))
    return 1


def _key(run: Run, row: str) -> str:
    row = "".join(row.split()) if run.has("w", "ignore-all-space") else " ".join(row.split()) if run.has("b") else row
    return row.lower() if run.has("i", "ignore-case") else row


def _folders(run: Run, left: str, right: str, a: Folder, b: Folder) -> int:
    code = 0
    for name in sorted(a.entries.keys() | b.entries.keys()):
        one, two = f"{left.rstrip('/')}/{name}", f"{right.rstrip('/')}/{name}"
        if name not in a.entries or name not in b.entries:
            run.out(f"Only in {left if name in a.entries else right}: {name}\n")
            code = max(code, 1)
        elif isinstance(a.entries[name], Folder) and isinstance(b.entries[name], Folder):
            if run.has("r", "recursive"):
                code = max(code, _compared(run, one, two))
            else:
                run.out(f"Common subdirectories: {one} and {two}\n")
        else:
            before = run.sh.stdout.size
            each = _compared(run, one, two)
            if each and not run.has("q", "brief") and run.sh.stdout.size > before:
                text = run.sh.stdout.parts.pop()
                run.sh.stdout.parts.append(f"diff {'-r ' if run.has('r', 'recursive') else ''}{one} {two}\n" + text)
            code = max(code, each)
    return code


@program("cmp", short="sl", long=("silent", "quiet"), misuse=2)
def cmp(run: Run) -> int:
    """Compare files byte by byte."""
    if len(run.args) != 2:
        raise Usage("missing operand")
    quiet = run.has("s", "silent", "quiet")
    data: list[bytes] = []
    for name in run.args:
        try:
            data.append(to_bytes(run.read(name)))
        except OSError as problem:
            return run.error(f"{name}: {problem.strerror}", 2)
    a, b = data
    if a == b:
        return 0
    place = next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), None)
    if not quiet:
        if place is None:
            shorter = run.args[0] if len(a) < len(b) else run.args[1]
            run.error(f"EOF on {shorter} after byte {min(len(a), len(b))}, line {min(a, b, key=len).count(10) + 1}")
        else:
            run.out(f"{run.args[0]} {run.args[1]} differ: char {place + 1}, line {a[:place].count(10) + 1}\n")
    return 1
