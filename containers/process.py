"""The runtime ``process``: sandboxes forked from a warmed parent that is a child of this process.

How far a sandbox is kept apart is its ``tier``; see ``namespaces.py`` and ``confine.py``. In the tier ``plain`` a
sandbox runs as this user among this user's processes, and only its own directory is fresh. Linux only.
"""

from __future__ import annotations

import sys
from typing import Any

from .body import Body, ChildBody
from .forked import ForkedRuntime
from .session import RuntimeUnavailable, Target


class ProcessRuntime(ForkedRuntime):
    """Opens services in forked children of this process; see ``ForkedRuntime`` for the arguments.

    Raises:
        RuntimeUnavailable: On a machine without Linux.
    """

    name = "process"

    def __init__(self, **options: Any) -> None:
        if sys.platform != "linux":
            raise RuntimeUnavailable("the runtime 'process' needs Linux; 'inline' runs everywhere")
        super().__init__(**options)

    def _start(self, target: Target) -> Body:
        return ChildBody()
