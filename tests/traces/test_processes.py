"""Traces among processes: killed writers, equal runs, shared directories, full disks. Every process here is real."""

import json
import os
import subprocess
import sys

import pytest

from makerspace.traces.reader import canonical, list_traces, read

COMMON = """
import json, os, random, signal, sys, time
from makerspace.simulators.base import ToolCall
from makerspace.traces.records import Header
from makerspace.traces.writer import TraceWriter

def start(writer, task="f/train/0@0.5"):
    return writer.start(Header("e", task, "f", "ledger", 0, "do", {}, 9), text="", features=(), state_hash="")
"""

KILLED = """
rng = random.Random(20)
for number in range(20):
    told, tell = os.pipe()
    if (child := os.fork()) == 0:
        writer = TraceWriter(sys.argv[1], durable=False)
        start(writer)
        for step in range(1, 1_000_000):
            writer.action(step, "x" * (300_000 if step % 5 == 0 else 40), ToolCall("pay_in", {"amount": step}))
            writer.result(step, None, text="y" * 100)
            os.write(tell, b"%09d" % step)
    os.close(tell)
    os.read(told, 9)
    time.sleep(rng.uniform(0.0, 0.01))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    seen = b""
    while part := os.read(told, 65536):
        seen += part
    os.close(told)
    print(int(seen[-9:] or 1))
"""

EQUAL = """
names = {"alpha", "beta", "gamma", "delta", "epsilon"}
with TraceWriter(sys.argv[1]) as writer:
    start(writer)
    writer.action(1, "x", ToolCall("put", {name: len(name) / 7 for name in names}))
    result = {"ok": True, "text": "done", "data": {name: 1e-7 for name in names}}
    writer.result(1, result, host={"ms": time.monotonic()})
print(list(names))
"""

SHARED = """
with TraceWriter(sys.argv[1], durable=False) as writer:
    for number in range(40):
        start(writer, f"f/train/{number % 4}@0.5")
        writer.action(1, os.getpid(), None)
        writer.result(1, None, image=b"the same picture" * 50)
"""

FULL = """
from makerspace.traces.log import TraceWriteError
from makerspace.traces.reader import read
writer = TraceWriter(sys.argv[1], durable=False)
path = start(writer)
try:
    for step in range(1, 100_000):
        writer.action(step, "x" * 1000, None)
except TraceWriteError as full:
    writer.close()
    trace = read(path)
    print(json.dumps({"errno": full.errno, "written": step, "read": len(trace.steps), "reason": trace.reason,
                      "open": str(writer.path), "oserror": isinstance(full, OSError)}))
"""


def python(code, *arguments, wrap=(), **environment):
    command = [*wrap, sys.executable, "-c", COMMON + code, *map(str, arguments)]
    done = subprocess.run(
        command, env={**os.environ, **environment}, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_killed_writer_leaves_every_record_that_it_had_finished(tmp_path):
    told = [int(line) for line in python(KILLED, tmp_path).split()]
    traces = [read(tmp_path / "f" / f"train-0@0.5.{number}.trace") for number in range(20)]
    for finished, trace in zip(told, traces, strict=True):
        assert sum(step.result is not None for step in trace.steps) >= finished
        assert "no footer" in trace.reason or "torn" in trace.reason
    assert len({len(trace.records) for trace in traces}) > 5


def test_equal_runs_are_equal_in_processes_with_different_hash_seeds(tmp_path):
    orders = {python(EQUAL, tmp_path / seed, PYTHONHASHSEED=seed) for seed in "12"}
    one, two = (read(tmp_path / seed / "f" / "train-0@0.5.0.trace") for seed in "12")
    assert len(orders) == 2
    assert one.complete
    assert one.path.read_bytes() != two.path.read_bytes()
    assert canonical(one) == canonical(two)


def test_two_processes_write_into_one_directory(tmp_path):
    command = [sys.executable, "-c", COMMON + SHARED, str(tmp_path)]
    writers = [subprocess.Popen(command) for _ in range(2)]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    traces = [read(one.path) for one in list_traces(tmp_path)]
    assert len(traces) == 80
    assert all(trace.complete and len(trace.steps) == 1 for trace in traces)
    assert sorted(trace.steps[0].action.raw for trace in traces) == sorted([w.pid for w in writers] * 40)
    assert sorted(path.name for path in tmp_path.glob("f/*")) == sorted(
        f"train-{task}@0.5.{number}.trace" for task in range(4) for number in range(20)
    )
    assert sum(path.is_file() for path in tmp_path.glob("blobs/*/*")) == 1


def check_full(answer, expected_errno):
    assert answer["errno"] == expected_errno
    assert answer["oserror"]
    assert answer["read"] == answer["written"] - 1
    assert answer["open"] == "None"
    assert "torn" in answer["reason"] or "no footer" in answer["reason"]


def test_a_file_that_may_not_grow_is_one_typed_error_and_stays_readable(tmp_path):
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
    check_full(json.loads(python(limit + FULL, tmp_path)), 27)


def test_a_full_disk_is_one_typed_error_and_the_trace_stays_readable(tmp_path):
    wrap = ("unshare", "-Urm", "sh", "-c", 'mount -t tmpfs -o size=64k none "$0" && exec "$@"', str(tmp_path))
    try:
        probe = subprocess.run([*wrap, "true"], capture_output=True, check=False)
    except FileNotFoundError:
        pytest.skip("a small file system needs the program unshare")
    if probe.returncode:
        pytest.skip("a small file system needs user namespaces")
    check_full(json.loads(python(FULL, tmp_path, wrap=wrap)), 28)
