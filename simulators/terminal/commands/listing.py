"""Programs that show files and folders: ls, stat, du, tree."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..bash.words import unescape
from ..files import File, Folder, Link, Node
from .base import Run, program
from .dates import formatted


def kind(node: Node) -> str:
    """Return the letter of `ls -l` for a node."""
    return "d" if isinstance(node, Folder) else "l" if isinstance(node, Link) else "c" if node.device else "-"


def permissions(node: Node) -> str:
    """Return a mode as `-rw-r--r--`."""
    return kind(node) + "".join(letter if node.mode & (1 << (8 - i)) else "-" for i, letter in enumerate("rwxrwxrwx"))


def size(node: Node) -> int:
    """Return a size in bytes as `ls` shows it."""
    return len(node.data) if isinstance(node, File) else len(node.target) if isinstance(node, Link) else 4096


@program(
    "ls",
    "dir",
    short="1aAldrtSRhFpinsgoC",
    long=(
        "all",
        "almost-all",
        "directory",
        "reverse",
        "recursive",
        "human-readable",
        "classify",
        "color=",
        "full-time",
    ),
    misuse=2,
)
def ls(run: Run) -> None:
    """List folders."""
    plain: list[tuple[str, Node]] = []
    inside: list[tuple[str, Folder]] = []
    for name in run.args or ["."]:
        node = run.sh.files.find(run.path(name), follow=not run.has("l", "d", "directory"))
        if node is None:
            run.error(f"cannot access '{name}': No such file or directory", 2)
        elif isinstance(node, Folder) and not run.has("d", "directory"):
            inside.append((name, node))
        else:
            plain.append((name, node))
    _show(run, _ordered(run, plain))
    titled = len(run.args) > 1 or run.has("R", "recursive")
    first = not plain
    for name, node in [(n, f) for n, f in _ordered(run, list(inside)) if isinstance(f, Folder)]:
        for title, folder in _folders(run, name, node):
            run.out(("" if first else "\n") + f"{title}:\n" if titled else "")
            first = False
            _list(run, folder)


def _folders(run: Run, name: str, folder: Folder) -> Iterator[tuple[str, Folder]]:
    yield name, folder
    if run.has("R", "recursive"):
        for child_name, child in _ordered(run, list(folder.entries.items())):
            if isinstance(child, Folder) and (not child_name.startswith(".") or run.has("a", "A", "all", "almost-all")):
                yield from _folders(run, f"{name.rstrip('/')}/{child_name}", child)


def _list(run: Run, folder: Folder) -> None:
    hidden = run.has("a", "A", "all", "almost-all")
    entries = [(n, c) for n, c in folder.entries.items() if hidden or not n.startswith(".")]
    entries = _ordered(run, entries)
    if run.has("a", "all"):
        entries = [(".", folder), ("..", folder), *entries]
    if run.has("l", "g", "o", "n"):
        run.out(f"total {sum(-(-size(n) // 4096) * 4 for _, n in entries if not isinstance(n, Link))}\n")
    _show(run, entries)


def _ordered(run: Run, entries: list[tuple[str, Node]]) -> list[tuple[str, Node]]:
    found = sorted(entries, key=lambda e: e[0].encode("utf-8", "surrogateescape"))
    if run.has("t"):
        found.sort(key=lambda e: -e[1].mtime)
    if run.has("S"):
        found.sort(key=lambda e: -size(e[1]))
    return found[::-1] if run.has("r", "reverse") else found


def _show(run: Run, entries: list[tuple[str, Node]]) -> None:
    width = max((len(_size(run, n)) for _, n in entries), default=1)
    links = max((len(str(_links(n))) for _, n in entries), default=1)
    for name, node in entries:
        mark = (
            "/"
            if isinstance(node, Folder) and run.has("F", "p", "classify")
            else "*"
            if run.has("F", "classify") and isinstance(node, File) and node.mode & 0o111
            else "@"
            if run.has("F", "classify") and isinstance(node, Link) and not run.has("l")
            else ""
        )
        arrow = f" -> {node.target}" if isinstance(node, Link) and run.has("l") else ""
        head = ""
        if run.has("l", "g", "o", "n"):
            when = formatted("%b %e %H:%M", node.mtime)
            head = f"{permissions(node)} {_links(node):{links}d} user user {_size(run, node):>{width}} {when} "
        run.out(f"{head}{name}{mark}{arrow}\n")


def _links(node: Node) -> int:
    return 2 + sum(isinstance(c, Folder) for c in node.entries.values()) if isinstance(node, Folder) else 1


def _size(run: Run, node: Node) -> str:
    return human(size(node)) if run.has("h", "human-readable") else str(size(node))


def human(count: int) -> str:
    """Return a size as `1.5K`."""
    value = float(count)
    for unit in ("", "K", "M", "G"):
        if value < 1024 or unit == "G":
            return f"{value:.0f}" if not unit else f"{value:.1f}{unit}" if value < 10 else f"{value:.0f}{unit}"
        value /= 1024
    return str(count)


@program("stat", short="c:Lt", long=("format=", "printf="))
def stat(run: Run) -> None:
    """Write facts about files."""
    form, end = run.get("c", "format"), "\n"
    if form is None and run.has("printf"):
        form, end = unescape(run.get("printf") or ""), ""
    for name in run.args:
        node = run.sh.files.find(run.path(name), follow=run.has("L"))
        if node is None:
            run.error(f"cannot statx '{name}': No such file or directory")
            continue
        run.out(_filled(form or STAT, _facts(name, node)) + end)


# What `stat` writes without a format.
STAT = "  File: %n\n  Size: %s\t%F\nAccess: (0%a/%A)\nModify: %y"


def _filled(form: str, facts: dict[str, str]) -> str:
    return re.sub(r"%([a-zA-Z%])", lambda m: facts.get(m[1], "?"), form)


def _facts(name: str, node: Node) -> dict[str, str]:
    """Return what the letters of a `stat` format stand for."""
    empty = isinstance(node, File) and not node.data
    words = "directory" if isinstance(node, Folder) else "symbolic link" if isinstance(node, Link) else "regular file"
    fixed = {"U": "user", "G": "user", "u": "1000", "g": "1000", "W": "0", "i": "1", "b": "8", "B": "512", "%": "%"}
    times = dict.fromkeys("XYZ", str(node.mtime))
    return {
        **fixed,
        **times,
        "n": name,
        "N": f"'{name}'",
        "s": str(size(node)),
        "a": f"{node.mode:o}",
        "A": permissions(node),
        "F": "regular empty file" if empty else words,
        "h": str(_links(node)),
        "y": formatted("%Y-%m-%d %H:%M:%S.000000000 +0000", node.mtime),
    }


@program("du", short="shabcd:kmx", long=("summarize", "human-readable", "all", "bytes", "total", "max-depth="))
def du(run: Run) -> None:
    """Write how much room folders take: bytes with -b, else kilobytes in whole blocks."""
    for name in run.args or ["."]:
        node = run.sh.files.find(run.path(name), follow=False)
        if node is None:
            run.error(f"cannot access '{name}': No such file or directory")
            continue
        depth = 0 if run.has("s", "summarize") else run.number("d", "max-depth", default=99)
        for path, each, level in _measured(name, node, 0):
            if level <= depth and (isinstance(each, Folder) or run.has("a", "all") or level == 0):
                used = _used(each, run.has("b", "bytes"))
                text = (
                    str(used)
                    if run.has("b", "bytes")
                    else human(used)
                    if run.has("h", "human-readable")
                    else str(-(-used // 1024))
                )
                run.out(f"{text}\t{path}\n")


def _measured(path: str, node: Node, level: int) -> Iterator[tuple[str, Node, int]]:
    if isinstance(node, Folder):
        for name in sorted(node.entries):
            yield from _measured(f"{path.rstrip('/')}/{name}", node.entries[name], level + 1)
    yield path, node, level


def _used(node: Node, exact: bool) -> int:
    if isinstance(node, Folder):
        return 4096 + sum(_used(child, exact) for child in node.entries.values())
    return size(node) if exact else -(-size(node) // 4096) * 4096 if isinstance(node, File) else 0


@program("tree", short="aL:dfi", long=("noreport",))
def tree(run: Run) -> None:
    """Draw folders."""
    for name in run.args or ["."]:
        node = run.sh.files.find(run.path(name))
        if not isinstance(node, Folder):
            run.error(f"{name}: No such file or directory")
            continue
        counts = [0, 0]
        run.out(name + "\n")
        _branches(run, node, "", 1, run.number("L", default=99), counts)
        run.out(
            f"\n{counts[0]} director{'y' if counts[0] == 1 else 'ies'}, "
            f"{counts[1]} file{'' if counts[1] == 1 else 's'}\n"
        )


def _branches(run: Run, folder: Folder, lead: str, level: int, depth: int, counts: list[int]) -> None:
    entries = [
        (n, c)
        for n, c in sorted(folder.entries.items())
        if (run.has("a") or not n.startswith(".")) and (isinstance(c, Folder) or not run.has("d"))
    ]
    for i, (name, child) in enumerate(entries):
        last = i == len(entries) - 1
        run.out(f"{lead}{'└── ' if last else '├── '}{name}\n")
        counts[0 if isinstance(child, Folder) else 1] += 1
        if isinstance(child, Folder) and level < depth:
            _branches(run, child, lead + ("    " if last else "│   "), level + 1, depth, counts)
