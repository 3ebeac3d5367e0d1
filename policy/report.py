"""The report of a run for people.

One picture and a few lines of text, made from ``metrics.jsonl`` and the report's numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def read_metrics(folder: Path) -> list[dict[str, Any]]:
    """Return the events of a run, one per line of its metrics; a torn last line is left out."""
    events: list[dict[str, Any]] = []
    for line in (folder / "metrics.jsonl").read_text(encoding="utf-8").splitlines():
        try:
            events.append(json.loads(line))
        except json.JSONDecodeError:
            break
    return events


def draw_curve(events: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Write a picture.

    Success in training over steps, and success on held-out tasks before and after with 95 % intervals.
    """
    from matplotlib.figure import Figure

    steps = [event for event in events if event["event"] == "step"]
    figure = Figure(figsize=(9, 4), layout="constrained")
    curve, bars = figure.subplots(1, 2, width_ratios=[2, 1])
    for name, label in (("success", "solved"), ("reward", "reward")):
        curve.plot([e["step"] for e in steps], [e[name] for e in steps], label=f"{label}, sampled, training tasks")
    curve.set(xlabel="RL step", ylim=(0, 1), title="While learning (difficulty follows competence)")
    curve.legend(loc="lower right")
    _draw_examinations(bars, events)
    figure.savefig(path, dpi=120)


def _draw_examinations(bars: Any, events: Sequence[Mapping[str, Any]]) -> None:
    exams = {(e["how"], e["when"]): e["success"]["overall"] for e in events if e["event"] == "examination"}
    for place, how in enumerate(("greedy", "sampled")):
        for shift, when, colour in ((-0.2, "before", "tab:grey"), (0.2, "after", "tab:blue")):
            if (rate := exams.get((how, when))) is not None:
                low, high = rate["interval"]
                error = [[rate["mean"] - low], [high - rate["mean"]]]
                bars.bar(
                    place + shift, rate["mean"], 0.38, yerr=error, color=colour, label=when if place == 0 else None
                )
    bars.set(xticks=[0, 1], xticklabels=["greedy", "sampled"], ylim=(0, 1), title="Held-out tasks, 95 % intervals")
    bars.legend(loc="upper left")
