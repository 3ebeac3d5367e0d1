"""The model as generation needs it: fused weights and a store of keys and values.

A `Decoder` holds `rows` token sequences of up to `max_length` tokens. It turns tokens into hidden states in two ways:
`prefill` for many new tokens of some rows (packed, so that no padding is multiplied), and `decode` for one new token
of each of many rows. Both write keys and values in place; nothing is ever concatenated or repeated. Rows of the store
are contiguous, so that `decode` reads a block of neighbouring rows as a view, up to the longest row of that block.

It computes exactly what `model.Apprentice` computes, with four rewritings of the weights that change only rounding:
q, k and v are one matrix, gate and up are one, the scales of norms are folded into the matrices behind them, and the
pairs that rotary embedding turns lie side by side, so that turning is one complex product.

It does not know which rows are in use, what a stop token is, or how a token is drawn.

Shapes: N tokens of a pass, R rows of the store, M longest sequence, D hidden, H query heads, K key heads, G = H/K,
E head width, L attended positions.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from .config import ModelConfig
from .model import rotary_frequencies

Ints: TypeAlias = NDArray[np.int64]
Attend: TypeAlias = Callable[[int, Tensor], Tensor]
"""From a layer's number and its queries (N, K, G, E) to what they read, (N, H * E)."""


@dataclass(frozen=True)
class Block:
    """Neighbouring rows of the store that are attended together."""

    start: int
    stop: int
    bias: Tensor
    """(rows, 1, 1, L): 0 where a row's query may look, minus infinity beyond its end."""


@dataclass(frozen=True)
class FusedLayer:
    """One layer's matrices, transposed for `x @ w`."""

    qkv: Tensor
    heads_scale: Tensor | None
    """(H + K, E) scales of the query and key norms; None without them."""
    out: Tensor
    gate_up: Tensor
    down: Tensor


@dataclass(frozen=True)
class _New:
    """New tokens of some rows, packed one after the other, and how to lay them out as a rectangle."""

    owners: Tensor
    """(N,) which of the rows each token belongs to."""
    offsets: Tensor
    """(N,) its place among the new tokens of that row."""
    rows: int
    width: int

    def pad(self, x: Tensor) -> Tensor:
        """Spreads (N, ...) to (rows, width, ...), with zeros where a row has fewer new tokens."""
        shape = (self.rows, self.width, *x.shape[1:])
        if len(x) == self.rows * self.width:
            return x.view(shape)
        return x.new_zeros(shape).index_put_((self.owners, self.offsets), x)

    def pack(self, x: Tensor) -> Tensor:
        """Takes (rows, width, ...) back to (N, ...)."""
        if len(self.owners) == self.rows * self.width:
            return x.flatten(0, 1)
        return x[self.owners, self.offsets]


class Decoder:
    """Fused weights, and keys and values of R rows."""

    def __init__(self, config: ModelConfig, rows: int, max_length: int, device: torch.device | None = None) -> None:
        """Allocates the store; `load` must follow before any pass.

        Args:
            config: the shape of the model.
            rows: number of sequences.
            max_length: most tokens of a sequence.
            device: where to compute; the CPU by default.
        """
        self.config, self.rows, self.max_length = config, rows, max_length
        self.device = device or torch.device("cpu")
        store = (config.num_layers, rows, config.num_kv_heads, max_length, config.head_dim)
        self.keys = torch.zeros(store, device=self.device)
        self.values = torch.zeros(store, device=self.device)
        angles = torch.arange(max_length, dtype=torch.float32)[:, None] * rotary_frequencies(config)
        self.turns = torch.polar(torch.ones_like(angles), angles).to(self.device)[:, None]
        self.group = config.num_heads // config.num_kv_heads

    @torch.no_grad()
    def load(self, state: Mapping[str, Tensor]) -> None:
        """Takes new weights, by the names of `Apprentice.state_dict()`; a value head is ignored."""
        weights = {name: tensor.detach().to(self.device, torch.float32) for name, tensor in state.items()}
        embedding = weights["model.embed_tokens.weight"]
        tables = [embedding, *(weights[f"model.smear.{i}.weight"] for i in range(self.config.smear))]
        zero = embedding.new_zeros(1, embedding.shape[1])
        self.embedding = torch.cat([part for table in tables for part in (table, zero)])
        head = embedding if self.config.tie_embeddings else weights["lm_head.weight"]
        self.head = (head * weights["model.norm.weight"]).t().contiguous()
        self.layers = [self._fuse(weights, f"model.layers.{i}.") for i in range(self.config.num_layers)]

    def _fuse(self, weights: Mapping[str, Tensor], name: str) -> FusedLayer:
        attention, mlp, cfg = name + "self_attn.", name + "mlp.", self.config
        q = self._pair(weights[attention + "q_proj.weight"])
        k = self._pair(weights[attention + "k_proj.weight"])
        scale, heads_scale = cfg.head_dim**-0.5, None
        if cfg.qk_norm:
            q_norm = self._pair(weights[attention + "q_norm.weight"]) * scale
            k_norm = self._pair(weights[attention + "k_norm.weight"])
            heads_scale = torch.cat((q_norm.expand(cfg.num_heads, -1), k_norm.expand(cfg.num_kv_heads, -1)))
        else:
            q = q * scale
        qkv = torch.cat((q, k, weights[attention + "v_proj.weight"])) * weights[name + "input_layernorm.weight"]
        gate_up = torch.cat((weights[mlp + "gate_proj.weight"], weights[mlp + "up_proj.weight"]))
        gate_up = gate_up * weights[name + "post_attention_layernorm.weight"]
        out, down = weights[attention + "o_proj.weight"], weights[mlp + "down_proj.weight"]
        return FusedLayer(
            qkv.t().contiguous(), heads_scale, out.t().contiguous(), gate_up.t().contiguous(), down.t().contiguous()
        )

    def _pair(self, weight: Tensor) -> Tensor:
        """Moves the two halves of each head side by side: (..., 2, E/2) becomes (..., E/2, 2) along the first axis."""
        half = self.config.head_dim // 2
        return weight.view(-1, 2, half, *weight.shape[1:]).transpose(1, 2).reshape(weight.shape)

    @torch.inference_mode()
    def decode(self, windows: Ints, rows: Ints, positions: Ints, blocks: Sequence[tuple[int, int]]) -> Tensor:
        """Runs one new token of each row and returns the (N, V) logits behind it.

        Args:
            windows: (N, smear + 1) ids, the new token last; `vocab_size` stands for "before the beginning".
            rows: (N,) ascending rows of the store.
            positions: (N,) places of the new tokens in their rows.
            blocks: ranges of rows that together cover `rows`.
        """
        span = blocks[-1][1]
        ends = np.zeros(span, np.int64)
        ends[rows] = positions + 1
        parts = [self._block(start, stop, ends) for start, stop in blocks]
        dense = len(rows) == span
        index = self._tensor(rows)

        def attend(layer: int, q: Tensor) -> Tensor:
            spread = q if dense else q.new_zeros(span, *q.shape[1:]).index_copy_(0, index, q)
            mixed = [self._attend_block(layer, spread, part) for part in parts]
            read = mixed[0] if len(mixed) == 1 and dense else self._join(mixed, parts, span)
            return (read if dense else read[index]).reshape(len(rows), -1)

        x = self._layers(windows, index, self._tensor(positions), attend)
        return self._norm(x) @ self.head

    def _block(self, start: int, stop: int, ends: Ints) -> Block:
        longest = int(ends[start:stop].max())
        beyond = torch.arange(longest) >= torch.from_numpy(ends[start:stop, None])
        beyond[:, 0] = False  # rows that are skipped still need a finite softmax
        bias = torch.zeros(beyond.shape).masked_fill_(beyond, -torch.inf)
        return Block(start, stop, bias[:, None, None].to(self.device))

    def _attend_block(self, layer: int, q: Tensor, part: Block) -> Tensor:
        rows, length = slice(part.start, part.stop), part.bias.shape[-1]
        keys, values = self.keys[layer, rows, :, :length], self.values[layer, rows, :, :length]
        return functional.scaled_dot_product_attention(q[rows], keys, values, attn_mask=part.bias, scale=1.0)

    def _join(self, mixed: Sequence[Tensor], parts: Sequence[Block], span: int) -> Tensor:
        if sum(part.stop - part.start for part in parts) == span:
            return torch.cat(list(mixed))
        joined = mixed[0].new_zeros(span, *mixed[0].shape[1:])
        for part, piece in zip(parts, mixed, strict=True):
            joined[part.start : part.stop] = piece
        return joined

    @torch.inference_mode()
    def prefill(self, windows: Ints, rows: Ints, starts: Ints, counts: Ints) -> None:
        """Writes keys and values of several new tokens of some rows.

        Args:
            windows: (N, smear + 1) ids as in `decode`, row after row, N the sum of `counts`.
            rows: (n,) distinct rows of the store.
            starts: (n,) place of each row's first new token; what lies before is already stored.
            counts: (n,) number of new tokens of each row.
        """
        owners = np.repeat(np.arange(len(rows)), counts)
        offsets = np.arange(len(owners)) - np.repeat(np.cumsum(counts) - counts, counts)
        new = _New(self._tensor(owners), self._tensor(offsets), len(rows), int(counts.max()))
        index, length = self._tensor(rows), int((starts + counts).max())
        bias = self._causal_bias(starts, new.width, length) if starts.any() else None

        def attend(layer: int, q: Tensor) -> Tensor:
            keys, values = self.keys[layer, index, :, :length], self.values[layer, index, :, :length]
            if bias is None:
                mixed = self._attend_first(new.pad(q), keys, values)
            else:
                mixed = self._attend_more(new.pad(q), keys, values, bias)
            return new.pack(mixed).reshape(len(q), -1)

        self._layers(windows, index[new.owners], self._tensor(starts)[new.owners] + new.offsets, attend)

    def _causal_bias(self, starts: Ints, width: int, length: int) -> Tensor:
        """Returns (n, 1, G * width, L): what each new token of each row may see; the same for all heads."""
        reach = torch.from_numpy(starts[:, None] + np.arange(width))[:, :, None]
        bias = torch.zeros(len(starts), width, length).masked_fill_(torch.arange(length) > reach, -torch.inf)
        return bias[:, None].repeat(1, 1, self.group, 1).to(self.device)

    def _attend_first(self, q: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Attends within new rows: (n, T, K, G, E) queries to (n, K, T, E) keys."""
        n, width, kv, group, head = q.shape
        queries = q.view(n, width, kv * group, head).transpose(1, 2)
        keys, values = (x.repeat_interleave(group, 1) if group > 1 else x for x in (keys, values))
        mixed = functional.scaled_dot_product_attention(queries, keys, values, is_causal=True, scale=1.0)
        return mixed.transpose(1, 2).reshape(q.shape)

    def _attend_more(self, q: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        """Attends to a past of any length as well: (n, T, K, G, E) queries to (n, K, L, E) keys."""
        n, width, kv, group, head = q.shape
        queries = q.permute(0, 2, 3, 1, 4).reshape(n, kv, group * width, head)
        mixed = functional.scaled_dot_product_attention(queries, keys, values, attn_mask=bias, scale=1.0)
        return mixed.view(n, kv, group, width, head).permute(0, 3, 1, 2, 4)

    def _layers(self, windows: Ints, rows: Tensor, positions: Tensor, attend: Attend) -> Tensor:
        """Runs all layers over N tokens and returns their (N, D) residual stream."""
        cfg = self.config
        x, turns = self._embed(windows), self.turns[positions]
        queries = (len(x), cfg.num_kv_heads, self.group, cfg.head_dim)
        for number, layer in enumerate(self.layers):
            heads = (self._norm(x) @ layer.qkv).view(len(x), -1, cfg.head_dim)
            turned, v = heads[:, : -cfg.num_kv_heads], heads[:, -cfg.num_kv_heads :]
            if layer.heads_scale is not None:
                turned = self._norm(turned) * layer.heads_scale
            turned = self._turn(turned, turns)
            self.keys[number, rows, :, positions] = turned[:, cfg.num_heads :]
            self.values[number, rows, :, positions] = v
            read = attend(number, turned[:, : cfg.num_heads].reshape(queries))
            x = torch.addmm(x, read, layer.out)
            gate, up = (self._norm(x) @ layer.gate_up).chunk(2, -1)
            x = torch.addmm(x, functional.silu(gate) * up, layer.down)
        return x

    def _embed(self, windows: Ints) -> Tensor:
        width = self.config.smear + 1
        offsets = (width - 1 - np.arange(width)) * (self.config.vocab_size + 1)
        return functional.embedding_bag(self._tensor(windows + offsets), self.embedding, mode="sum")

    def _norm(self, x: Tensor) -> Tensor:
        return functional.rms_norm(x, x.shape[-1:], None, self.config.rms_norm_eps)

    def _turn(self, heads: Tensor, turns: Tensor) -> Tensor:
        pairs = heads.reshape(*heads.shape[:2], -1, 2)
        return torch.view_as_real(torch.view_as_complex(pairs) * turns).view(heads.shape)

    @torch.inference_mode()
    def copy_rows(self, sources: Ints, targets: Ints, length: int) -> None:
        """Copies the first `length` positions of rows onto others; sources are read before targets are written."""
        source, target = self._tensor(sources), self._tensor(targets)
        for store in (self.keys, self.values):
            for layer in store:
                layer[target, :, :length] = layer[source, :, :length]

    def _tensor(self, array: Ints) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)
