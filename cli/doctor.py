"""``makerspace doctor``: what keeps an agent's code away from this machine, and what does not, in plain words."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Annotated

import typer
from rich.table import Table

from .common import console, print_json


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    ok: bool
    says: str


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """Say what protects you on this machine, and what does not. Exit code 1: only `inline` works here."""
    findings = list(examine())
    if as_json:
        print_json([asdict(one) for one in findings])
    else:
        console().print(_table(findings))
        console().print(advice({one.what: one.ok for one in findings}))
    if not any(one.ok for one in findings if one.what.startswith("runtime")):
        raise typer.Exit(1)


def examine() -> Iterator[Finding]:
    """Look at everything."""
    yield from _process()
    yield from _docker()
    yield Finding("runtime inline", True, "works everywhere; protects from nothing, and a crash is this process's own")


def advice(ok: dict[str, bool]) -> str:
    """Return what to use here."""
    if ok.get("runtime docker"):
        return 'For code that you do not trust: gymnasium.make(..., runtime="docker").'
    if ok.get("own view of the machine"):
        return 'runtime="process" keeps an application in namespaces of its own; for hostile code set up Docker.'
    return 'runtime="process" survives crashes and hangs here, and little more: do not run code that you do not trust.'


def _process() -> Iterator[Finding]:
    if sys.platform != "linux":
        yield Finding("runtime process", False, "needs Linux")
        return
    from ..containers import confine, namespaces

    yield Finding("runtime process", True, "a crash, a hang or a memory hog ends a child, not the trainer")
    apart = namespaces.available()
    yield Finding("own view of the machine", apart, _APART if apart else _NOT_APART)
    for layer in confine.layers():
        yield Finding(layer.name, layer.works, layer.note)
    if os.geteuid() == 0:
        yield Finding("an ordinary user", False, "this is root: a hole in the kernel's walls would open everything")


def _docker() -> Iterator[Finding]:
    from ..containers.session import RuntimeUnavailable

    try:
        from ..containers.engine import engine
        from ..containers.images import image_name

        info = engine().api.info()
    except RuntimeUnavailable as absent:
        yield Finding("runtime docker", False, str(absent))
        return
    yield Finding("runtime docker", True, f"Docker {info['ServerVersion']}, storage {info['Driver']}")
    from ..containers.images import worlds

    for world in worlds():
        try:
            engine().image(image_name(world))
        except RuntimeUnavailable as absent:
            yield Finding(f"image {world}", False, str(absent))
        else:
            yield Finding(f"image {world}", True, image_name(world))


def _table(findings: list[Finding]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for one in findings:
        table.add_row("[green]yes[/green]" if one.ok else "[red]no[/red]", one.what, one.says)
    return table


_APART = "sandboxes see their own processes, files and network: none but what they need"
_NOT_APART = (
    "the kernel refuses namespaces to this user (sysctl kernel.unprivileged_userns_clone, or AppArmor's "
    "kernel.apparmor_restrict_unprivileged_userns): sandboxes see what you see"
)
