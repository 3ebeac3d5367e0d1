"""The system calls that no sandbox may make, as a filter program for the kernel (seccomp).

Everything else is allowed: compilers, interpreters, version control and their like need nothing from this list. The
program is built once, by libseccomp (part of every Debian), which knows the numbers of this machine's architecture;
loading it costs a process a fraction of a millisecond.
"""

from __future__ import annotations

import ctypes
import errno
import os
from typing import NamedTuple

DENIED = {
    "mounts": "mount umount umount2 pivot_root chroot fsopen fsconfig fsmount fspick move_mount open_tree "
    "open_tree_attr mount_setattr statmount listmount",
    "namespaces": "unshare setns",
    "other processes": "ptrace process_vm_readv process_vm_writev process_madvise process_mrelease pidfd_getfd kcmp "
    "move_pages migrate_pages",
    "kernel interfaces": "bpf perf_event_open userfaultfd io_uring_setup io_uring_enter io_uring_register add_key "
    "request_key keyctl memfd_secret modify_ldt lookup_dcookie syslog fanotify_init fanotify_mark quotactl quotactl_fd "
    "nfsservctl",
    "files by handle": "name_to_handle_at open_by_handle_at",
    "modules and reboot": "init_module finit_module delete_module create_module get_kernel_syms query_module "
    "kexec_load kexec_file_load reboot swapon swapoff acct",
    "clocks": "settimeofday clock_settime clock_settime64 clock_adjtime clock_adjtime64 adjtimex stime",
    "hardware": "iopl ioperm vhangup vm86 vm86old pciconfig_read pciconfig_write pciconfig_iobase",
    "the machine": "sethostname setdomainname mbind set_mempolicy set_mempolicy_home_node uselib ustat sysfs _sysctl",
}
"""Calls by what they reach; they fail with ``EPERM``."""
COUNT = sum(len(names.split()) for names in DENIED.values()) + 1
"""How many there are, with ``clone3``; of a few more some arguments are denied."""
IN_COMPANY = {
    "what outlives its maker": "shmget semget msgget mq_open",
    "limits of other processes": "prlimit64",
}
"""Calls that are denied besides where a sandbox shares its machine: the second kind only for another process."""
NUMBERS = {
    "process_mrelease": 448,
    "set_mempolicy_home_node": 450,
    "statmount": 457,
    "listmount": 458,
    "open_tree_attr": 467,
}
"""Calls that an older libseccomp does not know; their numbers are the same on every architecture."""
NEW_NAMESPACES = (0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000)
"""The flags of ``clone`` that make namespaces."""
UNIX, INET, INET6 = 1, 2, 10

_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NE, _EQ, _GT, _MASKED_EQ = 1, 4, 6, 7
_OPTIMIZE = 8
_INT = 0xFFFFFFFF


class Test(NamedTuple):
    """A condition on one argument of a call."""

    argument: int
    operator: int
    value: int
    other: int = 0


class _Comparison(ctypes.Structure):
    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("value", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
    )


def program(alone: bool) -> bytes:
    """Return the filter.

    Args:
        alone: Whether a sandbox has namespaces of its own. It may then make sockets of the families Unix and Internet;
            otherwise only connected pairs, and nothing that its machine's other processes could notice.

    Raises:
        OSError: If there is no libseccomp, or it refuses.
    """
    seccomp = library()
    context = seccomp.seccomp_init(_ALLOW)
    try:
        seccomp.seccomp_attr_set(ctypes.c_void_p(context), _OPTIMIZE, 2)  # a tree instead of a list, where it can
        for names in DENIED.values():
            for name in names.split():
                _deny(seccomp, context, name, errno.EPERM)
        _deny(seccomp, context, "clone3", errno.ENOSYS)  # its flags lie in memory; C libraries then use clone
        for flag in NEW_NAMESPACES:
            _deny(seccomp, context, "clone", errno.EPERM, Test(0, _MASKED_EQ, flag, flag))
        _deny(seccomp, context, "personality", errno.EPERM, Test(0, _NE, _INT))
        for request in (0x5412, 0x541C):  # TIOCSTI and TIOCLINUX put words into somebody's terminal
            _deny(seccomp, context, "ioctl", errno.EPERM, Test(1, _MASKED_EQ, _INT, request))
        _deny_sockets(seccomp, context, alone)
        if not alone:
            _deny_company(seccomp, context)
        return _export(seccomp, context)
    finally:
        seccomp.seccomp_release(ctypes.c_void_p(context))


def _deny_company(library: ctypes.CDLL, context: int) -> None:
    for name in IN_COMPANY["what outlives its maker"].split():
        _deny(library, context, name, errno.EPERM)
    for name in IN_COMPANY["limits of other processes"].split():
        _deny(library, context, name, errno.EPERM, Test(0, _NE, 0))


def _deny_sockets(library: ctypes.CDLL, context: int, alone: bool) -> None:
    _deny(library, context, "socketpair", errno.EAFNOSUPPORT, Test(0, _NE, UNIX))
    if not alone:
        _deny(library, context, "socket", errno.EAFNOSUPPORT)
        return
    for family in set(range(INET6)) - {UNIX, INET}:
        _deny(library, context, "socket", errno.EAFNOSUPPORT, Test(0, _EQ, family))
    _deny(library, context, "socket", errno.EAFNOSUPPORT, Test(0, _GT, INET6))


def library() -> ctypes.CDLL:
    """Return libseccomp.

    Raises:
        OSError: If there is none.
    """
    loaded = ctypes.CDLL("libseccomp.so.2")
    loaded.seccomp_init.restype = ctypes.c_void_p
    return loaded


def _deny(library: ctypes.CDLL, context: int, name: str, error: int, *tests: Test) -> None:
    number = library.seccomp_syscall_resolve_name(name.encode())
    if number < 0:
        number = NUMBERS.get(name, -1)
    if number < 0:
        return  # this architecture has no such call
    comparisons = (_Comparison * max(1, len(tests)))(*(_Comparison(*test) for test in tests))
    result = library.seccomp_rule_add_array(
        ctypes.c_void_p(context), ctypes.c_uint32(_ERRNO | error), number, len(tests), comparisons
    )
    if result < 0:
        raise OSError(-result, f"libseccomp takes no rule for {name}: {os.strerror(-result)}")


def _export(library: ctypes.CDLL, context: int) -> bytes:
    fd = os.memfd_create("filter")
    try:
        result = library.seccomp_export_bpf(ctypes.c_void_p(context), fd)
        if result < 0:
            raise OSError(-result, f"libseccomp exports no program: {os.strerror(-result)}")
        os.lseek(fd, 0, os.SEEK_SET)
        return os.read(fd, 1 << 20)
    finally:
        os.close(fd)
