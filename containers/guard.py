"""Nothing is left over: a small process stays on guard over the warmed parent, and ends whatever survives it.

The guard computes nothing, so that it acts at once also while the parent imports. It is the adoptive parent of every
descendant.
"""

from __future__ import annotations

import os
import shutil
import signal
import stat
from collections.abc import Collection
from contextlib import suppress
from select import POLLIN, poll
from typing import NoReturn

from . import kernel


def fork_under_guard(trainer: int, grace: float, belongings: str | None = None) -> None:
    """Fork; return in the child. The caller itself stays behind on guard and never returns.

    Args:
        trainer: A pidfd of the process with which everything here ends, or the socket whose other end it holds.
        grace: Seconds that the child is given to end by itself after the trainer has ended.
        belongings: A directory that is removed at the end.
    """
    kernel.adopt_orphans()
    guard, inner = os.getpid(), os.fork()
    if inner:
        _stand_guard(inner, trainer, grace, belongings)
    kernel.die_with_parent()
    if os.getppid() not in (0, guard):  # 0: seen from inside a new pid namespace
        os._exit(1)


def bury_orphans(known: Collection[int]) -> None:
    """Kill and reap this process's children except the ``known`` ones, then what these leave behind, to the last."""
    while orphans := [pid for pid in kernel.own_children() if pid not in known]:
        for pid in orphans:
            os.kill(pid, signal.SIGKILL)
        for pid in orphans:
            os.waitpid(pid, 0)


def _ending(fd: int) -> int:
    """Return the event that tells a process's end: a pidfd becomes readable, a socket hangs up (told unasked)."""
    return 0 if stat.S_ISSOCK(os.fstat(fd).st_mode) else POLLIN


def _stand_guard(inner: int, trainer: int, grace: float, belongings: str | None) -> NoReturn:
    pidfd, waiting = os.pidfd_open(inner), poll()
    waiting.register(pidfd, POLLIN)
    waiting.register(trainer, _ending(trainer))
    if pidfd not in [fd for fd, _ in waiting.poll()]:
        waiting.unregister(trainer)
        waiting.poll(grace * 1000)
    with suppress(ProcessLookupError):
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    status = os.waitstatus_to_exitcode(os.waitpid(inner, 0)[1])
    bury_orphans(())
    if belongings is not None:
        shutil.rmtree(belongings, ignore_errors=True)
    os._exit(status & 0xFF)
