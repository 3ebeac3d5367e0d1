"""Landlock: a process gives up most of the file system, for itself and all that it will start.

It needs no privilege, and Linux 5.13 or newer with Landlock switched on. What a version of the kernel cannot restrict
yet stays as it is; ``abi`` tells how much it can.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable

from . import kernel

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same on every architecture
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 2, 4, 8
_MAKE_DEVICES = 1 << 6 | 1 << 11
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
READ = _EXECUTE | _READ_FILE | _READ_DIR
"""Read and execute."""
WRITE = (1 << 16) - 1 - _MAKE_DEVICES
"""Everything but making device nodes."""
OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | _IOCTL_DEV
"""What of it can be granted on what is no directory."""
_TCP, _SCOPES = 3, 3
"""Binding and connecting; abstract Unix sockets and signals."""


def abi() -> int:
    """Return the version of Landlock that the kernel has.

    Raises:
        OSError: If it has none.
    """
    return kernel.syscall(_CREATE, None, ctypes.c_size_t(0), 1)


def restrict(grants: Iterable[tuple[str, int]], version: int) -> None:
    """Leave this process only what is granted; no TCP, and no signals or abstract sockets of others.

    Args:
        grants: Paths with what may be done at and below them (``READ``, ``WRITE``). What does not exist is passed over.
        version: What ``abi`` returned.

    Raises:
        OSError: If the kernel refuses, e.g. because new privileges are not ruled out.
    """
    handled = _handled(version)
    attributes = (ctypes.c_uint64 * 3)(handled, _TCP if version >= 4 else 0, _SCOPES if version >= 6 else 0)
    size = 24 if version >= 6 else 16 if version >= 4 else 8
    rules = kernel.syscall(_CREATE, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    try:
        for path, rights in grants:
            _add(rules, path, rights & handled)
        quiet = 1 if version >= 7 else 0  # a refusal is no news for the machine's audit log
        kernel.syscall(_RESTRICT, rules, quiet)
    finally:
        os.close(rules)


def _handled(version: int) -> int:
    missing = (_REFER if version < 2 else 0) | (_TRUNCATE if version < 3 else 0) | (_IOCTL_DEV if version < 5 else 0)
    return (1 << 16) - 1 & ~missing


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("rights", ctypes.c_uint64), ("fd", ctypes.c_int32))


def _add(rules: int, path: str, rights: int) -> None:
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        kernel.syscall(_ADD, rules, 1, ctypes.byref(_Beneath(rights, fd)), 0)
    finally:
        os.close(fd)
