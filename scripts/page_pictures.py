"""The pictures of the page in docs/page: a real server, its gateway, and a browser that asks.

    python scripts/page_pictures.py [MODEL] [LARGE_MODEL]

Takes what each view shows after it was used. Needs Chromium and both models on this machine.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from playwright.sync_api import Page, sync_playwright

FOLDER = Path(__file__).parents[1] / "docs" / "page"
PORT, LARGE_PORT = 9941, 9942
HOME = f"http://127.0.0.1:{PORT}"
PLAYED = ("decide", "classify", "rerank", "redact", "extract", "guard", "compress", "task")
WATCHED = ("batches", "live", "machine", "ledger")
CONFIG = f"""
[gateway.tiers.large]
base_url = "http://127.0.0.1:{LARGE_PORT}/v1"
model = "large"
price = [0.15, 0.60]
[gateway.routes.auto]
redact = {{}}
decide = {{ red_lines = true, max_prompt_tokens = 60, otherwise = "local" }}
call = ["large"]
"""
ASKED = (
    "What colour is the sky?",
    "Write to bob@example.com that the parcel is late.",
    "Prove that there are infinitely many primes.",
    "Name three fruits.",
    "How many days lie between 3 May and 19 August, and what is 17 times that?",
    "Say hello in Dutch.",
)
WAIT_MS = 180_000


@contextmanager
def server(model: str, port: int, folder: Path, *more: str) -> Iterator[None]:
    """`vedette serve` in a process and a folder of its own."""
    command = [sys.executable, "-m", "vedette.cli.main", "serve", "--model", model, "--quiet"]
    environment = {**os.environ, "VEDETTE_KEYS_FILE": str(folder / "none.json")}
    if (folder / "vedette.toml").exists():
        environment["VEDETTE_CONFIG"] = str(folder / "vedette.toml")
    process = subprocess.Popen([*command, "--port", str(port), *more], cwd=folder, env=environment)
    try:
        while True:
            try:
                httpx2.get(f"http://127.0.0.1:{port}/ready").raise_for_status()
                break
            except httpx2.HTTPError:
                if process.poll() is not None:
                    raise SystemExit("the server ended") from None
                time.sleep(0.3)
        yield
    finally:
        process.terminate()
        process.wait()


def ask_gateway() -> None:
    """Some requests for the ledger."""
    for text in ASKED:
        body = {"model": "auto", "max_tokens": 60, "messages": [{"role": "user", "content": text}]}
        httpx2.post(f"{HOME}/v1/chat/completions", json=body, timeout=180).raise_for_status()


def batch_file(folder: Path) -> Path:
    """Requests, one of which cannot be answered."""
    path = folder / "colours.jsonl"
    asks = [*({"max_tokens": 8} for _ in range(6)), {"top_p": 7}]
    lines = [
        {
            "custom_id": f"row-{i}",
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": {"messages": [{"role": "user", "content": f"Name colour {i}."}], **more},
        }
        for i, more in enumerate(asks)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def use(page: Page, view: str, folder: Path) -> None:
    """What a person does with a view."""
    page.goto(f"{HOME}/#{view}")
    page.wait_for_selector(f"nav a[href='#{view}'][aria-current='page']")
    page.wait_for_selector("#state.good")
    if view in PLAYED:
        page.click("main button.main")
        page.wait_for_selector("main button.main:not([disabled])")
    elif view == "chat":
        page.get_by_label("Your words").fill("Name three colours.")
        page.keyboard.press("Control+Enter")
        page.wait_for_selector(".turn:nth-child(2) .soft")
    elif view == "batches":
        page.get_by_label("File").set_input_files(batch_file(folder))
        page.click("main button.main")
        card = page.locator(".card").filter(has_text="completed")
        card.wait_for()
        card.get_by_role("button", name="Errors").click()
        card.locator("table").wait_for()
    else:
        page.wait_for_timeout(1500)


def main() -> int:
    """See the module's docstring."""
    model, large, *_ = [*sys.argv[1:], "qwen2.5-coder-0.5b", "smollm2-135m"][:2]
    with tempfile.TemporaryDirectory() as name:
        folder, other = Path(name) / "small", Path(name) / "large"
        folder.mkdir()
        other.mkdir()
        (folder / "vedette.toml").write_text(CONFIG)
        with (
            server(large, LARGE_PORT, other, "--alias", "large"),
            server(model, PORT, folder, "--files-dir", str(folder / "files")),
            sync_playwright() as started,
        ):
            ask_gateway()
            browser = started.chromium.launch(
                executable_path=shutil.which("chromium"), args=["--no-sandbox"]
            )
            page = browser.new_page(viewport={"width": 1100, "height": 760}, locale="en-GB")
            page.set_default_timeout(WAIT_MS)
            for view in (*PLAYED, "chat", *WATCHED):
                use(page, view, folder)
                page.screenshot(path=FOLDER / f"{view}.png", full_page=True)
                print(view)
            browser.close()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
