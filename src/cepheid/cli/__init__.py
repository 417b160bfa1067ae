"""The command `cepheid`: check rules, explain them, run their tests, run them over events."""

from cepheid.cli.main import main

__all__ = ["main"]
