"""The programs that the simulated machine has: GNU's, as far as scripts and people use them.

Importing this package imports all of them; each registers itself in `PROGRAMS`.
"""

from __future__ import annotations

from . import awk, compare, dates, find, folders, grep, listing, sed, sorting, sums, system, tables, texts, transforms
from .base import PROGRAMS

__all__ = [
    "PROGRAMS",
    "awk",
    "compare",
    "dates",
    "find",
    "folders",
    "grep",
    "listing",
    "sed",
    "sorting",
    "sums",
    "system",
    "tables",
    "texts",
    "transforms",
]
