"""A real browser for tests of pages: Chromium without a window, spoken to through two pipes.

It speaks the protocol that developer tools speak: a JSON text for each message, ended by a zero.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PATIENCE = 60.0
"""How many seconds a browser may think about an answer."""


def find_browser() -> str | None:
    """The browser that `CEPHEID_BROWSER` names, or one that is installed."""
    named = os.environ.get("CEPHEID_BROWSER")
    if named:
        return shutil.which(named)
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Tab:
    """A page in the browser."""

    def __init__(self, read: int, write: int) -> None:
        self._read, self._write, self._number, self._left = read, write, 0, b""
        self._session: str | None = None
        self.notes: list[dict[str, Any]] = []
        """What the browser said by itself: errors, requests."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        attached = self.call("Target.attachToTarget", targetId=target, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
        """Ask the browser something, and wait for the answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while (answer := self._next()).get("id") != self._number:
            self.notes.append(answer)
        if "error" in answer:
            raise AssertionError(f"{method}: {answer['error']}")
        found: dict[str, Any] = answer["result"]
        return found

    def _next(self) -> dict[str, Any]:
        limit = time.monotonic() + _PATIENCE
        while b"\0" not in self._left:
            ready, _, _ = select.select([self._read], [], [], max(0.0, limit - time.monotonic()))
            data = os.read(self._read, 1 << 20) if ready else b""
            if not data:
                raise AssertionError("the browser does not answer")
            self._left += data
        text, _, self._left = self._left.partition(b"\0")
        found: dict[str, Any] = json.loads(text)
        return found

    def open(self, path: Path, *, address: str = "", width: int = 1280, height: int = 900) -> None:
        """Show a file, and wait until its script is done with its first picture."""
        self.notes.clear()
        self.resize(width, height)
        self.call("Page.navigate", url=path.absolute().as_uri() + address)
        self.wait("document.readyState === 'complete' && document.URL !== 'about:blank'")
        self.wait("!document.getElementById('data') || document.documentElement.dataset.ready")

    def resize(self, width: int, height: int) -> None:
        """Make the window so large."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def run(self, script: str) -> Any:  # noqa: ANN401 (JSON)
        """The value of an expression in the page."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        if "exceptionDetails" in found:
            raise AssertionError(found["exceptionDetails"])
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until something holds in the page."""
        limit = time.monotonic() + _PATIENCE
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < limit, f"in vain: {condition}"
            self.run("new Promise(requestAnimationFrame) && 0")

    def settle(self) -> None:
        """Until what was asked to be drawn is drawn."""
        script = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        self.call("Runtime.evaluate", expression=script, awaitPromise=True)

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:  # noqa: ANN401 (JSON)
        """Something that the mouse does."""
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x: float, y: float) -> None:
        """Press and let go of the left button."""
        self.drag(x, y, x, y)

    def drag(self, x: float, y: float, to_x: float, to_y: float) -> None:
        """Hold the left button from one place to another."""
        held = {"button": "left", "buttons": 1, "clickCount": 1}
        self.mouse("mousePressed", x, y, **held)
        if (x, y) != (to_x, to_y):
            self.mouse("mouseMoved", (x + to_x) / 2, (y + to_y) / 2, **held)
            self.mouse("mouseMoved", to_x, to_y, **held)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1)
        self.settle()

    def press(self, key: str, code: int = 0) -> None:
        """Press a key."""
        text = {"text": key} if len(key) == 1 else {}
        named = {"key": key, "windowsVirtualKeyCode": code or ord(key[0])}
        self.call("Input.dispatchKeyEvent", type="keyDown", **named, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)
        self.settle()

    def picture(self, path: Path | None = None) -> bytes:
        """What is seen, as a PNG."""
        found = base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])
        if path is not None:
            path.write_bytes(found)
        return found

    def complaints(self) -> list[str]:
        """Errors of the page's script or policy, and everything that it asked the network for."""
        found = []
        for note in self.notes:
            told = json.dumps(note.get("params", {}))
            if note.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                found.append(told[:500])
            request = note.get("params", {}).get("request", {}).get("url", "")
            if note.get("method") == "Network.requestWillBeSent" and request[:5] != "file:":
                found.append(request)
        return found


@contextlib.contextmanager
def browsing(program: str) -> Iterator[Tab]:
    """A browser with one page, for a while."""
    to_read, to_write = os.pipe()
    from_read, from_write = os.pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # The browser reads messages from its third and writes them to its fourth file.
        command = ["bash", "-c", f'exec "$@" 3<&{to_read} 4>&{from_write}', "bash", program]
        command += ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += ["--hide-scrollbars", "--no-first-run", "--disable-extensions"]
        command += ["--disable-background-networking", f"--user-data-dir={folder}"]
        command += ["--remote-debugging-pipe", "about:blank"]
        files = (to_read, from_write)
        process = subprocess.Popen(
            command, pass_fds=files, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        for file in files:
            os.close(file)
        try:
            yield Tab(from_read, to_write)
        finally:
            process.terminate()
            process.wait(_PATIENCE)
            os.close(to_write)
            os.close(from_read)
