"""What a clean sandbox looks like: digests of everything that an episode could leave behind for the next one.

A spare tells its fingerprint when it greets. All fingerprints of one warmed parent must be equal; one that differs says
that something reached the parent or its machine, and that no more sandboxes may come from there.
"""

from __future__ import annotations

import gc
import hashlib
import locale
import os
import random
import re
import resource
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 - private in the tier namespaces
_inherited: set[str] = set()
CREDENTIALS = ("Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp")


def fingerprint(tier: str, workspace: str) -> dict[str, str]:
    """Return the digest of each aspect of this process and what it can see.

    Args:
        tier: ``namespaces`` or ``plain``; the latter shares its machine's mounts and processes, which change.
        workspace: The sandbox's own directory.
    """
    aspects: dict[str, Callable[[], Iterable[object]]] = {
        "files": lambda: _files(PLACES if tier == "namespaces" else (workspace,), workspace),
        "environment": lambda: [(k, v.replace(workspace, "~")) for k, v in sorted(os.environ.items())],
        "place": lambda: [str(Path.cwd()).replace(workspace, "~"), _umask(), os.getpriority(os.PRIO_PROCESS, 0)],
        "limits": _limits,
        "descriptors": _descriptors,
        "credentials": lambda: _status(CREDENTIALS),
        "threads": lambda: _status(("Threads",)),
        "signals": _signals,
        "language": lambda: [locale.setlocale(locale.LC_ALL), time.tzname, sys.getfilesystemencoding()],
        "randomness": _randomness,
        "modules": lambda: [sorted(sys.modules), sys.path, len(sys.meta_path)],
        "interpreter": _interpreter,
    }
    if tier == "namespaces":
        aspects |= {
            "mounts": lambda: sorted(_mounts() - _inherited),
            "processes": _processes,
            "name": lambda: [socket.gethostname()],
        }
    return {name: _digest(look()) for name, look in aspects.items()}


def disregard_mounts() -> None:
    """Leave out, in all later forks of this process, the mounts that it has now: the machine may take them away."""
    _inherited.update(_mounts())


def differences(one: dict[str, str], other: dict[str, str]) -> list[str]:
    """Return the names of the aspects in which two fingerprints differ."""
    return sorted(name for name in one.keys() | other.keys() if one.get(name) != other.get(name))


def _digest(parts: Iterable[object]) -> str:
    return hashlib.blake2b(repr(list(parts)).encode(), digest_size=6).hexdigest()


def _files(places: Iterable[str], workspace: str) -> Iterable[object]:
    for place in places:
        for folder, folders, names in os.walk(place):
            if folder in sys.path:  # code that happens to lie there
                folders.clear()
                continue
            for name in sorted(folders + names):
                found = os.lstat(f"{folder}/{name}")
                yield folder.replace(workspace, "~"), name, oct(found.st_mode), found.st_uid, found.st_size


def _umask() -> int:
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _limits() -> Iterable[object]:
    return [resource.getrlimit(getattr(resource, name)) for name in sorted(vars(resource)) if name.startswith("RLIMIT")]


def _descriptors() -> Iterable[object]:
    for fd in sorted(map(int, os.listdir("/proc/self/fd"))):  # noqa: PTH208 - names are enough
        try:
            kind = re.sub(r"\d+", "", os.readlink(f"/proc/self/fd/{fd}"))  # noqa: PTH115
            yield min(fd, 3), kind, os.get_inheritable(fd)
        except OSError:
            continue  # the listing's own


def _status(wanted: tuple[str, ...]) -> Iterable[object]:
    return [line for line in Path("/proc/self/status").read_text().splitlines() if line.partition(":")[0] in wanted]


def _signals() -> Iterable[object]:
    handlers = [(int(number), str(signal.getsignal(number))) for number in sorted(signal.valid_signals())]
    return [*handlers, sorted(signal.pthread_sigmask(signal.SIG_BLOCK, ())), signal.getitimer(signal.ITIMER_REAL)]


def _randomness() -> Iterable[object]:
    numpy = sys.modules.get("numpy.random")
    return [random.getstate(), str(numpy.get_state()) if numpy is not None else ""]


def _interpreter() -> Iterable[object]:
    hooks = (sys.excepthook is sys.__excepthook__, sys.gettrace(), sys.getprofile(), len(sys.path_hooks))
    streams = [type(stream).__name__ for stream in (sys.stdin, sys.stdout, sys.stderr)]
    return [hooks, streams, sys.getrecursionlimit(), sys.getswitchinterval(), gc.isenabled(), gc.get_threshold()]


def _mounts() -> set[str]:
    lines = [line.split() for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return {" ".join([*fields[3:6], *fields[fields.index("-") + 1 :]]) for fields in lines}


def _processes() -> Iterable[object]:
    if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115 - a /proc of all, which others change: it was masked
        return []
    return [name for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are enough
