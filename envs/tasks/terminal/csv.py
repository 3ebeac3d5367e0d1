"""Compute with the columns of a table."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.terminal import files_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._words import NAMES, and_then, count, draft, run

NUMBERS = ("price", "units", "weight", "hours", "cost", "tax")
REGIONS = ("east", "west", "mid", "coast")


class Csv(Family):
    """One to three results from a table: a column's sum, its maximum, or a sum where another column has a value."""

    name = "terminal.csv"
    application = "terminal"
    summary = "Sum, maximise and select columns of a CSV file into result files."
    reward = files_reward()
    templates = (
        "The table {table} has a header. {asked}.",
        "Use {table}: {asked}.",
        "From {table}, a CSV file with a header: {asked}.",
        "Look at {table}. {asked}.",
        "Compute from {table}: {asked}.",
    )
    max_steps = 8

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw a table and what is asked of it."""
        table = f"{rng.choice(NAMES)}.csv"
        columns = ["region", *rng.sample(NUMBERS, 2 + round(2 * difficulty))]
        rows = [
            [rng.choice(REGIONS), *(rng.randint(1, 99) for _ in columns[1:])] for _ in range(5 + round(10 * difficulty))
        ]
        start = {table: "\n".join(",".join(map(str, row)) for row in [columns, *rows]) + "\n"}
        asked: list[Json] = []
        for name in rng.sample(NAMES, count(rng, difficulty, 1, 3)):
            kind = rng.choices(("sum", "max", "where"), (1.0, 0.7, 1.4 * difficulty))[0]
            asked.append(
                {"kind": kind, "column": rng.choice(columns[1:]), "region": rng.choice(rows)[0], "file": f"{name}.txt"}
            )
        files = start | {a["file"]: f"{_result(a, columns, rows)}\n" for a in asked}
        return draft({"table": table, "asked": asked}, start, files)

    def words(self, stated: Json) -> Json:
        """Ask for each result."""
        kinds = {
            "sum": "write the sum of {column} to {file}",
            "max": "write the largest {column} to {file}",
            "where": "write the sum of {column} where region is {region} to {file}",
        }
        return {**stated, "asked": "; ".join(kinds[a["kind"]].format(**a) for a in stated["asked"])}

    def oracle(self, task: Task) -> Solution:
        """Read the header, then one command for each result."""
        table = task.stated["table"]
        header = yield run(f"head -1 {table}")
        columns = header.text.strip().split(",")
        for asked in task.stated["asked"]:
            yield run(_command(table, asked, columns.index(asked["column"]) + 1))
        yield submit()

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return results that nobody computed."""
        table, outs = task.stated["table"], [a["file"] for a in task.stated["asked"]]
        return {
            "nothing": [submit()],
            "zeros": and_then([f"echo 0 > {out}" for out in outs]),
            "the whole table": and_then([f"cp {table} {out}" for out in outs]),
            "a formula": and_then([f"echo sum > {out}" for out in outs]),
            "a table that was emptied": and_then([f"echo region > {table}", *(f"echo 0 > {out}" for out in outs)]),
        }


def _result(asked: Json, columns: Sequence[str], rows: Sequence[Sequence[object]]) -> int:
    place = columns.index(asked["column"])
    values = [int(str(row[place])) for row in rows if asked["kind"] != "where" or row[0] == asked["region"]]
    return max(values) if asked["kind"] == "max" else sum(values)


def _command(table: str, asked: Json, place: int) -> str:
    if asked["kind"] == "max":
        return f"tail -n +2 {table} | cut -d, -f{place} | sort -n | tail -1 > {asked['file']}"
    chosen = f'$1=="{asked["region"]}"' if asked["kind"] == "where" else ""
    return f"awk -F, '{chosen}{{s+=${place}}}END{{print s}}' {table} > {asked['file']}"
