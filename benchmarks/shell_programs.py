"""Shell programs from a grammar: what a person or an agent might type over the corpus's tree of files.

`program(seed)` is a pure function. The programs avoid what bash and GNU leave open (the order of unsorted folders,
times, process numbers) and what differs between awks. They do not try to be useful.
"""

from __future__ import annotations

import random

FILES = (
    "app.log",
    "sales.csv",
    "people.csv",
    "left.txt",
    "right.txt",
    "words.txt",
    "numbers.txt",
    "poem.txt",
    "app.ini",
    ".env",
    "empty.txt",
)
WORDS = (
    "ERROR",
    "INFO",
    "web",
    "db",
    "an",
    "fig",
    "a",
    "e",
    "o",
    "north",
    "pen",
    "port",
    "the",
    "1",
    "2",
    "0",
    "line",
    "T",
    "user",
    "=",
)
GREP = ("", "-i ", "-v ", "-c ", "-n ", "-o ", "-w ", "-x ", "-m2 ", "-A1 ", "-B1 ", "-nA1 ")
SORT = ("", "-r", "-n", "-u", "-f", "-rn", "-nu", "-k2", "-k2,2", "-k2n", "-t, -k3n", "-t, -k2,2 -k3,3nr", "-s -k1,1")
TR = ("a-z A-Z", "-d aeiou", "-s a-z", "-d [:digit:]", "-cd a-z", ", :", "abc xy", "-s e", "[:lower:] [:upper:]")
DATES = ("@0", "2024-02-29 12:00", "2024-01-31 +1 day", "2023-12-25")
CLASSES = ("[a-z]", "[0-9]", "[A-Z]", "[aeiou]", "[^,]", "[[:digit:]]", "[[:upper:]]", "[[:space:]]", ".")


class _Maker:
    def __init__(self, seed: int) -> None:
        self.rng = random.Random(f"shell-{seed}")

    def of(self, *choices: str) -> str:
        return self.rng.choice(choices)

    def n(self, low: int = 0, high: int = 5) -> int:
        return self.rng.randint(low, high)

    def file(self) -> str:
        return self.of(*FILES)

    def regex(self) -> str:
        atoms = [self.of(*WORDS, *CLASSES) + self.of("", "", "", "*", ".*") for _ in range(self.n(1, 3))]
        return self.of("", "", "^") + "".join(atoms) + self.of("", "", "$")

    def ere(self) -> str:
        atoms = [
            self.of(*WORDS[:12], *CLASSES) + self.of("", "", "*", "+", "?", "{2}", "{1,3}") for _ in range(self.n(1, 3))
        ]
        body = "".join(atoms)
        return self.of(body, f"({body})", f"{self.of(*WORDS)}|{body}", f"^({body})+", f"{body}$")

    def number(self) -> str:
        return self.of("NR", "NF", "length($0)", "length($1)", "$1", "$2", "$3", str(self.n(0, 12)))

    def awk(self) -> str:
        separator = self.of("", "", "-F, ", "-F= ", "-F' ' ")
        test = self.of(
            "",
            "",
            f"NR>{self.n()}",
            "NF>1",
            f'$2=="{self.of(*WORDS)}"',
            f"/{self.of(*WORDS[:10])}/",
            f"$3>{self.n(0, 12)}",
            f"$1~/{self.of(*WORDS[:10])}/",
            f"NR%{self.n(2, 3)}==0",
            "!seen[$1]++",
        )
        field = self.of(
            "$1",
            "$2",
            "$NF",
            "$0",
            "NR",
            "NF",
            "length($1)",
            "toupper($1)",
            "substr($1,2)",
            "substr($0,1,4)",
            '$1 "-" $2',
            f"{self.number()}+{self.number()}",
            f"{self.number()}*2",
            'index($0,"e")',
        )
        action = self.of(
            f"{{print {field}}}",
            f"{{print {field}, {self.of('$1', 'NR', 'NF')}}}",
            "",
            f'{{printf "%s|%d\\n", $1, {self.number()}}}',
            f"{{s+={self.number()}}} END {{print s}}",
            "{n++} END {print n+0}",
            f'{{gsub(/{self.of("a", "e", "o", "[0-9]")}/,"{self.of("X", "<&>")}"); print}}',
            '{for(i=NF;i>0;i--) printf "%s ", $i; print ""}',
            "{m=$2>m?$2:m} END {print m}",
            '{$1="Q"; print}',
        )
        return f"awk {separator}'{test}{' ' if test and action else ''}{action or ('' if test else '{print}')}'"

    def sed(self) -> str:
        address = self.of(
            "",
            "",
            "",
            f"{self.n(1, 4)}",
            "$",
            f"/{self.of(*WORDS)}/",
            f"{self.n(1, 2)},{self.n(2, 5)}",
            f"/{self.of(*WORDS)}/,$",
            "2~2",
            "1!",
        )
        replacement = self.of("X", "<&>", "", "\\U&", "a-b")
        command = self.of(
            f"s/{self.regex()}/{replacement}/{self.of('', 'g', '2', 'I')}",
            "d",
            "p",
            "=",
            f"s/{self.of(*WORDS)}/{replacement}/g",
            "y/abc/xyz/",
            "a\\after",
            "i\\before",
            "c\\changed",
            "q",
            "n;d",
            "N;s/\\n/+/",
        )
        return f"sed {self.of('', '', '-n ', '-E ')}" + f"'{address}{command}'"

    def filter(self) -> str:
        return self.of(
            f"grep {self.of(*GREP)}'{self.regex()}'",
            f"grep -E {self.of('', '-i ', '-v ', '-c ', '-o ')}'{self.ere()}'",
            f"grep -F {self.of('', '-c ', '-n ')}'{self.of(*WORDS)}'",
            self.sed(),
            self.sed(),
            self.awk(),
            self.awk(),
            self.awk(),
            f"sort {self.of(*SORT)}",
            f"uniq {self.of('', '-c', '-d', '-u', '-i', '-f1')}",
            f"cut {self.of('-d, -f', '-d= -f', '-c', '-f', '-sd, -f')}{self.of('1', '2', '1,3', '2-', '-2', '1-3,5')}",
            f"cut -d' ' -f{self.n(1, 4)}",
            f"head {self.of('', f'-n {self.n()}', f'-{self.n(1)}', f'-c {self.n(0, 30)}', f'-n -{self.n()}')}",
            f"tail {self.of('', f'-n {self.n()}', f'-{self.n(1)}', f'-c {self.n(0, 30)}', f'-n +{self.n(1)}')}",
            f"tr {self.of(*TR)}",
            f"wc {self.of('-l', '-w', '-c', '-lw', '', '-L', '-m')}",
            self.of(
                "tac",
                "rev",
                "nl",
                "nl -ba",
                "cat -n",
                "cat -A",
                "paste -sd,",
                "paste - -",
                "fold -w 7",
                "tee copy",
                "cat",
                "expand",
                "column -t",
                "md5sum",
                "base64",
                "od -c",
                "od -An -tx1",
                "sort | uniq -c | sort -rn",
                "cat -b",
                "cat -s",
            ),
            f"xargs {self.of('', '-n2', '-n1 echo x', '-I{} echo [{}]', '-n3 echo')}",
        )

    def source(self) -> str:
        return self.of(
            *(f"cat {self.file()}" for _ in range(6)),
            f"cat {self.file()} {self.file()}",
            f"seq {self.n(1, 12)}",
            f"seq {self.n(0, 5)} {self.n(1, 3)} {self.n(5, 20)}",
            "printf '%s\\n' " + self.of("b a c", "3 1 2", "x", "'a b' c"),
            "ls",
            "ls docs src",
            f"find . -name '{self.of('*.c', '*.txt', 'n*', '*.tmp', '?.*')}' | sort",
            f"find {self.of('.', 'docs', 'src')} -type {self.of('f', 'd')} "
            + self.of("", "-maxdepth 1", "-not -name '*.c'", "-size +20c", "-empty")
            + " | sort",
            "echo "
            + self.of(
                "{a,b}{1,2}",
                "{1..4}",
                "*.txt",
                "a  b",
                "$((7*6))",
                '"$LC_ALL"',
                "docs/*",
                "[a-l]*",
                "*.[ch]",
                "src/*.?",
            ),
            f"diff {self.file()} {self.file()}",
            f"diff -u {self.of('left.txt', 'words.txt')} right.txt | tail -n +3",
            f"comm {self.of('', '-12', '-3')} <(sort left.txt) <(sort right.txt)",
            f"join {self.of('', '-a1', '-v2', '-o 1.2,2.2')} left.txt right.txt",
            f"paste {self.of('', '-d,', '-d:')} {self.file()} {self.file()}",
            f"basename {self.of('a/b.c .c', '/x/y/', 'z.txt .txt')}",
            f"date -u -d '{self.of(*DATES)}' '+{self.of('%F', '%Y/%m/%d', '%j', '%a %b %e', '%H:%M', '%s', '%u')}'",
        )

    def pipeline(self) -> str:
        stages = [self.source(), *(self.filter() for _ in range(self.n(1, 3)))]
        return " | ".join(stages)

    def expansion(self) -> str:
        value = self.of("hello world", "a/b/c.tar.gz", "one,two,three", "", "Ab12cD", "x=y=z")
        use = self.of(
            "${v}",
            "${#v}",
            "${v#*/}",
            "${v##*/}",
            "${v%.*}",
            "${v%%.*}",
            "${v/o/0}",
            "${v//o/0}",
            "${v:2}",
            "${v:1:3}",
            "${v: -3}",
            "${v^^}",
            "${v,,}",
            "${v^}",
            "${v:-none}",
            "${v:+set}",
            "${v/#a/Z}",
            "${v/%z/Z}",
            "${v//[aeiou]/_}",
            "${v%%[0-9]*}",
            "${v#?}",
            "$v$v",
            "${v//,/ }",
        )
        return f"v='{value}'; " + self.of(
            f'echo "{use}"',
            f"echo {use}",
            f'for w in {use}; do echo "<$w>"; done',
            f'[ -n "{use}" ] && echo yes || echo no',
            f'case "{use}" in *o*) echo o;; "") echo empty;; *) echo other;; esac',
            f"set -- {use}; echo $# $1",
        )

    def arithmetic(self) -> str:
        a, b, c = (self.of("x", "y", str(self.n(0, 20)), f"-{self.n(1, 9)}") for _ in range(3))
        operators = ("+", "-", "*", "<", ">", "==", "&&", "||", "&", "|", "^", "<<", "**")
        one, two = self.of(*operators[:-2]), self.of(*operators[:-2])
        return f"x={self.n(0, 30)}; y={self.n(1, 9)}; " + self.of(
            f"echo $(({a} {one} {b} {two} {c}))",
            "echo $((x++ + ++y)) $x $y",
            f"((x {one} y)); echo $?",
            "echo $((x / y)) $((x % y)) $((-x / y))",
            f"echo $((x {one} y ? {a} : {b}))",
            "while ((x > 25)); do ((x -= 3)); done; echo $x",
            f"echo $(( ({a} {one} {b}) {two} {c} ))",
            "let 'x += y * 2'; echo $x",
            "for ((i = 0; i < y; i += 2)); do printf '%d ' $i; done; echo",
            "echo $((2 ** y)) $((1 << y)) $((x & y | 8))",
        )

    def loop(self) -> str:
        body = self.of(
            'echo "$l"',
            "echo ${#l}",
            'echo "${l%% *}"',
            'echo "${l##* }"',
            '[ "$l" ] && echo "$l" | tr a-z A-Z',
            "case $l in *a*) echo A;; *) echo -;; esac",
            "n=$((n+1)); echo $n",
            'printf "%s;" $l',
        )
        head = self.of(
            "while read -r l; do {0}; done < {1}",
            "cat {1} | while read l; do {0}; done",
            "for l in $(cat {1}); do {0}; done",
            "while IFS=, read -r l r; do {0}; done < {1}",
            "while IFS= read -r l; do {0}; done < {1}",
        )
        return head.format(body, self.of(*FILES))

    def change(self) -> str:
        return self.of(
            f"{self.filter()} < {self.file()} > out.txt; cat out.txt",
            f"sed -i 's/{self.of(*WORDS)}/{self.of('X', '&&', '')}/{self.of('', 'g')}' {self.file()}; echo $?",
            f"sed -i '{self.of('1d', '$d', '2,3d', '/a/d')}' {self.file()}",
            f"mkdir -p {self.of('new', 'docs/x/y', 'src')} && mv {self.of('*.txt', 'left.txt', '*.csv', 'src/*.c')} "
            f"{self.of('docs', 'src')}; ls {self.of('docs', 'src', '.')}",
            f"cp {self.of('-r docs/old', 'app.log', '-r src', 'left.txt right.txt')} "
            f"{self.of('copy', 'docs', 'src/')}; echo $?; ls docs",
            f"rm {self.of('', '-f ', '-r ')}"
            f"{self.of('*.txt', 'docs', 'missing', 'src/main.c', 'docs/old/*')}; echo $?; ls",
            f"for f in {self.of('*.txt', 'docs/old/*', 'src/*.c', '*.none')}; do "
            f"{self.of('mv $f $f.bak', 'echo $f', 'wc -c < $f', 'echo ${f%.*} ${f##*.}')}; done; ls",
            f"find . -name '{self.of('*.c', '*.tmp', '*.txt')}' -exec "
            + self.of("rm {}", "cp {} {}.bak", "basename {}")
            + " \\; | sort; ls src",
            "echo " + self.of("PORT=1", "x", "'a b'") + f" {self.of('>', '>>')} {self.file()}; tail -2 .env words.txt",
            f"touch {self.of('a b', 'docs/n.md', 'words.txt')}; "
            f"ls {self.of('', 'docs')}; [ -s {self.file()} ]; echo $?",
            f"{self.pipeline()} | tee -a {self.file()} | wc -l",
            f"ls {self.of('missing', 'docs')} {self.of('2>/dev/null', '> o 2>&1', '2> e')}; echo $?; cat o 2>/dev/null",
            f"f() {{ {self.of('echo $1-$2', 'local x=1; echo $x', 'return 3', 'cat $1')}; }}; "
            f"f {self.of('a b', 'left.txt')}; echo $? $x",
            f'x=$({self.pipeline()}); echo "$x" | {self.filter()}',
            f"if {self.of('grep -q', 'grep -qi')} '{self.of(*WORDS)}' {self.file()}; then echo yes; else echo no; fi",
            "a=("
            + self.of("x y z", "$(cat words.txt)", "*.csv", "1 '2 3'")
            + '); echo ${#a[@]} ${a[1]} "${a[@]:1}"; for e in "${a[@]}"; do echo "<$e>"; done',
            f"cat > t.sh <<'EOF'\n{self.loop()}\necho done $1\nEOF\nbash t.sh arg; echo $?",
            f"cat <<EOF | {self.filter()}\n$LC_ALL {self.of(*WORDS)} $((1+2))\nb,c,{self.n()}\nEOF",
        )


def program(seed: int) -> str:
    """Return the program of a seed."""
    maker = _Maker(seed)
    kind = maker.rng.choices(
        (maker.pipeline, maker.expansion, maker.arithmetic, maker.loop, maker.change), (6, 1.5, 1, 1, 3)
    )[0]
    return kind()
