"""grep, egrep, fgrep."""

from __future__ import annotations

from collections.abc import Iterator

from ..files import File, Folder, normal
from ..patterns import Pattern, PatternError, fixed, glob, perl, posix
from ..text import to_text
from .base import Run, Usage, lines, program

SHORT = "EFGPe:f:ivwxcm:oqslLnHhrRA:B:C:ab0123456789zZIT"
LONG = (
    "extended-regexp",
    "fixed-strings",
    "basic-regexp",
    "perl-regexp",
    "regexp=",
    "file=",
    "ignore-case",
    "no-ignore-case",
    "invert-match",
    "word-regexp",
    "line-regexp",
    "count",
    "max-count=",
    "only-matching",
    "quiet",
    "silent",
    "no-messages",
    "files-with-matches",
    "files-without-match",
    "line-number",
    "with-filename",
    "no-filename",
    "recursive",
    "dereference-recursive",
    "after-context=",
    "before-context=",
    "context=",
    "include=",
    "exclude=",
    "exclude-dir=",
    "color=",
    "colour=",
    "null",
    "text",
)


def pattern_of(run: Run, patterns: list[str]) -> Pattern:
    """Return the compiled pattern of the options.

    Raises:
        PatternError: If it is none.
    """
    ignore = run.has("i", "ignore-case")
    whole = "x" if run.has("x", "line-regexp") else "w" if run.has("w", "word-regexp") else ""
    if run.has("F", "fixed-strings") or run.name == "fgrep":
        return fixed(tuple(patterns), ignore, whole)
    if run.has("P", "perl-regexp"):
        return perl("|".join(f"(?:{p})" for p in patterns), ignore, whole)
    return posix("\n".join(patterns), run.has("E", "extended-regexp") or run.name == "egrep", ignore, whole)


@program("grep", "egrep", "fgrep", short=SHORT, long=LONG, misuse=2)
def grep(run: Run) -> int:
    """Write lines that match."""
    patterns = [p for text in run.all("e", "regexp") for p in text.split("\n")]
    for name in run.all("f", "file"):
        patterns += lines(run.read(name))
    if not run.has("e", "regexp", "f", "file"):
        if not run.args:
            raise Usage("usage: grep [OPTION]... PATTERNS [FILE]...")
        patterns = run.args.pop(0).split("\n")
    try:
        search = _Search(run, pattern_of(run, patterns) if patterns else fixed(()))
    except PatternError as problem:
        return run.error(str(problem), 2)
    found = [search.text(name, text) for name, text in _texts(run)]
    if run.failed and not (any(found) and run.has("q", "quiet", "silent")):
        return 2
    return 0 if any(found) else 1


def _texts(run: Run) -> Iterator[tuple[str, str]]:
    recursive = run.has("r", "R", "recursive", "dereference-recursive")
    for name in run.args or (["."] if recursive else ["-"]):
        node = None if name == "-" else run.sh.files.find(run.path(name))
        if isinstance(node, Folder) and recursive:
            yield from _below(run, "" if name == "." and not run.args else name.rstrip("/") or "/", run.path(name))
        elif isinstance(node, Folder):
            if not run.has("s", "no-messages"):
                run.sh.stderr.write(f"{run.name}: {name}: Is a directory\n")
        else:
            try:
                yield name, run.read(name)
            except OSError as problem:
                run.failed = 2
                if not run.has("s", "no-messages"):
                    run.error(f"{name}: {problem.strerror}", 2)


def _below(run: Run, name: str, path: str) -> Iterator[tuple[str, str]]:
    folder = run.sh.files.find(path)
    for child in sorted(folder.entries) if isinstance(folder, Folder) else []:
        node = run.sh.files.find(normal(child, path), follow=False)
        shown = f"{name.rstrip('/')}/{child}" if name else child
        if isinstance(node, Folder):
            if not any(glob(p).fullmatch(child) for p in run.all("exclude-dir")):
                yield from _below(run, shown, normal(child, path))
        elif isinstance(node, File):
            included = not run.has("include") or any(glob(p).fullmatch(child) for p in run.all("include"))
            if included and not any(glob(p).fullmatch(child) for p in run.all("exclude")):
                yield shown, to_text(run.sh.read_file(normal(child, path)))


class _Search:
    """One search through several texts."""

    def __init__(self, run: Run, regex: Pattern) -> None:
        self.run, self.regex = run, regex
        recursive = run.has("r", "R", "recursive", "dereference-recursive")
        self.named = (len(run.args) > 1 or recursive or run.has("H", "with-filename")) and not run.has(
            "h", "no-filename"
        )
        if recursive and len(run.args) == 1 and isinstance(run.sh.files.find(run.path(run.args[0])), File):
            self.named = run.has("H", "with-filename")
        self.limit = run.number("m", "max-count", default=1 << 60)
        context = run.number("C", "context")
        digits = "".join(key for key, _ in run.options if key.isdigit())
        context = int(digits[:6]) if digits else context
        self.before = run.number("B", "before-context", default=context)
        self.after = run.number("A", "after-context", default=context)
        self.separated = False

    def text(self, name: str, text: str) -> bool:
        """Search one text and write what was asked for; returns whether something was found."""
        run = self.run
        rows = lines(text)
        invert = run.has("v", "invert-match")
        hits = [i for i, row in enumerate(rows) if self.regex.matches(row) != invert]
        hits = hits[: max(self.limit, 0)]
        title = "(standard input)" if name == "-" else name
        if run.has("q", "quiet", "silent"):
            return bool(hits)
        if run.has("l", "files-with-matches", "L", "files-without-match"):
            without = run.has("L", "files-without-match")
            if bool(hits) != without:
                run.out(title + "\n")
            return bool(hits) != without
        if run.has("c", "count"):
            run.out(f"{title + ':' if self.named else ''}{len(hits)}\n")
        elif "\0" in text and hits and not run.has("a", "text"):
            run.out(f"{run.name}: {title}: binary file matches\n")
        elif run.has("o", "only-matching"):
            self.parts(title, rows, [] if invert else hits)
        else:
            self.rows(title, rows, hits)
        return bool(hits)

    def parts(self, title: str, rows: list[str], hits: list[int]) -> None:
        """Write the matching parts of lines."""
        for i in hits:
            for match in self.regex.all(rows[i]):
                if match.whole():
                    self.run.out(self.label(title, i, ":") + match.whole() + "\n")

    def rows(self, title: str, rows: list[str], hits: list[int]) -> None:
        """Write lines with their context."""
        chosen = set(hits)
        shown = (
            sorted({j for i in hits for j in range(max(i - self.before, 0), min(i + self.after + 1, len(rows)))})
            if self.before or self.after
            else hits
        )
        last = None
        for i in shown:
            if (self.before or self.after) and (self.separated if last is None else i > last + 1):
                self.run.out("--\n")
            self.run.out(self.label(title, i, ":" if i in chosen else "-") + rows[i] + "\n")
            last = i
            self.separated = True

    def label(self, title: str, index: int, mark: str) -> str:
        """Return what stands before a line."""
        number = f"{index + 1}{mark}" if self.run.has("n", "line-number") else ""
        return (f"{title}{mark}" if self.named else "") + number
