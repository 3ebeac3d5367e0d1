"""Tool calls as language models write them."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from makerspace.envs.actions import call_text
from makerspace.envs.parsing import DEEPEST_ACTION, LONGEST_ACTION, parse_arguments, parse_call
from makerspace.simulators.base import ToolCall, ToolResult

DRILL = ToolCall("drill", {"diameter": 4, "at": [1.5, -2]})
BODY = json.dumps(DRILL.to_json())


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        f"  {BODY}\n",
        f"I drill now.\n{BODY}\nDone.",
        f"```json\n{BODY}\n```",
        f"First:\n```\n{BODY}\n```\nthat is it {{not json}}",
        f"<tool_call>\n{BODY}\n</tool_call>",
        f"<tool_call>{BODY}",
        f"Holes {{four}} of them. {BODY}",
        '{"function": "drill", "parameters": {"diameter": 4, "at": [1.5, -2]}}',
        '{"tool": "drill", "args": {"diameter": 4, "at": [1.5, -2]}}',
        '{"name": " drill ", "arguments": "{\\"diameter\\": 4, \\"at\\": [1.5, -2]}"}',
        '{"id": "1", "type": "function", "function": {"name": "drill", "arguments": {"diameter": 4, "at": [1.5, -2]}}}',
        f'{{"role": "assistant", "tool_calls": [{{"type": "function", "function": {BODY}}}]}}',
        f'Looking at {{"x": 1}} I call {BODY}',
    ],
)
def test_the_spellings_of_models_are_read(text):
    assert parse_call(text) == DRILL


@pytest.mark.parametrize(
    "text", ['{"name": "look"}', '{"name": "look", "arguments": null}', '{"name": "look", "args": ""}']
)
def test_a_call_without_arguments_is_a_call(text):
    assert parse_call(text) == ToolCall("look", {})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "no tool call found"),
        ("I would drill.", "no tool call found"),
        ("[1, 2]", "no tool call found"),
        ('{"name": "drill", "arguments": {"diameter": 4}', "breaks off"),
        ('{"diameter": 4}', "its keys are ['diameter']"),
        (BODY + BODY, "holds 2"),
        ('{"tool_calls": []}', "holds 0"),
        ('{"name": "drill", "name": "saw"}', "'name' stands twice"),
        ('{"name": "drill", "arguments": {"diameter": NaN}}', "NaN is not a number"),
        ('{"name": "drill", "arguments": {"diameter": -Infinity}}', "-Infinity is not a number"),
        ('{"name": "drill", "arguments": {"diameter": 1e999}}', "'1e999' is not a finite number"),
        ('{"name": "drill", "arguments": [4]}', "must be a JSON object, not [4]"),
        ('{"name": "drill", "arguments": "4"}', "must be one JSON object"),
        ('{"name": "drill", "arguments": "{"}', "are not JSON"),
        ('{"name": "drill", "arguments": ' + "9" * 5000 + "}", "cannot be read"),
    ],
)
def test_what_is_no_call_is_told_why(text, said):
    result = parse_call(text)
    assert isinstance(result, ToolResult)
    assert result.error.code == "malformed"
    assert said in result.error.message
    assert len(result.text) < 500


@pytest.mark.parametrize("depth", [DEEPEST_ACTION + 1, 900, 2_000, 100_000])
@pytest.mark.parametrize("opening", ["[", '{"a":'])
def test_deep_json_is_refused_whatever_its_depth(depth, opening):
    closing = "]" if opening == "[" else "}"
    filling = "" if opening == "[" else "1"
    for text in (opening * depth, opening * depth + filling + closing * depth):
        result = parse_call(f'{{"name": "drill", "arguments": {{"x": {text}}}}}')
        assert isinstance(result, ToolResult)
        assert result.error.code in ("malformed", "limit")


def test_long_text_is_refused_unread():
    assert parse_call("{" * (LONGEST_ACTION + 1)).error.code == "limit"
    assert parse_arguments(" " * (LONGEST_ACTION + 1)).error.code == "limit"


@pytest.mark.parametrize("text", ["{" * LONGEST_ACTION, '{"' * 100_000, "<tool_call>" * 40_000, "```\n{" * 80_000])
def test_long_nonsense_is_answered(text):
    assert isinstance(parse_call(text), ToolResult)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(st.text(), st.dictionaries(st.text(), JSON, max_size=4))
def test_every_call_survives_being_written_and_read(name, arguments):
    call = ToolCall(name.strip(), arguments)
    assert parse_call(call_text(call)) == call


@given(
    st.text(alphabet='{}[]":,\\ antmrguse<>/_`\n0123456789.eEN-é', max_size=200)
    | st.text()
    | st.binary().map(lambda b: b.decode("latin1"))
)
def test_any_text_is_answered(text):
    result = parse_call(text)
    if isinstance(result, ToolCall):
        assert isinstance(result.name, str)
        assert isinstance(result.arguments, dict)
        json.dumps(result.to_json(), allow_nan=False)
    else:
        assert result.error.code in ("malformed", "limit")
        assert result.text.startswith("error: ")


@given(JSON)
def test_any_json_is_answered(value):
    assert isinstance(parse_call(json.dumps(value)), ToolCall | ToolResult)
    parsed = parse_arguments(json.dumps(value))
    assert parsed == value if isinstance(value, dict) else isinstance(parsed, ToolResult)
