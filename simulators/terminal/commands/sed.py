"""sed: a pattern space, a hold space and the orders of a script, line after line.

It does not know `e`, `w` to standard error, and the special replacements beyond GNU's case changes.
"""

from __future__ import annotations

import getopt
import re

from ..meter import MAX_TURNS, Stopped
from ..patterns import Pattern, PatternError
from ..regex import Match
from .base import Run, Usage, program
from .sed_script import Address, Order, Script

LONG = ["quiet", "silent", "regexp-extended", "expression=", "file=", "separate", "unbuffered", "null-data"]


@program("sed", raw=True)
def sed(run: Run) -> int | None:
    """Edit lines by a script."""
    quiet, extended, in_place, scripts, args = _options(run)
    if not scripts:
        if not args:
            raise Usage("no script specified")
        scripts = [args.pop(0)]
    try:
        orders = Script("\n".join(scripts), extended).orders()
    except (PatternError, Usage) as problem:
        return run.error(f"-e expression #1, char 0: {problem}")
    if scripts[0].startswith("#n\n"):
        quiet = True
    if in_place is None:
        texts = [(name, text) for name, text in run.inputs(args, code=2)]
        editor = _Editor(
            run,
            orders,
            quiet,
            "".join(
                text if text.endswith("\n") or i == len(texts) - 1 or not text else text + "\n"
                for i, (_, text) in enumerate(texts)
            ),
        )
        code = editor.run()
        run.out(editor.text())
        return code or run.failed
    for name, text in run.inputs(args, code=4):
        for order in orders:
            order.active = False
        editor = _Editor(run, orders, quiet, text)
        code = editor.run()
        if in_place:
            run.write(name + in_place if "*" not in in_place else in_place.replace("*", name), text)
        run.write(name, editor.text())
        if code:
            return code
    return run.failed


def _options(run: Run) -> tuple[bool, bool, str | None, list[str], list[str]]:
    """Return (quiet, extended, suffix of in-place editing, scripts, files)."""
    in_place: str | None = None
    words: list[str] = []
    for i, word in enumerate(run.args):
        match = re.fullmatch(r"-([nErszu]*)i(.*)|--in-place(?:=(.*))?", word, re.DOTALL)
        if word == "--":
            words += run.args[i:]
            break
        if match and run.args[i - 1 : i] not in (["-e"], ["-f"]):
            in_place = match[2] or match[3] or ""
            word = f"-{match[1]}" if match[1] else ""
        words += [word] if word or not match else []
    options, files = getopt.gnu_getopt(words, "nErszue:f:", LONG)
    run.options = [(key.lstrip("-"), value) for key, value in options]
    scripts = [
        value if key in ("e", "expression") else run.read(value).removesuffix("\n")
        for key, value in run.options
        if key in ("e", "f", "expression", "file")
    ]
    extended = run.has("E", "r", "regexp-extended")
    return run.has("n", "quiet", "silent"), extended, in_place, scripts, files


class _Editor:
    """One pass over one text."""

    def __init__(self, run: Run, orders: list[Order], quiet: bool, text: str) -> None:
        self.runner, self.orders, self.quiet = run, orders, quiet
        self.lines = re.findall(r"[^\n]*\n|[^\n]+", text)
        self.at = 0
        self.out: list[str] = []
        self.size = 0
        self.pattern, self.hold, self.end = "", "", "\n"
        self.after: list[str] = []
        self.changed = False
        self.regex: Pattern | None = None
        self.turns = 0
        self.code: int | None = None

    def text(self) -> str:
        """Return what was written."""
        return "".join(self.out)

    def write(self, text: str, end: str = "\n") -> None:
        self.size += len(text) + 1
        if self.size > 1 << 20:
            raise Stopped("an output of more than 1048576 characters")
        if self.out and self.out[-1] and not self.out[-1].endswith("\n"):
            self.out.append("\n")
        self.out.append(text + end)

    def next(self) -> bool:
        if self.at >= len(self.lines):
            return False
        line = self.lines[self.at]
        self.at += 1
        self.end = "\n" if line.endswith("\n") else ""
        self.pattern = line.removesuffix("\n")
        return True

    def run(self) -> int:
        """Edit every line; returns the exit code."""
        restart = False
        while self.code is None and (restart or self.next()):
            restart = self.cycle() == "again"
        return self.code or 0

    def cycle(self) -> str:
        """Run the script once over the pattern space."""
        i = 0
        self.changed = False
        while i < len(self.orders):
            self.turns += 1
            if self.turns > MAX_TURNS * 20:
                raise Stopped("sed: too many commands")
            order = self.orders[i]
            if self.chosen(order) == order.negated:
                i = order.target + 1 if order.name == "{" else i + 1
                continue
            step = self.obey(order)
            if step == "jump":
                i = order.target
                continue
            if step in ("delete", "again", "quit"):
                self.flush()
                return step
            if step == "stop":
                break
            i += 1
        self.finish()
        return ""

    def finish(self) -> None:
        if not self.quiet:
            self.write(self.pattern, self.end)
        self.flush()

    def flush(self) -> None:
        for text in self.after:
            self.write(text.removesuffix("\n"), "\n")
        self.after = []

    def chosen(self, order: Order) -> bool:
        if order.first is None:
            return True
        if order.last is None:
            return self.matches(order.first)
        if order.active:
            if order.until:
                order.active = self.at < order.until
                return self.at <= order.until
            order.active = not self.matches(order.last)
            return True
        first = order.first
        if not (first.line == 0 and order.last.regex and self.at == 1) and not self.matches(first):
            return False
        last = order.last
        order.until = (
            self.at + last.plus if last.plus is not None else len(self.lines) if last.line == -1 else last.line or 0
        )
        order.active = self.at < order.until if not last.regex and not last.empty else True
        if first.line == 0 and last.regex and last.regex.matches(self.pattern):
            order.active = False
        return True

    def matches(self, address: Address) -> bool:
        if address.line is not None:
            if address.step is not None:
                return (
                    self.at == address.line
                    if address.step == 0
                    else self.at >= address.line and (self.at - address.line) % address.step == 0
                )
            return self.at == (len(self.lines) if address.line == -1 else address.line)
        regex = address.regex or self.regex
        self.regex = regex
        return bool(regex and regex.matches(self.pattern))

    def obey(self, order: Order) -> str:  # noqa: C901  (one case for each command)
        """Carry out one command; returns what happens next."""
        name = order.name
        if name == "s":
            self.substitute(order)
        elif name == "y":
            source, target = order.replacement
            self.pattern = self.pattern.translate({ord(a): b for a, b in zip(str(source), str(target), strict=True)})
        elif name == "p":
            self.write(self.pattern)
        elif name == "P":
            self.write(self.pattern.partition("\n")[0])
        elif name == "=":
            self.write(str(self.at))
        elif name == "l":
            self.write(self.pattern.replace("\\", "\\\\").replace("\t", "\\t") + "$")
        elif name in "aic":
            return self.insert(order)
        elif name == "d":
            return "delete"
        elif name == "D":
            _, newline, rest = self.pattern.partition("\n")
            self.pattern = rest
            return "again" if newline else "delete"
        elif name in "nN":
            return self.more(name)
        elif name in "gGhHxz":
            self.swap(name)
        elif name in "bt" or name == "T":
            jump = name == "b" or self.changed == (name == "t")
            self.changed = self.changed and name == "b"
            return "jump" if jump else ""
        elif name in "qQ":
            self.code = order.count
            if name == "q":
                self.finish()
            return "quit"
        elif name in "rwR":
            self.file(order)
        return ""

    def insert(self, order: Order) -> str:
        if order.name == "a":
            self.after.append(order.text + "\n")
        elif order.name == "i":
            self.write(order.text)
        else:
            if order.last is None or order.negated or not order.active:
                self.write(order.text)
            return "delete"
        return ""

    def more(self, name: str) -> str:
        if self.at >= len(self.lines):
            if not self.quiet:
                self.write(self.pattern, self.end)
            self.code = 0
            return "quit"
        before = self.pattern
        if name == "n" and not self.quiet:
            self.write(before, "\n")
        self.flush()
        self.next()
        if name == "N":
            self.pattern = before + "\n" + self.pattern
        self.runner.sh.meter.charge(len(self.pattern))
        return ""

    def swap(self, name: str) -> None:
        if name == "x":
            self.pattern, self.hold = self.hold, self.pattern
        elif name in "gG":
            self.pattern = self.hold if name == "g" else self.pattern + "\n" + self.hold
        elif name in "hH":
            self.hold = self.pattern if name == "h" else self.hold + "\n" + self.pattern
        else:
            self.pattern = ""
        self.runner.sh.meter.charge(len(self.pattern) + len(self.hold))

    def file(self, order: Order) -> None:
        if order.name == "w":
            self.runner.write(order.text, self.pattern + "\n", append=True)
            return
        try:
            self.after.append(self.runner.read(order.text))
        except OSError:
            return

    def substitute(self, order: Order) -> None:
        regex = order.regex or self.regex
        if regex is None:
            return
        self.regex = regex
        self.runner.sh.meter.charge(len(self.pattern))
        pieces: list[str] = []
        at = seen = size = 0
        for match in regex.all(self.pattern):
            seen += 1
            if seen < order.count:
                continue
            pieces += [self.pattern[at : match.start()], _filled(order.replacement, match)]
            size += len(pieces[-1])
            if size > 1 << 20:
                raise Stopped("an output of more than 1048576 characters")
            at = match.end()
            if "g" not in order.flags:
                break
        if not pieces:
            return
        self.pattern = "".join([*pieces, self.pattern[at:]])
        self.changed = True
        if "p" in order.flags:
            self.write(self.pattern)
        if order.text:
            self.runner.write(order.text, self.pattern + "\n", append=True)


def _filled(parts: list[str | int], match: Match) -> str:
    """Return a replacement with its groups and case changes."""
    if not any(isinstance(p, str) and re.fullmatch(r"\\[ULEul]", p) for p in parts):
        return "".join((match[p] or "") if isinstance(p, int) else p for p in parts)
    out: list[str] = []
    mode = once = ""
    for part in parts:
        if isinstance(part, str) and re.fullmatch(r"\\[ULE]", part):
            mode = part[1].replace("E", "")
        elif isinstance(part, str) and re.fullmatch(r"\\[ul]", part):
            once = part[1]
        else:
            text = (match[part] or "") if isinstance(part, int) else part
            text = text.upper() if mode == "U" else text.lower() if mode == "L" else text
            if once and text:
                text = (text[0].upper() if once == "u" else text[0].lower()) + text[1:]
                once = ""
            out.append(text)
    return "".join(out)
