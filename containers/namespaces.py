"""The tier ``namespaces``: what a sandbox can see and reach when the kernel lets an ordinary user build namespaces.

    warmed parent   new user, pid, mount, ipc, uts and network namespaces; every mount read-only; no device but five
                    harmless ones; everything but system and code covered; no way on into another user namespace. It
                    is process 1 of its pid namespace: when it ends, for whatever reason, the kernel ends all below it.
    each sandbox    new pid, mount, ipc and uts namespaces of its own; fresh tmpfs on /tmp, /var/tmp, /dev/shm and
                    /run; its own /proc; no capabilities and no way back to them.

The network namespace is shared by the sandboxes of one parent (a new one costs 1 to 10 ms); it has no interface that is
up. Where the kernel refuses a ``/proc`` of one's own, as in a container whose ``/proc`` is masked, the present one
stays: a sandbox then sees the numbers and names of the container's processes. What is given up besides says
``confine.py``.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path

from . import kernel, limits, sources
from .guard import fork_under_guard

WORKSPACE = "/tmp"  # noqa: S108 - a private tmpfs
COVERS = {
    WORKSPACE: "size=256m,nr_inodes=16k,mode=1777",
    "/var/tmp": "size=16m,mode=1777",  # noqa: S108
    "/dev/shm": "size=64m,mode=1777",  # noqa: S108
    "/run": "size=1m,mode=755",
}
"""Where a sandbox finds an empty tmpfs, with its limits."""
VISIBLE = {
    "/": (
        "bin",
        "dev",
        "etc",
        "gnu",
        "lib",
        "lib32",
        "lib64",
        "libx32",
        "nix",
        "opt",
        "proc",
        "sbin",
        "sys",
        "usr",
        "var",
    ),
    "/var": ("cache",),
}
"""What of these directories is not covered: files and sockets of services elsewhere are nobody's business."""
DEVICES = ("null", "zero", "full", "random", "urandom")
PROTECTED = ("sys", "sysrq-trigger", "irq", "bus", "fs", "acpi")
"""Entries of /proc that root may write without any capability."""

_state = {"own_proc": True}


def own_proc() -> bool:
    """Whether this process, one in the namespaces, has a ``/proc`` that shows these only."""
    return _state["own_proc"]


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
    group = limits.open_group()
    _enter(trainer)
    limits.join_group(group)


def _enter(trainer: int) -> None:
    user, group = os.geteuid(), os.getegid()
    kernel.unshare(kernel.NEWUSER | kernel.NEWNS | kernel.NEWPID | kernel.NEWNET | kernel.NEWIPC | kernel.NEWUTS)
    for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
        Path("/proc/self", name).write_text(text)
    fork_under_guard(trainer, grace=0.0)
    kernel.mount("none", "/", flags=kernel.REC | kernel.PRIVATE)
    kernel.make_tree_read_only("/")
    _mount_proc()
    with suppress(OSError):  # where /proc stays read-only; the system-call filter forbids them as well
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
    _cover_devices()
    _hide()
    _cover(COVERS, but_not=sys.path)  # what lies there could not be imported; the sandboxes cover it


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
    if own_proc():
        kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV)
        _protect_proc()
    _cover(COVERS)
    socket.sethostname("sandbox")
    kernel.drop_privileges()


def _try_all() -> None:
    watcher = os.pidfd_open(os.getppid())
    _enter(watcher)
    prepare_fork()
    child = os.fork()
    if child == 0:
        isolate()
        os._exit(0)
    os._exit(0 if os.waitpid(child, 0)[1] == 0 else 1)


def _mount_proc() -> None:
    try:
        kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV)
    except PermissionError:  # parts of the present one are masked, and a new one would show them
        _state["own_proc"] = False


def _protect_proc() -> None:
    for path in [f"/proc/{name}" for name in PROTECTED]:
        if os.path.exists(path):  # noqa: PTH110
            kernel.mount(path, path, flags=kernel.BIND | kernel.REC)
            _seal(path)


def _cover_devices() -> None:
    kept = {name: os.open(f"/dev/{name}", os.O_PATH) for name in DEVICES}
    kernel.mount("tmpfs", "/dev", "tmpfs", kernel.NOSUID, "size=1m,mode=755")
    for name, fd in kept.items():
        Path("/dev", name).touch()
        kernel.mount(f"/proc/self/fd/{fd}", f"/dev/{name}", flags=kernel.BIND)
        os.close(fd)
    Path("/dev/shm").mkdir()  # noqa: S108
    Path("/dev/fd").symlink_to("/proc/self/fd")
    _seal("/dev")


def _hide() -> None:
    """Cover what is not to be seen with something empty that nobody can write to, and put back the code in it."""
    places = [f"{above.rstrip('/')}/{name}" for above in VISIBLE for name in os.listdir(above)]  # noqa: PTH208
    shown = {f"{above.rstrip('/')}/{name}" for above, names in VISIBLE.items() for name in names}
    for place in sorted({*places} - shown - COVERS.keys() - {*sys.path}):
        if os.path.isdir(place) and not os.path.islink(place):  # noqa: PTH112, PTH114
            _cover({place: "size=1m,mode=755"})
            _seal(place)


def _seal(place: str) -> None:
    """Make one mount read-only."""
    kernel.mount("none", place, flags=kernel.BIND | kernel.REMOUNT | kernel.RDONLY | kernel.NOSUID | kernel.NODEV)


def _cover(places: Mapping[str, str], but_not: Collection[str] = ()) -> None:
    """Mount an empty tmpfs over each place, and put back the code that happens to lie there."""
    for place, options in places.items():
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
    found = {path for path in sources.directories() if path.startswith(place + "/")}
    outermost = [path for path in found if not any(path.startswith(other + "/") for other in found)]
    return sorted(outermost)
