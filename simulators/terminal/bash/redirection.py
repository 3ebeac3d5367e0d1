"""Redirections: files are opened before the command runs, in the order in which they are written.

`2>&1 > file` and `> file 2>&1` differ, as they must: a duplication copies where a descriptor points at that moment.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from ..files import File, normal
from ..streams import FileSink, Null, Sink, Source
from ..text import to_text
from . import syntax as s
from .process import Process


class RedirectFault(Exception):
    """A file that cannot be opened."""


class Redirecting(Process):
    """A process that can point its streams elsewhere."""

    @contextmanager
    def redirection(self, redirects: tuple[s.Redirect, ...]) -> Generator[bool]:
        """Point the streams elsewhere for a while; yields whether every file could be opened."""
        if not redirects:
            yield True
            return
        before = self.stdin, self.stdout, self.stderr, dict(self.extra)
        opened: list[Sink] = []
        try:
            good = self._open_all(redirects, opened)
            yield good
        finally:
            self.stdin, self.stdout, self.stderr, self.extra = before
            for sink in opened:
                try:
                    sink.close()
                except OSError as error:
                    self.complain(f"write error: {error.strerror}")
                    self.status = 1

    def keep_redirections(self, redirects: tuple[s.Redirect, ...]) -> int:
        """Point the streams elsewhere for good (`exec > file`)."""
        return int(not self._open_all(redirects, []))

    def _open_all(self, redirects: tuple[s.Redirect, ...], opened: list[Sink]) -> bool:
        try:
            for redirect in redirects:
                self._open(redirect, opened)
        except RedirectFault as fault:
            self.complain(str(fault))
            return False
        return True

    def _open(self, redirect: s.Redirect, opened: list[Sink]) -> None:
        operator, fd = redirect.operator, redirect.fd
        if operator in ("<<", "<<<"):
            text = self.expand.text(redirect.target)
            self._point(fd, Source(text + ("\n" if operator == "<<<" else "")))
            return
        fields = self.expand.fields([redirect.target])
        if len(fields) != 1:
            raise RedirectFault(f"{self.expand.text(redirect.target)}: ambiguous redirect")
        text = fields[0]
        if operator in ("<&", ">&"):
            self._duplicate(fd, text)
        elif not text:
            raise RedirectFault(": No such file or directory")
        else:
            stream = self._file(text, operator)
            if isinstance(stream, Sink) and stream not in (self.stdout, self.stderr):
                opened.append(stream)
            self._point(fd, stream)

    def _file(self, text: str, operator: str) -> Source | Sink:
        if text in ("/dev/stdout", "/dev/stderr", "/dev/stdin"):
            return {"/dev/stdout": self.stdout, "/dev/stderr": self.stderr, "/dev/stdin": self.stdin}[text]
        path = normal(text, self.cwd) + ("/" if text.endswith("/") else "")
        try:
            if operator == "<":
                data = self.read_file(path)
                return Source(to_text(data), len(data))
            self.flush()
            node = self.files.find(path)
            if operator == ">" and "noclobber" in self.options and isinstance(node, File) and not node.device:
                raise RedirectFault(f"{text}: cannot overwrite existing file")
            self.files.write(path, b"", append=operator in (">>", "<>"))
        except OSError as error:
            raise RedirectFault(f"{text}: {error.strerror}") from None
        return Null(self.meter) if isinstance(node, File) and node.device else FileSink(self.meter, self.files, path)

    def _duplicate(self, fd: int, text: str) -> None:
        if text == "-":
            self._point(fd, Source() if fd == 0 else Null(self.meter))
            return
        number = int(text.rstrip("-")) if text.rstrip("-").isdigit() and len(text) < 4 else -1
        stream = {0: self.stdin, 1: self.stdout, 2: self.stderr, **self.extra}.get(number)
        if stream is None:
            raise RedirectFault(f"{text}: {'Bad file descriptor' if number >= 0 else 'ambiguous redirect'}")
        self._point(fd, stream)

    def _point(self, fd: int, stream: Source | Sink) -> None:
        if fd == 0 and isinstance(stream, Source):
            self.stdin = stream
        elif fd == 1 and isinstance(stream, Sink):
            self.stdout = stream
        elif fd == 2 and isinstance(stream, Sink):
            self.stderr = stream
        elif fd > 2:
            self.extra[fd] = stream
        else:
            raise RedirectFault(f"{fd}: Bad file descriptor")
