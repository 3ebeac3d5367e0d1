"""One sandbox: a fork of the warmed parent that serves one connection until it is closed, and then ends.

It is set apart first (namespaces or, in the tier ``plain``, a session and a directory of its own), then greets, then
answers requests.
"""

from __future__ import annotations

import os
import random
import socket
import tempfile
from typing import NoReturn

from . import confine, kernel, namespaces
from .fingerprint import fingerprint
from .frames import Frame, Kind, encode
from .service import serve
from .session import Rehearsing, Service


def live(connection: socket.socket, service: Service, *, tier: str, workspace: str, memory: int | None) -> NoReturn:
    """Be the sandbox. Never returns.

    Args:
        connection: The only descriptor, besides the standard ones, that is still open.
        service: The warmed service of the parent, now this process's own copy.
        tier: ``namespaces`` or ``plain``.
        workspace: The directory that is the current one, the home, and the place of temporary files.
        memory: Bytes of private memory that may be had, or ``None``.
    """
    status = 1
    try:
        _set_apart(tier, workspace, memory)
        if isinstance(service, Rehearsing):
            service.rehearse()
        connection.sendall(encode(Frame(Kind.OK, 0, dict(fingerprint(tier, workspace)))))
        serve(connection, service)
        status = 0
    finally:
        os._exit(status)  # nothing of the parent's (atexit, buffers, destructors) may run here


def _set_apart(tier: str, workspace: str, memory: int | None) -> None:
    os.setsid()
    _silence()
    kernel.adopt_orphans()
    if tier == "namespaces":
        namespaces.isolate()
    kernel.limit(memory)
    os.chdir(workspace)
    os.umask(0o022)
    os.environ.update(HOME=workspace, TMPDIR=workspace)
    tempfile.tempdir = None  # the parent's choice
    random.seed(0)
    confine.confine(tier, workspace)


def _silence() -> None:
    """Send all output nowhere: a pipe that nobody reads would stop the sandbox one day."""
    null = os.open(os.devnull, os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.close(null)
