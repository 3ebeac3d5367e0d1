import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from makerspace.policy import layout
from makerspace.policy.config import ModelConfig
from makerspace.policy.engine import Engine
from makerspace.policy.model import Apprentice
from makerspace.policy.sampling import sample, uniforms

TINY = ModelConfig(
    vocab_size=40, hidden_size=32, num_layers=2, num_heads=4, num_kv_heads=2, head_dim=8, intermediate_size=48, smear=2
)
SHAPES = {
    "smeared": TINY,
    "qwen3": ModelConfig(**{**vars(TINY), "smear": 0}),
    "llama": ModelConfig(**{**vars(TINY), "smear": 0, "qk_norm": False, "tie_embeddings": False}),
    "one head": ModelConfig(**{**vars(TINY), "num_heads": 1, "num_kv_heads": 1}),
}
STOP = 3


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def model_of(config=TINY, seed=0):
    """A model whose norms have scales, so that a forgotten one would show."""
    model, generator = Apprentice(config, seed=seed), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(0.5 + torch.rand(weight.shape, generator=generator) if weight.ndim == 1 else 1.0)
    return model


def recomputed(model, tokens, generation, temperature=1.0):
    """The log-probabilities of a generation that a trainer's forward pass gives; it ends the tokens."""
    with torch.no_grad():
        logits = model(torch.tensor([tokens]))[0] / temperature
    count = len(generation.ids)
    assert tokens[-count:] == generation.ids
    chosen = torch.tensor(generation.ids)[:, None]
    return torch.log_softmax(logits[-count - 1 : -1], -1).gather(-1, chosen)[:, 0]


def assert_faithful(model, engine, generations, temperature=1.0):
    for generation in generations:
        expected = recomputed(model, engine.tokens(generation.slot), generation, temperature)
        torch.testing.assert_close(torch.tensor(generation.logprobs), expected, atol=1e-5, rtol=0)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_recorded_log_probabilities_are_those_of_the_trainer(name, temperature):
    model = model_of(SHAPES[name])
    engine = Engine(model, [STOP], slots=6, max_length=64, temperature=temperature)
    for length in (1, 2, 3, 9, 30, 30):
        engine.start(engine.open(list(range(4, 4 + length)), seed=length), 12)
    assert_faithful(model, engine, list(engine.run()), temperature)


@settings(max_examples=25, deadline=None)
@given(data=st.data(), name=st.sampled_from(sorted(SHAPES)))
def test_any_schedule_gives_the_logits_of_the_full_forward(data, name):
    """Episodes open (some alike), listen, speak and close in any order; each log-probability must be the trainer's."""
    model = model_of(SHAPES[name])
    engine = Engine(model, [STOP], slots=5, max_length=80, seed=data.draw(st.integers(0, 9)))
    common = list(range(5, 35))
    idle, talking = [], set()
    for _ in range(data.draw(st.integers(5, 30))):
        moves = ["step"] * bool(talking) + ["extend", "start", "close"] * bool(idle)
        moves += ["open"] * (engine.open_slots < 5) + ["load"]
        move = data.draw(st.sampled_from(moves))
        if move == "open":
            tail = data.draw(st.lists(st.integers(4, 39), min_size=1, max_size=6))
            idle.append(engine.open(common[: data.draw(st.integers(0, 30))] + tail))
        elif move == "load":
            if not talking:  # a generation under two versions has no single trainer to agree with
                model = model_of(SHAPES[name], seed=engine.version + 1)
                engine.load_weights(model.state_dict())
        elif move == "step":
            finished = engine.step()
            assert_faithful(model, engine, finished)
            talking -= {generation.slot for generation in finished}
            idle += [generation.slot for generation in finished]
        else:
            slot = idle.pop(data.draw(st.integers(0, len(idle) - 1)))
            if move == "close":
                engine.close(slot)
            elif move == "extend" and engine.room(slot) >= 12:
                engine.extend(slot, data.draw(st.lists(st.integers(4, 39), max_size=12)))
                idle.append(slot)
            elif engine.room(slot):
                engine.start(slot, data.draw(st.integers(1, 9)))
                talking.add(slot)
            else:
                idle.append(slot)
    assert_faithful(model, engine, list(engine.run()))


@pytest.mark.parametrize("block", [1, 3])
def test_uneven_rows_are_moved_and_stay_themselves(monkeypatch, block):
    monkeypatch.setattr(layout, "BLOCK", block)
    monkeypatch.setattr(layout, "MOVE_COST", 0)
    model = model_of()
    engine = Engine(model, [], slots=12, max_length=120)
    slots = [engine.open([4 + i] * (3 + 7 * (i % 4)), seed=i) for i in range(12)]
    for i, slot in enumerate(slots):
        engine.start(slot, 3 + 5 * (i % 5))
    first = list(engine.run())
    assert_faithful(model, engine, first)
    for slot in slots[1::2]:
        engine.extend(slot, [9, 8, 7])
        engine.start(slot, 6)
    second = list(engine.run())
    assert len(second) == 6
    assert_faithful(model, engine, second)


def say(engine, prompts, seeds, count=15):
    slots = [engine.open(prompt, seed=seed) for prompt, seed in zip(prompts, seeds, strict=True)]
    for slot in slots:
        engine.start(slot, count)
    by_slot = {generation.slot: generation.ids for generation in engine.run()}
    return [by_slot[slot] for slot in slots]


def test_an_episode_says_the_same_alone_and_in_company():
    model, prompts = model_of(), [[4 + i, 5, 6 + i] * (1 + i % 3) for i in range(8)]
    together = say(Engine(model, [STOP], slots=8, max_length=64), prompts, range(8))
    alone = [say(Engine(model, [STOP], slots=1, max_length=64), [p], [i])[0] for i, p in enumerate(prompts)]
    assert together == alone


def test_equal_seeds_repeat_and_members_of_a_group_differ():
    engine = Engine(model_of(), [STOP], slots=4, max_length=64)
    first, again, other = say(engine, [[7, 8, 9]] * 3, [1, 1, 2])
    assert first == again != other


def test_an_engine_with_the_same_seed_and_calls_repeats_itself():
    def words(seed):
        engine = Engine(model_of(), [STOP], slots=3, max_length=64, seed=seed)
        return say(engine, [[5, 6]] * 3, [None] * 3)

    assert words(0) == words(0) != words(1)


def test_groups_share_the_computation_of_their_prompt():
    engine = Engine(model_of(), [STOP], slots=16, max_length=200)
    computed, prefill = [], engine._decoder.prefill

    def counted(windows, *rest):
        computed.append(len(windows))
        prefill(windows, *rest)

    engine._decoder.prefill = counted
    system, groups = list(range(4, 36)) * 3, [[10] * 12, [11] * 12, [12] * 12]
    say(engine, [system + groups[i % 3] for i in range(12)], range(12), count=4)
    # One whole prompt, then the two other groups' own parts; all others are copies.
    assert sum(computed) == (96 + 11) + 2 * 11


def test_a_closed_episode_serves_as_prefix():
    engine = Engine(model_of(), [STOP], slots=2, max_length=100)
    prompt = list(range(4, 40))
    slot = engine.open(prompt)
    engine.start(slot, 1)
    list(engine.run())
    engine.close(slot)
    engine._decoder.prefill = None  # nothing may be computed again
    model, slot = model_of(), engine.open(prompt)
    engine.start(slot, 5)
    assert_faithful(model, engine, list(engine.run()))


def test_greedy_takes_the_likeliest_token():
    model = model_of()
    engine = Engine(model, [], slots=2, max_length=40, temperature=0)
    slot = engine.open([5, 6, 7])
    engine.start(slot, 8)
    (generation,) = engine.run()
    tokens = engine.tokens(slot)
    assert generation.ids == model(torch.tensor([tokens]))[0, 2:-1].argmax(-1).tolist()
    assert_faithful(model, engine, [generation])


def test_a_generation_says_why_it_ended():
    engine = Engine(model_of(), range(40), slots=2, max_length=10)
    slot = engine.open([5])
    engine.start(slot, 5)
    (generation,) = engine.run()
    assert (generation.finished, len(generation.ids)) == ("stop", 1)
    engine = Engine(model_of(), [], slots=2, max_length=10)
    slot = engine.open([5] * 6)
    engine.start(slot, 50)
    (generation,) = engine.run()
    assert (generation.finished, len(generation.ids)) == ("length", 4)
    assert engine.room(slot) == 0


def test_new_weights_speak_at_once():
    old, new = model_of(seed=1), model_of(seed=2)
    engine = Engine(old, [], slots=2, max_length=60)
    slot = engine.open([5, 6, 7])
    engine.start(slot, 4)
    (before,) = engine.run()
    engine.load_weights(new.state_dict())
    engine.extend(slot, [8, 9])
    engine.start(slot, 4)
    (after,) = engine.run()
    assert (before.version, after.version, engine.version) == (0, 1, 1)
    assert_faithful(new, engine, [after])


def test_misuse_is_refused():
    engine = Engine(model_of(), [STOP], slots=1, max_length=10)
    with pytest.raises(ValueError, match="at least one"):
        engine.open([])
    with pytest.raises(ValueError, match="0 to 39"):
        engine.open([40])
    with pytest.raises(ValueError, match="do not fit"):
        engine.open([4] * 11)
    slot = engine.open([4] * 9)
    with pytest.raises(RuntimeError, match="open"):
        engine.open([4])
    with pytest.raises(ValueError, match="temperature"):
        engine.start(slot, 1, temperature=-1.0)
    engine.start(slot, 5)
    with pytest.raises(RuntimeError, match="generating"):
        engine.extend(slot, [4])
    list(engine.run())
    with pytest.raises(ValueError, match="full"):
        engine.start(slot, 1)
    engine.close(slot)
    with pytest.raises(KeyError):
        engine.close(slot)


def test_draws_follow_the_distribution():
    count = 40_000
    logits = torch.tensor([0.0, 1.0, -torch.inf, 2.0, -1.0]).expand(count, -1)
    luck = torch.from_numpy(uniforms(np.full(count, 7, np.uint64), np.arange(count)))
    ids, logprobs = sample(logits, torch.full((count,), 2.0), luck)
    expected = torch.softmax(logits[0] / 2, -1)
    frequencies = torch.bincount(ids, minlength=5) / count
    assert (frequencies - expected).abs().max() < 4 * (0.25 / count) ** 0.5
    torch.testing.assert_close(logprobs, expected.log()[ids])


def test_the_luckiest_draw_stays_inside_the_distribution():
    logits = torch.tensor([[0.0, 1.0, -torch.inf], [5.0, -torch.inf, -torch.inf]])
    ids, logprobs = sample(logits, torch.ones(2), torch.full((2,), 1 - 2**-53, dtype=torch.float64))
    assert ids.tolist() == [1, 0]
    assert torch.isfinite(logprobs).all()


@given(live=st.sets(st.integers(0, 70), min_size=1).map(sorted), seed=st.integers(0, 99), rows=st.integers(71, 80))
def test_an_arrangement_loses_no_row_and_is_the_best(live, seed, rows):
    live = np.array(live)
    lengths = np.random.default_rng(seed).integers(1, 500, len(live))
    source = layout.arrangement(live, lengths, rows)
    assert sorted(source) == list(range(rows))
    by_row = dict(zip(live.tolist(), lengths.tolist(), strict=True))
    after = np.array([by_row[row] for row in source[: len(live)].tolist()])
    ideal = -np.sort(-lengths)
    assert layout.attended(np.arange(len(live)), after) == layout.attended(np.arange(len(live)), ideal)
