"""Models as directories that `transformers` reads, and the other way round.

A directory holds `config.json` and `model.safetensors`, and, if asked for, the tokenizer's two files. The layout
decides the model type: without smear `qwen3` or `llama`, with smear `makerspace_apprentice` (see `hf`). Checkpoints of
the Qwen3 and Llama families can be read as long as they need nothing that `model.Apprentice` lacks: biases, scaled
rotary embeddings and sliding windows are refused by name.

This module does not import `transformers`; it knows only the files.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import torch
from safetensors import torch as tensors
from torch import Tensor

from .config import ModelConfig
from .model import Apprentice
from .tokenizer import END, PAD, Tokenizer

CONFIG_FILE: Final = "config.json"
WEIGHTS_FILE: Final = "model.safetensors"
INDEX_FILE: Final = "model.safetensors.index.json"

ARCHITECTURES: Final = {
    "qwen3": "Qwen3ForCausalLM",
    "llama": "LlamaForCausalLM",
    "makerspace_apprentice": "ApprenticeForCausalLM",
}
"""The model types that can be read and written, and their classes in `transformers` or `hf`."""

_NAMES: Final = {
    "vocab_size": "vocab_size",
    "hidden_size": "hidden_size",
    "num_layers": "num_hidden_layers",
    "num_heads": "num_attention_heads",
    "num_kv_heads": "num_key_value_heads",
    "head_dim": "head_dim",
    "intermediate_size": "intermediate_size",
    "rms_norm_eps": "rms_norm_eps",
    "max_position_embeddings": "max_position_embeddings",
    "tie_embeddings": "tie_word_embeddings",
}


class UnsupportedCheckpointError(ValueError):
    """A checkpoint needs something that this model does not have."""


def model_type(config: ModelConfig) -> str:
    """Returns the type under which `transformers` knows a shape.

    Raises:
        UnsupportedCheckpointError: smear without query and key norms, for which there is no class.
    """
    if not config.smear:
        return "qwen3" if config.qk_norm else "llama"
    if not config.qk_norm:
        raise UnsupportedCheckpointError("a smeared model without qk_norm has no class in transformers")
    return "makerspace_apprentice"


def save_pretrained(model: Apprentice, directory: Path | str, tokenizer: Tokenizer | None = None) -> None:
    """Writes a model, and its tokenizer if given, as a directory that `from_pretrained` reads; no value head.

    Raises:
        UnsupportedCheckpointError: `transformers` has no class for the shape.
        ValueError: the tokenizer has more ids than the model.
    """
    if tokenizer is not None and tokenizer.vocab_size > model.config.vocab_size:
        raise ValueError(f"the tokenizer has {tokenizer.vocab_size} ids, the model {model.config.vocab_size}")
    config = _to_transformers(model.config)
    path = Path(directory)
    path.mkdir(parents=True, exist_ok=True)
    if tokenizer is not None:
        config |= {"pad_token_id": tokenizer.id(PAD), "eos_token_id": tokenizer.id(END)}
        tokenizer.save(path)
    (path / CONFIG_FILE).write_text(json.dumps(config, indent=2) + "\n")
    weights = {name: tensor.detach().cpu().contiguous() for name, tensor in _without_values(model.state_dict()).items()}
    tensors.save_file(weights, path / WEIGHTS_FILE, metadata={"format": "pt"})


def load_pretrained(directory: Path | str) -> Apprentice:
    """Reads a Qwen3, Llama or apprentice checkpoint into single precision.

    Raises:
        FileNotFoundError: the directory lacks a configuration or weights.
        UnsupportedCheckpointError: the checkpoint needs a feature that is not here, named in the message.
        RuntimeError: tensors are missing, superfluous, or of the wrong shape.
    """
    path = Path(directory)
    model = Apprentice(read_config(path), seed=0)
    weights = {name: tensor.to(torch.float32) for name, tensor in _without_values(_read_weights(path)).items()}
    if model.config.tie_embeddings:
        weights.pop("lm_head.weight", None)
    model.load_state_dict(weights)
    return model


def read_config(directory: Path | str) -> ModelConfig:
    """Returns the shape that a directory's `config.json` describes.

    Raises:
        FileNotFoundError: there is no `config.json`.
        UnsupportedCheckpointError: it needs a feature that is not here.
    """
    data: dict[str, Any] = json.loads((Path(directory) / CONFIG_FILE).read_text())
    kind = data.get("model_type")
    if kind not in ARCHITECTURES:
        raise UnsupportedCheckpointError(f"model type {kind!r} is none of {sorted(ARCHITECTURES)}")
    rope: dict[str, Any] = data.get("rope_parameters") or data.get("rope_scaling") or {}
    _refuse(data, rope)
    theta = rope.get("rope_theta") or data.get("rope_theta") or 10_000.0
    data = {"num_key_value_heads": data["num_attention_heads"], "tie_word_embeddings": False} | data
    data["head_dim"] = data.get("head_dim") or data["hidden_size"] // data["num_attention_heads"]
    shape = {ours: data[theirs] for ours, theirs in _NAMES.items() if theirs in data}
    return ModelConfig(**shape, rope_theta=float(theta), qk_norm=kind != "llama", smear=int(data.get("smear", 0)))


def _refuse(data: Mapping[str, Any], rope: Mapping[str, Any]) -> None:
    for feature in ("attention_bias", "mlp_bias", "use_sliding_window"):
        if data.get(feature):
            raise UnsupportedCheckpointError(f"{feature} is set in the checkpoint; this model has no such thing")
    if (scaling := rope.get("rope_type", rope.get("type", "default"))) != "default":
        raise UnsupportedCheckpointError(f"rotary scaling of type {scaling!r} is set in the checkpoint, not supported")
    if (activation := data.get("hidden_act", "silu")) != "silu":
        raise UnsupportedCheckpointError(f"activation {activation!r} is set in the checkpoint; only silu is supported")


def _to_transformers(config: ModelConfig) -> dict[str, Any]:
    kind = model_type(config)
    shape = {theirs: getattr(config, ours) for ours, theirs in _NAMES.items()}
    rope = {"rope_theta": config.rope_theta, "rope_type": "default"}
    smear = {"smear": config.smear} if config.smear else {}
    # Llama's own defaults name a beginning and an end token, which a model without tokenizer does not have.
    fixed = {"hidden_act": "silu", "attention_bias": False, "bos_token_id": None, "eos_token_id": None}
    kinds = {"architectures": [ARCHITECTURES[kind]], "model_type": kind, "dtype": "float32"}
    return kinds | shape | {"rope_parameters": rope} | fixed | smear


def _without_values(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in state.items() if not name.startswith("value_head.")}


def _read_weights(path: Path) -> dict[str, Tensor]:
    index = path / INDEX_FILE
    if not index.is_file():
        return tensors.load_file(path / WEIGHTS_FILE)
    shards = sorted(set(json.loads(index.read_text())["weight_map"].values()))
    return {name: tensor for shard in shards for name, tensor in tensors.load_file(path / shard).items()}
