"""Training states that survive a kill at any moment.

A state is a directory `step-00000120` under a root:

    model.safetensors   the weights, a value head included
    trainer.pt          the optimizer's state and the generators of torch, numpy and python
    state.json          the step, and whatever else in JSON the trainer wants back

It is written under another name, flushed to the disk, and renamed; then the file `latest` is replaced, in the same way,
to name it. At every moment `latest` names a whole state, or does not exist. A loop that restores a state continues with
the very bits that it would have computed. What a state means is not known here; neither is when to write one.
"""

import json
import os
import random
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from safetensors import torch as tensors
from torch import nn
from torch.optim import Optimizer

FORMAT: Final = 1
LATEST: Final = "latest"
_WEIGHTS, _TRAINER, _STATE = "model.safetensors", "trainer.pt", "state.json"


def save_checkpoint(
    root: Path | str, model: nn.Module, optimizer: Optimizer | None, state: Mapping[str, Any], *, keep: int = 2
) -> Path:
    """Writes a state and makes it the latest.

    Args:
        root: directory of all states of a run.
        model: whose weights to keep.
        optimizer: whose state to keep, if any.
        state: JSON data with an int under "step"; counters, curricula, states of further generators.
        keep: how many of the newest states stay; older ones are deleted.

    Returns:
        The directory of the state, named after its step (with a suffix, if that name is taken).

    Raises:
        TypeError: the state is not JSON.
    """
    base = Path(root)
    base.mkdir(parents=True, exist_ok=True)
    temporary = base / f".writing-{os.getpid()}"
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir()
    _write(temporary, model, optimizer, state)
    final = _unused(base, int(state["step"]))
    temporary.rename(final)
    _flush(base)
    _point(base, final.name)
    _prune(base, final, keep)
    return final


def load_checkpoint(root: Path | str, model: nn.Module, optimizer: Optimizer | None = None) -> dict[str, Any] | None:
    """Restores the latest state in place: weights, optimizer, and the generators of torch, numpy and python.

    Args:
        root: directory of all states of a run, or of one state.
        model: of the shape that was saved.
        optimizer: over the same parameters as the one that was saved.

    Returns:
        The JSON data of the state, or None if there is no state yet.

    Raises:
        ValueError: the state is of another format, or holds no optimizer although one was given.
    """
    path = latest_checkpoint(root)
    if path is None:
        return None
    record = json.loads((path / _STATE).read_text())
    if record["format"] != FORMAT:
        raise ValueError(f"{path} has format {record['format']}, this code reads {FORMAT}")
    model.load_state_dict(tensors.load_file(path / _WEIGHTS))
    trainer = torch.load(path / _TRAINER, map_location="cpu", weights_only=True)
    if optimizer is not None:
        if trainer["optimizer"] is None:
            raise ValueError(f"{path} holds no optimizer")
        optimizer.load_state_dict(trainer["optimizer"])
    _set_generators(trainer["generators"])
    return record["state"]


def latest_checkpoint(root: Path | str) -> Path | None:
    """Returns the directory of the latest whole state under a root (or of the state that the root is), if any."""
    base = Path(root)
    if (base / _STATE).is_file():
        return base
    pointer = base / LATEST
    if not pointer.is_file():
        return None
    path = base / pointer.read_text().strip()
    return path if path.is_dir() else None


def _write(path: Path, model: nn.Module, optimizer: Optimizer | None, state: Mapping[str, Any]) -> None:
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    tensors.save_file(weights, path / _WEIGHTS)
    moments = None if optimizer is None else optimizer.state_dict()
    torch.save({"optimizer": moments, "generators": _generators()}, path / _TRAINER)
    (path / _STATE).write_text(json.dumps({"format": FORMAT, "state": dict(state)}))
    for file in path.iterdir():
        _flush(file)
    _flush(path)


def _unused(base: Path, step: int) -> Path:
    names = (f"step-{step:08d}" + (f".{attempt}" if attempt else "") for attempt in count())
    return next(base / name for name in names if not (base / name).exists())


def _point(base: Path, name: str) -> None:
    temporary = base / f".{LATEST}-{os.getpid()}"
    temporary.write_text(name + "\n")
    _flush(temporary)
    temporary.replace(base / LATEST)
    _flush(base)


def _prune(base: Path, newest: Path, keep: int) -> None:
    """Deletes all but the newest states, and what killed writers left behind."""
    others = sorted((path for path in base.glob("step-*") if path != newest), key=lambda path: path.stat().st_mtime_ns)
    for path in [*others[: max(0, len(others) - keep + 1)], *base.glob(".writing-*")]:
        shutil.rmtree(path, ignore_errors=True)


def _flush(path: Path) -> None:
    """Makes a file, or the names in a directory, outlast a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _generators() -> dict[str, Any]:
    name, keys, position, has_gauss, gauss = np.random.get_state(legacy=True)
    version, words, cached = random.getstate()
    return {
        "torch": torch.get_rng_state(),
        "numpy": [str(name), np.asarray(keys).tolist(), int(position), int(has_gauss), float(gauss)],
        "python": [version, list(words), cached],
    }


def _set_generators(state: Mapping[str, Any]) -> None:
    torch.set_rng_state(state["torch"])
    name, keys, position, has_gauss, gauss = state["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), position, has_gauss, gauss))
    version, words, cached = state["python"]
    random.setstate((version, tuple(words), cached))
