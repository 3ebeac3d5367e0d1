"""Real environments, a real engine: what a rollout promises to the trainer."""

import json

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from makerspace.policy.bridge import Bridge  # noqa: E402
from makerspace.policy.cloning import demonstrate, load_scripts, save_scripts  # noqa: E402
from makerspace.policy.config import ModelConfig  # noqa: E402
from makerspace.policy.engine import Engine  # noqa: E402
from makerspace.policy.model import Apprentice  # noqa: E402
from makerspace.policy.reinforce import token_logprobs  # noqa: E402
from makerspace.policy.rollout import Job, Rollout, Workshop, scored  # noqa: E402
from makerspace.policy.tokenizer import Tokenizer  # noqa: E402

LOOKUP = "makerspace/terminal.lookup-v0"
TINY = ModelConfig(300, 32, 2, 2, 1, 16, 64, smear=1)


@pytest.fixture(scope="module")
def workshop():
    workshop = Workshop(runtime="inline")
    yield workshop
    workshop.close()


@pytest.fixture(scope="module")
def scripts(workshop):
    jobs = [Job(LOOKUP, {"split": "train", "index": i, "difficulty": 0.5}) for i in range(12)]
    return [demonstrate(job, workshop, slip_rate=0.3) for job in jobs]


@pytest.fixture(scope="module")
def bridge(scripts):
    return Bridge(Tokenizer.train((text for script in scripts for text in script.texts()), 300))


@pytest.fixture
def rollout(workshop, bridge):
    model = Apprentice(TINY.with_vocab(bridge.tokenizer.vocab_size), seed=0)
    rollout = Rollout(Engine(model, bridge.stop_ids, slots=4, max_length=400), bridge, workshop, max_turn_tokens=12)
    rollout.model = model
    yield rollout
    rollout.close()


def test_slips_are_read_and_not_imitated(scripts, bridge):
    assert any(not imitate for script in scripts for *_, imitate in script.turns)
    for script in scripts:
        conversation = script.tokens(bridge)
        spoken = [i for i, said in zip(conversation.ids, conversation.sampled, strict=True) if said]
        right = [json.loads(a) for _, _, a, imitate in script.turns if imitate]
        assert bridge.tokenizer.decode(spoken).count("{") == len(right)


def test_demonstrations_survive_a_file(scripts, tmp_path):
    save_scripts(tmp_path / "demonstrations.jsonl", scripts)
    assert load_scripts(tmp_path / "demonstrations.jsonl") == scripts


def test_episodes_come_back_in_the_order_of_their_jobs(rollout):
    jobs = [Job(LOOKUP, {"split": "train", "index": i, "difficulty": 0.0}, group=i, seed=i) for i in range(9)]
    episodes = rollout.play(jobs)
    assert [episode.job for episode in episodes] == jobs
    assert all(episode.turns > 0 for episode in episodes)
    assert scored(episodes) == episodes


def test_the_same_seeds_give_the_same_episodes(rollout):
    jobs = [Job(LOOKUP, {"split": "train", "index": 0, "difficulty": 0.0}, seed=i) for i in range(5)]
    first, second = rollout.play(jobs), rollout.play(jobs)
    assert [e.conversation.ids for e in first] == [e.conversation.ids for e in second]
    assert len({tuple(e.conversation.ids) for e in first}) > 1


def test_the_sampler_and_the_trainer_agree_on_every_log_probability(rollout):
    from makerspace.policy.batches import collate

    episodes = rollout.play([Job(LOOKUP, {"split": "train", "index": i, "difficulty": 1.0}, seed=i) for i in range(6)])
    batch = collate([e.conversation for e in episodes], range(6))
    with torch.no_grad():
        logprobs, _ = token_logprobs(rollout.model, batch)
    said = batch.sampled[:, 1:].bool()
    torch.testing.assert_close(logprobs[said], batch.logprobs[:, 1:][said], atol=1e-4, rtol=0)


def test_a_lost_sandbox_is_not_the_policys_fault(bridge):
    """The sandbox's process is killed in mid-episode: no reward, no exception, and the next episode plays."""
    import os
    import signal

    workshop = Workshop(runtime="process")
    env = workshop.lend(LOOKUP)
    workshop.take_back(LOOKUP, env)
    model = Apprentice(TINY.with_vocab(bridge.tokenizer.vocab_size), seed=0)
    rollout = Rollout(Engine(model, bridge.stop_ids, slots=1, max_length=400), bridge, workshop, max_turn_tokens=4)
    act, killed = rollout._act, []

    def kill_then_act(live, generation):
        if not killed:
            killed.append(live.env.unwrapped._workplace._session.pid)
            os.kill(killed[0], signal.SIGKILL)
            listing = bridge.call("run", {"command": "ls"})
            generation = type(generation)(generation.slot, listing, [0.0] * len(listing), "stop", 0)
        return act(live, generation)

    rollout._act = kill_then_act
    job = Job(LOOKUP, {"split": "train", "index": 0, "difficulty": 0.0})
    lost, fine = rollout.play([job, job])
    rollout.close()
    workshop.close()
    assert lost.reward is None
    assert fine.reward is not None
