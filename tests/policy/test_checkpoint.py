import json
import random
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from makerspace.policy.checkpoint import latest_checkpoint, load_checkpoint, save_checkpoint

LOOP = """
import os, random, signal, sys
import numpy as np, torch
from makerspace.policy.checkpoint import load_checkpoint, save_checkpoint
from makerspace.policy.config import ModelConfig
from makerspace.policy.model import Apprentice

def loop(root, last, kill_at):
    torch.set_num_threads(1)
    random.seed(0), np.random.seed(0), torch.manual_seed(0)
    model = Apprentice(ModelConfig(20, 16, 1, 2, 1, 8, 16, smear=1))
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    state = load_checkpoint(root, model, optimizer) or {"step": 0}
    for step in range(state["step"], last):
        length = random.randint(2, 9) + np.random.randint(3)
        ids = torch.randint(0, 20, (4, length))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten()).backward()
        optimizer.step()
        if step + 1 == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        if (step + 1) % 4 == 0:
            save_checkpoint(root, model, optimizer, {"step": step + 1, "lengths": [length]})
"""


def train(root, last):
    scope = {}
    exec(LOOP, scope)
    scope["loop"](root, last, 0)


def train_until_killed(root, last, kill_at):
    command = f"{LOOP}\nloop(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))"
    return subprocess.run([sys.executable, "-c", command, str(root), str(last), str(kill_at)], check=False).returncode


def test_a_killed_run_continues_to_the_same_bits(tmp_path):
    train(tmp_path / "whole", 20)
    assert train_until_killed(tmp_path / "killed", 20, kill_at=10) == -signal.SIGKILL
    assert latest_checkpoint(tmp_path / "killed").name == "step-00000008"
    train(tmp_path / "killed", 20)
    whole, resumed = (latest_checkpoint(tmp_path / name) for name in ("whole", "killed"))
    first, second = (load_file(path / "model.safetensors") for path in (whole, resumed))
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
    assert (whole / "state.json").read_text() == (resumed / "state.json").read_text()


def small():
    model = torch.nn.Linear(3, 2)
    return model, torch.optim.AdamW(model.parameters(), 1e-2)


def test_everything_comes_back(tmp_path):
    model, optimizer = small()
    model(torch.ones(1, 3)).sum().backward()
    optimizer.step()
    random.gauss(0, 1), np.random.standard_normal()  # leaves a second number cached
    save_checkpoint(tmp_path, model, optimizer, {"step": 7, "rates": {"cad": 0.5}})
    drawn = random.gauss(0, 1), np.random.standard_normal(), torch.rand(2).tolist()
    other, other_optimizer = small()
    assert load_checkpoint(tmp_path, other, other_optimizer) == {"step": 7, "rates": {"cad": 0.5}}
    assert (random.gauss(0, 1), np.random.standard_normal(), torch.rand(2).tolist()) == drawn
    assert torch.equal(model.weight, other.weight)
    assert torch.equal(optimizer.state[model.weight]["exp_avg_sq"], other_optimizer.state[other.weight]["exp_avg_sq"])


def test_without_a_state_nothing_is_restored(tmp_path):
    assert load_checkpoint(tmp_path / "nowhere", *small()) is None


def test_old_states_go_and_remains_of_killed_writers_too(tmp_path):
    (tmp_path / ".writing-1").mkdir()
    for step in range(1, 6):
        save_checkpoint(tmp_path, *small(), {"step": step}, keep=3)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "latest", "step-00000003", "step-00000004", "step-00000005",
    ]  # fmt: skip


def test_a_step_that_is_saved_twice_replaces_nothing_under_a_reader(tmp_path):
    first = save_checkpoint(tmp_path, *small(), {"step": 1})
    second = save_checkpoint(tmp_path, *small(), {"step": 1})
    assert first != second == latest_checkpoint(tmp_path)
    assert first.is_dir()


@pytest.mark.parametrize("moment", ["_write", "_point"])
def test_a_writer_that_dies_leaves_the_previous_state(tmp_path, monkeypatch, moment):
    save_checkpoint(tmp_path, *small(), {"step": 1})

    def die(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(f"makerspace.policy.checkpoint.{moment}", die)
    with pytest.raises(KeyboardInterrupt):
        save_checkpoint(tmp_path, *small(), {"step": 2})
    assert load_checkpoint(tmp_path, *small()) == {"step": 1}


def test_what_is_not_json_is_refused_before_anything_is_replaced(tmp_path):
    save_checkpoint(tmp_path, *small(), {"step": 1})
    with pytest.raises(TypeError):
        save_checkpoint(tmp_path, *small(), {"step": 2, "what": object()})
    assert load_checkpoint(tmp_path, *small()) == {"step": 1}


def test_a_state_of_another_kind_is_refused(tmp_path):
    model, optimizer = small()
    path = save_checkpoint(tmp_path, model, None, {"step": 1})
    assert load_checkpoint(path, model) == {"step": 1}
    with pytest.raises(ValueError, match="no optimizer"):
        load_checkpoint(tmp_path, model, optimizer)
    (path / "state.json").write_text(json.dumps({"format": 99, "state": {}}))
    with pytest.raises(ValueError, match="format 99"):
        load_checkpoint(tmp_path, model)


def test_states_hold_no_pickled_code(tmp_path):
    path = save_checkpoint(tmp_path, *small(), {"step": 1})
    assert torch.load(path / "trainer.pt", weights_only=True)["generators"].keys() == {"torch", "numpy", "python"}
    assert (path / "model.safetensors").stat().st_size < 1000
