"""awk: the machine that runs the trees of `awk_syntax`. Values are floats, strings, or strings from input that may be numbers."""

from __future__ import annotations

import math
import random
import re
from typing import Any

from ..meter import MAX_OUTPUT, Stopped
from ..patterns import Pattern, PatternError, posix
from ..regex import Match
from ..text import to_bytes
from .awk_syntax import AwkParser, Tree
from .base import Run, Usage, program
from .dates import formatted

NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")
PREFIX = re.compile(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")
FORMAT = re.compile(r"%([-+ 0#]*)(\*|\d{1,6})?(?:\.(\*|\d{0,6}))?([a-zA-Z%])")
# Steps that one program may take.
MAX_STEPS = 400_000
# Highest field number.
MAX_FIELD = 10_000


class Input(str):
    """A string that came from outside: it compares as a number if it looks like one."""

    __slots__ = ()


Value = float | str


class Next(Exception):
    """`next` and `nextfile`."""


class Exit(Exception):
    """`exit`."""


class Break(Exception):
    """`break`."""


class Continue(Exception):
    """`continue`."""


class Give(Exception):
    """`return`, with its value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


def number(value: Value) -> float:
    """Return a value as a number: the longest numeric beginning of a string, else 0."""
    if isinstance(value, float):
        return value
    match = PREFIX.match(value)
    return float(match[1]) if match else 0.0


def show(value: Value, form: str = "%.6g") -> str:
    """Return a value as a string; whole numbers without a point."""
    if not isinstance(value, float):
        return value
    if value != value or value in (math.inf, -math.inf):
        return "nan" if value != value else "inf" if value > 0 else "-inf"
    if value == int(value) and abs(value) < 1e16:
        return str(int(value))
    return sprintf(form, [value]) if form != "%.6g" else f"{value:.6g}" if abs(value) < 1e16 else re.sub(r"e([+-])(\d)$", r"e\g<1>0\2", f"{value:.6g}")


def sprintf(form: str, args: list[Value]) -> str:
    """Return a formatted text."""
    rest = list(args)
    size = [0]

    def take() -> Value:
        return rest.pop(0) if rest else ""

    def directive(match: re.Match[str]) -> str:
        flags, width, precision, kind = match[1], match[2] or "", match[3], match[4]
        if kind == "%":
            return "%"
        width = str(int(number(take()))) if width == "*" else width
        precision = str(int(number(take()))) if precision == "*" else precision
        size[0] += abs(int(width or 0)) + int(precision or 0)
        if size[0] > MAX_OUTPUT:
            raise Stopped(f"an output of more than {MAX_OUTPUT} characters")
        dot = "" if precision is None else f".{precision or 0}"
        value = take()
        if kind in "di":
            return f"%{flags}{width}{dot}d" % _whole(number(value))
        if kind in "ouxX":
            return f"%{flags}{width}{dot}{kind.replace('u', 'd')}" % _whole(number(value))
        if kind in "fFeEgG":
            return f"%{flags}{width}{dot}{kind}" % number(value)
        if kind == "c":
            text = chr(int(value) % 0xD800) if isinstance(value, float) else value[:1]
            return f"%{flags.replace('0', '')}{width}s" % text
        if kind == "s":
            return f"%{flags.replace('0', '')}{width}{dot}s" % show(value)
        return match[0]

    return FORMAT.sub(directive, form)


def _whole(value: float) -> int:
    return int(value) if math.isfinite(value) else 0


@program("awk", "gawk", "mawk", "nawk", short="F:v:f:", long=("field-separator=", "assign=", "file="), misuse=2, early=True)
def awk(run: Run) -> int:
    """Run a program over the fields of lines."""
    texts = [run.read(name) for name in run.all("f", "file")]
    if not texts:
        if not run.args:
            raise Usage("usage: awk [-F fs][-v var=value][prog | -f progfile][file ...]")
        texts = [run.args.pop(0)]
    try:
        machine = _Machine(run, *AwkParser("\n".join(texts)).program())
        separator = run.get("F", "field-separator")
        if separator is not None:
            machine.variables["FS"] = "\t" if separator == "t" else _escaped(separator)
        for assignment in run.all("v", "assign"):
            machine.assign_text(assignment)
        code = machine.run(run.args)
        machine.close_all()
        return code
    except (PatternError, Usage) as problem:
        return run.error(str(problem), 2)
    except (OverflowError, ValueError, ZeroDivisionError, RecursionError) as problem:
        return run.error(str(problem)[:80] or type(problem).__name__, 2)


def _escaped(text: str) -> str:
    from ..bash.words import unescape

    return unescape(text)


class _Machine:
    def __init__(self, run: Run, rules: list[Tree], functions: dict[str, tuple[list[str], Tree]]) -> None:
        self.runner, self.rules, self.functions = run, rules, functions
        self.variables: dict[str, Any] = {"FS": " ", "OFS": " ", "ORS": "\n", "RS": "\n", "NR": 0.0, "FNR": 0.0, "NF": 0.0, "SUBSEP": "\x1c", "RSTART": 0.0, "RLENGTH": -1.0, "OFMT": "%.6g", "CONVFMT": "%.6g", "FILENAME": "", "ENVIRON": {k: Input(v) for k, v in run.sh.variables.environment().items()}}
        self.locals: list[dict[str, Any]] = []
        self.record = ""
        self.fields: list[str] | None = []
        self.queue: list[str] = []
        self.records: list[str] = []
        self.ranges: set[int] = set()
        self.steps = 0
        self.random, self.seed = random.Random(0), 0.0
        self.files: dict[str, list[str]] = {}
        self.readers: dict[str, list[str]] = {}
        self.code = 0
        self.has_input = any(r[0] != "BEGIN" for r in rules)

    def step(self) -> None:
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise Stopped("awk: too many steps")

    # Running

    def run(self, names: list[str]) -> int:
        self.queue = list(names)
        self.variables["ARGC"] = float(len(names) + 1)
        self.variables["ARGV"] = {"0": "awk"} | {str(i): Input(n) for i, n in enumerate(names, 1)}
        self.opened = False
        try:
            self.sections("BEGIN")
            while self.has_input and self.next_record():
                try:
                    self.rules_once()
                except Next:
                    continue
        except Exit:
            pass
        try:
            self.sections("END")
        except Exit:
            pass
        return self.code

    def sections(self, kind: str) -> None:
        for rule in self.rules:
            if rule[0] == kind:
                try:
                    self.do(rule[3])
                except Next:
                    raise Usage(f"`next' used in {kind} action") from None

    def rules_once(self) -> None:
        for i, (kind, first, last, body) in enumerate(self.rules):
            if kind != "rule" or not self.chosen(i, first, last):
                continue
            if body is None:
                self.write(self.record + self.text("ORS"), "", None)
            else:
                self.do(body)

    def chosen(self, i: int, first: Tree | None, last: Tree | None) -> bool:
        if first is None:
            return True
        if last is None:
            return self.true(self.eval(first))
        if i not in self.ranges:
            if not self.true(self.eval(first)):
                return False
            self.ranges.add(i)
        if self.true(self.eval(last)):
            self.ranges.discard(i)
        return True

    def next_record(self) -> bool:
        """Go to the next record of the inputs."""
        while not self.records:
            if not self._open():
                return False
        self.set_record(self.records.pop())
        self.variables["NR"] = number(self.variables["NR"]) + 1
        self.variables["FNR"] = number(self.variables["FNR"]) + 1
        return True

    def _open(self) -> bool:
        while self.queue:
            name = self.queue.pop(0)
            if re.match(r"[A-Za-z_]\w*=", name):
                self.assign_text(name)
                continue
            self.opened = True
            try:
                self.read_text(self.runner.read(name), name)
            except OSError as problem:
                self.runner.error(f"cannot open \"{name}\" ({problem.strerror})", 2)
                self.code = 2
                continue
            return True
        if self.opened:
            return False
        self.opened = True
        self.read_text(self.runner.sh.stdin.rest(), "")
        return True

    def read_text(self, text: str, name: str) -> None:
        self.variables["FILENAME"], self.variables["FNR"] = name, 0.0
        self.records = self.cut(text)[::-1]

    def cut(self, text: str) -> list[str]:
        """Return the records of a text."""
        mark = self.text("RS")
        if mark == "":
            return [p for p in re.split(r"\n\n+", text.strip("\n")) if p]
        parts = text.split(mark) if len(mark) == 1 else posix(mark, extended=True).split(text)
        if parts and parts[-1] in ("", "\n" if mark != "\n" else ""):
            parts.pop()
        return parts

    def assign_text(self, text: str) -> None:
        name, _, value = text.partition("=")
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Usage(f"`{text[:40]}' argument to `-v' not in `var=value' form")
        self.set_variable(name, Input(_escaped(value)))

    # Fields

    def set_record(self, text: str) -> None:
        self.record, self.fields = text, None
        self.variables["NF"] = None

    def split_fields(self) -> list[str]:
        if self.fields is None:
            self.fields = self.split(self.record, self.text("FS"))
            self.variables["NF"] = float(len(self.fields))
        return self.fields

    def split(self, text: str, separator: str) -> list[str]:
        if separator == " ":
            return text.split()
        if text == "":
            return []
        if self.text("RS") == "" and separator != "\n":
            return [f for part in text.split("\n") for f in self._split_line(part, separator)]
        return self._split_line(text, separator)

    def _split_line(self, text: str, separator: str) -> list[str]:
        if separator == "":
            return list(text)
        if len(separator) == 1:
            return text.split(separator)
        return posix(separator, extended=True).split(text)

    def field(self, index: float) -> Value:
        i = int(index)
        if i < 0:
            raise Usage(f"trying to access out of range field {i}")
        if i == 0:
            return Input(self.record)
        fields = self.split_fields()
        return Input(fields[i - 1]) if i <= len(fields) else Input("")

    def set_field(self, index: float, value: str) -> None:
        i = int(index)
        if not 0 <= i <= MAX_FIELD:
            raise Usage(f"trying to access out of range field {i}")
        if i == 0:
            self.set_record(value)
            return
        fields = self.split_fields()
        fields += [""] * (i - len(fields))
        fields[i - 1] = value
        self.rebuild()

    def rebuild(self) -> None:
        fields = self.split_fields()
        self.variables["NF"] = float(len(fields))
        self.record = self.text("OFS").join(fields)

    # Variables

    def scope(self, name: str) -> dict[str, Any]:
        return self.locals[-1] if self.locals and name in self.locals[-1] else self.variables

    def variable(self, name: str) -> Value:
        if name == "NF":
            self.split_fields()
        value = self.scope(name).get(name)
        if isinstance(value, dict):
            raise Usage(f"can't use array {name} in scalar context")
        return Input("") if value is None else value

    def set_variable(self, name: str, value: Value) -> None:
        scope = self.scope(name)
        if isinstance(scope.get(name), dict):
            raise Usage(f"can't use array {name} in scalar context")
        if isinstance(value, str) and len(value) > MAX_OUTPUT:
            raise Stopped(f"a value of more than {MAX_OUTPUT} characters")
        if name == "NF":
            fields = self.split_fields()
            size = min(max(int(number(value)), 0), MAX_FIELD)
            del fields[size:]
            fields += [""] * (size - len(fields))
            self.rebuild()
            return
        scope[name] = value

    def array(self, name: str) -> dict[str, Any]:
        scope = self.scope(name)
        value = scope.get(name)
        if value is None:
            value = scope[name] = {}
        if not isinstance(value, dict):
            raise Usage(f"can't use scalar {name} as array")
        return value  # pyright: ignore[reportUnknownVariableType]

    def text(self, name: str) -> str:
        return show(self.variables[name])

    def key(self, trees: list[Tree]) -> str:
        return self.text("SUBSEP").join(show(self.eval(t), self.text("CONVFMT")) for t in trees)

    # Statements

    def do(self, tree: Tree) -> None:
        self.step()
        getattr(self, f"do_{tree[0]}")(*tree[1:])

    def do_block(self, body: list[Tree]) -> None:
        for tree in body:
            self.do(tree)

    def do_expr(self, tree: Tree) -> None:
        self.eval(tree)

    def do_if(self, test: Tree, yes: Tree, no: Tree | None) -> None:
        if self.true(self.eval(test)):
            self.do(yes)
        elif no:
            self.do(no)

    def loop(self, body: Tree) -> bool:
        try:
            self.do(body)
        except Continue:
            pass
        except Break:
            return False
        return True

    def do_while(self, test: Tree, body: Tree) -> None:
        while self.true(self.eval(test)) and self.loop(body):
            self.step()

    def do_do(self, body: Tree, test: Tree) -> None:
        while self.loop(body) and self.true(self.eval(test)):
            self.step()

    def do_for(self, start: Tree | None, test: Tree | None, step: Tree | None, body: Tree) -> None:
        if start:
            self.do(start)
        while test is None or self.true(self.eval(test)):
            if not self.loop(body):
                break
            if step:
                self.do(step)

    def do_each(self, name: str, array: str, body: Tree) -> None:
        keys = list(self.array(array))
        keys.sort(key=lambda k: (0, float(k), "") if re.fullmatch(r"-?\d{1,15}", k) else (1, 0.0, k))
        for key in keys:
            self.set_variable(name, Input(key))
            if not self.loop(body):
                break

    def do_next(self) -> None:
        raise Next

    def do_nextfile(self) -> None:
        self.records = []
        raise Next

    def do_break(self) -> None:
        raise Break

    def do_continue(self) -> None:
        raise Continue

    def do_exit(self, tree: Tree | None) -> None:
        if tree is not None:
            self.code = int(number(self.eval(tree))) & 255
        raise Exit

    def do_return(self, tree: Tree | None) -> None:
        raise Give(self.eval(tree) if tree else Input(""))

    def do_delete(self, name: str, keys: list[Tree] | None) -> None:
        if keys is None:
            self.array(name).clear()
        else:
            self.array(name).pop(self.key(keys), None)

    def do_print(self, args: list[Tree], operator: str, target: Tree | None) -> None:
        if args:
            values = [self.eval(a) for a in args]
            text = self.text("OFS").join(show(v, self.text("OFMT")) for v in values)
        else:
            text = self.record
        self.write(text + self.text("ORS"), operator, target)

    def do_printf(self, args: list[Tree], operator: str, target: Tree | None) -> None:
        values = [self.eval(a) for a in args]
        if not values:
            raise Usage("printf: no format")
        self.write(sprintf(show(values[0]), values[1:]), operator, target)

    def write(self, text: str, operator: str, target: Tree | None) -> None:
        if target is None:
            self.runner.out(text)
            return
        name = show(self.eval(target))
        if name in ("/dev/stdout", "/dev/stderr", "-"):
            (self.runner.sh.stderr if name == "/dev/stderr" else self.runner.sh.stdout).write(text)
            return
        if name not in self.files:
            self.files[name] = []
            self.runner.write(name, "", append=operator == ">>")
        self.files[name].append(text)
        self.runner.sh.meter.charge(len(text))

    def close_all(self) -> None:
        """Write what is left for files."""
        for name in list(self.files):
            self.close(name)

    def close(self, name: str) -> None:
        if parts := self.files.pop(name, None):
            self.runner.write(name, "".join(parts), append=True)

    # Expressions

    @staticmethod
    def true(value: Value) -> bool:
        if isinstance(value, float):
            return value != 0
        if isinstance(value, Input) and NUMBER.fullmatch(value):
            return float(value) != 0
        return value != ""

    def eval(self, tree: Tree) -> Value:
        self.step()
        kind = tree[0]
        if kind == "num" or kind == "str":
            return tree[1]
        if kind == "var":
            return self.variable(tree[1])
        if kind == "field":
            return self.field(number(self.eval(tree[1])))
        return getattr(self, _EVALUATORS[kind])(tree)

    def regex_of(self, tree: Tree) -> Pattern:
        return posix(tree[1] if tree[0] == "regex" else show(self.eval(tree)), extended=True)

    def ev_regex(self, tree: Tree) -> Value:
        return float(posix(tree[1], extended=True).matches(self.record))

    def ev_group(self, tree: Tree) -> Value:
        if len(tree[1]) > 1:
            raise Usage("syntax error at or near ,")
        value = self.eval(tree[1][0])
        return value

    def ev_index(self, tree: Tree) -> Value:
        array, key = self.array(tree[1]), self.key(tree[2])
        if key not in array:
            array[key] = Input("")
            if len(array) > 50_000:
                raise Stopped("an array of more than 50000 elements")
        return array[key]

    def ev_assign(self, tree: Tree) -> Value:
        _, operator, place, source = tree
        value = self.eval(source)
        if operator:
            value = self.calculate(operator, number(self.eval(place)), number(value))
        self.store(place, value)
        return value

    def store(self, place: Tree, value: Value) -> None:
        if place[0] == "var":
            self.set_variable(place[1], value)
        elif place[0] == "index":
            self.array(place[1])[self.key(place[2])] = value
        elif place[0] == "field":
            self.set_field(number(self.eval(place[1])), show(value, self.text("CONVFMT")))
        else:
            raise Usage("assignment used in the wrong context")

    def ev_step(self, tree: Tree) -> Value:
        kind, operator, place = tree
        before = number(self.eval(place))
        after = before + (1 if operator == "++" else -1)
        self.store(place, after)
        return after if kind == "pre" else before

    def ev_ternary(self, tree: Tree) -> Value:
        return self.eval(tree[2] if self.true(self.eval(tree[1])) else tree[3])

    def ev_logic(self, tree: Tree) -> Value:
        left = self.true(self.eval(tree[1]))
        if tree[0] == "||":
            return float(left or self.true(self.eval(tree[2])))
        return float(left and self.true(self.eval(tree[2])))

    def ev_in(self, tree: Tree) -> Value:
        return float(self.key(tree[1]) in self.array(tree[2]))

    def ev_match(self, tree: Tree) -> Value:
        found = self.regex_of(tree[2]).matches(show(self.eval(tree[1])))
        return float(found == (tree[0] == "~"))

    def ev_compare(self, tree: Tree) -> Value:
        _, operator, left_tree, right_tree = tree
        left, right = self.eval(left_tree), self.eval(right_tree)
        numeric = all(isinstance(v, float) or (isinstance(v, Input) and (NUMBER.fullmatch(v) or v == "" and self._unset(t))) for v, t in ((left, left_tree), (right, right_tree)))
        a, b = (number(left), number(right)) if numeric else (to_bytes(show(left)), to_bytes(show(right)))
        return float({"<": a < b, "<=": a <= b, "==": a == b, "!=": a != b, ">": a > b, ">=": a >= b}[operator])  # pyright: ignore[reportOperatorIssue]

    def _unset(self, tree: Tree) -> bool:
        """Tell whether an empty input string is an unset variable or element, which compares as 0."""
        return tree[0] in ("var", "index") or (tree[0] == "group" and self._unset(tree[1][0]))

    def ev_concat(self, tree: Tree) -> Value:
        form = self.text("CONVFMT")
        text = show(self.eval(tree[1]), form) + show(self.eval(tree[2]), form)
        if len(text) > MAX_OUTPUT:
            raise Stopped(f"a value of more than {MAX_OUTPUT} characters")
        return text

    def ev_arith(self, tree: Tree) -> Value:
        return self.calculate(tree[1], number(self.eval(tree[2])), number(self.eval(tree[3])))

    @staticmethod
    def calculate(operator: str, a: float, b: float) -> float:
        if operator in "/%" and b == 0:
            raise Usage("division by zero" + (" in %" if operator == "%" else ""))
        try:
            if operator == "^":
                value = a**b
                return float(value) if isinstance(value, float) else math.nan
            if operator == "%":
                return math.fmod(a, b)
            return {"+": a + b, "-": a - b, "*": a * b, "/": a / b if b else 0.0}[operator]
        except OverflowError:
            return math.inf
        except ValueError:
            return math.nan

    def ev_unary(self, tree: Tree) -> Value:
        value = self.eval(tree[1])
        return float(not self.true(value)) if tree[0] == "not" else -number(value) if tree[0] == "neg" else number(value)

    def ev_getline(self, tree: Tree) -> Value:
        place, source = tree[1], tree[2]
        if source is None:
            if not self.next_record():
                return 0.0
            if place:
                self.store(place, Input(self.record))
            return 1.0
        name = show(self.eval(source))
        if name not in self.readers:
            try:
                self.readers[name] = self.cut(self.runner.read(name))[::-1]
            except OSError:
                return -1.0
        if not self.readers[name]:
            return 0.0
        line = self.readers[name].pop()
        if place:
            self.store(place, Input(line))
        else:
            self.set_record(line)
        return 1.0

    def ev_call(self, tree: Tree) -> Value:
        _, name, args = tree
        if name not in self.functions:
            raise Usage(f"function {name} not defined")
        if len(self.locals) > 50:
            raise Stopped("awk: more than 50 functions within each other")
        params, body = self.functions[name]
        frame: dict[str, Any] = dict.fromkeys(params)
        back: list[tuple[str, str]] = []
        for param, arg in zip(params, args, strict=False):
            held = self.scope(arg[1]).get(arg[1]) if arg[0] == "var" else None
            if isinstance(held, dict):
                frame[param] = held
            elif arg[0] == "var" and held is None:
                back.append((arg[1], param))
            else:
                frame[param] = self.eval(arg)
        self.locals.append(frame)
        try:
            self.do(body)
            value: Value = Input("")
        except Give as give:
            value = give.value
        finally:
            self.locals.pop()
            for outer, param in back:
                if isinstance(frame[param], dict):
                    self.scope(outer)[outer] = frame[param]
        return value

    # Functions

    def ev_builtin(self, tree: Tree) -> Value:
        _, name, args = tree
        if name in ("sub", "gsub", "split", "length", "match", "gensub"):
            return getattr(self, f"fn_{name}")(args)
        values = [self.eval(a) for a in args]
        numbers = [number(v) for v in values] + [0.0, 0.0]
        texts = [show(v) for v in values] + ["", ""]
        if name == "substr":
            return self.substr(texts[0], numbers[1], numbers[2] if len(values) > 2 else None)
        if name in ("rand", "srand"):
            return self.chance(name, numbers[0] if values else float(self.runner.sh.files.now()))
        if name in ("close", "fflush"):
            self.close(texts[0])
            return 0.0
        if name == "system":
            return float(self.system(texts[0]))
        functions: dict[str, Any] = {
            "index": lambda: float(texts[0].find(texts[1]) + 1), "sprintf": lambda: sprintf(texts[0], values[1:]), "tolower": lambda: texts[0].lower(),
            "toupper": lambda: texts[0].upper(), "int": lambda: float(int(numbers[0])) if math.isfinite(numbers[0]) else numbers[0],
            "sqrt": lambda: math.sqrt(numbers[0]) if numbers[0] >= 0 else math.nan, "exp": lambda: math.exp(min(numbers[0], 700)), "log": lambda: math.log(numbers[0]) if numbers[0] > 0 else -math.inf if numbers[0] == 0 else math.nan,
            "sin": lambda: math.sin(numbers[0]), "cos": lambda: math.cos(numbers[0]), "atan2": lambda: math.atan2(numbers[0], numbers[1]),
            "systime": lambda: float(self.runner.sh.files.now()), "strftime": lambda: formatted(texts[0] or "%c", int(numbers[1]) if len(values) > 1 else self.runner.sh.files.now()),
            "and": lambda: float(int(numbers[0]) & int(numbers[1])), "or": lambda: float(int(numbers[0]) | int(numbers[1])), "xor": lambda: float(int(numbers[0]) ^ int(numbers[1])),
        }  # fmt: skip
        if name not in functions:
            raise Usage(f"function {name} is not available")
        return functions[name]()

    @staticmethod
    def substr(text: str, start: float, length: float | None) -> str:
        if start != start or (length is not None and length != length):
            return ""
        first = round(start) if math.isfinite(start) else (-(1 << 30) if start < 0 else 1 << 30)
        last = 1 << 40 if length is None or length == math.inf else first + (round(length) if length > -(1 << 30) else -(1 << 30))
        return text[max(first, 1) - 1 : max(last - 1, 0)]

    def chance(self, name: str, seed: float) -> float:
        if name == "rand":
            return self.random.random()
        before, self.seed = self.seed, seed
        self.random.seed(seed)
        return before

    def system(self, text: str) -> int:
        """Run a command line in a subshell."""
        from ..bash.parser import parse

        shell = self.runner.sh.subshell()
        try:
            return shell.run_to_end(parse(text, shell.calls))
        except SyntaxError:
            return 2

    def fn_length(self, args: list[Tree]) -> Value:
        if not args:
            return float(len(self.record))
        if args[0][0] == "var" and isinstance(self.scope(args[0][1]).get(args[0][1]), dict):
            return float(len(self.array(args[0][1])))
        return float(len(show(self.eval(args[0]))))

    def fn_split(self, args: list[Tree]) -> Value:
        if len(args) < 2 or args[1][0] != "var":
            raise Usage("split: second argument is not an array")
        text = show(self.eval(args[0]))
        separator = self.text("FS") if len(args) < 3 else args[2][1] if args[2][0] == "regex" else show(self.eval(args[2]))
        if len(args) > 2 and args[2][0] == "regex" and len(separator) == 1 and separator not in " \\":
            parts = posix(separator, extended=True).split(text) if text else []
        else:
            parts = self.split(text, separator)
        array = self.array(args[1][1])
        array.clear()
        array.update({str(i): Input(p) for i, p in enumerate(parts, 1)})
        return float(len(parts))

    def fn_match(self, args: list[Tree]) -> Value:
        found = self.regex_of(args[1]).search(show(self.eval(args[0])))
        self.variables["RSTART"] = float(found.start() + 1) if found else 0.0
        self.variables["RLENGTH"] = float(len(found.whole())) if found else -1.0
        if len(args) > 2 and args[2][0] == "var":
            array = self.array(args[2][1])
            array.clear()
            if found:
                array.update({str(i): Input(found[i] or "") for i in range(len(found.groups()) + 1)})
        return self.variables["RSTART"]

    def fn_sub(self, args: list[Tree]) -> Value:
        return self.substitute(args, 1)

    def fn_gsub(self, args: list[Tree]) -> Value:
        return self.substitute(args, 0)

    def fn_gensub(self, args: list[Tree]) -> Value:
        regex, new, how = self.regex_of(args[0]), show(self.eval(args[1])), show(self.eval(args[2]))
        text = show(self.eval(args[3])) if len(args) > 3 else self.record
        parts = [p for p in re.split(r"(\\\\|\\&|\\\d|&)", new)]
        seen, wanted = [0], 0 if how[:1] in ("g", "G") else max(int(number(how)), 1)

        def part(match: Match, text: str) -> str:
            if text in ("&", "\\0"):
                return match.whole()
            if re.fullmatch(r"\\\d", text):
                return (match[int(text[1])] or "") if int(text[1]) <= regex.groups else ""
            return text.removeprefix("\\") if text in ("\\\\", "\\&") else text

        def fill(match: Match) -> str:
            seen[0] += 1
            return match.whole() if wanted and seen[0] != wanted else "".join(part(match, p) for p in parts)

        return regex.replaced(text, fill)[0]

    def substitute(self, args: list[Tree], count: int) -> Value:
        if len(args) < 2:
            raise Usage("sub: not enough arguments")
        regex, new = self.regex_of(args[0]), show(self.eval(args[1]))
        place = args[2] if len(args) > 2 else ("field", ("num", 0.0))
        text = show(self.eval(place))
        parts = re.split(r"(\\\\&|\\&|&)", new)

        def fill(match: Match) -> str:
            found = match.whole()
            return "".join({"&": found, "\\&": "&", "\\\\&": "\\" + found}.get(p, p) for p in parts)

        result, made = regex.replaced(text, fill, count)
        if made:
            self.store(place, result if place[0] != "field" else Input(result))
        return float(made)


_EVALUATORS = {
    "regex": "ev_regex", "group": "ev_group", "index": "ev_index", "assign": "ev_assign", "pre": "ev_step", "post": "ev_step", "?": "ev_ternary", "||": "ev_logic", "&&": "ev_logic",
    "in": "ev_in", "~": "ev_match", "!~": "ev_match", "compare": "ev_compare", "concat": "ev_concat", "arith": "ev_arith", "not": "ev_unary", "neg": "ev_unary", "pos": "ev_unary",
    "getline": "ev_getline", "call": "ev_call", "builtin": "ev_builtin",
}  # fmt: skip
