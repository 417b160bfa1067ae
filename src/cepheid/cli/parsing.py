"""How arguments are read: as argparse does, with a hint wherever a word is almost right."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from cepheid.errors import did_you_mean


class Parser(argparse.ArgumentParser):
    """A parser whose commands tell of their own wrong arguments, and what was meant.

    >>> parser = Parser(prog="cepheid")
    >>> _ = parser.add_argument("--narrow", action="store_true")
    >>> parser.parse_args(["--narow"])
    Traceback (most recent call last):
    ...
    SystemExit: 2
    """

    def parse_known_args(  # type: ignore[override]  # argparse overloads it
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """Read the arguments; one that is left over is an error of the command that it was for."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{self._meant(unknown)}")
        return found, unknown

    def _meant(self, unknown: Sequence[str]) -> str:
        """A hint for the first option that nobody knows."""
        option = next((word.partition("=")[0] for word in unknown if word.startswith("--")), None)
        known = [name for name in self._option_string_actions if name.startswith("--")]
        return _hint(did_you_mean(option, known)) if option else ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:  # noqa: ANN401 (argparse)
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            known = [str(choice) for choice in action.choices or ()]
            raise argparse.ArgumentError(
                action, f"{error.message}{_hint(did_you_mean(str(value), known))}"
            ) from None


def _hint(text: str) -> str:
    return f"\n\nhint: {text}" if text.startswith("did you mean") else ""
