"""Do containers stay as they were through very many resets?

Model of the world: four containers, one session in each, reset in turn; every reset's state hash must be that of the
first one, and every thousandth episode leaves files, processes and a changed environment behind. Before and after,
counted are: processes in the containers, descriptors of this process and of the warmed parents, mounts that the parents
see, and the parents' private memory. Run it as

    python -m benchmarks.soak [--resets 100000] [--write]

It needs Docker and the image `makerspace/terminal`, and root (or the containers' user) to look into their processes.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from pathlib import Path
from typing import Any

from makerspace.containers.docker import DockerRuntime
from makerspace.containers.engine import engine
from makerspace.containers.session import Session, Target

RESULT = Path(__file__).parent / "results" / "soak.json"
TARGET = Target("makerspace.simulators.service:ApplicationService", {"application": "terminal"}, "terminal")
RESET = {"scene": {}, "seed": 0}
MESS = "mkdir -p /tmp/left; echo left > /tmp/left/file; export LEFT=1; cd /tmp"
CONTAINERS = 4


def container(session: Any) -> str:
    """Return the id of a session's container."""
    return session._zygote._body._id


def parents_of(sandboxes: list[Any]) -> list[int]:
    """Return the process ids of the warmed parents."""
    found: list[int] = []
    for session in sandboxes:
        stat = Path(f"/proc/{session.pid}/stat").read_text()
        found.append(int(stat.rpartition(")")[2].split()[1]))
    return found


def entries(directory: str) -> int:
    """Count the entries of a directory."""
    return sum(1 for _ in Path(directory).iterdir())


def census(sessions: list[Any]) -> dict[str, int]:
    """Count everything that could grow."""
    time.sleep(1.0)  # the last reset's spare is forked, the old sandbox buried
    parents = parents_of(sessions)
    tops = [engine().api.top(container(session))["Processes"] for session in sessions]
    anonymous = [
        int(line.split()[1])
        for pid in parents
        for line in Path(f"/proc/{pid}/status").read_text().splitlines()
        if line.startswith("RssAnon")
    ]
    return {
        "processes": sum(map(len, tops)),
        "descriptors_here": entries("/proc/self/fd"),
        "descriptors_of_parents": sum(entries(f"/proc/{pid}/fd") for pid in parents),
        "mounts_of_parents": sum(len(Path(f"/proc/{pid}/mountinfo").read_text().splitlines()) for pid in parents),
        "parents_private_KiB": sum(anonymous),
        "containers": len(engine().find()),
    }


def reset(session: Session) -> str:
    """Reset once; return the state's hash."""
    session.renew()
    return str(session.request("reset", RESET)["state_hash"])


def soak(resets: int) -> dict[str, Any]:
    """Reset that often; return what was counted."""
    runtimes = [DockerRuntime(episodes=2 * resets) for _ in range(CONTAINERS)]
    try:
        sessions = [runtime.open(TARGET) for runtime in runtimes]
        right = {reset(session) for _ in range(25) for session in sessions}
        before, start, wrong = census(sessions), time.monotonic(), 0
        for number in range(resets):
            session = sessions[number % CONTAINERS]
            wrong += reset(session) not in right
            if number % 1000 == 0:
                session.request("call", {"name": "run", "arguments": {"command": MESS}})
                print(number, f"{number / (time.monotonic() - start + 1e-9):.1f}/s", flush=True)
        seconds = time.monotonic() - start
        return {
            "resets": resets,
            "resets_per_second": round(resets / seconds, 1),
            "hashes": len(right),
            "wrong_hashes": wrong,
            "refused": [said for runtime in runtimes for said in runtime.refused],
            "before": before,
            "after": census(sessions),
        }
    finally:
        for runtime in runtimes:
            runtime.close()


def main() -> None:
    """Print the figures, and keep them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULT.name}")
    parser.add_argument("--resets", type=int, default=100_000)
    given = parser.parse_args()
    report = {
        "command": f"python -m benchmarks.soak --resets {given.resets} --write",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        **soak(given.resets),
    }
    print(json.dumps(report, indent=2))
    if given.write:
        RESULT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
