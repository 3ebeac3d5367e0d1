"""The runtime ``docker``: the host loop in hardened containers, one warmed parent in each.

    this process  <--control socket in a bind-mounted directory-->  container: warmed parent  --fork-->  sandboxes
    session       <--a socket handed over through it------------------------------------------>  sandbox

The engine is asked to start and to remove containers and for nothing else; a reset or a call never waits for it, and
goes on while it is down. A container ends with this process, whatever way it ends, because its control connection does;
``watchdog.py`` and ``makerspace sandbox clean`` remove what not even that removes. Where ``sandboxes`` (or the variable
``MAKERSPACE_SANDBOXES``) names a directory, the containers are there already (``compose.yaml`` starts them), and no
engine is needed.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from socket import socket
from typing import Any

from .body import FIXED, Body, connected, last_words
from .engine import engine, ownership
from .forked import ForkedRuntime
from .hardening import SOCKETS, USER, Bounds, host_config
from .images import check_code, image_name
from .session import Json, RuntimeUnavailable, SandboxLost, Target
from .watchdog import watch

START = 60.0
"""Seconds that a container may take until its host loop listens."""
LIFETIME = 7 * 24 * 3600
"""Seconds after which a container ends by itself."""
EPISODES = 1000
"""Sandboxes that one container gives by default before another takes over."""
SANDBOXES = "MAKERSPACE_SANDBOXES"


class DockerRuntime(ForkedRuntime):
    """Opens services in containers.

    Args:
        image: The image; by default ``makerspace/<world>:<version>`` of the target's world.
        containers: Most containers per target; another is started when all are in use.
        episodes: Sandboxes that a container gives before it is replaced.
        bounds: What one container may take, as ``Bounds`` names it, e.g. ``{"memory": 2 << 30, "pids": 256}``.
        code: Directories to import from, mounted read-only: for services that no image has.
        engine_runtime: The engine's OCI runtime, such as ``runsc``.
        sandboxes: A directory in which the sockets of running sandbox containers are, one directory for each, whose
            name begins with its world.
        lifetime: Seconds after which a container ends by itself.
        options: See ``ForkedRuntime``.

    Raises:
        RuntimeUnavailable: If there is no SDK, no daemon, or no image; the message says what to do.
    """

    name = "docker"

    def __init__(
        self,
        image: str | None = None,
        containers: int = 1,
        episodes: int = EPISODES,
        bounds: Json | None = None,
        code: Sequence[str | Path] = (),
        engine_runtime: str | None = None,
        sandboxes: str | Path | None = None,
        lifetime: int = LIFETIME,
        **options: Any,
    ) -> None:
        given = sandboxes or os.environ.get(SANDBOXES)
        self._sandboxes = Path(given) if given else None
        super().__init__(parents=_count(self._sandboxes) or containers, episodes=episodes, **options)
        self._image, self._engine_runtime, self._lifetime = image, engine_runtime, lifetime
        self._bounds, self._code = Bounds(**(bounds or {})), [Path(path).resolve() for path in code]
        if self._sandboxes is None:
            engine()  # a machine without Docker should say so at once

    def _start(self, target: Target) -> Body:
        if self._sandboxes is not None:
            return GuestBody(self._sandboxes, target.world)
        image = self._image or image_name(target.world)
        return ContainerBody(image, target.world, self._bounds, self._code, self._engine_runtime, self._lifetime)


class ContainerBody:
    """A host loop in a container of its own."""

    def __init__(
        self, image: str, world: str, bounds: Bounds, code: Sequence[Path], engine_runtime: str | None, lifetime: int
    ) -> None:
        self._engine = engine()
        found = self._engine.image(image)
        check_code(found)
        owner = watch()
        self._home = Path(tempfile.mkdtemp(prefix=f"makerspace-{owner}-"))
        place = self._home / "sockets"
        place.mkdir()
        place.chmod(0o777)  # the container's user is another one; nobody else can enter the directory around it
        extra = [f"/code/{number}" for number in range(len(code))]
        self.place: Json = {"path": None, "extra": extra, "env": dict(FIXED)}
        self.facts: Json = {"image": image, "digest": found["Id"]}
        self._order: Json = {
            "image": image,
            "command": ["--listen", f"{SOCKETS}/control", "--lifetime", str(lifetime)],
            "host": host_config(place, bounds, code, engine_runtime),
            "entrypoint": ["python3", "-P", "-m", f"{__package__}.host"],
            "environment": dict(FIXED),
            "labels": ownership(owner, world),
            "user": USER,
            "working_dir": "/",
        }
        self._id = ""
        try:
            self._id = self._engine.start(**self._order)
            self.control = self._connected(place)
        except BaseException:
            self.end()
            raise

    @property
    def alive(self) -> bool:
        """Whether nothing is known to the contrary; a control socket that hung up tells when it is used."""
        return self.control.fileno() >= 0

    def words(self) -> str:
        """Return the last of what the host loop printed."""
        return last_words(self._home / "sockets" / "log")

    def end(self) -> None:
        """Remove the container and its directory."""
        if self._id:
            self._engine.remove(self._id)
        shutil.rmtree(self._home, ignore_errors=True)

    def forget(self) -> None:
        """Do nothing: what a fork forgets, its origin ends."""

    def _connected(self, place: Path) -> socket:
        until = time.monotonic() + START
        while self._engine.state(self._id) in ("created", "running") and time.monotonic() < until:
            for _ in range(10):
                with suppress(OSError):
                    return connected(place / "control")
                time.sleep(0.02)
        said = self.words() or self._engine.words(**self._order) or "nothing"
        raise SandboxLost(f"a container of {self._order['image']} does not listen; it said: {said}")


class GuestBody:
    """A host loop in a container that somebody else has started, and that serves one trainer after another."""

    def __init__(self, sandboxes: Path, world: str) -> None:
        self.place: Json = {"path": None, "extra": [], "env": dict(FIXED)}
        self.control, self._home = _free(sandboxes, world)
        self.facts: Json = {"container": self._home.name}

    @property
    def alive(self) -> bool:
        """Whether nothing is known to the contrary."""
        return self.control.fileno() >= 0

    def words(self) -> str:
        """Return the last of what the host loop printed."""
        return last_words(self._home / "log")

    def end(self) -> None:
        """Do nothing: the loop ends with its connection."""

    def forget(self) -> None:
        """Do nothing."""


_used: dict[str, int] = {}
"""How often this process has connected to each running sandbox container."""


def _free(sandboxes: Path, world: str) -> tuple[socket, Path]:
    """Connect to that container of a world which this process has used least."""
    found = sorted(sandboxes.glob(f"{world}-*/control"), key=lambda path: (_used.get(path.parent.name, 0), path.name))
    for path in found:
        try:
            control = connected(path)
        except OSError:
            continue
        _used[path.parent.name] = _used.get(path.parent.name, 0) + 1
        return control, path.parent
    raise RuntimeUnavailable(
        f"no sandbox container for {world!r} listens in {sandboxes}: start them (`docker compose up`), "
        f"or unset {SANDBOXES} to let containers be started here"
    )


def _count(sandboxes: Path | None) -> int:
    """Return how many containers of the best provided world there are."""
    if sandboxes is None:
        return 0
    worlds = [path.parent.name.partition("-")[0] for path in sandboxes.glob("*-*/control")]
    return max(map(worlds.count, worlds), default=1)
