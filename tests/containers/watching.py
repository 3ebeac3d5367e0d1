"""The targets of these tests, and a look at the processes of this machine."""

from __future__ import annotations

import time
from pathlib import Path

from makerspace.containers.session import Target

SERVICE, ROGUE = Target("services:Service"), Target("services:Rogue")


def parents():
    """Map each process id to that of its parent; zombies are left out."""
    found = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent, *_ = stat.read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if state != "Z":
            found[int(stat.parent.name)] = int(parent)
    return found


def descendants(pid):
    """Return the ids of all living processes below one."""
    parent_of = parents()
    found, layer = set(), {pid}
    while layer := {child for child, parent in parent_of.items() if parent in layer}:
        found |= layer
    return found


def wait_until(condition):
    """Wait for something that must happen; fail when it does not."""
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)
