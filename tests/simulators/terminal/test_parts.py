"""The parts under the shell: files, patterns, arithmetic."""

from __future__ import annotations

import re
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from makerspace.simulators.terminal.bash.arithmetic import ArithmeticFault, calculate
from makerspace.simulators.terminal.commands.compare import hunks
from makerspace.simulators.terminal.files import Files, Folder, from_json, normal, to_json, totals
from makerspace.simulators.terminal.patterns import PatternError, glob, posix
from makerspace.simulators.terminal.regex import MAX_STEPS, Either, Group, Node, One, Pattern, Repeat, Row, _simulate
from makerspace.simulators.terminal.text import to_bytes, to_text

NAMES = st.sampled_from(["a", "b", "a/b", "a/c", "a/b/c", "d", "d/e", "l", "l/x"])
KINDS = ["write", "append", "mkdir", "remove", "rmtree", "rename", "copy", "symlink"]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["write", "append", "mkdir", "remove", "rmtree", "rename", "copy", "symlink"]), NAMES, NAMES
    ),
    max_size=20,
)


def tried(files: Files, kind: str, one: str, two: str) -> None:
    one, two = f"/{one}", f"/{two}"
    with suppress(OSError):
        {
            "write": lambda: files.write(one, two.encode()),
            "append": lambda: files.write(one, b"+", append=True),
            "mkdir": lambda: files.mkdir(one, parents=True),
            "remove": lambda: files.remove(one),
            "rmtree": lambda: files.remove(one, recursive=True),
            "rename": lambda: files.rename(one, two),
            "copy": lambda: files.copy(one, two),
            "symlink": lambda: files.symlink(two, one),
        }[kind]()


@given(STEPS)
@settings(deadline=None)
def test_any_row_of_file_operations_leaves_a_sound_tree(steps: list[tuple[str, str, str]]) -> None:
    files = Files(lambda: 7)
    for step in steps:
        tried(files, *step)
        assert (files.count, files.bytes) == totals(files.root)
    again = from_json(to_json(files.root))
    assert again == files.root
    assert all(files.find(path, follow=False) is node for path, node in files.walk())


@given(st.binary())
def test_bytes_survive_as_text(data: bytes) -> None:
    assert to_bytes(to_text(data)) == data


@pytest.mark.parametrize(
    ("path", "want"),
    [("", "/w"), (".", "/w"), ("..", "/"), ("../..", "/"), ("a//b/../c/", "/w/a/c"), ("/x/./y", "/x/y")],
)
def test_paths_become_absolute(path: str, want: str) -> None:
    assert normal(path, "/w") == want


def test_links_in_a_circle_are_an_error_and_not_a_loop() -> None:
    files = Files(lambda: 0)
    files.symlink("/b", "/a")
    files.symlink("/a", "/b")
    for act in (files.read, files.get, files.real):
        with pytest.raises(OSError, match="Too many levels"):
            act("/a")


def test_a_folder_cannot_move_into_itself() -> None:
    files = Files(lambda: 0)
    files.mkdir("/a/b", parents=True)
    with pytest.raises(OSError, match="Invalid argument"):
        files.rename("/a", "/a/b/c")
    assert isinstance(files.find("/a/b"), Folder)


TREES: st.SearchStrategy[Node] = st.recursive(
    st.sampled_from("ab.").map(One),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda parts: Row(tuple(parts))),
        st.lists(inner, min_size=2, max_size=2).map(lambda parts: Either(tuple(parts))),
        st.tuples(inner, st.sampled_from([(0, None), (1, None), (0, 1), (2, 3)])).map(lambda t: Repeat(t[0], *t[1])),
        inner.map(lambda part: Group(1, part)),
    ),
    max_leaves=5,
)


def _groups(node: Node) -> int:
    return isinstance(node, Group) + sum(
        map(_groups, getattr(node, "parts", ()) or ([node.part] if hasattr(node, "part") else []))
    )


@given(tree=TREES, text=st.text("abc", max_size=10))
@settings(deadline=None, max_examples=300)
def test_the_simulated_automaton_finds_what_python_finds(tree: Node, text: str) -> None:
    assume(_groups(tree) <= 1)
    pattern = Pattern(tree)
    found = pattern.python.search(text)
    simulated = _simulate(pattern._program, text, 0, pattern.groups, [MAX_STEPS])
    assert (simulated and simulated.spans[0]) == (found and found.span())


class Simulated(Pattern):
    """A pattern that never asks Python."""

    def quick(self, length: int) -> bool:
        return False


@given(tree=TREES, text=st.text("ab", max_size=12))
@settings(deadline=None)
def test_all_matches_are_disjoint_in_order_and_the_same_in_both_ways(tree: Node, text: str) -> None:
    assume(_groups(tree) <= 1)
    spans = [m.spans[0] for m in Pattern(tree).all(text)]
    assert all(a[1] <= b[0] and a != b for a, b in pairwise(spans))
    assert [m.spans[0] for m in Simulated(tree).all(text)] == spans


@pytest.mark.parametrize(
    ("pattern", "extended", "text", "want"),
    [
        (r"a\+", False, "caab", "aa"),
        ("a+", False, "a+b", "a+"),
        (r"\(a\)\1", False, "xaa", "aa"),
        ("(a|b)+", True, "xabab", "abab"),
        ("^*ab", False, "*ab", "*ab"),
        ("[[:digit:]]{2}", True, "a123", "12"),
        (r"\<the\>", False, "other the", "the"),
        ("a{,2}b", True, "aaab", "aab"),
        ("[]x]", False, "a]", "]"),
        (r"[\n]", False, "n", "n"),
        ("a|b", False, "a|b", "a|b"),
        (r"a\{2\}", False, "caaa", "aa"),
    ],
)
def test_posix_expressions(pattern: str, extended: bool, text: str, want: str) -> None:
    found = posix(pattern, extended).search(text)
    assert found
    assert found.whole() == want


@pytest.mark.parametrize("pattern", ["(", ")a(", "[a", "a{3,2}", "*(", "a\\", "(" * 99 + ")" * 99, "a{9999}"])
def test_malformed_expressions_say_so(pattern: str) -> None:
    with pytest.raises(PatternError):
        posix(pattern, extended=True)


@pytest.mark.parametrize(
    ("pattern", "yes", "no"),
    [
        ("*.txt", "a.txt", "a.txt2"),
        ("a?c", "abc", "ac"),
        ("[!a]*", "bcd", "abc"),
        (r"\*", "*", "a"),
        ("*a*b*", "xaybz", "xbya"),
        ("[a-c]", "b", "d"),
    ],
)
def test_globs(pattern: str, yes: str, no: str) -> None:
    assert glob(pattern).fullmatch(yes)
    assert not glob(pattern).fullmatch(no)


EXPRESSIONS = st.recursive(
    st.integers(0, 2**40).map(str),
    lambda inner: st.tuples(inner, st.sampled_from(["+", "-", "*", "&", "|", "^"]), inner).map(
        lambda t: f"({t[0]} {t[1]} {t[2]})"
    ),
    max_leaves=6,
)


@given(EXPRESSIONS)
def test_arithmetic_is_that_of_64_bit_numbers(text: str) -> None:
    value = calculate(text, lambda name, index: "", lambda name, index, value: None)
    assert (value - eval(text)) % 2**64 == 0
    assert -(2**63) <= value < 2**63


@pytest.mark.parametrize("text", ["1/0", "1 +", "2 2", "08", "a b", "1 ? 2", "(1", "2**-1", "0x", "++1", "9#9"])
def test_arithmetic_faults(text: str) -> None:
    with pytest.raises(ArithmeticFault):
        calculate(text, lambda name, index: "", lambda name, index, value: None)


@given(st.lists(st.sampled_from("abc"), max_size=12), st.lists(st.sampled_from("abc"), max_size=12))
def test_a_comparison_rebuilds_the_second_list(a: list[str], b: list[str]) -> None:
    rebuilt, at = [], 0
    for a1, a2, b1, b2 in hunks(a, b):
        assert a1 < a2 or b1 < b2
        rebuilt += a[at:a1] + b[b1:b2]
        at = a2
    assert rebuilt + a[at:] == b


def test_the_shell_imports_nothing_that_reaches_the_machine() -> None:
    import makerspace.simulators.terminal as package

    reaching = re.compile(
        r"^\s*(import|from) (os|subprocess|socket|time|asyncio|shutil|tempfile|pathlib)\b", re.MULTILINE
    )
    found = {path.name for path in Path(package.__path__[0]).rglob("*.py") if reaching.search(path.read_text())}
    assert found == {"files.py"}, "files.py imports os for the words of errors only"
