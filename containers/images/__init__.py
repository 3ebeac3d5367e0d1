"""Images: what the containers of the runtime ``docker`` are started from, and how they are built from a checkout.

Every world has a folder with a ``Dockerfile`` and a pinned ``requirements/<world>.txt``. Wheels are collected on this
machine, by the pip that is configured here, and come in through the build context: a build needs no network of its own.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ..engine import engine
from ..session import RuntimeUnavailable

IMAGES = Path(__file__).parent
CHECKOUT = IMAGES.parents[1]
EXTRAS = {"terminal": "", "cad": "cad", "train": "cad,docker,train"}
"""The extras of the distribution that each image holds."""
SOURCE = ("pyproject.toml", "README.md", "LICENSE", "__init__.py", "__main__.py", "py.typed")
PACKAGES = ("cli", "containers", "envs", "policy", "rewards", "simulators", "traces")
TORCH = "torch>=2.4"
CODE = "makerspace.code"
"""The label with the digest of the code that an image holds."""


@dataclass(frozen=True)
class Built:
    """An image."""

    name: str
    id: str
    size: int
    """Bytes."""


def worlds() -> list[str]:
    """Return the names of the images that can be built."""
    return list(EXTRAS)


def image_name(world: str) -> str:
    """Return the name of a world's image that belongs to this version of the library."""
    return f"makerspace/{world}:{version('makerspace')}"


@cache
def code_digest(root: Path = CHECKOUT) -> str:
    """Return a digest of the library's modules, by which an image can be told that was built from other code."""
    digest = hashlib.sha256()
    modules = [path for package in PACKAGES for path in (root / package).rglob("*.py")]
    for path in sorted([*modules, root / "__init__.py"]):
        digest.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def check_code(image: Mapping[str, Any]) -> None:
    """Refuse an image of ours that was built from other code.

    Args:
        image: What the daemon knows of it.

    Raises:
        RuntimeUnavailable: If it was.
    """
    labels: Mapping[str, str] = image["Config"].get("Labels") or {}
    if labels.get(CODE, code_digest()) != code_digest():
        name, world = image["RepoTags"] or image["Id"], labels.get("makerspace.image", "")
        raise RuntimeUnavailable(f"the image {name} was built from other code: `makerspace sandbox build {world}`")


def build(
    world: str,
    base_image: str | None = None,
    wheels: Path | None = None,
    torch: str | None = None,
    say: Callable[[str], None] = print,
) -> Built:
    """Build the image of a world.

    Args:
        world: One of ``worlds()``.
        base_image: What it is built on, with Python 3.11; default: that of the Dockerfile.
        wheels: A folder of wheels to install from; default: they are collected by pip.
        torch: The requirement of PyTorch, for the image that has it.
        say: Is given each line of the build's log.

    Raises:
        RuntimeUnavailable: If the daemon, the base image or the checkout is missing, or the build fails.
    """
    if not (CHECKOUT / "pyproject.toml").exists():
        raise RuntimeUnavailable("images are built from a checkout of the project, not from an installed package")
    if base_image is not None:
        engine().image(base_image)
    arguments = {name: value for name, value in (("BASE_IMAGE", base_image), ("TORCH", torch)) if value is not None}
    with tempfile.TemporaryDirectory() as folder:
        context = Path(folder)
        _copy_source(context)
        _collect(world, wheels, torch, context / "wheels")
        _run(context, world, arguments, say)
    found = engine().image(image_name(world))
    return Built(image_name(world), found["Id"], found["Size"])


def _source() -> Iterator[Path]:
    yield from (path for name in SOURCE if (path := CHECKOUT / name).exists())
    for package in PACKAGES:
        for path in (CHECKOUT / package).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path


def _copy_source(context: Path) -> None:
    for path in _source():
        target = context / path.relative_to(CHECKOUT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, target)


def _collect(world: str, wheels: Path | None, torch: str | None, folder: Path) -> None:
    """Put the wheels of an image into the build context."""
    if wheels is not None:
        shutil.copytree(wheels, folder)
        return
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary", ":all:", "--dest", str(folder)]
    requirements = str(IMAGES / "requirements" / f"{world}.txt")
    building = str(IMAGES / "requirements" / "build.txt")
    orders = [["--no-deps", "--require-hashes", "-r", one] for one in (building, requirements)]
    if "train" in EXTRAS[world].split(","):
        orders.insert(0, [torch or TORCH])
    for order in orders:
        done = subprocess.run([*pip, *order], check=False, capture_output=True, text=True)  # noqa: S603
        if done.returncode:
            raise RuntimeUnavailable(f"pip could not collect the wheels of {world}: {done.stderr.strip()[-500:]}")


def _run(context: Path, world: str, arguments: dict[str, str], say: Callable[[str], None]) -> None:
    lines: Iterator[dict[str, Any]] = engine().api.build(
        path=str(context),
        dockerfile=f"containers/images/{world}/Dockerfile",
        tag=image_name(world),
        buildargs=arguments,
        labels={CODE: code_digest()},
        decode=True,
        rm=True,
        forcerm=True,
    )
    for line in lines:
        if text := line.get("stream", "").strip():
            say(text)
        if "error" in line:
            raise RuntimeUnavailable(f"the image of {world} could not be built: {line['error'].strip()}")
