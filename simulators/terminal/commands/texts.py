"""Programs that pass lines through: cat, head, tail, wc, tac, rev, nl, fold, tr, tee, split, seq, yes, uniq, shuf, expand."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..bash.words import unescape
from ..meter import MAX_OUTPUT, Stopped
from ..patterns import CLASSES
from ..text import to_bytes, to_text
from .base import Run, Usage, lines, program, whole

SUFFIXES = {"": 1, "b": 512, "k": 1024, "K": 1024, "KB": 1000, "kB": 1000, "M": 1 << 20, "MB": 10**6, "G": 1 << 30}


@program(
    "cat", short="nbsAETvu", long=("number", "number-nonblank", "squeeze-blank", "show-ends", "show-tabs", "show-all")
)
def cat(run: Run) -> None:
    """Write files one after another."""
    number, nonblank = run.has("n", "number"), run.has("b", "number-nonblank")
    ends, tabs = run.has("E", "A", "show-ends", "show-all"), run.has("T", "A", "show-tabs", "show-all")
    count, blank = 0, False
    for _, text in run.inputs():
        if not run.options:
            run.out(text)
            continue
        for line in text.splitlines(keepends=True) if "\r" not in text else re.findall(r"[^\n]*\n|[^\n]+", text):
            if run.has("s", "squeeze-blank") and blank and line == "\n":
                continue
            blank = line == "\n"
            if (number and not nonblank) or (nonblank and not blank):
                count += 1
                run.out(f"{count:6d}\t")
            line = line.replace("\t", "^I") if tabs else line
            run.out(line[:-1] + "$\n" if ends and line.endswith("\n") else line)


def amount(text: str) -> tuple[str, int]:
    """Return the sign and the number of a head or tail count such as `5`, `+3`, `-2` or `1K`.

    Raises:
        Usage: If it is none.
    """
    match = re.fullmatch(r"([+-]?)(\d{1,18})([bkKMG]B?|)", text)
    if not match:
        raise Usage(f"invalid number of lines: '{text[:40]}'")
    return match[1], int(match[2]) * SUFFIXES.get(match[3], 1)


def _old_style(args: list[str]) -> list[str]:
    """Turn `-5` into `-n5`."""
    return [
        f"-n{a[1:]}" if re.fullmatch(r"-\d+", a) and not (i and args[i - 1] in ("-n", "-c")) else a
        for i, a in enumerate(args)
    ]


@program("head", raw=True)
def head(run: Run) -> int | None:
    """Write the first lines or bytes."""
    return _part(run, from_end=False)


@program("tail", raw=True)
def tail(run: Run) -> int | None:
    """Write the last lines or bytes."""
    return _part(run, from_end=True)


def _part(run: Run, from_end: bool) -> int | None:
    import getopt

    from .base import misused

    original = tuple(run.args)
    args = _old_style(run.args)
    if from_end and args and re.fullmatch(r"\+\d+", args[0]):
        args[0] = f"-n{args[0]}"
    try:
        options, run.args = getopt.gnu_getopt(
            args, "n:c:qvfz", ["lines=", "bytes=", "quiet", "silent", "verbose", "follow"]
        )
    except getopt.GetoptError as problem:
        return run.error(misused(problem))
    run.options = [(key.lstrip("-"), value) for key, value in options]
    if from_end and len(run.args) > 1 and args != list(original):
        return run.error(f"option used in invalid context -- {run.get('n')}")
    in_bytes = run.has("c", "bytes")
    sign, count = amount(run.get("c", "bytes") or run.get("n", "lines") or "10")
    several = (len(run.args) > 1 or run.has("v", "verbose")) and not run.has("q", "quiet", "silent")
    first = True
    for name, text in _lazy_inputs(run, sign, count, in_bytes, from_end):
        if several:
            run.out(("" if first else "\n") + f"==> {'standard input' if name == '-' else name} <==\n")
        first = False
        run.out(_bytes(text, sign, count, from_end) if in_bytes else _lines(text, sign, count, from_end))
    return None


def _lazy_inputs(run: Run, sign: str, count: int, in_bytes: bool, from_end: bool) -> Iterator[tuple[str, str]]:
    """Yield inputs; `head -n N` of a shared standard input leaves the rest for the next command."""
    if not run.args and not from_end and not in_bytes and sign == "":
        taken: list[str] = []
        while len(taken) < count and (line := run.sh.stdin.line()) is not None:
            taken.append(line)
        yield "-", "".join(taken)
    else:
        yield from run.inputs()


def _lines(text: str, sign: str, count: int, from_end: bool) -> str:
    parts = re.findall(r"[^\n]*\n|[^\n]+", text)
    if from_end:
        return "".join(parts[max(count - 1, 0) :] if sign == "+" else parts[max(len(parts) - count, 0) :])
    return "".join(parts[: max(len(parts) - count, 0)] if sign == "-" else parts[:count])


def _bytes(text: str, sign: str, count: int, from_end: bool) -> str:
    data = to_bytes(text)
    if from_end:
        return to_text(data[max(count - 1, 0) :] if sign == "+" else data[max(len(data) - count, 0) :])
    return to_text(data[: max(len(data) - count, 0)] if sign == "-" else data[:count])


@program("wc", short="lwcmL", long=("lines", "words", "bytes", "chars", "max-line-length"))
def wc(run: Run) -> None:
    """Count lines, words, characters and bytes."""
    columns = [
        c
        for c, long in zip("lwmcL", ("lines", "words", "chars", "bytes", "max-line-length"), strict=True)
        if run.has(c, long)
    ] or ["l", "w", "c"]
    rows: list[tuple[list[int], str]] = []
    for name, text in run.inputs():
        words = len(re.findall(r"[^ \t\n\r\f\v]+", text))
        values = {
            "l": text.count("\n"),
            "w": words,
            "m": len(text),
            "c": len(to_bytes(text)),
            "L": max(map(len, text.split("\n"))),
        }
        rows.append(([values[c] for c in columns], name))
    if len(run.args) > 1:
        rows.append(
            (
                [
                    max(v) if c == "L" else sum(v)
                    for c, v in zip(columns, zip(*[r for r, _ in rows], strict=True), strict=False)
                ]
                or [0] * len(columns),
                "total",
            )
        )
    sizes = sum(
        len(run.sh.files.read(run.path(a)))
        for a in run.args
        if a != "-" and run.sh.files.find(run.path(a)) is not None and _is_file(run, a)
    )
    plain = len(run.args) == 1 and len(columns) == 1 or (not run.args and len(columns) == 1)
    width = (
        1
        if plain
        else len(str(sizes))
        if run.args and "-" not in run.args
        else len(str(run.sh.stdin.size))
        if not run.args and run.sh.stdin.size is not None
        else 7
    )
    for values, name in rows:
        shown = " ".join(f"{v:{width}d}" for v in values)
        run.out(shown + (f" {name}" if run.args else "") + "\n")


def _is_file(run: Run, name: str) -> bool:
    from ..files import File

    return isinstance(run.sh.files.find(run.path(name)), File)


@program("tac")
def tac(run: Run) -> None:
    """Write lines in reverse order."""
    for _, text in run.inputs():
        parts = re.findall(r"[^\n]*\n|[^\n]+", text)
        run.out("".join(reversed(parts)))


@program("rev")
def rev(run: Run) -> None:
    """Write each line backwards."""
    for _, text in run.inputs():
        run.out("\n".join(line[::-1] for line in text.split("\n")))


@program(
    "nl", short="b:n:w:s:v:i:", long=("body-numbering=", "number-width=", "number-separator=", "starting-line-number=")
)
def nl(run: Run) -> None:
    """Number lines."""
    style, width = run.get("b", "body-numbering") or "t", min(run.number("w", "number-width", default=6), 100)
    separator, value = run.get("s", "number-separator"), run.number("v", "starting-line-number", default=1)
    separator = "\t" if separator is None else separator
    align = {"ln": "<", "rn": ">", "rz": "0>"}.get(run.get("n") or "rn", ">")
    for _, text in run.inputs():
        for line in lines(text):
            if style == "a" or (style == "t" and line):
                run.out(f"{value:{align}{width}d}{separator}{line}\n")
                value += run.number("i", default=1)
            else:
                run.out(" " * (width + len(separator)) + line + "\n")


@program("fold", short="w:sb", long=("width=", "spaces"))
def fold(run: Run) -> None:
    """Break long lines."""
    width = max(run.number("w", "width", default=80), 1)
    for _, text in run.inputs():
        run.out("\n".join(_folded(line, width, run.has("s", "spaces")) for line in text.split("\n")))


def _folded(line: str, width: int, at_spaces: bool) -> str:
    pieces: list[str] = []
    while len(line) > width:
        cut = line.rfind(" ", 0, width) + 1 if at_spaces else width
        cut = cut or width
        pieces.append(line[:cut])
        line = line[cut:]
    return "\n".join([*pieces, line])


@program("expand", "unexpand", short="t:a", long=("tabs=", "all"))
def expand(run: Run) -> None:
    """Turn tabs into spaces, or leading spaces into tabs."""
    size = max(min(run.number("t", "tabs", default=8), 100), 1)
    for _, text in run.inputs():
        if run.name == "expand":
            run.out(text.expandtabs(size))
        else:
            run.out(re.sub(r"(?m)^ +", lambda m: "\t" * (len(m[0]) // size) + " " * (len(m[0]) % size), text))


@program("tee", short="ai", long=("append",))
def tee(run: Run) -> None:
    """Write standard input to files and to standard output."""
    text = run.sh.stdin.rest()
    run.out(text)
    for name in run.args:
        try:
            run.write(name, text, run.has("a", "append"))
        except OSError as problem:
            run.error(f"{name}: {problem.strerror}")


@program(
    "split", short="l:b:da:n:", long=("lines=", "bytes=", "numeric-suffixes", "suffix-length=", "additional-suffix=")
)
def split(run: Run) -> None:
    """Cut a file into pieces."""
    source, prefix = [*run.args, "-", "x"][0] if run.args else "-", run.args[1] if len(run.args) > 1 else "x"
    text = run.read(source)
    size = amount(run.get("b", "bytes") or "0")[1]
    count = run.number("l", "lines", default=1000)
    if (size <= 0 and run.has("b", "bytes")) or count <= 0:
        raise Usage("invalid number of lines: '0'")
    parts = re.findall(r"[^\n]*\n|[^\n]+", text)
    data = to_bytes(text)
    pieces = (
        [to_text(data[i : i + size]) for i in range(0, len(data), size)]
        if size
        else ["".join(parts[i : i + count]) for i in range(0, len(parts), count)]
    )
    width = min(run.number("a", "suffix-length", default=2), 8)
    for i, piece in enumerate(pieces):
        run.write(
            prefix + _suffix(i, width, run.has("d", "numeric-suffixes")) + (run.get("additional-suffix") or ""), piece
        )


def _suffix(index: int, width: int, digits: bool) -> str:
    if digits:
        return f"{index:0{width}d}"
    letters = ""
    for _ in range(width):
        letters = chr(97 + index % 26) + letters
        index //= 26
    return letters


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
        size = len(re.compile(r"\\(?:[0-7]{1,3}|.)|.", re.DOTALL).match(text, i)[0])  # pyright: ignore[reportOptionalSubscript]
        char = (unescape(text[i : i + size]) or "\0") if size > 1 else text[i]
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
