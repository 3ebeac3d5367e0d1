"""What an outcome was worth: primitives in [0, 1], one module per domain, composition with names, weights and gates.

A reward knows neither the policy nor the runtime.
"""

from .base import SUCCESS, Goal, Outcome, Reward, Score, Term

__all__ = ["SUCCESS", "Goal", "Outcome", "Reward", "Score", "Term"]
