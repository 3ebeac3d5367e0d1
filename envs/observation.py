"""What the agent is shown: a flat dictionary, the same for every domain.

    key          space                        meaning
    text         UnicodeText                  at reset the instruction and the application's view, then the last result
    status       Discrete(4)                  see ``STATUSES``
    step         Box(0, MOST_STEPS, (1,))     calls made
    budget_left  Box(0, MOST_STEPS, (1,))     calls left before the episode is cut
    features     Box((n,), float32)           the application's numbers, then the instruction's first 16 numbers
    image        Box(0, 255, (224, 224, 3))   with ``images=True``: the application's picture, or black

The discrete view has no ``text``: those who act by numbers cannot read.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Space
from numpy.typing import NDArray

from ..simulators.base import Json
from .discrete import numbers_in
from .episode import Episode
from .spaces import UnicodeText

STATUSES = ("ok", "error", "ended", "lost")
"""``ok``: the last call worked (also after a reset); ``error``: it was refused; ``ended``: submitted; ``lost``: the
sandbox failed."""
MOST_STEPS = 1000
LONGEST_TEXT = 16_384
"""Characters of the longest observation; of a longer text its head and tail are shown."""
STATED_NUMBERS = 16
"""How many of the instruction's numbers the features show."""
FEATURE_LIMIT = 1e9
"""Features beyond this size are shown as this."""
IMAGE_SHAPE = (224, 224, 3)


def observation_space(features: int, text: bool, images: bool) -> Dict:
    """Return the space of observations with this many features."""
    spaces: dict[str, Space[Any]] = {
        "status": Discrete(len(STATUSES)),
        "step": Box(0, MOST_STEPS, (1,), np.int32),
        "budget_left": Box(0, MOST_STEPS, (1,), np.int32),
        "features": Box(-FEATURE_LIMIT, FEATURE_LIMIT, (features,), np.float32),
    }
    if text:
        spaces["text"] = UnicodeText(LONGEST_TEXT)
    if images:
        spaces["image"] = Box(0, 255, IMAGE_SHAPE, np.uint8)
    return Dict(spaces)


def observe(episode: Episode, space: Dict) -> Json:
    """Return the observation of an episode, in fresh objects."""
    shown: Json = {
        "status": status(episode),
        "step": np.array([episode.step], np.int32),
        "budget_left": np.array([max(0, episode.max_steps - episode.step)], np.int32),
        "features": features(episode, int(np.prod(space["features"].shape or (0,)))),
    }
    if "text" in space.spaces:
        shown["text"] = shortened(text_of(episode))
    if "image" in space.spaces:
        shown["image"] = picture(episode.view["image"])
    return {key: shown[key] for key in space.spaces}


def status(episode: Episode) -> int:
    """Return the index in ``STATUSES``."""
    if episode.terminated:
        return STATUSES.index("ended")
    if episode.infra_error:
        return STATUSES.index("lost")
    return STATUSES.index("error" if episode.result.error else "ok")


def text_of(episode: Episode) -> str:
    """Return what the agent reads: instruction and view at first, then results."""
    if episode.step:
        return episode.result.text
    return "\n".join(part for part in (episode.task.instruction, episode.view["text"]) if part)


def shortened(text: str) -> str:
    """Return a text of at most ``LONGEST_TEXT`` characters: the whole, or head and tail."""
    if len(text) <= LONGEST_TEXT:
        return text
    half = LONGEST_TEXT // 2 - 40
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def features(episode: Episode, size: int) -> NDArray[np.float32]:
    """Return the features, shape (size,): application, padding, instruction."""
    shown: Sequence[float] = episode.view["features"]
    stated = numbers_in(episode.task.instruction)[:STATED_NUMBERS]
    out = np.zeros(size, np.float32)
    out[: len(shown)] = shown
    out[size - STATED_NUMBERS : size - STATED_NUMBERS + len(stated)] = stated
    return np.clip(np.nan_to_num(out), -FEATURE_LIMIT, FEATURE_LIMIT).astype(np.float32)


def picture(png: str | None) -> NDArray[np.uint8]:
    """Return a PNG file (base64) as an array of shape ``IMAGE_SHAPE``, resized; black if there is none.

    Raises:
        ImportError: If there is a picture and Pillow is not installed.
    """
    if not png:
        return np.zeros(IMAGE_SHAPE, np.uint8)
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    return np.asarray(image.resize((IMAGE_SHAPE[1], IMAGE_SHAPE[0])), np.uint8).copy()
