"""``makerspace sandbox``: the containers of the runtime ``docker``, and their images."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table

from .common import Mistake, console, print_json

if TYPE_CHECKING:
    from ..containers.engine import Found

sandbox = typer.Typer(no_args_is_help=True)


@sandbox.command("ls")
def show(as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False) -> None:
    """List our containers, with those whose owner has ended."""
    from ..containers.engine import engine

    rows = [_row(found) for found in engine().find()]
    if as_json:
        print_json(rows)
        return
    table = Table("container", "world", "state", "age", "owner", box=None, pad_edge=False)
    for row in rows:
        owner = "has ended" if row["orphan"] else f"process {row['pid']}"
        table.add_row(row["id"], row["world"], row["state"], f"{row['seconds']:.0f} s", owner)
    console().print(table if rows else "no sandbox containers")


@sandbox.command()
def clean(
    everything: Annotated[bool, typer.Option("--all", help="Also those whose owner still lives.")] = False,
) -> None:
    """Remove containers whose owner has ended."""
    from ..containers.reaper import orphans, remove

    found = orphans(everything)
    remove(found)
    typer.echo(f"removed {len(found)} {'container' if len(found) == 1 else 'containers'}")


@sandbox.command()
def build(
    worlds: Annotated[list[str] | None, typer.Argument(metavar="[WORLD]...", help="Images; all by default.")] = None,
    base_image: Annotated[str | None, typer.Option(help="What they are built on, instead of Python's image.")] = None,
    torch: Annotated[str | None, typer.Option(help="Which PyTorch the trainer has, as pip writes it.")] = None,
    wheels: Annotated[Path | None, typer.Option(help="Folder of wheels to install from; default: collected.")] = None,
) -> None:
    """Build the images of worlds from this checkout."""
    from ..containers.images import build as make
    from ..containers.images import worlds as known

    for world in worlds or known():
        if world not in known():
            raise Mistake(f"there is no image {world!r}; images: {', '.join(known())}")
    for world in worlds or known():
        made = make(world, base_image=base_image, wheels=wheels, torch=torch, say=typer.echo)
        typer.echo(f"{made.name}  {made.id}  {made.size / 1e6:.0f} MB")


def _row(found: Found) -> dict[str, Any]:
    return {
        "id": found.id[:12],
        "world": found.labels.get("makerspace.world", ""),
        "state": found.state,
        "seconds": round(time.time() - found.created),
        "pid": found.labels.get("makerspace.pid", ""),
        "orphan": found.orphan,
    }
