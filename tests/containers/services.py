"""Small services that behave, and small services that do not. They run in sandboxes, which import them by name."""

from __future__ import annotations

import ctypes
import errno
import gc  # noqa: F401 - a plant uses it
import locale
import math
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
import types
from pathlib import Path

from makerspace.containers.runtimes import open_runtime
from makerspace.containers.session import Target

COUNTER = {"episodes": 0}


class Service:
    """Does what the operation says."""

    def __init__(self, greeting="hello"):
        self.greeting = greeting
        self.count = 0

    def warm(self):
        pass

    def handle(self, operation, payload):
        return getattr(self, operation)(**payload)

    def reset(self):
        self.count = 0
        return {"count": 0}

    def echo(self, **payload):
        return payload

    def keep(self, value):
        self.kept = value
        return {"same": value}

    def spoil(self):
        self.kept.append("spoiled")
        return {}

    def greet(self):
        return {"greeting": self.greeting}

    def add(self):
        self.count += 1
        return {"count": self.count}

    def fail(self, message):
        raise ValueError(message)

    def leave(self):
        sys.exit(3)

    def answer_object(self):
        return {"value": object()}

    def big(self, size):
        return {"data": "x" * size}


class Rogue(Service):
    """Breaks what it can reach."""

    def crash(self):
        ctypes.string_at(0)

    def vanish(self, status):
        os._exit(status)

    def hang(self):
        while True:
            time.sleep(60)

    def slow(self, seconds):
        time.sleep(seconds)
        return {"done": True}

    def spin(self):
        while True:
            pass

    def hog(self, size):
        held = bytearray(size)
        return {"held": len(held)}

    def shout(self, size):
        for stream in (1, 2):
            os.write(stream, b"x" * size)
        subprocess.run(["echo", "x" * 1000], check=True)
        return {}

    def babble(self, text):
        """Write these bytes where a reply is expected, and a true reply after them."""
        os.write(self._connection(), bytes.fromhex(text))
        return {}

    def hang_up(self):
        os.close(self._connection())
        time.sleep(60)

    def start_processes(self, count):
        """Leave processes behind: in the same group, in sessions of their own, and orphans."""
        for number in range(count):
            command = "sleep 1000 & sleep 1000" if number % 3 == 0 else "sleep 1000"
            subprocess.Popen(["sh", "-c", command], start_new_session=number % 2 == 0)
        if os.fork() == 0:
            if os.fork() == 0:
                os.setsid()
                time.sleep(1000)
            os._exit(0)
        os.wait()
        return {"children": count}

    def dirty(self):
        """Change everything that an episode can change without a crash."""
        subprocess.Popen(["sleep", "1000"], start_new_session=True)
        for place in (".", os.environ["TMPDIR"]):
            Path(place, "left.txt").write_text("left")
            Path(place, "folder").mkdir(exist_ok=True)
        os.environ.update(LEFT="1", PATH="/left")
        os.umask(0o077)
        os.chdir("folder")
        math.pi = 3.0
        sys.modules["left"] = types.ModuleType("left")
        COUNTER["episodes"] += 1
        random.seed(99)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        locale.setlocale(locale.LC_ALL, "C")
        self.held = Path("held").open("w")  # noqa: SIM115 - that it stays open is the point
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
        return {}

    def look(self):
        """Describe what ``dirty`` changes."""
        home = os.environ["HOME"]
        return {
            "files": sorted(
                str(path.relative_to(home)) for place in (home, ".") for path in Path(place).absolute().rglob("*")
            ),
            "environment": {name: value.replace(home, "~") for name, value in os.environ.items()},
            "place": str(Path.cwd()).replace(home, "~"),
            "mask": [old := os.umask(0), os.umask(old)][0],
            "pi": math.pi,
            "modules": sorted(sys.modules),
            "counter": dict(COUNTER),
            "random": random.random(),
            "hash": hash("text"),
            "terminate": str(signal.getsignal(signal.SIGTERM)),
            "limits": [
                resource.getrlimit(kind)
                for kind in (resource.RLIMIT_NOFILE, resource.RLIMIT_CORE, resource.RLIMIT_DATA)
            ],
            "locale": locale.setlocale(locale.LC_ALL),
            "descriptors": len(descriptors()),
            "threads": sum(1 for _ in Path("/proc/self/task").iterdir()),
            "children": Path(f"/proc/self/task/{os.getpid()}/children").read_text(),
            "count": self.count,
        }

    def attempt(self, code):
        """Run a line of the agent's code; say how it failed."""
        try:
            exec(code, {"os": os, "ctypes": ctypes, "Path": Path})
        except Exception as error:  # noqa: BLE001 - whatever it was is the answer
            return {"failed": type(error).__name__, "message": str(error)}
        return {"failed": None}

    @staticmethod
    def _connection():
        return next(fd for fd in descriptors() if Path(f"/proc/self/fd/{fd}").readlink().name.startswith("socket:"))


class Threaded(Service):
    """Leaves a thread running in the parent."""

    def warm(self):
        threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()


class Unimportable(Service):
    """Has no library that it needs."""

    def warm(self):
        import there_is_no_such_library  # noqa: F401


class Unforkable(Service):
    """Makes the kernel refuse the first forks, as it does when there are too many processes."""

    def __init__(self, refusals):
        super().__init__()
        self.refusals = refusals

    def warm(self):
        fork = os.fork

        def refuse():
            self.refusals -= 1
            if self.refusals >= 0:
                raise OSError(errno.EAGAIN, "no more processes")
            return fork()

        os.fork = refuse


class Stillborn(Service):
    """Dies at once in every fork."""

    def warm(self):
        os.register_at_fork(after_in_child=lambda: os._exit(7))


class Solids(Service):
    """Computes with OpenCascade."""

    def warm(self):
        import cadquery  # noqa: F401

    def drill(self, diameter):
        import cadquery

        plate = cadquery.Workplane().box(20, 20, 5).faces(">Z").workplane().hole(diameter)
        return {"volume": plate.val().Volume(), "faces": plate.faces().size()}


def descriptors():
    """Return this process's open descriptors."""
    listed = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
    return [fd for fd in sorted(listed) if fd_is_open(fd)]


def fd_is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False
    return True


def drive(options, results):
    """Use a runtime in a process of its own, as a worker of a vector environment does."""
    with_results = []
    session = open_runtime("process", **options).open(Target("services:Service", {"greeting": "worker"}))
    for _ in range(3):
        session.renew()
        with_results.append(session.request("add")["count"])
    results.put((with_results, session.request("greet")["greeting"]))


PLANTS = {
    "a variable of the environment": "os.environ['LEFT'] = '1'",
    "a changed variable": "os.environ['TZ'] = 'Asia/Tokyo'",
    "a file": "Path('/tmp/left').write_text('x')",
    "a hidden folder": "Path('/tmp/.left').mkdir()",
    "a link": "Path('/tmp/link').symlink_to('/etc')",
    "a file in shared memory": "Path('/dev/shm/left').write_text('x')",
    "an open file": "globals().update(held=open('/dev/null'))",
    "an open socket": "import socket; globals().update(held=socket.socket())",
    "an ignored signal": "signal.signal(signal.SIGTERM, signal.SIG_IGN)",
    "a blocked signal": "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])",
    "a timer": "signal.setitimer(signal.ITIMER_REAL, 1e6)",
    "a lower limit": "resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))",
    "another locale": "locale.setlocale(locale.LC_ALL, 'C')",
    "a module": "sys.modules['left'] = types.ModuleType('left')",
    "a place to import from": "sys.path.insert(0, '/left')",
    "a finder of modules": "sys.meta_path.insert(0, object())",
    "a lower priority": "os.nice(5)",
    "another recursion limit": "sys.setrecursionlimit(4321)",
    "a trace function": "sys.settrace(lambda *_: None)",
    "another hook for exceptions": "sys.excepthook = lambda *_: None",
    "a switched off collector": "gc.disable()",
    "a process": "os.fork() or time.sleep(1000)",
    "a thread": "threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()",
}
"""Ways in which a sandbox could be dirty from its first moment on."""


class Planted(Service):
    """Its sandboxes are clean until a number of them was made; all later ones are dirty, as if the parent were."""

    def __init__(self, plant, after):
        super().__init__()
        self.plant, self.left = plant, after

    def warm(self):
        os.register_at_fork(before=self.count_down)

    def count_down(self):
        self.left -= 1

    def rehearse(self):
        """Run in each sandbox after it was set apart and before it is looked at."""
        if self.left < 0:
            exec(PLANTS[self.plant], globals())
