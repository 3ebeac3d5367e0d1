"""The programs that the simulated machine has: GNU's, as far as scripts and people use them."""

from __future__ import annotations

from . import awk, compare, dates, find, folders, grep, sed, sorting, sums, system, tables, texts
from .base import PROGRAMS

__all__ = [
    "PROGRAMS",
    "awk",
    "compare",
    "dates",
    "find",
    "folders",
    "grep",
    "sed",
    "sorting",
    "sums",
    "system",
    "tables",
    "texts",
]
