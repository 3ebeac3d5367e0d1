"""Programs that make and change lines: seq, yes, uniq, shuf, tr."""

from __future__ import annotations

import re

from ..bash.words import unescape
from ..meter import MAX_OUTPUT, Stopped
from ..patterns import CLASSES
from .base import Run, Usage, lines, program, whole


@program("seq", raw=True)
def seq(run: Run) -> int | None:
    """Count."""
    separator, form, same, args = "\n", "", False, list(run.args)
    while args and re.match(r"-[swf]|--", args[0]) and not re.match(r"-\.?\d", args[0]):
        option = args.pop(0)
        if option in ("-w", "--equal-width"):
            same = True
        elif option[:2] in ("-s", "-f"):
            value = option[2:] or (args.pop(0) if args else "")
            separator, form = (unescape(value), form) if option[1] == "s" else (separator, value)
    if not 1 <= len(args) <= 3:
        return run.error("missing operand" if not args else f"extra operand '{args[3]}'")
    bad = next((a for a in args if not re.fullmatch(r"[+-]?(\d{1,17}(\.\d{0,15})?|\.\d{1,15})", a)), None)
    if bad is not None:
        return run.error(f"invalid floating point argument: '{bad[:40]}'")
    places = (
        max(len(a.partition(".")[2]) for a in args[:2] if len(args) > 1 or a)
        if len(args) > 1
        else len(args[0].partition(".")[2]) * 0
    )
    values = _counted([round(float(a) * 10**places) for a in args])
    texts = [f"{v / 10**places:.{places}f}" if places else str(v) for v in values]
    if form:
        if not re.fullmatch(r"[^%]*%[-+0 #]*\d{0,3}(\.\d{0,3})?[fgeFGE][^%]*", form):
            return run.error(f"format '{form[:40]}' has no % directive")
        texts = [form % (v / 10**places) for v in values]
    elif same:
        width = max(map(len, texts), default=0)
        texts = [t.zfill(width) for t in texts]
    run.out(separator.join(texts) + "\n" if texts else "")
    return 0


def _counted(numbers: list[int]) -> range:
    first = numbers[0] if len(numbers) > 1 else 1
    step = numbers[1] if len(numbers) > 2 else 10**0
    last = numbers[-1]
    if len(numbers) == 2:
        step = 1
    if step == 0:
        raise Usage("invalid Zero increment value: '0'")
    values = range(first, last + (1 if step > 0 else -1), step)
    if len(values) * 2 > MAX_OUTPUT:
        raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
    return values


@program("yes", raw=True)
def yes(run: Run) -> int:
    """Write a line again and again until the pipe is full."""
    line = " ".join(run.args or ["y"]) + "\n"
    run.out(line * min(run.sh.stdout.room // 2 // len(line), 100_000))
    return 141


@program(
    "uniq",
    short="cdiuf:s:w:",
    long=("count", "repeated", "ignore-case", "unique", "skip-fields=", "skip-chars=", "check-chars="),
)
def uniq(run: Run) -> None:
    """Merge equal neighbouring lines."""
    groups: list[tuple[str, str, int]] = []
    for line in lines(run.read(run.args[0] if run.args else "-")):
        key = (
            re.sub(rf"\A(\s*\S+){{0,{min(run.number('f', 'skip-fields'), 1000)}}}", "", line)
            if run.has("f", "skip-fields")
            else line
        )
        key = key[run.number("s", "skip-chars") :]
        key = key[: run.number("w", "check-chars")] if run.has("w", "check-chars") else key
        key = key.lower() if run.has("i", "ignore-case") else key
        if groups and groups[-1][0] == key:
            groups[-1] = (key, groups[-1][1], groups[-1][2] + 1)
        else:
            groups.append((key, line, 1))
    chosen = [
        g for g in groups if (g[2] > 1 or not run.has("d", "repeated")) and (g[2] == 1 or not run.has("u", "unique"))
    ]
    text = "".join((f"{count:7d} " if run.has("c", "count") else "") + line + "\n" for _, line, count in chosen)
    if len(run.args) > 1:
        run.write(run.args[1], text)
    else:
        run.out(text)


@program("shuf", short="n:ei:", long=("head-count=", "echo", "input-range="))
def shuf(run: Run) -> None:
    """Write lines in an order that looks random and is always the same."""
    span = run.get("i", "input-range")
    if span:
        low, _, high = span.partition("-")
        values = range(whole(low), whole(high) + 1)
        if len(values) > 100_000:
            raise Stopped("a range of more than 100000 numbers")
        found = [str(v) for v in values]
    else:
        found = list(run.args) if run.has("e", "echo") else lines(run.read(run.args[0] if run.args else "-"))
    run.sh.random.shuffle(found)
    run.out("".join(line + "\n" for line in found[: run.number("n", "head-count", default=len(found))]))


@program("tr", short="cCdst", long=("complement", "delete", "squeeze-repeats", "truncate-set1"), early=True)
def tr(run: Run) -> int | None:
    """Exchange, delete or squeeze characters."""
    delete, squeeze = run.has("d", "delete"), run.has("s", "squeeze-repeats")
    if not run.args or (len(run.args) < 2 and not delete and not squeeze):
        return run.error("missing operand" if not run.args else f"missing operand after '{run.args[0]}'")
    first = _characters(run.args[0])
    second = _characters(run.args[1]) if len(run.args) > 1 else ""
    complement = run.has("c", "C", "complement")
    chosen = set(first)
    text = run.sh.stdin.rest()
    if delete:
        text = "".join(c for c in text if (c in chosen) == complement)
    elif second:
        last = second[-1]
        if complement:
            text = "".join(c if c in chosen else last for c in text)
        else:
            table = {ord(c): second[i] if i < len(second) else last for i, c in reversed(list(enumerate(first)))}
            text = text.translate(table)
    if squeeze:
        kept = set(second or first)
        negated = complement and not second
        text = re.sub(r"([\s\S])\1+", lambda m: m[1] if (m[1] in kept) != negated else m[0], text)
    run.out(text)
    return None


def _characters(text: str) -> str:
    r"""Return the characters of a set such as `a-z`, `[:upper:]` or `\n`."""
    out: list[str] = []
    i = 0
    while i < len(text):
        name = re.compile(r"\[:(\w+):\]").match(text, i)
        if name and name[1] in CLASSES:
            regex = re.compile(f"[{CLASSES[name[1]]}]")
            out += [chr(c) for c in range(256) if regex.match(chr(c)) and c < 128]
            i = name.end()
            continue
        escape = re.compile(r"\\(?:[0-7]{1,3}|.)", re.DOTALL).match(text, i)
        size = len(escape[0]) if escape else 1
        char = unescape(text[i : i + size]) if size > 1 else text[i]
        char = char[1:] if len(char) == 2 and char[0] == "\\" else char
        i += size
        if text[i : i + 1] == "-" and i + 1 < len(text):
            end = text[i + 1]
            if ord(char) > ord(end):
                raise Usage(f"range-endpoints of '{char}-{end}' are in reverse collating sequence order")
            out += [chr(c) for c in range(ord(char), min(ord(end), 0xD7FF) + 1)]
            i += 2
        else:
            out.append(char)
    return "".join(out)
