"""The applications themselves. They know no task, no reward and no transport.

``APPLICATIONS`` maps each application's name to its class as ``"module:class"``, relative to this package, so that
nothing heavy is imported until an application is opened.
"""

from __future__ import annotations

from importlib import import_module

from .base import Simulator
from .tools import nearest

APPLICATIONS = {"cad": ".cad.app:Cad", "terminal": ".terminal.app:Terminal"}


def application_class(name: str) -> type[Simulator]:
    """Return the class of an application, without its heavy libraries.

    Raises:
        KeyError: If there is no such application; the message names the nearest ones.
    """
    if name not in APPLICATIONS:
        raise KeyError(
            f"no application {name!r}; applications: {', '.join(APPLICATIONS)}; nearest: {nearest(name, APPLICATIONS)}"
        )
    module, _, attribute = APPLICATIONS[name].partition(":")
    return getattr(import_module(module, __package__), attribute)


def open_application(name: str) -> Simulator:
    """Return a new, empty application; call ``reset`` before anything else."""
    return application_class(name)()
