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
import pwd
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from . import kernel, landlock, limits, syscalls

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
    code: tuple[str, ...]
    processes: int | None
    """See ``limits.apply``."""


_plans: dict[str, Plan] = {}


def prepare(tier: str) -> None:
    """Compute what can be computed before the first fork, once everything was imported."""
    _plans[tier] = _plan(tier)


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
        landlock.restrict(_grants(plan, workspace), plan.landlock)
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
        program = syscalls.program(sockets=tier == "namespaces")
    with suppress(OSError):
        version = landlock.abi()
    return Plan(tier, program, version, tuple(code_places()), limits.counted_together(tier))


def _grants(plan: Plan, workspace: str) -> Iterator[tuple[str, int]]:
    for path in (*SYSTEM, *plan.code):
        yield path, landlock.READ
    for name in SETTINGS:
        yield f"/etc/{name}", landlock.READ
    for name in DEVICES:
        yield f"/dev/{name}", landlock.WRITE
    for path in {workspace, *(PRIVATE if plan.tier == "namespaces" else ())}:
        yield path, landlock.WRITE


def code_places() -> list[str]:
    """Return where this process imports from: the outermost directories and files.

    An interpreter and its libraries are granted whole. Of any other place (a project's folder, somebody's home) only
    the modules and packages are, not what lies beside them.
    """
    whole = {os.path.realpath(path) for path in (sys.prefix, sys.exec_prefix, sys.base_prefix)}
    whole |= {os.path.realpath(path) for path in os.environ.get("LD_LIBRARY_PATH", "").split(":") if path}
    whole -= _too_much()
    found = set(whole)
    for place in _import_places():
        installed = os.path.basename(place) in ("site-packages", "dist-packages")  # noqa: PTH119
        if not _below(place, whole):
            found.update([place] if installed or os.path.isfile(place) else _modules_in(place))  # noqa: PTH113
    return sorted(path for path in found if not _below(os.path.dirname(path), found))  # noqa: PTH120


def _import_places() -> set[str]:
    """Return what is on the path, and where packages were found in other ways (as editable installs are)."""
    places = {os.path.realpath(path) for path in sys.path if path}
    for name, module in list(sys.modules.items()):
        if "." not in name:
            with suppress(Exception):  # a module may be any object
                places.update(os.path.realpath(path) for path in module.__path__)
    return places


def _modules_in(place: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            module = entry.name.endswith((".py", ".so")) or entry.name == "__pycache__"
            if module or os.path.exists(f"{entry.path}/__init__.py"):  # noqa: PTH110
                yield os.path.realpath(entry.path)


def _too_much() -> set[str]:
    """Return the directories that no setting of a path may open as a whole: the user's home and those above it."""
    homes = [os.path.expanduser("~")]  # noqa: PTH111
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return {str(path) for home in map(os.path.realpath, homes) for path in (Path(home), *Path(home).parents)}


def _below(path: str, places: set[str]) -> bool:
    return any(path == place or path.startswith(f"{place}/") for place in places)


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
        program = syscalls.program(sockets=False)
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
