"""``makerspace list``: which environments there are."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.table import Table

from ..envs.registration import env_id
from ..envs.tasks import family, family_names
from .common import Mistake, console, print_json


def show(
    domain: Annotated[str | None, typer.Option(help="Only the environments of this domain, such as cad.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the environments."""
    rows = [_row(name) for name in family_names() if domain in (None, name.partition(".")[0])]
    if domain is not None and not rows:
        domains = sorted({name.partition(".")[0] for name in family_names()})
        raise Mistake(f"there is no domain {domain!r}; domains: {', '.join(domains)}")
    if as_json:
        print_json(rows)
    else:
        console().print(_table(rows))


def _row(name: str) -> dict[str, Any]:
    found = family(name)
    return {
        "id": env_id(name),
        "summary": found.summary,
        "application": found.application,
        "max_steps": found.max_steps,
    }


def _table(rows: list[dict[str, Any]]) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("id", no_wrap=True)
    table.add_column("what the agent has to do")
    table.add_column("application", no_wrap=True)
    table.add_column("steps", justify="right")
    for row in rows:
        table.add_row(row["id"], row["summary"], row["application"], str(row["max_steps"]))
    return table
