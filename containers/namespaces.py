"""The tier ``namespaces``: what a sandbox can see and reach when the kernel lets an ordinary user build namespaces.

    warmed parent   new user, pid, mount, ipc, uts and network namespaces; every mount read-only; no device but five
                    harmless ones; no way on into another user namespace. It is process 1 of its pid namespace: when
                    it ends, for whatever reason, the kernel ends all below it.
    each sandbox    new pid, mount, ipc and uts namespaces of its own; fresh tmpfs on /tmp, /var/tmp, /dev/shm and
                    /run; its own /proc; no capabilities and no way back to them.

The network namespace is shared by the sandboxes of one parent (a new one costs 1 to 10 ms); it has no interface that is
up. Not covered: there is no system-call filter, no limit on the number of processes, and the files that this user may
read can be read.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection
from pathlib import Path

from . import kernel
from .guard import fork_under_guard

WORKSPACE = "/tmp"  # noqa: S108 - a private tmpfs
COVERS = {
    WORKSPACE: "size=256m,nr_inodes=16k,mode=1777",
    "/var/tmp": "size=16m,mode=1777",  # noqa: S108
    "/dev/shm": "size=64m,mode=1777",  # noqa: S108
    "/run": "size=1m,mode=755",
}
"""Where a sandbox finds an empty tmpfs, with its limits."""
DEVICES = ("null", "zero", "full", "random", "urandom")
PROTECTED = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi")
"""Entries of /proc that root may write without any capability."""


def available() -> bool:
    """Try the whole of it once, in processes that end at once."""
    trial = os.fork()
    if trial == 0:
        status = 1
        try:
            _try_all()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(trial, 0)[1] == 0


def enter(trainer: int) -> None:
    """Return in a process that is number 1 of new namespaces; the caller itself stays behind on guard for good.

    Args:
        trainer: A pidfd of the process with which everything here ends.
    """
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEWUSER | kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(text)
    fork_under_guard(trainer, grace=0.0)
    kernel.mount("none", "/", flags=kernel.REC | kernel.PRIVATE)
    kernel.make_tree_read_only("/")
    kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV)
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    _cover_devices()
    _cover(but_not=sys.path)  # what lies there could not be imported; the sandboxes cover it


def prepare_fork() -> None:
    """Let the next fork of this process be number 1 of a new pid namespace."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY)
    try:
        kernel.setns(own, kernel.NEWPID)  # the kernel allows no second unshare before the first is taken back
    finally:
        os.close(own)
    kernel.unshare(kernel.NEWPID)


def isolate() -> None:
    """Finish a fork made after ``prepare_fork``: its own mounts, and no privileges."""
    kernel.unshare(kernel.NEWNS | kernel.NEWIPC | kernel.NEWUTS)
    kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV)
    for name in PROTECTED:
        path = f"/proc/{name}"
        if os.path.exists(path):  # noqa: PTH110
            kernel.mount(path, path, flags=kernel.BIND | kernel.REC)
            kernel.mount(
                "none", path, flags=kernel.BIND | kernel.REMOUNT | kernel.RDONLY | kernel.NOSUID | kernel.NODEV
            )
    _cover()
    socket.sethostname("sandbox")
    kernel.drop_privileges()


def _try_all() -> None:
    watcher = os.pidfd_open(os.getppid())
    enter(watcher)
    prepare_fork()
    child = os.fork()
    if child == 0:
        isolate()
        os._exit(0)
    os._exit(0 if os.waitpid(child, 0)[1] == 0 else 1)


def _cover_devices() -> None:
    kept = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    kernel.mount("tmpfs", "/dev", "tmpfs", kernel.NOSUID, "size=1m,mode=755")
    for name, fd in kept.items():
        Path("/dev", name).touch()
        kernel.mount(f"/proc/self/fd/{fd}", f"/dev/{name}", flags=kernel.BIND)
        os.close(fd)
    Path("/dev/shm").mkdir()  # noqa: S108
    Path("/dev/fd").symlink_to("/proc/self/fd")


def _cover(but_not: Collection[str] = ()) -> None:
    """Mount an empty tmpfs over each place of ``COVERS``, and put back the code that happens to lie there."""
    for place, options in COVERS.items():
        if place in but_not or not Path(place).is_dir() or Path(place).is_symlink():
            continue
        kept = {path: os.open(path, os.O_PATH) for path in _code_below(place)}
        kernel.mount("tmpfs", place, "tmpfs", kernel.NOSUID | kernel.NODEV, options)
        for path, fd in kept.items():
            Path(path).mkdir(parents=True, exist_ok=True)
            kernel.mount(f"/proc/self/fd/{fd}", path, flags=kernel.BIND | kernel.REC)
            os.close(fd)


def _code_below(place: str) -> list[str]:
    """Return the directories below ``place`` from which this process imports, the outermost only."""
    sources = [*sys.path, sys.prefix, str(Path(__file__).parents[1])]
    found = {path for source in sources if (path := os.path.realpath(source)).startswith(place + "/")}
    outermost = [path for path in found if not any(path.startswith(other + "/") for other in found)]
    return sorted(path for path in outermost if Path(path).is_dir())
