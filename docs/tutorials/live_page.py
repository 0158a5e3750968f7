"""``python docs/tutorials/live_page.py``: take the picture of the live page in the tutorial of the service.

It runs the programs of the tutorial on a service of its own, and needs Playwright and Chromium.
"""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from playwright.sync_api import sync_playwright

HERE = Path(__file__).parent
PAGE, PICTURE = HERE / "service.md", HERE / "live-page.png"
WIDTH, HEIGHT = 1120, 1115
COMMAND = [sys.executable, "-m", "clusterbandits", "serve", "--port"]


def programs() -> dict[str, str]:
    """Return the programs that the tutorial writes, by file name."""
    found = re.findall(r"^cat > (\w+\.py) <<'END'\n(.*?)^END$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    return dict(found)


def take_picture(folder: Path, picture: Path) -> None:
    """Serve in a folder, let the visitors of the tutorial come, and write the picture."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    address = f"http://127.0.0.1:{port}"
    service = subprocess.Popen(
        [*COMMAND, port], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    try:
        assert service.stdout is not None
        key = next(line.strip() for line in service.stdout if line.startswith("cb_"))
        wait(address)
        environment = {**os.environ, "SERVICE": address, "KEY": key}
        for name, text in programs().items():
            (folder / name).write_text(text)
        for command in (["create.py"], ["visitors.py", "3000"]):
            subprocess.run([sys.executable, *command], cwd=folder, env=environment, check=True)
        show(address, key, picture)
    finally:
        service.terminate()
        service.communicate(timeout=60)


def wait(address: str) -> None:
    """Wait until the service answers."""
    for _ in range(300):
        try:
            if httpx.get(f"{address}/ready").status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise TimeoutError(address)


def show(address: str, key: str, picture: Path) -> None:
    """Write the picture of the experiment, as a signed-in reader sees it."""
    program = shutil.which("chromium") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.add_init_script(f"sessionStorage.setItem('clusterbandits key', {key!r})")
        page.goto(f"{address}/#/experiments/ads")
        page.locator("#history svg[role=img]").first.wait_for()
        page.wait_for_timeout(3_000)
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as kept:
        take_picture(Path(kept), PICTURE)
