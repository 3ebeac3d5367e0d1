"""The same seed leaves the same bytes in every process, whatever its hash seed, and in both runtimes."""

from __future__ import annotations

import json
import os
import subprocess
import sys

from makerspace.envs.tasks import family_names

SCRIPT = """
import hashlib, json, sys, tempfile, makerspace
from makerspace.envs.env import ToolEnv
from makerspace.envs.oracle import play_oracle
from makerspace.traces.reader import canonical, read

def digest(env):
    env.close()
    return hashlib.sha256(canonical(read(env.trace_path))).hexdigest()

def random_episode(env):
    env.action_space.seed(1)
    env.reset(seed=1)
    while not any(env.step(env.action_space.sample())[2:4]):
        pass

found = {}
with tempfile.TemporaryDirectory() as folder:
    for name in sys.argv[2:]:
        env = ToolEnv(name, runtime=sys.argv[1], trace=folder)
        found[name] = []
        for seed in (1, 2):
            assert play_oracle(env, seed=seed)[1] == 1.0
            found[name].append(digest(env))
        random_episode(env)
        found[name].append(digest(env))
print(json.dumps(found))
"""


def digests(runtime, hash_seed):
    arguments = [sys.executable, "-c", SCRIPT, runtime, *family_names()]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(arguments, check=False, capture_output=True, text=True, timeout=1200, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_traces_are_byte_equal_across_processes_hash_seeds_and_runtimes():
    first = digests("inline", "1")
    assert all(len(set(found)) == 3 for found in first.values()), "different episodes must leave different traces"
    assert digests("inline", "2") == first
    assert digests("process", "3") == first
