"""The system's Firefox, driven by its own protocol (Marionette): no driver between, and nothing to download."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from acceptance.browsers import TIMEOUT_MS
from acceptance.servers import free_port

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
KEYS = {"Tab": "\ue004", "Enter": "\ue007", "ArrowRight": "\ue014", "End": "\ue010", "Home": "\ue011"}
_PREFERENCES: dict[str, Any] = {
    "app.update.enabled": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.startup.homepage_override.mstone": "ignore",
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    # A headless browser has no window manager that would focus it.
    "focusmanager.testmode": True,
}
_SCHEME = "layout.css.prefers-color-scheme.content-override"
_OPTIONS = ("--headless", "--no-remote", "--marionette", "--remote-allow-system-access")
_OFTEN_S = 0.05


class MarionetteError(Exception):
    """What the browser answers to a command that failed."""


class Firefox:
    """A window of a headless Firefox with a profile of its own."""

    def __init__(self, port: int) -> None:
        self._socket = _connect(port)
        self._stream = self._socket.makefile("rb")
        self._number = 0
        self._read()  # how the browser greets
        self._send("WebDriver:NewSession", {})
        self._send("WebDriver:SetTimeouts", {"script": TIMEOUT_MS, "pageLoad": TIMEOUT_MS})

    def open(self, address: str) -> None:
        """Go to an address, and wait until it is loaded."""
        self._send("WebDriver:Navigate", {"url": address})

    def run(self, script: str) -> Any:
        """Run the body of an async function in the page, and return what it returns."""
        ending = "then(end, (error) => end({failure: String(error)}))"
        wrapped = f"const end = arguments[0]; (async () => {{{script}}})().{ending};"
        found = self._send("WebDriver:ExecuteAsyncScript", {"script": wrapped, "args": [], "sandbox": None})["value"]
        if isinstance(found, dict) and set(found) == {"failure"}:
            raise MarionetteError(found["failure"])
        return found

    def press(self, key: str) -> None:
        """Press a key and let it go."""
        strokes = [{"type": kind, "value": KEYS[key]} for kind in ("keyDown", "keyUp")]
        self._send("WebDriver:PerformActions", {"actions": [{"type": "key", "id": "keys", "actions": strokes}]})

    def resize(self, width: int, height: int) -> None:
        """Make what shows pages so large: a window has a least width."""
        styles = "".join(
            f"style.{least}{side} = '{size}px';"
            for side, size in (("Width", width), ("Height", height))
            for least in ("min", "max")
        )
        self._send("Marionette:SetContext", {"value": "chrome"})
        script = f"const {{style}} = gBrowser.selectedBrowser; {styles}"
        self._send("WebDriver:ExecuteScript", {"script": script, "args": []})
        self._send("Marionette:SetContext", {"value": "content"})

    def picture(self) -> str:
        """Return a picture of the window, as base64 of a PNG."""
        return str(self._send("WebDriver:TakeScreenshot", {"full": False})["value"])

    def begin(self, *, is_dark: bool = False) -> None:
        """Forget all pages, and what they have stored; be light or dark from now on."""
        self.open("about:blank")
        self._send("Marionette:SetContext", {"value": "chrome"})
        script = (
            "const end = arguments[0]; gBrowser.selectedBrowser.removeAttribute('style');"
            f"Services.prefs.setIntPref('{_SCHEME}', {0 if is_dark else 1});"
            "Services.clearData.deleteData(Ci.nsIClearDataService.CLEAR_ALL, { onDataDeleted: () => end() });"
        )
        self._send("WebDriver:ExecuteAsyncScript", {"script": script, "args": []})
        self._send("Marionette:SetContext", {"value": "content"})

    def close(self) -> None:
        """End the browser."""
        self._send("Marionette:Quit", {"flags": ["eForceQuit"]})
        self._stream.close()
        self._socket.close()

    def _send(self, name: str, parameters: dict[str, Any]) -> Any:
        self._number += 1
        message = json.dumps([0, self._number, name, parameters]).encode()
        self._socket.sendall(b"%d:%s" % (len(message), message))
        _, number, error, result = self._read()
        assert number == self._number
        if error is not None:
            raise MarionetteError(f"{name}: {error['message']}")
        return result

    def _read(self) -> Any:
        length = b""
        while (byte := self._stream.read(1)) != b":":
            assert byte, "the browser has ended"
            length += byte
        return json.loads(self._stream.read(int(length)))


def _connect(port: int) -> socket.socket:
    deadline = time.monotonic() + TIMEOUT_MS / 1000
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_MS / 1000)
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_OFTEN_S)


@contextmanager
def firefox(profile: Path) -> Iterator[Firefox]:
    """Start the system's Firefox on a folder for its profile; skip where there is none."""
    if FIREFOX is None:
        pytest.skip("Firefox is not installed")
    port = free_port()
    wanted = _PREFERENCES | {"marionette.port": port}
    profile.mkdir()
    lines = (f"user_pref({json.dumps(name)}, {json.dumps(value)});\n" for name, value in wanted.items())
    (profile / "user.js").write_text("".join(lines))
    process = subprocess.Popen(
        [FIREFOX, *_OPTIONS, "--profile", str(profile), "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        window = Firefox(port)
        yield window
        window.close()
        process.wait(timeout=TIMEOUT_MS / 1000)
    finally:
        process.kill()
        process.wait()
