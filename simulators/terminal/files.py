"""A file system in memory: folders, files, symbolic links and the null device.

Model of the world: one tree, absolute POSIX paths, bytes as contents, one user who may do everything. Failures are
`OSError`s with the numbers and words of POSIX. Quotas bound what any sequence of calls can store.

It does not know owners, permissions (a mode is kept, never enforced), hard links (a second name is a copy) or access
times.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# Largest file, all files together (bytes), and number of entries, beyond which the device is full.
MAX_FILE_BYTES = 4 << 20
MAX_BYTES = 16 << 20
MAX_ENTRIES = 5_000
# Longest name of one entry and most symbolic links followed in one path, as on Linux.
MAX_NAME = 255
MAX_LINKS = 40
# Deepest folder.
MAX_DEPTH = 64


@dataclass(slots=True)
class File:
    """A regular file; `device` marks `/dev/null`, which swallows what is written."""

    data: bytes = b""
    mode: int = 0o644
    mtime: int = 0
    device: bool = False


@dataclass(slots=True)
class Folder:
    """A directory and its entries by name."""

    entries: dict[str, Node] = field(default_factory=dict[str, "Node"])
    mode: int = 0o755
    mtime: int = 0


@dataclass(slots=True)
class Link:
    """A symbolic link."""

    target: str = ""
    mode: int = 0o777
    mtime: int = 0


Node = File | Folder | Link
ERRORS: dict[int, type[OSError]] = {
    errno.ENOENT: FileNotFoundError,
    errno.EISDIR: IsADirectoryError,
    errno.ENOTDIR: NotADirectoryError,
    errno.EEXIST: FileExistsError,
}


def fail(number: int, path: str) -> OSError:
    """Return the error of POSIX number `number` about `path`."""
    return ERRORS.get(number, OSError)(number, os.strerror(number), path)


def normal(path: str, base: str = "/") -> str:
    """Return `path`, seen from folder `base`, as an absolute path without `.`, `..` and double slashes."""
    parts: list[str] = []
    for part in (path if path.startswith("/") else f"{base}/{path}").split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    return "/" + "/".join(parts)


class Files:
    """The tree. Every path is absolute; `now` gives the time in whole seconds since 1970 for new modification times."""

    def __init__(self, now: Callable[[], int]) -> None:
        self.root = Folder()
        self.now = now
        self.bytes = 0
        self.count = 1

    def locate(self, path: str, follow: bool = True) -> tuple[Folder, str, Node | None]:
        """Return the folder that holds `path`, its name there, and what stands there (`None` if nothing does).

        Symbolic links on the way are followed, the last one only if `follow`. The root is its own folder under the name
        "".

        Raises:
            OSError: If a folder on the way is missing (ENOENT) or no folder (ENOTDIR), a name is too long, or links
            turn in a circle.
        """
        todo = [part for part in reversed(path.split("/")) if part not in ("", ".")]
        trail: list[tuple[Folder, str]] = [(self.root, "")]
        node: Node | None = self.root
        links = 0
        while todo:
            part = todo.pop()
            if not isinstance(node, Folder):
                raise fail(errno.ENOENT if node is None else errno.ENOTDIR, path)
            if part == "..":
                trail = trail[:-1] or trail
                node = self._at(*trail[-1])
                continue
            if len(part) > MAX_NAME:
                raise fail(errno.ENAMETOOLONG, path)
            folder, node = node, node.entries.get(part)
            if isinstance(node, Link) and (follow or todo):
                links += 1
                if links > MAX_LINKS:
                    raise fail(errno.ELOOP, path)
                if node.target.startswith("/"):
                    trail = trail[:1]
                todo += [p for p in reversed(node.target.split("/")) if p not in ("", ".")]
                node = self._at(*trail[-1])
                continue
            trail.append((folder, part))
        if len(trail) > MAX_DEPTH:
            raise fail(errno.ENAMETOOLONG, path)
        return *trail[-1], node

    def _at(self, folder: Folder, name: str) -> Node:
        return folder.entries[name] if name else folder

    def get(self, path: str, follow: bool = True) -> Node:
        """Return what stands at `path`.

        Raises:
            OSError: If nothing does.
        """
        node = self.locate(path, follow)[2]
        if node is None:
            raise fail(errno.ENOENT, path)
        return node

    def find(self, path: str, follow: bool = True) -> Node | None:
        """Return what stands at `path`, or `None`."""
        try:
            return self.locate(path, follow)[2]
        except OSError:
            return None

    def real(self, path: str) -> str:
        """Return the path of the same place without any symbolic link; missing last parts are kept as they are."""
        done = "/"
        parts = [p for p in normal(path).split("/") if p]
        for _ in range(MAX_LINKS * MAX_DEPTH):
            if not parts:
                return done
            part = parts.pop(0)
            here = normal(part, done)
            node = self.find(here, follow=False)
            if isinstance(node, Link):
                parts = [*(p for p in normal(node.target, done).split("/") if p), *parts]
                done = "/"
            else:
                done = here
        raise fail(errno.ELOOP, path)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file.

        Raises:
            OSError: If it is missing or a folder.
        """
        node = self.get(path)
        if not isinstance(node, File):
            raise fail(errno.EISDIR, path)
        return node.data

    def write(self, path: str, data: bytes, append: bool = False) -> None:
        """Write a file, through symbolic links; its folder must exist, its mode stays.

        Raises:
            OSError: If the folder is missing, the path is a folder, or a quota is reached (ENOSPC).
        """
        folder, name, node = self.locate(path)
        if isinstance(node, Folder) or path.endswith("/"):
            raise fail(errno.EISDIR, path)
        if isinstance(node, File) and node.device:
            return
        old = node.data if isinstance(node, File) else b""
        data = old + data if append else data
        if len(data) > MAX_FILE_BYTES or self.bytes + len(data) - len(old) > MAX_BYTES:
            raise fail(errno.ENOSPC, path)
        if isinstance(node, File):
            node.data, node.mtime = data, self.now()
        else:
            self._add(folder, name, File(data, mtime=self.now()), path)
        self.bytes += len(data) - len(old)

    def _add(self, folder: Folder, name: str, node: Node, path: str) -> None:
        if self.count >= MAX_ENTRIES:
            raise fail(errno.ENOSPC, path)
        folder.entries[name] = node
        folder.mtime = self.now()
        self.count += 1

    def add(self, path: str, node: Node) -> None:
        """Put a node at a free path, as it is.

        Raises:
            OSError: If something stands there or its folder is missing.
        """
        folder, name, there = self.locate(path, follow=False)
        if there is not None:
            raise fail(errno.EEXIST, path)
        self._add(folder, name, node, path)

    def load(self, data: list[Any]) -> None:
        """Exchange the whole tree for one that `to_json` wrote."""
        root = from_json(data)
        if not isinstance(root, Folder):
            raise ValueError("the root of a file system is a folder")
        self.root = root
        self.count, self.bytes = totals(root)

    def mkdir(self, path: str, parents: bool = False) -> None:
        """Make a folder.

        Args:
            path: Where.
            parents: Make missing folders above it too, and accept a folder that exists.

        Raises:
            OSError: If something stands there (EEXIST) or the folder above is missing (ENOENT).
        """
        if parents and normal(path) != "/" and self.find(normal("..", path)) is None:
            self.mkdir(normal("..", path), parents=True)
        folder, name, node = self.locate(path)
        if isinstance(node, Folder) and parents:
            return
        if node is not None:
            raise fail(errno.EEXIST, path)
        self._add(folder, name, Folder(mtime=self.now()), path)

    def symlink(self, target: str, path: str) -> None:
        """Make a symbolic link.

        Raises:
            OSError: If something stands at `path` or its folder is missing.
        """
        folder, name, node = self.locate(path, follow=False)
        if node is not None:
            raise fail(errno.EEXIST, path)
        self._add(folder, name, Link(target, mtime=self.now()), path)

    def remove(self, path: str, recursive: bool = False) -> None:
        """Remove an entry; a link is removed, never what it points to.

        Raises:
            OSError: If it is missing, the root, or a folder with entries while not `recursive` (ENOTEMPTY).
        """
        folder, name, node = self.locate(path, follow=False)
        if node is None:
            raise fail(errno.ENOENT, path)
        if node is self.root or (isinstance(node, File) and node.device):
            raise fail(errno.EBUSY, path)
        if isinstance(node, Folder) and node.entries and not recursive:
            raise fail(errno.ENOTEMPTY, path)
        entries, size = totals(node)
        del folder.entries[name]
        folder.mtime = self.now()
        self.count -= entries
        self.bytes -= size

    def rename(self, old: str, new: str) -> None:
        """Move an entry to the path `new`, over a file or an empty folder that stands there.

        Raises:
            OSError: If `old` is missing, `new` lies within it (EINVAL), or the kinds do not fit.
        """
        folder, name, node = self.locate(old, follow=False)
        if node is None:
            raise fail(errno.ENOENT, old)
        if node is self.root:
            raise fail(errno.EBUSY, old)
        goal, goal_name, there = self.locate(new, follow=False)
        if there is node:
            return
        if isinstance(node, Folder) and any(child is goal for child in folders(node)):
            raise fail(errno.EINVAL, new)
        if isinstance(there, Folder) != isinstance(node, Folder) and there is not None:
            raise fail(errno.EISDIR if isinstance(there, Folder) else errno.ENOTDIR, new)
        if there is not None:
            self.remove(new)
        del folder.entries[name]
        goal.entries[goal_name] = node
        folder.mtime = goal.mtime = self.now()

    def copy(self, old: str, new: str) -> None:
        """Copy a file, a link's file, or a whole folder to the path `new`.

        Raises:
            OSError: If `old` is missing, the kinds do not fit, or a quota is reached.
        """
        node = self.get(old)
        if isinstance(node, Folder):
            children = list(node.entries)
            self.mkdir(new, parents=True)
            for name in children:
                self._copy_entry(f"{old}/{name}", f"{new}/{name}")
        elif isinstance(node, File):
            self.write(new, node.data)
            copied = self.get(new)
            copied.mode = node.mode

    def _copy_entry(self, old: str, new: str) -> None:
        node = self.get(old, follow=False)
        if isinstance(node, Link):
            self.symlink(node.target, new)
        else:
            self.copy(old, new)

    def walk(self, path: str = "/") -> Iterator[tuple[str, Node]]:
        """Yield every entry at and below `path` with its absolute path, folders before their entries, in order."""
        node = self.find(path, follow=False)
        if node is not None:
            yield from _walk(path, node)


def _walk(path: str, node: Node) -> Iterator[tuple[str, Node]]:
    yield path, node
    if isinstance(node, Folder):
        base = path.rstrip("/")
        for name in sorted(node.entries):
            yield from _walk(f"{base}/{name}", node.entries[name])


def folders(node: Node) -> Iterator[Folder]:
    """Yield `node` and all folders below it."""
    if isinstance(node, Folder):
        yield node
        for child in node.entries.values():
            yield from folders(child)


def totals(node: Node) -> tuple[int, int]:
    """Return the number of entries at and below `node`, and the bytes of its files."""
    if isinstance(node, File):
        return 1, len(node.data)
    if isinstance(node, Link):
        return 1, 0
    below = [totals(child) for child in node.entries.values()]
    return 1 + sum(c for c, _ in below), sum(b for _, b in below)


def to_json(node: Node) -> list[Any]:
    """Return a node as plain JSON data: `[kind, mode, mtime, content]`, bytes as Latin-1 text."""
    if isinstance(node, Folder):
        return ["d", node.mode, node.mtime, {name: to_json(node.entries[name]) for name in sorted(node.entries)}]
    if isinstance(node, Link):
        return ["l", node.mode, node.mtime, node.target]
    return ["n" if node.device else "f", node.mode, node.mtime, node.data.decode("latin-1")]


def from_json(data: list[Any]) -> Node:
    """Rebuild a node from `to_json` output."""
    kind, mode, mtime, content = data
    if kind == "d":
        return Folder({name: from_json(child) for name, child in content.items()}, mode, mtime)
    if kind == "l":
        return Link(content, mode, mtime)
    return File(content.encode("latin-1"), mode, mtime, kind == "n")
