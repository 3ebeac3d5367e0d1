"""The trainer's handle on one warmed parent (the program in ``host.py``): start it, get sandboxes from it, end it.

A handle belongs to the process that made it. In a fork of that process it lets go of everything without ending it (``forget``).
What a sandbox is asked is not known here.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Collection
from contextlib import suppress
from pathlib import Path
from select import POLLIN, poll
from socket import AF_UNIX, SHUT_RDWR, SOCK_SEQPACKET, recv_fds, socket, socketpair

from .service import fault
from .session import Json, SandboxError, SandboxLost, Target

START = 180.0
"""Seconds that importing a target may take."""
REPLY = 10.0
"""Seconds that the parent may take to hand out a sandbox."""
END = 5.0
"""Seconds that the parent may take to end by itself."""
MESSAGE = 150_000

KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT")
"""What the sandboxes' environment has from the trainer's; nothing else crosses, since it may hold secrets."""
FIXED = {
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
    """What the parent hands out: a connected socket and a pidfd. Owned by the session."""

    def __init__(self, number: int, connection: socket, pidfd: int) -> None:
        self.id, self.connection, self.pidfd = number, connection, pidfd

    def kill(self) -> None:
        """End the process (and in the tier ``namespaces`` all that it has started) without asking its parent."""
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Let go of both descriptors."""
        self.connection.close()
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1


class Zygote:
    """A running parent for one target. May be used from several threads."""

    def __init__(self, target: Target, *, spares: int, tier: str, memory: int | None) -> None:
        self._target, self._tier = target, ""
        self._lock = threading.Lock()
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the handle
        self._control, theirs = socketpair(AF_UNIX, SOCK_SEQPACKET)
        with theirs:
            self._process = self._start(theirs)
            self._control.send(json.dumps(_order(target, spares, tier, memory)).encode())

    @property
    def alive(self) -> bool:
        """Whether sandboxes can still be had."""
        return self._control.fileno() >= 0 and self._process.poll() is None

    @property
    def tier(self) -> str:
        """``namespaces`` or ``plain``; empty until the first sandbox was had."""
        return self._tier

    def activate(self, release: Collection[int] = ()) -> Sandbox:
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
            reply, fds = self._ask({"kind": "activate", "release": list(release)}, descriptors=2)
            return Sandbox(reply["id"], socket(fileno=fds[0]), fds[1])

    def fate(self, number: int) -> str:
        """Say how a sandbox ended, in a few words."""
        with self._lock, suppress(SandboxError):
            return self._ask({"kind": "fate", "id": number})[0]["fate"]
        return "and its parent is gone"

    def release(self, number: int) -> None:
        """Let a sandbox end."""
        with self._lock, suppress(OSError):
            self._control.send(json.dumps({"kind": "release", "release": [number]}).encode())

    def close(self) -> None:
        """End the parent and all its sandboxes, and wait for it. May be called again."""
        with suppress(OSError):
            self._control.shutdown(SHUT_RDWR)
        self._control.close()
        try:
            self._process.wait(END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()

    def forget(self) -> None:
        """Let go of the parent in a fork of the process that started it."""
        self._lock = threading.Lock()
        self._control.close()
        self._log.close()
        self._process.returncode = 0  # it is no child of this process: it must not be polled

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
        reply, _ = self._receive(START)
        if "error" in reply:
            self.close()
            raise fault(reply["error"])
        return reply["tier"]

    def _ask(self, message: Json, descriptors: int = 0) -> tuple[Json, list[int]]:
        with suppress(OSError):  # whatever it is, it shows again when the answer is read
            self._control.send(json.dumps(message).encode())
        reply, fds = self._receive(REPLY, descriptors)
        if "error" in reply:
            raise fault(reply["error"])
        return reply, fds

    def _receive(self, seconds: float, descriptors: int = 0) -> tuple[Json, list[int]]:
        data, fds = b"", list[int]()
        with suppress(OSError, ValueError):
            waiting = poll()
            waiting.register(self._control, POLLIN)
            if waiting.poll(seconds * 1000):
                data, fds, _, _ = recv_fds(self._control, MESSAGE, descriptors)
        if not data:
            words = self._last_words()
            self.close()
            raise SandboxLost(f"the warmed parent of {self._target.factory} has ended, or did not answer in time{words}")
        return json.loads(data), fds

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
