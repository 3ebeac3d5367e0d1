"""What leaves a command early: `exit`, `return`, `break` and `continue`."""

from __future__ import annotations


class Leave(Exception):
    """`exit`, and `set -e`: ends the shell with a code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Return(Exception):
    """`return`: ends a function or a sourced file."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Jump(Exception):
    """`break` or `continue` over `levels` loops."""

    def __init__(self, levels: int, again: bool) -> None:
        super().__init__(levels)
        self.levels = levels
        self.again = again
