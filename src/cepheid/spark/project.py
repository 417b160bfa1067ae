"""Projects: the settings of a job, from the command line and from a file `cepheid.yml`.

Both have the same names; what the command line says wins. Spark is not imported here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from cepheid.errors import ProjectError, did_you_mean

FILE = "cepheid.yml"
"""The project file that is read when it is there."""
SIZE_LIMIT = 1 << 16
"""The largest project file, in bytes."""
FILES = ("parquet", "json", "csv")
"""The formats of plain files."""
INPUTS = (*FILES, "delta", "kafka")
READERS = ("spark", "native")
FILES_PER_BATCH = "maxFilesPerTrigger"
"""The option of Spark's reader that the native one knows too."""
OUTPUTS = (*FILES, "delta", "kafka", "console")
PROGRESS = ("auto", "line", "json", "none")


@dataclass(frozen=True)
class Option:
    """A setting: its kind, what stands for its value in the help, and what it is for.

    Kinds are `text`, `path`, `paths`, `names` (texts parted by commas), `number`, `flag`, `pairs`
    (key=value, in a file a mapping) and `choice`.
    """

    kind: str
    shown: str
    about: str
    choices: tuple[str, ...] = ()


OPTIONS: dict[str, Option] = {
    "rules": Option("paths", "RULES", "files or folders with rules"),
    "language": Option("text", "NAME", "the language of the rules, instead of the file's ending"),
    "schema": Option("path", "FILE", "a file that declares the event types"),
    "input": Option("path", "PATH", "the events: files, a folder, or kafka://HOST:PORT/TOPIC"),
    "format": Option("choice", "FORMAT", "the format of the events", INPUTS),
    "reader": Option("choice", "HOW", "native: parquet past the JVM", READERS),
    "columns": Option("text", "DDL", 'the columns of the events: "type string, ts timestamp, …"'),
    "input_option": Option("pairs", "KEY=VALUE", "an option of Spark's reader"),
    "time": Option("text", "COLUMN", "the column with the time of an event (ts)"),
    "type": Option("text", "COLUMN", "the column with the type of an event (type)"),
    "unit": Option("text", "UNIT", "what integers in the column of time count: us, ms, s, …"),
    "narrow": Option("flag", "", "read only the columns that rules use; ids are made of these"),
    "output": Option("path", "PATH", "where composite events go"),
    "output_format": Option("choice", "FORMAT", "the format of all outputs", OUTPUTS),
    "output_option": Option("pairs", "KEY=VALUE", "an option of Spark's writer"),
    "overwrite": Option("flag", "", "replace an output that is there (batch)"),
    "dead_letter": Option("path", "PATH", "where rows go that are no events, with the reason"),
    "late": Option("path", "PATH", "where events go that came too late (stream)"),
    "stream": Option("flag", "", "go on with new events as they come"),
    "checkpoint": Option("path", "PATH", "where a stream keeps its state (OUTPUT/_checkpoint)"),
    "available_now": Option("flag", "", "take what is there, in several batches, and end"),
    "trigger": Option("text", "TIME", 'how often a batch begins, such as "10 s"'),
    "policy": Option("text", "POLICY", "guaranteed, best_effort, or probable(0.95)"),
    "delay": Option("text", "TIME", "how much older than the newest an event may be"),
    "sources": Option("names", "NAMES", "sources of events that are waited for"),
    "heartbeats": Option("names", "TYPES", "types of events that only tell the time"),
    "idle": Option("text", "TIME", "after this, a source that is silent is not waited for"),
    "until": Option("text", "TIME", "let time go on to this after the last event (batch)"),
    "changes": Option("path", "FOLDER", "rules that come and go while a stream runs"),
    "key": Option("text", "ATTRIBUTE", "by what events are spread where rules change"),
    "refused": Option("path", "PATH", "where changes of rules go that were not taken (stream)"),
    "failures": Option("flag", "", "give the failure events of runs as well"),
    "shards": Option("number", "N", "over how many shards keyed rules are spread"),
    "progress": Option("choice", "HOW", "auto, line, json (one line a batch) or none", PROGRESS),
    "verbose": Option("flag", "", "show Spark's own messages and whole stack traces"),
}
"""The settings of a job by name."""

SUBMIT: dict[str, Option] = {
    "master": Option(
        "text", "URL", "where to run: local[*] (the default), spark://…, yarn, k8s://…"
    ),
    "remote": Option("text", "URL", "a server of Spark Connect instead, sc://HOST:PORT (batch)"),
    "conf": Option("pairs", "KEY=VALUE", "a setting of Spark"),
    "packages": Option("names", "COORDINATES", "packages from Maven; Kafka's comes by itself"),
    "load_spark_defaults": Option("flag", "", "see spark-submit"),
    **{
        name: Option("text", "VALUE", "see spark-submit")
        for name in (
            *("deploy_mode", "name", "jars", "exclude_packages", "repositories", "py_files"),
            *("files", "archives", "properties_file", "driver_memory", "driver_java_options"),
            *("driver_library_path", "driver_class_path", "driver_cores", "executor_memory"),
            *("executor_cores", "total_executor_cores", "num_executors", "queue", "principal"),
            *("keytab", "proxy_user"),
        )
    },
}
"""What is handed on to spark-submit."""


@dataclass(frozen=True)
class Project:
    """The settings of a job; None stands for what was not said."""

    rules: tuple[str, ...] = ()
    language: str | None = None
    schema: str | None = None
    input: str | None = None
    format: str | None = None
    reader: str | None = None
    columns: str | None = None
    input_option: Mapping[str, str] = field(default_factory=dict)
    time: str | None = None
    type: str | None = None
    unit: str | None = None
    narrow: bool | None = None
    output: str | None = None
    output_format: str | None = None
    output_option: Mapping[str, str] = field(default_factory=dict)
    overwrite: bool | None = None
    dead_letter: str | None = None
    late: str | None = None
    stream: bool | None = None
    checkpoint: str | None = None
    available_now: bool | None = None
    trigger: str | None = None
    policy: str | None = None
    delay: str | None = None
    sources: tuple[str, ...] = ()
    heartbeats: tuple[str, ...] = ()
    idle: str | None = None
    until: str | None = None
    changes: str | None = None
    key: str | None = None
    refused: str | None = None
    failures: bool | None = None
    shards: int | None = None
    progress: str | None = None
    verbose: bool | None = None
    submit: Mapping[str, Any] = field(default_factory=dict)
    """What is handed on to spark-submit, by name."""


_KNOWN = {**OPTIONS, **SUBMIT}
_STREAM_ONLY = (
    *("checkpoint", "available_now", "trigger", "late", "policy", "delay", "sources", "idle"),
    *("changes", "key", "refused"),
)
_BATCH_ONLY = ("until", "overwrite")


# --- where settings come from ---------------------------------------------------------------


def project_of(given: Mapping[str, Any], file: Path | None) -> Project:
    """The project that a command line and a file stand for, checked.

    Without a file, `cepheid.yml` in the current folder is read if it is there.
    """
    own = {name: value for name, value in given.items() if value not in (None, (), [], {})}
    if file is None and Path(FILE).is_file():
        file = Path(FILE)
    settings = {} if file is None else read_project(file)
    for name, value in own.items():
        known = _KNOWN[name]
        checked = read_value(f"--{name.replace('_', '-')}", known, value)
        if known.kind == "pairs":
            checked = {**settings.get(name, {}), **checked}
        settings[name] = checked
    return checked_project(_made(settings))


def _made(settings: Mapping[str, Any]) -> Project:
    own = {name: value for name, value in settings.items() if name in OPTIONS}
    submit = {name: value for name, value in settings.items() if name in SUBMIT}
    return Project(**own, submit=submit)


def read_project(file: Path) -> dict[str, Any]:
    """The settings of a project file; paths in it start from its folder."""
    found = _read_yaml(file)
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise ProjectError(
            f"{file} must hold settings such as 'input: events/'; got {_kind(found)}"
        )
    settings: dict[str, Any] = {}
    for key, value in found.items():
        name = str(key).replace("-", "_")
        if name not in _KNOWN:
            near = did_you_mean(name, _KNOWN) or "see docs/run.md for all settings"
            raise ProjectError(
                f"{file} has a setting {str(key)[:80]} that is not known\n\nhint: {near}"
            )
        if value is not None:
            option = _KNOWN[name]
            settings[name] = _placed(option, read_value(f"{file}: {name}", option, value), file)
    return settings


def _read_yaml(file: Path) -> object:
    try:
        import yaml  # type: ignore[import-untyped]  # it has no types
    except ImportError:
        raise ProjectError(
            f"{file} cannot be read without PyYAML\n\nhint: pip install 'cepheid[spark]'"
        ) from None
    try:
        with file.open("rb") as stream:
            text = stream.read(SIZE_LIMIT + 1)
    except OSError as error:
        raise ProjectError(f"project file {file} cannot be read: {error.strerror}") from None
    if len(text) > SIZE_LIMIT:
        raise ProjectError(f"project file {file} must have at most {SIZE_LIMIT} bytes")
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise ProjectError(f"project file {file} is not YAML: {reason}") from None


def _placed(option: Option, value: Any, file: Path) -> Any:  # noqa: ANN401 (of its kind)
    """A value whose paths start from the folder of the file that has them."""
    if option.kind == "path":
        return _path(value, file.parent)
    if option.kind == "paths":
        return tuple(_path(path, file.parent) for path in value)
    return value


def _path(path: str, folder: Path) -> str:
    return path if has_scheme(path) else str(folder / path)


def has_scheme(path: str) -> bool:
    """Whether a path says in which file system it is, or what else.

    >>> has_scheme("s3://bucket/events"), has_scheme("events/")
    (True, False)
    """
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://?", path) is not None


# --- values ---------------------------------------------------------------------------------


def read_value(where: str, option: Option, value: object) -> Any:  # noqa: ANN401 (of its kind)
    """The value of a setting, of the kind that it must have."""
    match option.kind:
        case "flag":
            return _wanted(where, value, bool, "true or false")
        case "number":
            return _number(where, value)
        case "pairs":
            return _pairs(where, value)
        case "names" | "paths":
            return _several(where, value, commas=option.kind == "names")
        case "choice" if value not in option.choices:
            near = did_you_mean(str(value), option.choices)
            raise _refused(where, f"one of {', '.join(option.choices)}", value, near)
        case _:
            return _text(where, value)


def _text(where: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _refused(where, "a text", value)
    return str(value)


def _wanted(where: str, value: object, type_: type, what: str) -> object:
    if not isinstance(value, type_):
        raise _refused(where, what, value)
    return value


def _number(where: str, value: object) -> int:
    if isinstance(value, bool) or not re.fullmatch(r"\d{1,9}", str(value)) or int(str(value)) < 1:
        raise _refused(where, "a number of at least 1", value)
    return int(str(value))


def _several(where: str, value: object, *, commas: bool) -> tuple[str, ...]:
    values = value if isinstance(value, list | tuple) else [value]
    texts = [_text(where, one) for one in values]
    if commas:
        texts = [part.strip() for text in texts for part in text.split(",")]
    return tuple(text for text in texts if text)


def _pairs(where: str, value: object) -> dict[str, str]:
    if isinstance(value, dict):
        return {str(key): _setting(where, own) for key, own in value.items()}
    pairs = value if isinstance(value, list | tuple) else [value]
    found = {}
    for pair in pairs:
        key, equals, own = str(pair).partition("=")
        if not equals or not key:
            raise _refused(where, "KEY=VALUE", pair)
        found[key.strip()] = own.strip()
    return found


def _setting(where: str, value: object) -> str:
    """A value of Spark as it writes it: true and false in small letters."""
    return str(value).lower() if isinstance(value, bool) else _text(where, value)


def _refused(where: str, what: str, value: object, hint: str = "") -> ProjectError:
    told = f"\n\nhint: {hint}" if hint else ""
    shown = value if isinstance(value, str) else _kind(value)
    return ProjectError(f"{where} must be {what}; got {str(shown)[:80]}{told}")


def _kind(value: object) -> str:
    return {dict: "a mapping", list: "a list", bool: str(value).lower()}.get(
        type(value), str(value)
    )


# --- what fits together ---------------------------------------------------------------------


def checked_project(project: Project) -> Project:
    """The project with its formats, if everything fits together."""
    if not project.rules:
        raise ProjectError(
            "rules must be named\n\nhint: cepheid run fire.tesla --input events/ --output fires/"
        )
    if project.input is None:
        raise ProjectError("--input must say where the events are")
    project = replace(
        project,
        format=project.format or format_of(project.input),
        output_format=project.output_format or format_of(project.output or ""),
    )
    if project.output is None and project.output_format != "console":
        raise ProjectError(
            "--output must say where composite events go\n\n"
            "hint: --output-format console shows them"
        )
    _check_mode(project)
    _check_formats(project)
    return project


def format_of(path: str) -> str:
    """The format that a path speaks of; parquet when it does not.

    >>> format_of("events/day.jsonl"), format_of("kafka://localhost:9092/events")
    ('json', 'kafka')
    """
    if path.startswith("kafka://"):
        return "kafka"
    ending = path.removesuffix(".gz").rpartition(".")[2].lower()
    return {"json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv"}.get(ending, "parquet")


def _check_mode(project: Project) -> None:
    wrong = _BATCH_ONLY if project.stream else _STREAM_ONLY
    for name in wrong:
        if getattr(project, name) not in (None, (), False):
            option = f"--{name.replace('_', '-')}"
            if project.stream:
                raise ProjectError(f"{option} must go with a batch; got --stream")
            raise ProjectError(
                f"{option} must go with --stream\n\nhint: add --stream, or leave it out"
            )
    if project.changes is None and (project.key or project.refused):
        raise ProjectError("--key and --refused must go with --changes")
    if project.trigger and project.available_now:
        raise ProjectError("--trigger and --available-now must not go together")
    if project.submit.get("deploy_mode", "client") != "client":
        raise ProjectError(
            "--deploy-mode must be client: the driver is this process\n\n"
            "hint: for a driver on the cluster, give spark-submit a script that calls rules.detect"
        )
    if "remote" in project.submit:
        _check_remote(project)


def _check_remote(project: Project) -> None:
    """What a server of Spark Connect has is its own."""
    url = str(project.submit["remote"])
    if not url.startswith("sc://"):
        raise ProjectError(f"--remote must be sc://HOST:PORT; got {url.partition('/;')[0][:80]}")
    if project.stream:
        raise ProjectError(
            "--stream must go with --master: a stream is written and watched by its driver, "
            "which is not here with --remote\n\n"
            "hint: rules.detect(...).writeStream runs a stream on the server"
        )
    others = sorted(project.submit.keys() - {"remote", "conf"})
    if others:
        raise ProjectError(
            f"--{others[0].replace('_', '-')} must go with --master; a server that runs already "
            "has its own\n\nhint: leave it out, or start the server with it"
        )


def _check_formats(project: Project) -> None:
    if project.format == "kafka" and not project.stream:
        raise ProjectError("--format kafka must go with --stream\n\nhint: --stream --available-now")
    for name in ("input", "output"):
        path = getattr(project, name)
        own = project.format if name == "input" else project.output_format
        if path and (own == "kafka") != path.startswith("kafka://"):
            raise ProjectError(
                f"--{name} and its format must both be of Kafka or none; got {path} and {own}\n\n"
                f"hint: --{name} kafka://HOST:PORT/TOPIC"
            )
    if project.reader == "native":
        _check_native(project)
    if project.stream and project.output_format == "kafka" and not project.checkpoint:
        raise ProjectError("--checkpoint must be given where the output is no folder")


def _check_native(project: Project) -> None:
    if project.format != "parquet":
        raise ProjectError(
            f"--reader native must go with parquet; got {project.format}\n\nhint: leave it out"
        )
    others = [name for name in project.input_option if name != FILES_PER_BATCH]
    if others:
        raise ProjectError(
            f"--input-option {others[0]} is one of Spark's own reader, and must not go with "
            "--reader native\n\nhint: leave out one of them"
        )


assert {item.name for item in fields(Project)} == {*OPTIONS, "submit"}  # noqa: S101 (one list)
