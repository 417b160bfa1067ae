"""Causes: what went wrong in a job, in a sentence, out of what Spark says of it.

An error in a worker comes back as a text with the traces of Python and Java around it. What our
own errors say is taken out of it whole; of others, the innermost cause.
"""

from __future__ import annotations

import re

_JAVA = (
    r"\n\s*(?:at [\w.$/@-]+\(|at \[Source|\tat |\.\.\. \d+ more|Driver stacktrace|Caused by: "
    r"|SQLSTATE: )"
)
_OWN = re.compile(rf"cepheid\.errors\.(\w+): (.*?)(?={_JAVA}|\n\nDuring handling|\Z)", re.DOTALL)
_PYTHON = re.compile(
    r"Traceback \(most recent call last\):\n(?:(?: .*| *)\n)+(?!py4j\.)([\w.]+(?:: (?:.*))?)"
    r"(?=\n|\Z)"
)
_LINKED = re.compile(
    r"java\.lang\.((?:NoSuchMethod|NoSuchField|AbstractMethod|NoClassDefFound|"
    r"IncompatibleClassChange)Error): (.+)"
)
_CAUSED = re.compile(r"^(?:Caused by)?: (?!py4j\.)([\w.$]+)(?:: (.+))?$", re.MULTILINE)
"""A cause in Java's words; the outermost one comes without these two where Python tells of it."""
_STREAM = re.compile(
    r"\[STREAM_FAILED\] Query \[[^]]*\] terminated with exception: |\n=== Streaming Query ===.*"
    r"| SQLSTATE: \w+",
    re.DOTALL,
)
_UNREAD = re.compile(
    r"CANNOT_LOAD_STATE_STORE|Failed to read log file|StreamReadFeature"
    r"|RocksDBException: .*(?:[Cc]orrupt|checksum|mismatch)"
)
"""What Spark says where it cannot read a checkpoint."""
_HINTS = (
    (
        re.compile(r'filter them out, or ask for them: detect\(events, outputs="all"\)'),
        "--dead-letter PATH puts them aside",
    ),
    (re.compile(r'detect\(events, (\w+)="([^"]*)"\)'), r"--\1 \2"),
    (re.compile(r'such as unit="(\w+)"'), r"such as --unit \1"),
)
_LIMIT = 2000


def cause_of(error: BaseException | str) -> str:
    """What went wrong, without the traces.

    >>> cause_of("a b\\ncepheid.errors.EventError: a row is no event\\n\\tat x.Y(Z.java:1)")
    'a row is no event'
    """
    notes = getattr(error, "__notes__", ())
    if notes:
        return in_commands("\n".join(notes))
    text = str(error)
    own = _OWN.findall(text)
    if own:
        return in_commands(own[-1][1].strip())
    if _UNREAD.search(text):
        return _not_read(text)
    python = _PYTHON.findall(text)
    if python:
        return str(python[-1])[:_LIMIT]
    linked = _LINKED.findall(text)
    if linked:
        return _not_linked(*linked[-1])
    return _innermost(text) or type(error).__name__


def _innermost(text: str) -> str:
    """The cause that Java names last, or the beginning of what it says."""
    caused = _CAUSED.findall(text)
    if caused:
        name, told = caused[-1]
        short = name.rpartition(".")[2]
        return _STREAM.sub("", f"{short}: {told}" if told else short)[:_LIMIT]
    first = re.split(rf"{_JAVA}|\n+JVM stacktrace|;\n", _STREAM.sub("", text))[0].strip()
    return in_commands(first[:_LIMIT])


def _not_read(text: str) -> str:
    """State or a log of a stream that Spark cannot read."""
    return (
        f"the checkpoint must be as Spark wrote it; it cannot be read: {_innermost(text)[:400]}"
        "\n\nhint: if it is damaged, restore it from a copy, or begin a new one"
    )


def _not_linked(name: str, told: str) -> str:
    """Jars that do not go together."""
    return (
        f"jars must be made for the Spark that is installed, and one is not: {name}: "
        f"{told[:300]}\n\n"
        "hint: --packages and --jars with the version for this Spark, or another version of Spark"
    )


def in_commands(text: str) -> str:
    """A message of ours, with hints for the command line instead of for Python.

    >>> in_commands('hint: say which, such as unit="ms"')
    'hint: say which, such as --unit ms'
    """
    for pattern, instead in _HINTS:
        text = pattern.sub(instead, text)
    return text
