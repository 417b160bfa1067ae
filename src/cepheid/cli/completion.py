"""`cepheid completion`: a script that lets a shell complete commands, options and values.

The script is made from the commands themselves, so that it knows what they know.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from cepheid.spark.project import OPTIONS

COMPLETION_HELP = """\
examples:
  source <(cepheid completion bash)                                  in this bash
  cepheid completion bash > ~/.local/share/bash-completion/completions/cepheid
  cepheid completion zsh > ~/.zfunc/_cepheid                         with ~/.zfunc in fpath
  cepheid completion fish > ~/.config/fish/completions/cepheid.fish
"""


@dataclass(frozen=True)
class Flag:
    """An option: its spellings, what it is for, whether it takes a value, and which."""

    names: tuple[str, ...]
    about: str
    valued: bool
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Command:
    """A command: its name, what it is for, its options and the words that may follow."""

    name: str
    about: str
    flags: tuple[Flag, ...]
    words: tuple[str, ...]


def add_completion(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """The command and its arguments."""
    command = commands.add_parser(
        "completion",
        help="print a script that completes commands in your shell",
        epilog=COMPLETION_HELP,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    command.add_argument("shell", choices=list(SHELLS))
    command.set_defaults(run=lambda options: completion_command(options, commands))


def completion_command(
    options: argparse.Namespace,
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
) -> int:
    """Print the script of a shell."""
    print("\n".join(SHELLS[options.shell](list(_commands(commands)))))
    return 0


def _commands(action: argparse._SubParsersAction[argparse.ArgumentParser]) -> Iterator[Command]:
    about = {one.dest: one.help or "" for one in action._choices_actions}
    for name, parser in action.choices.items():
        flags: list[Flag] = []
        words: list[str] = []
        for one in parser._actions:
            choices = tuple(map(str, one.choices or _settings(name, one.dest)))
            if one.option_strings:
                names = tuple(one.option_strings)
                flags.append(Flag(names, _plain(one.help), one.nargs != 0, choices))
            else:
                words += choices
        yield Command(name, _plain(about.get(name)), tuple(flags), tuple(words))


def _settings(command: str, name: str) -> tuple[str, ...]:
    """The values of a setting of a job, which may also stand in a file and are checked later."""
    known = OPTIONS.get(name) if command == "run" else None
    return known.choices if known else ()


def _plain(about: str | None) -> str:
    return (about or "").replace("%%", "%")


# --- bash -----------------------------------------------------------------------------------


def _bash(commands: list[Command]) -> Iterator[str]:
    yield "# completion of cepheid for bash; source it, or put it where bash looks for such files"
    yield "_cepheid() {"
    yield '  local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"'
    yield '  local command="${COMP_WORDS[1]}"'
    yield "  COMPREPLY=()"
    yield "  if ((COMP_CWORD == 1)); then"
    names = " ".join(command.name for command in commands)
    yield f'    COMPREPLY=($(compgen -W "{names} --help --version" -- "$word"))'
    yield "    return"
    yield "  fi"
    yield '  case "$command $before" in'
    for command in commands:
        yield from _bash_values(command)
    yield "  esac"
    yield '  case "$command" in'
    for command in commands:
        flags = " ".join(name for flag in command.flags for name in flag.names)
        yield f"    {command.name})"
        yield f'      if [[ $word == -* ]]; then COMPREPLY=($(compgen -W "{flags}" -- "$word"))'
        if command.words:
            words = " ".join(command.words)
            yield f'      else COMPREPLY=($(compgen -W "{words}" -- "$word"))'
        yield "      fi ;;"
    yield "  esac"
    yield "}"
    yield "# Where nothing is proposed, bash proposes files."
    yield "complete -o default -F _cepheid cepheid"


def _bash_values(command: Command) -> Iterator[str]:
    """What may follow an option; after one that takes any value, files are proposed."""
    for flag in command.flags:
        if flag.valued:
            cases = "|".join(f'"{command.name} {name}"' for name in flag.names)
            words = " ".join(flag.choices)
            found = f'COMPREPLY=($(compgen -W "{words}" -- "$word")); ' if words else ""
            yield f"    {cases}) {found}return ;;"


# --- zsh ------------------------------------------------------------------------------------


def _zsh(commands: list[Command]) -> Iterator[str]:
    yield "#compdef cepheid"
    yield "# completion of cepheid for zsh; put it as _cepheid into a folder of fpath"
    yield "_cepheid() {"
    yield "  local -a commands"
    yield "  commands=("
    for command in commands:
        yield f"    {_quoted(f'{command.name}:{command.about}')}"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then"
    yield "    _describe 'command' commands"
    yield "    return"
    yield "  fi"
    yield "  local command=$words[2]"
    yield "  shift words; (( CURRENT-- ))"
    yield "  case $command in"
    for command in commands:
        yield f"    {command.name})"
        yield "      _arguments -s \\"
        for flag in command.flags:
            for name in flag.names:
                yield f"        {_quoted(_zsh_flag(name, flag))} \\"
        rest = f"*:word:({' '.join(command.words)})" if command.words else "*:file:_files"
        yield f"        {_quoted(rest)} ;;"
    yield "  esac"
    yield "}"
    yield 'if [[ $zsh_eval_context[-1] == loadautofunc ]]; then _cepheid "$@"'
    yield "else compdef _cepheid cepheid; fi"


def _zsh_flag(name: str, flag: Flag) -> str:
    about = "".join(f"\\{sign}" if sign in "[]:\\" else sign for sign in flag.about)
    value = ""
    if flag.valued:
        value = f":value:({' '.join(flag.choices)})" if flag.choices else ":value:_files"
    return f"*{name}[{about}]{value}"


# --- fish -----------------------------------------------------------------------------------


def _fish(commands: list[Command]) -> Iterator[str]:
    yield "# completion of cepheid for fish; put it into ~/.config/fish/completions/cepheid.fish"
    begin = "complete -c cepheid -n __fish_use_subcommand -f"
    for command in commands:
        yield f"{begin} -a {command.name} -d {_fish_quoted(command.about)}"
    for command in commands:
        seen = f"complete -c cepheid -n '__fish_seen_subcommand_from {command.name}'"
        if command.words:
            yield f"{seen} -f -a {_fish_quoted(' '.join(command.words))}"
        for flag in command.flags:
            yield f"{seen} {_fish_flag(flag)}"


def _fish_flag(flag: Flag) -> str:
    names = [
        f"-l {name.removeprefix('--')}" if name.startswith("--") else f"-s {name[1:]}"
        for name in flag.names
    ]
    value = ""
    if flag.valued:
        value = f" -x -a {_fish_quoted(' '.join(flag.choices))}" if flag.choices else " -r"
    return f"{' '.join(names)}{value} -d {_fish_quoted(flag.about)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: dict[str, Callable[[list[Command]], Iterator[str]]] = {
    "bash": _bash,
    "zsh": _zsh,
    "fish": _fish,
}
"""The shells, with what writes their scripts."""
