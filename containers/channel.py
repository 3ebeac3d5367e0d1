"""The outer end of a connection to a sandbox: requests out, replies in, each within a deadline on the monotonic clock.

Whatever goes wrong here ends as ``SandboxLost`` or ``SandboxTimeout``; after either, the connection is of no more use.
"""

from __future__ import annotations

import time
from select import POLLIN, POLLOUT, poll
from socket import socket

from .frames import Frame, FrameError, Kind, Parser
from .session import SandboxLost, SandboxTimeout


class Channel:
    """A stream socket with one request under way at most. Owns the socket."""

    def __init__(self, connection: socket) -> None:
        connection.setblocking(False)
        self._socket = connection
        self._parser = Parser()

    def fileno(self) -> int:
        """The socket's descriptor."""
        return self._socket.fileno()

    def write(self, data: bytes, until: float) -> None:
        """Send all of it.

        Args:
            data: An encoded frame.
            until: The moment of ``time.monotonic`` at which to give up.

        Raises:
            SandboxLost, SandboxTimeout: See the module's docstring.
        """
        if self._parser.pending:
            raise SandboxLost("the sandbox said something that it was not asked")
        view = memoryview(data)
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                self._wait(POLLOUT, until)
            except OSError as error:
                raise SandboxLost(f"the connection broke: {error}") from error

    def read(self, number: int, until: float) -> Frame:
        """Return the reply to the request with that id.

        Args:
            number: The id of the request, or 0 for the greeting.
            until: The moment of ``time.monotonic`` at which to give up.

        Raises:
            SandboxLost, SandboxTimeout: See the module's docstring.
        """
        try:
            while (frame := self._parser.take()) is None:
                self._parser.feed(self._receive(until))
        except FrameError as error:
            raise SandboxLost(f"the sandbox does not keep to the protocol: {error}") from error
        if frame.id != number or frame.kind is Kind.REQUEST or self._parser.pending:
            raise SandboxLost(f"the sandbox answered {frame.kind.name} {frame.id} to request {number}")
        return frame

    def close(self) -> None:
        """Close the socket."""
        self._socket.close()

    def _receive(self, until: float) -> bytes:
        while True:
            try:
                data = self._socket.recv(1 << 18)
            except BlockingIOError:
                self._wait(POLLIN, until)
            except OSError as error:
                raise SandboxLost(f"the connection broke: {error}") from error
            else:
                if not data:
                    raise SandboxLost("the connection was closed")
                return data

    def _wait(self, event: int, until: float) -> None:
        waiting = poll()
        waiting.register(self._socket, event)
        left = until - time.monotonic()
        if left <= 0 or not waiting.poll(left * 1000):
            raise SandboxTimeout("no answer within the deadline")
