"""How the application spells numbers and states: short and regular, so that what is read can be copied."""

from __future__ import annotations


def number(value: float) -> str:
    """Return a number with at most four decimals and no trailing zeros: ``80``, ``7.5``."""
    text = f"{value:.4f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def rounded(value: float) -> str:
    """Return a measured quantity: whole from 100 on, three digits below."""
    return f"{value:.0f}" if abs(value) >= 100 else number(float(f"{value:.3g}"))
