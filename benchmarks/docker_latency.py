"""What a clean sandbox costs in hardened containers, beside what Docker itself needs for a container.

Model of the world: a container is started once and gives sandboxes; an episode is one of them. Timed are, in
milliseconds: `reset` (`renew`: the old sandbox is left, a clean one has greeted), `reset_and_ask` (the same and the
first request), `call` (a request of 200 bytes), each with a spare that had time to be forked; `resets_per_second` back
to back; and, for 1 to 64 live episodes in four containers, the resets of each in turn, with that pause and without. The
peer, in the same run, is `create_and_start`: a new container of the same image with the same hardening, without waiting
for the program in it. `idle_MiB` is the private memory of a sandbox that was reset and waits. Run it as

    python -m benchmarks.docker_latency [--write]

It needs Docker and the images (`makerspace sandbox build`), and does not measure what an application computes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from makerspace.containers.docker import DockerRuntime
from makerspace.containers.engine import engine, ownership
from makerspace.containers.hardening import Bounds, host_config
from makerspace.containers.images import image_name
from makerspace.containers.session import Session, Target

RESULT = Path(__file__).parent / "results" / "docker_latency.json"
APPLICATION = "makerspace.simulators.service:ApplicationService"
RESET = {"scene": {}, "seed": 0}
PAUSE = 0.15
"""Seconds between two timed resets."""


def target(application: str) -> Target:
    """Return the service of an application."""
    return Target(APPLICATION, {"application": application}, application)


def timed(actions: Iterable[Callable[[], object]], pause: float = 0.0) -> dict[str, float]:
    """Return the actions' times in ms: lowest decile, median, 95th percentile."""
    taken: list[float] = []
    for action in actions:
        time.sleep(pause)
        start = time.perf_counter()
        action()
        taken.append((time.perf_counter() - start) * 1e3)
    parts = statistics.quantiles(taken, n=20, method="inclusive")
    return {"p10": round(parts[1], 3), "p50": round(parts[9], 3), "p95": round(parts[18], 3), "n": len(taken)}


def measure_one(application: str, rounds: int) -> dict[str, Any]:
    """Time one episode at a time in one container."""
    runtime = DockerRuntime()
    session = runtime.open(target(application))
    start = time.perf_counter()
    try:
        session.renew()
        started = (time.perf_counter() - start) * 1e3
        report: dict[str, Any] = {"container_to_first_sandbox": round(started, 1)}
        report["reset"] = timed([session.renew] * rounds, PAUSE)
        report["reset_and_ask"] = timed([lambda: ask(session)] * rounds, PAUSE)
        report["call"] = timed([lambda: session.request("observe", {})] * (10 * rounds))
        report["resets_per_second"] = round(rate(session.renew, 4 * rounds), 1)
        report["idle_MiB"] = idle_memory(session)
        return report
    finally:
        runtime.close()


def ask(session: Session) -> None:
    """Take a clean sandbox and reset it to a scene."""
    session.renew()
    session.request("reset", RESET)


def rate(action: Callable[[], object], times: int) -> float:
    """Return how often an action can be done in a second, back to back."""
    start = time.perf_counter()
    for _ in range(times):
        action()
    return times / (time.perf_counter() - start)


def idle_memory(session: Any) -> float | None:
    """Return the private memory of a session's sandbox in MiB; ``None`` where this user may not look."""
    session.renew()
    session.request("reset", RESET)
    try:
        lines = Path(f"/proc/{session.pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return None
    return round(sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024, 2)


def measure_many(application: str, live: int, rounds: int) -> dict[str, Any]:
    """Time the resets of many live episodes in four containers, each in turn with a call in between."""
    runtime = DockerRuntime(containers=4)
    sessions = [runtime.open(target(application)) for _ in range(live)]
    try:
        for _ in range(6):  # until all containers that will be are warm
            for session in sessions:
                ask(session)
            time.sleep(2.0)
        resets = [sessions[number % live].renew for number in range(max(rounds, live))]
        start = time.perf_counter()
        for reset in resets:
            reset()
        rate = len(resets) / (time.perf_counter() - start)
        return {**timed(resets, PAUSE / 2), "resets_per_second": round(rate, 1)}
    finally:
        runtime.close()


def create_and_start(image: str, times: int) -> dict[str, float]:
    """Time Docker's own way to a clean container."""
    with tempfile.TemporaryDirectory() as place:
        config = {**host_config(Path(place), Bounds()), "AutoRemove": False}
        made: list[str] = []

        def begin() -> None:
            labels = ownership("benchmark", "benchmark")
            made.append(
                engine().start(
                    image,
                    ["-c", "import time; time.sleep(60)"],
                    config,
                    labels=labels,
                    entrypoint=["python3"],
                    user="1000:1000",
                )
            )

        report = timed([begin] * times)
        for container in made:
            engine().remove(container)
        return report


def measure(rounds: int) -> dict[str, Any]:
    """Measure everything."""
    report: dict[str, Any] = {"create_and_start": create_and_start(image_name("terminal"), max(3, rounds // 5))}
    peer = report["create_and_start"]["p50"]
    for application in ("terminal", "cad"):
        one = measure_one(application, rounds)
        one["create_and_start_over_reset_p50"] = round(peer / one["reset"]["p50"], 1)
        one["live"] = {str(n): measure_many(application, n, 2 * rounds) for n in (1, 2, 4, 8, 16, 32, 64)}
        report[application] = one
    return report


def main() -> None:
    """Print the figures, and keep them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULT.name}")
    parser.add_argument("--rounds", type=int, default=60, help="timed resets per row")
    given = parser.parse_args()
    report = {
        "command": "python -m benchmarks.docker_latency --write",
        "unit": "ms",
        "python": platform.python_version(),
        "docker": engine().api.version()["Version"],
        "cores": os.cpu_count(),
        "load_average": round(os.getloadavg()[0], 1),
        **measure(given.rounds),
    }
    print(json.dumps(report, indent=2))
    if given.write:
        RESULT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
