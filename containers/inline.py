"""The service in this very process: no start-up, no copy of the libraries, and no protection.

There is NO isolation and NO deadline: a crash of the service is a crash of the caller, a hang hangs it, and what the
service changes in the process (files, environment, globals of modules) stays changed. ``renew`` replaces the service
object only. Requests and replies are copied as JSON, so that a service behaves here exactly as it does behind a socket.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .frames import copy
from .service import build, describe, fault
from .session import Json, SandboxLost, Service, Target


class InlineRuntime:
    """Opens services in this process."""

    name = "inline"
    tier = "none"

    def open(self, target: Target) -> InlineSession:
        """Return a session; the service is built by ``renew`` or on first use."""
        return InlineSession(target)

    def close(self) -> None:
        """Do nothing: there is nothing to end."""


class InlineSession:
    """A service object in this process; see ``Session`` for the contract of each method."""

    runtime = "inline"
    tier = "none"

    def __init__(self, target: Target) -> None:
        self._target = target
        self._service: Service | None = None
        self._reply: Json | Exception | None = None
        self._closed = False

    @property
    def facts(self) -> Json:
        """What a trace should tell of where the service runs."""
        return {"tier": self.tier}

    def renew(self) -> None:
        """Build a new service object; imported libraries stay.

        Raises:
            SandboxFault: If it cannot be built.
            SandboxLost: If the session is closed.
        """
        if self._closed:
            raise SandboxLost("the session is closed")
        self._reply = None
        try:
            self._service = build(self._target)
        except Exception as error:
            raise fault(describe(error)) from error

    def send(self, operation: str, payload: Mapping[str, Any]) -> None:
        """Carry out the request at once and keep the answer for ``receive``.

        Raises:
            TypeError, ValueError: If the payload is not plain data.
        """
        if self._reply is not None:
            raise RuntimeError("the last request was not received yet")
        if self._service is None:
            self.renew()
        assert self._service is not None  # noqa: S101 - renew builds it or raises
        arguments = copy(dict(payload))
        try:
            self._reply = copy(self._service.handle(operation, arguments))
        except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the service raises is data for the caller
            self._reply = fault(describe(error))

    def fileno(self) -> None:
        """Return ``None``: ``receive`` never waits."""
        return

    def receive(self, deadline: float | None = None) -> Json:
        """Return the kept answer; ``deadline`` has no effect.

        Raises:
            SandboxFault: If the service raised.
        """
        del deadline
        reply, self._reply = self._reply, None
        if reply is None:
            raise RuntimeError("there is no request to receive the answer of")
        if isinstance(reply, Exception):
            raise reply
        return reply

    def request(self, operation: str, payload: Mapping[str, Any] | None = None, deadline: float | None = None) -> Json:
        """``send`` and ``receive`` in one."""
        self.send(operation, payload or {})
        return self.receive(deadline)

    def close(self) -> None:
        """Drop the service."""
        self._service = self._reply = None
        self._closed = True
