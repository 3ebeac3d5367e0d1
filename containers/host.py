"""The host loop: a warmed parent with forked spares, beside the trainer or inside a container.

    python -m makerspace.containers.host --fd FD --trainer PID                  a child of the trainer
    python -m makerspace.containers.host --listen PATH [--forever]              in a container: see ``listen``

1. It imports the target and lets it warm up, and computes nothing: a library that has started a thread would hang in
   every fork. So it counts its threads before each fork, and refuses when there is more than one.
2. A sandbox is a spare that was forked in advance and handed out before anybody asked: its socket and pidfd wait in the
   control socket. So a reset does not wait for this process at all; it hears of it (``taken``), ends the old sandbox,
   and forks the next spare.
3. It ends with the trainer (end of file on the control socket, or the trainer's pidfd), and everything that it started
   ends with it.

Control messages are JSON, one per datagram. In: the order (what to run, once), ``want {release}`` (no spare is left),
``taken {id, release}``, ``release {release}``, ``fate {id}``. Out: ``{tier}`` once, ``{spare, memory}`` with two
descriptors, ``{fate}``, ``{error, capacity}``.
What the sandboxes are asked is not known here.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from select import POLLIN, poll
from socket import AF_UNIX, SOCK_STREAM, send_fds, socket, socketpair
from typing import Any

from . import confine, kernel, namespaces
from .child import live
from .fingerprint import disregard_mounts
from .guard import bury_orphans, fork_under_guard
from .service import build, describe
from .session import KEPT, Json, Service, Target

MESSAGE = 150_000
"""Bytes that one control message may have."""
STILLBORN = 3
"""After so many spares in a row that ended by themselves, no more are forked in advance."""
RETRY = 0.05
"""Seconds between attempts when the kernel refuses a fork."""
MANNERS = 0.002
"""Seconds in which a sandbox that was just taken has the machine to itself: only then the old one ends and the next
spare is forked. Whoever wants a sandbox meanwhile does not wait for that."""


@dataclass
class Child:
    """A forked sandbox, as the parent sees it."""

    id: int
    pid: int
    pidfd: int
    workspace: str
    connection: socket | None
    """The session's end, until it is handed out."""


class Nursery:
    """Forks spares, hands them out, and buries them."""

    def __init__(
        self, control: socket, trainer: int | None, service: Service, tier: str, base: str, options: Json
    ) -> None:
        self._control, self._service, self._tier, self._options = control, service, tier, options
        self._children: dict[int, Child] = {}
        self._spares: set[int] = set()
        self._condemned: list[int] = []
        """Sandboxes that end as soon as the one that replaces them has had the machine to itself for a moment."""
        self._fates: OrderedDict[int, str] = OrderedDict()
        self._count = self._stillborn = 0
        self._not_before = 0.0
        self._base = base
        self._poll = poll()
        self._trainer = trainer
        for fd in (control.fileno(), trainer):
            if fd is not None:
                self._poll.register(fd, POLLIN)

    def run(self) -> None:
        """Serve until the trainer is gone."""
        while True:
            ready = [fd for fd, _ in self._poll.poll(self._patience())]
            for child in [child for child in self._children.values() if child.pidfd in ready]:
                self._bury(child)
            if self._trainer in ready or (self._control.fileno() in ready and not self._obey()):
                return
            if not ready:
                self._tidy()

    def end(self) -> None:
        """Kill and bury every sandbox."""
        for child in list(self._children.values()):
            self._kill(child)
        for child in list(self._children.values()):
            self._bury(child)

    def _patience(self) -> float | None:
        """Return how many milliseconds may be waited for something to happen before a spare is due."""
        busy = self._condemned or self._wants_spare()
        return max(0.0, self._not_before - time.monotonic()) * 1000 if busy else None

    def _wants_spare(self) -> bool:
        return len(self._spares) < self._options["spares"] and self._stillborn < STILLBORN

    def _tidy(self) -> None:
        """Do what could wait: end what was replaced, fork the next spare."""
        self._execute()
        if self._wants_spare():
            self._refill()

    def _execute(self) -> None:
        condemned, self._condemned = self._condemned, []
        self._release({"release": condemned})

    def _obey(self) -> bool:
        """Carry out one control message; return whether there was one."""
        with suppress(ConnectionError):
            data = self._control.recv(MESSAGE)
            if data:
                order = json.loads(data)
                actions = {"want": self._want, "taken": self._taken, "release": self._release, "fate": self._tell_fate}
                actions[order["kind"]](order)
                return True
        return False

    def _want(self, order: Json) -> None:
        try:
            self._hand_out(self._fork_somehow(order))
        except Exception as error:  # noqa: BLE001 - the trainer must hear of it, whatever it is
            reply = {"error": describe(error), "capacity": isinstance(error, OSError)}
            self._control.send(json.dumps(reply).encode())

    def _taken(self, order: Json) -> None:
        self._spares.discard(order["id"])
        self._stillborn = 0
        self._condemned += order["release"]
        self._not_before = time.monotonic() + MANNERS

    def _hand_out(self, child: Child) -> None:
        assert child.connection is not None  # noqa: S101 - this is the only place that gives it away
        with child.connection as connection:
            message = {"spare": child.id, "memory": kernel.private_memory()}
            send_fds(self._control, [json.dumps(message).encode()], [connection.fileno(), child.pidfd])
        child.connection = None
        self._spares.add(child.id)

    def _release(self, order: Json) -> None:
        for number in order["release"]:
            if number in self._children:
                self._kill(self._children[number])

    def _tell_fate(self, order: Json) -> None:
        child = self._children.get(order["id"])
        if child is not None:
            waiting = poll()
            waiting.register(child.pidfd, POLLIN)
            if waiting.poll(500):
                self._bury(child)
        fate = self._fates.get(order["id"], "still running, but its connection is closed")
        self._control.send(json.dumps({"fate": fate}).encode())

    def _refill(self) -> None:
        try:
            self._hand_out(self._fork())
        except OSError:
            self._not_before = time.monotonic() + RETRY

    def _fork_somehow(self, order: Json) -> Child:
        """Fork now; if the kernel refuses, end the old sandboxes first and try again for a while."""
        self._stillborn = 0
        for _ in range(40):
            with suppress(OSError):
                return self._fork()
            for child in [self._children[number] for number in order["release"] if number in self._children]:
                self._kill(child)
                self._bury(child)
            time.sleep(RETRY)
        return self._fork()

    def _fork(self) -> Child:
        check_threads()
        number, mine, theirs = self._count + 1, *socketpair(AF_UNIX, SOCK_STREAM)
        workspace = self._base if self._tier == "namespaces" else f"{self._base}/{number}"
        parent = os.getpid()
        try:
            if self._tier == "namespaces":
                namespaces.prepare_fork()
            else:
                Path(workspace).mkdir(exist_ok=True)
            pid = os.fork()
        except OSError:
            mine.close()
            theirs.close()
            raise
        if pid == 0:
            self._become(theirs, mine, workspace, parent)
        theirs.close()
        self._count = number
        child = self._children[number] = Child(number, pid, os.pidfd_open(pid), workspace, mine)
        self._poll.register(child.pidfd, POLLIN)
        return child

    def _become(self, connection: socket, other: socket, workspace: str, parent: int) -> None:
        """Close what a sandbox must not hold, and be one."""
        kernel.die_with_parent()
        if os.getppid() not in (0, parent):  # 0: seen from inside a new pid namespace
            os._exit(1)
        for held in (other, self._control, *(child.connection for child in self._children.values())):
            if held is not None:
                held.close()
        for fd in (self._trainer, *(child.pidfd for child in self._children.values())):
            if fd is not None:
                os.close(fd)
        live(connection, self._service, tier=self._tier, workspace=workspace, memory=self._options["memory"])

    def _kill(self, child: Child) -> None:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(child.pidfd, signal.SIGKILL)
        if self._tier != "namespaces":  # there the kernel ends the whole pid namespace
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(child.pid, signal.SIGKILL)

    def _bury(self, child: Child) -> None:
        """Reap a sandbox that has ended or was killed, and take away what it left."""
        self._kill(child)
        fate = _fate(os.waitpid(child.pid, 0)[1])
        self._poll.unregister(child.pidfd)
        os.close(child.pidfd)
        del self._children[child.id]
        if child.id in self._spares:
            self._spares.remove(child.id)
            self._stillborn += 1
        self._fates[child.id] = fate
        while len(self._fates) > 64:
            self._fates.popitem(last=False)
        if child.connection is not None:
            child.connection.close()
        if self._tier != "namespaces":
            bury_orphans({child.pid for child in self._children.values()})
            shutil.rmtree(child.workspace, ignore_errors=True)


def check_threads() -> None:
    """Refuse to go on with more than one thread.

    Raises:
        RuntimeError: If there is another one; a lock that it holds would stay locked in every fork.
    """
    if (threads := kernel.thread_count()) != 1:
        raise RuntimeError(f"the warmed parent has {threads} threads; a fork could hang: warm() must import only")


def _fate(status: int) -> str:
    code = os.waitstatus_to_exitcode(status)
    return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with status {code}"


def _choose(tier: str) -> str:
    if tier == "plain" or (tier == "auto" and not namespaces.available()):
        return "plain"
    return "namespaces"


def _clean_environment(order: Json) -> None:
    """Import from where the trainer does (from where this program does, in a container), and see only fixed names."""
    sys.path[:] = [*order["extra"], *(sys.path if order["path"] is None else order["path"])]
    kept = {name: os.environ[name] for name in KEPT if name in os.environ} if order["path"] is None else {}
    os.environ.clear()
    os.environ.update(kept | order["env"])


def attend(control: socket, trainer: int | None) -> int:
    """Be the warmed parent that the order on the control socket asks for, until the trainer is gone.

    Args:
        control: The connected control socket.
        trainer: A pidfd of the trainer, or ``None`` where only the control socket tells its end.
    """
    watched = control.fileno() if trainer is None else trainer
    order: dict[str, Any] = json.loads(control.recv(MESSAGE))
    _clean_environment(order)
    tier = _choose(order["tier"])
    base = namespaces.WORKSPACE
    if tier == "namespaces":
        namespaces.enter(watched)
    else:
        base = tempfile.mkdtemp(prefix="makerspace-")
        fork_under_guard(watched, grace=1.0, belongings=base)
    kernel.adopt_orphans()
    try:
        service = build(Target(order["factory"], order["arguments"]))
        check_threads()
    except Exception as error:  # noqa: BLE001 - the trainer must hear of it, whatever it is
        control.send(json.dumps({"error": describe(error)}).encode())
        return 1
    disregard_mounts()
    confine.prepare(tier)
    gc.collect()
    gc.freeze()
    nursery = Nursery(control, trainer, service, tier, base, order)
    try:
        control.send(json.dumps({"tier": tier}).encode())
        nursery.run()
    finally:
        nursery.end()
    return 0


def beside(fd: int, pid: int) -> int:
    """Serve the trainer that started this process."""
    control, trainer = socket(fileno=fd), os.pidfd_open(pid)
    return attend(control, trainer) if os.getppid() == pid else 1


def main(arguments: Sequence[str]) -> int:
    """Run the host loop as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m makerspace.containers.host")
    parser.add_argument("--fd", type=int, help="the control socket, when the trainer starts this program itself")
    parser.add_argument("--trainer", type=int, help="the trainer's process id")
    parser.add_argument("--listen", help="where to wait for a trainer; %%h stands for the host's name")
    parser.add_argument("--forever", action="store_true", help="serve one trainer after another, each in a fork")
    parser.add_argument("--lifetime", type=int, default=0, help="seconds after which everything ends; 0: never")
    given = parser.parse_args(arguments)
    signal.alarm(given.lifetime)
    if given.listen is None:
        return beside(given.fd, given.trainer)
    from .listening import listen  # imported only inside a container

    return listen(given.listen, attend, given.forever)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
