"""The command `cepheid`: check rules, explain them, run their tests."""

from cepheid.cli.main import main

__all__ = ["main"]
