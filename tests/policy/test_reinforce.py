"""The update against closed forms, and a bandit that it must solve."""

import math

import pytest

torch = pytest.importorskip("torch", reason="needs the extra 'train'")

from hypothesis import given, settings  # noqa: E402
from hypothesis import strategies as st  # noqa: E402

from makerspace.policy.bridge import Conversation  # noqa: E402
from makerspace.policy.reinforce import PolicyGradient, group_advantages, token_logprobs, update  # noqa: E402


class Table(torch.nn.Module):
    """The simplest policy: one row of logits per previous token."""

    def __init__(self, vocab: int) -> None:
        super().__init__()
        self.logits = torch.nn.Parameter(torch.zeros(vocab, vocab))

    def forward(self, ids):
        return self.logits[ids]


def said(*ids: int, logprob: float) -> Conversation:
    conversation = Conversation.opened([0])
    conversation.say(ids, [logprob] * len(ids))
    return conversation


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3)), min_size=1, max_size=40))
def test_advantages_of_a_group_sum_to_zero(pairs):
    rewards, groups = [r for r, _ in pairs], [g for _, g in pairs]
    advantages = group_advantages(rewards, groups)
    for group in set(groups):
        assert sum(a for a, g in zip(advantages, groups, strict=True) if g == group) == pytest.approx(0, abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(old=st.floats(-6, -0.1), advantage=st.floats(-2, 2).filter(lambda a: abs(a) > 1e-3))
def test_gradient_is_the_clipped_weight_times_the_advantage(old, advantage):
    """d(-w A log p)/d logits = -w A (onehot - p), with w = min(p_new/p_old, clip), for one sampled token."""
    model = Table(4)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    how = PolicyGradient(clip=2.0, minibatches=1, max_norm=1e9)
    update(model, optimizer, [said(2, logprob=old)], [advantage], how, torch.Generator())
    weight = min(0.25 / math.exp(old), 2.0)
    expected = torch.full((4,), -0.25)
    expected[2] += 1
    torch.testing.assert_close(model.logits.data[0], weight * advantage * expected)


def test_tokens_that_were_read_teach_nothing():
    model = Table(5)
    conversation = said(2, logprob=-math.log(5))
    conversation.read([3, 4])
    update(
        model,
        torch.optim.SGD(model.parameters(), lr=1.0),
        [conversation],
        [1.0],
        PolicyGradient(minibatches=1),
        torch.Generator(),
    )
    assert model.logits.data[0].abs().sum() > 0
    assert model.logits.data[2].abs().sum() == model.logits.data[3].abs().sum() == 0


def test_statistics_say_that_sampler_and_trainer_agree():
    model = Table(5)
    stats = update(
        model,
        torch.optim.SGD(model.parameters(), lr=0.0),
        [said(2, logprob=-math.log(5))],
        [1.0],
        PolicyGradient(),
        torch.Generator(),
    )
    assert stats.mismatch == pytest.approx(0, abs=1e-6)
    assert stats.entropy == pytest.approx(math.log(5), abs=1e-5)
    assert stats.tokens == 1


@pytest.mark.parametrize("seed", range(3))
def test_a_bandit_with_one_good_arm_is_solved(seed):
    model, generator = Table(6), torch.Generator().manual_seed(seed)
    optimizer = torch.optim.AdamW(model.parameters(), 0.1, weight_decay=0.0)
    for _ in range(60):
        p = torch.softmax(model.logits[0].detach(), -1)
        arms = torch.multinomial(p, 16, replacement=True, generator=generator).tolist()
        conversations = [said(arm, logprob=math.log(p[arm])) for arm in arms]
        advantages = group_advantages([float(arm == 4) for arm in arms], [0] * 16)
        update(model, optimizer, conversations, advantages, PolicyGradient(minibatches=1), generator)
    assert torch.softmax(model.logits[0], -1)[4] > 0.95


def test_log_probabilities_are_those_of_the_softmax():
    from makerspace.policy.batches import collate

    model = Table(4)
    torch.nn.init.normal_(model.logits)
    batch = collate([said(1, 3, logprob=0.0)], [0])
    logprobs, entropy = token_logprobs(model, batch)
    p = torch.log_softmax(model.logits, -1)
    torch.testing.assert_close(logprobs[0], torch.stack([p[0, 1], p[1, 3]]))
    torch.testing.assert_close(entropy[0, 0], -(p[0].exp() * p[0]).sum())
