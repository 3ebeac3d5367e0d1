"""``makerspace eval``: how good a policy is on held-out tasks."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from ..envs.tasks.base import SPLITS
from .common import choice, recipe_errors, resolve


def evaluate(
    policy: Annotated[
        str, typer.Argument(help="Folder of a policy; 'bundled' for the warm start that is shipped.")
    ] = "bundled",
    preset: Annotated[str, typer.Option(help="Recipe whose tasks and engine are used.")] = "demo",
    tasks: Annotated[int, typer.Option(help="Number of tasks.")] = 240,
    split: Annotated[str, typer.Option(help="train, validation or test.")] = "test",
    temperature: Annotated[float, typer.Option(help="Of the sampling; 0 takes the likeliest token.")] = 0.0,
    family: Annotated[list[str] | None, typer.Option(help="Only this family (may be given again).")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sampling.")] = 0,
    runtime: Annotated[
        str | None, typer.Option(help="Where the applications run, instead of the recipe's: process, docker, inline.")
    ] = None,
    trace: Annotated[Path | None, typer.Option(help="Folder for traces.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Play held-out tasks and print success per family with 95 % intervals."""
    import json

    from ..policy.evaluate import evaluate as play
    from ..policy.evaluate import evaluation_jobs
    from ..policy.player import Player, named_policy
    from ..policy.recipe import load_recipe

    families = [resolve(name) for name in family or ()]
    split = choice("split", split, SPLITS)
    with recipe_errors():
        chosen = {"families": families or None, "runtime": runtime}
        recipe = load_recipe(preset, tasks={key: value for key, value in chosen.items() if value is not None})
    player = Player(named_policy(policy), recipe)
    with player.rollout(trace) as rollout:
        result = play(rollout, evaluation_jobs(player.env_ids, tasks, split, seed), temperature)
    if as_json:
        typer.echo(json.dumps(result.to_json()))
        return
    table = Table(
        "family", "success", "95 % interval", "tasks", title=f"{policy}, split {split}, temperature {temperature:g}"
    )
    for name, rate in {**result.families, "all": result.overall}.items():
        low, high = rate.interval
        table.add_row(name, f"{100 * rate.mean:.1f} %", f"[{100 * low:.1f}, {100 * high:.1f}]", str(rate.tasks))
    Console().print(table)
    if result.unscored:
        Console().print(f"{result.unscored} episodes could not be scored: their sandbox failed")
