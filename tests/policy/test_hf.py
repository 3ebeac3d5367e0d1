import json
from dataclasses import replace

import pytest
import torch

from makerspace.policy.config import ModelConfig
from makerspace.policy.engine import Engine
from makerspace.policy.interchange import UnsupportedCheckpointError, load_pretrained, read_config, save_pretrained
from makerspace.policy.model import Apprentice
from makerspace.policy.tokenizer import Tokenizer

transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytest.importorskip("makerspace.policy.hf", reason="transformers is too old for the smeared class")

TINY = ModelConfig(
    vocab_size=60, hidden_size=32, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8, intermediate_size=48, smear=2
)
QWEN3 = replace(TINY, smear=0)
LLAMA = replace(QWEN3, qk_norm=False, tie_embeddings=False, rope_theta=5_000.0)
SHAPES = {"smeared": TINY, "qwen3": QWEN3, "llama": LLAMA}
CLASSES = {"smeared": "ApprenticeForCausalLM", "qwen3": "Qwen3ForCausalLM", "llama": "LlamaForCausalLM"}


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def pair(config, directory):
    """Our model and what transformers reads of it."""
    model = Apprentice(config, seed=0)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(1.3)
    save_pretrained(model, directory)
    return model, transformers.AutoModelForCausalLM.from_pretrained(directory)


@pytest.mark.parametrize("name", SHAPES)
def test_transformers_gives_the_same_logits(name, tmp_path):
    model, other = pair(SHAPES[name], tmp_path)
    assert type(other).__name__ == CLASSES[name]
    ids = torch.randint(0, 60, (3, 20))
    torch.testing.assert_close(model(ids), other(ids).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize("name", SHAPES)
def test_greedy_generate_says_what_the_engine_says(name, tmp_path):
    model, other = pair(SHAPES[name], tmp_path)
    prompts = [[5, 6, 7, 8, 9], [11], [12, 13]]
    width = max(map(len, prompts))
    ids = torch.tensor([[0] * (width - len(prompt)) + prompt for prompt in prompts])
    mask = torch.tensor([[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in prompts])
    out = other.generate(ids, attention_mask=mask, max_new_tokens=25, do_sample=False, pad_token_id=0)
    engine = Engine(model, [], slots=3, max_length=64, temperature=0)
    for prompt in prompts:
        engine.start(engine.open(prompt), 25)
    ours = sorted(engine.run(), key=lambda generation: generation.slot)
    assert [generation.ids for generation in ours] == out[:, width:].tolist()


def test_smear_looks_past_the_cache_also_in_beams(tmp_path):
    _, other = pair(TINY, tmp_path)
    ids = torch.tensor([[5, 6, 7, 8, 9]])
    how = {"max_new_tokens": 12, "do_sample": False, "num_beams": 3, "pad_token_id": 0}
    assert torch.equal(other.generate(ids, **how), other.generate(ids, use_cache=False, **how))


def test_a_filled_cache_needs_the_ids_before(tmp_path):
    _, other = pair(TINY, tmp_path)
    ids = torch.randint(0, 60, (2, 10))
    whole = other(ids).logits
    first = other(ids[:, :6], use_cache=True)
    name = "cache" if hasattr(first, "cache") else "past_key_values"
    past = {name: getattr(first, name)}
    with pytest.raises(ValueError, match="previous_ids"):
        other(ids[:, 6:], **past)
    rest = other(ids[:, 6:], previous_ids=ids[:, 4:6], **past).logits
    torch.testing.assert_close(rest, whole[:, 6:], atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", SHAPES)
def test_what_transformers_writes_is_read_back(name, tmp_path):
    model, other = pair(SHAPES[name], tmp_path / "ours")
    other.save_pretrained(tmp_path / "theirs")
    again = load_pretrained(tmp_path / "theirs")
    assert again.config == model.config
    assert all(torch.equal(tensor, again.state_dict()[key]) for key, tensor in model.state_dict().items())


def test_a_foreign_llama_in_shards_is_read(tmp_path):
    config = transformers.LlamaConfig(
        vocab_size=50, hidden_size=32, intermediate_size=40, num_hidden_layers=3, num_attention_heads=4
    )
    other = transformers.LlamaForCausalLM(config)
    other.save_pretrained(tmp_path, max_shard_size="10KB")
    assert not (tmp_path / "model.safetensors").exists()
    ids = torch.randint(0, 50, (2, 9))
    torch.testing.assert_close(load_pretrained(tmp_path)(ids), other(ids).logits, atol=1e-4, rtol=0)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"attention_bias": True}, "attention_bias"),
        ({"use_sliding_window": True}, "use_sliding_window"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "yarn"),
        ({"rope_parameters": None, "rope_scaling": {"type": "linear", "factor": 2.0}}, "linear"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"model_type": "gpt2"}, "gpt2"),
    ],
)
def test_what_is_not_supported_is_named(change, name, tmp_path):
    save_pretrained(Apprentice(QWEN3), tmp_path)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(UnsupportedCheckpointError, match=name):
        load_pretrained(tmp_path)


def test_an_older_configuration_is_read(tmp_path):
    old = {
        "model_type": "llama", "vocab_size": 9, "hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2,
        "intermediate_size": 8, "rms_norm_eps": 1e-5, "rope_theta": 500.0, "rope_scaling": None,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(old))
    config = read_config(tmp_path)
    assert (config.num_kv_heads, config.head_dim, config.rope_theta) == (2, 4, 500.0)
    assert (config.tie_embeddings, config.qk_norm, config.smear) == (False, False, 0)


def test_a_smeared_llama_cannot_be_written(tmp_path):
    with pytest.raises(UnsupportedCheckpointError, match="qk_norm"):
        save_pretrained(Apprentice(replace(TINY, qk_norm=False)), tmp_path)


def test_the_tokenizer_travels_with_the_model_and_the_value_head_does_not(tmp_path):
    tokenizer = Tokenizer.train(["hole 4 mm"] * 5, 280)
    model = Apprentice(TINY.with_vocab(tokenizer.vocab_size), value_head=True)
    save_pretrained(model, tmp_path, tokenizer)
    other = transformers.AutoModelForCausalLM.from_pretrained(tmp_path)
    assert (other.config.pad_token_id, other.config.eos_token_id) == (tokenizer.id("<|pad|>"), tokenizer.id("<|end|>"))
    assert transformers.AutoTokenizer.from_pretrained(tmp_path)("hole")["input_ids"] == tokenizer.encode("hole")
    assert load_pretrained(tmp_path).value_head is None
    with pytest.raises(ValueError, match="ids"):
        save_pretrained(Apprentice(TINY), tmp_path, tokenizer)
