"""Sees to it that a trainer's containers end with it, also when it is killed between two calls of the engine.

The containers end by themselves when their trainer does (their connection breaks). What that misses is a container that
was created and not yet started, and the directories of sockets. So a small process watches the trainer and, once it has
ended, runs ``makerspace sandbox clean`` for what it owned. It costs one sleeping interpreter (8 MB) per trainer.
"""

from __future__ import annotations

import os
import subprocess
import sys
import uuid

_owners: dict[int, str] = {}

WATCH = """
import os, select, subprocess, sys, time
if os.fork():
    os._exit(0)
trainer, owner, path = int(sys.argv[1]), sys.argv[2], sys.argv[3]
try:
    waiting = select.poll()
    waiting.register(os.pidfd_open(trainer), select.POLLIN)
    waiting.poll()
except ProcessLookupError:
    pass
environment = dict(os.environ, PYTHONPATH=path)
for pause in (0.5, 5.0):  # what the engine was asked to create at the last moment may come late
    time.sleep(pause)
    subprocess.run([sys.executable, "-P", "-m", sys.argv[4], owner], env=environment, timeout=120)
"""


def watch() -> str:
    """Return this process's name as an owner; the first call starts the watch over it."""
    pid = os.getpid()
    if pid not in _owners:
        _owners[pid] = uuid.uuid4().hex[:12]
        path = os.pathsep.join(os.path.abspath(place) for place in sys.path)  # noqa: PTH100
        module = f"{__package__}.reaper"
        subprocess.run(  # noqa: S603 - the arguments are ours
            [sys.executable, "-I", "-S", "-c", WATCH, str(pid), _owners[pid], path, module],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            cwd="/",
            check=True,
        )
    return _owners[pid]
