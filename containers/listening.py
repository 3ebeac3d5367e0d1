"""The host loop inside a container: wait on a Unix socket in a shared directory until a trainer connects.

The socket carries whole datagrams and descriptors (``SOCK_SEQPACKET``), so a sandbox's own connection is handed to the
trainer through it, and no request passes through this process. The trainer's end of life is the end of its connection.
What is printed goes to the file ``log`` beside the socket, where the trainer can read it.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from select import POLLIN, poll

Attend = Callable[[socket.socket, int | None], int]

PATIENCE = 60.0
"""Seconds in which the one trainer must come."""


def listen(place: str, attend: Attend, forever: bool) -> int:
    """Serve the trainer that connects, or with ``forever`` every trainer that does, each in a fork.

    Args:
        place: Where the socket shall be; its directory is made. ``%h`` stands for the host's name.
        attend: What to do with a connection.
        forever: Whether to go on listening.

    Returns:
        The exit status: 3 if nobody came.
    """
    path = Path(place.replace("%h", socket.gethostname()))
    with _bound(path) as server:
        _log_beside(path)
        if forever:
            _serve_all(server, attend)
        waiting = poll()
        waiting.register(server, POLLIN)
        if not waiting.poll(PATIENCE * 1000):
            return 3
        control = server.accept()[0]
    path.unlink()
    return attend(control, None)


def _bound(path: Path) -> socket.socket:
    path.parent.mkdir(mode=0o777, parents=True, exist_ok=True)
    with suppress(FileNotFoundError):
        path.unlink()  # a predecessor's, whose process is gone
    server = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    server.bind(str(path))
    path.chmod(0o666)  # who may come here is decided by the directory around it
    server.listen()
    return server


def _log_beside(path: Path) -> None:
    with path.with_name("log").open("ab") as log:
        for fd in (1, 2):
            os.dup2(log.fileno(), fd)


def _serve_all(server: socket.socket, attend: Attend) -> None:
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps
    while True:
        with server.accept()[0] as control:
            if os.fork() == 0:
                server.close()
                signal.signal(signal.SIGCHLD, signal.SIG_DFL)
                os._exit(attend(control, None))
