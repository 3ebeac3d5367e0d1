"""The one interface behind which every runtime stands, and the ways in which a sandbox can fail.

    SandboxError            the sandbox failed; the agent is never shown this
    +-- SandboxLost         it crashed or was killed: nothing more can be asked of it until ``renew``
    +-- SandboxTimeout      it did not answer within its deadline, and was killed (also a ``TimeoutError``)
    +-- SandboxFault        the service inside raised; carries the remote traceback
    +-- SandboxCapacity     there is no room for another sandbox now; the same may work later
    RuntimeUnavailable      this machine lacks what the runtime needs; the message says what to do (no SandboxError)

A *service* is any object with ``warm()`` and ``handle(operation, payload) -> dict`` (plain JSON data both ways),
named by a target ``"package.module:Class"`` and its keyword arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

Json = dict[str, Any]

KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""What a sandbox's environment has from its machine's; nothing else crosses, since it may hold secrets."""
DEADLINE = 20.0
"""Seconds that one request may take by default."""


class SandboxError(RuntimeError):
    """The sandbox failed, whatever the agent did."""


class SandboxLost(SandboxError):
    """The sandbox is gone."""


class SandboxTimeout(SandboxError, TimeoutError):
    """The sandbox did not answer in time and was killed."""


class SandboxFault(SandboxError):
    """The service inside the sandbox raised an exception; the sandbox itself can still be asked."""

    def __init__(self, summary: str, remote: str = "") -> None:
        super().__init__(f"{summary}\n\n{remote}" if remote else summary)
        self.summary = summary
        """``"ValueError: its message"``"""
        self.remote = remote
        """The traceback inside the sandbox."""


class SandboxCapacity(SandboxError):
    """There is no room for another sandbox."""


class RuntimeUnavailable(RuntimeError):
    """This machine lacks something that the runtime needs. The message says what to do."""


@dataclass(frozen=True)
class Target:
    """Which service a sandbox runs."""

    factory: str
    """``"package.module:Class"``"""
    arguments: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """Keyword arguments of the class: JSON data."""
    world: str = ""
    """Which image has what the service needs, for runtimes with images."""


class Service(Protocol):
    """What runs inside a sandbox."""

    def warm(self) -> None:
        """Import what will be needed; compute nothing."""
        ...

    def handle(self, operation: str, payload: Mapping[str, Any]) -> Json:
        """Carry out one operation."""
        ...


@runtime_checkable
class Rehearsing(Protocol):
    """A service that a fresh sandbox lets act once before anybody waits for it.

    A fork shares its parent's pages until it touches them, and each first touch costs; whoever rehearses pays for them
    in advance.
    """

    def rehearse(self) -> None:
        """Do what the first requests will do, and leave nothing that they could notice."""
        ...


class Runtime(Protocol):
    """A way of running services; many sessions may share one."""

    def open(self, target: Target) -> Session:
        """Return a session for the service. Nothing starts before its first use."""
        ...

    def close(self) -> None:
        """End every sandbox and helper process of this runtime. May be called again; the runtime may be used again."""
        ...


class Session(Protocol):
    """A service running in a runtime. Not thread-safe; one request at a time. The first use renews it."""

    runtime: str
    """``inline``, ``process`` or ``docker``."""
    tier: str
    """How strongly the service is kept apart: ``none``, ``plain`` (an own process) or ``namespaces``; known after
    ``renew``.
    """

    @property
    def facts(self) -> Json:
        """What a trace should tell of where the service runs: ``tier``, and ``image`` where there is one."""
        ...

    def renew(self) -> None:
        """Start over in a clean sandbox (the old one ends), or keep the present one where its episodes may share it.

        Raises:
            SandboxError: If no sandbox can be had.
        """
        ...

    def send(self, operation: str, payload: Mapping[str, Any]) -> None:
        """Send a request; ``receive`` must follow before the next one.

        Raises:
            SandboxError: If there is no sandbox to ask.
            TypeError, ValueError: If the payload is not plain data or too large; the sandbox is then as it was.
            RuntimeError: If the last request was not received yet.
        """
        ...

    def fileno(self) -> int | None:
        """A descriptor that is readable once ``receive`` would not wait; ``None`` if it never waits."""
        ...

    def receive(self, deadline: float | None = None) -> Json:
        """Wait for the answer to the last request.

        Args:
            deadline: Seconds since it was sent after which to give up; the session's own by default.

        Raises:
            SandboxLost, SandboxTimeout, SandboxFault: See the module's docstring. After the first two, only ``renew``
            and ``close`` may be called.
        """
        ...

    def request(self, operation: str, payload: Mapping[str, Any] | None = None, deadline: float | None = None) -> Json:
        """``send`` and ``receive`` in one."""
        ...

    def close(self) -> None:
        """End the sandbox. May be called again, and after any failure."""
        ...
