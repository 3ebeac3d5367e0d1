"""How many sandboxes may be at work at once: more after every success, half as many after each sign of overload.

The rule is TCP's: additive increase, multiplicative decrease (Chiu and Jain 1989, "Analysis of the Increase and
Decrease Algorithms for Congestion Avoidance in Computer Networks"). Signs of overload are a sandbox that did not answer
in time and a machine that has no room for another: then fewer at once get more done.
"""

from __future__ import annotations

OVERLOAD = ("SandboxTimeout", "SandboxCapacity")
"""How ``info["infra_error"]`` begins when too much was asked at once."""


class Pace:
    """The limit for one group of environments.

    Args:
        most: The limit never exceeds this, and begins with it.
    """

    def __init__(self, most: int) -> None:
        self._most, self._limit = float(most), float(most)

    @property
    def limit(self) -> int:
        """How many may be at work at once, at least 1."""
        return int(self._limit)

    def note(self, infra_error: str) -> None:
        """Learn from one answer.

        Args:
            infra_error: What its ``info`` says of the sandbox; empty if all went well.
        """
        if infra_error.startswith(OVERLOAD):
            self._limit = max(1.0, self._limit / 2)
        elif not infra_error:
            self._limit = min(self._most, self._limit + 1 / self._limit)
