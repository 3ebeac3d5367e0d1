"""Where builtins are registered."""

from __future__ import annotations

from collections.abc import Callable

from .machine import Command, Machine

BUILTINS: dict[str, Command] = {}


def builtin(*names: str) -> Callable[[Command], Command]:
    """Register a builtin under its names."""

    def register(function: Command) -> Command:
        BUILTINS.update(dict.fromkeys(names, function))
        return function

    return register


def fault(sh: Machine, message: str, code: int = 1) -> int:
    """Complain and return the code."""
    sh.complain(message)
    return code
