import json
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makerspace.policy.tokenizer import CALL, END, PAD, SPECIALS, Tokenizer

TEXTS = [
    '{"name":"add_hole","arguments":{"x":12.5,"y":-3,"diameter":4}}',
    "The plate is 120 mm wide, 80 mm deep and 6 mm thick.\n",
    "volume 466.25 mm3; faces 7; ok",
    '{"name":"measure","arguments":{"what":"volume"}}',
] * 20


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS, 400)


@given(text=st.text())
def test_every_text_comes_back(tokenizer, text):
    assert tokenizer.decode(tokenizer.encode(text)) == text


@given(text=st.lists(st.sampled_from([*SPECIALS, "a", "<|", "|>", " ", "end"])).map("".join))
def test_text_never_becomes_a_control_token(tokenizer, text):
    ids = tokenizer.encode(text)
    assert not tokenizer.special_ids & set(ids)
    assert tokenizer.decode(ids) == text


@given(value=st.from_regex(r"-?[0-9]{1,6}(\.[0-9]{1,4})?|[A-Za-z]{1,12}", fullmatch=True))
@pytest.mark.parametrize("frame", ["{}", "width {} mm", '{{"x":{}}}', "[1,{}]", "x={};", "\n{}\n"])
def test_a_value_has_the_same_ids_wherever_it_stands(tokenizer, frame, value):
    before, after = frame.format("\0").split("\0")
    parts = (tokenizer.encode(part) for part in (before, value, after))
    assert tokenizer.encode(frame.format(value)) == list(chain.from_iterable(parts))


def test_digits_stand_alone_and_frames_of_json_do_not(tokenizer):
    assert len(tokenizer.encode("466.25")) == 6
    assert len(tokenizer.encode('":"')) == 1


def test_half_of_a_surrogate_pair_is_replaced(tokenizer):
    assert tokenizer.decode(tokenizer.encode("a\ud800b")) == "a?b"


def test_batches_encode_like_single_texts(tokenizer):
    assert tokenizer.encode_batch(TEXTS[:4]) == [tokenizer.encode(text) for text in TEXTS[:4]]


def test_the_written_tokenizer_is_the_same(tokenizer, tmp_path):
    tokenizer.save(tmp_path)
    again = Tokenizer.load(tmp_path)
    assert again.digest == tokenizer.digest == Tokenizer.load(tmp_path / "tokenizer.json").digest
    assert again.encode("hole <|end|> 4") == tokenizer.encode("hole <|end|> 4")


def test_training_is_deterministic(tokenizer):
    assert Tokenizer.train(TEXTS, 400).digest == tokenizer.digest


def test_control_tokens_have_the_first_ids(tokenizer):
    assert [tokenizer.id(name) for name in SPECIALS] == list(range(len(SPECIALS)))
    assert tokenizer.decode([tokenizer.id(CALL)]) == CALL
    with pytest.raises(KeyError):
        tokenizer.id("<|nobody|>")


def test_a_vocabulary_below_the_bytes_is_refused():
    with pytest.raises(ValueError, match="at least 263"):
        Tokenizer.train(TEXTS, 262)


def test_what_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        Tokenizer.load(tmp_path)
    foreign = {"version": "1.0", "added_tokens": [], "model": {"type": "BPE", "vocab": {}, "merges": []}}
    (tmp_path / "tokenizer.json").write_text(json.dumps(foreign))
    with pytest.raises(ValueError, match="lacks"):
        Tokenizer.load(tmp_path)


def test_transformers_reads_it(tokenizer, tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    tokenizer.save(tmp_path)
    other = transformers.AutoTokenizer.from_pretrained(tmp_path)
    text = 'say <|end|> and {"x":-4.5} ü\n'
    assert other(text)["input_ids"] == tokenizer.encode(text)
    assert other.decode(tokenizer.encode(text)) == text
    assert (other.pad_token_id, other.eos_token_id) == (tokenizer.id(PAD), tokenizer.id(END))
