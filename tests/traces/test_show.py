"""What a person sees of a trace."""

import io
import re

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from makerspace.traces.reader import read
from makerspace.traces.show import safe, show


def shown(path, **options):
    out = io.StringIO()
    show(read(path), Console(file=out, width=120, **options))
    return out.getvalue()


def test_a_trace_reads_as_a_story(episode):
    text = shown(episode)
    for part in (
        "ledger.fill/train/3@0.5",
        "Fill it up.",
        "1 pay_in(amount=5)",
        "balance 22",
        "2 draw(amount=500)",
        "error: only 22 is there, not 500",
        r"3 not a call: gibberish \x1b[31m[red]",
        '4 submit(answer="done")',
        "reward 1   filled 1  tidy unscored",
        "solved: 1",
        "answer: done",
        "artifact ledger.json",
    ):
        assert part in text


def test_colours_are_ours_only(episode):
    text = shown(episode, force_terminal=True, color_system="truecolor")
    assert r"\x1b[31m[red]" in re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_an_incomplete_trace_says_why(recorder):
    path = recorder.start()
    recorder.writer.action(1, "x", None)
    text = shown(path)
    assert "no result: recording ended here" in text
    assert "incomplete: no footer: writing stopped after 3 records" in text


@given(st.text(st.characters(exclude_categories=())))
def test_no_recorded_text_controls_the_terminal(text):
    assert not re.search(
        r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]", safe(text)
    )
    safe(text).encode()


def test_long_text_is_cut():
    assert safe("a" * 5000).endswith("a ... (3000 more characters)")
