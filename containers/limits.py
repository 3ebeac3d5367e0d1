"""How much a sandbox may take of what it shares with others: processes, descriptors, the length of a file."""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path

PROCESSES = 512
"""Processes and threads of all sandboxes of one warmed parent."""
DESCRIPTORS = 1024
FILE = 1 << 30
"""Bytes that one file may have."""
UNIFIED = "/sys/fs/cgroup"


def apply(already: int | None) -> None:
    """Take on the limits.

    Args:
        already: Processes that this user has besides the sandboxes, as far as the kernel counts them together;
            ``None`` to set no limit on processes.
    """
    if already is not None:
        lower("NPROC", already + PROCESSES)
    lower("NOFILE", DESCRIPTORS)
    lower("FSIZE", FILE)


def lower(name: str, value: int) -> None:
    """Lower a limit for good, unless it is lower already."""
    kind = getattr(resource, f"RLIMIT_{name}")
    present = resource.getrlimit(kind)[1]
    value = value if present == resource.RLIM_INFINITY else min(value, present)
    resource.setrlimit(kind, (value, value))


def counted_together(tier: str) -> int | None:
    """Return how many processes and threads of this user count against a sandbox's limit without being in one.

    Before Linux 5.14 a limit inside of a user namespace counted all of a user's processes, which cannot be seen from
    there: then ``None``.
    """
    if tier == "namespaces":
        major, minor = (int(part) for part in os.uname().release.split("-")[0].split(".")[:2])
        return 0 if (major, minor) >= (5, 14) else None
    return sum(_threads(pid) for pid in os.listdir("/proc") if pid.isdigit())  # noqa: PTH208 - names are enough


def limit_bites() -> bool:
    """Try whether a limit on processes holds this process back, which must be one that may end."""
    resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
    try:
        child = os.fork()
    except OSError:
        return True
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return False


def open_group() -> int | None:
    """Make a control group for processes where this user may, for users whom no limit holds back: root.

    Returns:
        A descriptor for ``join_group``, or ``None`` where there can be no such group.
    """
    if os.geteuid() != 0:
        return None
    with suppress(OSError, StopIteration):
        above = _hierarchy()
        for left in above.glob("makerspace-*"):
            with suppress(OSError):  # it is in use
                left.rmdir()
        group = above / f"makerspace-{os.getpid()}"
        group.mkdir(exist_ok=True)
        (group / "pids.max").write_text(str(PROCESSES))
        return os.open(group / "cgroup.procs", os.O_WRONLY | os.O_CLOEXEC)
    return None


def join_group(group: int | None) -> None:
    """Move this process, and what it will start, into a group of ``open_group``, whose descriptor is closed."""
    if group is not None:
        with suppress(OSError):
            os.write(group, b"0")
        os.close(group)


def _hierarchy() -> Path:
    """Return this process's own place in the hierarchy that counts processes."""
    lines = [line.split(":", 2) for line in Path("/proc/self/cgroup").read_text().splitlines()]
    where = next(line for line in lines if line[1] in ("pids", ""))
    return Path(UNIFIED, where[1], where[2].lstrip("/"))


def _threads(pid: str) -> int:
    with suppress(OSError, StopIteration):
        if os.stat(f"/proc/{pid}").st_uid == os.getuid():  # noqa: PTH116
            lines = Path(f"/proc/{pid}/status").read_text().splitlines()
            return next(int(line.split()[1]) for line in lines if line.startswith("Threads:"))
    return 0
