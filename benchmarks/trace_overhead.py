"""What recording costs per step, beside the plainest way to write JSON lines.

Model of the world: one recorded step is an action and a result of the size that a CAD step has (about 1 kB together).
Four ways are timed in turns within one process, in microseconds per step: the median of the rounds and, since a busy
machine disturbs whole rounds, the lowest decile, which the ratios are made of:
`nothing` builds the records' values only; `plain` also writes them as two lines with `json.dumps` and an unbuffered
`write` (the baseline); `trace` hands them to `TraceWriter`, without and with the wait for the disk at the end of every
episode of 50 steps. Run it as

    python -m benchmarks.trace_overhead [--write]

It does not measure images (a new picture of 20 kB costs about 0.2 ms), and the wait depends on the disk.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from makerspace.simulators.base import ToolCall
from makerspace.traces.records import Header
from makerspace.traces.writer import TraceWriter

RESULT = Path(__file__).parent / "results" / "trace_overhead.json"
STEPS = 50
ROUNDS = 200
SCENE = {"units": "mm", "planes": ["XY", "XZ", "YZ"]}
FEATURES = tuple(round(0.37 * n, 3) for n in range(16))


def values(step: int) -> tuple[str, ToolCall, dict[str, Any], dict[str, Any]]:
    """Return what an env knows of one step: raw action, call, result and state."""
    call = ToolCall("extrude", {"distance": step + 0.5, "operation": "join", "sketch": f"Sketch{step}"})
    data = {"volume": 1234.5 * step, "faces": step + 6, "bbox": [0.0, 0.0, 0.0, 40.0, 20.0, step + 0.5]}
    result = {"ok": True, "text": f"extruded Sketch{step} by {step + 0.5} mm: volume {1234.5 * step}", "data": data}
    state = {"text": f"{step} features, 1 solid, healthy", "features": FEATURES, "state_hash": f"{step:032x}"}
    return json.dumps(call.to_json()), call, result, state


def nothing(_directory: Path, _number: int) -> None:
    """Make the values and forget them."""
    for step in range(1, STEPS + 1):
        values(step)


def plain(directory: Path, number: int) -> None:
    """Write two JSON lines per step, without checksums, chain, times or footer."""
    with (directory / f"{number}.jsonl").open("wb", buffering=0) as file:
        file.write(json.dumps({"task": "cad.plate/train/0@0.5", "scene": SCENE}).encode() + b"\n")
        for step in range(1, STEPS + 1):
            raw, call, result, state = values(step)
            file.write(json.dumps({"step": step, "raw": raw, "call": call.to_json()}).encode() + b"\n")
            file.write(json.dumps({"step": step, "result": result, **state, "reward": 0.0}).encode() + b"\n")


def traced(durable: bool) -> Callable[[Path, int], None]:
    """Return the way of ``TraceWriter``."""

    def record(directory: Path, number: int) -> None:
        with TraceWriter(directory, durable=durable) as writer:
            task = f"cad.plate/train/{number}@0.5"
            header = Header("makerspace/cad.plate-v0", task, "cad.plate", "cad", 0, "Make a plate.", SCENE, STEPS)
            writer.start(header, text="empty", features=FEATURES, state_hash="0" * 32)
            for step in range(1, STEPS + 1):
                raw, call, result, state = values(step)
                writer.action(step, raw, call)
                writer.result(step, result, **state)

    return record


WAYS = {"nothing": nothing, "plain": plain, "trace": traced(False), "trace_durable": traced(True)}


def measure() -> dict[str, Any]:
    """Time every way in turns."""
    taken: dict[str, list[float]] = {name: [] for name in WAYS}
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR")) as root:
        for number in range(ROUNDS):
            for name, way in WAYS.items():
                (folder := Path(root) / name).mkdir(exist_ok=True)
                start = time.perf_counter()
                way(folder, number)
                taken[name].append((time.perf_counter() - start) / STEPS * 1e6)
        size = sum(path.stat().st_size for path in (Path(root) / "trace").rglob("*.trace")) / ROUNDS / STEPS
    return report(taken, size)


def report(taken: dict[str, list[float]], bytes_per_step: float) -> dict[str, Any]:
    """Take off what it costs to make the values, and compare with the baseline."""
    medians = above_nothing({name: statistics.median(times) for name, times in taken.items()})
    quiet = above_nothing({name: statistics.quantiles(times, n=10)[0] for name, times in taken.items()})
    return {
        "command": "python -m benchmarks.trace_overhead --write",
        "baseline": "plain: json.dumps and one unbuffered write per record",
        "us_per_step_median": medians,
        "us_per_step_lowest_decile": quiet,
        "trace_over_plain": round(quiet["trace"] / quiet["plain"], 3),
        "trace_durable_over_plain": round(quiet["trace_durable"] / quiet["plain"], 3),
        "bytes_per_step": round(bytes_per_step),
        "steps_per_episode": STEPS,
        "rounds": ROUNDS,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
    }


def above_nothing(times: dict[str, float]) -> dict[str, float]:
    """Return what each way costs above making the values."""
    return {name: round(time - times["nothing"], 2) for name, time in times.items() if name != "nothing"}


def main() -> None:
    """Print the figures; with ``--write``, store them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"store the figures as {RESULT.name}")
    text = json.dumps(measure(), indent=2)
    if parser.parse_args().write:
        RESULT.write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
