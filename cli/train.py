"""``makerspace train``: the main job."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from .common import recipe_errors

if TYPE_CHECKING:
    from ..policy.train import Report


def train(
    preset: Annotated[str, typer.Option(help="Name of a preset, or a recipe file (TOML).")] = "demo",
    out: Annotated[Path | None, typer.Option(help="Folder of the run; default: runs/<preset>-<time>.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of everything random.")] = 0,
    steps: Annotated[int | None, typer.Option(help="RL steps, instead of the recipe's.")] = None,
    tasks: Annotated[int | None, typer.Option(help="Held-out tasks per examination, instead of the recipe's.")] = None,
    weights: Annotated[
        str | None, typer.Option(help="Warm start, instead of the recipe's: bundled, clone, or a folder.")
    ] = None,
    runtime: Annotated[
        str | None, typer.Option(help="Where the applications run, instead of the recipe's: process, docker, inline.")
    ] = None,
    resume: Annotated[bool, typer.Option(help="Go on from the last checkpoint in --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the report as JSON and nothing else.")] = False,
) -> None:
    """Train the apprentice with reinforcement learning and show what it gained on tasks that it has never seen."""
    import json

    from ..policy.recipe import load_recipe
    from ..policy.report import draw_curve, read_metrics
    from ..policy.train import Trainer

    overrides: dict[str, Any] = {
        "seed": seed,
        "reinforce": _given(steps=steps),
        "examination": _given(tasks=tasks),
        "warm_start": _given(weights=weights),
        "tasks": _given(runtime=runtime),
    }
    with recipe_errors():
        recipe = load_recipe(preset, **overrides)
    folder = out or Path("runs") / f"{Path(preset).stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    console = Console(quiet=as_json)
    with _Show(console, recipe.reinforce.steps) as show:
        report = Trainer(recipe, folder, show).run(resume)
    draw_curve(read_metrics(folder), folder / "curve.png")
    if as_json:
        typer.echo(json.dumps(report.to_json()))
    _print_report(console, report, folder)


def _given(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


class _Show:
    """Shows the run's events as they come: a progress bar with the latest numbers, a line per examination."""

    def __init__(self, console: Console, steps: int) -> None:
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.fields[numbers]}"),
        )
        self._progress = Progress(*columns, console=console)
        self._steps = steps
        self._bars: dict[str, TaskID] = {}

    def __enter__(self) -> _Show:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def __call__(self, event: str, numbers: Mapping[str, Any]) -> None:
        if event == "step":
            line = "solved {success:.2f}  reward {reward:.2f}  turns {turns:.1f}  entropy {entropy:.2f}".format(
                **numbers
            )
            self._advance("reinforcement", numbers["step"], self._steps, line)
        elif event == "gathering":
            self._advance("demonstrations", numbers["done"], numbers["of"], "")
        elif event == "cloning":
            self._advance("cloning", numbers["step"], None, f"loss {numbers['loss']:.3f}")
        elif event == "examination":
            rate = numbers["success"]["overall"]
            low, high = (100 * bound for bound in rate["interval"])
            solved = f"{100 * rate['mean']:.1f} % of {rate['tasks']} held-out tasks [{low:.1f}, {high:.1f}]"
            self._progress.console.print(f"{numbers['when']} RL, {numbers['how']}: {solved}")

    def _advance(self, name: str, done: int, of: int | None, numbers: str) -> None:
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(name, total=of, numbers="")
        self._progress.update(self._bars[name], completed=done, numbers=numbers)


def _print_report(console: Console, report: Report, folder: Path) -> None:
    table = Table(title="Success on held-out tasks, with 95 % intervals")
    for column in ("", "before RL", "after RL", "gain (points)"):
        table.add_column(column)
    for how in report.before:
        before, after = report.before[how], report.after[how]
        table.add_row(
            how, str(before.overall), str(after.overall), f"{100 * (after.overall.mean - before.overall.mean):+.1f}"
        )
        for name, rate in after.families.items():
            old = before.families.get(name)
            if old is not None:
                table.add_row(
                    f"  {name.rpartition('/')[2]}",
                    f"{100 * old.mean:.0f} %",
                    f"{100 * rate.mean:.0f} %",
                    f"{100 * (rate.mean - old.mean):+.0f}",
                    style="dim",
                )
    console.print(table)
    console.print(f"{report.steps} RL steps in {report.minutes:.1f} minutes")
    for name, place in (("curve", "curve.png"), ("report", "report.json"), ("policy", "policy"), ("traces", "traces")):
        console.print(f"{name + ':':8} {folder / place}", soft_wrap=True)
    console.print(f"Look at one with: makerspace traces list {folder / 'traces'}", soft_wrap=True)
