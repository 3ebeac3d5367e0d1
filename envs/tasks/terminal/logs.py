"""Answer questions about log files with filters and counts."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from ....rewards.terminal import files_reward
from ....simulators.base import ToolCall
from ..base import Draft, Family, Json, Solution, Task, submit
from ._words import NAMES, SERVICES, and_then, count, draft, run

LEVELS = ("ERROR", "WARN", "INFO", "DEBUG")
EVENTS = ("timeout", "retry", "login", "restart", "upload", "refused")


class Logs(Family):
    """One to three reports on a log: how many lines have a level, how many of a service, or the lines themselves."""

    name = "terminal.logs"
    application = "terminal"
    summary = "Count and filter log lines into report files."
    reward = files_reward()
    templates = (
        "In {log}: {asked}.",
        "Read {log}. {asked}.",
        "From the log {log}, please do this: {asked}.",
        "Work on {log}: {asked}.",
        "Here is a log, {log}. {asked}.",
    )
    max_steps = 8

    def draw(self, rng: random.Random, difficulty: float) -> Draft:
        """Draw a log and the reports on it."""
        log = f"{rng.choice(NAMES)}{rng.randint(1, 99)}.log"
        services = rng.sample(SERVICES, 3)
        rows = [
            (rng.choice(LEVELS), rng.choice(services), rng.choice(EVENTS)) for _ in range(8 + round(20 * difficulty))
        ]
        lines = [
            f"{10 + i // 60}:{i % 60:02d} {level} {service} {event}" for i, (level, service, event) in enumerate(rows)
        ]
        reports: list[Json] = []
        for name in rng.sample(NAMES, count(rng, difficulty, 1, 3)):
            level, service, _ = rng.choice(rows)
            kind = rng.choices(("count", "lines", "both"), (1.0, 0.4 + difficulty, 1.6 * difficulty))[0]
            reports.append({"kind": kind, "level": level, "service": service, "file": f"{name}.txt"})
        start = {log: "\n".join(lines) + "\n"}
        files = start | {r["file"]: _report(r, lines) for r in reports}
        return draft({"log": log, "reports": reports}, start, files)

    def words(self, stated: Json) -> Json:
        """Ask for each report."""
        kinds = {
            "count": "count the {level} lines into {file}",
            "lines": "copy the {level} lines to {file}",
            "both": "count the {level} lines of {service} into {file}",
        }
        return {**stated, "asked": "; ".join(kinds[r["kind"]].format(**r) for r in stated["reports"])}

    def oracle(self, task: Task) -> Solution:
        """One command for each report."""
        for report in task.stated["reports"]:
            yield run(_command(task.stated["log"], report))
        yield submit()

    def exploits(self, task: Task) -> Mapping[str, Sequence[ToolCall]]:
        """Return reports that nobody counted."""
        log, outs = task.stated["log"], [r["file"] for r in task.stated["reports"]]
        return {
            "nothing": [submit()],
            "empty reports": and_then([f"touch {out}" for out in outs]),
            "guess": and_then([f"echo 1000 > {out}" for out in outs]),
            "the whole log": and_then([f"cp {log} {out}" for out in outs]),
            "reports from a log that was emptied": and_then(
                [f"echo > {log}", *(f"grep -c ERROR {log} > {out}" for out in outs)]
            ),
        }


def _report(report: Json, lines: Sequence[str]) -> str:
    chosen = [line for line in lines if f" {report['level']} " in line]
    if report["kind"] == "lines":
        return "\n".join(chosen) + "\n"
    return f"{len([line for line in chosen if report['kind'] == 'count' or report['service'] in line])}\n"


def _command(log: str, report: Json) -> str:
    if report["kind"] == "both":
        return f"grep {report['level']} {log} | grep -c {report['service']} > {report['file']}"
    return f"grep {'-c ' if report['kind'] == 'count' else ''}{report['level']} {log} > {report['file']}"
