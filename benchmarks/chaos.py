"""What remains when a trainer is killed at a random moment, many times.

Model of the world: a trainer plays episodes in containers and writes traces; it prints every step that it was told of.
It is killed by SIGKILL after a random time between nothing and three seconds: while it connects, while a container
starts, in a reset, in a step. Counted are: containers, sandboxes' processes and socket directories that are still there
after three seconds, acknowledged steps that the trace does not have, and traces that cannot be read. Run it as

    python -m benchmarks.chaos [--kills 200] [--write]

It needs Docker and the image `makerspace/terminal`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from makerspace.containers.engine import engine
from makerspace.traces.log import TraceError
from makerspace.traces.reader import read

RESULT = Path(__file__).parent / "results" / "chaos.json"
PATIENCE = 3.0
"""Seconds after which nothing may be left."""
TRAINER = """
import sys
from makerspace.envs.env import ToolEnv
env = ToolEnv("terminal.logs", runtime="docker", action_view="text", trace=sys.argv[1])
print("begin", flush=True)
while True:
    env.reset()
    for _ in range(5):
        env.step('{"name": "run", "arguments": {"command": "ls"}}')
        print(env.trace_path.name, flush=True)
"""


def killed_trainer(folder: Path, seconds: float) -> tuple[int, list[str]]:
    """Run a trainer for so long; return its process id and the traces of the steps that it was told of, in order."""
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER, str(folder)], stdout=subprocess.PIPE, text=True)
    assert trainer.stdout is not None
    trainer.stdout.readline()
    time.sleep(seconds)
    trainer.kill()
    return trainer.pid, trainer.communicate()[0].split()


def left_over(pid: int) -> dict[str, int]:
    """Count what a trainer has left."""
    containers = [one for one in engine().find() if one.labels["makerspace.pid"] == str(pid)]
    owners = {one.labels["makerspace.owner"] for one in containers}
    homes = [path for path in Path(tempfile.gettempdir()).glob("makerspace-*-*") if path.name.split("-")[1] in owners]
    return {"containers": len(containers), "directories": len(homes)}


def lost_steps(folder: Path, told: list[str]) -> tuple[int, int]:
    """Return how many acknowledged steps the traces lack, and how many traces of such steps cannot be read."""
    lost = unreadable = 0
    for name in set(told):
        (path,) = folder.rglob(name)
        try:
            steps = [step for step in read(path).steps if step.result is not None]
        except TraceError:
            unreadable += 1
        else:
            lost += max(0, told.count(name) - len(steps))
    return lost, unreadable


def chaos(kills: int, seed: int) -> dict[str, Any]:
    """Kill that many trainers; return the sums of what was left."""
    rng, total = random.Random(seed), {"containers": 0, "directories": 0, "lost_steps": 0, "unreadable_traces": 0}
    told_of = 0
    for number in range(kills):
        with tempfile.TemporaryDirectory() as folder:
            pid, told = killed_trainer(Path(folder), rng.uniform(0.0, 3.0))
            told_of += len(told)
            until = time.monotonic() + PATIENCE
            while any((left := left_over(pid)).values()) and time.monotonic() < until:
                time.sleep(0.1)
            lost, unreadable = lost_steps(Path(folder), told)
            for name, count in {**left, "lost_steps": lost, "unreadable_traces": unreadable}.items():
                total[name] += count
        print(number, total, flush=True)
    return {"kills": kills, "acknowledged_steps": told_of, "left": total}


def main() -> None:
    """Print the figures, and keep them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULT.name}")
    parser.add_argument("--kills", type=int, default=200)
    given = parser.parse_args()
    report = {
        "command": f"python -m benchmarks.chaos --kills {given.kills} --write",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        **chaos(given.kills, 0),
    }
    print(json.dumps(report, indent=2))
    if given.write:
        RESULT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
