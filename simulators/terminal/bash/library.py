"""All builtins together."""

from __future__ import annotations

from . import builtins, declarations, output, reading
from .registry import BUILTINS

__all__ = ["BUILTINS", "builtins", "declarations", "output", "reading"]
