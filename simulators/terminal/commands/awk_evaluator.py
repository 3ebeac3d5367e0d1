"""awk's expressions."""

from __future__ import annotations

import math
from abc import abstractmethod
from typing import Any

from ..meter import MAX_OUTPUT, Stopped
from ..patterns import Pattern, posix
from ..text import to_bytes
from .awk_state import State
from .awk_syntax import Tree
from .awk_values import COMPARE, NUMBER, Give, Input, Value, number, show
from .base import Usage


class Evaluator(State):
    """Evaluates trees; the functions and statements stand above it."""

    @abstractmethod
    def do(self, tree: Tree) -> None:
        """Run a statement."""

    def key(self, trees: list[Tree]) -> str:
        """Return the key of an array element."""
        return self.text("SUBSEP").join(show(self.eval(t), self.text("CONVFMT")) for t in trees)

    @staticmethod
    def true(value: Value) -> bool:
        """Tell whether a value counts as true."""
        if not isinstance(value, str):
            return value != 0
        if isinstance(value, Input) and NUMBER.fullmatch(value):
            return float(value) != 0
        return value != ""

    def eval(self, tree: Tree) -> Value:
        """Evaluate an expression."""
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
        """Return the pattern that an expression stands for."""
        return posix(tree[1] if tree[0] == "regex" else show(self.eval(tree)), extended=True)

    def ev_regex(self, tree: Tree) -> Value:
        """Match the record."""
        return float(posix(tree[1], extended=True).matches(self.record))

    def ev_group(self, tree: Tree) -> Value:
        """Evaluate brackets."""
        if len(tree[1]) > 1:
            raise Usage("syntax error at or near ,")
        return self.eval(tree[1][0])

    def ev_index(self, tree: Tree) -> Value:
        """Return an element, made if it is not there."""
        array, key = self.array(tree[1]), self.key(tree[2])
        if key not in array:
            array[key] = Input("")
            if len(array) > 50_000:
                raise Stopped("an array of more than 50000 elements")
        return array[key]

    def ev_assign(self, tree: Tree) -> Value:
        """Carry out an assignment."""
        _, operator, place, source = tree
        value = self.eval(source)
        if operator:
            value = self.calculate(operator, number(self.eval(place)), number(value))
        self.store(place, value)
        return value

    def store(self, place: Tree, value: Value) -> None:
        """Assign to a variable, an element or a field."""
        if place[0] == "var":
            self.set_variable(place[1], value)
        elif place[0] == "index":
            self.array(place[1])[self.key(place[2])] = value
        elif place[0] == "field":
            self.set_field(number(self.eval(place[1])), show(value, self.text("CONVFMT")))
        else:
            raise Usage("assignment used in the wrong context")

    def ev_step(self, tree: Tree) -> Value:
        """Carry out `++` and `--`."""
        kind, operator, place = tree
        before = number(self.eval(place))
        after = before + (1 if operator == "++" else -1)
        self.store(place, after)
        return after if kind == "pre" else before

    def ev_ternary(self, tree: Tree) -> Value:
        """Evaluate `?:`."""
        return self.eval(tree[2] if self.true(self.eval(tree[1])) else tree[3])

    def ev_logic(self, tree: Tree) -> Value:
        """Evaluate `&&` and `||`."""
        left = self.true(self.eval(tree[1]))
        if tree[0] == "||":
            return float(left or self.true(self.eval(tree[2])))
        return float(left and self.true(self.eval(tree[2])))

    def ev_in(self, tree: Tree) -> Value:
        """Tell whether an array has a key."""
        return float(self.key(tree[1]) in self.array(tree[2]))

    def ev_match(self, tree: Tree) -> Value:
        """Evaluate `~` and `!~`."""
        found = self.regex_of(tree[2]).matches(show(self.eval(tree[1])))
        return float(found == (tree[0] == "~"))

    def ev_compare(self, tree: Tree) -> Value:
        """Compare as numbers where both look like numbers, else as bytes."""
        _, operator, left_tree, right_tree = tree
        left, right = self.eval(left_tree), self.eval(right_tree)
        if self._numeric(left, left_tree) and self._numeric(right, right_tree):
            a, b = number(left), number(right)
            order = (a > b) - (a < b)
        else:
            first, second = to_bytes(show(left)), to_bytes(show(right))
            order = (first > second) - (first < second)
        return float(COMPARE[operator](order))

    def _numeric(self, value: Value, tree: Tree) -> bool:
        """Tell whether a value compares as a number."""
        if not isinstance(value, str):
            return True
        return isinstance(value, Input) and (bool(NUMBER.fullmatch(value)) or (value == "" and self._unset(tree)))

    def _unset(self, tree: Tree) -> bool:
        """Tell whether an empty input string is an unset variable or element, which compares as 0."""
        return tree[0] in ("var", "index") or (tree[0] == "group" and self._unset(tree[1][0]))

    def ev_concat(self, tree: Tree) -> Value:
        """Join two texts."""
        form = self.text("CONVFMT")
        text = show(self.eval(tree[1]), form) + show(self.eval(tree[2]), form)
        if len(text) > MAX_OUTPUT:
            raise Stopped(f"a value of more than {MAX_OUTPUT} characters")
        return text

    def ev_arith(self, tree: Tree) -> Value:
        """Evaluate arithmetic."""
        return self.calculate(tree[1], number(self.eval(tree[2])), number(self.eval(tree[3])))

    @staticmethod
    def calculate(operator: str, a: float, b: float) -> float:
        """Apply an arithmetic operator."""
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
        """Evaluate signs and `!`."""
        value = self.eval(tree[1])
        return (
            float(not self.true(value)) if tree[0] == "not" else -number(value) if tree[0] == "neg" else number(value)
        )

    def ev_getline(self, tree: Tree) -> Value:
        """Carry out `getline`."""
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
        """Call a function of the program."""
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


_EVALUATORS = {
    "regex": "ev_regex",
    "group": "ev_group",
    "index": "ev_index",
    "assign": "ev_assign",
    "pre": "ev_step",
    "post": "ev_step",
    "?": "ev_ternary",
    "||": "ev_logic",
    "&&": "ev_logic",
    "in": "ev_in",
    "~": "ev_match",
    "!~": "ev_match",
    "compare": "ev_compare",
    "concat": "ev_concat",
    "arith": "ev_arith",
    "not": "ev_unary",
    "neg": "ev_unary",
    "pos": "ev_unary",
    "getline": "ev_getline",
    "call": "ev_call",
    "builtin": "ev_builtin",
}
