"""How a sandbox's container is locked up: the daemon's ``HostConfig``.

Nothing is mounted but the directory with the control socket (and code, read-only, where asked). The engine's socket
never is. Which attempts this stops, and which not, says ``docs/security.md``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

USER = "1000:1000"
"""Whoever a container runs as; the images make the same user."""
SOCKETS = "/run/makerspace"
"""Where a container finds the directory with its control socket."""
PROFILE = Path(__file__).with_name("seccomp.json")
"""The system calls that a container may make."""
SCRATCH = {
    "/tmp": "rw,nosuid,nodev,size={scratch}m,nr_inodes=64k,mode=1777",  # noqa: S108
    "/var/tmp": "rw,nosuid,nodev,size=16m,mode=1777",  # noqa: S108
}


@dataclass(frozen=True)
class Bounds:
    """What one container may take."""

    memory: int = 4 << 30
    """Bytes, swap included."""
    pids: int = 512
    """Processes and threads."""
    cpus: float = 0.0
    """Cores; 0: all."""
    scratch: int = 512
    """MiB of temporary files outside of the sandboxes, which have their own."""


def host_config(
    sockets: Path, bounds: Bounds, code: Sequence[Path] = (), engine_runtime: str | None = None, own_proc: bool = True
) -> dict[str, Any]:
    """Return the ``HostConfig`` of a sandbox's container.

    Args:
        sockets: The directory for the control socket, on the daemon's machine.
        bounds: What the container may take.
        code: Directories that are mounted read-only as ``/code/0``, ``/code/1`` and so on.
        engine_runtime: The OCI runtime, such as ``runsc`` (gVisor); the daemon's default if ``None``.
        own_proc: Whether sandboxes shall be able to mount a ``/proc`` of their own, which the kernel allows only where
            the container's is not masked. The container has no capabilities, so that an unmasked one gives no more
            than any user of the machine has.
    """
    binds = [f"{sockets}:{SOCKETS}:rw", *(f"{path}:/code/{number}:ro" for number, path in enumerate(code))]
    config: dict[str, Any] = {
        "AutoRemove": True,
        "Binds": binds,
        "CapDrop": ["ALL"],
        "Init": True,
        "IpcMode": "private",
        "LogConfig": {"Type": "none", "Config": {}},
        "Memory": bounds.memory,
        "MemorySwap": bounds.memory,
        "NanoCpus": int(bounds.cpus * 1e9),
        "NetworkMode": "none",
        "PidsLimit": bounds.pids,
        "ReadonlyRootfs": True,
        "SecurityOpt": ["no-new-privileges", f"seccomp={PROFILE.read_text()}", *_apparmor()],
        "Tmpfs": {place: options.format(scratch=bounds.scratch) for place, options in SCRATCH.items()},
        "Ulimits": _ulimits({"nofile": 4096, "core": 0}),
    }
    if own_proc:
        config |= {"MaskedPaths": [], "ReadonlyPaths": []}
    return config if engine_runtime is None else config | {"Runtime": engine_runtime}


def _ulimits(limits: Mapping[str, int]) -> list[dict[str, Any]]:
    return [{"Name": name, "Soft": value, "Hard": value} for name, value in limits.items()]


def _apparmor() -> list[str]:
    """Return the option without which the engine's AppArmor profile forbids every mount, also to a user's own."""
    return ["apparmor=unconfined"] if os.path.exists("/sys/kernel/security/apparmor") else []  # noqa: PTH110
