"""The transformer that is trained.

A decoder in the Qwen3 layout, with the names that `transformers` gives to its tensors: token embedding, layers of
rotary grouped-query attention and a gated feed-forward, each behind a root-mean-square norm, and an output matrix.
The two departures of `ModelConfig` live here: smear tables (`model.smear.N.weight`, added to the embedding) and the
absence of query and key norms. A value head may be added; its gradient stops at the trunk.

Rows are right-padded. Attention is causal, so a token never sees the padding behind it, and no mask exists: what the
model says at padded positions means nothing. The module knows no cache (see `decoder`), no text, no loss.

Shapes: B rows, T tokens, V ids, D hidden, E width of a head. `ids` are (B, T), a residual stream `x` is (B, T, D),
`cos` and `sin` are (T, E).
"""

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from .config import ModelConfig


def rotary_frequencies(config: ModelConfig) -> Tensor:
    """Returns the (E/2,) angles, in radians per token, by which the pairs of a head turn (arXiv:2104.09864)."""
    exponents = torch.arange(0, config.head_dim, 2, dtype=torch.float32) / config.head_dim
    return 1.0 / config.rope_theta**exponents


def rotary_tables(config: ModelConfig, length: int, device: torch.device) -> tuple[Tensor, Tensor]:
    """Returns cosines and signed sines, each (T, E), for positions 0 .. length - 1.

    The sines of the first half are negated, so that a rotated head is `x * cos + roll(x, E/2) * sin`.
    """
    frequencies = rotary_frequencies(config).to(device)
    angles = torch.arange(length, dtype=torch.float32, device=device)[:, None] * frequencies
    sines = angles.sin()
    return torch.cat((angles.cos(), angles.cos()), dim=-1), torch.cat((-sines, sines), dim=-1)


class RMSNorm(nn.Module):
    """Divides by the root mean square and scales by a learned weight."""

    def __init__(self, width: int, eps: float) -> None:
        """Starts with all scales at one."""
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        """Normalises the last axis."""
        return functional.rms_norm(x, self.weight.shape, self.weight, self.eps)


class Attention(nn.Module):
    """Causal grouped-query attention with rotary positions."""

    def __init__(self, config: ModelConfig) -> None:
        """Builds the four projections and, for Qwen3, the norms of queries and keys."""
        super().__init__()
        self.heads, self.kv_heads, self.head_dim = config.num_heads, config.num_kv_heads, config.head_dim
        wide, narrow = self.heads * self.head_dim, self.kv_heads * self.head_dim
        self.q_proj = nn.Linear(config.hidden_size, wide, bias=False)
        self.k_proj = nn.Linear(config.hidden_size, narrow, bias=False)
        self.v_proj = nn.Linear(config.hidden_size, narrow, bias=False)
        self.o_proj = nn.Linear(wide, config.hidden_size, bias=False)
        self.q_norm = RMSNorm(self.head_dim, config.rms_norm_eps) if config.qk_norm else nn.Identity()
        self.k_norm = RMSNorm(self.head_dim, config.rms_norm_eps) if config.qk_norm else nn.Identity()

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Mixes each token with those before it in its row."""
        batch, length, _ = x.shape
        q = self._turn(self.q_norm(self.q_proj(x).view(batch, length, self.heads, self.head_dim)), cos, sin)
        k = self._turn(self.k_norm(self.k_proj(x).view(batch, length, self.kv_heads, self.head_dim)), cos, sin)
        v = self.v_proj(x).view(batch, length, self.kv_heads, self.head_dim).transpose(1, 2)
        group = self.heads // self.kv_heads
        k, v = (k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)) if group > 1 else (k, v)
        mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))

    def _turn(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        turned = x * cos[:, None] + x.roll(self.head_dim // 2, -1) * sin[:, None]
        return turned.transpose(1, 2)


class FeedForward(nn.Module):
    """The gated feed-forward layer (SwiGLU, arXiv:2002.05202)."""

    def __init__(self, config: ModelConfig) -> None:
        """Builds gate, up and down projections."""
        super().__init__()
        self.gate_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.up_proj = nn.Linear(config.hidden_size, config.intermediate_size, bias=False)
        self.down_proj = nn.Linear(config.intermediate_size, config.hidden_size, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Maps each token by itself."""
        return self.down_proj(functional.silu(self.gate_proj(x)) * self.up_proj(x))


class Layer(nn.Module):
    """Attention and feed-forward, each normalised before and added after."""

    def __init__(self, config: ModelConfig) -> None:
        """Builds both halves."""
        super().__init__()
        self.self_attn = Attention(config)
        self.mlp = FeedForward(config)
        self.input_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)
        self.post_attention_layernorm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def forward(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        """Returns the residual stream after this layer."""
        x = x + self.self_attn(self.input_layernorm(x), cos, sin)
        return x + self.mlp(self.post_attention_layernorm(x))


class Trunk(nn.Module):
    """Everything below the output matrix; `Apprentice.model`, after the name in `transformers`."""

    def __init__(self, config: ModelConfig) -> None:
        """Builds embeddings, smear tables, layers and the final norm."""
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.smear = nn.ModuleList(nn.Embedding(config.vocab_size, config.hidden_size) for _ in range(config.smear))
        self.layers = nn.ModuleList(Layer(config) for _ in range(config.num_layers))
        self.norm = RMSNorm(config.hidden_size, config.rms_norm_eps)

    def embed(self, ids: Tensor) -> Tensor:
        """Returns (B, T, D): each token's embedding plus the smear of those before it in its row."""
        x = self.embed_tokens(ids)
        for distance, table in enumerate(self.smear, start=1):
            if distance < ids.shape[1]:
                x = x + functional.pad(table(ids[:, :-distance]), (0, 0, distance, 0))
        return x

    def forward(self, ids: Tensor) -> Tensor:
        """Returns the normalised (B, T, D) hidden states."""
        x = self.embed(ids)
        cos, sin = rotary_tables(self.config, ids.shape[1], ids.device)
        for layer in self.layers:
            x = layer(x, cos, sin)
        return self.norm(x)


class Apprentice(nn.Module):
    """A causal language model over token ids.

    Example:
        >>> import torch
        >>> from makerspace.policy.config import TIERS
        >>> from makerspace.policy.model import Apprentice
        >>> model = Apprentice(TIERS["nano"])
        >>> model(torch.tensor([[1, 2, 3]])).shape
        torch.Size([1, 3, 512])
    """

    def __init__(self, config: ModelConfig, *, value_head: bool = False, seed: int | None = None) -> None:
        """Builds a model with fresh weights.

        Args:
            config: the shape.
            value_head: whether `values` is available.
            seed: of the fresh weights; None draws from torch's global generator.
        """
        super().__init__()
        self.config = config
        self.model = Trunk(config)
        self.lm_head = None if config.tie_embeddings else nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        self.value_head = nn.Linear(config.hidden_size, 1) if value_head else None
        self._initialise(seed)

    def forward(self, ids: Tensor) -> Tensor:
        """Returns the (B, T, V) logits in single precision; row padding belongs at the right."""
        return self.logits(self.hidden(ids))

    def hidden(self, ids: Tensor) -> Tensor:
        """Returns the normalised (B, T, D) states from which `logits` and `values` read."""
        return self.model(ids)

    def logits(self, hidden: Tensor) -> Tensor:
        """Returns (..., V) single-precision logits of any selection (..., D) of hidden states."""
        matrix = self.model.embed_tokens.weight if self.lm_head is None else self.lm_head.weight
        return functional.linear(hidden, matrix).float()

    def values(self, hidden: Tensor) -> Tensor:
        """Returns (...) value estimates of hidden states (..., D), which get no gradient from them.

        Raises:
            RuntimeError: the model was built without a value head.
        """
        if self.value_head is None:
            raise RuntimeError("this model has no value head: build it with value_head=True")
        return self.value_head(hidden.detach().float()).squeeze(-1)

    @torch.no_grad()
    def _initialise(self, seed: int | None) -> None:
        """Draws matrices at 1/sqrt(fan in); what adds to the residual stream is scaled down with depth."""
        generator = torch.default_generator if seed is None else torch.Generator().manual_seed(seed)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                deep = name.endswith(("o_proj.weight", "down_proj.weight"))
                scale = 1.0 / math.sqrt(2 * self.config.num_layers) if deep else 1.0
                weight.normal_(0.0, scale / math.sqrt(weight.shape[1]), generator=generator)
        if self.value_head is not None:
            nn.init.zeros_(self.value_head.weight)
            nn.init.zeros_(self.value_head.bias)
