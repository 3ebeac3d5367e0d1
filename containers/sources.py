"""Where the code of this process lies: what a sandbox must be able to read so that imports still work in it."""

from __future__ import annotations

import json
import os
import pwd
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import distributions
from pathlib import Path
from urllib.parse import unquote, urlsplit

INSTALLED = ("site-packages", "dist-packages")


def directories() -> set[str]:
    """Return the directories in which code lies, whole: the interpreter's, those on the path, editable projects."""
    found = [*interpreter(), *sys.path, *_editable_projects(), str(Path(__file__).parents[1])]
    return {os.path.realpath(path) for path in found if os.path.isdir(path)}  # noqa: PTH112


def interpreter() -> set[str]:
    """Return where the interpreter, its library and the libraries for programs lie."""
    paths = [sys.prefix, sys.exec_prefix, sys.base_prefix, *os.environ.get("LD_LIBRARY_PATH", "").split(":")]
    return {os.path.realpath(path) for path in paths if path} - _too_much()


def readable() -> list[str]:
    """Return what of it a sandbox should read: the outermost directories and files.

    An interpreter and its libraries are granted whole. Of any other place (a project's folder, somebody's home) only
    the modules and packages are, not what lies beside them.
    """
    whole = interpreter()
    found = set(whole)
    for place in _import_places():
        alone = os.path.basename(place) in INSTALLED or os.path.isfile(place)  # noqa: PTH113, PTH119
        if not below(place, whole):
            found.update([place] if alone else _modules_in(place))
    return sorted(path for path in found if not below(os.path.dirname(path), found))  # noqa: PTH120


def below(path: str, places: Iterable[str]) -> bool:
    """Whether a path is one of the places or lies in one."""
    return any(path == place or path.startswith(f"{place}/") for place in places)


def _import_places() -> set[str]:
    """Return what is on the path, and where packages are found in other ways (as editable installs are)."""
    places = {path for path in (*sys.path, *_editable_projects()) if path}
    for name, module in list(sys.modules.items()):
        if "." not in name:
            with suppress(Exception):  # a module may be any object
                places.update(module.__path__)
    return {os.path.realpath(path) for path in places}


@cache
def _editable_projects() -> tuple[str, ...]:
    """Return the folders of projects that were installed without being copied, and the ``src`` in them."""
    found: list[str] = []
    for distribution in distributions():
        with suppress(Exception):  # what somebody else's metadata holds is no reason to stop
            origin = json.loads(distribution.read_text("direct_url.json") or "{}")
            if origin.get("dir_info", {}).get("editable"):
                folder = unquote(urlsplit(str(origin["url"])).path)
                found += [folder, f"{folder}/src"]
    return tuple(found)


def _modules_in(place: str) -> Iterator[str]:
    with suppress(OSError), os.scandir(place) as entries:
        for entry in entries:
            module = entry.name.endswith((".py", ".so")) or entry.name == "__pycache__"
            if module or os.path.exists(f"{entry.path}/__init__.py"):  # noqa: PTH110
                yield os.path.realpath(entry.path)


def _too_much() -> set[str]:
    """Return the directories that no setting of a path may open as a whole: the user's home and those above it."""
    homes = [os.path.expanduser("~")]  # noqa: PTH111
    with suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return {str(path) for home in map(os.path.realpath, homes) for path in (Path(home), *Path(home).parents)}
