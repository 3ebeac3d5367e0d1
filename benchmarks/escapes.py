"""How many attempts to get out of a sandbox succeed, by category, in each runtime and without any.

The corpus is that of the tests (``tests/containers/escapes.py``); it is run here in the tier ``plain`` as well, which
promises less. Without protection only what does no harm is tried, as the present user, in a forked process. Run it as

    python -m benchmarks.escapes [--write]

Run it as root to see what the corpus could do; the docker column needs Docker and the image `makerspace/terminal`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from makerspace.containers.docker import DockerRuntime
from makerspace.containers.images import image_name
from makerspace.containers.process import ProcessRuntime
from makerspace.containers.session import RuntimeUnavailable, SandboxLost, SandboxTimeout, Target

TESTS = Path(__file__).parents[1] / "tests" / "containers"
RESULT = Path(__file__).parent / "results" / "escapes.json"
sys.path.insert(0, str(TESTS))
from escapes import CORPUS, PRELUDE, Attempt  # noqa: E402 - it lies beside the tests
from test_escapes import CONTROL  # noqa: E402

Fill = Callable[[str], str]


@contextmanager
def surroundings() -> Iterator[Fill]:
    """Set up what there is to find; yield a function that names it in an attempt's code."""
    file, place, abstract = Path.home() / ".canary", Path.home() / ".canary-socket", f"canary-{os.getpid()}"
    os.environ["MAKERSPACE_TEST_SECRET"] = "canary"
    file.write_text("canary")
    place.unlink(missing_ok=True)
    tcp, unix, hidden = (
        socket.create_server(("127.0.0.1", 0)),
        socket.socket(socket.AF_UNIX),
        socket.socket(socket.AF_UNIX),
    )
    with tcp, unix, hidden:
        unix.bind(str(place))
        hidden.bind(f"\0{abstract}")
        unix.listen(100)
        hidden.listen(100)
        names = {"CANARY": file, "PORT": tcp.getsockname()[1], "PLACE": place, "ABSTRACT": abstract}
        yield lambda code: PRELUDE + _filled(code, {name: str(value) for name, value in names.items()})
    file.unlink()
    place.unlink()


def _filled(code: str, names: dict[str, str]) -> str:
    for name, value in names.items():
        code = code.replace(name, value)
    return code


def unprotected(fill: Fill) -> list[Attempt]:
    """Return the harmless attempts that succeed in a plain process."""
    harmless = [attempt for attempt in CORPUS if not attempt.harmful]
    codes = json.dumps([fill(attempt.code) for attempt in harmless])
    done = subprocess.run([sys.executable, "-c", CONTROL], input=codes, capture_output=True, text=True, check=True)
    return [attempt for attempt, how in zip(harmless, json.loads(done.stdout), strict=True) if not how]


def in_sandboxes(runtime: Any, fill: Fill) -> list[Attempt]:
    """Return the attempts that succeed in a runtime."""
    session, succeeded = runtime.open(Target("services:Rogue")), []
    try:
        for attempt in CORPUS:
            session.renew()
            try:
                if session.request("attempt", {"code": fill(attempt.code)}, 10.0)["failed"] is None:
                    succeeded.append(attempt)
            except (SandboxLost, SandboxTimeout):
                continue
        return succeeded
    finally:
        runtime.close()


def main() -> None:
    """Print the figures, and keep them if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--write", action="store_true", help=f"keep the figures in {RESULT.name}")
    given = parser.parse_args()
    with surroundings() as fill:
        found = {
            "unprotected": unprotected(fill),
            "process_plain": in_sandboxes(ProcessRuntime(tier="plain"), fill),
            "process_namespaces": in_sandboxes(ProcessRuntime(tier="namespaces"), fill),
        }
        try:
            found["docker"] = in_sandboxes(DockerRuntime(image=image_name("terminal"), code=[TESTS]), fill)
        except RuntimeUnavailable as absent:
            print(absent)
    report = {
        "command": "python -m benchmarks.escapes --write",
        "kernel": platform.release(),
        "user": os.geteuid(),
        "attempts": dict(Counter(attempt.category for attempt in CORPUS)),
        "not_tried_unprotected": sum(attempt.harmful for attempt in CORPUS),
        "succeeded": {where: dict(Counter(one.category for one in ones)) for where, ones in found.items()},
        "which": {where: [str(one) for one in ones] for where, ones in found.items() if where != "unprotected"},
    }
    print(json.dumps(report, indent=2))
    if given.write:
        RESULT.write_text(json.dumps(report, indent=2) + "\n")


if __name__ == "__main__":
    main()
