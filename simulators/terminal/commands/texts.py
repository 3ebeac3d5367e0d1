"""Programs that pass lines through: cat, head, tail, wc, tac, rev, nl, fold, expand, tee, split."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..files import File
from ..text import to_bytes, to_text
from .base import Run, Usage, lines, program

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
    width = _width(run, len(columns))
    for values, name in rows:
        shown = " ".join(f"{v:{width}d}" for v in values)
        run.out(shown + (f" {name}" if run.args else "") + "\n")


def _width(run: Run, columns: int) -> int:
    """Return how wide `wc` writes a number: as wide as the size of all files, 7 where it is not known."""
    if columns == 1 and len(run.args) < 2:
        return 1
    if not run.args:
        return 7 if run.sh.stdin.size is None else len(str(run.sh.stdin.size))
    nodes = [run.sh.files.find(run.path(name)) for name in run.args]
    return 7 if "-" in run.args else len(str(sum(len(node.data) for node in nodes if isinstance(node, File))))


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
