"""The command `cepheid`: check rules, run their tests."""

from cepheid.cli.main import main

__all__ = ["main"]
