"""How a token is drawn from logits.

A draw is a pure function of the logits, the temperature, the episode's seed and the token's position. There is no
generator that is shared or advanced, so what else runs in the same batch cannot change an episode's luck.

Shapes: N rows, V ids.
"""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_INCREMENT = np.uint64(0x9E3779B97F4A7C15)
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mix(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Scrambles 64-bit words: the finaliser of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014)."""
    x = (x ^ (x >> np.uint64(30))) * _FIRST
    x = (x ^ (x >> np.uint64(27))) * _SECOND
    return x ^ (x >> np.uint64(31))


def uniforms(seeds: NDArray[np.uint64], positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns (N,) numbers in [0, 1), one for each pair of a seed and a position."""
    words = mix(mix(seeds) + (positions.astype(np.uint64) + np.uint64(1)) * _INCREMENT)
    return (words >> np.uint64(11)).astype(np.float64) * 2.0**-53


def sample(logits: Tensor, temperatures: Tensor, luck: Tensor) -> tuple[Tensor, Tensor]:
    """Draws one token for each row by inverting its cumulative distribution.

    Args:
        logits: (N, V), in single precision.
        temperatures: (N,) positive, or 0 for the most likely token.
        luck: (N,) numbers in [0, 1) that decide the draw.

    Returns:
        The (N,) ids, and their (N,) log-probabilities under the distribution that they were drawn from; a greedy
        token's is taken at temperature 1.
    """
    greedy = temperatures == 0
    logits = logits / torch.where(greedy, 1.0, temperatures)[:, None]
    log_total = logits.logsumexp(-1, keepdim=True)
    cumulative = (logits - log_total).exp_().cumsum(-1)
    total = cumulative[:, -1:].contiguous()
    thresholds = (luck[:, None] * total).to(cumulative.dtype)
    drawn = torch.searchsorted(cumulative, thresholds, right=True)[:, 0]
    last = torch.searchsorted(cumulative, total)[:, 0]  # rounding may step past the end
    ids = torch.where(greedy, logits.argmax(-1), torch.minimum(drawn, last))
    log_probs = logits.gather(-1, ids[:, None]) - log_total
    return ids, log_probs[:, 0]
