"""The trainer's handle on one warmed parent (the program in ``host.py``): start it, get sandboxes from it, end it.

A handle belongs to the process that made it. In a fork of that process it lets go of everything without ending it
(``forget``). What a sandbox is asked is not known here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from select import POLLIN, poll
from socket import AF_UNIX, SHUT_RDWR, SOCK_SEQPACKET, recv_fds, socket, socketpair

from .service import fault
from .session import Json, SandboxError, SandboxLost, Target

START = 180.0
"""Seconds that importing a target may take."""
REPLY = 30.0
"""Seconds that the parent may take to hand out a sandbox."""
END = 5.0
"""Seconds that the parent may take to end by itself."""
MESSAGE = 150_000

KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""What the sandboxes' environment has from the trainer's; nothing else crosses, since it may hold secrets."""
FIXED = {
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",  # measured: 15 % less CPU per reset with a CAD kernel loaded
    "HOME": tempfile.gettempdir(),
    "LC_ALL": "C.UTF-8",
    "MKL_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONHASHSEED": "0",
    "TZ": "UTC",
}


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
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)


def _close(connection: socket, pidfd: int) -> None:
    connection.close()
    os.close(pidfd)


class Zygote:
    """A running parent for one target. May be used from several threads."""

    def __init__(self, target: Target, *, spares: int, tier: str, memory: int | None) -> None:
        self._target, self._tier = target, ""
        self._lock = threading.Lock()
        self._spares: deque[Sandbox] = deque()
        """Sandboxes that the parent has handed out and nobody has taken."""
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the handle
        order = json.dumps(_order(target, spares, tier, memory)).encode()
        self._control, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        with theirs:
            self._process = self._start(theirs)
            self._control.send(order)

    @property
    def alive(self) -> bool:
        """Whether sandboxes can still be had."""
        return self._control.fileno() >= 0 and self._process.poll() is None

    @property
    def tier(self) -> str:
        """``namespaces`` or ``plain``; empty until the first sandbox was had."""
        return self._tier

    def take(self, release: Collection[int] = ()) -> Sandbox:
        """Return a sandbox that nobody has used.

        Args:
            release: Ids of sandboxes that shall end; they end after the new one was had.

        Raises:
            SandboxFault: If the target cannot be imported, built or warmed, or the parent refuses to fork.
            SandboxLost: If the parent has ended or does not answer.
        """
        with self._lock:
            if not self._tier:
                self._tier = self._await_warm()
            sandbox = self._waiting_spare() or self._fresh_one(release)
            self._tell({"kind": "taken", "id": sandbox.id, "release": list(release)})
            return sandbox

    def fate(self, number: int) -> str:
        """Say how a sandbox ended, in a few words."""
        with self._lock, suppress(SandboxError):
            self._tell({"kind": "fate", "id": number})
            return self._answer()["fate"]
        return "and its parent is gone"

    def release(self, number: int) -> None:
        """Let a sandbox end."""
        with self._lock:
            self._tell({"kind": "release", "release": [number]})

    def close(self) -> None:
        """End the parent and all its sandboxes, and wait for it. May be called again."""
        with suppress(OSError):
            self._control.shutdown(SHUT_RDWR)
        self._drop()
        try:
            self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def forget(self) -> None:
        """Let go of the parent in a fork of the process that started it."""
        self._lock = threading.Lock()
        self._drop()
        self._process.returncode = 0  # it is no child of this process: it must not be polled

    def _drop(self) -> None:
        while self._spares:
            self._spares.popleft().close()
        self._control.close()
        self._log.close()

    def _start(self, control: socket) -> subprocess.Popen[bytes]:
        return subprocess.Popen(  # noqa: S603 - the arguments are ours
            [sys.executable, "-P", "-m", f"{__package__}.host", str(control.fileno()), str(os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
            pass_fds=[control.fileno()],
            start_new_session=True,
            cwd="/",
            env=_environment() | {"PYTHONPATH": os.pathsep.join(_path())},
        )

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
        self._tell({"kind": "want", "release": list(release)})
        while not self._spares:
            if "error" in (reply := self._receive(REPLY)):
                raise fault(reply["error"])
        return self._spares.popleft()

    def _answer(self) -> Json:
        """Return the next message that is no spare."""
        while "spare" in (reply := self._receive(REPLY)):
            pass
        return reply

    def _tell(self, message: Json) -> None:
        with suppress(OSError):  # a parent that has ended shows when its answer is read
            self._control.send(json.dumps(message).encode())

    def _readable(self, seconds: float) -> bool:
        waiting = poll()
        with suppress(ValueError):  # the socket was closed
            waiting.register(self._control, POLLIN)
            return bool(waiting.poll(seconds * 1000))
        return False

    def _receive(self, seconds: float) -> Json:
        """Return the next message of the parent; put a spare that came with it to the others."""
        data, fds = b"", list[int]()
        if self._readable(seconds):
            with suppress(OSError):
                data, fds, _, _ = recv_fds(self._control, MESSAGE, 2)
        if not data:
            words = self._last_words()
            self.close()
            raise SandboxLost(f"the warmed parent of {self._target.factory} has ended, or did not answer{words}")
        message: Json = json.loads(data)
        if "spare" in message:
            self._spares.append(Sandbox(message["spare"], socket(fileno=fds[0]), fds[1]))
        return message

    def _last_words(self) -> str:
        with suppress(OSError, ValueError):
            self._log.seek(max(0, self._log.seek(0, os.SEEK_END) - 4000))
            if words := self._log.read().decode(errors="replace").strip():
                return f"; it said:\n{words}"
        return ""


def _environment() -> dict[str, str]:
    return {name: os.environ[name] for name in KEPT if name in os.environ} | FIXED


def _path() -> list[str]:
    """Return where this process imports from, so that the parent finds the same modules."""
    return [str(Path(path).absolute()) for path in sys.path]


def _order(target: Target, spares: int, tier: str, memory: int | None) -> Json:
    common = {"path": _path(), "env": _environment(), "spares": spares, "tier": tier, "memory": memory}
    return {"factory": target.factory, "arguments": dict(target.arguments), **common}
