"""The smeared layout inside `transformers`.

A model without smear *is* a Qwen3 or Llama model and needs nothing from here. With smear, importing this module
registers `ApprenticeConfig` and `ApprenticeForCausalLM`, after which `AutoModelForCausalLM.from_pretrained(directory)`
reads what `interchange.save_pretrained` wrote, and `generate` works with a cache, padding at the left, or beams.

The smear of a token needs the ids before it, and a key-value cache does not hold ids. They are therefore an input:
`previous_ids`, the last `smear` ids before `input_ids`, with -1 for padding or nothing. `generate` fills it in; whoever
calls `forward` with a filled cache must pass it, and is told so if not.

Needs the package `transformers`, which makerspace itself does not depend on.
"""

from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from transformers import AutoConfig, AutoModelForCausalLM
from transformers.models.qwen3.configuration_qwen3 import Qwen3Config
from transformers.models.qwen3.modeling_qwen3 import Qwen3ForCausalLM, Qwen3Model

MODEL_TYPE = "makerspace_apprentice"


class ApprenticeConfig(Qwen3Config):
    """A Qwen3 configuration with a number of previous-token embedding tables."""

    model_type = MODEL_TYPE

    smear: int = 0


class ApprenticeModel(Qwen3Model):
    """A Qwen3 trunk that adds the embeddings of previous tokens to that of the present one."""

    def __init__(self, config: ApprenticeConfig) -> None:
        """Builds the Qwen3 trunk and the smear tables."""
        super().__init__(config)
        self.smear = nn.ModuleList(nn.Embedding(config.vocab_size, config.hidden_size) for _ in range(config.smear))
        self.post_init()

    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]: the names in between change with every release
        self,
        input_ids: Tensor | None = None,
        attention_mask: Any = None,
        inputs_embeds: Tensor | None = None,
        previous_ids: Tensor | None = None,
        **kwargs: Any,
    ) -> Any:
        """Runs the trunk as `Qwen3Model` does.

        Args:
            input_ids: (B, T) ids; required, unless `inputs_embeds` (smear included) takes their place.
            attention_mask: as for `Qwen3Model`.
            inputs_embeds: (B, T, D) instead of ids.
            previous_ids: (B, smear) ids before `input_ids`, -1 where there is none; needed with a filled cache.
            kwargs: everything else that `Qwen3Model` takes.

        Raises:
            ValueError: the cache holds a past, but `previous_ids` does not say which.
        """
        if inputs_embeds is None:
            if input_ids is None:
                raise ValueError("either input_ids or inputs_embeds is required")
            cache = kwargs.get("cache", kwargs.get("past_key_values"))
            past = 0 if cache is None else int(cache.get_seq_length())
            if previous_ids is None and past and len(self.smear):
                raise ValueError("previous_ids, the ids before input_ids, are required with a filled cache")
            mask = attention_mask if isinstance(attention_mask, Tensor) and attention_mask.ndim == 2 else None
            inputs_embeds = self._embed(input_ids, previous_ids, mask)
        return super().forward(attention_mask=attention_mask, inputs_embeds=inputs_embeds, **kwargs)

    def _embed(self, ids: Tensor, previous: Tensor | None, mask: Tensor | None) -> Tensor:
        """Returns (B, T, D) embeddings with smear, blind for whatever the (B, past + T) mask hides."""
        width = len(self.smear)
        if previous is None:
            previous = ids.new_full((len(ids), width), -1)
        shown = ids if mask is None else ids.masked_fill(mask[:, -ids.shape[1] :] == 0, -1)
        line = torch.cat((previous, shown), dim=1)
        x = self.embed_tokens(ids)
        for distance, table in enumerate(self.smear, start=1):
            earlier = line[:, width - distance : line.shape[1] - distance]
            x = x + table(earlier.clamp(min=0)) * (earlier >= 0).unsqueeze(-1)
        return x


class ApprenticeForCausalLM(Qwen3ForCausalLM):
    """The bundled policy as a `transformers` model: same weights, same logits, usable wherever Qwen3 is."""

    config_class = ApprenticeConfig

    def __init__(self, config: ApprenticeConfig) -> None:
        """Builds a Qwen3 model around the smeared trunk."""
        super().__init__(config)
        self.model = ApprenticeModel(config)
        self.post_init()

    def prepare_inputs_for_generation(self, input_ids: Tensor, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Adds `previous_ids` to what Qwen3 prepares, from the whole (B, past + T) `input_ids` and their mask."""
        prepare = cast(Callable[..., dict[str, Any]], super().prepare_inputs_for_generation)  # pyright: ignore[reportAttributeAccessIssue]: its `self` asks for attributes that no model has
        inputs = prepare(input_ids, *args, **kwargs)
        if inputs.get("input_ids") is None:
            return inputs
        start, mask = input_ids.shape[1] - inputs["input_ids"].shape[1], kwargs.get("attention_mask")
        before = input_ids[:, :start]
        if isinstance(mask, Tensor) and mask.ndim == 2:
            before = before.masked_fill(mask[:, :start] == 0, -1)
        width = len(self.model.smear)
        inputs["previous_ids"] = functional.pad(before, (width, 0), value=-1)[:, start:]
        return inputs


AutoConfig.register(MODEL_TYPE, ApprenticeConfig, exist_ok=True)
AutoModelForCausalLM.register(ApprenticeConfig, ApprenticeForCausalLM, exist_ok=True)
