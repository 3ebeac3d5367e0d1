"""A policy as a folder: weights and tokenizer together, in files that ``transformers`` reads too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .interchange import load_pretrained, save_pretrained
from .model import Apprentice
from .tokenizer import Tokenizer


@dataclass(frozen=True)
class Policy:
    """A model and the only tokenizer that it understands."""

    model: Apprentice
    tokenizer: Tokenizer


def save_policy(policy: Policy, folder: Path) -> None:
    """Write ``config.json``, ``model.safetensors`` and the tokenizer's files."""
    save_pretrained(policy.model, folder, policy.tokenizer)


def load_policy(folder: Path) -> Policy:
    """Read what ``save_policy`` wrote.

    Raises:
        FileNotFoundError: If there is no policy in the folder; the message says how one is made.
    """
    if not (folder / "config.json").is_file():
        raise FileNotFoundError(
            f"no policy in {folder}: make one with 'makerspace train --preset warmstart --out FOLDER'"
        )
    return Policy(load_pretrained(folder), Tokenizer.load(folder))
