"""Recipes: everything that a training run depends on, as one TOML file that is written beside its results.

``policy/recipes/<name>.toml`` are the presets. Every key has its meaning and its default here.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

HERE = Path(__file__).parent
PRESETS = HERE / "recipes"
BUNDLED = HERE / "weights" / "apprentice"
"""The warm start that the package ships."""


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Tasks(_Section):
    """Where the policy learns and where it is examined."""

    families: tuple[str, ...] = ()
    """Names of task families; empty for all."""
    runtime: str = "process"
    """Where the applications run: ``process``, ``docker`` or ``inline``."""
    reuse: int = 64
    """Episodes that one sandbox may serve; more than 1 only for applications that run no code of the agent."""


class WarmStart(_Section):
    """How the policy gets its first weights."""

    weights: str = "bundled"
    """``bundled``, a checkpoint's folder, or ``clone``: demonstrate and clone as the rest of this section says."""
    tier: str = "nano"
    vocab_size: int = 512
    demonstrations: int = 6000
    difficulty: tuple[float, float] = (0.0, 0.4)
    """Difficulties that are demonstrated."""
    slip_rate: float = 0.15
    """How often the expert slips before a right call."""
    steps: int = 500
    batch: int = 32
    learning_rate: float = 3e-3
    hasty_share: float = 0.55
    """Share of hasty experts, who hand in one call too early, in the crowd that is imitated last."""
    hasty_steps: int = 80
    """Cloning steps among that crowd, after the careful experts; 0 for a careful warm start."""
    hasty_learning_rate: float = 6e-4


class Reinforce(_Section):
    """Reinforcement learning on live environments."""

    steps: int = 20
    groups: int = 16
    """Tasks per step."""
    group_size: int = 8
    """Episodes per task."""
    learning_rate: float = 1e-4
    warmup: int = 4
    """Steps over which the rate rises: AdamW's first steps are as large as it allows, whatever the gradient says."""
    minibatches: int = 2
    clip: float = 5.0
    negative_weight: float = 1.0
    entropy_bonus: float = 0.0
    temperature: float = 1.0
    max_minutes: float = 0.0
    """Stop after this long, after the step in progress; 0 for no limit."""
    shuffle_rewards: bool = False
    """A control: rewards are permuted among all episodes of a batch, so that they carry no information."""


class Examination(_Section):
    """Evaluation before and after."""

    tasks: int = 240
    """Held-out tasks, each played greedily and sampled."""
    split: str = "test"


class Engine(_Section):
    """The generation engine."""

    slots: int = 64
    max_length: int = 768
    max_turn_tokens: int = 64
    max_result_tokens: int = 48
    threads: int = 1
    """Threads of torch; more than one only pays on an otherwise idle machine."""


class Recipe(_Section):
    """A whole training run."""

    seed: int = 0
    tasks: Tasks = Field(default_factory=Tasks)
    warm_start: WarmStart = Field(default_factory=WarmStart)
    reinforce: Reinforce = Field(default_factory=Reinforce)
    examination: Examination = Field(default_factory=Examination)
    engine: Engine = Field(default_factory=Engine)


def preset_names() -> list[str]:
    """Return the names of the presets."""
    return sorted(path.stem for path in PRESETS.glob("*.toml"))


def load_recipe(name_or_path: str, **overrides: Any) -> Recipe:
    """Read a preset by name, or a TOML file by path.

    Args:
        name_or_path: For example ``"demo"`` or ``"my/recipe.toml"``.
        **overrides: Values that replace the file's, by section and key: ``load_recipe("demo", reinforce={"steps":
        3})``.

    Raises:
        FileNotFoundError: If there is neither; the message lists the presets.
        pydantic.ValidationError: If a key is unknown or a value of the wrong type.
    """
    path = PRESETS / f"{name_or_path}.toml" if name_or_path in preset_names() else Path(name_or_path)
    if not path.is_file():
        raise FileNotFoundError(f"no preset or recipe file {name_or_path!r}; presets: {', '.join(preset_names())}")
    data = tomllib.loads(path.read_text(encoding="utf-8"))
    for section, values in overrides.items():
        data[section] = {**data.get(section, {}), **values} if isinstance(values, dict) else values
    return Recipe.model_validate(data)
