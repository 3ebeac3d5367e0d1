"""The shape of a model, as frozen data.

A `ModelConfig` says everything that fixes the tensors of a decoder in the Qwen3 layout: widths, depths, heads, and two
departures that can be switched off. `qk_norm=False` gives the Llama layout, and `smear` adds tables that embed the
previous one, two, ... tokens beside the present one, which lets a tiny model copy from its context after far fewer
training steps. With `smear=0` a model is exactly a Qwen3 (or a Llama) model.

This module does not know torch, and it holds no weights.
"""

import json
from dataclasses import asdict, dataclass, fields, replace
from types import MappingProxyType
from typing import Any, Final, cast

_SIZES: Final = (
    "vocab_size", "hidden_size", "num_layers", "num_heads", "num_kv_heads", "head_dim", "intermediate_size",
)  # fmt: skip


@dataclass(frozen=True)
class ModelConfig:
    """Everything that fixes the tensors of a model and how they are used."""

    vocab_size: int
    """Number of token ids."""
    hidden_size: int
    """Width of the residual stream."""
    num_layers: int
    """Number of decoder layers."""
    num_heads: int
    """Query heads; a multiple of `num_kv_heads`."""
    num_kv_heads: int
    """Key and value heads, each shared by `num_heads / num_kv_heads` query heads."""
    head_dim: int
    """Width of one head; even, since rotary embedding turns pairs."""
    intermediate_size: int
    """Width of the gated feed-forward layer."""
    rope_theta: float = 10_000.0
    """Base of the rotary frequencies."""
    rms_norm_eps: float = 1e-6
    """Added to the mean square before its root is taken."""
    max_position_embeddings: int = 2048
    """Longest sequence, in tokens, that the model is meant for."""
    tie_embeddings: bool = True
    """Whether the output matrix is the token embedding itself."""
    qk_norm: bool = True
    """Whether queries and keys are normalised per head (Qwen3) or not (Llama)."""
    smear: int = 0
    """Number of previous-token embedding tables; 0 is the plain layout."""

    def __post_init__(self) -> None:
        """Rejects shapes that no model can have.

        Raises:
            ValueError: a size is not positive, heads do not divide, or the head width is odd.
        """
        for name in _SIZES:
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        if self.num_heads % self.num_kv_heads:
            raise ValueError(f"num_heads {self.num_heads} is not a multiple of num_kv_heads {self.num_kv_heads}")
        if self.head_dim % 2:
            raise ValueError(f"head_dim must be even, not {self.head_dim}")
        if self.smear < 0:
            raise ValueError(f"smear must not be negative, not {self.smear}")

    def parameters(self) -> int:
        """Returns the number of weights of a model of this shape, without a value head."""
        heads = (2 * self.num_heads + 2 * self.num_kv_heads) * self.head_dim * self.hidden_size
        norms = 2 * self.hidden_size + (2 * self.head_dim if self.qk_norm else 0)
        layer = heads + 3 * self.hidden_size * self.intermediate_size + norms
        tables = 1 + self.smear + (0 if self.tie_embeddings else 1)
        return self.num_layers * layer + tables * self.vocab_size * self.hidden_size + self.hidden_size

    def with_vocab(self, vocab_size: int) -> "ModelConfig":
        """Returns the same shape for another number of token ids."""
        return replace(self, vocab_size=vocab_size)

    def to_json(self) -> str:
        """Returns the configuration as a JSON object."""
        return json.dumps(asdict(self), indent=2)

    @classmethod
    def from_json(cls, text: str) -> "ModelConfig":
        """Reads what `to_json` wrote.

        Raises:
            ValueError: the text is not a JSON object, or holds an unknown field.
        """
        data: Any = json.loads(text)
        if not isinstance(data, dict):
            raise ValueError("a model configuration is a JSON object")
        values = cast(dict[str, Any], data)
        if unknown := set(values) - {field.name for field in fields(cls)}:
            raise ValueError(f"unknown fields in the model configuration: {sorted(unknown)}")
        return cls(**values)


TIERS: Final = MappingProxyType(
    {
        # About 1.2 M weights: trains and plays on one core.
        "nano": ModelConfig(
            vocab_size=512, hidden_size=160, num_layers=4, num_heads=6, num_kv_heads=2, head_dim=32,
            intermediate_size=352, smear=2,
        ),
        # About 2.7 M weights.
        "micro": ModelConfig(
            vocab_size=768, hidden_size=192, num_layers=6, num_heads=6, num_kv_heads=2, head_dim=32,
            intermediate_size=512, smear=2,
        ),
        # About 22 M weights: wants an accelerator to be trained.
        "small": ModelConfig(
            vocab_size=2048, hidden_size=384, num_layers=12, num_heads=6, num_kv_heads=2, head_dim=64,
            intermediate_size=1024, smear=2,
        ),
    }
)  # fmt: skip
"""The named sizes, smallest first; `with_vocab` fits one to a trained tokenizer."""
