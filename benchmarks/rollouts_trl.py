"""The peer's side of `rollouts`: the same episodes through TRL's own tool loop.

Model of the world: `GRPOTrainer` is given an environment class per family (`environment_factory`), a chat template and
a tokenizer that reads calls. It resets the environments, samples a turn of the whole batch with `generate`, calls the
tools, appends their results and samples again, until no episode asks for a tool. What it is given here are adapters:

1. `environment_class` puts a Gymnasium environment behind TRL's contract: a `reset`, one method per tool, no more.
2. `Frames` renders and reads a conversation in the bridge's own frames, so that both sides see the same tokens. Every
   turn but `submit` is a call, an unreadable one too: it is stepped, and the environment complains.
3. `submit` is to TRL what a final answer is: the turn after which it does not sample again. The reward function hands
   it in, as it does with a last turn at the limit, and returns the environment's verdict.

The module does not know how time is measured, nor what our side does. It needs TRL, and private parts of it.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
import transformers
from datasets import Dataset
from transformers import AutoModelForCausalLM, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer

import makerspace.policy.hf  # noqa: F401 - registers the smeared layout
from makerspace.envs.parsing import parse_call
from makerspace.envs.tasks.base import SUBMIT
from makerspace.policy.bridge import Bridge, Conversation
from makerspace.policy.rollout import Episode, Job, Workshop, domain_of
from makerspace.policy.tokenizer import END, PAD
from makerspace.simulators.base import ToolCall

Json = dict[str, Any]

TEMPLATE = (
    "{%- for message in messages -%}"
    "{%- if message.role == 'assistant' -%}<|assistant|>"
    "{%- for call in message.tool_calls -%}<|call|>{{ call.function.name }}{{ call.function.arguments | tojson }}"
    "{%- endfor -%}<|end|>"
    "{%- else -%}<|{{ message.role }}|>{{ message.content }}<|end|>{%- endif -%}"
    "{%- endfor -%}"
    "{%- if add_generation_prompt -%}<|assistant|>{%- endif -%}"
)
"""The bridge's frames. Tools are not described: the policy has learned them."""

PYTHON_TYPES: Mapping[str, type] = {
    "string": str, "integer": int, "number": float, "boolean": bool, "array": list, "object": dict,
}  # fmt: skip
"""What a JSON Schema's type is in an annotation, of which TRL makes a schema again."""


class Frames(PreTrainedTokenizerFast):
    """The policy's tokenizer for TRL: the bridge's frames as a chat template, the bridge's reading as the parser."""

    def __init__(self, folder: Path, bridge: Bridge, tools: frozenset[str]) -> None:
        """Read ``folder/tokenizer.json``; ``tools`` are the names that may be called."""
        super().__init__(
            tokenizer_file=str(folder / "tokenizer.json"), pad_token=PAD, eos_token=END, padding_side="left"
        )
        self.chat_template = TEMPLATE
        self.response_template = {}  # tells TRL that this tokenizer parses
        self._bridge, self._tools = bridge, tools

    def parse_response(self, response: Any, schema: Any = None, *, prefix: Any = None, tools: Any = None) -> Json:
        """Return a sampled turn as a message: with a tool call, unless it is ``submit``."""
        del schema, prefix, tools
        text = self._bridge.action(response)
        message: Json = {"role": "assistant", "content": text}
        call = parse_call(text)
        if isinstance(call, ToolCall) and call.name == SUBMIT:
            return message
        known = isinstance(call, ToolCall) and call.name in self._tools
        name, arguments = (call.name, dict(call.arguments)) if known else (Desk.unreadable.__name__, {"text": text})
        return {**message, "tool_calls": [{"type": "function", "function": {"name": name, "arguments": arguments}}]}


class Desk:
    """What all environment classes have in common; TRL takes every public method but ``reset`` for a tool."""

    _env_id: str
    _workshop: Workshop
    _bridge: Bridge

    def __init__(self) -> None:
        self._env = self._workshop.lend(self._env_id)
        self._conclude(0, True, False, False, 0.0)

    def reset(self, options: Json, **_: Any) -> str:
        """Begin an episode and return what the environment says."""
        observation, _info = self._env.reset(options=dict(options))
        self._conclude(0, False, False, False, 0.0)
        return observation["text"]

    def unreadable(self, text: str) -> str:
        """Take a turn that is no call of a tool that exists; the environment says so.

        Args:
            text: The turn.
        """
        return self._step(text)

    def _step(self, action: str) -> str:
        if self._over:
            raise ValueError("the episode is over")
        observation, reward, terminated, truncated, info = self._env.step(action)
        self._conclude(self._turns + 1, terminated or truncated, truncated, info["is_success"], float(reward))
        ids = self._bridge.result(observation["text"])  # shortened, as the policy reads it
        return self._bridge.tokenizer.decode(ids[1:-2])

    def _conclude(self, turns: int, over: bool, truncated: bool, success: bool, reward: float) -> None:
        self._turns, self._over, self._truncated, self._success, self._reward = turns, over, truncated, success, reward


def environment_class(env_id: str, workshop: Workshop, bridge: Bridge) -> type[Desk]:
    """Return a class whose methods are the tools of an environment, documented as TRL demands."""
    env = workshop.lend(env_id)
    schemas = [tool["function"] for tool in env.unwrapped.tools()]  # type: ignore[attr-defined]
    workshop.take_back(env_id, env)
    tools = {schema["name"]: _method(schema) for schema in schemas if schema["name"] != SUBMIT}
    fixed = {"_env_id": env_id, "_workshop": workshop, "_bridge": bridge}
    return type("Desk_" + domain_of(env_id), (Desk,), fixed | tools)


def _method(schema: Json) -> Callable[..., str]:
    """Return a method that steps a call of one tool; it shows the tool's signature but takes whatever it is given."""
    name, properties = schema["name"], schema["parameters"].get("properties", {})

    def method(self: Desk, /, **arguments: Any) -> str:
        return self._step(json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False))

    shown = [_parameter(key, rules, schema["parameters"].get("required", ())) for key, rules in properties.items()]
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    described = "".join(f"\n    {key}: {rules.get('description', key)}" for key, rules in properties.items())
    method.__name__ = method.__qualname__ = name
    method.__doc__ = schema["description"] + (f"\n\nArgs:{described}" if described else "")
    method.__signature__ = inspect.Signature([own, *shown], return_annotation=str)  # type: ignore[attr-defined]
    method.__annotations__ = {each.name: each.annotation for each in shown} | {"return": str}
    return method


def _parameter(key: str, rules: Json, required: Sequence[str]) -> inspect.Parameter:
    default = inspect.Parameter.empty if key in required else rules.get("default")
    kind = PYTHON_TYPES.get(rules.get("type", ""), str)
    return inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def settle(environments: Sequence[Desk], completions: Sequence[Sequence[Json]], **_: Any) -> list[float]:
    """Hand in each episode's last turn and return the rewards: the reward function, as TRL calls it."""
    for desk, completion in zip(environments, completions, strict=True):
        if not desk._over:
            desk._step(completion[-1]["content"])
    return [desk._reward for desk in environments]


class Peer:
    """A GRPO trainer of TRL that plays and does not learn."""

    def __init__(
        self, folder: Path, jobs: Sequence[Job], bridge: Bridge, workshop: Workshop, config: GRPOConfig
    ) -> None:
        """Load the policy in ``folder`` and build the trainer.

        Args:
            folder: Weights and tokenizer.
            jobs: What to play; the episodes of a group stand together.
            bridge: Reads turns and shortens results.
            workshop: Where the environments come from.
            config: See ``settings``.
        """
        transformers.logging.set_verbosity_error()
        transformers.logging.disable_progress_bar()
        self.prefilled, self.passes = 0, 0
        self._jobs, self._rows = jobs, [_row(job) for job in jobs]
        classes = {name: environment_class(name, workshop, bridge) for name in sorted({job.env_id for job in jobs})}
        tools = frozenset(name for each in classes.values() for name in vars(each) if not name.startswith("_"))
        self._trainer: Any = GRPOTrainer(
            model=AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32),
            reward_funcs=settle,
            args=config,
            train_dataset=Dataset.from_list(self._rows),
            processing_class=Frames(folder, bridge, tools),
            environment_factory=classes,
        )
        self._trainer.model.train()
        self._count()

    def play(self, temperature: float, seed: int) -> list[Episode]:
        """Play every job once, with what the trainer itself calls before each step of learning."""
        how: Json = {"do_sample": temperature > 0, "temperature": temperature or 1.0}
        self._trainer.generation_config.update(**how)
        self._trainer.generation_kwargs.update(how)
        self.prefilled = self.passes = 0
        torch.manual_seed(seed)
        batch = self._trainer._generate_and_score_completions(self._rows)
        return [self._episode(batch, number, job) for number, job in enumerate(self._jobs)]

    def _episode(self, batch: Mapping[str, torch.Tensor], row: int, job: Job) -> Episode:
        prompt = batch["prompt_ids"][row][batch["prompt_mask"][row].bool()].tolist()
        shown = batch["completion_mask"][row].bool()
        said = batch["completion_ids"][row][shown].tolist()
        sampled = batch["tool_mask"][row][shown].bool().tolist()
        talk = Conversation(prompt + said, [False] * len(prompt) + sampled, [0.0] * (len(prompt) + len(said)))
        desk: Desk = self._trainer.environments[row]
        return Episode(job, talk, desk._reward, desk._success, desk._turns, truncated=desk._truncated)

    def _count(self) -> None:
        """Count the calls of ``generate``, and the tokens that each sends through the model before it samples."""
        inner = self._trainer._generate_single_turn

        def counted(prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> Any:
            self.prefilled += sum(map(len, prompt_ids))
            self.passes += 1
            return inner(prompt_ids, *args, **kwargs)

        self._trainer._generate_single_turn = counted


def _row(job: Job) -> Json:
    """Return a job as TRL wants it: messages, to whose last one it appends what ``reset`` says, and its arguments."""
    prompt = [{"role": "system", "content": domain_of(job.env_id)}, {"role": "user", "content": ""}]
    return {"prompt": prompt, "environment": job.env_id, "options": dict(job.options)}


def settings(episodes: int, group: int, turns: int, turn_tokens: int, length: int, out: Path) -> GRPOConfig:
    """Return what serves TRL best on one core: one batch, single precision, nothing recomputed.

    Its other path without vLLM, continuous batching, took five times as long as `generate` on such a processor.

    Args:
        episodes: All episodes of a rollout.
        group: Episodes of one task.
        turns: Most turns per episode.
        turn_tokens: Most sampled tokens per turn.
        length: Most tokens per episode, its prompt left out.
        out: A folder that TRL may write to.
    """
    return GRPOConfig(
        output_dir=str(out),
        use_cpu=True,
        bf16=False,
        gradient_checkpointing=False,
        per_device_train_batch_size=episodes,
        gradient_accumulation_steps=1,
        steps_per_generation=1,
        num_generations=group,
        beta=0.0,
        max_completion_length=length,
        max_tool_calling_iterations=turns - 1,
        generation_kwargs={"max_new_tokens": turn_tokens},
        report_to="none",
        save_strategy="no",
    )
