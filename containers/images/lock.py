"""Pins what the images depend on: ``python -m makerspace.containers.images.lock`` writes ``requirements/*.txt``.

Versions are what pip resolves for Python 3.11 today; hashes are those of every wheel of that version on PyPI that could
be meant (any platform), so that the same file serves all architectures. PyTorch is left out: which build of it, says
the image's ``TORCH``.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import httpx
from pip._internal.models.index import PyPI  # pyright: ignore[reportMissingTypeStubs]

from . import CHECKOUT, EXTRAS, IMAGES

UNUSED = frozenset(
    (
        *("contourpy", "cycler", "kiwisolver", "llvmlite", "matplotlib", "numba", "pillow", "python-dateutil", "scipy"),
        *("trame", "trame-client", "trame-common", "trame-components", "trame-server", "trame-vtk", "trame-vuetify"),
        *("aiohappyeyeballs", "aiohttp", "aiosignal", "attrs", "frozenlist", "more-itertools", "msgpack", "multidict"),
        *("propcache", "pyyaml", "six", "wslink", "yarl"),
    )
)
"""What CadQuery and VTK declare and a modelling session never imports: plots, compilers, viewers in a browser."""
PLOTTING = frozenset(("contourpy", "cycler", "kiwisolver", "matplotlib", "pillow", "python-dateutil", "pyyaml", "six"))
"""What of it the trainer uses."""
BUILD = "build"
"""The file with what building the library itself needs."""
JSON = {"Accept": "application/vnd.pypi.simple.v1+json"}
FITTING = ("-cp311-", "-abi3-", "-none-any.whl", "-py3-none-", "-none-manylinux")


def resolve(extras: str) -> dict[str, str]:
    """Return the version of each distribution that the library needs with those extras, itself and PyTorch left out."""
    declared: dict[str, Any] = tomllib.loads((CHECKOUT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    if extras == BUILD:
        return _resolved(["setuptools>=77"])
    wanted = [*declared["dependencies"]]
    for extra in filter(None, extras.split(",")):
        wanted += [one for one in declared["optional-dependencies"][extra] if not one.startswith("torch")]
    return _resolved(wanted)


def _resolved(wanted: list[str]) -> dict[str, str]:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed", "--report", "-"]
    report = subprocess.run([*command, *wanted], check=True, capture_output=True, text=True).stdout  # noqa: S603
    found: list[dict[str, Any]] = [one["metadata"] for one in json.loads(report)["install"]]
    return {one["name"].lower().replace("_", "-"): one["version"] for one in found}


def hashes(name: str, version: str) -> list[str]:
    """Return the SHA-256 sums of the version's wheels that run on Python 3.11."""
    files: list[dict[str, Any]] = httpx.get(f"{PyPI.simple_url}/{name}/", headers=JSON, timeout=60).json()["files"]
    stems = {f"{name.replace('-', '_')}-{version}-", f"{name}-{version}-"}
    wheels = [one for one in files if one["filename"].lower().startswith(tuple(stems))]
    fitting = [one for one in wheels if any(part in one["filename"] for part in FITTING)]
    return sorted(one["hashes"]["sha256"] for one in fitting)


def lock(world: str) -> str:
    """Return the text of an image's requirements file."""
    lines = ["# Made by `python -m makerspace.containers.images.lock`."]
    needed = resolve(EXTRAS.get(world, world))
    for name, version in sorted(needed.items()):
        if name in UNUSED and not (name in PLOTTING and world == "train"):
            continue
        sums = [f"    --hash=sha256:{digest}" for digest in hashes(name, version)]
        lines.append(" \\\n".join([f"{name}=={version}", *sums]))
    return "\n".join(lines) + "\n"


def main() -> None:
    """Write the requirements of every image."""
    for world in (*EXTRAS, BUILD):
        Path(IMAGES, "requirements", f"{world}.txt").write_text(lock(world), encoding="utf-8")


if __name__ == "__main__":
    main()
