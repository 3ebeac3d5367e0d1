"""The runtimes by name. A new one is one module and one line in ``RUNTIMES``.

Runtimes are kept per process and options, so that many environments share one warmed parent.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .frames import dumps
from .session import Runtime

RUNTIMES = {
    "inline": ".inline:InlineRuntime",
    "process": ".process:ProcessRuntime",
    "docker": ".docker:DockerRuntime",
}
"""Each runtime's class as ``"module:class"``, relative to this package."""

_open: dict[tuple[str, bytes], Runtime] = {}


def open_runtime(name: str, **options: Any) -> Runtime:
    """Return the runtime of that name with those options; the same one for the same arguments.

    Args:
        name: ``inline``, ``process`` or ``docker``.
        options: Arguments of the runtime's class, e.g. ``reuse=8``.

    Raises:
        KeyError: If there is no such runtime; the message names those that there are.
        TypeError: If the runtime has no such option.
        RuntimeUnavailable: If this machine lacks what the runtime needs.
    """
    if name not in RUNTIMES:
        raise KeyError(f"no runtime {name!r}; runtimes: {', '.join(RUNTIMES)}")
    key = name, dumps(sorted(options.items()))
    if key not in _open:
        module, _, attribute = RUNTIMES[name].partition(":")
        _open[key] = getattr(import_module(module, __package__), attribute)(**options)
    return _open[key]
