"""``makerspace check``: the conformance rules (``envs/conformance.py``) on environments, yours or ours."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from ..envs.registration import env_id
from ..envs.tasks import family_names
from .common import Mistake, choice, console, print_json, resolve

if TYPE_CHECKING:
    from ..envs.conformance import Check

Verdict = tuple[str, "Check"]
"""A family and its verdict on one rule."""


def check(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[ID]...", help="Environments, such as cad.plate.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every environment.")] = False,
    runtime: Annotated[str, typer.Option(help="Where the applications run: inline, process, docker.")] = "inline",
    only: Annotated[list[str] | None, typer.Option(help="Only this rule (may be given again).")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run the conformance checks of environments. Exit code 1: at least one failed."""
    from ..containers.runtimes import RUNTIMES
    from ..envs.conformance import CHECKS

    families = list(dict.fromkeys(resolve(name) for name in names or (family_names() if everything else ())))
    if not families:
        raise Mistake("name an environment, or --all of them; `makerspace list` names them")
    rules = [choice("rule", rule, CHECKS) for rule in only or CHECKS]
    verdicts = list(_run(families, rules, choice("runtime", runtime, RUNTIMES), quiet=as_json))
    if as_json:
        print_json([{"id": env_id(family), **asdict(verdict)} for family, verdict in verdicts])
    else:
        console().print(_table(verdicts))
        typer.echo(_story([verdict.passed for _, verdict in verdicts], len(families)))
    if not all(verdict.passed for _, verdict in verdicts):
        raise typer.Exit(1)


def _run(families: list[str], rules: list[str], runtime: str, quiet: bool) -> Iterator[Verdict]:
    from ..envs.conformance import Effort, run_check

    columns = (SpinnerColumn(), TextColumn("{task.description}"), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console(), transient=True, disable=quiet) as progress:
        bar = progress.add_task("", total=len(families) * len(rules))
        for family in families:
            for rule in rules:
                progress.update(bar, description=f"{family}: {rule}")
                yield family, run_check(family, rule, Effort(runtime=runtime))
                progress.advance(bar)


def _story(passed: list[bool], families: int) -> str:
    failed = passed.count(False)
    checks = f"{len(passed)} check{'s' * (len(passed) != 1)}"
    where = f"{families} environment{'s' * (families != 1)}"
    return f"{failed} of {checks} failed" if failed else f"all passed ({checks} on {where})"


def _table(verdicts: list[Verdict]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("environment", "rule", "", "what was seen"):
        table.add_column(title, no_wrap=title != "what was seen", overflow="fold")
    for family, verdict in verdicts:
        mark = "[green]passed[/]" if verdict.passed else "[red]failed[/]"
        table.add_row(family, verdict.name, mark, escape(verdict.detail))
    return table
