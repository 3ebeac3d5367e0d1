"""What a sandbox gives up last, in both tiers: privileges, files that it does not need, system calls, plenty.

    no_new_privs   and no capabilities: nothing that it starts gets more rights than it has
    Landlock       it reads programs, libraries and code, and writes in its own places only; no TCP, and no signal to,
                   memory of, or abstract socket of a process outside (``landlock.py``)
    system calls   those that ordinary programs do without fail (``syscalls.py``)
    limits         on processes, descriptors and the length of a file (``limits.py``)

Each layer is there where the kernel has it; ``layers`` says which. What can be computed beforehand is computed once, in
the warmed parent (``prepare``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from . import kernel, landlock, limits, sources, syscalls

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/proc", "/nix/store", "/gnu/store"),
    *("/sys/devices/system/cpu", "/sys/devices/system/node", "/sys/kernel/mm/transparent_hugepage"),
    *("/var/cache/fontconfig", "/var/lib/texmf"),
)
"""What programs read anywhere."""
SETTINGS = (
    *("alternatives", "bash.bashrc", "debian_version", "fonts", "gitconfig", "group", "host.conf", "hosts", "inputrc"),
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "locale.alias", "localtime", "magic", "mime.types"),
    *("nsswitch.conf", "os-release", "passwd", "profile", "profile.d", "protocols", "resolv.conf", "services"),
    *("shells", "ssl/certs", "ssl/openssl.cnf", "terminfo", "timezone", "wgetrc", "xdg", "OpenCL", "vulkan"),
)
"""What they read in /etc; passwords, keys and the machine's own settings are not among it."""
DEVICES = ("null", "zero", "full", "random", "urandom")
PRIVATE = ("/tmp", "/var/tmp", "/dev/shm", "/run")  # noqa: S108 - what namespaces.COVERS covers
"""Where a sandbox with a mount namespace of its own may write."""


@dataclass(frozen=True)
class Layer:
    """One line of defence."""

    name: str
    works: bool
    note: str
    """What it does here, or why it does not."""


@dataclass(frozen=True)
class Plan:
    """What was computed beforehand."""

    tier: str
    program: bytes | None
    """The filter of system calls."""
    landlock: int
    """Its version, or 0."""
    grants: tuple[tuple[str, int], ...]
    """What every sandbox may read, and the devices that it may use."""
    processes: int | None
    """See ``limits.apply``."""


_plans: dict[str, Plan] = {}


def prepare(tier: str) -> None:
    """Compute what can be computed before the first fork, once everything was imported.

    What holds for this process and its sandboxes alike is done at once: it then costs them nothing.
    """
    _plans[tier] = _plan(tier)
    if tier == "plain":  # to the other tier's parents /sys is read-only by now; they have joined
        limits.join_group(limits.open_group())
    kernel.bound_capabilities()


def confine(tier: str, workspace: str) -> None:
    """Give up everything that this process, a sandbox, does not need. For good.

    Args:
        tier: ``namespaces`` or ``plain``.
        workspace: The directory in which it may write.
    """
    plan = _plans.get(tier) or _plan(tier)
    kernel.drop_privileges()
    limits.apply(plan.processes)
    if plan.landlock:
        own = {workspace, *(PRIVATE if tier == "namespaces" else ())}
        landlock.restrict((*plan.grants, *((path, landlock.WRITE) for path in own)), plan.landlock)
    if plan.program is not None:
        kernel.filter_system_calls(plan.program)


def layers() -> list[Layer]:
    """Try each layer on this machine, in processes that end at once."""
    return [
        _layer("system-call filter", _try_filter, f"{syscalls.COUNT} system calls fail"),
        _layer("Landlock", _try_landlock, "files, TCP, signals and sockets are restricted"),
        _layer("process limit", _try_processes, f"at most {limits.PROCESSES} processes"),
    ]


def _plan(tier: str) -> Plan:
    program, version = None, 0
    with suppress(OSError):
        program = syscalls.program(alone=tier == "namespaces")
    with suppress(OSError):
        version = landlock.abi()
    return Plan(tier, program, version, tuple(_grants()), limits.counted_together(tier))


def _grants() -> Iterator[tuple[str, int]]:
    """Yield what there is of what may be read, without what lies in another such place; then the devices."""
    wanted = [*SYSTEM, *sources.readable(), *(f"/etc/{name}" for name in SETTINGS)]
    found = {os.path.realpath(path) for path in wanted if os.path.exists(path)}  # noqa: PTH110
    for path in sorted(found):
        if not sources.below(os.path.dirname(path), found):  # noqa: PTH120
            yield path, landlock.READ if os.path.isdir(path) else landlock.READ & landlock.OF_FILES  # noqa: PTH112
    for name in DEVICES:
        yield f"/dev/{name}", landlock.WRITE & landlock.OF_FILES


def _layer(name: str, attempt: Callable[[], str], does: str) -> Layer:
    """Try a layer in a fork; what it returns or raises tells why it does not work."""
    reading, writing = os.pipe()
    if (trial := os.fork()) == 0:
        try:
            os.write(writing, attempt().encode())
        except BaseException as error:  # noqa: BLE001 - whatever it was is the answer
            os.write(writing, str(error).encode() or b"failed")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        said = pipe.read()
    os.waitpid(trial, 0)
    return Layer(name, not said, said or does)


def _try_filter() -> str:
    try:
        program = syscalls.program(alone=False)
    except OSError as error:
        return f"no filter can be made ({error}): install libseccomp2"
    kernel.drop_privileges()
    kernel.filter_system_calls(program)
    try:
        kernel.unshare(kernel.NEWUSER)
    except PermissionError:
        return ""
    return "the kernel does not obey it"


def _try_landlock() -> str:
    try:
        version = landlock.abi()
    except OSError as error:
        return f"the kernel has none ({error.strerror}): Linux 5.13 or newer, with landlock among its lsm="
    kernel.drop_privileges()
    landlock.restrict([], version)
    try:
        os.listdir("/")  # noqa: PTH208
    except PermissionError:
        lacks = [what for least, what in ((4, "TCP"), (6, "signals and abstract sockets")) if version < least]
        return f"version {version} of the kernel does not restrict {', '.join(lacks)}" if lacks else ""
    return "the kernel does not obey it"


def _try_processes() -> str:
    if limits.open_group() is not None:
        return ""
    kernel.drop_privileges()
    if limits.limit_bites():
        return ""
    return "no limit holds root back here, and no control group can be made: run as another user, or use `docker`"
