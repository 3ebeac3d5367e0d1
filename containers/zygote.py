"""The trainer's handle on one warmed parent (the program in ``host.py``), wherever it runs: get sandboxes from it.

A handle belongs to the process that made it. In a fork of that process it lets go of everything without ending it
(``forget``). What a sandbox is asked is not known here.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import weakref
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from select import POLLIN, poll
from socket import SHUT_RDWR, recv_fds, socket

from .body import Body
from .fingerprint import differences
from .service import fault
from .session import Json, SandboxCapacity, SandboxError, SandboxLost, Target

START = 180.0
"""Seconds that importing a target may take."""
REPLY = 30.0
"""Seconds that the parent may take to hand out a sandbox."""
WORD = 5.0
"""Seconds that the parent may take to say how a sandbox ended; one that takes longer is given up."""
MESSAGE = 150_000
GROWTH = 128 << 20
"""Bytes by which a parent's own memory may grow before it is worn."""


class Sandbox:
    """What the parent hands out: a connected socket and a pidfd. Its holder closes it."""

    def __init__(self, number: int, connection: socket, pidfd: int) -> None:
        self.id, self.connection, self.pidfd = number, connection, pidfd
        self.close = weakref.finalize(self, _close, connection, pidfd)
        """Let go of both descriptors. May be called again."""
        self.close.atexit = False  # the runtime's own exit comes later and needs them

    @property
    def dead(self) -> bool:
        """Whether the process has ended."""
        waiting = poll()
        waiting.register(self.pidfd, POLLIN)
        return bool(waiting.poll(0))

    def kill(self) -> None:
        """End the process (and in the tier ``namespaces`` all that it has started) without asking its parent."""
        with suppress(OSError):  # it has ended, or it runs as another user: then its parent ends it
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)


def _close(connection: socket, pidfd: int) -> None:
    connection.close()
    os.close(pidfd)


class Zygote:
    """A running parent for one target. May be used from several threads.

    Args:
        target: What it runs.
        body: Where it runs.
        options: ``spares``, ``tier`` and ``memory``, as ``ForkedRuntime`` describes them.
        episodes: Sandboxes after which it is worn.
    """

    def __init__(self, target: Target, body: Body, options: Json, episodes: int) -> None:
        self._target, self._body, self._tier = target, body, ""
        self._lock = threading.Lock()
        self._spares: deque[Sandbox] = deque()
        """Sandboxes that the parent has handed out and nobody has taken."""
        self._left = episodes
        self._memory: int | None = None
        self._golden: dict[str, str] | None = None
        self.active: set[int] = set()
        """Ids of the sandboxes that sessions hold."""
        self.worn = False
        """Whether another parent should take over: it has served long, or has grown."""
        self.spoiled = ""
        """How its sandboxes differ from the first one; no more are taken from it then."""
        order = {"factory": target.factory, "arguments": dict(target.arguments), **options, **body.place}
        self._send(order)

    @property
    def alive(self) -> bool:
        """Whether sandboxes can still be had."""
        return self._body.alive and not self._hung_up()

    @property
    def warm(self) -> bool:
        """Whether the first sandbox can be had without waiting for imports."""
        return bool(self._tier) or self._readable(0)

    @property
    def tier(self) -> str:
        """``namespaces`` or ``plain``; empty until the first sandbox was had."""
        return self._tier

    @property
    def facts(self) -> Json:
        """What a trace should tell of where the sandboxes run."""
        return {"tier": self._tier, **self._body.facts}

    def take(self, release: Collection[int] = ()) -> Sandbox:
        """Return a sandbox that nobody has used.

        Args:
            release: Ids of sandboxes of this parent that shall end; they end after the new one was had.

        Raises:
            SandboxFault: If the target cannot be imported, built or warmed.
            SandboxCapacity: If its machine has no room for another sandbox.
            SandboxLost: If the parent has ended or does not answer.
        """
        with self._lock:
            if not self._tier:
                self._tier = self._await_warm()
            sandbox = self._waiting_spare() or self._fresh_one(release)
            self._send({"kind": "taken", "id": sandbox.id, "release": list(release)})
            self.active.add(sandbox.id)
            self.active.difference_update(release)
            self._left -= 1
            self.worn = self.worn or self._left <= 0
            return sandbox

    def inspect(self, seen: dict[str, str]) -> None:
        """Compare a new sandbox's fingerprint with the first one's.

        Raises:
            SandboxLost: If they differ. Nothing more comes from this parent.
        """
        self._golden = self._golden or seen
        if wrong := differences(self._golden, seen):
            self.spoiled, self.worn = f"a new sandbox is not clean: {', '.join(wrong)}", True
            raise SandboxLost(self.spoiled)

    def fate(self, number: int) -> str:
        """Say how a sandbox ended, in a few words."""
        with self._lock, suppress(SandboxError):
            self._send({"kind": "fate", "id": number})
            return self._answer()["fate"]
        return "and its parent is gone"

    def release(self, number: int) -> None:
        """Let a sandbox end."""
        with self._lock:
            self.active.discard(number)
            self._send({"kind": "release", "release": [number]})

    @property
    def gone(self) -> bool:
        """Whether the parent has ended."""
        return not self._body.alive

    def part(self) -> None:
        """Let the parent and all its sandboxes end, without waiting for it. May be called again."""
        with suppress(OSError):
            self._body.control.shutdown(SHUT_RDWR)
        self._drop()

    def close(self) -> None:
        """End the parent and all its sandboxes, and wait for it. May be called again."""
        self.part()
        self._body.end()

    def forget(self) -> None:
        """Let go of the parent in a fork of the process that started it."""
        self._lock = threading.Lock()
        self._drop()
        self._body.forget()

    def _drop(self) -> None:
        while self._spares:
            self._spares.popleft().close()
        self._body.control.close()

    def _await_warm(self) -> str:
        reply = self._receive(START)
        if "error" in reply:
            self.close()
            raise fault(reply["error"])
        return reply["tier"]

    def _waiting_spare(self) -> Sandbox | None:
        """Return a living sandbox from those that were handed out, without waiting."""
        while self._readable(0):
            self._receive(0)
        while self._spares:
            sandbox = self._spares.popleft()
            if not sandbox.dead:
                return sandbox
            sandbox.close()
        return None

    def _fresh_one(self, release: Collection[int]) -> Sandbox:
        """Ask for a sandbox and wait for it."""
        self._send({"kind": "want", "release": list(release)})
        while not self._spares:
            if "error" in (reply := self._receive(REPLY)):
                if reply.get("capacity"):
                    raise SandboxCapacity(f"no room for another sandbox: {reply['error']['message']}")
                raise fault(reply["error"])
        return self._spares.popleft()

    def _answer(self) -> Json:
        """Return the next message that is no spare."""
        while "spare" in (reply := self._receive(WORD)):
            pass
        return reply

    def _send(self, message: Json) -> None:
        with suppress(OSError):  # a parent that has ended shows when its answer is read
            self._body.control.send(json.dumps(message).encode())

    def _hung_up(self) -> bool:
        waiting = poll()
        try:
            waiting.register(self._body.control, 0)  # that the other end hung up is told unasked
        except ValueError:  # the socket was closed
            return True
        return bool(waiting.poll(0))

    def _readable(self, seconds: float) -> bool:
        waiting = poll()
        with suppress(ValueError):  # the socket was closed
            waiting.register(self._body.control, POLLIN)
            return bool(waiting.poll(seconds * 1000))
        return False

    def _receive(self, seconds: float) -> Json:
        """Return the next message of the parent; put a spare that came with it to the others."""
        data, fds = b"", list[int]()
        if self._readable(seconds):
            with suppress(OSError):
                data, fds, _, _ = recv_fds(self._body.control, MESSAGE, 2)
        if not data:
            words = self._body.words()
            self.close()
            said = f"; it said:\n{words}" if words else ""
            raise SandboxLost(f"the warmed parent of {self._target.factory} has ended, or did not answer{said}")
        message: Json = json.loads(data)
        if "spare" in message:
            self._spares.append(Sandbox(message["spare"], socket(fileno=fds[0]), fds[1]))
            self._note_memory(message["memory"])
        return message

    def _note_memory(self, size: int) -> None:
        self._memory = size if self._memory is None else self._memory
        self.worn = self.worn or size > self._memory + GROWTH
