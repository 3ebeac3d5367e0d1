"""The terminal: a person's shell, and an editor's three ways to touch a file.

Model of the world: one user at `/home/user`, one working folder that stays between calls, files in memory, and a clock
that stands still during a call and moves one second with each. A command that fails is an ordinary result: its text
ends with `[exit N]`. Only a call that cannot be carried out at all (a NUL byte, a file to edit that is missing) is an
error.

Scene: `{"files": {path: text}, "cwd": "/work", "env": {name: text}, "modes": {path: 493}}`, every key optional; paths
are absolute or relative to `cwd`. Artifacts: every file below `/work` and `/home/user` by its absolute path.

It knows no task and no reward, and it does not reproduce users, permissions, processes or a network.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field

from ..application import Application
from ..base import ToolFault, ToolResult, View
from ..tools import nearest, tool
from .files import File, Files, Folder, Node, normal, to_json, totals
from .text import shown, to_bytes, to_text

# 2024-01-01 00:00:00 UTC: the clock at every reset.
EPOCH = 1_704_067_200
HOME = "/home/user"
WORK = "/work"
# Longest text of a result, in characters, and how much of it is the head; the rest keeps the tail.
MAX_SHOWN = 2_000
HEAD = 1_200
ENV = {"HOME": HOME, "LANG": "C", "PATH": "/usr/local/bin:/usr/bin:/bin", "USER": "user"}
FOLDERS = ("/bin", "/dev", HOME, "/tmp", "/usr/bin", WORK)  # noqa: S108  (a folder of the simulated disk)


class Terminal(Application):
    """A shell, and tools that read, write, edit and list files; see the module."""

    name = "terminal"
    feature_names = ("files", "folders", "kilobytes", "exit_code", "output_lines", "calls")

    def __init__(self) -> None:
        self._clock = EPOCH
        self._calls = self._code = self._lines = 0
        self._files = Files(self._now)
        self._cwd = WORK
        self._env = dict(ENV)

    @staticmethod
    def warm() -> None:
        """Import the shell."""
        from . import shell as _  # noqa: F401

    def _now(self) -> int:
        return self._clock

    # Tools

    @tool
    def run(self, command: Annotated[str, Field(min_length=1)]) -> ToolResult:
        """Run a bash command line and return what it printed. The folder and exported variables stay for the next call.

        Args:
            command: One or more bash commands.
        """
        from .shell import Shell

        self._begin(command)
        shell = Shell(self._files, self._cwd, self._env)
        done = shell.run(command)
        self._cwd, self._env, self._code = shell.cwd, shell.env, done.code
        output = shown(done.stdout + done.stderr)
        self._lines = len(output.splitlines())
        text, left_out = shortened(output.rstrip("\n"))
        if done.code:
            text = f"{text}\n[exit {done.code}]" if text else f"[exit {done.code}]"
        return ToolResult(True, text or "(no output)", {"exit_code": done.code, "left_out": left_out})

    @tool
    def read_file(self, path: Annotated[str, Field(min_length=1)]) -> ToolResult:
        """Return the text of a file.

        Args:
            path: The file, absolute or from the working folder.
        """
        self._begin(path)
        text, left_out = shortened(shown(to_text(self._file(path).data)).removesuffix("\n"))
        return ToolResult(True, text or "(empty file)", {"left_out": left_out})

    @tool
    def write_file(self, path: Annotated[str, Field(min_length=1)], content: str) -> ToolResult:
        """Write a file; missing folders are made, an existing file is replaced.

        Args:
            path: The file, absolute or from the working folder.
            content: Its whole text.
        """
        self._begin(path)
        data = self._encoded(content, "content")
        place = self._at(path)
        try:
            self._files.mkdir(normal("..", place), parents=True)
            self._files.write(place, data)
        except OSError as problem:
            raise ToolFault("precondition", f"{path[:200]}: {problem.strerror}") from None
        return ToolResult(True, f"wrote {len(data)} bytes", {"bytes": len(data)})

    @tool
    def edit_file(
        self, path: Annotated[str, Field(min_length=1)], old: Annotated[str, Field(min_length=1)], new: str
    ) -> ToolResult:
        """Replace a text that occurs exactly once in a file.

        Args:
            path: The file, absolute or from the working folder.
            old: The text to replace, exactly as it stands.
            new: What to put there.
        """
        self._begin(path)
        file = self._file(path)
        data, before, after = file.data, self._encoded(old, "old"), self._encoded(new, "new")
        count = data.count(before)
        if count != 1:
            raise ToolFault(
                "not_found" if not count else "precondition",
                f"the old text occurs {count} times in {path[:200]}",
                "it must occur once: copy more of the lines around it",
                self._lines_like(data, old),
            )
        try:
            self._files.write(self._at(path), data.replace(before, after))
        except OSError as problem:
            raise ToolFault("precondition", f"{path[:200]}: {problem.strerror}") from None
        line = data[: data.index(before)].count(b"\n") + 1
        return ToolResult(True, f"edited line {line}", {"line": line})

    @tool
    def list_files(self, path: str = ".") -> ToolResult:
        """List a folder: names in order, folders with a slash.

        Args:
            path: The folder, absolute or from the working folder.
        """
        self._begin(path)
        node = self._found(path)
        if not isinstance(node, Folder):
            raise ToolFault("precondition", f"{path[:200]} is a file", "read_file reads it")
        names = [name + "/" * isinstance(child, Folder) for name, child in sorted(node.entries.items())]
        text, left_out = shortened(shown("\n".join(names)))
        return ToolResult(True, text or "(empty folder)", {"count": len(names), "left_out": left_out})

    # Inside the tools

    def _begin(self, text: str) -> None:
        """Count a call; refuse what no file name or command can hold."""
        self._clock += 1
        self._calls += 1
        self._code = self._lines = 0
        if "\0" in text:
            raise ToolFault("bad_argument", "the text holds a NUL byte", "leave it out")
        self._encoded(text, "the text")

    @staticmethod
    def _encoded(text: str, name: str) -> bytes:
        if any("\ud800" <= c <= "\udfff" for c in text):
            raise ToolFault("bad_argument", f"{name} holds half of a surrogate pair", "send valid Unicode")
        return to_bytes(text)

    def _at(self, path: str) -> str:
        return normal(path, self._cwd) + ("/" if path.endswith("/") else "")

    def _found(self, path: str) -> Node:
        node = self._files.find(normal(path, self._cwd))
        if node is None:
            raise ToolFault("not_found", f"{path[:200]}: no such file or folder", nearest=self._paths_like(path))
        return node

    def _file(self, path: str) -> File:
        node = self._found(path)
        if not isinstance(node, File):
            raise ToolFault("precondition", f"{path[:200]} is a folder", "list_files lists it")
        return node

    def _paths_like(self, path: str) -> list[str]:
        """Return existing files near the working folder whose paths look like this one."""
        base = self._cwd.rstrip("/") + "/"
        known = [p.removeprefix(base) for p, node in self._files.walk(self._cwd) if isinstance(node, File)][:2_000]
        return [shown(p) for p in nearest(path.removeprefix(base).removeprefix("./"), known)]

    @staticmethod
    def _lines_like(data: bytes, old: str) -> list[str]:
        rows = [row.strip()[:200] for row in shown(to_text(data)).splitlines() if row.strip()]
        first = next((row for row in old.splitlines() if row.strip()), old)
        return nearest(first.strip()[:200], rows[:2_000])

    # State

    def reset(self, scene: Mapping[str, Any], seed: int) -> View:
        """Put the world into the scene's state; the seed has nothing to decide here."""
        self.__init__()
        for folder in FOLDERS:
            self._files.mkdir(folder, parents=True)
        self._files.add("/dev/null", File(mode=0o666, mtime=EPOCH, device=True))
        self._cwd = normal(scene.get("cwd", WORK))
        self._env = {**ENV, **scene.get("env", {})}
        self._files.mkdir(self._cwd, parents=True)
        for path, text in scene.get("files", {}).items():
            place = normal(path, self._cwd)
            self._files.mkdir(normal("..", place), parents=True)
            self._files.write(place, to_bytes(text))
        for path, mode in scene.get("modes", {}).items():
            self._files.get(normal(path, self._cwd)).mode = mode
        return self.observe()

    def observe(self) -> View:
        """Show the working folder and what lies in it."""
        node = self._files.find(self._cwd)
        names = (
            [name + "/" * isinstance(child, Folder) for name, child in sorted(node.entries.items())]
            if isinstance(node, Folder)
            else []
        )
        listing = " ".join(names[:12]) + (f" ... {len(names) - 12} more" if len(names) > 12 else "")
        return View(shown(f"{self._cwd}: {listing or '(empty)'}"), self._features())

    def _features(self) -> tuple[float, ...]:
        """Return how many files and folders lie below `/work` and home, their size, and facts of the last call."""
        roots = [node for path in (WORK, HOME) if isinstance(node := self._files.find(path), Folder)]
        entries = sum(totals(root)[0] for root in roots)
        folders = sum(_folders(root) for root in roots)
        size = sum(totals(root)[1] for root in roots)
        return (
            float(entries - folders),
            float(folders),
            size / 1024,
            float(self._code),
            float(self._lines),
            float(self._calls),
        )

    def artifacts(self) -> dict[str, bytes]:
        """Return every regular file below `/work` and the home folder by its absolute path; links are not followed."""
        return {
            shown(path): node.data
            for root in (WORK, HOME)
            for path, node in self._files.walk(root)
            if isinstance(node, File)
        }

    def snapshot(self) -> bytes:
        """Return the whole state as JSON."""
        state = {
            "root": to_json(self._files.root),
            "cwd": self._cwd,
            "env": self._env,
            "clock": self._clock,
            "last": [self._calls, self._code, self._lines],
        }
        return json.dumps(state, sort_keys=True).encode()

    def restore(self, snapshot: bytes) -> None:
        """Rebuild the state of a snapshot."""
        state = json.loads(snapshot)
        self.__init__()
        self._files.load(state["root"])
        self._cwd, self._env, self._clock = state["cwd"], state["env"], state["clock"]
        self._calls, self._code, self._lines = state["last"]

    def state_hash(self) -> str:
        """Digest the tree (path, kind, mode, content), the working folder and the environment; not the times."""
        digest = hashlib.blake2b(digest_size=16)
        digest.update(json.dumps([self._cwd, sorted(self._env.items())]).encode())
        for path, node in self._files.walk():
            content = (
                node.data if isinstance(node, File) else b"" if isinstance(node, Folder) else to_bytes(node.target)
            )
            head = f"\0{type(node).__name__} {node.mode:o} {len(content)} ".encode()
            digest.update(head + to_bytes(path) + b"\0" + content)
        return digest.hexdigest()


def _folders(node: Node) -> int:
    return 1 + sum(map(_folders, node.entries.values())) if isinstance(node, Folder) else 0


def shortened(text: str) -> tuple[str, int]:
    """Return a text cut to `MAX_SHOWN` characters (head and tail stay), and how many characters were left out."""
    left_out = len(text) - MAX_SHOWN
    if left_out <= 0:
        return text, 0
    return f"{text[:HEAD]}\n... {left_out} characters left out ...\n{text[HEAD + left_out :]}", left_out
