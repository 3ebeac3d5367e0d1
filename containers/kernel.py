"""The few calls of the Linux kernel that Python 3.11 does not offer, and what processes here do with them.

Every function raises ``OSError`` if the kernel refuses. No policy is known here.
"""

from __future__ import annotations

import ctypes
import os
import resource
import signal
from contextlib import suppress
from pathlib import Path
from typing import Any

NEWNS, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
RDONLY, NOSUID, NODEV, REMOUNT, BIND, REC, PRIVATE = 1, 2, 4, 32, 4096, 16384, 1 << 18

_PDEATHSIG, _SECCOMP, _CAPBSET_READ, _CAPBSET_DROP, _CHILD_SUBREAPER, _NO_NEW_PRIVS = 1, 22, 23, 24, 36, 38
_MOUNT_SETATTR = 442
"""The same number on every architecture."""
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result == -1:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call by its number."""
    return _check(_libc.syscall(ctypes.c_long(number), *arguments), f"system call {number}")


def unshare(flags: int) -> None:
    """Leave the namespaces named by ``flags`` for new ones."""
    _check(_libc.unshare(flags), "unshare")


def setns(fd: int, kind: int) -> None:
    """Enter the namespace that ``fd`` names."""
    _check(_libc.setns(fd, kind), "setns")


def mount(source: str, target: str, kind: str = "", flags: int = 0, options: str = "") -> None:
    """Mount a file system, or change a mount; see the manual page of mount, section 2."""
    names = [text.encode() or None for text in (source, target, kind, options)]
    _check(_libc.mount(names[0], names[1], names[2], ctypes.c_ulong(flags), names[3]), f"mount {target}")


def make_tree_read_only(path: str) -> None:
    """Make every mount at and below ``path`` read-only and without set-uid programs."""
    here, recursive = -100, 0x8000
    attributes = (ctypes.c_uint64 * 4)(RDONLY | NOSUID, 0, 0, 0)  # struct mount_attr: set, clear, propagation, user
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    number = ctypes.c_long(_MOUNT_SETATTR)
    result = _libc.syscall(number, here, path.encode(), recursive, ctypes.byref(attributes), size)
    _check(result, f"mount_setattr {path}")


def die_with_parent() -> None:
    """Be killed when the thread that forked this process ends."""
    _check(_libc.prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0), "prctl")


def adopt_orphans() -> None:
    """Become the parent of descendants whose own parent ends."""
    _check(_libc.prctl(_CHILD_SUBREAPER, 1, 0, 0, 0), "prctl")


def bound_capabilities() -> None:
    """Let no program that this process or a descendant starts gain a capability; the present ones stay.

    Who lacks the right to do so gains none either, once new privileges are ruled out.
    """
    capability = 0
    while (present := _libc.prctl(_CAPBSET_READ, capability, 0, 0, 0)) >= 0:
        if present and _libc.prctl(_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            return
        capability += 1


def drop_privileges() -> None:
    """Give up every capability for good, for this process and all that it will start."""
    _check(_libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0), "prctl")
    bound_capabilities()
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _check(_libc.capset(header, none), "capset")


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def filter_system_calls(program: bytes) -> None:
    """Submit to a filter program (8 bytes per instruction) for good, with all that this process will start."""
    filtering = 2
    _check(_libc.prctl(_SECCOMP, filtering, ctypes.byref(_Program(len(program) // 8, program)), 0, 0), "prctl")


def limit(data: int | None) -> None:
    """Leave no core files, take at most ``data`` bytes of private memory, and be the first to go when memory ends."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if data is not None:
        resource.setrlimit(resource.RLIMIT_DATA, (data, data))
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")


def thread_count() -> int:
    """Threads of this process, those that Python does not know included."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names are enough


def private_memory() -> int:
    """Bytes of this process's memory that no file backs."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) << 10
    return 0


def own_children() -> list[int]:
    """Process ids of this process's children, adopted ones included. For a process of one thread."""
    listed = Path(f"/proc/self/task/{os.getpid()}/children")
    if listed.exists():
        return [int(pid) for pid in listed.read_text().split()]
    return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if _parent_of(pid) == os.getpid()]  # noqa: PTH208


def _parent_of(pid: int) -> int:
    with suppress(OSError):
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return -1


def pid_of(pidfd: int) -> int:
    """Return the process id behind a pidfd as this process sees it, or -1 if it has ended."""
    lines = Path(f"/proc/self/fdinfo/{pidfd}").read_text().splitlines()
    return next((int(line.split()[1]) for line in lines if line.startswith("Pid:")), -1)
