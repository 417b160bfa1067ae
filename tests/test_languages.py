"""Golden text: what is printed for one rule per construct of every language."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from cepheid import CannotExpressError, load
from cepheid.languages import LANGUAGES


class Golden(NamedTuple):
    """A construct, a rule that has it, and how that rule is printed."""

    construct: str
    language: str
    text: str
    printed: str


GOLDEN = [
    Golden(
        "a filter",
        "tesla",
        "define X() from A(v > 1 and not (w = 'a' or w != \"b\"), u <= -2.5)",
        'Rule X\ndefine X()\nfrom A(v > 1 and not (w = "a" or w != "b") and u <= -2.5)\n',
    ),
    Golden(
        "a name of its own",
        "tesla",
        "Rule my.rule-1 define X() from A",
        "Rule my.rule-1\ndefine X()\nfrom A\n",
    ),
    Golden(
        "attributes of every kind",
        "tesla",
        "define X(a: text, b: integer, c: float, d: boolean) from A where a = A.s and "
        "b = 1 + 2 * A.n - -3 and c = (A.n + 1) / 2 and d = true",
        "Rule X\n"
        "define X(a: string, b: int, c: double, d: bool)\n"
        "from A\n"
        "where a = A.s and b = 1 + 2 * A.n - -3 and c = (A.n + 1) / 2 and d = true\n",
    ),
    Golden(
        "selection",
        "tesla",
        "define X() from A and each B() within 5 min from A and first C() within 1.5 s "
        "from A and last D() within 300 ms from A and 2-first E() within 1 h from A "
        "and 3 - last F() within 2 days from B",
        "Rule X\n"
        "define X()\n"
        "from A and\n"
        "  each B within 5 min from A and\n"
        "  first C within 1500 ms from A and\n"
        "  last D within 300 ms from A and\n"
        "  2-first E within 1 h from A and\n"
        "  3-last F within 2 d from B\n",
    ),
    Golden(
        "names for events",
        "tesla",
        "define X(v: int) from A() as A1 and each A(v > 1) as A2 within 90 s from A1 "
        "where v = A2.v",
        "Rule X\n"
        "define X(v: int)\n"
        "from A as A1 and\n"
        "  each A(v > 1) as A2 within 90 s from A1\n"
        "where v = A2.v\n",
    ),
    Golden(
        "parameters",
        "tesla",
        "define X() from A(k = $k and v = $v) and each B(k = $k and w > $v * 2) within 5 s from A",
        "Rule X\n"
        "define X()\n"
        "from A(k = $k and v = $v) and\n"
        "  each B(k = $k and w > $v * 2) within 5 s from A\n",
    ),
    Golden(
        "negation by time and between events",
        "tesla",
        "define X() from A and each B() within 5 s from A and not C(v = 1) within 5 s "
        "from A and not D() between B and A",
        "Rule X\n"
        "define X()\n"
        "from A and\n"
        "  each B within 5 s from A and\n"
        "  not C(v = 1) within 5 s from A and\n"
        "  not D between B and A\n",
    ),
    Golden(
        "aggregates",
        "tesla",
        "define X(n: int, m: double) from A and $m = Avg(B(v > 1).v within 5 min from "
        "A) and 10 <= Count(C within 1 s from A) where n = Count(C within 1 s from A) "
        "and m = $m",
        "Rule X\n"
        "define X(n: int, m: double)\n"
        "from A and\n"
        "  $m = Avg(B(v > 1).v within 5 min from A) and\n"
        "  10 <= Count(C within 1 s from A)\n"
        "where n = Count(C within 1 s from A) and m = $m\n",
    ),
    Golden(
        "a chain of comparisons",
        "tesla",
        "define X() from A and each B() within 9 s from A and 45 < $t = Max(C.v between B and A)",
        "Rule X\n"
        "define X()\n"
        "from A and\n"
        "  $t = Max(C.v between B and A) and\n"
        "  each B within 9 s from A and\n"
        "  45 < $t\n",
    ),
    Golden(
        "consumption",
        "tesla",
        "define X() from A and each B() within 5 s from A consuming B, A",
        "Rule X\ndefine X()\nfrom A and\n  each B within 5 s from A\nconsuming B, A\n",
    ),
    Golden(
        "a periodic timer",
        "tesla",
        "define X() from Timer(every = 5 min) and not A() within 5 min from Timer",
        "Rule X\ndefine X()\nfrom Timer(every = 5 min) and\n  not A within 5 min from Timer\n",
    ),
    Golden(
        "the client's notation",
        "tesla",
        "Assign 1 => A, 2 => B define X(v: int) from A([string]k => $k) and last "
        "B([string]k = $k) within 5000 from A where v := B.v;",
        "Rule X\n"
        "define X(v: int)\n"
        "from A(k = $k) and\n"
        "  last B(k = $k) within 5 s from A\n"
        "where v = B.v\n",
    ),
    Golden(
        "a single event",
        "sase",
        "EVENT A",
        "QUERY Match\nEVENT A\n",
    ),
    Golden(
        "a sequence",
        "sase",
        "QUERY Q EVENT SEQ(A x, B, C-D z) WITHIN 12 hours",
        "QUERY Q\nEVENT SEQ(A x, B, C-D z)\nWITHIN 12 h\n",
    ),
    Golden(
        "any of several types",
        "sase",
        "EVENT SEQ(ANY(A, B) x, ANY(C, D)) WITHIN 1",
        "QUERY Match\nEVENT SEQ(ANY(A, B) x, ANY(C, D))\nWITHIN 1 s\n",
    ),
    Golden(
        "negation at the start, between and at the end",
        "sase",
        "EVENT SEQ(!(A a), B b, !(ANY(C, D) c), E e, !F) WHERE a.v = b.v AND c.w > 1 WITHIN 1 min",
        "QUERY Match\n"
        "EVENT SEQ(!(A a), B b, !(ANY(C, D) c), E e, !(F))\n"
        "WHERE a.v = b.v AND c.w > 1\n"
        "WITHIN 1 min\n",
    ),
    Golden(
        "equivalence tests",
        "sase",
        "EVENT SEQ(A x, B y) WHERE [id] AND [area = 'A1', n = 5] WITHIN 1.5 min",
        'QUERY Match\nEVENT SEQ(A x, B y)\nWHERE [id] AND [area = "A1"] AND [n = 5]\nWITHIN 90 s\n',
    ),
    Golden(
        "conditions",
        "sase",
        "EVENT SEQ(A x, B y) WHERE x.v < y.v ∧ (x.w = 1 ∨ ¬(y.w >= 2)) AND x.a - 1 = 2 "
        "* (y.a + 1) WITHIN 100 ms",
        "QUERY Match\n"
        "EVENT SEQ(A x, B y)\n"
        "WHERE x.v < y.v AND (x.w = 1 or not y.w >= 2) AND x.a - 1 = 2 * (y.a + 1)\n"
        "WITHIN 100 ms\n",
    ),
    Golden(
        "a result",
        "sase",
        "QUERY Q EVENT SEQ(A x, B y) WITHIN 5 RETURN R(a = x.v, b = y.v - x.v)",
        "QUERY Q\nEVENT SEQ(A x, B y)\nWITHIN 5 s\nRETURN R(a = x.v, b = y.v - x.v)\n",
    ),
    Golden(
        "a result of another type with all attributes",
        "sase",
        "QUERY Q EVENT A x RETURN R",
        "QUERY Q\nEVENT A x\nRETURN R\n",
    ),
    Golden(
        "an aggregate over time",
        "laipl",
        "Rule 1-1 Define X(u: Integer) From A Where Average(A.value) > 80 Within(5 min)",
        "Rule 1-1\nDefine X(u: Integer)\nFrom A\nWhere Average(A.value) > 80 Within(5 min)\n",
    ),
    Golden(
        "Each",
        "laipl",
        "Rule 1-2 Define X(u: Integer) From A Where Each(A.value) > 80 Within(5 min) "
        "Composite A.Source = S001",
        "Rule 1-2\n"
        "Define X(u: Integer, source: String)\n"
        "From A\n"
        "Where Each(A.value) > 80 Within(5 min)\n"
        'Composite A.source = "S001"\n',
    ),
    Golden(
        "a bare comparison",
        "laipl",
        "Rule R Define X(u: Double) From A Where A > 80 Batch(10)",
        "Rule R\nDefine X(u: Double)\nFrom A\nWhere A.value > 80 Batch(10)\n",
    ),
    Golden(
        "a count",
        "laipl",
        "Rule R Define X(n: Integer) From A Where Count(A.value > 80) >= 3 Within(1 h)",
        "Rule R\nDefine X(n: Integer)\nFrom A\nWhere Count(A.value > 80) >= 3 Within(1 h)\n",
    ),
    Golden(
        "one event of a run",
        "laipl",
        "Rule R Define X(v: Integer) From A Where A[3].value < 5 Batch(4)",
        "Rule R\nDefine X(v: Integer)\nFrom A\nWhere A[3].value < 5 Batch(4)\n",
    ),
    Golden(
        "the first and the last",
        "laipl",
        "Rule R Define X(v: Integer, w: Integer) From A, B Where A[first] > 1 And "
        "B[last].speed > 2 Within(1 s)",
        "Rule R\n"
        "Define X(v: Integer, w: Integer)\n"
        "From A, B\n"
        "Where A[1].value > 1 And B[last].speed > 2 Within(1 s)\n",
    ),
    Golden(
        "And, Or and Then",
        "laipl",
        "Rule R Define X() From A, B, C, D Where (A > 1 Or B > 2) And C Then D Within(10 sec)",
        "Rule R\n"
        "Define X()\n"
        "From A, B, C, D\n"
        "Where (A.value > 1 Or B.value > 2) And C Then D Within(10 s)\n",
    ),
    Golden(
        "absence",
        "laipl",
        "Rule R Define X(v: Integer, w: Integer) From A, B, C Where A And B, Not C > 5 "
        "Within(10 sec)",
        "Rule R\n"
        "Define X(v: Integer, w: Integer)\n"
        "From A, B, C\n"
        "Where A.value And B.value And Not C.value > 5 Within(10 s)\n",
    ),
    Golden(
        "aggregates and counts among several",
        "laipl",
        "Rule R Define X(s: Double, n: Integer) From A, B Where Sum(A) > 100 And "
        "Count(B > 1) = 2 Batch(20)",
        "Rule R\n"
        "Define X(s: Double, n: Integer)\n"
        "From A, B\n"
        "Where Sum(A.value) > 100 And Count(B.value > 1) = 2 Batch(20)\n",
    ),
    Golden(
        "a partition",
        "laipl",
        "Rule R Define X(v: Integer) From A, B Where A And B Within(1 min) Composite "
        "A.Source = B.Source, A.host = B.host",
        "Rule R\n"
        "Define X(v: Integer)\n"
        "From A, B\n"
        "Where A.value And B Within(1 min)\n"
        "Composite A.source = B.source, A.host = B.host\n",
    ),
    Golden(
        "constants",
        "laipl",
        "Constant LIMIT = 80\n"
        "Rule R Define X(v: Integer) From A Where Each(A) > LIMIT + 10 Batch(2)",
        "Rule R\nDefine X(v: Integer)\nFrom A\nWhere Each(A.value) > 80 + 10 Batch(2)\n",
    ),
    Golden(
        "a string and a bool",
        "laipl",
        'Rule R Define X(v: String) From A Where Each(A.state) = "on" Batch(2) '
        "Composite A.ok = true",
        "Rule R\n"
        "Define X(v: String)\n"
        "From A\n"
        'Where Each(A.state) = "on" Batch(2)\n'
        "Composite A.ok = true\n",
    ),
    Golden(
        "an atom",
        "core",
        "define X as [A]",
        "define X as\n  [A]\n",
    ),
    Golden(
        "a domain",
        "core",
        "define X as [A, B in {A, B, C}]",
        "define X as\n  [A, B in {A, B, C}]\n",
    ),
    Golden(
        "negation",
        "core",
        "define X as [!B in {A, B}]",
        "define X as\n  [!B in {A, B}]\n",
    ),
    Golden(
        "filters",
        "core",
        "define X as [A(v > 1 and w = 'x') in {A, B(v < 0)}]",
        'define X as\n  [A(v > 1 and w = "x") in {A, B(v < 0)}]\n',
    ),
    Golden(
        "sequences",
        "core",
        "define X as [A] [B] ; [C] within 5 min",
        "define X as\n  [A] [B] ; [C]\nwithin 5 min\n",
    ),
    Golden(
        "iteration",
        "core",
        "define X as [A] ([B] ; [C])* within 1 h",
        "define X as\n  [A] ([B] ; [C])*\nwithin 1 h\n",
    ),
    Golden(
        "alternation",
        "core",
        "define X as [A] ([B] | [C] [D]) within 1 h",
        "define X as\n  [A] ([B] | [C] [D])\nwithin 1 h\n",
    ),
    Golden(
        "parallel",
        "core",
        "define X as [A] || [B] || ([C] | [D]) within 90 s",
        "define X as\n  [A] || [B] || [C] | [D]\nwithin 90 s\n",
    ),
    Golden(
        "timing",
        "core",
        "define X as ([A], [B in {B, T1}]) T1 = 1h",
        "define X as\n  ([A], [B in {B, T1}]) T1 = 1 h\n",
    ),
    Golden(
        "a timer at a fixed time",
        "core",
        "define X as ([A], [T in {T, B}]) T = at 10 min",
        "define X as\n  ([A], [T in {T, B}]) T = at 10 min\n",
    ),
    Golden(
        "labels and a condition that is met early",
        "core",
        "define X as [o: Opening] ; [c: Closing] where o.room = c.room within 1 h",
        "define X as\n  [o: Opening] ; [c: Closing(o.room = room)]\nwithin 1 h\n",
    ),
    Golden(
        "a condition on the whole match",
        "core",
        "define X as [a: A] || [b: B] where a.k = b.k within 1 h",
        "define X as\n  [a: A] || [b: B]\nwhere a.k = b.k\nwithin 1 h\n",
    ),
    Golden(
        "a result",
        "core",
        "define X as [a: A] [b: B]* within 1 min return (n = Count(b), m = Avg(b.v), k = a.k)",
        "define X as\n"
        "  [a: A] [b: B]*\n"
        "within 1 min\n"
        "return (n = Count(b), m = Avg(b.v), k = a.k)\n",
    ),
    Golden(
        "the paper's symbols",
        "core",
        "define X as [A ⊆ {A, B}] ∪ [¬B ⊆ {A, B}] ∥ [C] within 1 s",
        "define X as\n  [A in {A, B}] | [!B in {A, B}] || [C]\nwithin 1 s\n",
    ),
    Golden(
        "what comes before",
        "pretty",
        "A preceded by last 2 B where v > 1 within 5 min preceded by C within 5 s before A",
        "rule Match\n"
        '  when "A"\n'
        '  preceded by last 2 "B" where v > 1 within 5 min\n'
        '  preceded by "C" within 5 s before A\n',
    ),
    Golden(
        "a sequence",
        "pretty",
        "A called x followed by any of (B, C) followed by D without N between x and "
        "B_or_C all within 1 h",
        "rule Match\n"
        '  when "A" called x\n'
        '  followed by any of ("B", "C")\n'
        '  followed by "D"\n'
        '  without "N" between x and B_or_C\n'
        "  all within 1 h\n",
    ),
    Golden(
        "what must not come",
        "pretty",
        "when A without N where k = k of A within 5 s after A",
        'rule Match\n  when "A"\n  without "N" where k = k of A within 5 s after A\n',
    ),
    Golden(
        "parameters and functions",
        "pretty",
        "when A let $n be number of all (B where v is above 1 within 5 s before A) "
        "provided $n is at least 3 and not $n is 7",
        "rule Match\n"
        '  when "A"\n'
        '  let $n be number of all ("B" where v > 1 within 5 s before A)\n'
        "  provided $n >= 3 and not $n = 7\n",
    ),
    Golden(
        "keys",
        "pretty",
        "A followed by B on same k and l on m = 5",
        'rule Match\n  when "A"\n  followed by "B"\n  on same k\n  on same l\n  on m = 5\n',
    ),
    Golden(
        "how a match is made",
        "pretty",
        "A followed by B as a point accepting missing values consuming A and B",
        "rule Match\n"
        '  when "A"\n'
        '  followed by "B"\n'
        "  as a point\n"
        "  accepting missing values\n"
        "  consuming A, B\n",
    ),
    Golden(
        "a result",
        "pretty",
        "rule R when A gives X with everything, v as double = (v of A + 1) * 2, "
        '"last" = x of A, w = first known of (w of A, 0)',
        "rule R\n"
        '  when "A"\n'
        '  gives "X" with\n'
        "    everything,\n"
        "    v as double = (v of A + 1) * 2,\n"
        '    "last" = x of A,\n'
        "    w = first known of (w of A, 0)\n",
    ),
    Golden(
        "watch",
        "pretty",
        'watch CPU for 300 events provided each has value > 80 on source = "S1"',
        "rule Match\n"
        '  watch "CPU" for 300 events\n'
        "  provided each has value > 80\n"
        '  on source = "S1"\n',
    ),
    Golden(
        "watch all",
        "pretty",
        "watch CPU called c for 5 min provided average value of c > 80 and number of "
        "(c where value > 99) < 3",
        "rule Match\n"
        '  watch "CPU" called c for 5 min\n'
        "  provided average value of c > 80 and number of (c where value > 99) < 3\n",
    ),
    Golden(
        "collect",
        "pretty",
        "collect 3 A where (v > 1 and w < 2) and (B or C until total v > 100) then "
        "last D having v = 1 and no E within 10 events on k of A = l of B = k of C = "
        "k of D = k of E",
        "rule Match\n"
        '  collect 3 "A" where (v > 1 and w < 2) and ("B" or "C" until total v > '
        '100) then last "D" having v = 1 and no "E" within 10 events\n'
        '  on k of "A" = l of "B" = k of "C" = k of "D" = k of "E"\n',
    ),
    Golden(
        "detect",
        "pretty",
        "detect A called a then any number of (B or C) loosely then D where k = k of "
        "a alongside E within 1 h provided v of a > 1",
        "rule Match\n"
        '  detect "A" called a then any number of ("B" or "C") loosely then "D" '
        'where k = k of a alongside "E" within 1 h\n'
        "  provided v of a > 1\n",
    ),
    Golden(
        "atoms",
        "pretty",
        "detect one of (A, B where v > 1) called x among (A, B, C) then anything but "
        "N among (N, M)",
        "rule Match\n"
        '  detect one of ("A", "B" where v > 1) called x among ("A", "B", "C") then '
        'anything but "N" among ("N", "M")\n',
    ),
    Golden(
        "timers",
        "pretty",
        "detect (after A start timer T of 1 h, then timer T among (timer T, B)) or "
        "(after A start timer U at 10 min, then timer U)",
        "rule Match\n"
        '  detect (after "A" start timer T of 1 h, then timer T among (timer T, '
        '"B")) or (after "A" start timer U at 10 min, then timer U)\n',
    ),
    Golden(
        "a periodic timer",
        "pretty",
        "when timer every 5 min called t",
        "rule Match\n  when timer every 5 min called t\n",
    ),
    Golden(
        "odd names",
        "pretty",
        'rule "R 1" when "say \\"hi\\"" called "a b" where its "c d" = 1',
        'rule "R 1"\n  when "say \\"hi\\"" called "a b" where its "c d" = 1\n',
    ),
]


def name_of(golden: Golden) -> str:
    return f"{golden.language}: {golden.construct}"


@pytest.mark.parametrize("golden", GOLDEN, ids=name_of)
def test_rule_prints_in_the_notation_of_its_language(golden: Golden) -> None:
    assert load(golden.text, language=golden.language).text() == golden.printed


@pytest.mark.parametrize("golden", GOLDEN, ids=name_of)
def test_printed_rule_reads_as_the_same_rule_and_prints_as_the_same_text(golden: Golden) -> None:
    again = load(golden.printed, language=golden.language)
    assert again.rules == load(golden.text, language=golden.language).rules
    assert again.text() == golden.printed


def test_several_rules_are_printed_with_an_empty_line_between() -> None:
    rules = load("define X as [A]\ndefine Y as [X]", language="core")
    assert rules.text() == "define X as\n  [A]\n\ndefine Y as\n  [X]\n"


@pytest.mark.parametrize(
    "golden", [golden for golden in GOLDEN if golden.language != "pretty"], ids=name_of
)
def test_a_language_that_lacks_the_words_says_so_with_the_name_of_the_rule(golden: Golden) -> None:
    (rule,) = load(golden.text, language=golden.language)
    for language in LANGUAGES.keys() - {golden.language, "pretty"}:
        with pytest.raises(CannotExpressError, match=f"rule {rule.name}: .* cannot say"):
            LANGUAGES[language].write(rule)


def test_equal_rules_are_equal_whatever_their_layout() -> None:
    one = load("define X as [A];[B]", language="core")
    other = load("define X as\n  [A] /* then */ ;\n  [B] // done", language="core")
    assert one.rules == other.rules
