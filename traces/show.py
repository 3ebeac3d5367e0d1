"""Shows a trace to a person.

Recorded text is never interpreted: control characters, terminal sequences and marks that change the direction of
writing appear as their codes. The module does not judge what it shows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.text import Text

from .log import encode
from .reader import Step, Trace
from .records import Verdict

LONGEST = 2000
"""Characters of one text that are shown; the file holds the rest."""
_UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff]")


def safe(text: str) -> str:
    r"""Return text that a terminal shows as it is, with ``\x1b`` and its like written out; tabs and line ends stay."""
    cut = text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text) - LONGEST} more characters)"
    return _UNSAFE.sub(lambda found: _code(ord(found[0])), cut)


def render(trace: Trace) -> RenderableType:
    """Return a trace as something that rich prints.

    Raises:
        TraceError: If the trace has no header.
    """
    return Group(*_parts(trace))


def show(trace: Trace, console: Console | None = None) -> None:
    """Print a trace."""
    (console or Console()).print(render(trace))


def _parts(trace: Trace) -> Iterator[RenderableType]:
    header = trace.header
    yield Rule(Text(safe(header.task_id), "bold"))
    yield _line(f"{header.env_id}   seed {header.seed}   at most {header.max_steps} steps", "dim")
    yield _line(header.instruction, "bold")
    if trace.start is not None and trace.start.text:
        yield Padding(_line(trace.start.text, "dim"), (0, 0, 0, 4))
    for step in trace.steps:
        yield from _step(step)
    for fault in trace.faults:
        yield _line(f"fault at step {fault.step}: {fault.error}: {fault.message}", "red")
    if trace.verdict is not None:
        yield from _verdict(trace.verdict)
    if not trace.complete:
        yield _line(f"incomplete: {trace.reason}", "yellow")


def _step(step: Step) -> Iterator[RenderableType]:
    action, result = step.action, step.result
    yield Text.assemble((f"{action.step:>3} ", "dim"), (safe(_call(action.call, action.raw)), "cyan"))
    if action.error is not None and result is None:
        yield Padding(_line(str(action.error.get("message", "")), "red"), (0, 0, 0, 4))
    if result is None:
        yield Padding(_line("no result: recording ended here", "yellow"), (0, 0, 0, 4))
        return
    answer = result.result or {}
    yield Padding(_line(str(answer.get("text", "")), "" if answer.get("ok") else "red"), (0, 0, 0, 4))
    if result.infra_error:
        yield Padding(_line(f"the sandbox failed: {result.infra_error}", "yellow"), (0, 0, 0, 4))
    if result.reward is None or result.reward or result.terms:
        yield Padding(_line(f"reward {_number(result.reward)}   {_terms(result.terms)}", "green"), (0, 0, 0, 4))
    for note in step.notes:
        yield Padding(_line(f"note {note.topic}: {encode(note.data).decode()[:120]}", "dim"), (0, 0, 0, 4))


def _verdict(verdict: Verdict) -> Iterator[RenderableType]:
    mark, style = ("solved", "bold green") if verdict.success else ("not solved", "bold red")
    yield _line(f"{mark}: {_number(verdict.total)}   {_terms(verdict.terms)}", style)
    if verdict.answer:
        yield _line(f"answer: {verdict.answer}")
    for name, digest in verdict.artifacts.items():
        yield _line(f"artifact {name}: {digest}", "dim")


def _call(call: Mapping[str, Any] | None, raw: Any) -> str:
    if call is None:
        return f"not a call: {raw if isinstance(raw, str) else _value(raw)}"
    arguments: Any = call.get("arguments")
    if not isinstance(arguments, dict):
        return f"{call.get('name')}({_value(arguments)})"
    shown = cast("Mapping[str, Any]", arguments).items()
    return f"{call.get('name')}({', '.join(f'{name}={_value(value)}' for name, value in shown)})"


def _value(value: Any) -> str:
    return encode(value).decode()


def _terms(terms: Mapping[str, Any]) -> str:
    return "  ".join(f"{name} {_number(value)}" for name, value in terms.items())


def _number(value: Any) -> str:
    return "unscored" if value is None else f"{value:.3g}" if isinstance(value, int | float) else str(value)


def _line(text: str, style: str = "") -> Text:
    return Text(safe(text), style)


def _code(point: int) -> str:
    return f"\\x{point:02x}" if point < 0x100 else f"\\u{point:04x}"
