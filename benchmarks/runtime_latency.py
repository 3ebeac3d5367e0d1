"""What a reset and a call cost in each runtime, beside starting the same service in a fresh interpreter.

Model of the world: an episode is a clean sandbox (`renew`), one `reset` request and a few calls. Timed are, in
milliseconds: `start` (once per process and target: the warmed parent), `reset` (`renew` and the `reset` request, with a
spare that had time to be forked, as it has while an episode lasts), `reset_at_once` (the same back to back, so that
each waits for its fork), and `call` (one small request). The baseline `fresh` starts a new interpreter that imports the
service, resets it once, and ends. Run it as

    python -m benchmarks.runtime_latency [--write]

It does not measure many sessions at once, and the computing of an application is part of its calls.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from makerspace.containers.inline import InlineRuntime
from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import Runtime, SandboxError, Session, Target

RESULT = Path(__file__).parent / "results" / "runtime_latency.json"
PAUSE = 0.15
"""Seconds between two timed resets, in which a spare is forked also with a CAD kernel loaded."""


class Echo:
    """The smallest service: it answers with what it was sent."""

    def warm(self) -> None:
        """Need nothing."""

    def handle(self, operation: str, payload: Mapping[str, Any]) -> dict[str, Any]:
        """Answer with the payload."""
        return dict(payload, operation=operation)


APPLICATION = "makerspace.simulators.service:ApplicationService"
RESET = {"scene": {}, "seed": 0}
CASES: dict[str, tuple[Target, str, dict[str, Any]]] = {
    "echo": (Target("runtime_latency:Echo"), "echo", {"text": "x" * 200}),
    "terminal": (Target(APPLICATION, {"application": "terminal"}), "observe", {}),
    "cad": (Target(APPLICATION, {"application": "cad"}), "observe", {}),
}
"""Each target, and the call that is timed."""
FRESH = """
import json, sys
sys.path[:] = json.loads(sys.argv[1])
from makerspace.containers.service import build
from makerspace.containers.session import Target
build(Target(sys.argv[2], json.loads(sys.argv[3]))).handle("reset", json.loads(sys.argv[4]))
"""


def fresh(target: Target) -> None:
    """Start the service in a new interpreter, reset it, and end."""
    arguments = [json.dumps(sys.path), target.factory, json.dumps(dict(target.arguments)), json.dumps(RESET)]
    subprocess.run([sys.executable, "-c", FRESH, *arguments], check=True)


def timed(action: Callable[[], object], times: int, pause: float = 0.0) -> dict[str, float]:
    """Return an action's time in ms: lowest decile (about that of a quiet machine), median and 95th percentile."""
    taken: list[float] = []
    for _ in range(times):
        time.sleep(pause)
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1e3)
    parts = statistics.quantiles(taken, n=20, method="inclusive")
    return {"p10": round(parts[1], 3), "p50": round(parts[9], 3), "p95": round(parts[18], 3), "n": times}


def episode(session: Session) -> None:
    """Take a clean sandbox and reset it."""
    session.renew()
    session.request("reset", RESET)


def measure_runtime(
    runtime: Runtime, target: Target, call: str, payload: dict[str, Any], rounds: int
) -> dict[str, Any]:
    """Time one target in one runtime."""
    start, session = time.perf_counter(), runtime.open(target)
    try:
        episode(session)
        return {
            "start": round((time.perf_counter() - start) * 1e3, 1),
            "reset": timed(lambda: episode(session), rounds, PAUSE),
            "reset_at_once": timed(lambda: episode(session), rounds),
            "call": timed(lambda: session.request(call, payload), 10 * rounds),
        }
    finally:
        session.close()
        runtime.close()


def measure(rounds: int) -> dict[str, Any]:
    """Time every target in every runtime that is present, and the baseline."""
    report: dict[str, Any] = {}
    for name, (target, call, payload) in CASES.items():
        try:
            report[name] = measure_case(target, call, payload, rounds)
        except (SandboxError, subprocess.CalledProcessError) as error:
            report[name] = {"absent": str(error).partition("\n")[0]}
    return report


def measure_case(target: Target, call: str, payload: dict[str, Any], rounds: int) -> dict[str, Any]:
    """Time one target everywhere."""
    case = {
        "inline": measure_runtime(InlineRuntime(), target, call, payload, rounds),
        "process_plain": measure_runtime(ProcessRuntime(tier="plain"), target, call, payload, rounds),
        "process_namespaces": measure_runtime(ProcessRuntime(tier="namespaces"), target, call, payload, rounds),
        "fresh": {"reset": timed(lambda: fresh(target), 3)},
    }
    for way in case.values():
        way["fresh_over_reset_p50"] = round(case["fresh"]["reset"]["p50"] / way["reset"]["p50"], 1)
    return case


def main() -> None:
    """Measure, print, and keep the figures where asked to."""
    parser = argparse.ArgumentParser(description="Time resets and calls in each runtime.")
    parser.add_argument("--write", action="store_true", help=f"write {RESULT.name} as well")
    parser.add_argument("--rounds", type=int, default=100, help="resets per runtime and target")
    chosen = parser.parse_args()
    sys.path.insert(0, str(Path(__file__).parent))  # sandboxes import this module as ``runtime_latency``
    report = {
        "command": "python -m benchmarks.runtime_latency --write",
        "unit": "ms",
        "baseline": "fresh: a new interpreter that imports the service and resets it once",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "targets": measure(chosen.rounds),
        "load_average": round(os.getloadavg()[0], 1),
    }
    text = json.dumps(report, indent=2)
    print(text)
    if chosen.write:
        RESULT.parent.mkdir(exist_ok=True)
        RESULT.write_text(text + "\n")


if __name__ == "__main__":
    main()
