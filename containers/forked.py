"""Services in processes that are forked from a warmed parent: a reset takes a spare that waits already.

    this process  <--control-->  warmed parent (libraries imported, one thread)  --fork-->  spares and sandboxes
    session       <--one socket--------------------------------------------------------->  sandbox

Where the warmed parents run (beside this process, in containers) is told by a runtime's ``_start``. There are at most
``parents`` of them per target in each process; its sessions share them. They start on first use, are started again
after they have died, are replaced when they are worn, and a fork of this process starts its own. A crash ends the
sandbox and is ``SandboxLost``; a hang is killed at its deadline.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Mapping
from typing import Any

from .body import Body
from .channel import Channel
from .frames import Frame, FrameError, Kind, dumps, encode
from .kernel import pid_of
from .service import fault
from .session import DEADLINE, Json, SandboxLost, SandboxTimeout, Target
from .zygote import Sandbox, Zygote

MEMORY = 4 << 30
"""Bytes of private memory that one sandbox may have by default."""
EPISODES = 100_000
"""Sandboxes that one warmed parent gives by default before another takes over."""
ATTEMPTS = 3
"""Spares that may turn out dead before ``renew`` gives up."""


class ForkedRuntime:
    """Opens services in forked processes; what all runtimes with a host loop have in common.

    Args:
        reuse: Episodes that one sandbox serves while it is healthy; ``renew`` then does nothing in between, and the
            next ``reset`` operation must rebuild the service's world. It saves the fork (2 ms for a small service, 20
            ms with a CAD kernel loaded), and whatever an episode leaves in the process stays: only for services that
            run no code of an agent.
        spares: Sandboxes that wait, forked, in each warmed parent for the next ``renew``.
        deadline: Seconds that a request may take by default.
        memory: Bytes of private memory that a sandbox may have, or ``None``.
        tier: ``namespaces``, ``plain``, or ``auto`` for the strongest that the kernel allows.
        parents: Warmed parents per target; another is started when all are in use.
        episodes: Sandboxes after which a warmed parent is replaced.
    """

    name = ""

    def __init__(
        self,
        reuse: int = 1,
        spares: int = 1,
        deadline: float = DEADLINE,
        memory: int | None = MEMORY,
        tier: str = "auto",
        parents: int = 1,
        episodes: int = EPISODES,
    ) -> None:
        if min(reuse, parents, episodes) < 1 or spares < 0 or tier not in ("auto", "namespaces", "plain"):
            given = f"{reuse=}, {spares=}, {tier=}, {parents=}, {episodes=}"
            raise ValueError(f"no such {self.name} runtime: {given}")
        self.reuse, self.deadline = reuse, deadline
        self._parents, self._episodes = parents, episodes
        self._options: dict[str, Any] = {"spares": spares, "tier": tier, "memory": memory}
        self._pools: dict[tuple[str, bytes], list[Zygote]] = {}
        self._leaving: list[Zygote] = []
        self._sessions: weakref.WeakSet[ForkedSession] = weakref.WeakSet()
        self._lock = threading.RLock()
        self.refused: list[str] = []
        """Why warmed parents were given up: their new sandboxes were not clean."""

    @property
    def tier(self) -> str:
        """The tier of the sandboxes, or what was asked for while there was none yet."""
        zygotes = [zygote for pool in self._pools.values() for zygote in pool]
        return next((zygote.tier for zygote in zygotes if zygote.tier), self._options["tier"])

    def open(self, target: Target) -> ForkedSession:
        """Return a session; its sandbox comes with ``renew`` or on first use."""
        session = ForkedSession(self, target)
        self._sessions.add(session)
        return session

    def prepare(self, target: Target) -> Zygote:
        """Return the warmed parent from which the next sandbox should come, without waiting until it is warm.

        Raises:
            RuntimeUnavailable: If this machine lacks what it takes.
            SandboxError: If none can be started.
        """
        key = target.factory, dumps([dict(target.arguments), target.world])
        with self._lock:
            _running.add(self)
            pool = self._pools.setdefault(key, [])
            self._retire(pool)
            able = [zygote for zygote in pool if not zygote.worn]
            if len(able) < self._parents and all(zygote.active for zygote in able):
                pool.append(Zygote(target, self._start(target), self._options, self._episodes))
            usable = [zygote for zygote in pool if not zygote.spoiled]
            ready = [zygote for zygote in usable if zygote.warm] or usable
            return min(ready, key=lambda zygote: (zygote.worn, len(zygote.active)))

    def close(self) -> None:
        """End every sandbox and warmed parent of this process, and wait for them."""
        for session in list(self._sessions):
            session.drop()
        with self._lock:
            for pool in self._pools.values():
                self._leaving += pool
            self._pools.clear()
            while self._leaving:
                self._leaving.pop().close()
            _running.discard(self)

    def forget(self) -> None:
        """Let go of everything in a fork of the process that owns it."""
        self._lock = threading.RLock()
        for session in list(self._sessions):
            session.forget()
        for zygote in [*self._leaving, *(zygote for pool in self._pools.values() for zygote in pool)]:
            zygote.forget()
        self._pools.clear()
        self._leaving.clear()

    def _start(self, target: Target) -> Body:
        """Start a host loop for the target."""
        raise NotImplementedError

    def _retire(self, pool: list[Zygote]) -> None:
        """Let go of parents that are dead, and of idle worn ones once another is warm (at once if they are spoiled)."""
        successor = any(zygote.warm and not zygote.worn and zygote.alive for zygote in pool)
        for zygote in list(pool):
            dismissed = zygote.worn and not zygote.active and (successor or zygote.spoiled)
            if not zygote.alive or dismissed:
                pool.remove(zygote)
                zygote.part()
                self._leaving.append(zygote)
        for zygote in [zygote for zygote in self._leaving if zygote.gone]:
            self._leaving.remove(zygote)
            zygote.close()


class ForkedSession:
    """A service in a forked process; see ``Session`` for the contract of each method."""

    def __init__(self, runtime: ForkedRuntime, target: Target) -> None:
        self.runtime, self.tier = runtime.name, runtime.tier
        self._runtime, self._target = runtime, target
        self._zygote: Zygote | None = None
        self._sandbox: Sandbox | None = None
        self._channel: Channel | None = None
        self._lost = ""
        """Why there is no sandbox; empty while it was never renewed."""
        self._served = self._number = 0
        self._sent: float | None = None
        """When the request under way was sent."""
        self._closed = False

    @property
    def pid(self) -> int | None:
        """The sandbox's process id, or ``None``."""
        return pid_of(self._sandbox.pidfd) if self._sandbox else None

    @property
    def facts(self) -> Json:
        """What a trace should tell of where the service runs."""
        return self._zygote.facts if self._zygote else {"tier": self.tier}

    def renew(self) -> None:
        """Take a spare; the old sandbox ends afterwards. With ``reuse`` keep a healthy one.

        Raises:
            SandboxFault: If the target cannot be imported, built or warmed.
            SandboxCapacity: If there is no room for another sandbox.
            SandboxLost: If no sandbox can be had, or the session is closed.
        """
        if self._closed:
            raise SandboxLost("the session is closed")
        if self._channel and self._sent is None and self._served < self._runtime.reuse:
            self._served += 1
            return
        old, owner = self._sandbox, self._zygote
        self._sandbox = self._channel = self._sent = None
        try:
            self._activate(old, owner)
        except BaseException:
            if old and owner:
                old.kill()
                owner.release(old.id)
            raise
        finally:
            if old:
                old.close()
        self._served, self._number, self._lost = 1, 0, ""

    def send(self, operation: str, payload: Mapping[str, Any]) -> None:
        """Send a request; see ``Session.send``."""
        if self._sent is not None:
            raise RuntimeError("the last request was not received yet")
        if self._channel is None and not self._lost:
            self.renew()
        if self._channel is None:
            raise SandboxLost(self._lost)
        self._number += 1
        try:
            data = encode(Frame(Kind.REQUEST, self._number, {"operation": operation, "payload": dict(payload)}))
        except FrameError as error:
            raise ValueError(str(error)) from None
        self._sent = time.monotonic()
        try:
            self._channel.write(data, self._sent + self._runtime.deadline)
        except (SandboxLost, SandboxTimeout) as error:
            raise self._lose(error) from error

    def fileno(self) -> int | None:
        """Return the connection's descriptor, or ``None`` if there is no sandbox."""
        return self._channel.fileno() if self._channel else None

    def receive(self, deadline: float | None = None) -> Json:
        """Wait for the answer; see ``Session.receive``."""
        if self._lost:
            raise SandboxLost(self._lost)
        if self._sent is None or self._channel is None:
            raise RuntimeError("there is no request to receive the answer of")
        seconds = self._runtime.deadline if deadline is None else deadline
        try:
            frame = self._channel.read(self._number, self._sent + seconds)
        except (SandboxLost, SandboxTimeout) as error:
            raise self._lose(error) from error
        self._sent = None
        if frame.kind is Kind.FAULT:
            raise fault(frame.body)
        return frame.body

    def request(self, operation: str, payload: Mapping[str, Any] | None = None, deadline: float | None = None) -> Json:
        """``send`` and ``receive`` in one."""
        self.send(operation, payload or {})
        return self.receive(deadline)

    def close(self) -> None:
        """End the sandbox. The warmed parent stays for other sessions until the runtime or this process ends."""
        self.drop()
        self._closed, self._lost = True, "the session is closed"

    def drop(self) -> None:
        """End the sandbox, if there is one; the session can be renewed."""
        if self._sandbox:
            self._sandbox.kill()
            if self._zygote:
                self._zygote.release(self._sandbox.id)
        self.forget()

    def forget(self) -> None:
        """Let go of the sandbox without ending it."""
        if self._sandbox:
            self._sandbox.close()
        self._sandbox = self._channel = self._zygote = self._sent = None
        self._lost = "the sandbox belongs to another process, or its runtime was closed"

    def _activate(self, old: Sandbox | None, owner: Zygote | None) -> None:
        for attempt in range(ATTEMPTS):
            try:
                self._take_spare(old, owner)
            except (SandboxLost, SandboxTimeout):
                if attempt + 1 == ATTEMPTS:
                    raise
            else:
                return

    def _take_spare(self, old: Sandbox | None, owner: Zygote | None) -> None:
        self._zygote = self._runtime.prepare(self._target)
        stays = owner is self._zygote
        sandbox = self._zygote.take([old.id] if old and stays else [])
        if old and owner and not stays:
            owner.release(old.id)
        self._sandbox, self._channel, self.tier = sandbox, self._greeted(sandbox, self._zygote), self._zygote.tier

    def _greeted(self, sandbox: Sandbox, zygote: Zygote) -> Channel:
        """Return the channel to a new sandbox after it has said that it is there and how it looks."""
        channel = Channel(sandbox.connection)
        try:
            zygote.inspect(channel.read(0, time.monotonic() + self._runtime.deadline).body)
        except (SandboxLost, SandboxTimeout) as error:
            sandbox.kill()
            fate = zygote.fate(sandbox.id)
            zygote.release(sandbox.id)
            sandbox.close()
            self._runtime.refused += [zygote.spoiled] if zygote.spoiled else []
            raise SandboxLost(f"a new sandbox did not come up: {error}; {fate}") from error
        return channel

    def _lose(self, error: SandboxLost | SandboxTimeout) -> SandboxLost | SandboxTimeout:
        """End the sandbox after a failure; return what to raise."""
        assert self._sandbox is not None  # noqa: S101
        if isinstance(error, SandboxTimeout):
            self._sandbox.kill()
        fate = self._zygote.fate(self._sandbox.id) if self._zygote else "killed"  # a parent that hangs, too, is found
        self.drop()
        self._lost = f"{error}; {fate}"
        return type(error)(self._lost)


_running: set[ForkedRuntime] = set()
"""The runtimes that have processes."""


def _close_all() -> None:
    for runtime in list(_running):
        runtime.close()


def _forget_all() -> None:
    for runtime in list(_running):
        runtime.forget()
    _running.clear()


atexit.register(_close_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
