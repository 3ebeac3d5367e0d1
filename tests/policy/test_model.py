from dataclasses import replace

import pytest
import torch

from makerspace.policy.config import TIERS, ModelConfig
from makerspace.policy.model import Apprentice

TINY = ModelConfig(
    vocab_size=60, hidden_size=32, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8, intermediate_size=48, smear=2
)


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize("name", TIERS)
def test_a_tier_has_the_weights_that_its_shape_announces(name):
    with torch.device("meta"):
        model = Apprentice(TIERS[name])
    assert sum(weight.numel() for weight in model.parameters()) == TIERS[name].parameters()


def test_tiers_are_of_the_sizes_they_are_named_for():
    millions = {name: config.parameters() / 1e6 for name, config in TIERS.items()}
    assert 1.0 < millions["nano"] < 1.4
    assert 2.0 < millions["micro"] < 3.0
    assert 20 < millions["small"] < 24


def test_a_configuration_survives_json():
    assert ModelConfig.from_json(TINY.to_json()) == TINY


@pytest.mark.parametrize(("text", "why"), [('{"color": "red"}', "color"), ("[1]", "object"), ("{", "Expecting")])
def test_a_foreign_configuration_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        ModelConfig.from_json(text)


@pytest.mark.parametrize("change", [{"num_kv_heads": 3}, {"head_dim": 7}, {"num_layers": 0}, {"smear": -1}])
def test_impossible_shapes_are_refused(change):
    with pytest.raises(ValueError, match=next(iter(change))):
        ModelConfig(**{**vars(TINY), **change})


def test_the_tensors_have_the_names_of_qwen3():
    names = set(Apprentice(TINY).state_dict())
    assert {"model.embed_tokens.weight", "model.norm.weight", "model.smear.0.weight", "model.smear.1.weight"} < names
    assert {"model.layers.1.self_attn.q_norm.weight", "model.layers.1.mlp.down_proj.weight"} < names
    assert "lm_head.weight" not in names


def test_padding_at_the_right_changes_nothing():
    model = Apprentice(TINY, seed=0)
    ids = torch.randint(0, 60, (1, 9))
    padded = torch.cat((ids, torch.zeros(1, 5, dtype=torch.long)), dim=1)
    torch.testing.assert_close(model(ids), model(padded)[:, :9], atol=1e-5, rtol=0)


def test_no_token_sees_those_after_it():
    model = Apprentice(TINY, seed=0)
    ids = torch.randint(0, 60, (1, 12))
    changed = ids.clone()
    changed[0, 7:] = (changed[0, 7:] + 1) % 60
    difference = (model(ids) - model(changed)).abs().amax((0, 2))
    assert difference[:7].max() < 1e-6
    assert difference[7] > 1e-3


@pytest.mark.parametrize(("distance", "seen"), [(1, True), (2, True), (3, False)])
def test_smear_adds_exactly_the_previous_tokens(distance, seen):
    trunk = Apprentice(TINY, seed=0).model
    ids = torch.randint(0, 60, (1, 8))
    changed = ids.clone()
    changed[0, 5 - distance] = (changed[0, 5 - distance] + 1) % 60
    assert bool((trunk.embed(ids)[0, 5] != trunk.embed(changed)[0, 5]).any()) is seen


def test_values_leave_the_trunk_alone():
    model = Apprentice(TINY, value_head=True, seed=0)
    model.values(model.hidden(torch.tensor([[1, 2, 3]]))).sum().backward()
    assert model.value_head.bias.grad is not None
    assert all(weight.grad is None for weight in model.model.parameters())


def test_values_need_a_value_head():
    model = Apprentice(TINY, seed=0)
    with pytest.raises(RuntimeError, match="value_head=True"):
        model.values(torch.zeros(1, 32))


def test_a_seed_fixes_the_fresh_weights_and_no_seed_uses_the_global_generator():
    def weights(seed):
        return Apprentice(TINY, seed=seed).model.embed_tokens.weight

    assert torch.equal(weights(3), weights(3))
    assert not torch.equal(weights(3), weights(4))
    assert not torch.equal(weights(None), weights(None))


def recall_after_training(config, steps=200):
    """Trains on key, value, ..., key again; returns how often the last token is the key's value. Chance is 1/20."""
    generator = torch.Generator().manual_seed(0)
    model = Apprentice(config, seed=0)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-2)
    right = []
    for _ in range(steps):
        keys = torch.rand(64, 20, generator=generator).argsort(1)[:, :6]
        values = torch.randint(20, 40, (64, 6), generator=generator)
        asked = torch.randint(0, 6, (64, 1), generator=generator)
        target = values.gather(1, asked)[:, 0]
        logits = model(torch.cat((torch.stack((keys, values), 2).flatten(1), keys.gather(1, asked)), 1))[:, -1]
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(logits, target).backward()
        optimizer.step()
        right.append((logits.argmax(-1) == target).float().mean().item())
    return sum(right[-20:]) / 20


def test_smear_is_what_lets_a_tiny_model_copy_from_its_context_soon():
    assert recall_after_training(TINY) > 0.8
    assert recall_after_training(replace(TINY, smear=0)) < 0.5
