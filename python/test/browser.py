"""Chromium without a window, driven over its debugging pipe (Chrome DevTools Protocol): no driver is needed."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
from typing import Any


def chromium() -> str | None:
    names = "chromium", "chromium-browser", "google-chrome", "google-chrome-stable"
    return next((path for path in map(shutil.which, names) if path), None)


class Browser:
    """One page; errors and messages of its console are collected."""

    def __init__(self, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def pipes() -> None:  # the browser reads 3 and writes 4
            spare = os.dup(to_browser), os.dup(from_browser)
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self._process = subprocess.Popen(
            [chromium(), "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-dev-shm-usage", f"--user-data-dir={self._profile.name}", "--remote-debugging-pipe"],
            preexec_fn=pipes, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        os.set_blocking(self._in, False)
        self._pending, self._next, self._session = b"", 0, None
        self.errors: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")
        self.resize(width, height)
        theme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[theme])

    def resize(self, width: int, height: int) -> None:
        size = dict(width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setDeviceMetricsOverride", **size)

    def open(self, path: os.PathLike[str] | str) -> None:
        """Until the picture is drawn."""
        self.call("Page.navigate", url=f"file://{os.path.abspath(path)}")
        self.until("document.readyState === 'complete' && document.querySelector('.plot, main p') !== null")

    def until(self, condition: str, seconds: float = 60) -> None:
        end = time.monotonic() + seconds
        while not self.value(condition):
            assert time.monotonic() < end, f"not within {seconds} s: {condition}; {self.errors}"
            time.sleep(0.05)

    def value(self, expression: str) -> Any:
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def screenshot(self, path: os.PathLike[str] | str) -> None:
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._next += 1
        message = {"id": self._next, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + 60
        while time.monotonic() < end:
            answer = self._read()
            if answer is None:
                assert self._process.poll() is None, "the browser ended"
                time.sleep(0.005)
            elif answer.get("id") == self._next:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]
            else:
                self._note(answer)
        raise TimeoutError(method)

    def _read(self) -> dict[str, Any] | None:
        while b"\0" not in self._pending:
            try:
                part = os.read(self._in, 1 << 20)
            except BlockingIOError:
                return None
            if not part:
                return None
            self._pending += part
        text, self._pending = self._pending.split(b"\0", 1)
        return json.loads(text)

    def _note(self, event: dict[str, Any]) -> None:
        what = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            details = what["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description", details["text"]))
        elif event.get("method") == "Runtime.consoleAPICalled" and what["type"] in ("error", "warning", "assert"):
            self.errors.append(str([argument.get("value", argument) for argument in what["args"]]))
        elif event.get("method") == "Log.entryAdded" and what["entry"]["level"] in ("error", "warning"):
            self.errors.append(what["entry"]["text"])

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(30)
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()
