"""What RL adds to the bundled warm start on held-out tasks: three seeds, and a control whose rewards are shuffled.

Run it as ``python -m benchmarks.learning [--write]``. Each run is the preset ``demo`` with another seed (about ten
minutes on two cores); a run whose report is there already is not repeated. The control permutes the rewards of every
batch among its episodes: what it gains is not learning.
"""

import argparse
import json
import random
from pathlib import Path

from makerspace.policy.recipe import load_recipe
from makerspace.policy.train import Trainer

RESULT = Path(__file__).parent / "results" / "learning.json"
RUNS = {"seed 0": (0, False), "seed 1": (1, False), "seed 2": (2, False), "shuffled rewards": (0, True)}
RESAMPLES = 10_000
WHEN, HOW = ("before", "after"), ("greedy", "sampled")


def report_of(name: str, folder: Path) -> dict:
    path = folder / name.replace(" ", "-") / "report.json"
    if not path.exists():
        seed, shuffled = RUNS[name]
        recipe = load_recipe("demo", seed=seed, reinforce={"shuffle_rewards": shuffled})
        Trainer(recipe, path.parent, lambda event, n: print(name, event, n.get("step", ""), flush=True)).run()
    return json.loads(path.read_text())


def gain(report: dict, how: str) -> float:
    before, after = (report[when][how]["success"]["overall"]["mean"] for when in ("before", "after"))
    return 100 * (after - before)


def mean_interval(reports: list[dict], when: str, how: str) -> dict:
    """Mean success over seeds, with a 95 % interval by resampling seeds and, within a seed, tasks (percentile
    bootstrap).
    """
    rng = random.Random(0)
    rates = [report[when][how]["success"]["overall"] for report in reports]
    means = []
    for _ in range(RESAMPLES):
        drawn = [rng.choice(rates) for _ in rates]
        means.append(
            sum(sum(rng.random() < r["mean"] for _ in range(r["tasks"])) / r["tasks"] for r in drawn) / len(drawn)
        )
    means.sort()
    interval = [means[int(0.025 * RESAMPLES)], means[int(0.975 * RESAMPLES)]]
    return {"mean": sum(r["mean"] for r in rates) / len(rates), "interval": interval}


def summary(reports: dict[str, dict]) -> dict:
    seeds = [report for name, report in reports.items() if name.startswith("seed")]
    out: dict = {"command": "python -m benchmarks.learning --write", "runs": {}}
    for name, report in reports.items():
        rows = {how: {when: report[when][how]["success"]["overall"] for when in WHEN} for how in HOW}
        out["runs"][name] = {**rows, "steps": report["steps"], "minutes": report["minutes"]}
    for how in HOW:
        out[how] = {when: mean_interval(seeds, when, how) for when in ("before", "after")}
        out[how]["gain_points"] = sum(gain(report, how) for report in seeds) / len(seeds)
        out[how]["control_gain_points"] = gain(reports["shuffled rewards"], how)
    return out


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="store the figures under benchmarks/results")
    parser.add_argument("--folder", type=Path, default=Path("runs/learning"))
    parser.add_argument("--only", choices=list(RUNS), nargs="*", help="do these runs and print nothing")
    arguments = parser.parse_args()
    reports = {name: report_of(name, arguments.folder) for name in arguments.only or RUNS}
    if arguments.only:
        return
    text = json.dumps(summary(reports), indent=2)
    print(text)
    if arguments.write:
        RESULT.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
