"""Rules that are ready to use: loaded, checked, and evaluated over events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from cepheid.algebra import Rule
from cepheid.automaton import compile_rule, draw_svg, explained
from cepheid.check import check
from cepheid.cores import cores_of
from cepheid.errors import EventError, Problem, Report, RuleError, Source, Span, did_you_mean
from cepheid.events import CompositeEvent, Event, Kind, Schema, Value
from cepheid.languages import LANGUAGES, Language
from cepheid.languages.lowering import Context
from cepheid.languages.reading import TEXT_LIMIT
from cepheid.languages.translating import translated
from cepheid.literals import parse_schema
from cepheid.records import Clock, from_records, to_record
from cepheid.spark.options import is_spark

if TYPE_CHECKING:
    from cepheid.binding.clauses import Clauses
    from cepheid.binding.drafts import Draft
    from cepheid.pictures import Matches, Picture
    from cepheid.runtime.engine import Engine
    from cepheid.runtime.settings import Limits
    from cepheid.spark.options import SparkOptions
    from cepheid.why.results import Why, WhyNot

SchemaLike = Schema | Mapping[str, Mapping[str, str | Kind]] | str


@dataclass(frozen=True)
class Rules:
    """A set of checked rules, with the warnings that the check gave.

    >>> rules = load('''
    ...     Rule Hot
    ...     define Alarm(area: string)
    ...     from Temp(value > 45)
    ...     where area = Temp.area
    ... ''', language="tesla")
    >>> events = [{"type": "Temp", "ts": 1, "area": "A1", "value": 50.0}]
    >>> [(found["type"], found["area"]) for found in rules.detect(events, unit="s")]
    [('Alarm', 'A1')]
    """

    rules: tuple[Rule, ...]
    schema: Schema = field(default_factory=Schema)
    warnings: tuple[Problem, ...] = ()

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    def __len__(self) -> int:
        return len(self.rules)

    @overload
    def detect(
        self,
        events: Sequence[Event],
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
        failures: bool = False,
        cores: int | None = None,
    ) -> list[CompositeEvent]: ...

    @overload
    def detect(
        self,
        events: Sequence[Mapping[str, Any]],
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
        failures: bool = False,
        cores: int | None = None,
    ) -> list[dict[str, Any]]: ...

    @overload
    def detect(
        self,
        events: Any,  # noqa: ANN401 (a table of any library)
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
        failures: bool = False,
        cores: int | None = None,
        columns: Sequence[str] | None = None,
        **options: Unpack[SparkOptions],
    ) -> Any: ...  # noqa: ANN401 (the same kind of table)

    def detect(
        self,
        events: Any,
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
        failures: bool = False,
        cores: int | None = None,
        columns: Sequence[str] | None = None,
        **options: Any,
    ) -> Any:
        """Everything that the rules find in events, in the same form, in the order of time.

        Events are a table of pandas, polars or pyarrow with columns `type`, `ts` and attributes, a
        mapping from types to such tables, or a list of dictionaries of that form, where integer
        times need a `unit`; or a list of `Event`s, whose times are microseconds. `until` is a time
        of the same form and lets time go on after the last event; `failures` adds the failure
        events of runs. Large tables are worked on by up to so many `cores`; unless told, those
        that the process may use. The result does not depend on it. Of tables and dictionaries, only
        the `columns` that are named are made: `id` and `events` take most of the time where matches
        are many.

        Events may also be a DataFrame of Spark, batch or streaming, or a mapping from types to
        such: then the result is one too, and there are more options; see docs/spark.md.
        """
        if is_spark(events):
            from cepheid.spark.frames import detect_frame

            return detect_frame(
                self,
                events,
                unit=unit,
                until=until,
                failures=failures,
                columns=columns,
                **options,
            )
        if options:
            raise EventError(
                f"{', '.join(options)} must go with a DataFrame of Spark; "
                f"got {type(events).__name__}\n\nhint: leave it out, or use rules.engine(...)"
            )
        cores = cores_of(cores)
        if isinstance(events, Sequence) and not isinstance(events, str):
            return self._detect_list(events, unit, until, failures, columns)
        from cepheid.tables.frames import is_table

        if not is_table(events):
            raise EventError(
                "events must be a list of Events or dictionaries, a table, or a mapping from types "
                f"to tables; got {type(events).__name__}"
            )
        from cepheid.tables.detecting import detect_table

        return detect_table(
            self.rules,
            self.schema,
            events,
            Clock.of(unit),
            until=until,
            failures=failures,
            cores=cores,
            columns=columns,
        )

    def _detect_list(
        self,
        events: Sequence[Event | Mapping[str, Any]],
        unit: str | None,
        until: int | datetime | None,
        failures: bool,
        columns: Sequence[str] | None,
    ) -> list[CompositeEvent] | list[dict[str, Any]]:
        as_events = all(isinstance(event, Event) for event in events)
        clock = Clock.of("us" if as_events and unit is None else unit)
        given = from_records(events, clock, self.schema)
        end = None if until is None else clock.read(until)
        from cepheid.tables.detecting import detect_events
        from cepheid.tables.writing import check_columns, given_by

        if as_events and columns is not None:
            raise EventError(
                "columns must go with a table or with dictionaries; got Events\n\n"
                "hint: leave it out, and choose from the result"
            )
        check_columns(columns, given_by(self.rules, failures=failures))
        found = detect_events(self.rules, self.schema, given, until=end, failures=failures)
        return found if as_events else [to_record(event, clock, columns) for event in found]

    def matches(
        self,
        events: Any,  # noqa: ANN401 (a table of any library, or a list)
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
        failures: bool = False,
        cores: int | None = None,
    ) -> Matches:
        """Events together with what the rules find in them, to be looked at.

        Events, `unit`, `until`, `failures` and `cores` are those of `detect`, except that events
        are not on Spark. The result has the composite events as a `table` of Arrow, a picture of
        them over time in `timeline()`, and a page with everything in `report(path)`. See
        docs/report.md.

        >>> rules = load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
        >>> rules.matches([{"type": "A", "ts": 1}, {"type": "B", "ts": 2}], unit="s")
        1 match in 2 events
        """
        from cepheid.pictures.matches import find_matches

        return find_matches(
            self, events, unit=unit, until=until, failures=failures, cores=cores_of(cores)
        )

    def engine(
        self,
        *,
        policy: str = "guaranteed",
        delay: int | str | timedelta = 0,
        heartbeats: Iterable[str] | str = (),
        sources: Iterable[Value] | str | None = None,
        idle: int | str | timedelta | None = None,
        unit: str | None = None,
        failures: bool = False,
        limits: Limits | Mapping[str, Limits] | None = None,
        depth_limit: int = 32,
        late_limit: int = 1000,
        cores: int | None = None,
        columns: Sequence[str] | None = None,
    ) -> Engine:
        """An engine in this process, for events that come one by one or in batches.

        `policy` says when an event that has arrived is consumed: `guaranteed`, `best_effort` or
        `probable(0.95)`. With `guaranteed` events may be older than the newest one by a `delay`,
        `sources` are told apart (those that are `idle` for longer than the others' events last are
        not waited for), and events of the types in `heartbeats` only tell the time.
        Integer times are of a `unit`; `failures` adds the failure events of runs; `limits` bound
        what is kept for a rule, `depth_limit` how often composite events may cause each other,
        `late_limit` how many late events are kept, and `cores` how many work on what large tables
        cause. Of composite events in tables and dictionaries, only the `columns` that are named are
        made. See docs/engine.md.

        >>> rules = load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
        >>> engine = rules.engine(unit="s", delay=2)
        >>> [engine.push({"type": type_, "ts": at}) for type_, at in (("B", 2), ("A", 1))]
        [[], []]
        >>> [found["type"] for found in engine.close()]
        ['AB']
        """
        from cepheid.runtime.engine import Engine

        return Engine(
            self,
            policy=policy,
            delay=delay,
            heartbeats=heartbeats,
            sources=sources,
            idle=idle,
            unit=unit,
            failures=failures,
            limits=limits,
            depth_limit=depth_limit,
            late_limit=late_limit,
            cores=cores,
            columns=columns,
        )

    def why(
        self,
        events: object,
        composite_event: object,
        *,
        unit: str | None = None,
        until: int | datetime | None = None,
    ) -> Why:
        """Why a composite event was found in events: what it is made of, and what was checked.

        The composite event is one that `detect` gave for these events, or its id; `unit` and
        `until` are those of `detect`. See docs/why.md.

        >>> from cepheid import parse_events
        >>> rules = load("QUERY AB EVENT SEQ(A x, B y) WHERE [k] WITHIN 10 s", language="sase")
        >>> events = parse_events("A@1(k=1) B@3(k=1)")
        >>> (found,) = rules.detect(events)
        >>> print(rules.why(events, found))
        AB@[1, 3](y_k=1, x_k=1), found by rule AB
          because of
            x  A@1(k=1)  state M1.1  the only one before y
            y  B@3(k=1)  state M1.2  completes the match
          it holds that
            ✓ x before y: 2 s before it
            ✓ from the first to the last event less than 10 s: 2 s
            ✓ all have the same k: 1
        """
        from cepheid.why.asking import why

        return why(self, events, composite_event, unit=unit, until=until)

    def why_not(
        self,
        rule: str | Rule,
        events: object,
        *,
        around: int | datetime | Event | Mapping[str, Any] | None = None,
        unit: str | None = None,
        until: int | datetime | None = None,
        delay: int | str | timedelta | None = None,
        late: Sequence[Event | Mapping[str, Any]] = (),
    ) -> WhyNot:
        """Why a rule did not match: how far it came, what failed, what would have let it match.

        `around` is a time, of the form of the events' times, or one of the events; without it,
        the attempt that came furthest is told. With a `delay`, events are taken in the order of
        the list, as an engine with that delay takes them, and those that are late are put aside;
        `late` are events that an engine has put aside itself. See docs/why.md.

        >>> from cepheid import parse_events
        >>> rules = load("QUERY AB EVENT SEQ(A x, B y) WITHIN 10 s", language="sase")
        >>> events = parse_events("A@1 B@13")
        >>> answer = rules.why_not("AB", events)
        >>> print(answer)
        Rule AB did not match
          the furthest it came
            x  A@1   state M1.1  each before y
            y  B@13  state M1.2  completes the match
          what was in order
            ✓ x before y: 12 s before it
          what failed
            ✗ from the first to the last event less than 10 s: 12 s, 2 s too long
          it would have matched if
            A@1: it happens at 4 instead, 3 s later
          and then found
            AB@[4, 13]
        >>> len(rules.detect(answer.change.apply(events)))
        1
        """
        from cepheid.why.asking import why_not

        return why_not(
            self,
            rule,
            events,
            around=around,
            unit=unit,
            until=until,
            delay=delay,
            late=late,
        )

    def explain(self, *, shards: int | None = None) -> str:
        """The automaton and the plan of every rule, as text.

        With a number of `shards`, it also tells how a job on Spark is laid out: which rules run
        where, by what events are parted, and to how many shards events of each type are sent.

        The plan says what is filtered first, what partitions the events, what is stored for how
        long, which strategy runs, and what could grow without bound.

        >>> rules = load("define Visit as [a: Door] ; [b: Person]", language="core")
        >>> print(rules.explain())
        Visit → Visit: detector, eager
        <BLANKLINE>
          ○ S0
          │ Door
          ▼
          ○ S1 a         looks at Person
          │ Person
          │ strongly after
          ▼
          ◎ S2 b
        <BLANKLINE>
        plan
          strategy  eager: each event moves the branches whose state looks at it, and may start one
          filter    Door: all
                    Person: all
          partition none: all events may meet
          store     Door: for ever (a)
                    Person: not at all (b)
          unbounded live branches: one that waits is kept until an event or timer decides it
        """
        parts = [explained(compile_rule(rule)) for rule in self.rules]
        if shards is not None:
            from cepheid.spark.topology import topology

            parts.append(topology(self, shards))
        return "\n\n\n".join(parts)

    def draw(self) -> Picture:
        """The automata of all rules as a picture, which notebooks show and `save` writes.

        >>> rules = load("define Visit as [a: Door] ; [b: Person]", language="core")
        >>> rules.draw().svg == rules.svg()
        True
        """
        from cepheid.pictures.picture import Picture

        names = [rule.name for rule in self.rules]
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return Picture(self.svg(), f"rule{'' if len(names) == 1 else 's'} {shown}")

    def svg(self) -> str:
        """A picture of the automata of all rules, below each other, as the text of an SVG file.

        >>> rules = load("define Visit as [a: Door] ; [b: Person]", language="core")
        >>> rules.svg().startswith("<svg ")
        True
        """
        return draw_svg(compile_rule(rule) for rule in self.rules)

    def text(self) -> str:
        """The rules as text, each in its own language, so that it reads as the same rules."""
        return "\n".join(LANGUAGES[rule.language].write(rule) for rule in self.rules)

    def translate(self, to: str) -> str:
        """The rules as text of another language, with the same meaning, or as a Python program.

        `to` is `pretty` or `python`, which can say every rule, or `tesla`, `sase`, `laipl` or
        `core`; what that language has no words for is raised as `CannotExpressError`.

        >>> rules = load("define Visit as [a: Door] ; [b: Person] within 1 h", language="core")
        >>> print(rules.translate("pretty"))
        rule Visit
          detect "Door" called a then "Person" called b within 1 h
        <BLANKLINE>
        """
        return translated(self.rules, to)


def load(
    source: str | Path | Clauses | Iterable[str | Path | Clauses],
    *,
    language: str | None = None,
    schema: SchemaLike | None = None,
    constants: Mapping[str, Value] | None = None,
    name: str = "",
    limit: int = TEXT_LIMIT,
) -> Rules:
    """Read and check rules from a file, a folder, several of them, a text, or Python.

    The language follows from a file's ending. A string together with `language` is a text, and
    never looked for as a file; a file with another ending is a `Path` together with `language`.
    With a `schema`, types and attributes are checked against it; `name` is what messages call a
    text. Rules that are written in Python are drafts (see docs/languages/python-binding.md), one or
    several. Everything that is wrong is raised together as `RuleError`.

    >>> load("QUERY Q EVENT A x WITHIN 0", language="sase")
    Traceback (most recent call last):
    ...
    cepheid.errors.RuleError: <text>:1:26: error: ...
    """
    report = Report()
    context = Context(_schema(schema), dict(constants or {}))
    paths, drafts = _parted(source)
    texts = list(_sources(paths, language, name))
    rules = read_texts(texts, context, report, limit, drafts)
    if not rules and not report.errors:
        _report_nothing(paths, [text for text, _ in texts], report)
    report.fail_on_errors()
    return Rules(tuple(rules), context.schema, tuple(report.warnings))


def read_texts(
    texts: Iterable[tuple[Source, Language]],
    context: Context,
    report: Report,
    limit: int = TEXT_LIMIT,
    drafts: Iterable[Draft] = (),
) -> list[Rule]:
    """The rules of texts and drafts, checked together; what is wrong is reported."""
    rules: list[Rule] = []
    for text, language in texts:
        rules += language.read(text, context, report, limit)
    lowered = [draft.lower(report) for draft in drafts]
    rules = _named([*rules, *(rule for rule in lowered if rule is not None)])
    check(rules, context.schema, report)
    return rules


Named = str | Path | Iterable[str | Path]
"""Rules by the names of their files, or as a text."""


def _parted(
    source: str | Path | Clauses | Iterable[str | Path | Clauses],
) -> tuple[Named, list[Draft]]:
    """What is read from texts, and what is written in Python."""
    if isinstance(source, str | Path):
        return source, []
    from cepheid.binding.clauses import Clauses

    given = [source] if isinstance(source, Clauses) else list(source)
    drafts = [item.draft() for item in given if isinstance(item, Clauses)]
    paths = [item for item in given if not isinstance(item, Clauses)]
    strange = [item for item in paths if not isinstance(item, str | Path)]
    if strange:
        found = type(strange[0]).__name__
        message = f"rules must be paths, a text or drafts; got {found}"
        raise RuleError(
            [Problem("WRONG_TYPE", message, hint='load("rules/"), or load(event("A"))')]
        )
    return paths, drafts


def _report_nothing(source: Named, texts: list[Source], report: Report) -> None:
    if texts:
        where = ", ".join(text.name or "the text" for text in texts[:3])
        report.error("EMPTY_TEXT", f"there is no rule in {where}", Span(1, 1, 1, texts[0]))
    else:
        where = ", ".join(map(str, [source] if isinstance(source, str | Path) else source))
        endings = ", ".join(language.ending for language in LANGUAGES.values())
        report.error(
            "EMPTY_TEXT",
            f"there is no rule file in {where}",
            hint=f"rule files end in one of {endings}",
        )


def _schema(schema: SchemaLike | None) -> Schema:
    if schema is None or isinstance(schema, Schema):
        return schema or Schema()
    return parse_schema(schema) if isinstance(schema, str) else Schema.of(schema)


def _sources(source: Named, language: str | None, name: str) -> Iterator[tuple[Source, Language]]:
    if isinstance(source, str) and language is not None:
        yield Source(source, name), _language(language)
        return
    paths = [source] if isinstance(source, str | Path) else source
    for path in map(Path, paths):
        for file in _files(path):
            yield _read(file), _language(language) if language else _language_of(file)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        endings = {language.ending for language in LANGUAGES.values()}
        return sorted(file for file in path.rglob("*") if file.suffix in endings and file.is_file())
    return [path]


def _read(path: Path) -> Source:
    try:
        return Source(path.read_text("utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
        shown = str(path)[:200]
        by_text = 'a text needs its language: load(text, language="tesla")'
        problem = Problem(
            "UNKNOWN_NAME",
            f"rules cannot be read from {shown}: {reason}",
            expected="a file of UTF-8 text",
            hint="look at the path and the file" if path.suffix else by_text,
        )
        raise RuleError([problem]) from None


def _language(name: str) -> Language:
    if name not in LANGUAGES:
        raise RuleError(
            [
                Problem(
                    "UNKNOWN_LANGUAGE",
                    f"language must be one of {', '.join(LANGUAGES)}; got {name}",
                    hint=did_you_mean(name, LANGUAGES),
                )
            ]
        )
    return LANGUAGES[name]


def _language_of(path: Path) -> Language:
    for language in LANGUAGES.values():
        if path.suffix == language.ending:
            return language
    endings = ", ".join(language.ending for language in LANGUAGES.values())
    meant = LANGUAGES.get(path.suffix.removeprefix("."))
    change = f"call it {path.stem}{meant.ending}" if meant else "rename the file"
    name = meant.name if meant else "tesla"
    raise RuleError(
        [
            Problem(
                "UNKNOWN_LANGUAGE",
                f"the language of {path} must follow from its ending, one of {endings}",
                hint=f"{change}, or name the language: "
                f'load(Path("…"), language="{name}"), or --language {name} in a terminal',
            )
        ]
    )


def _named(rules: list[Rule]) -> list[Rule]:
    """Rules that are only called like their output get a number when there are several."""
    taken: dict[str, int] = {}
    named = []
    for rule in rules:
        taken[rule.name] = count = taken.get(rule.name, 0) + 1
        if count > 1 and rule.name == rule.output.type:
            named.append(replace(rule, name=f"{rule.name}_{count}"))
        else:
            named.append(rule)
    return named
