"""The Docker engine, as the runtime needs it: reach it, and start, list and remove containers that are ours.

Every container carries labels that say whose it is, so that what a dead owner left can be found and removed by anyone.
Lifecycle calls are few at a time: beyond its number of cores the daemon only gets slower (measured: 2.5 a second).
"""

from __future__ import annotations

import os
import platform
import threading
import time
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from socket import AF_UNIX, SOCK_STREAM, socket
from typing import Any, cast

from .session import RuntimeUnavailable, SandboxLost

PREFIX = "makerspace."
DEFAULT = "unix:///var/run/docker.sock"
SECONDS = 30.0
"""What one call of the daemon may take."""
_turn = threading.BoundedSemaphore(os.cpu_count() or 1)


@dataclass(frozen=True)
class Found:
    """One of our containers."""

    id: str
    labels: Mapping[str, str]
    state: str
    """``created``, ``running``, ``exited``, ..."""
    created: float
    """Seconds since the epoch."""

    @property
    def orphan(self) -> bool:
        """Whether its owner was a process of this machine and has ended."""
        return self.labels.get(PREFIX + "machine") == machine() and not _lives(
            self.labels.get(PREFIX + "pid", ""), self.labels.get(PREFIX + "born", "")
        )


class Engine:
    """A connection to the daemon that the environment names (``DOCKER_HOST``), as the ``docker`` program does.

    Raises:
        RuntimeUnavailable: If the SDK is missing, no daemon answers, or it refuses this user.
    """

    def __init__(self) -> None:
        try:
            import docker
        except ModuleNotFoundError:
            advice = "the runtime 'docker' needs the Docker SDK: pip install 'makerspace[docker]'"
            raise RuntimeUnavailable(advice) from None
        with _explained():
            _knock(os.environ.get("DOCKER_HOST") or DEFAULT)
            self._client = docker.from_env(timeout=int(SECONDS))
            self._client.ping()
        self.api = cast("Any", self._client.api)

    def image(self, name: str) -> dict[str, Any]:
        """Return what the daemon knows of an image.

        Raises:
            RuntimeUnavailable: If there is no such image.
        """
        try:
            with _explained():
                return self.api.inspect_image(name)
        except _errors().ImageNotFound:
            world = name.partition(":")[0].rpartition("/")[2]
            raise RuntimeUnavailable(
                f"there is no image {name!r}: build it with `makerspace sandbox build {world}`, or name another one"
            ) from None

    def start(self, image: str, command: list[str], host: Mapping[str, Any], **config: Any) -> str:
        """Create and start a container; return its id. One that does not start is removed.

        Args:
            image: The image's name.
            command: Arguments of its entry point.
            host: The daemon's ``HostConfig``.
            config: Other arguments of the SDK's ``create_container``.

        Raises:
            SandboxLost: If the daemon refuses or does not answer.
        """
        with _turn, _refusals("start"):
            made = self.api.create_container(image, command, host_config=dict(host), **config)["Id"]
            try:
                self.api.start(made)
            except BaseException:
                self.remove(made)
                raise
            return made

    def words(self, image: str, command: list[str], host: Mapping[str, Any], **config: Any) -> str:
        """Start such a container once more, and return what it prints before it ends."""
        logged = {"AutoRemove": False, "LogConfig": {"Type": "json-file", "Config": {"max-size": "1m"}}}
        made = self.start(image, command, {**host, **logged}, **config)
        try:
            with _refusals("watch"):
                self.api.wait(made, timeout=10)
                return self.api.logs(made, tail=20).decode(errors="replace").strip()
        finally:
            self.remove(made)

    def state(self, container: str) -> str:
        """Return the state of a container; ``gone`` if there is none."""
        try:
            with _refusals("inspect"):
                return self.api.inspect_container(container)["State"]["Status"]
        except (SandboxLost, _errors().NotFound):
            return "gone"

    def find(self, owner: str | None = None) -> list[Found]:
        """Return our containers, those of one owner or all."""
        label = PREFIX + "owner" + ("" if owner is None else f"={owner}")
        with _explained():
            listed = self.api.containers(all=True, filters={"label": label})
        return [Found(one["Id"], one["Labels"], one["State"], float(one["Created"])) for one in listed]

    def remove(self, container: str) -> None:
        """Remove a container whatever it does; nothing happens if it is gone, or on its way."""
        for attempt in range(5):
            try:
                with _turn:
                    self.api.remove_container(container, force=True, v=True)
            except _errors().NotFound:
                return
            except _errors().APIError as error:
                if error.status_code == 409:  # it is being removed already
                    return
                time.sleep(0.2 * 2**attempt)
            except OSError:  # the daemon went away for a moment
                time.sleep(0.2 * 2**attempt)
            else:
                return


def _knock(where: str) -> None:
    """Connect to a daemon's socket once: the SDK would leave a connection open that failed."""
    if where.startswith("unix://"):
        with socket(AF_UNIX, SOCK_STREAM) as door:
            door.connect(where.removeprefix("unix://"))


def _errors() -> Any:
    """Return the SDK's exceptions, which it does not type."""
    return import_module("docker.errors")


_engines: dict[int, Engine] = {}


def engine() -> Engine:
    """Return this process's connection to the daemon; see ``Engine``."""
    if os.getpid() not in _engines:
        _engines[os.getpid()] = Engine()
    return _engines[os.getpid()]


@cache
def machine() -> str:
    """Return a name of this boot of this machine and its process ids' namespace."""
    try:
        return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116
    except OSError:
        return platform.node()


def ownership(owner: str, world: str) -> dict[str, str]:
    """Return the labels of a container that this process owns."""
    own = {"owner": owner, "world": world, "pid": str(os.getpid()), "born": _born(os.getpid()), "machine": machine()}
    return {PREFIX + name: value for name, value in own.items()}


def _born(pid: int) -> str:
    """Return when a process started, in the kernel's ticks; empty if there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _lives(pid: str, born: str) -> bool:
    return pid.isdigit() and born != "" and _born(int(pid)) == born


@contextmanager
def _explained() -> Generator[None]:
    """Turn failures to reach the daemon into sentences that say what to do."""
    where = os.environ.get("DOCKER_HOST") or DEFAULT
    try:
        yield
    except _errors().NotFound:
        raise
    except (_errors().DockerException, OSError) as error:
        if "permission denied" in str(error).lower():
            advice = "this user may not use it: join the group `docker`, or run Docker rootless"
        else:
            advice = "is it running? (`systemctl start docker`; DOCKER_HOST says where it is)"
        raise RuntimeUnavailable(f"no Docker daemon answers at {where}: {advice} [{error}]") from error


@contextmanager
def _refusals(what: str) -> Generator[None]:
    """Turn what the daemon refuses, once it has been reached, into a lost sandbox."""
    try:
        yield
    except _errors().NotFound:
        raise
    except (_errors().DockerException, OSError) as error:
        raise SandboxLost(f"Docker could not {what} a container: {error}") from error
