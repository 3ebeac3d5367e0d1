"""Removes containers and directories that nobody owns any more (``python -m makerspace.containers.reaper OWNER``)."""

from __future__ import annotations

import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from .engine import Found, engine


def orphans(everything: bool = False) -> list[Found]:
    """Return our containers whose owner has ended; with ``everything`` all of ours.

    Raises:
        RuntimeUnavailable: If the daemon cannot be reached.
    """
    return [found for found in engine().find() if everything or found.orphan]


def remove(found: list[Found]) -> None:
    """Remove containers and the directories of their sockets, a few at a time."""
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(engine().remove, [one.id for one in found]))
    for owner in {one.labels.get("makerspace.owner", "") for one in found}:
        remove_directories(owner)


def remove_directories(owner: str) -> None:
    """Remove the directories of one owner's sockets."""
    if owner.isalnum():
        for path in Path(tempfile.gettempdir()).glob(f"makerspace-{owner}-*"):
            shutil.rmtree(path, ignore_errors=True)


def main(owner: str) -> None:
    """Remove everything of one owner."""
    remove(engine().find(owner))
    remove_directories(owner)


if __name__ == "__main__":
    main(sys.argv[1])
