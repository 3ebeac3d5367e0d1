"""Globs at work: what is cut from a value, and which paths exist."""

from __future__ import annotations

import re

from ..files import Files, Folder, normal
from ..meter import MAX_WORK, Meter, Stopped
from ..patterns import glob, is_glob


def trimmed(value: str, pattern: str, operator: str) -> str:
    """Return a value without the shortest (`#`, `%`) or longest (`##`, `%%`) match at its beginning or end."""
    front = operator[0] == "#"
    if not is_glob(pattern):
        plain = re.sub(r"\\(.)", r"\1", pattern, flags=re.DOTALL)
        return value.removeprefix(plain) if front else value.removesuffix(plain)
    regex = glob(pattern)
    cuts = range(len(value) + 1) if operator in ("#", "%%") else range(len(value), -1, -1)
    for steps, cut in enumerate(cuts):
        if steps * len(value) > MAX_WORK:
            raise Stopped(f"an expansion of more than {MAX_WORK} steps")
        if regex.fullmatch(value, 0, cut) if front else regex.fullmatch(value, cut):
            return value[cut:] if front else value[:cut]
    return value


def matching_paths(files: Files, cwd: str, pattern: str, meter: Meter) -> list[str]:
    """Return the existing paths that a glob matches, sorted; hidden names only where it begins with a dot."""
    found = ["/"] if pattern.startswith("/") else [""]
    parts = [part for part in pattern.split("/") if part]
    for n, part in enumerate(parts):
        last = n == len(parts) - 1
        found = [path for base in found for path in _step(files, cwd, base, part, meter)]
        if not last or pattern.endswith("/"):
            found = [f"{path}/" for path in found if isinstance(files.find(normal(path, cwd)), Folder)]
    return sorted(found)


def _step(files: Files, cwd: str, base: str, part: str, meter: Meter) -> list[str]:
    if not is_glob(part):
        path = base + re.sub(r"\\(.)", r"\1", part, flags=re.DOTALL)
        return [path] if files.find(normal(path, cwd), follow=False) is not None else []
    folder = files.find(normal(base, cwd))
    names = list(folder.entries) if isinstance(folder, Folder) else []
    meter.charge(sum(map(len, names)))
    regex = glob(part)
    return [
        base + name for name in names if (not name.startswith(".") or part.startswith(".")) and regex.fullmatch(name)
    ]
