"""A headless Chromium, spoken to over WebDriver. Tests are skipped where there is none."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """The few WebDriver commands that the tests need."""

    def __init__(self, client: httpx.Client, session: str) -> None:
        self._client, self._session = client, session

    def _post(self, command: str, **body: Any) -> Any:
        answer = self._client.post(f"/session/{self._session}/{command}", json=body)
        value = answer.json()["value"]
        assert answer.status_code == 200, value
        return value

    def open(self, path: Path) -> None:
        """Load a file."""
        self.visit(path.as_uri())

    def visit(self, url: str) -> None:
        """Load a page."""
        self._post("url", url=url)

    def run(self, script: str, *args: Any) -> Any:
        """The value that the body of a function returns."""
        return self._post("execute/sync", script=script, args=list(args))

    def resize(self, width: int, height: int) -> None:
        """Set the window's size, in CSS pixels; Chromium makes no window narrower than 500."""
        self._post("window/rect", width=width, height=height)

    def emulate(self, **features: str) -> None:
        """Media features, such as ``prefers_color_scheme="dark"``."""
        named = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self._cdp("Emulation.setEmulatedMedia", features=named)

    def move_to(self, x: float, y: float) -> None:
        """Move the pointer, in CSS pixels of the viewport."""
        self._cdp("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def complaints(self) -> list[str]:
        """Errors and warnings on the browser's console since the last call."""
        entries = self._post("se/log", type="browser")
        return [entry["message"] for entry in entries if "favicon" not in entry["message"]]

    def _cdp(self, command: str, **params: Any) -> Any:
        return self._post("goog/cdp/execute", cmd=command, params=params)


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    driver = shutil.which("chromedriver")
    binary = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if driver is None or binary is None:
        pytest.skip("needs Chromium and chromedriver on the path (Debian: chromium, chromium-driver)")
    process = subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        with httpx.Client(base_url=_address(process), timeout=60, trust_env=False) as client:
            profile = tmp_path_factory.mktemp("profile")
            session = _new_session(client, binary, profile)
            try:
                yield Browser(client, session)
            finally:
                client.delete(f"/session/{session}")
    finally:
        process.terminate()
        process.wait(10)
        if process.stdout is not None:
            process.stdout.close()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for text in process.stdout:
        if found := re.search(r"started successfully on port (\d+)", text):
            return f"http://127.0.0.1:{found[1]}"
    raise AssertionError("chromedriver ended without a port")


def _new_session(client: httpx.Client, binary: str, profile: Path) -> str:
    options = {"binary": binary, "args": [*FLAGS, f"--user-data-dir={profile}"]}
    wanted = {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
    answer = client.post("/session", json={"capabilities": {"alwaysMatch": wanted}}).json()["value"]
    assert "sessionId" in answer, answer
    return str(answer["sessionId"])
