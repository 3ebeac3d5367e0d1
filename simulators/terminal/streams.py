"""Standard input and output of commands: texts that are read from a position, and sinks that are written in order.

A pipe is a sink that becomes the next command's input. Files behind a sink are written when it is closed, or before
anyone reads.
"""

from __future__ import annotations

from .files import Files
from .meter import MAX_OUTPUT, Meter, Stopped
from .text import to_bytes


class Source:
    """An input: a text and how far it has been read."""

    def __init__(self, text: str = "", size: int | None = None) -> None:
        self.text = text
        self.at = 0
        self.size = size
        """Bytes of the file behind it, if there is one."""

    def line(self, delimiter: str = "\n") -> str | None:
        """Return the next line with its delimiter (the last may lack it), or `None` at the end."""
        if self.at >= len(self.text):
            return None
        end = self.text.find(delimiter, self.at) if delimiter else -1
        end = len(self.text) if end < 0 else end + 1
        found = self.text[self.at : end]
        self.at = end
        return found

    def rest(self) -> str:
        """Return everything that is left."""
        found = self.text[self.at :]
        self.at = len(self.text)
        return found


class Sink:
    """An output that is kept as text."""

    def __init__(self, meter: Meter) -> None:
        self.meter = meter
        self.parts: list[str] = []
        self.size = 0

    def write(self, text: str) -> None:
        """Add text.

        Raises:
            Stopped: If the output becomes too large.
        """
        if text:
            self.size += len(text)
            if self.size > MAX_OUTPUT:
                raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
            self.meter.charge(len(text))
            self.parts.append(text)

    @property
    def room(self) -> int:
        """How many characters still fit."""
        return MAX_OUTPUT - self.size

    def text(self) -> str:
        """Return everything written."""
        return "".join(self.parts)

    def close(self) -> None:
        """Finish; nothing to do for a text."""


class Null(Sink):
    """An output that goes nowhere."""

    def write(self, text: str) -> None:
        """Forget text."""
        self.meter.charge(len(text))


class FileSink(Sink):
    """An output that goes to the end of a file."""

    def __init__(self, meter: Meter, files: Files, path: str) -> None:
        super().__init__(meter)
        self.files = files
        self.path = path

    def close(self) -> None:
        """Write what has come since the last time.

        Raises:
            OSError: If the device is full or the file's folder is gone.
        """
        if self.parts:
            data = to_bytes("".join(self.parts))
            self.parts.clear()
            self.files.write(self.path, data, append=True)
