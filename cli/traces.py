"""``makerspace traces``: recorded episodes.

``list`` those below a folder, ``show`` one, ``replay`` one and name the first step that differs.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from .common import Mistake, console, print_json

if TYPE_CHECKING:
    from ..traces.reader import Trace, TraceSummary
    from ..traces.replay import Replay

traces = typer.Typer(no_args_is_help=True)

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


@traces.command("list")
def list_(
    path: Annotated[Path, typer.Argument(help="A folder; those below it are searched too.")] = Path("runs"),
    limit: Annotated[int, typer.Option(min=0, help="At most so many, the newest; 0 for all.")] = 50,
    as_json: Json = False,
) -> None:
    """List the episodes recorded below a folder, the newest last."""
    from ..traces.reader import list_traces

    if not path.is_dir():
        raise Mistake(
            f"{str(path)!r} is no folder; a run's traces lie in its folder 'traces', such as runs/demo/traces"
        )
    found = list_traces(path)
    if as_json:
        print_json([one.to_json() for one in found[-limit:]])
        return
    console().print(_table(found[-limit:]))
    count = "1 episode" if len(found) == 1 else f"{len(found)} episodes"
    typer.echo(count + (f", the newest {limit} shown" if 0 < limit < len(found) else ""))


@traces.command()
def show(path: Annotated[Path, typer.Argument(help="A .trace file.")]) -> None:
    """Show one episode: the instruction, each call with its result, the score."""
    from ..traces.show import show as print_trace

    print_trace(_open(path), console())


@traces.command()
def replay(path: Annotated[Path, typer.Argument(help="A .trace file.")], as_json: Json = False) -> None:
    """Make the calls again and compare the states; exit code 1 names the first step that differs."""
    from ..traces.replay import replay as again

    outcome = again(_open(path))
    if as_json:
        print_json(asdict(outcome))
    else:
        typer.echo(_story(outcome))
    if outcome.divergence is not None:
        raise typer.Exit(1)


def _story(outcome: Replay) -> str:
    if outcome.divergence is not None:
        story = f"differs at {outcome.divergence}"
    elif outcome.stopped:
        story = f"{outcome.steps} steps agree; the replay ends there: {outcome.stopped}"
    else:
        story = f"all {outcome.steps} steps agree"
    return f"{story} (the tools' schemas have changed since)" if outcome.tools_changed else story


def _open(path: Path) -> Trace:
    from ..traces.log import TraceError
    from ..traces.reader import read

    if not path.is_file():
        raise Mistake(f"there is no trace {str(path)!r}; `makerspace traces list FOLDER` names those of a folder")
    try:
        return read(path)
    except TraceError as problem:
        raise Mistake(f"{str(path)!r} cannot be read: {problem}") from problem


def _table(found: list[TraceSummary]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title, justify in (("task", "left"), ("steps", "right"), ("score", "right"), ("", "left"), ("file", "left")):
        table.add_column(title, justify=justify, no_wrap=title in {"task", "file"}, overflow="fold")  # type: ignore[arg-type]
    for one in found:
        score = "-" if one.total is None else f"{one.total:.2f}"
        table.add_row(one.task_id, str(one.steps), score, _ending(one), str(one.path))
    return table


def _ending(one: TraceSummary) -> str:
    if not one.complete:
        return "[yellow]incomplete[/]"
    return "[green]solved[/]" if one.success else ""
