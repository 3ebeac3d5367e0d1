"""The task families, found by where their files lie.

``envs/tasks/<domain>/<name>.py`` holds the family ``<domain>.<name>``.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from pathlib import Path

from ...simulators.tools import nearest
from .base import Family, Task

_HERE = Path(__file__).parent


@cache
def family_names() -> tuple[str, ...]:
    """Return the names of all families, sorted, without importing them."""
    files = (path for path in _HERE.glob("*/*.py") if not path.name.startswith("_"))
    return tuple(sorted(f"{path.parent.name}.{path.stem}" for path in files))


@cache
def family(name: str) -> Family:
    """Return a family by name.

    Raises:
        KeyError: If there is none; the message names the nearest ones.
    """
    if name not in family_names():
        raise KeyError(
            f"no task family {name!r}; nearest: {nearest(name, family_names())}; all: {', '.join(family_names())}"
        )
    module = import_module(f".{name}", __name__)
    (found,) = [
        v
        for v in vars(module).values()
        if isinstance(v, type) and issubclass(v, Family) and v.__module__ == module.__name__
    ]
    return found()


def task_from_id(task_id: str) -> Task:
    """Make the task of an id such as ``"cad.plate/test/17@0.5"`` again."""
    return family(task_id.partition("/")[0]).from_id(task_id)
