"""Java, on which Spark runs: whether there is one, and what to install if not.

python -m cepheid.spark.java      tell, and fail if there is none
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from cepheid.errors import ProjectError

JAVA = 17
"""The oldest Java that Spark runs on."""
_INSTALL = """\
hint: install one, or set JAVA_HOME to one that is there
  Debian, Ubuntu   apt install openjdk-17-jre-headless
  Fedora, RHEL     dnf install java-17-openjdk-headless
  macOS            brew install openjdk@17
  conda            conda install -c conda-forge openjdk=17"""


def check_java() -> None:
    """Raise unless there is a Java that Spark runs on."""
    java = java_command()
    if java is None:
        raise ProjectError(f"Spark needs Java {JAVA} or later; there is none\n\n{_INSTALL}")
    told = _java_version(java)
    version = java_release(told)
    if version is None:
        raise ProjectError(f"Spark needs Java {JAVA} or later; {java} does not run\n\n{_INSTALL}")
    if version < JAVA:
        raise ProjectError(
            f"Spark needs Java {JAVA} or later; {java} is Java {version}\n\n{_INSTALL}"
        )


def java_command() -> str | None:
    """The Java that Spark will use: that of JAVA_HOME, or the one on the path."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home) / "bin" / "java") if home else shutil.which("java")


def _java_version(java: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 (the user's own Java)
            [java, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout


def java_release(told: str) -> int | None:
    """The release that `java -version` tells.

    >>> java_release('openjdk version "17.0.15" 2025-04-15'), java_release('java version "1.8.0"')
    (17, 8)
    """
    found = re.search(r'version "(?:1\.)?(\d+)', told)
    return int(found[1]) if found else None


if __name__ == "__main__":
    try:
        check_java()
    except ProjectError as error:
        sys.exit(f"error: {error}")
